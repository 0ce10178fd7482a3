// A member with a GPU and one with a CPU send the same share, and open the same sum.
#include <gtest/gtest.h>

#include <vector>

#include "hemera/multiparty/dealt_sums.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using namespace multiparty;

TEST(FederationSameBits, SharesAndSums) {
  const Access access(2, 2);
  const Plan plan({.values = 2500,
                   .contributors = 3,
                   .weight = 9,
                   .rounds = 10,
                   .pieces = access.pieces(),
                   .degree = 1024,
                   .security = std::nullopt});
  const Description description(access, plan, {"a", "b"}, {}, {});
  const rlwe::ContextPointer device = tests::make_context(plan.parameters());
  const rlwe::ContextPointer cpu = rlwe::Context::make(plan.parameters());
  const Transcript list(description, 0, 0, {{.name = "x", .weight = 9}, {.name = "y"}});
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
  const std::vector<std::int64_t> x(2500, 32767), y(2500, -5);
  const std::vector<poly::Seed> of_x{Piece(0, keys[0]).dealt(description, "x"),
                                     Piece(1, keys[1]).dealt(description, "x")};
  const std::vector<poly::Seed> of_y{Piece(0, keys[0]).dealt(description, "y"),
                                     Piece(1, keys[1]).dealt(description, "y")};
  UploadSum sum(description, list);
  sum.add(upload(device, description, list, "x", of_x, x));
  sum.add(upload(cpu, description, list, "y", of_y, y));
  const std::vector<std::span<const std::byte>> views{shares[0], shares[1]};
  EXPECT_EQ(sum.open(views), std::vector<std::int64_t>(2500, 9 * 32767 - 5));
}

}  // namespace
}  // namespace hemera::testing
