// Kernels that sum products, and transforms, of every instruction set that this processor has, against the
// scalar ones, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "hemera/arith/primes.hpp"
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
      compare("inner_product", scalar().inner_product, kernels().inner_product, count, q, a.data(), b.data(),
              terms);
      compare("weighted_sum", scalar().weighted_sum, kernels().weighted_sum, count, q, a.data(),
              weights.data(), terms, q.value(), nullptr, 0, 1);
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

// A processor may have no other.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransformTest);
INSTANTIATE_TEST_SUITE_P(Vector, TransformTest, ::testing::ValuesIn(vector_kernels()), kernels_name);

}  // namespace
}  // namespace hemera::poly::cpu::kernel_tests
