// Kernels that sum products, of every instruction set that this processor has, against the scalar ones.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "poly/cpu/kernels.hpp"
#include "poly/kernels_support.hpp"

namespace hemera::poly::cpu::kernel_tests {
namespace {

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

}  // namespace
}  // namespace hemera::poly::cpu::kernel_tests
