// Both forms of the discrete Galois transform against sums of products, by every instruction set.
#include "hemera/multiply/galois_transform.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/forced_isa.hpp"

namespace hemera::multiply {
namespace {

using Form = GaloisTransform::Form;
using Words = std::vector<std::uint64_t>;
constexpr std::uint64_t mersenne61 = (std::uint64_t{1} << 61) - 1;

Words schoolbook(const Words& a, const Words& b, const arith::Modulus& p) {
  const std::size_t degree = a.size();
  Words out(degree);
  for (std::size_t i = 0; i < degree; ++i) {
    for (std::size_t j = 0; j < degree; ++j) {
      const std::uint64_t product = p.multiply(a[i], b[j]);
      auto& target = out[(i + j) % degree];
      target = i + j < degree ? p.add(target, product) : p.subtract(target, product);
    }
  }
  return out;
}

Words product(const GaloisTransform& transform, const Words& a, const Words& b) {
  Words out(a.size()), scratch(transform.tensor_scratch(1, 1));
  std::uint64_t* const to[] = {out.data()};
  const std::uint64_t* const left[] = {a.data()};
  const std::uint64_t* const right[] = {b.data()};
  transform.tensor_product(to, left, right, scratch);
  return out;
}

class GaloisTransformTest : public ::testing::TestWithParam<const char*> {
 protected:
  void check(std::size_t degree, std::uint64_t p, Form form) {
    const auto transform = make_galois_transform(degree, p);
    ASSERT_EQ(transform->form(), form) << p;
    ASSERT_EQ(transform->degree(), degree);
    Words a(degree), b(degree, p - 1);
    for (auto& c : a) c = random_() % p;
    const arith::Modulus modulus(p);
    ASSERT_EQ(product(*transform, a, b), schoolbook(a, b, modulus)) << degree << " " << p;
    ASSERT_EQ(product(*transform, a, a), schoolbook(a, a, modulus)) << degree << " " << p;
    // There and back.
    Words values(degree), back(degree);
    transform->forward(values.data(), a.data());
    transform->inverse(back.data(), values.data());
    ASSERT_EQ(back, a) << degree << " " << p;
  }

  ForcedIsa isa_{GetParam()};
  std::mt19937_64 random_{23};
};

TEST_P(GaloisTransformTest, MultipliesModuloSplitPrimesAtEveryDegree) {
  for (std::size_t degree = 2; degree <= 2048; degree *= 2) {
    for (const int bits : {61, 50, 49, 30}) {
      check(degree, arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 1).at(0), Form::split);
    }
  }
}

// X^k turns a polynomial: an oracle for degrees beyond the schoolbook's reach.
TEST_P(GaloisTransformTest, TurnsByMonomialsAtLargeDegrees) {
  for (std::size_t degree = 4096; degree <= (1 << 17); degree *= 2) {
    for (const int bits : {61, 50, 49}) {
      const arith::Modulus p(arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 1).at(0));
      const auto transform = make_galois_transform(degree, p.value());
      Words a(degree, p.value() - 1), monomial(degree), expected(degree);
      for (std::size_t n = 0; n < degree; n += 3) a[n] = random_() % p.value();
      const std::size_t shift = random_() % degree;
      monomial[shift] = p.value() - 1;
      for (std::size_t n = 0; n < degree; ++n) {
        expected[(n + shift) % degree] = n + shift < degree ? p.negate(a[n]) : a[n];
      }
      ASSERT_EQ(product(*transform, a, monomial), expected) << degree << " " << bits;
    }
  }
}

TEST_P(GaloisTransformTest, MultipliesModuloInertPrimesAtEveryDegree) {
  for (std::size_t degree = 2; degree <= 512; degree *= 2) {
    check(degree, mersenne61, Form::inert);
    check(degree, inert_prime_below(std::uint64_t{1} << 40, degree), Form::inert);
  }
  // p + 1 is an odd multiple of the degree: roots of norm -1.
  check(4, 3, Form::inert);
  check(8, 7, Form::inert);
  check(64, 191, Form::inert);
}

// The primes that vector kernels take: from 2^20 to 2^48, -1 modulo 2N.
TEST_P(GaloisTransformTest, MultipliesModuloInertPrimesOfEverySize) {
  for (std::size_t degree = 64; degree <= 1024; degree *= 4) {
    for (const int bits : {19, 21, 31, 33, 47, 48, 49}) {
      check(degree, inert_prime_below(std::uint64_t{1} << bits, 2 * degree), Form::inert);
    }
  }
  for (const std::uint64_t p :
       {(std::uint64_t{1} << 31) - 1, inert_prime_below(std::uint64_t{1} << 48, 1 << 18)}) {
    const std::size_t degree = 1 << 17;
    const auto transform = make_galois_transform(degree, p);
    const arith::Modulus modulus(p);
    Words a(degree, p - 1), expected(degree);
    for (std::size_t n = 0; n < degree; ++n) {
      expected[n] =
          modulus.reduce_signed(static_cast<std::int64_t>(2 * (n + 1)) - static_cast<std::int64_t>(degree));
    }
    ASSERT_EQ(product(*transform, a, a), expected) << p;
  }
}

TEST_P(GaloisTransformTest, SumsOfProductsComeBack) {
  for (const std::uint64_t p :
       {inert_prime_below(std::uint64_t{1} << 48, 1024), mersenne61, std::uint64_t{12289}}) {
    const std::size_t degree = 512;
    const auto transform = make_galois_transform(degree, p);
    const arith::Modulus modulus(p);
    Words a[2], b[2], values[4], out(degree), sum(degree), expected(degree);
    const std::uint64_t *left[2], *right[2];
    for (std::size_t k = 0; k < 2; ++k) {
      for (Words* each : {&a[k], &b[k]}) {
        each->resize(degree);
        for (auto& c : *each) c = random_() % p;
      }
      values[k].resize(degree), values[2 + k].resize(degree);
      transform->forward(values[k].data(), a[k].data());
      transform->forward(values[2 + k].data(), b[k].data());
      left[k] = values[k].data(), right[k] = values[2 + k].data();
      const Words term = schoolbook(a[k], b[k], modulus);
      for (std::size_t n = 0; n < degree; ++n) expected[n] = modulus.add(expected[n], term[n]);
    }
    transform->sum_of_products(sum.data(), left, right, 2);
    transform->inverse(out.data(), sum.data());
    ASSERT_EQ(out, expected) << p;
  }
}

TEST_P(GaloisTransformTest, InertPrimesAreTheLargestOfTheirKind) {
  for (const std::size_t degree : {2, 16, 1024}) {
    const std::uint64_t p = inert_prime_below(1 << 20, degree);
    EXPECT_TRUE(arith::is_prime(p));
    EXPECT_EQ(p % 4, 3U);
    EXPECT_EQ((p + 1) % degree, 0U);
    for (std::uint64_t other = p + 1; other < (1 << 20); ++other) {
      ASSERT_FALSE(other % 4 == 3 && (other + 1) % degree == 0 && arith::is_prime(other)) << other;
    }
  }
  EXPECT_THROW((void)inert_prime_below(100, 1 << 10), ParameterError);
  EXPECT_THROW((void)inert_prime_below(std::uint64_t{1} << 62, 16), ParameterError);
  EXPECT_THROW((void)inert_prime_below(1 << 20, 24), ParameterError);
}

TEST_P(GaloisTransformTest, BadInputIsAnErrorWithTheWayOut) {
  EXPECT_THROW((void)make_galois_transform(100, mersenne61), ParameterError);
  EXPECT_THROW((void)make_galois_transform(0, mersenne61), ParameterError);
  EXPECT_THROW((void)make_galois_transform(1, mersenne61), ParameterError);
  EXPECT_THROW((void)make_galois_transform(64, (std::uint64_t{1} << 61) + 1), ParameterError);
  EXPECT_THROW((void)make_galois_transform(64, 2), ParameterError);
  EXPECT_THROW((void)make_galois_transform(64, 13), ParameterError);  // 1 modulo 4, not 1 modulo 128
  EXPECT_THROW((void)make_galois_transform(64, 19), ParameterError);  // 3 modulo 4, not -1 modulo 64
  EXPECT_THROW((void)make_galois_transform(64, 127 * 127), ParameterError);
  EXPECT_THROW((void)make_galois_transform(16, 255), ParameterError);  // -1 modulo 16, not prime
  const auto transform = make_galois_transform(64, 12289);
  Words a(64), scratch(10);
  std::uint64_t* const to[] = {a.data()};
  const std::uint64_t* const from[] = {a.data()};
  EXPECT_THROW(transform->tensor_product(to, from, from, scratch), MismatchError);
  EXPECT_THROW(transform->tensor_product({}, from, from, scratch), MismatchError);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, GaloisTransformTest, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& set) { return std::string(set.param); });

}  // namespace
}  // namespace hemera::multiply
