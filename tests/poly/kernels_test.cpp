// Every kernel of every instruction set that this processor has, against the scalar one, bit for bit.
#include "poly/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::poly::cpu {
namespace {

using arith::Modulus;
using arith::ShoupFactor;
using Words = std::vector<std::uint64_t>;

enum class Fill { random, zero, largest, near_largest, mixed };
constexpr Fill fills[] = {Fill::random, Fill::zero, Fill::largest, Fill::near_largest, Fill::mixed};

// 64-byte aligned words, as kernels want them.
class Row {
 public:
  explicit Row(std::size_t count)
      : buffer_(runtime::make_host_memory(0), count * sizeof(std::uint64_t)), count_(count) {}

  [[nodiscard]] std::uint64_t* data() { return reinterpret_cast<std::uint64_t*>(buffer_.data()); }
  [[nodiscard]] const std::uint64_t* data() const {
    return reinterpret_cast<const std::uint64_t*>(buffer_.data());
  }
  [[nodiscard]] Words words() const { return {data(), data() + count_}; }
  void copy_from(const Row& other) { std::memcpy(data(), other.data(), count_ * sizeof(std::uint64_t)); }

 private:
  runtime::Buffer buffer_;
  std::size_t count_;
};

class KernelsTest : public ::testing::TestWithParam<const Kernels*> {
 protected:
  // Words below `bound`.
  void fill(std::uint64_t* words, std::size_t count, std::uint64_t bound, Fill how) {
    std::uniform_int_distribution<std::uint64_t> uniform(0, bound - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t choice = random_() % 4;
      if (how == Fill::random) words[i] = uniform(random_);
      if (how == Fill::zero) words[i] = 0;
      if (how == Fill::largest) words[i] = bound - 1;
      if (how == Fill::near_largest)
        words[i] = bound - 1 - random_() % std::min(bound, std::uint64_t{1} << 20);
      if (how == Fill::mixed) {
        words[i] = choice == 0   ? 0
                   : choice == 1 ? bound - 1
                   : choice == 2 ? (bound - 1) / 2
                                 : uniform(random_);
      }
    }
  }
  Row row(std::size_t count, std::uint64_t bound, Fill how) {
    Row result(count);
    fill(result.data(), count, bound, how);
    return result;
  }
  Fill any_fill() { return fills[random_() % std::size(fills)]; }
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t word = 0;
    fill(&word, 1, bound, any_fill());
    return word;
  }

  const Kernels& scalar() { return scalar_kernels(); }
  const Kernels& kernels() { return *GetParam(); }

  std::mt19937_64 random_{20240607};

 private:
};

// Moduli of all sizes for the element-wise kernels: at both ends of each number of bits, powers of two,
// primes.
std::vector<Modulus> element_moduli() {
  std::vector<Modulus> moduli;
  for (const int bits : {2, 7, 20, 32, 33, 43, 48, 49, 50, 51, 52, 53, 54, 55, 56, 60, 61}) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    moduli.emplace_back(power - 1);
    moduli.emplace_back(power / 2);
    moduli.emplace_back(power / 2 + 1);
    moduli.emplace_back(power / 3 * 2 + 1);
  }
  for (const int bits : {20, 30, 44, 49, 50, 51, 55, 60, 61}) {
    moduli.emplace_back(arith::primes_below(std::uint64_t{1} << bits, 2048, 1).at(0));
  }
  moduli.emplace_back(0x20000000a4001);  // products of its largest residues need the last fold
  return moduli;
}

constexpr std::size_t element_counts[] = {8, 24, 64, 1024 + 40};

TEST_P(KernelsTest, AddSubtractNegate) {
  for (const Modulus& q : element_moduli()) {
    for (const std::size_t count : element_counts) {
      const Row a = row(count, q.value(), any_fill());
      const Row b = row(count, q.value(), any_fill());
      const std::uint64_t scalar_operand = below(q.value());
      Row expected(count);
      Row actual(count);
      scalar().add(expected.data(), a.data(), b.data(), count, q);
      kernels().add(actual.data(), a.data(), b.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "add, q = " << q.value();
      scalar().subtract(expected.data(), a.data(), b.data(), count, q);
      kernels().subtract(actual.data(), a.data(), b.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "subtract, q = " << q.value();
      if (kernels().subtract_past_cache != nullptr) {
        kernels().subtract_past_cache(actual.data(), b.data(), a.data(), count, q);
        scalar().subtract(expected.data(), b.data(), a.data(), count, q);
        ASSERT_EQ(expected.words(), actual.words()) << "subtract_past_cache, q = " << q.value();
      }
      if (kernels().add_past_cache != nullptr) {
        kernels().add_past_cache(actual.data(), a.data(), b.data(), count, q);
        scalar().add(expected.data(), a.data(), b.data(), count, q);
        ASSERT_EQ(expected.words(), actual.words()) << "add_past_cache, q = " << q.value();
      }
      scalar().negate(expected.data(), a.data(), count, q);
      kernels().negate(actual.data(), a.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "negate, q = " << q.value();
      scalar().add_scalar(expected.data(), a.data(), scalar_operand, count, q);
      kernels().add_scalar(actual.data(), a.data(), scalar_operand, count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "add_scalar, q = " << q.value();
    }
  }
}

TEST_P(KernelsTest, Products) {
  for (const Modulus& q : element_moduli()) {
    for (const std::size_t count : element_counts) {
      const Row a = row(count, q.value(), any_fill());
      const Row b = row(count, q.value(), any_fill());
      const ShoupFactor factor(below(q.value()), q);
      Row expected(count);
      Row actual(count);
      scalar().multiply(expected.data(), a.data(), b.data(), count, q);
      kernels().multiply(actual.data(), a.data(), b.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "multiply, q = " << q.value();
      if (kernels().multiply_past_cache != nullptr) {
        Row past(count);
        kernels().multiply_past_cache(past.data(), a.data(), b.data(), count, q);
        ASSERT_EQ(expected.words(), past.words()) << "multiply_past_cache, q = " << q.value();
      }
      scalar().multiply_add(expected.data(), a.data(), b.data(), expected.data(), count, q);
      kernels().multiply_add(actual.data(), a.data(), b.data(), actual.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "multiply_add, q = " << q.value();
      scalar().multiply_add(expected.data(), a.data(), actual.data(), b.data(), count, q);
      kernels().multiply_add(actual.data(), a.data(), actual.data(), b.data(), count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "multiply_add to another, q = " << q.value();
      scalar().multiply_scalar(expected.data(), a.data(), factor, count, q);
      kernels().multiply_scalar(actual.data(), a.data(), factor, count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "multiply_scalar, q = " << q.value();
      scalar().subtract_multiply_scalar(expected.data(), a.data(), b.data(), factor, count, q);
      kernels().subtract_multiply_scalar(actual.data(), a.data(), b.data(), factor, count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "subtract_multiply_scalar, q = " << q.value();
      scalar().subtract_multiply_scalar(expected.data(), nullptr, b.data(), factor, count, q);
      kernels().subtract_multiply_scalar(actual.data(), nullptr, b.data(), factor, count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "subtract_multiply_scalar without a, q = " << q.value();
      for (const bool center : {false, true}) {
        scalar().scale_residues(expected.data(), a.data(), factor, center, count, q);
        kernels().scale_residues(actual.data(), a.data(), factor, center, count, q);
        ASSERT_EQ(expected.words(), actual.words()) << "scale_residues, q = " << q.value();
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
    scalar().multiply(expected.data(), a.data(), b.data(), count, q);
    kernels().multiply(actual.data(), a.data(), b.data(), count, q);
    ASSERT_EQ(expected.words(), actual.words()) << "multiply, q = " << q.value();
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

TEST_P(KernelsTest, InnerProduct) {
  constexpr std::size_t count = 64 + 24;
  for (const Modulus& q : element_moduli()) {
    for (const std::size_t terms : {1, 2, 3, 14, 15, 16, 31, 32, 33, 70}) {
      for (const Fill how : fills) {
        std::vector<Row> a;
        std::vector<Row> b;
        std::vector<const std::uint64_t*> a_rows;
        std::vector<const std::uint64_t*> b_rows;
        for (std::size_t i = 0; i < terms; ++i) {
          a.push_back(row(count, q.value(), how));
          b.push_back(row(count, q.value(), how));
          a_rows.push_back(a.back().data());
          b_rows.push_back(b.back().data());
        }
        Row expected(count);
        Row actual(count);
        scalar().inner_product(expected.data(), a_rows.data(), b_rows.data(), terms, count, q);
        kernels().inner_product(actual.data(), a_rows.data(), b_rows.data(), terms, count, q);
        ASSERT_EQ(expected.words(), actual.words()) << "q = " << q.value() << ", terms = " << terms;
      }
    }
  }
}

TEST_P(KernelsTest, InnerProductPair) {
  if (kernels().inner_product_pair == nullptr) GTEST_SKIP() << "two inner products do in its place";
  for (const std::size_t count : {std::size_t{24}, std::size_t{512}, std::size_t{2 * 512 + 64 + 24}}) {
    for (const Modulus& q : element_moduli()) {
      for (const std::size_t terms : {1, 2, 3, 4, 5, 6, 7, 9, 14, 15, 16, 17, 31, 64, 70}) {
        const Fill how = any_fill();
        std::vector<Row> rows;
        std::vector<const std::uint64_t*> factors[3];
        for (std::size_t i = 0; i < 3 * terms; ++i) {
          rows.push_back(row(count, q.value(), how));
          factors[i % 3].push_back(rows.back().data());
        }
        for (std::size_t i = 0; i < 2; ++i) {
          Row expected(count);
          Row actual[2] = {Row(count), Row(count)};
          scalar().inner_product(expected.data(), factors[0].data(), factors[1 + i].data(), terms, count, q);
          kernels().inner_product_pair(actual[0].data(), actual[1].data(), factors[0].data(),
                                       factors[1].data(), factors[2].data(), terms, count, q);
          ASSERT_EQ(expected.words(), actual[i].words())
              << "q = " << q.value() << ", terms = " << terms << ", count = " << count << ", sum " << i;
        }
      }
    }
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

// More terms than any kernel adds up without a reduction.
TEST_P(KernelsTest, LongSums) {
  constexpr std::size_t count = 8;
  constexpr std::size_t terms = 2200;
  for (const int bits : {20, 49, 50, 53, 55, 61}) {
    const Modulus q((std::uint64_t{1} << bits) - 1);
    for (const Fill how : {Fill::random, Fill::largest}) {
      const Row values = row(terms * count, q.value(), how);
      std::vector<const std::uint64_t*> a;
      std::vector<const std::uint64_t*> b;
      Words weights(terms);
      for (std::size_t i = 0; i < terms; ++i) {
        a.push_back(values.data() + i * count);
        b.push_back(values.data() + (terms - 1 - i) * count);
      }
      fill(weights.data(), terms, q.value(), how);
      Row expected(count);
      Row actual(count);
      scalar().inner_product(expected.data(), a.data(), b.data(), terms, count, q);
      kernels().inner_product(actual.data(), a.data(), b.data(), terms, count, q);
      ASSERT_EQ(expected.words(), actual.words()) << "inner_product, q = " << q.value();
      scalar().weighted_sum(expected.data(), a.data(), weights.data(), terms, q.value(), nullptr, 0, 1, count,
                            q);
      kernels().weighted_sum(actual.data(), a.data(), weights.data(), terms, q.value(), nullptr, 0, 1, count,
                             q);
      ASSERT_EQ(expected.words(), actual.words()) << "weighted_sum, q = " << q.value();
    }
  }
}

TEST_P(KernelsTest, Tensor) {
  constexpr std::size_t count = 64 + 8;
  for (const Modulus& q : element_moduli()) {
    for (const Fill how : fills) {
      const Row a0 = row(count, q.value(), how);
      const Row a1 = row(count, q.value(), how);
      const Row b0 = row(count, q.value(), how);
      const Row b1 = row(count, q.value(), how);
      Row expected[3] = {Row(count), Row(count), Row(count)};
      Row actual[3] = {Row(count), Row(count), Row(count)};
      scalar().tensor_2x2(expected[0].data(), expected[1].data(), expected[2].data(), a0.data(), a1.data(),
                          b0.data(), b1.data(), count, q);
      kernels().tensor_2x2(actual[0].data(), actual[1].data(), actual[2].data(), a0.data(), a1.data(),
                           b0.data(), b1.data(), count, q);
      for (int i = 0; i < 3; ++i) ASSERT_EQ(expected[i].words(), actual[i].words()) << "q = " << q.value();
    }
  }
}

// Sources of mixed sizes: residues of each below its own modulus.
TEST_P(KernelsTest, WeightedSum) {
  constexpr std::size_t count = 64 + 16;
  for (const Modulus& q : element_moduli()) {
    for (const int source_bits : {30, 49, 50, 52, 53, 55, 61}) {
      for (const std::size_t sources : {1, 3, 4, 17, 40}) {
        const Fill how = any_fill();
        const std::uint64_t bound = std::uint64_t{1} << source_bits;
        std::vector<Row> y;
        std::vector<const std::uint64_t*> rows;
        Words weights(sources);
        for (std::size_t i = 0; i < sources; ++i) {
          y.push_back(row(count, i % 3 == 2 ? bound / 5 : bound, how));
          rows.push_back(y.back().data());
        }
        fill(weights.data(), sources, q.value(), how);
        const Row v = row(count, sources + 1, any_fill());
        const std::uint64_t product = below(q.value());
        const std::uint64_t shift = below(q.value());
        Row expected(count);
        Row actual(count);
        for (const std::uint64_t* quotients : {v.data(), static_cast<const std::uint64_t*>(nullptr)}) {
          scalar().weighted_sum(expected.data(), rows.data(), weights.data(), sources, bound, quotients,
                                product, shift, count, q);
          kernels().weighted_sum(actual.data(), rows.data(), weights.data(), sources, bound, quotients,
                                 product, shift, count, q);
          ASSERT_EQ(expected.words(), actual.words())
              << "q = " << q.value() << ", sources of " << source_bits << " bits: " << sources;
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

class TransformTest : public KernelsTest {
 protected:
  // The largest and the smallest NTT prime of each size, down to the smallest that degree allows.
  static std::vector<std::uint64_t> primes(std::size_t degree, const std::vector<int>& sizes) {
    std::vector<std::uint64_t> found;
    for (const int bits : sizes) {
      const std::uint64_t upper = std::uint64_t{1} << bits;
      for (const std::uint64_t p : arith::primes_below(upper, 2 * degree, 1)) found.push_back(p);
      const auto smallest =
          arith::primes_nearest(static_cast<double>(upper) / 2, 2 * degree, 1, upper / 2, upper);
      found.insert(found.end(), smallest.begin(), smallest.end());
    }
    return found;
  }

  void check(std::size_t degree, std::uint64_t prime) {
    const Modulus q(prime);
    const std::uint64_t root = arith::minimal_primitive_root(2 * degree, q);
    ASSERT_NE(root, 0U);
    const LimbTables tables = make_limb_tables({q, root}, degree);
    for (const Fill how : {Fill::random, Fill::largest, Fill::mixed}) {
      const Row in = row(degree, prime, how);
      Row expected(degree);
      Row actual(degree);
      scalar().forward_transform(expected.data(), in.data(), tables);
      kernels().forward_transform(actual.data(), in.data(), tables);
      ASSERT_EQ(expected.words(), actual.words()) << "forward, N = " << degree << ", q = " << prime;
      actual.copy_from(in);
      kernels().forward_transform(actual.data(), actual.data(), tables);
      ASSERT_EQ(expected.words(), actual.words()) << "forward in place, N = " << degree << ", q = " << prime;

      scalar().inverse_transform(expected.data(), in.data(), tables);
      kernels().inverse_transform(actual.data(), in.data(), tables);
      ASSERT_EQ(expected.words(), actual.words()) << "inverse, N = " << degree << ", q = " << prime;
      actual.copy_from(in);
      kernels().inverse_transform(actual.data(), actual.data(), tables);
      ASSERT_EQ(expected.words(), actual.words()) << "inverse in place, N = " << degree << ", q = " << prime;
    }
    if (kernels().forward_transform_of_sum != nullptr) check_sum(degree, tables);
    const Row zeros = row(degree, prime, Fill::zero);
    Row actual(degree);
    kernels().forward_transform(actual.data(), zeros.data(), tables);
    ASSERT_EQ(zeros.words(), actual.words());
    kernels().inverse_transform(actual.data(), zeros.data(), tables);
    ASSERT_EQ(zeros.words(), actual.words());
  }

  // Any residues, also those of moduli that are larger.
  void check_sum(std::size_t degree, const LimbTables& tables) {
    const Modulus& q = tables.modulus;
    const std::uint64_t bound = q.value() < max_modulus_52 ? max_modulus_52 : std::uint64_t{1} << 61;
    for (const Fill how : {Fill::random, Fill::largest, Fill::mixed}) {
      const Row a = row(degree, bound, how);
      const Row b = row(degree, bound, how);
      const std::uint64_t weights[2] = {1, below(q.value())};
      const std::uint64_t shift = below(q.value());
      const std::uint64_t* const sources[2] = {a.data(), b.data()};
      for (const std::size_t terms : {std::size_t{1}, std::size_t{2}}) {
        Row expected(degree);
        Row actual(degree);
        actual.copy_from(a);
        scalar().weighted_sum(expected.data(), sources, weights, terms, bound, nullptr, 0, shift, degree, q);
        scalar().forward_transform(expected.data(), expected.data(), tables);
        kernels().forward_transform_of_sum(actual.data(), actual.data(), terms == 1 ? nullptr : b.data(),
                                           {weights[1], q}, q.negate(shift), tables);
        ASSERT_EQ(expected.words(), actual.words())
            << "N = " << degree << ", q = " << q.value() << ", terms = " << terms;
      }
    }
  }
};

TEST_P(TransformTest, AllSizesOfPrimes) {
  for (const std::uint64_t prime : primes(1024, {14, 20, 25, 30, 32, 33, 40, 41, 42, 44, 46, 47,
                                                 48, 49, 50, 51, 52, 55, 56, 57, 58, 59, 60, 61})) {
    check(1024, prime);
  }
}

TEST_P(TransformTest, AllDegrees) {
  for (std::size_t degree = 2048; degree <= std::size_t{1} << 17; degree *= 2) {
    std::vector<int> sizes = {43, 48, 49, 50, 56, 57, 59, 60, 61};
    if (degree >= std::size_t{1} << 15) sizes = {47, 49, 50, 56, 57, 59, 60, 61};
    // Around the size from which on inverse transforms reduce between stages.
    const int log_degree = static_cast<int>(std::bit_width(degree)) - 1;
    sizes.insert(sizes.end(), {51 - log_degree, 52 - log_degree});
    for (const std::uint64_t prime : primes(degree, sizes)) check(degree, prime);
  }
}

// All but the scalar ones, which they are compared with.
std::vector<const Kernels*> vector_kernels() {
  const auto available = available_kernels();
  return {available.begin() + 1, available.end()};
}
std::string kernels_name(const ::testing::TestParamInfo<const Kernels*>& instance) {
  return instance.param->name;
}

// A processor may have no other.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelsTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransformTest);
INSTANTIATE_TEST_SUITE_P(Vector, KernelsTest, ::testing::ValuesIn(vector_kernels()), kernels_name);
INSTANTIATE_TEST_SUITE_P(Vector, TransformTest, ::testing::ValuesIn(vector_kernels()), kernels_name);

}  // namespace
}  // namespace hemera::poly::cpu
