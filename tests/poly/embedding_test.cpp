// The CKKS embedding: definition, round trip, homomorphism, packing, exactness, determinism.
#include "poly/cpu/embedding.hpp"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>

#include "poly/embedding_support.hpp"
#include "poly/embedding_tables.hpp"
#include "refusals.hpp"

namespace hemera::poly::embedding_tests {
namespace {

using Real = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<200, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

BigInteger centered(const BigInteger& value, const BigInteger& q) {
  BigInteger result = value % q;
  if (result < 0) result += q;
  return 2 * result > q ? BigInteger(result - q) : result;
}

// The integers that residues stand for, by the Chinese remainder theorem.
std::vector<BigInteger> integers(const Poly& poly, std::size_t batch = 0) {
  const RnsBase& base = poly.base();
  const BigInteger product = modulus_product(base);
  std::vector<BigInteger> result(poly.shape().degree, 0);
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    const std::uint64_t q = base.modulus(limb).value();
    const BigInteger punctured = product / q;
    const BigInteger weight = punctured * arith::inverse(arith::modulo(punctured, q), q);
    const auto* x = poly.view().limb<std::uint64_t>(batch, 0, limb);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += weight * x[i];
  }
  for (BigInteger& value : result) value = centered(value, product);
  return result;
}

// An integer below 2^125 in size.
Real to_real(const BigInteger& value) {
  const BigInteger radix = BigInteger(1) << 62;
  return Real(static_cast<std::int64_t>(value / radix)) * 0x1p62 + static_cast<std::int64_t>(value % radix);
}

// sum_i c_i zeta^(5^slot i), zeta = exp(2 pi i / 2N), by Horner's rule in 200 bits; a polynomial in X^gap.
std::complex<double> value_at_slot(const std::vector<BigInteger>& coefficients, std::size_t slot,
                                   double scale, std::size_t gap) {
  const std::size_t order = 2 * coefficients.size();
  std::size_t power = gap;
  for (std::size_t j = 0; j < slot; ++j) power = power * 5 % order;
  const Real angle = boost::math::constants::two_pi<Real>() * power / order;
  const Real cosine = cos(angle), sine = sin(angle);
  Real x = 0, y = 0;
  for (std::size_t i = coefficients.size() / gap; i-- > 0;) {
    const Real next = x * cosine - y * sine + to_real(coefficients[i * gap]);
    y = x * sine + y * cosine;
    x = next;
  }
  return {static_cast<double>(x / scale), static_cast<double>(y / scale)};
}

// The largest of the sums of 2n roundings by at most 1/2 that these tests meet: they add up like random ones.
double rounding_error(std::size_t n, double scale) { return 3 * std::sqrt(static_cast<double>(n)) / scale; }

struct Size {
  std::size_t degree;
  std::size_t slots;
};

const std::vector<Size> sizes = {{1024, 512}, {1024, 1},     {1024, 2},     {1024, 4},      {1024, 32},
                                 {4096, 256}, {16384, 8192}, {65536, 8192}, {131072, 65536}};

class EmbeddingSizes : public ::testing::TestWithParam<Size> {};

TEST_P(EmbeddingSizes, SlotsAreTheValuesAtThePowersOfFive) {
  const auto [degree, n] = GetParam();
  Fixture fixture(degree, base_of_bits(degree, 50, 1));
  std::mt19937_64 random(11);
  const std::size_t gap = degree / (2 * n);
  std::vector<BigInteger> coefficients(degree, 0);
  for (std::size_t i = 0; i < degree; i += gap) {
    coefficients[i] = static_cast<std::int64_t>(random() % (1 << 20)) - (1 << 19);
  }
  constexpr double scale = 1000.0;
  const Slots slots = fixture.unembed(fixture.from_integers(coefficients), n, scale);
  const double bound = transform_error(n) * largest_size(slots);
  for (int trial = 0; trial < (n > 10000 ? 1 : 3); ++trial) {
    const std::size_t slot = trial == 2 ? 0 : random() % n;
    // The slots repeat with period n.
    const std::size_t period = random() % (degree / 2 / n);
    const std::complex<double> expected = value_at_slot(coefficients, slot + period * n, scale, gap);
    EXPECT_LE(std::abs(slots[slot] - expected), bound) << slot << " " << period;
  }
}

TEST_P(EmbeddingSizes, EncodedPolynomialsTakeTheValuesOfTheSlots) {
  const auto [degree, n] = GetParam();
  Fixture fixture(degree, base_of_bits(degree, 50, 2));
  std::mt19937_64 random(12);
  const Slots slots = random_slots(n, random, 100);
  const double scale = 0x1p70;
  const std::vector<BigInteger> coefficients = integers(fixture.embed(slots, scale));
  const double bound = 100 * transform_error(n) + rounding_error(n, scale);
  const std::size_t gap = degree / (2 * n);
  for (std::size_t i = 0; i < degree; ++i) ASSERT_TRUE(i % gap == 0 || coefficients[i] == 0) << i;
  for (int trial = 0; trial < (n > 10000 ? 1 : 3); ++trial) {
    const std::size_t slot = trial == 2 ? n - 1 : random() % n;
    EXPECT_LE(std::abs(slots[slot] - value_at_slot(coefficients, slot, scale, gap)), bound) << slot;
  }
}

TEST_P(EmbeddingSizes, DecodingUndoesEncoding) {
  const auto [degree, n] = GetParam();
  Fixture fixture(degree, base_of_bits(degree, 50, 3));
  std::mt19937_64 random(13);
  const Slots slots = random_slots(n, random);
  for (const double scale : {0x1p30, 0x1p40, 1e9 + 7, 0x1p100, 0x1.23456789abcdep110}) {
    Slots decoded = fixture.unembed(fixture.embed(slots, scale), n, scale);
    EXPECT_LE(largest_difference(slots, decoded),
              2 * std::sqrt(2.0) * transform_error(n) + rounding_error(n, scale))
        << scale;
    // Proven bound: two transforms, two roundings of a coefficient, 2n roundings to integers by at most 1/2.
    for (std::size_t j = 0; j < n; ++j) decoded[j] -= slots[j];
    EXPECT_LE(root_mean_square(decoded),
              (8 * std::log2(static_cast<double>(n)) + 2) * unit * root_mean_square(slots) * 1.001 +
                  std::sqrt(static_cast<double>(n) / 2) / scale)
        << scale;
  }
}

TEST_P(EmbeddingSizes, EveryInstructionSetGivesTheSameBits) {
  const auto [degree, n] = GetParam();
  std::mt19937_64 random(14);
  const std::size_t batch = degree < 20000 ? 2 : 1;
  const Slots slots = random_slots(batch * n, random, 3);
  for (const int bits : {50, 60}) {
    const RnsBase base = base_of_bits(degree, bits, degree < 20000 ? 3 : 2);
    Fixture reference(degree, base, "scalar");
    for (const std::string& isa : instruction_sets()) {
      Fixture fixture(degree, base, isa);
      for (const double scale : {1.1e13, 0x1p58, 0x1p75 / 3}) {
        const Poly expected = reference.embed(slots, scale, batch);
        const Poly encoded = fixture.embed(slots, scale, batch);
        ASSERT_EQ(residues(encoded), residues(expected)) << isa << " " << scale;
        ASSERT_EQ(fixture.unembed(encoded, n, scale), reference.unembed(expected, n, scale))
            << isa << " " << scale;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, EmbeddingSizes, ::testing::ValuesIn(sizes), [](const auto& test) {
  return "N" + std::to_string(test.param.degree) + "n" + std::to_string(test.param.slots);
});

// The graph as the documentation states it, one butterfly at a time.
TEST(Embedding, IsTheDocumentedGraph) {
  constexpr std::size_t degree = 8192, n = 2048;
  const auto roots = embedding_roots(degree);
  std::mt19937_64 random(15);
  Slots slots = random_slots(n, random);
  const auto position = [&](std::size_t slot) { return arith::reverse_bits(slot, 11); };
  Slots tree(n);
  for (std::size_t j = 0; j < n; ++j) tree[position(j)] = slots[j];
  for (std::size_t blocks = n / 2; blocks >= 1; blocks /= 2) {
    const std::size_t half = n / blocks / 2;
    for (std::size_t i = 0; i < n; ++i) {
      if (i / half % 2 != 0) continue;
      const std::complex<double> psi = roots[blocks + i / (2 * half)];
      const std::complex<double> a = tree[i], b = tree[i + half], d = a - b;
      tree[i] = a + b;
      tree[i + half] = {d.real() * psi.real() + d.imag() * psi.imag(),
                        d.imag() * psi.real() - d.real() * psi.imag()};
    }
  }
  for (const std::string& isa : instruction_sets()) {
    Fixture fixture(degree, base_of_bits(degree, 60, 2), isa);
    const double scale = 0x1p95;
    const Poly encoded = fixture.embed(slots, scale);
    const std::vector<BigInteger> coefficients = integers(encoded);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(coefficients[2 * i], exact_round(tree[i].real(), scale / n)) << isa;
      ASSERT_EQ(coefficients[2 * (i + n)], exact_round(tree[i].imag(), scale / n)) << isa;
      ASSERT_EQ(coefficients[2 * i + 1], 0);
    }
    Slots forward(n);
    for (std::size_t i = 0; i < n; ++i) {
      forward[i] = {exact_quotient(coefficients[2 * i], scale),
                    exact_quotient(coefficients[2 * (i + n)], scale)};
    }
    for (std::size_t blocks = 1; blocks < n; blocks *= 2) {
      const std::size_t half = n / blocks / 2;
      for (std::size_t i = 0; i < n; ++i) {
        if (i / half % 2 != 0) continue;
        const std::complex<double> psi = roots[blocks + i / (2 * half)];
        const std::complex<double> a = forward[i], b = forward[i + half];
        const std::complex<double> p = {b.real() * psi.real() - b.imag() * psi.imag(),
                                        b.real() * psi.imag() + b.imag() * psi.real()};
        forward[i] = a + p;
        forward[i + half] = a - p;
      }
    }
    const Slots decoded = fixture.unembed(encoded, n, scale);
    for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(decoded[j], forward[position(j)]) << isa;
  }
}

// The levels below a sparse packing add and subtract equal values, which is exact.
TEST(Embedding, SparsePackingIsTheFullPackingOfRepeatedSlots) {
  constexpr std::size_t degree = 2048;
  Fixture fixture(degree, base_of_bits(degree, 50, 2));
  std::mt19937_64 random(20);
  for (std::size_t n = 1; n <= degree / 2; n *= 2) {
    const Slots slots = random_slots(n, random);
    Slots repeated(degree / 2);
    for (std::size_t j = 0; j < repeated.size(); ++j) repeated[j] = slots[j % n];
    for (const double scale : {0x1p45, 1e20}) {
      const Poly sparse = fixture.embed(slots, scale);
      ASSERT_EQ(residues(sparse), residues(fixture.embed(repeated, scale))) << n;
      const Slots few = fixture.unembed(sparse, n, scale);
      const Slots all = fixture.unembed(sparse, degree / 2, scale);
      for (std::size_t j = 0; j < all.size(); ++j) ASSERT_EQ(all[j], few[j % n]) << n;
    }
  }
}

// One slot is two coefficients without arithmetic: the rounding is seen as it is.
TEST(Embedding, EncodingRoundsExactlyAtAnyScale) {
  constexpr std::size_t degree = 1024;
  std::vector<std::complex<double>> values = {
      {0.5, -0.5},
      {1.5, 2.5},
      {-2.5, 0.0},
      {-0.0, 1e-300},
      {0x1p-1074, -0x1p-1022},
      {1e300, -1e300},
      {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()},
      {0x1p52 - 0.5, 0x1p53 + 2},
      {0x1.8p-121, 0x1p-121},
      {0x1.8p-120, -0x1.8p-120},
      {0x1.0000000000001p-121, 0x1.fffffffffffffp-122}};
  std::mt19937_64 random(21);
  while (values.size() < 300) {
    const auto value = [&](int spread) {
      const auto mantissa = static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 60));
      return std::ldexp(mantissa,
                        static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread - 62);
    };
    values.emplace_back(value(70), value(values.size() % 2 == 0 ? 150 : 900));
  }
  const RnsBase base = base_of(degree, {(1ULL << 60) - 93, (1ULL << 50) - 27, 12289, 65537, 17});
  for (const std::string& isa : instruction_sets()) {
    Fixture fixture(degree, base, isa);
    for (const double scale :
         {1.0, 0x1p40, 0x1p120, 0x1.fffffffffffffp119, 1e9 + 7, 1.0 / 3, 0x1p-500, 0x1p-1060}) {
      const Poly encoded = fixture.embed(values, scale, values.size());
      for (std::size_t b = 0; b < values.size(); ++b) {
        for (std::size_t limb = 0; limb < base.size(); ++limb) {
          const auto* x = encoded.view().limb<std::uint64_t>(b, 0, limb);
          const std::uint64_t q = base.modulus(limb).value();
          ASSERT_EQ(x[0], arith::modulo(exact_round(values[b].real(), scale), q))
              << isa << values[b] << scale;
          ASSERT_EQ(x[512], arith::modulo(exact_round(values[b].imag(), scale), q))
              << isa << values[b] << scale;
          ASSERT_EQ(std::count(x, x + degree, 0U),
                    static_cast<std::ptrdiff_t>(degree - (x[0] != 0) - (x[512] != 0)));
        }
      }
    }
  }
}

TEST(Embedding, DecodingCentresAndRoundsExactly) {
  constexpr std::size_t degree = 1024;
  std::mt19937_64 random(22);
  for (const std::size_t limbs : {1, 2, 3, 7, 64}) {
    Fixture fixture(degree, base_of_bits(degree, 61, limbs));
    const BigInteger highest = modulus_product(fixture.base()) / 2;
    std::vector<BigInteger> values = {highest, -highest, 0, 1, -1};
    for (unsigned bits = 2; bits < 900 && (BigInteger(1) << bits) < highest; bits += 3) {
      const BigInteger value =
          (BigInteger(1) << bits) - random() % (std::uint64_t{1} << (bits < 64 ? bits - 1 : 63));
      values.push_back(value);
      values.push_back(-value);
    }
    Poly poly = fixture.from_integers({});
    for (const BigInteger& value : values) {
      fixture.set(poly, 0, 0, value);
      for (const double scale : {0x1p1000, 0x1.3p40}) {
        const double expected = exact_quotient(value, scale);
        if (!std::isfinite(expected)) continue;
        const Slots slots = fixture.unembed(poly, 1, scale);
        ASSERT_EQ(slots[0], std::complex<double>(expected, 0.0)) << value << " / " << scale;
      }
    }
    // Quotients beyond the doubles become infinite.
    if (limbs == 64) {
      fixture.set(poly, 0, 0, -highest);
      EXPECT_EQ(fixture.unembed(poly, 1, 1.0)[0].real(), -std::numeric_limits<double>::infinity());
    }
  }
}

TEST(Embedding, ThreadsAndBatchesDoNotChangeTheBits) {
  for (const auto& [degree, n] : std::vector<Size>{{16384, 8192}, {16384, 32}, {65536, 32768}, {1024, 512}}) {
    const RnsBase base = base_of_bits(degree, 55, 4);
    Fixture alone(degree, base, "", 1);
    Fixture shared(degree, base, "", 3);
    std::mt19937_64 random(23);
    for (const std::size_t batch : {1, 2, 5}) {
      const Slots slots = random_slots(batch * n, random);
      const double scale = 3e11;
      const Poly expected = alone.embed(slots, scale, batch);
      const Poly encoded = shared.embed(slots, scale, batch);
      ASSERT_EQ(residues(encoded), residues(expected)) << n << " " << batch;
      const Slots decoded = shared.unembed(encoded, n, scale);
      ASSERT_EQ(decoded, alone.unembed(encoded, n, scale)) << n << " " << batch;
      // The last of the batch as a batch of one.
      const Slots last(slots.end() - static_cast<std::ptrdiff_t>(n), slots.end());
      const Slots decoded_last = alone.unembed(alone.embed(last, scale), n, scale);
      ASSERT_TRUE(std::equal(decoded_last.begin(), decoded_last.end(),
                             decoded.end() - static_cast<std::ptrdiff_t>(n)));
    }
  }
}

TEST(Embedding, ReadsAndWritesStridedViewsAndBroadcasts) {
  constexpr std::size_t degree = 1024, n = 512, batch = 3;
  Fixture fixture(degree, base_of_bits(degree, 50, 2));
  std::mt19937_64 random(24);
  Slots slots = random_slots(n, random);
  const double scale = 0x1p45;
  const Poly expected = fixture.embed(slots, scale);

  Poly pairs(fixture.memory(), batch, 2, fixture.base(), Form::coefficient);
  std::fill_n(pairs.view().limb<std::uint64_t>(0, 0, 0), pairs.shape().words(), 1);
  // One slot vector for all of the batch, into the second components.
  fixture.with_scratch([&](runtime::Workspace& scratch) {
    fixture.embedding().embed(fixture.pool(), pairs.view().components(1, 1), SlotView{slots.data(), 1, n},
                              scale, fixture.base(), scratch);
  });
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t limb = 0; limb < 2; ++limb) {
      const auto* first = pairs.view().limb<std::uint64_t>(b, 0, limb);
      const auto* second = pairs.view().limb<std::uint64_t>(b, 1, limb);
      EXPECT_TRUE(std::all_of(first, first + degree, [](std::uint64_t x) { return x == 1; }));
      EXPECT_TRUE(std::equal(second, second + degree, expected.view().limb<std::uint64_t>(0, 0, limb)));
    }
  }
  const Slots decoded = fixture.unembed(expected, n, scale);
  Slots out(batch * n);
  const ConstPolyView second = ConstPolyView(pairs.view()).components(1, 1);
  fixture.with_scratch([&](runtime::Workspace& scratch) {
    fixture.embedding().unembed(fixture.pool(), SlotView{out.data(), batch, n}, second, scale, fixture.base(),
                                scratch);
  });
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], decoded[i % n]);
  std::fill(out.begin(), out.end(), 0.0);
  fixture.with_scratch([&](runtime::Workspace& scratch) {
    fixture.embedding().unembed(fixture.pool(), SlotView{out.data(), batch, n}, second.batches(1, 1), scale,
                                fixture.base(), scratch);
  });
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], decoded[i % n]);
}

TEST(Embedding, MistakesAreTypedErrors) {
  tests::expect_error<ParameterError>([] { cpu::Embedding(1000); }, {"power of two"});
  tests::expect_error<ParameterError>([] { cpu::Embedding(512); }, {"power of two"});
  tests::expect_error<DeviceError>([] { cpu::Embedding(1024, "sse9"); }, {"sse9"});
}

}  // namespace
}  // namespace hemera::poly::embedding_tests
