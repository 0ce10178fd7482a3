// A member with a GPU and one with a CPU send the same messages and shares, and open the same results.
#include <gtest/gtest.h>

#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "multiparty/group_members.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using namespace multiparty;

// More polynomials than a device takes at once, and the last one is not full.
constexpr std::size_t values = 65 * 1024 + 500;

class FederationSameBits : public ::testing::TestWithParam<Method> {};

TEST_P(FederationSameBits, SharesAndSums) {
  const Access access(2, 2);
  const Plan plan({.method = GetParam(),
                   .values = values,
                   .contributors = 7,
                   .weight = 9,
                   .rounds = 10,
                   .pieces = access.pieces(),
                   .degree = 1024,
                   .security = std::nullopt});
  const Description description(access, plan, {"a", "b"}, {}, {});
  const rlwe::ContextPointer device = tests::make_context(plan.parameters());
  const rlwe::ContextPointer cpu = rlwe::Context::make(plan.parameters());
  // Seven secrets: more than are added at once.
  std::vector<Contribution> contributions;
  for (const char* name : {"s", "t", "u", "v", "w", "x", "y"}) contributions.push_back({.name = name});
  contributions[5].weight = 9;
  const Transcript list(description, 0, 0, contributions);
  // Member m holds the piece of the set of the other one.
  std::vector<poly::Seed> keys(2);
  keys[1].bytes.fill(1);
  const Ledger forgetful{[](std::uint64_t) { return std::nullopt; },
                         [](std::uint64_t, const Sha256Digest&) {}};
  std::vector<std::vector<std::byte>> shares;
  for (const std::size_t m : {std::size_t{0}, std::size_t{1}}) {
    const std::vector<Piece> held{Piece(1 - m, keys[1 - m])};
    Member there(device, description, m, held, forgetful), here(cpu, description, m, held, forgetful);
    shares.push_back(there.share(list, 1 - m));
    EXPECT_EQ(shares.back(), here.share(list, 1 - m));
  }
  std::vector<std::vector<std::byte>> uploads;
  for (const Contribution& each : contributions) {
    const std::vector<poly::Seed> dealt{Piece(0, keys[0]).dealt(description, each.name),
                                        Piece(1, keys[1]).dealt(description, each.name)};
    const std::vector<std::int64_t> own(values, each.name == "x" ? 32767 : -5);
    uploads.emplace_back(upload_bytes(description, each.name));
    upload(each.name == "x" ? device : cpu, description, list, each.name, dealt, own, uploads.back());
  }
  UploadSum sum(description, list);
  sum.add(std::vector<std::span<const std::byte>>(uploads.begin(), uploads.end()));
  const std::vector<std::span<const std::byte>> views{shares[0], shares[1]};
  EXPECT_EQ(sum.open(views), std::vector<std::int64_t>(values, 9 * 32767 - 6 * 5));
}

INSTANTIATE_TEST_SUITE_P(Methods, FederationSameBits, ::testing::Values(Method::lattice, Method::masks),
                         [](const auto& method) {
                           return method.param == Method::masks ? "masks" : "lattice";
                         });

// Keys of two rounds, and shares of a product.
TEST(GroupSameBits, MessagesAndSharesOfGroups) {
  for (const rlwe::Scheme scheme : {rlwe::Scheme::bfv, rlwe::Scheme::bgv, rlwe::Scheme::ckks}) {
    SCOPED_TRACE(rlwe::name(scheme));
    const Members there(scheme);
    const Members here(scheme, 3, 2, true);
    auto of_there = there.all(), of_here = here.all();
    for (const int round : {1, 2}) EXPECT_EQ(there.run(of_there, round), here.run(of_here, round));
    const rlwe::EvaluationKeys keys = of_there[0]->keys();
    EXPECT_TRUE(io::save(keys) == io::save(of_here[0]->keys()));
    const bool is_approximate = scheme == rlwe::Scheme::ckks;
    const std::vector<std::int64_t> ones(degree, 1);
    const std::vector<double> halves(degree / 2, 0.5);
    const rlwe::Plaintext plain = is_approximate
                                      ? ckks::Encoder(there.context).encode(std::span<const double>(halves))
                                      : integer::Encoder(there.context).encode(ones);
    const rlwe::Ciphertext x = any_scheme::encrypt(plain, keys);
    const rlwe::Ciphertext square = any_scheme::make_evaluator(there.context, keys)->multiply(x, x);
    const double noise = is_approximate
                             ? ckks::coefficient_noise_log2(
                                   *there.context, ckks::noise_bound(*there.context, 1, 1), square.meta.scale)
                             : square.meta.noise_log2;
    const rlwe::Ciphertext copy = io::load_ciphertext(here.context, io::save(square));
    EXPECT_EQ(there.shares(square, noise, {0, 1}), here.shares(copy, noise, {0, 1}));
  }
}

}  // namespace
}  // namespace hemera::testing
