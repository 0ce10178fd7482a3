// The rounding, residue and centring kernels against exact integers, for every instruction set.
#include <gtest/gtest.h>

#include <bit>

#include "poly/cpu/embedding_centering.hpp"
#include "poly/embedding_support.hpp"

namespace hemera::poly::embedding_tests {
namespace {

Scale make_scale(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return {value, static_cast<std::uint64_t>(std::ldexp(fraction, 53)), exponent - 53};
}

class EmbeddingKernels : public ::testing::TestWithParam<std::string> {
 protected:
  const cpu::EmbeddingKernels& kernels = cpu::select_embedding_kernels(GetParam().c_str());
  std::mt19937_64 random{7};
};

TEST_P(EmbeddingKernels, LargestIsTheBitPatternOfTheLargestMagnitude) {
  for (const std::size_t count : {1, 2, 7, 8, 9, 64, 1001}) {
    std::vector<double> values(count);
    double largest = 0;
    for (double& value : values) {
      value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                         static_cast<int>(random() % 200) - 150);
      largest = std::fmax(largest, std::fabs(value));
    }
    EXPECT_EQ(kernels.largest(values.data(), count), std::bit_cast<std::uint64_t>(largest));
  }
  const double zero = -0.0;
  EXPECT_EQ(kernels.largest(&zero, 1), 0U);
}

TEST_P(EmbeddingKernels, RoundScaledIsTheNearestIntegerTiesToEven) {
  std::vector<double> values = {0.0,
                                -0.0,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                std::nextafter(0.5, 0),
                                std::nextafter(0.5, 1),
                                0x1p-1074,
                                -0x1p-1074,
                                0x1p-1022,
                                0x1p52 - 0.5,
                                0x1p52 - 1.5,
                                0x1p52 + 1,
                                -0x1p53 - 2,
                                0x1p61,
                                -0x1p61,
                                0x1p62,
                                -0x1p62};
  for (int i = 0; i < 2000; ++i) {
    const int exponent = static_cast<int>(random() % 128) - 66;
    values.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), exponent - 2));
  }
  // Near and at half-integers.
  for (int i = 0; i < 2000; ++i) {
    const double half = static_cast<double>(random() >> (12 + random() % 50)) + 0.5;
    const int step = static_cast<int>(random() % 3) - 1;
    values.push_back((random() % 2 != 0 ? 1 : -1) * (step == 0 ? half : std::nextafter(half, step * 1e300)));
  }
  for (const double scale :
       {1.0, 0x1p40, 0x1p-7, 3.0, 1.0 / 3, 1099511627777.0, 0x1.fffffffffffffp39, 0x1p-300, 5e17}) {
    std::vector<double> fitting;
    for (double value : values) {
      // Also values whose product with this scale lies next to a half-integer.
      for (const double candidate : {value, value / scale}) {
        if (std::fabs(candidate) * scale <= 0x1p61) fitting.push_back(candidate);
      }
    }
    ASSERT_GT(fitting.size(), 1000U);
    fitting.resize(fitting.size() / 8 * 8 + 3);  // a tail
    std::vector<std::int64_t> rounded(fitting.size(), -1);
    kernels.round_scaled(rounded.data(), fitting.data(), fitting.size(), make_scale(scale));
    for (std::size_t i = 0; i < fitting.size(); ++i) {
      ASSERT_EQ(BigInteger(rounded[i]), exact_round(fitting[i], scale)) << fitting[i] << " * " << scale;
    }
  }
}

// Products of 53-bit mantissas that lie on a half-integer or one bit beside it.
TEST_P(EmbeddingKernels, RoundScaledIsExactWhereTheProductOfDoublesIsNot) {
  int ties = 0, beside = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    // value * scale = a b 2^-e with odd a, b: choose b so that a b is 2^(e-1) modulo 2^e, give or take one.
    const int e = 2 + static_cast<int>(random() % 50);
    const std::uint64_t mask = (std::uint64_t{1} << e) - 1;
    const std::uint64_t a = (random() >> 12) | 1;
    std::uint64_t inverse = a;  // modulo 2^64, by Newton's iteration
    for (int i = 0; i < 5; ++i) inverse *= 2 - a * inverse;
    const auto offset = static_cast<std::uint64_t>(random() % 3);
    const std::uint64_t b = (((mask >> 1) + offset) * inverse) & mask;  // 2^(e-1) - 1, 0 or + 1
    if (b == 0) continue;
    const double value = (random() % 2 != 0 ? -1.0 : 1.0) * static_cast<double>(a);
    const double scale = std::ldexp(static_cast<double>(b), -e);
    if (std::fabs(value) * scale > 0x1p61) continue;
    (offset == 1 ? ties : beside)++;
    std::int64_t rounded = 0;
    kernels.round_scaled(&rounded, &value, 1, make_scale(scale));
    std::vector<double> eight(8, value);
    std::vector<std::int64_t> results(8);
    kernels.round_scaled(results.data(), eight.data(), 8, make_scale(scale));
    const BigInteger expected = exact_round(value, scale);
    ASSERT_EQ(BigInteger(rounded), expected) << value << " * " << scale;
    ASSERT_EQ(BigInteger(results[5]), expected) << value << " * " << scale;
  }
  EXPECT_GT(ties, 1000);
  EXPECT_GT(beside, 1000);
}

TEST_P(EmbeddingKernels, ReduceIsTheCanonicalResidue) {
  const std::vector<std::uint64_t> moduli = {2,
                                             3,
                                             17,
                                             4093,
                                             4096,
                                             4099,
                                             65537,
                                             (1ULL << 30) - 35,
                                             (1ULL << 50) - 27,
                                             (1ULL << 50) + 55,
                                             (1ULL << 60) - 93,
                                             (1ULL << 61) - 1};
  for (const int bits : {1, 20, 40, 50, 51, 62}) {
    std::vector<std::int64_t> values;
    const auto bound = std::int64_t{1} << bits;
    for (std::int64_t delta = 0; delta < 3 && delta <= bound; ++delta) {
      values.insert(values.end(), {bound - delta, delta - bound, delta, -delta});
    }
    for (const std::uint64_t q : moduli) {
      const auto close = static_cast<std::int64_t>(q);
      for (std::int64_t multiple = 1; multiple < 4 && close <= bound / multiple; ++multiple) {
        values.insert(values.end(),
                      {multiple * close, multiple * close - 1, -multiple * close, 1 - multiple * close});
      }
    }
    for (int i = 0; i < 300; ++i) {
      const auto value = static_cast<std::int64_t>(random() >> (64 - bits));
      values.push_back(random() % 2 != 0 ? value : -value);
    }
    for (const std::uint64_t q : moduli) {
      std::vector<std::uint64_t> out(values.size());
      kernels.reduce(out.data(), values.data(), values.size(), bits, arith::Modulus(q));
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(out[i], arith::modulo(BigInteger(values[i]), q)) << values[i] << " modulo " << q;
      }
    }
  }
}

// Integers of every size, around zero, the bounds and the midpoints of doubles.
std::vector<BigInteger> interesting_integers(const BigInteger& product, std::mt19937_64& random) {
  const BigInteger lowest = -((product - 1) / 2), highest = product / 2;
  std::vector<BigInteger> values = {0, 1, -1, 2, -3, highest, highest - 1, lowest, lowest + 1};
  const auto bits = static_cast<unsigned>(msb(product)) + 1;
  const auto random_bits = [&](unsigned count) {
    BigInteger value = 0;
    for (unsigned done = 0; done < count; done += 64) value = (value << 64) + random();
    return BigInteger(value >> ((64 - count % 64) % 64));
  };
  for (unsigned size = 1; size < bits; size += 1 + bits / 60) {
    const BigInteger power = BigInteger(1) << size;
    values.insert(values.end(), {power, power - 1, -power - 1, random_bits(size), -random_bits(size)});
    if (size < 56) continue;
    // 53 bits, then exactly one half, or just below or above.
    const BigInteger half = BigInteger(1) << (size - 54);
    const BigInteger mantissa = (BigInteger(1) << 52) + (random() >> 12);
    const BigInteger midpoint = (2 * mantissa + 1) * half;
    values.insert(values.end(),
                  {midpoint, midpoint + 1, midpoint - 1, -midpoint, -midpoint - 1, -midpoint + 1});
  }
  std::vector<BigInteger> fitting;
  for (const BigInteger& value : values) {
    if (value >= lowest && value <= highest) fitting.push_back(value);
  }
  return fitting;
}

TEST_P(EmbeddingKernels, CenterIsTheRoundedIntegerDividedByTheScale) {
  constexpr std::size_t degree = 1024;
  std::vector<RnsBase> bases = {base_of(degree, {2}),
                                base_of(degree, {(1ULL << 61) - 1}),
                                base_of(degree, {3, 5}),
                                base_of(degree, {65536, 65537}),
                                base_of(degree, {97, (1ULL << 61) - 1}),
                                base_of(degree, {(1ULL << 52) - 47, (1ULL << 52) + 21}),
                                base_of(degree, {12289, (1ULL << 61) - 1, 3, (1ULL << 50) - 27})};
  for (const int bits : {17, 30, 50, 52, 53, 60, 61}) {
    for (const std::size_t limbs : {1, 2, 3, 4, 5, 8, 9, 16, 33})
      bases.push_back(base_of_bits(degree, bits, limbs));
  }
  bases.push_back(base_of_bits(degree, 61, 64));
  for (const RnsBase& base : bases) {
    const BigInteger product = modulus_product(base);
    const std::vector<BigInteger> integers = interesting_integers(product, random);
    const std::size_t count = integers.size();
    std::vector<std::vector<std::uint64_t>> limbs(base.size());
    for (std::size_t i = 0; i < base.size(); ++i) {
      for (const BigInteger& value : integers)
        limbs[i].push_back(arith::modulo(value, base.modulus(i).value()));
    }
    for (const double scale : {1.0, 0x1p40, 1099511627689.0, 1.0 / 3, 0x1p1000, 0x1.8p-1070}) {
      std::vector<double> expected;
      for (const BigInteger& value : integers) expected.push_back(exact_quotient(value, scale));
      for (const std::size_t stride : {1, 4}) {
        std::vector<std::vector<std::uint64_t>> apart(base.size(),
                                                      std::vector<std::uint64_t>(count * stride));
        std::vector<const std::uint64_t*> pointers;
        for (std::size_t l = 0; l < base.size(); ++l) {
          for (std::size_t i = 0; i < count; ++i) apart[l][i * stride] = limbs[l][i];
          pointers.push_back(apart[l].data());
        }
        std::vector<std::uint64_t> memory(cpu::centering_memory_words(base.size(), kernels.word_bits));
        const cpu::Centering centering = cpu::make_centering(base, scale, kernels.word_bits, memory.data());
        ASSERT_LE(centering.words, cpu::max_centering_words(base.size(), kernels.word_bits));
        std::vector<std::uint64_t> scratch(cpu::center_scratch_words(base.size(), centering.words));
        std::vector<double> out(count);
        kernels.center(out.data(), pointers.data(), stride, count, centering, scratch.data());
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<std::uint64_t>(out[i]), std::bit_cast<std::uint64_t>(expected[i]))
              << integers[i] << " / " << scale << ", " << base.size() << " limbs from "
              << base.modulus(0).value();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, EmbeddingKernels, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace hemera::poly::embedding_tests
