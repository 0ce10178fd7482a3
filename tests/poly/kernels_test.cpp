// Every kernel of every instruction set that this processor has, against the scalar one, bit for bit: entries
// one by one, and quotients.
#include "poly/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "poly/kernels_support.hpp"

namespace hemera::poly::cpu::kernel_tests {
namespace {

TEST_P(KernelsTest, AddSubtractNegate) {
  for (const Modulus& q : element_moduli()) {
    for (const std::size_t count : element_counts) {
      const Row a = row(count, q.value(), any_fill());
      const Row b = row(count, q.value(), any_fill());
      const std::uint64_t scalar_operand = below(q.value());
      compare("add", scalar().add, kernels().add, count, q, a.data(), b.data());
      compare("subtract", scalar().subtract, kernels().subtract, count, q, a.data(), b.data());
      if (kernels().subtract_past_cache != nullptr) {
        compare("past cache", scalar().subtract, kernels().subtract_past_cache, count, q, b.data(), a.data());
      }
      if (kernels().add_past_cache != nullptr) {
        compare("past cache", scalar().add, kernels().add_past_cache, count, q, a.data(), b.data());
      }
      compare("negate", scalar().negate, kernels().negate, count, q, a.data());
      compare("add_scalar", scalar().add_scalar, kernels().add_scalar, count, q, a.data(), scalar_operand);
    }
  }
}

TEST_P(KernelsTest, Products) {
  for (const Modulus& q : element_moduli()) {
    for (const std::size_t count : element_counts) {
      const Row a = row(count, q.value(), any_fill());
      const Row b = row(count, q.value(), any_fill());
      const ShoupFactor factor(below(q.value()), q);
      Row expected = row(count, q.value(), any_fill());
      Row actual(count);
      actual.copy_from(expected);
      compare("multiply", scalar().multiply, kernels().multiply, count, q, a.data(), b.data());
      if (kernels().multiply_past_cache != nullptr) {
        compare("past cache", scalar().multiply, kernels().multiply_past_cache, count, q, a.data(), b.data());
      }
      scalar().multiply_add(expected.data(), a.data(), b.data(), expected.data(), count, q);
      kernels().multiply_add(actual.data(), a.data(), b.data(), actual.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "multiply_add, q = " << q.value();
      compare("multiply_add to another", scalar().multiply_add, kernels().multiply_add, count, q, a.data(),
              actual.data(), b.data());
      compare("multiply_scalar", scalar().multiply_scalar, kernels().multiply_scalar, count, q, a.data(),
              factor);
      compare("subtract_multiply_scalar", scalar().subtract_multiply_scalar,
              kernels().subtract_multiply_scalar, count, q, a.data(), b.data(), factor);
      compare("subtract_multiply_scalar without a", scalar().subtract_multiply_scalar,
              kernels().subtract_multiply_scalar, count, q, nullptr, b.data(), factor);
      for (const bool center : {false, true}) {
        compare("scale_residues", scalar().scale_residues, kernels().scale_residues, count, q, a.data(),
                factor, center);
      }
    }
  }
}

// Lazy sums are largest there.
TEST_P(KernelsTest, ProductsOfTheLargestResidues) {
  for (const Modulus& q : element_moduli()) {
    const std::size_t count = 4096;
    const Row a = row(count, q.value(), Fill::near_largest);
    const Row b = row(count, q.value(), Fill::near_largest);
    Row expected = row(count, q.value(), Fill::near_largest);
    Row actual(count);
    actual.copy_from(expected);
    scalar().multiply_add(expected.data(), a.data(), b.data(), expected.data(), count, q);
    kernels().multiply_add(actual.data(), a.data(), b.data(), actual.data(), count, q);
    ASSERT_EQ(expected.words(), actual.words()) << "multiply_add, q = " << q.value();
    compare("multiply", scalar().multiply, kernels().multiply, count, q, a.data(), b.data());
  }
}

TEST_P(KernelsTest, ElementwiseInPlace) {
  constexpr std::size_t count = 264;
  for (const Modulus& q : element_moduli()) {
    const Row a = row(count, q.value(), Fill::mixed);
    const Row b = row(count, q.value(), Fill::mixed);
    Row expected(count);
    Row actual(count);
    scalar().multiply(expected.data(), a.data(), b.data(), count, q);
    actual.copy_from(a);
    kernels().multiply(actual.data(), actual.data(), b.data(), count, q);
    ASSERT_EQ(expected.words(), actual.words()) << "multiply, q = " << q.value();
    scalar().subtract(expected.data(), a.data(), b.data(), count, q);
    actual.copy_from(b);
    kernels().subtract(actual.data(), a.data(), actual.data(), count, q);
    ASSERT_EQ(expected.words(), actual.words()) << "subtract, q = " << q.value();
    // Squares: both inputs and the output the same.
    scalar().multiply(expected.data(), a.data(), a.data(), count, q);
    actual.copy_from(a);
    kernels().multiply(actual.data(), actual.data(), actual.data(), count, q);
    ASSERT_EQ(expected.words(), actual.words()) << "square, q = " << q.value();
  }
}

// Residues of one modulus to another: one source of weight 1.
TEST_P(KernelsTest, SingleResidues) {
  constexpr std::size_t count = 64 + 16;
  for (const Modulus& q : element_moduli()) {
    for (const int source_bits : {20, 40, 49, 50, 51, 52, 61}) {
      for (const Fill how : fills) {
        const std::uint64_t bound = std::uint64_t{1} << source_bits;
        const Row y = row(count, bound, how);
        const std::uint64_t* source = y.data();
        const std::uint64_t weight = 1;
        for (const std::uint64_t shift : {std::uint64_t{0}, below(q.value()), q.value() - 1}) {
          Row expected(count);
          Row actual(count);
          scalar().weighted_sum(expected.data(), &source, &weight, 1, bound, nullptr, 0, shift, count, q);
          kernels().weighted_sum(actual.data(), &source, &weight, 1, bound, nullptr, 0, shift, count, q);
          ASSERT_EQ(expected.words(), actual.words())
              << "q = " << q.value() << ", source of " << source_bits << " bits, shift " << shift;
        }
      }
    }
  }
}

TEST_P(KernelsTest, ResiduesWithin) {
  constexpr std::int64_t bound = 786433;
  for (const std::size_t count : {0, 1, 7, 8, 64, 75}) {
    std::vector<std::int64_t> values(count);
    Row out(count);
    const auto found = [&] {
      const bool within = kernels().residues_within(out.data(), values.data(), count, bound);
      EXPECT_EQ(kernels().all_within(values.data(), count, bound), within);
      return within;
    };
    for (std::size_t i = 0; i < count; ++i) values[i] = i % 2 == 0 ? bound - 1 : 1 - bound;
    EXPECT_TRUE(found());
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out.data()[i], i % 2 == 0 ? bound - 1 : 1);
    for (std::int64_t& value : values) {
      const std::int64_t kept = value;
      for (const std::int64_t other : {bound, -bound, std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min()}) {
        value = other;
        EXPECT_FALSE(found()) << other;
      }
      value = kept;
    }
  }
}

TEST_P(KernelsTest, GroupsOfEightRows) {
  constexpr std::size_t count = 16, stride = 24;
  std::vector<std::uint32_t> groups(count);
  for (std::size_t k = 0; k < count; ++k) {
    groups[k] = static_cast<std::uint32_t>(32 * (5 * k % count) + 7 * k % 32);
  }
  Row orders(std::size_t{8} * 32);  // order o: 3 o + 5 l modulo 8
  for (std::size_t i = 0; i < 8 * 32; ++i) orders.data()[i] = (3 * (i / 8) + 5 * (i % 8)) % 8;
  constexpr std::uint64_t q = std::uint64_t{1} << 40;
  const Row in = row(8 * stride, q, any_fill());
  std::vector<std::int64_t> values(8 * stride), collected(8 * stride), centered(8 * stride);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int64_t>(in.data()[i]) - (i % 2 == 0 ? 0 : std::int64_t{q});
  }
  values[stride] = q - 1;
  values[2 * stride] = 1 - std::int64_t{q};
  Row placed(8 * count);
  const auto place = [&] {
    return kernels().place_groups(placed.data(), values.data(), stride, groups.data(), orders.data(), count,
                                  q);
  };
  EXPECT_TRUE(place());
  kernels().collect_groups(collected.data(), stride, in.data(), groups.data(), orders.data(), count, q, q);
  kernels().collect_groups(centered.data(), stride, in.data(), groups.data(), orders.data(), count, q / 2, q);
  const arith::Modulus modulus(q);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t start = 8 * (groups[k] / 32);
    for (std::size_t l = 0; l < 8; ++l) {
      const std::size_t order = orders.data()[8 * (groups[k] % 32) + l];
      const std::uint64_t entry = in.data()[start + order];
      EXPECT_EQ(placed.data()[start + l], modulus.reduce_signed(values[k + stride * order]))
          << k << ", " << l;
      EXPECT_EQ(collected[k + stride * l], static_cast<std::int64_t>(entry)) << k << ", " << l;
      EXPECT_EQ(centered[k + stride * l], modulus.centered(entry)) << k << ", " << l;
    }
  }
  for (std::size_t c = 0; c < 8; ++c) {
    for (std::size_t k = 0; k < count; ++k) {
      std::int64_t& value = values[k + stride * c];
      const std::int64_t kept = value;
      for (const std::int64_t other :
           {std::int64_t{q}, -std::int64_t{q}, std::numeric_limits<std::int64_t>::max(),
            std::numeric_limits<std::int64_t>::min()}) {
        value = other;
        EXPECT_FALSE(place()) << k << ", " << c << ": " << other;
      }
      value = kept;
    }
  }
}

TEST_P(KernelsTest, OneOutside) {
  const std::uint64_t least = std::uint64_t{1} << 59, most = least + 12345;
  for (const std::size_t count : {8, 64, 72}) {
    Row words(count);
    const auto found = [&] { return kernels().one_outside(words.data(), least, most, count); };
    for (std::size_t i = 0; i < count; ++i) words.data()[i] = i % 2 == 0 ? least : most;
    EXPECT_FALSE(found());
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t kept = words.data()[i];
      for (const std::uint64_t other :
           {std::uint64_t{0}, least - 1, most + 1, (std::uint64_t{1} << 63) - 1}) {
        words.data()[i] = other;
        EXPECT_TRUE(found()) << i << ", " << other;
      }
      words.data()[i] = kept;
    }
  }
}

TEST_P(KernelsTest, Quotient) {
  constexpr std::size_t count = 64 + 8;
  std::size_t near_groups = 0, far_groups = 0;
  const std::vector<std::vector<int>> bases = {{20},        {49, 49}, {50, 44, 36, 50},
                                               {52, 3, 52}, {60, 50}, {61, 61, 61, 30}};
  for (const std::vector<int>& base : bases) {
    for (std::size_t copies = 1; copies <= 9; copies += 4) {
      for (const Fill how : fills) {
        std::vector<Row> y;
        std::vector<const std::uint64_t*> rows;
        Words factors;
        std::vector<int> bits;
        for (std::size_t i = 0; i < base.size() * copies; ++i) {
          const int size = base[i % base.size()];
          const std::uint64_t half = std::uint64_t{1} << (size - 1);
          const std::uint64_t a = half + (i % 2 == 0 ? half - 1 : 1 + below(half - 1) / 2 * 2);  // odd
          y.push_back(row(count, a, how));
          rows.push_back(y.back().data());
          factors.push_back(static_cast<std::uint64_t>((static_cast<arith::uint128>(1) << (63 + size)) / a));
          bits.push_back(size);
        }
        Row expected(count);
        Row actual(count);
        scalar().quotient(expected.data(), rows.data(), factors.data(), bits.data(), rows.size(), count);
        kernels().quotient(actual.data(), rows.data(), factors.data(), bits.data(), rows.size(), count);
        ASSERT_EQ(expected.words(), actual.words()) << "sources: " << rows.size();
        // Whether one is rounded by a quarter, eight at a time so that both answers occur.
        for (std::size_t first = 0; first < count; first += 8) {
          bool far = false;
          for (std::size_t n = first; n < first + 8; ++n) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) {
              sum += static_cast<std::uint64_t>(static_cast<arith::uint128>(rows[i][n]) * factors[i] >>
                                                (bits[i] - 1));
            }
            far |= sum >= std::uint64_t{1} << 62 && sum < std::uint64_t{3} << 62;
          }
          std::vector<const std::uint64_t*> part;
          for (const std::uint64_t* y_row : rows) part.push_back(y_row + first);
          ASSERT_EQ(
              kernels().quotient(actual.data(), part.data(), factors.data(), bits.data(), rows.size(), 8),
              far);
          (far ? far_groups : near_groups) += 1;
        }
      }
    }
  }
  EXPECT_GT(near_groups, 0U);
  EXPECT_GT(far_groups, 0U);
}

// A processor may have no other.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelsTest);
INSTANTIATE_TEST_SUITE_P(Vector, KernelsTest, ::testing::ValuesIn(vector_kernels()), kernels_name);

}  // namespace
}  // namespace hemera::poly::cpu::kernel_tests
