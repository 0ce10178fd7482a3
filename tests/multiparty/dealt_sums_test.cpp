// What a Python test of messages can not see: errors below what messages leave out, polynomials that change.
// The messages themselves: python/tests/multiparty.
#include "hemera/multiparty/dealt_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "host_words.hpp"
#include "multiparty/public_factor.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::multiparty {
namespace {

Plan small_plan(std::size_t pieces, std::size_t values = 3000) {
  return Plan({.values = values,
               .contributors = 4,
               .rounds = 10,
               .pieces = pieces,
               .degree = 1024,
               .security = std::nullopt});
}

poly::Seed seed_of(std::uint8_t byte) {
  poly::Seed seed;
  seed.bytes.fill(byte);
  return seed;
}

poly::Poly ternary(const rlwe::Context& context, std::uint8_t byte) {
  const poly::RnsBase& base = context.base(context.top_level());
  poly::Poly secret = context.make_poly(1, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  context.backend().sample(context.queue(), secret.view(), {seed_of(byte), 0}, poly::Distribution::ternary(),
                           base, workspace);
  context.backend().forward_transform(context.queue(), secret.view(), secret.view(), base);
  secret.set_form(poly::Form::evaluation);
  return secret;
}

TEST(DealtSums, AnUploadOfZerosHasItsErrors) {
  const auto context = tests::make_context(small_plan(1).parameters());
  const poly::RnsBase& base = context->base(context->top_level());
  const PublicFactor rho(*context, seed_of(1), 5, 3);
  const poly::Poly secret = ternary(*context, 2);
  poly::Poly b = upload_of_zeros(*context, seed_of(1), secret, seed_of(3), 5, 3);
  poly::Poly product = context->make_poly(3, 1, base, poly::Form::coefficient);
  rho.multiply(product.view(), secret.view());
  context->backend().add(context->queue(), b.view(), b.view(), std::as_const(product).view(), base);
  const std::vector<std::uint64_t> words = tests::host_words(*context, b);
  double squares = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::int64_t e = base.modulus(0).centered(words[(2 * k) * 1024 + i]);
      ASSERT_EQ(base.modulus(1).centered(words[(2 * k + 1) * 1024 + i]), e);
      ASSERT_LE(std::abs(e), 29);
      squares += static_cast<double>(e * e);
    }
  }
  EXPECT_NEAR(std::sqrt(squares / 3072), 3.19, 0.25);
  // Other polynomials have other errors.
  EXPECT_FALSE(std::equal(words.begin(), words.begin() + 1024, words.begin() + 2048));
}

// Attack B: a product of other polynomials than those that were hashed.
TEST(DealtSums, PolynomialsThatChangedAreNotMultiplied) {
  const auto context = tests::make_context(small_plan(1).parameters());
  const poly::RnsBase& base = context->base(context->top_level());
  PublicFactor rho(*context, seed_of(1), 0, 3);
  const poly::Poly secret = ternary(*context, 2);
  poly::Poly out = context->make_poly(3, 1, base, poly::Form::coefficient);
  const auto multiply = [&](const PublicFactor& factor) {
    factor.multiply(out.view(), secret.view());
    factor.require_unchanged();
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{1500}, std::size_t{3 * 2 * 1024 - 1}}) {
    std::vector<std::uint64_t> words = tests::host_words(*context, rho.polynomials());
    const auto put = [&] {
      context->backend().upload(context->queue(), rho.polynomials().view(), words, poly::Form::evaluation);
      context->queue().synchronize();
    };
    words[at] ^= 1;
    put();
    EXPECT_THROW(multiply(rho), DeviceError) << at;
    words[at] ^= 1;
    put();
    EXPECT_NO_THROW(multiply(rho));
  }
  // A second computation multiplies the polynomials that were hashed, or none.
  EXPECT_NO_THROW(multiply(rho.redrawn(seed_of(1), 0)));
  EXPECT_THROW(multiply(rho.redrawn(seed_of(1), 1)), DeviceError);
}

// All of a round by the C++ interface; the judge of the sum is plain arithmetic. Threads share its
// polynomials, of which the last is not full.
TEST(DealtSums, ARoundGivesTheSum) {
  const Access access(4, 3);
  constexpr std::size_t count = 40'000;
  const Description description(access, small_plan(access.pieces(), count), {"a", "b", "c", "d"}, {}, {});
  const Plan& plan = description.plan();
  const rlwe::ContextPointer context = tests::make_context(plan.parameters(), 3);
  const rlwe::ContextPointer alone = tests::make_context(plan.parameters(), 1);
  std::vector<Piece> pieces;
  for (std::size_t T = 0; T < access.pieces(); ++T) pieces.push_back(Piece::fresh(T));
  const Transcript list(description, 0, 0, {{.name = "x"}, {.name = "y"}});
  std::vector<std::vector<std::byte>> uploads;
  std::vector<std::int64_t> expected(count);
  for (const std::string name : {"x", "y"}) {
    std::vector<poly::Seed> dealt;
    for (const Piece& piece : pieces) dealt.push_back(piece.dealt(description, name));
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>((i * 7919 + name.front()) % 65535) - 32767;
      expected[i] += values[i];
    }
    upload(context, description, list, name, dealt, values,
           uploads.emplace_back(upload_bytes(description, name)));
  }
  std::map<std::size_t, std::vector<std::byte>> shares;
  std::map<std::uint64_t, Sha256Digest> disk;
  const Ledger ledger{
      [&disk](std::uint64_t round) {
        const auto found = disk.find(round);
        return found == disk.end() ? std::nullopt : std::optional(found->second);
      },
      [&disk](std::uint64_t round, const Sha256Digest& digest) { disk.emplace(round, digest); }};
  for (const std::size_t number : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    std::vector<Piece> held;
    for (const std::size_t T : access.held_by(number)) held.push_back(pieces[T]);
    Member member(number == 0 ? alone : context, description, number, held, ledger);
    for (const Piece& piece : held) {
      const std::vector<std::byte> share = member.share(list, piece.number());
      EXPECT_EQ(shares.try_emplace(piece.number(), share).first->second, share);
    }
    const Transcript other(description, 0, 1, {{.name = "x"}});
    tests::expect_error<MismatchError>([&] { return member.share(other, held.front().number()); },
                                       {"round 0 was answered for another list"});
  }
  std::vector<std::span<const std::byte>> views;
  for (const auto& [piece, share] : shares) views.emplace_back(share);
  UploadSum sum(description, list);
  const std::vector<std::span<const std::byte>> messages(uploads.begin(), uploads.end());
  EXPECT_EQ(sum.add(messages), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(sum.open(views), expected);
}

}  // namespace
}  // namespace hemera::multiparty
