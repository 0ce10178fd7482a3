// Keys of a group from two rounds of messages, in C++ alone: keys that evaluate and decrypt, and what is
// refused. The messages byte for byte: python/tests/multiparty/test_group_messages.py.
#include "hemera/multiparty/key_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/multiparty/opening.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "multiparty/group_members.hpp"
#include "refusals.hpp"

namespace hemera::multiparty {
namespace {

rlwe::Plaintext opened_by(const Members& members, const rlwe::Ciphertext& x, double noise_log2,
                          const Messages& shares) {
  const std::vector<std::span<const std::byte>> views(shares.begin(), shares.end());
  return opened(members.context, members.group, x, noise_log2, views);
}

// Over the lowest level, with one special prime.
rlwe::GadgetPrimes narrow_gadget(const rlwe::Parameters& parameters) {
  const std::vector<std::uint64_t>& base = parameters.literal().levels.front();
  return {.base = base, .special = {parameters.literal().special_primes.front()}, .digits = {base}};
}

class OfSchemes : public ::testing::TestWithParam<rlwe::Scheme> {};
INSTANTIATE_TEST_SUITE_P(Schemes, OfSchemes,
                         ::testing::Values(rlwe::Scheme::bfv, rlwe::Scheme::bgv, rlwe::Scheme::ckks),
                         [](const auto& each) { return rlwe::name(each.param); });

TEST_P(OfSchemes, TwoRoundsMakeKeysThatEvaluateAndAnyTwoDecrypt) {
  const Members members(GetParam());
  auto of = members.all();
  EXPECT_EQ(of[0]->rounds(), 2);
  for (const int round : {1, 2}) members.run(of, round);
  const rlwe::EvaluationKeys keys = of[1]->keys();
  const auto evaluator = any_scheme::make_evaluator(members.context, keys);
  const bool is_approximate = GetParam() == rlwe::Scheme::ckks;
  std::vector<std::int64_t> values(degree);
  std::iota(values.begin(), values.end(), -500);
  std::vector<double> reals(degree / 2);
  for (std::size_t i = 0; i < reals.size(); ++i) reals[i] = 0.001 * static_cast<double>(i);
  const rlwe::Plaintext plain = is_approximate
                                    ? ckks::Encoder(members.context).encode(std::span<const double>(reals))
                                    : integer::Encoder(members.context).encode(values);
  const rlwe::Ciphertext x = any_scheme::encrypt(plain, keys);
  const rlwe::Ciphertext square = evaluator->multiply(x, x);
  const double noise =
      is_approximate ? ckks::coefficient_noise_log2(
                           *members.context, ckks::noise_bound(*members.context, 1, 1), square.meta.scale)
                     : square.meta.noise_log2;
  std::set<Messages> answers;
  for (const std::vector<std::size_t>& active : {std::vector<std::size_t>{0, 1}, {2, 0}, {1, 2}}) {
    const Messages shares = members.shares(square, noise, active);
    answers.insert(shares);
    const rlwe::Plaintext result = opened_by(members, square, noise, shares);
    if (is_approximate) {
      const std::vector<double> found = ckks::Encoder(members.context).decode_real(result);
      for (std::size_t i = 0; i < reals.size(); ++i) EXPECT_NEAR(found[i], reals[i] * reals[i], 1e-5);
    } else {
      const auto found = integer::Encoder(members.context).decode(result);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ((found[i] - values[i] * values[i]) % 12289, 0);
      }
    }
  }
  EXPECT_EQ(answers.size(), 1U);  // whoever is active
}

TEST(KeyMessages, AMessageOfAnythingElseIsRefused) {
  const Members members(rlwe::Scheme::bfv);
  auto of = members.all();
  const std::size_t piece = 1, sender = members.sender(piece);
  const std::size_t victim = members.sender(0);
  ASSERT_NE(sender, victim);
  const auto message_of = [&](Members& some, std::uint8_t attempt, int round, std::size_t of_piece) {
    auto others = some.all(attempt);
    Messages sent;
    for (int each = 1; each <= round; ++each) sent = some.run(others, each);
    return sent[of_piece];
  };
  Members another_group(rlwe::Scheme::bfv);
  another_group.group.id = digest_of(9);
  Members same(rlwe::Scheme::bfv);
  const Message right = message_of(same, 2, 1, piece);
  Message truncated = right, longer = right, magic = right;
  truncated.pop_back();
  longer.push_back(std::byte{0});
  magic[0] ^= std::byte{1};
  const std::vector<std::pair<std::string, Message>> lies = {
      {"another attempt", message_of(same, 3, 1, piece)},
      {"another group", message_of(another_group, 2, 1, piece)},
      {"another round", message_of(same, 2, 2, piece)},
      {"another piece", message_of(same, 2, 1, 2)},
      {"another size", truncated},
      {"another size", longer},
      {"no message of a group", magic},
      {"", {}},
  };
  for (const auto& [words, lie] : lies) {
    // An insider who says the digest of what it sends.
    auto mine = members.messages(victim);
    static_cast<void>(mine->digest(1, 0));
    mine->accept_digest(1, piece, runtime::sha256(lie));
    for (std::size_t other = 0; other < members.access.pieces(); ++other) {
      if (other == 0 || other == piece) continue;
      mine->accept_digest(1, other, digest_of(7));
    }
    tests::expect_error<Error>([&] { mine->accept(1, piece, lie); }, {words});
    EXPECT_THROW(static_cast<void>(mine->keys()), MismatchError);
  }
  EXPECT_EQ(of[0]->digest(1, members.group.sent_by(0).front()),
            members.messages(0)->digest(1, members.group.sent_by(0).front()));  // the same from any process
}

TEST(KeyMessages, RoundsHaveAnOrder) {
  const Members members(rlwe::Scheme::bgv);
  auto of = members.all();
  const std::size_t own = members.group.sent_by(0).front();
  const std::size_t other = (own + 1) % members.access.pieces();
  EXPECT_THROW(static_cast<void>(of[0]->digest(2, own)), MismatchError);  // round 1 is not there
  static_cast<void>(of[0]->digest(1, own));
  EXPECT_THROW(static_cast<void>(of[0]->message(1, own)), MismatchError);  // not all digests
  EXPECT_THROW(of[0]->accept(1, other, {}), MismatchError);
  EXPECT_THROW(static_cast<void>(of[0]->digest(1, other)), ParameterError);  // another sends it
  EXPECT_THROW(static_cast<void>(of[0]->digest(3, own)), ParameterError);
  EXPECT_THROW(of[0]->accept_digest(1, members.access.pieces(), digest_of(1)), ParameterError);
  const Messages first = members.run(of, 1);
  EXPECT_THROW(of[0]->accept_digest(1, other, digest_of(3)), MismatchError);  // says two things
  EXPECT_THROW(of[0]->accept(1, other, first[other]), MismatchError);         // a second time
  EXPECT_THROW(static_cast<void>(of[0]->keys()), MismatchError);
  const Messages second = members.run(of, 2);
  EXPECT_NO_THROW(static_cast<void>(of[0]->keys()));
  EXPECT_NE(first[own], second[own]);
}

TEST(KeyMessages, NeedsAreThoseOfAGroup) {
  const Members members(rlwe::Scheme::ckks);
  const auto made = [&](std::vector<rlwe::KeyNeed> needs, std::size_t of_pieces = 0) {
    return KeyMessages(members.context, members.group, digest_of(2), 0, members.pieces(of_pieces),
                       std::move(needs));
  };
  std::vector<rlwe::KeyNeed> needs = members.needs();
  EXPECT_EQ(made({needs[1]}).rounds(), 1);
  EXPECT_THROW(made({needs[1], needs[1]}), ParameterError);
  EXPECT_THROW(made({{rlwe::KeyRole::galois(1), needs[1].gadget}}), ParameterError);
  EXPECT_THROW(made(needs, 1), MismatchError);  // another member's pieces
  EXPECT_THROW(made({{rlwe::KeyRole::turned_product(5), needs[1].gadget}}), ParameterError);
  // Keys to an ephemeral secret and back come together, and the first one is narrow.
  const rlwe::KeyNeed to{{.to = rlwe::ephemeral_secret}, narrow_gadget(members.context->parameters())};
  const rlwe::KeyNeed from{{.from = rlwe::ephemeral_secret}, needs[1].gadget};
  EXPECT_EQ(made({to, from}).rounds(), 1);
  EXPECT_THROW(made({to}), ParameterError);
  EXPECT_THROW(made({from}), ParameterError);
  EXPECT_THROW(made({{to.role, needs[1].gadget}, from}), ParameterError);
  EXPECT_THROW(made({to, {rlwe::circuit_role(from.role), from.gadget}}), ParameterError);  // no circuit
  Group wrong = members.group;
  wrong.openings.pieces = 2;
  EXPECT_THROW(KeyMessages(members.context, wrong, digest_of(2), 0, members.pieces(0), needs), MismatchError);
}

}  // namespace
}  // namespace hemera::multiparty
