// Which keys a rotation needs.
#include <gtest/gtest.h>

#include "hemera/rlwe/evaluator.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using Steps = std::vector<std::int64_t>;

TEST(RotationsNeeded, AreTheFewestSignedPowersOfTwo) {
  EXPECT_EQ(rotations_needed(Steps{1}, 1024), (Steps{1}));
  EXPECT_EQ(rotations_needed(Steps{3}, 1024), (Steps{-1, 4}));
  EXPECT_EQ(rotations_needed(Steps{7}, 1024), (Steps{-1, 8}));
  EXPECT_EQ(rotations_needed(Steps{-1}, 1024), (Steps{-1}));
  EXPECT_EQ(rotations_needed(Steps{1023}, 1024), (Steps{-1}));
  EXPECT_EQ(rotations_needed(Steps{0, 1024}, 1024), Steps{});
  EXPECT_EQ(rotations_needed(Steps{3, 5}, 1024), (Steps{-1, 1, 4}));
  EXPECT_THROW(static_cast<void>(rotations_needed(Steps{1}, 100)), ParameterError);
}

TEST(RotationsNeeded, SumUpToTheRotationModuloThePeriod) {
  constexpr std::int64_t period = 256;
  for (std::int64_t step = -300; step < 300; ++step) {
    const Steps needed = rotations_needed(Steps{step}, period);
    std::int64_t sum = 0;
    for (const std::int64_t part : needed) sum += part;
    EXPECT_EQ(((sum - step) % period + period) % period, 0) << step;
    EXPECT_LE(needed.size(), 4U) << step;  // at most half of the bits, in non-adjacent form
  }
}

}  // namespace
}  // namespace hemera::rlwe
