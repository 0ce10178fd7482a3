// The sampling kernels of each instruction set on chosen inputs: edges of every comparison and reduction, and
// every count around the vector lengths.
#include "poly/cpu/sampling_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "poly/sampling_support.hpp"

namespace hemera::poly::testing {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;
constexpr std::size_t max_count = 70;

class SamplingKernels : public ::testing::TestWithParam<const cpu::SamplingKernels*> {
 protected:
  const cpu::SamplingKernels& kernels() const { return *GetParam(); }
  std::mt19937_64 generator_{12345};
};

TEST_P(SamplingKernels, ReduceWideOnEdges) {
  for (const std::uint64_t q :
       {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{65537},
        (std::uint64_t{1} << 32) - 5, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 15,
        (std::uint64_t{1} << 50) - 27, (std::uint64_t{1} << 60) + 33, std::uint64_t{1} << 60,
        (std::uint64_t{1} << 61) - 1, (std::uint64_t{1} << 61) - 2}) {
    const BigInteger largest = (power_of_two(128) - 1) / q * q;
    std::vector<BigInteger> values = {0,
                                      1,
                                      q - 1,
                                      q,
                                      q + 1,
                                      power_of_two(64) - 1,
                                      power_of_two(64),
                                      power_of_two(127),
                                      power_of_two(128) - 1,
                                      largest,
                                      largest - 1,
                                      BigInteger(all_ones) << 64,
                                      (BigInteger(q) << 64) - 1,
                                      BigInteger(q) << 64,
                                      (BigInteger(q) << 64) + q - 1};
    while (values.size() < 2000) {
      // Random high and low words, multiples of q and their neighbours.
      const BigInteger random = (BigInteger(generator_()) << 64) + generator_();
      values.push_back(random);
      values.push_back(random / q * q);
      if (random >= q) values.push_back(random / q * q - 1);
    }
    std::vector<std::uint64_t> wide;
    for (const BigInteger& value : values) {
      wide.push_back(static_cast<std::uint64_t>(value % power_of_two(64)));
      wide.push_back(static_cast<std::uint64_t>(value / power_of_two(64)));
    }
    std::vector<std::uint64_t> out(values.size());
    kernels().reduce_wide(out.data(), wide.data(), values.size(), arith::Modulus(q));
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(out[i], arith::modulo(values[i], q)) << values[i] << " mod " << q;
    }
  }
}

TEST_P(SamplingKernels, TernaryAtItsThresholds) {
  const std::vector<std::uint64_t> low = {0,           1,       0x5555555555555555, 0x5555555555555556,
                                          top_bit - 1, top_bit, 0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaab,
                                          all_ones};
  const std::vector<std::int64_t> expected = {-1, -1, -1, 0, 0, 0, 0, 1, 1};
  std::vector<std::uint64_t> wide;
  for (const std::uint64_t word : low) wide.insert(wide.end(), {word, generator_()});
  std::vector<std::int64_t> out(low.size());
  kernels().ternary_values(out.data(), wide.data(), out.size());
  EXPECT_EQ(out, expected);
}

TEST_P(SamplingKernels, ErrorAtEveryTableEntry) {
  for (const double sigma : {0.5, 3.19, 3.35, 3.5, 20.0}) {
    const ErrorDistribution distribution(sigma);
    std::vector<std::uint64_t> wide;
    std::vector<std::int64_t> expected;
    const auto add = [&](std::uint64_t u) {
      // Entries far out in the tail may be equal, so their index is not the answer.
      std::int64_t magnitude = 0;
      for (std::size_t m = 0; m < distribution.size(); ++m) magnitude += distribution.table()[m] <= u ? 1 : 0;
      // Bit 63 of the low word and all but the highest of the high word must not matter.
      wide.insert(wide.end(), {u | (generator_() & top_bit), generator_() & ~top_bit});
      expected.push_back(magnitude);
      wide.insert(wide.end(), {u | (generator_() & top_bit), generator_() | top_bit});
      expected.push_back(-magnitude);
    };
    add(0);
    add(top_bit - 1);
    for (std::size_t m = 0; m < distribution.size(); ++m) {
      add(distribution.table()[m] - 1);
      add(distribution.table()[m]);
    }
    std::vector<std::int64_t> out(expected.size());
    kernels().error_values(out.data(), wide.data(), out.size(), distribution.table(), distribution.size());
    EXPECT_EQ(out, expected) << "sigma " << sigma;
    EXPECT_EQ(expected.front(), 0);
    EXPECT_EQ(expected[2], distribution.bound());
  }
}

// Tables of every size give the number of entries that are not above.
TEST_P(SamplingKernels, ErrorTablesOfEverySize) {
  std::vector<std::uint64_t> wide(2 * max_count);
  for (std::size_t size = 0; size <= 256; size += size < 40 || size >= 250 ? 1 : 30) {
    std::vector<std::uint64_t> table(size);
    for (std::uint64_t& entry : table) entry = generator_() >> 1;
    std::sort(table.begin(), table.end());
    for (std::uint64_t& word : wide) word = generator_();
    std::vector<std::int64_t> out(max_count);
    kernels().error_values(out.data(), wide.data(), max_count, table.data(), size);
    for (std::size_t i = 0; i < max_count; ++i) {
      std::int64_t magnitude = 0;
      for (const std::uint64_t entry : table) magnitude += entry <= (wide[2 * i] & ~top_bit) ? 1 : 0;
      ASSERT_EQ(out[i], (wide[2 * i + 1] & top_bit) != 0 ? -magnitude : magnitude) << "size " << size;
    }
  }
}

TEST_P(SamplingKernels, ResiduesAndCounts) {
  const std::vector<std::int64_t> values = {0, 1, -1, 2, -2, 256, -256, 1000, -1000, 5, -5};
  std::vector<std::uint64_t> out(values.size());
  for (const std::uint64_t q : {std::uint64_t{1001}, (std::uint64_t{1} << 61) - 1}) {
    kernels().residues(out.data(), values.data(), out.size(), q);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(out[i], arith::modulo(values[i], q));
  }
  std::vector<std::uint64_t> keys = {0, 1, 5, 5, 5, 6, top_bit - 1, top_bit - 2};
  while (keys.size() < 300) keys.push_back(generator_() >> 1);
  for (const std::uint64_t bound : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{6},
                                    top_bit - 1, top_bit >> 1, generator_() >> 1}) {
    for (std::size_t count = 0; count <= keys.size(); ++count) {
      std::size_t expected = 0;
      for (std::size_t i = 0; i < count; ++i) expected += keys[i] < bound;
      ASSERT_EQ(kernels().count_below(keys.data(), count, bound), expected) << bound << " of " << count;
    }
  }
}

// Every count: nothing is left out and nothing is written past the end.
TEST_P(SamplingKernels, AnyCountGivesTheScalarBits) {
  const cpu::SamplingKernels& scalar = cpu::scalar_sampling;
  const arith::Modulus q((std::uint64_t{1} << 60) - 93);
  for (const double sigma : {3.19, 10.0}) {
    const ErrorDistribution distribution(sigma);
    for (std::size_t count = 0; count <= max_count; ++count) {
      std::vector<std::uint64_t> wide(2 * count);
      for (std::uint64_t& word : wide) word = generator_();
      std::vector<std::uint64_t> actual(count + 1, 99), expected(count + 1, 99);
      kernels().reduce_wide(actual.data(), wide.data(), count, q);
      scalar.reduce_wide(expected.data(), wide.data(), count, q);
      ASSERT_EQ(actual, expected);
      std::vector<std::int64_t> values(count + 1, 99), expected_values(count + 1, 99);
      kernels().ternary_values(values.data(), wide.data(), count);
      scalar.ternary_values(expected_values.data(), wide.data(), count);
      ASSERT_EQ(values, expected_values);
      kernels().error_values(values.data(), wide.data(), count, distribution.table(), distribution.size());
      scalar.error_values(expected_values.data(), wide.data(), count, distribution.table(),
                          distribution.size());
      ASSERT_EQ(values, expected_values);
      kernels().residues(actual.data(), values.data(), count, q.value());
      scalar.residues(expected.data(), values.data(), count, q.value());
      ASSERT_EQ(actual, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, SamplingKernels, ::testing::ValuesIn(available_sampling_kernels()),
                         instruction_set_name);

}  // namespace
}  // namespace hemera::poly::testing
