// Products of mpz_t against GMP and, where it is installed, FLINT.
#if defined(HEMERA_HAS_GMP)
#include "hemera/multiply/gmp.hpp"

#include <gtest/gtest.h>

#include <random>

#include "hemera/runtime/error.hpp"
#include "multiply/ring_support.hpp"

#if defined(HEMERA_HAS_FLINT)
#include <flint/fmpz.h>
#include <flint/fmpz_poly.h>
#include <flint/nmod_poly.h>
#endif

namespace hemera::multiply {
namespace {

class Integer {
 public:
  Integer() { mpz_init(value_); }
  ~Integer() { mpz_clear(value_); }
  Integer(const Integer&) = delete;
  Integer& operator=(const Integer&) = delete;
  operator mpz_ptr() { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  mpz_t value_;
};

class GmpTest : public ::testing::Test {
 protected:
  void fill_random(Integer& a, std::size_t bits, bool negative = false) {
    Words words(bits / 64 + 1);
    for (auto& word : words) word = random_();
    words.back() &= (std::uint64_t{1} << (bits % 64)) - 1;
    mpz_import(a, words.size(), -1, 8, 0, 0, words.data());
    if (negative) mpz_neg(a, a);
  }

  static Words words(mpz_srcptr a, std::size_t size) {
    Words result(size);
    mpz_export(result.data(), nullptr, -1, 8, 0, 0, a);
    return result;
  }

  IntegerMultiplier multiplier_;
  runtime::ThreadPool pool_{2};
  std::mt19937_64 random_{17};
};

TEST_F(GmpTest, ProductsEqualGmpsForEverySignAndSize) {
  for (std::size_t bits = 1; bits < 3000000; bits = bits * 7 / 4 + 13) {
    Integer a, b, ours, theirs;
    fill_random(a, bits, random_() % 2 == 0);
    fill_random(b, bits - random_() % bits / 2, random_() % 2 == 0);
    multiply(ours, a, b, multiplier_, pool_);
    mpz_mul(theirs, a, b);
    ASSERT_EQ(mpz_cmp(ours, theirs), 0) << bits;
    multiply(a, a, a, multiplier_, pool_);  // in place
    EXPECT_GE(mpz_sgn(static_cast<mpz_ptr>(a)), 0);
    multiply(b, ours, b, multiplier_, pool_);
    mpz_mul(ours, theirs, ours);
    multiply(theirs, theirs, theirs, multiplier_, pool_);
    ASSERT_EQ(mpz_cmp(ours, theirs), 0) << bits;
  }
  Integer zero, a, out;
  fill_random(a, 100000);
  multiply(out, a, zero, multiplier_, pool_);
  EXPECT_EQ(mpz_sgn(static_cast<mpz_ptr>(out)), 0);
  multiply(out, zero, zero, multiplier_, pool_);
  EXPECT_EQ(mpz_sgn(static_cast<mpz_ptr>(out)), 0);
}

// Powers of two, all ones, and ones next to powers of two: digits that are 0 or maximal.
TEST_F(GmpTest, ProductsOfAdversarialIntegersEqualGmps) {
  for (const unsigned long bits : {5000UL, 65536UL, 400001UL, 2000000UL}) {
    for (int kind = 0; kind < 4; ++kind) {
      Integer a, b, ours, theirs;
      mpz_ui_pow_ui(a, 2, bits);
      mpz_ui_pow_ui(b, 2, bits / 2);
      if (kind % 2 == 1) mpz_sub_ui(a, a, 1);
      if (kind / 2 == 1) mpz_sub(b, a, b);
      multiply(ours, a, b, multiplier_, pool_);
      mpz_mul(theirs, a, b);
      ASSERT_EQ(mpz_cmp(ours, theirs), 0) << bits << " " << kind;
    }
  }
}

// Modulo 2^(N e) + 1, the exponents that ring products have: random, largest, least (which is -largest),
// sparse, zero, and roots of -1.
TEST_F(GmpTest, ProductsModuloEqualGmpsAtEveryDegree) {
  for (std::size_t degree = 2048; degree <= poly::max_degree; degree *= 4) {
    for (const int bits : {20, 49, 61}) {
      if (degree > (std::size_t{1} << 14) && bits != 61) continue;  // the largest take seconds
      const std::uint64_t largest = (std::uint64_t{1} << bits) - 1;
      const auto e = static_cast<std::size_t>(
          kronecker_exponent(largest, largest, degree, Signedness::signed_coefficients));
      const std::size_t exponent = plan_product_modulo(degree * e, degree).modulus_exponent();
      const std::size_t size = exponent / 64 + 1;
      Integer modulus, power;
      mpz_ui_pow_ui(power, 2, exponent);
      mpz_add_ui(modulus, power, 1);
      for (int kind = 0; kind < 6; ++kind) {
        Integer a, b, ours, theirs;
        fill_random(b, exponent);
        switch (kind) {
          case 0:
            fill_random(a, exponent);
            break;
          case 1:
            mpz_sub_ui(a, power, 1);
            mpz_set(b, a);
            break;
          case 2:
            mpz_set(a, power);  // -1
            break;
          case 3:
            pack(b, Words(degree, largest), static_cast<int>(exponent / degree), pool_);
            mpz_sub(a, modulus, b);  // all coefficients -largest
            break;
          case 4:
            break;
          default:
            mpz_ui_pow_ui(a, 2, exponent / 2);
            mpz_set(b, a);  // the product is 2^M
        }
        const Words x = words(a, size), y = words(b, size);
        Words out(size);
        const std::span<const std::uint64_t> left(x), right(y);
        const std::span<std::uint64_t> to(out);
        multiplier_.tensor_product_modulo({&to, 1}, {&left, 1}, {&right, 1}, exponent, pool_);
        mpz_import(ours, out.size(), -1, 8, 0, 0, out.data());
        mpz_mul(theirs, a, b);
        mpz_mod(theirs, theirs, modulus);
        ASSERT_EQ(mpz_cmp(ours, theirs), 0) << degree << " " << bits << " " << kind;
        ASSERT_EQ(mpz_cmp(ours, power) == 0, kind == 5);
      }
    }
  }
}

TEST_F(GmpTest, KroneckerGoesThroughIntegersOfAnySign) {
  const std::vector<std::int64_t> coefficients = {5, -7, 0, 3, -1};
  for (const int e : {4, 64, 100}) {
    Integer packed, expected;
    pack_signed(packed, coefficients, e, pool_);
    for (std::size_t j = coefficients.size(); j-- > 0;) {
      mpz_mul_2exp(expected, expected, static_cast<mp_bitcnt_t>(e));
      if (coefficients[j] < 0) {
        mpz_sub_ui(expected, expected, static_cast<unsigned long>(-coefficients[j]));
      } else {
        mpz_add_ui(expected, expected, static_cast<unsigned long>(coefficients[j]));
      }
    }
    ASSERT_EQ(mpz_cmp(packed, expected), 0) << e;
    const auto width = static_cast<std::size_t>((e + 63) / 64);
    Words back(5 * width);
    unpack_signed(back, packed, 5, e, pool_);
    for (std::size_t j = 0; j < 5; ++j)
      EXPECT_EQ(static_cast<std::int64_t>(back[width * j]), coefficients[j]);
    EXPECT_THROW(unpack(back, packed, 5, e, pool_), ParameterError);  // negative
  }
}

#if defined(HEMERA_HAS_FLINT)

// Signed coefficients of 61 bits: pack, multiply, unpack.
TEST_F(GmpTest, PolynomialsOfLargestCoefficientsEqualFlints) {
  for (const std::size_t degree : {1024, 8192, 131072}) {
    const std::int64_t largest = (std::int64_t{1} << 61) - 1;
    std::vector<std::int64_t> a(degree), b(degree);
    for (std::size_t j = 0; j < degree; ++j) {
      a[j] = degree == 1024 ? static_cast<std::int64_t>(random_()) >> 3 : -largest;
      b[j] = degree == 8192 && random_() % 50 != 0 ? 0 : largest;
    }
    const int e = kronecker_exponent(static_cast<std::uint64_t>(largest), static_cast<std::uint64_t>(largest),
                                     degree, Signedness::signed_coefficients);
    Integer x, y, product;
    pack_signed(x, a, e, pool_);
    pack_signed(y, b, e, pool_);
    multiply(product, x, y, multiplier_, pool_);
    const auto width = static_cast<std::size_t>((e + 63) / 64);
    Words coefficients(width * (2 * degree - 1));
    unpack_signed(coefficients, product, 2 * degree - 1, e, pool_);

    fmpz_poly_t f, g, h;
    fmpz_poly_init2(f, static_cast<slong>(degree)), fmpz_poly_init2(g, static_cast<slong>(degree));
    fmpz_poly_init(h);
    for (std::size_t j = 0; j < degree; ++j) {
      fmpz_poly_set_coeff_si(f, static_cast<slong>(j), a[j]);
      fmpz_poly_set_coeff_si(g, static_cast<slong>(j), b[j]);
    }
    fmpz_poly_mul_KS(h, f, g);
    fmpz_t expected, ours, part;
    fmpz_init(expected), fmpz_init(ours), fmpz_init(part);
    for (std::size_t j = 0; j < 2 * degree - 1; ++j) {
      fmpz_poly_get_coeff_fmpz(expected, h, static_cast<slong>(j));
      // Two's complement: the highest word is signed.
      fmpz_set_si(ours, static_cast<slong>(coefficients[width * j + width - 1]));
      for (std::size_t i = width - 1; i-- > 0;) {
        fmpz_mul_2exp(ours, ours, 64);
        fmpz_set_ui(part, coefficients[width * j + i]);
        fmpz_add(ours, ours, part);
      }
      ASSERT_TRUE(fmpz_equal(ours, expected)) << degree << " " << j;
    }
    fmpz_clear(expected), fmpz_clear(ours), fmpz_clear(part);
    fmpz_poly_clear(f), fmpz_poly_clear(g), fmpz_poly_clear(h);
  }
}

TEST_F(GmpTest, EnginesEqualFlintAtEveryDegree) {
  for (const std::string_view name : engine_names()) {
    if (name == "schoolbook") continue;
    const auto engine = make_ring_multiplier(name);
    for (std::size_t degree = 1024; degree <= poly::max_degree; degree *= 2) {
      for (const int bits : {49, 60}) {
        const poly::RnsBase base = split_base(degree, {bits});
        const std::uint64_t q = base.modulus(0).value();
        const Polynomials a({1, 1, 1, degree}, base, Fill::random, random_);
        const Polynomials b({1, 1, 1, degree}, base, degree % 4096 == 0 ? Fill::largest : Fill::sparse,
                            random_);
        nmod_poly_t f, g;
        nmod_poly_init(f, q), nmod_poly_init(g, q);
        for (std::size_t j = 0; j < degree; ++j) {
          nmod_poly_set_coeff_ui(f, static_cast<slong>(j), a.words[j]);
          nmod_poly_set_coeff_ui(g, static_cast<slong>(j), b.words[j]);
        }
        nmod_poly_mul(f, f, g);
        Words expected(degree);
        for (std::size_t j = 0; j < degree; ++j) {
          expected[j] = base.modulus(0).subtract(nmod_poly_get_coeff_ui(f, static_cast<slong>(j)),
                                                 nmod_poly_get_coeff_ui(f, static_cast<slong>(j + degree)));
        }
        EXPECT_EQ(product(*engine, a, b, base), expected) << name << " " << degree << " " << bits;
        nmod_poly_clear(f), nmod_poly_clear(g);
      }
    }
  }
}

#endif

}  // namespace
}  // namespace hemera::multiply
#endif
