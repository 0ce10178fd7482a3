// Transforms of every instruction set that this processor has, against the scalar one, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/kernels_support.hpp"

namespace hemera::poly::cpu::kernel_tests {
namespace {

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
