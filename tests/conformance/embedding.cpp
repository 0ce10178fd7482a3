// The CKKS embedding: bit for bit against the graph of docs/arithmetic-embedding.md, written down plainly,
// and exact integers around it.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/oracle.hpp"
#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/embedding_support.hpp"
#include "poly/embedding_tables.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::RnsBase;
using poly::SlotView;
using poly::embedding_tests::exact_quotient;
using poly::embedding_tests::exact_round;
using runtime::Workspace;
using Complex = std::complex<double>;
using Slots = std::vector<Complex>;

std::size_t reversed(std::size_t index, std::size_t n) {
  return arith::reverse_bits(index, std::countr_zero(n));
}

// The values w to slots.
Slots forward_graph(Slots x, const Slots& roots) {
  const std::size_t n = x.size();
  for (std::size_t blocks = 1; blocks < n; blocks *= 2) {
    const std::size_t half = n / blocks / 2;
    for (std::size_t b = 0; b < blocks; ++b) {
      const Complex root = roots[blocks + b];
      for (std::size_t i = 0; i < half; ++i) {
        Complex& u = x[2 * half * b + i];
        Complex& v = x[2 * half * b + i + half];
        const Complex p = {v.real() * root.real() - v.imag() * root.imag(),
                           v.real() * root.imag() + v.imag() * root.real()};
        v = {u.real() - p.real(), u.imag() - p.imag()};
        u = {u.real() + p.real(), u.imag() + p.imag()};
      }
    }
  }
  Slots slots(n);
  for (std::size_t i = 0; i < n; ++i) slots[reversed(i, n)] = x[i];
  return slots;
}

// Slots to n times the values w.
Slots inverse_graph(const Slots& slots, const Slots& roots) {
  const std::size_t n = slots.size();
  Slots x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = slots[reversed(i, n)];
  for (std::size_t blocks = n / 2; blocks != 0; blocks /= 2) {
    const std::size_t half = n / blocks / 2;
    for (std::size_t b = 0; b < blocks; ++b) {
      const Complex root = roots[blocks + b];
      for (std::size_t i = 0; i < half; ++i) {
        Complex& u = x[2 * half * b + i];
        Complex& v = x[2 * half * b + i + half];
        const Complex d = {u.real() - v.real(), u.imag() - v.imag()};
        u = {u.real() + v.real(), u.imag() + v.imag()};
        v = {d.real() * root.real() + d.imag() * root.imag(),
             d.imag() * root.real() - d.real() * root.imag()};
      }
    }
  }
  return x;
}

// `slots` is [slots_batch, n]; a batch of one for all polynomials.
Host expected_encoding(const RnsBase& base, std::size_t batch, const Slots& slots, std::size_t slots_batch,
                       double scale) {
  const std::size_t degree = base.ring()->degree(), n = slots.size() / slots_batch, gap = degree / (2 * n);
  const Slots roots = poly::embedding_roots(degree);
  Host result(base, batch, 1);
  for (std::size_t b = 0; b < batch; ++b) {
    const auto row = slots.begin() + static_cast<std::ptrdiff_t>(slots_batch == 1 ? 0 : b * n);
    const Slots w = inverse_graph(Slots(row, row + static_cast<std::ptrdiff_t>(n)), roots);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      // w is n times too large.
      const BigInteger integer =
          exact_round(i < n ? w[i].real() : w[i - n].imag(), std::ldexp(scale, -std::countr_zero(n)));
      for (std::size_t l = 0; l < base.size(); ++l) {
        result.at(b, 0, l, i * gap) = arith::modulo(integer, base.modulus(l).value());
      }
    }
  }
  return result;
}

// Coefficient i of the 2n that n slots come from, over the scale.
double quotient_of(const Host& in, const ExactBase& exact, std::size_t b, std::size_t n, std::size_t i,
                   double scale) {
  const std::vector<std::uint64_t> residues = in.residues(b, 0, i * (in.shape.degree / (2 * n)));
  return exact_quotient(centered(exact.combine(residues), exact.product()), scale);
}

Slots expected_decoding(const Host& in, std::size_t batch, std::size_t n, double scale) {
  const Slots roots = poly::embedding_roots(in.shape.degree);
  const ExactBase exact(in.base);
  Slots result;
  for (std::size_t b = 0; b < batch; ++b) {
    const auto coefficient = [&](std::size_t i) { return quotient_of(in, exact, b, n, i, scale); };
    Slots w;
    for (std::size_t i = 0; i < n; ++i) w.emplace_back(coefficient(i), coefficient(i + n));
    const Slots slots = forward_graph(std::move(w), roots);
    result.insert(result.end(), slots.begin(), slots.end());
  }
  return result;
}

// Slots in the backend's memory.
struct DeviceSlots {
  runtime::Buffer buffer;
  SlotView view;

  DeviceSlots(Rig& rig, const Slots& slots, std::size_t batch)
      : buffer(rig.backend->memory(), slots.size() * sizeof(Complex)),
        view{reinterpret_cast<Complex*>(buffer.data()), batch, slots.size() / batch} {
    rig.backend->upload_values(*rig.queue, view.bytes(), std::as_bytes(std::span(slots)));
  }
};

Host encoded(Rig& rig, const RnsBase& base, std::size_t batch, const Slots& slots, std::size_t slots_batch,
             double scale) {
  const DeviceSlots in(rig, slots, slots_batch);
  poly::Poly out = rig.output(base, batch, 1, Form::coefficient);
  rig.with_scratch([&](Workspace& workspace) {
    rig.backend->embed(*rig.queue, out.view(), in.view, scale, 5, base, workspace);
  });
  const Host result = rig.download(out);
  const std::size_t order = 2 * base.ring()->degree();
  for (std::size_t l = 0; l < base.size(); ++l) {
    if (base.modulus(l).value() % order != 1) return result;  // there is no evaluation form
  }
  // Both forms are the same polynomials.
  poly::Poly evaluations = rig.output(base, batch, 1, Form::evaluation);
  rig.with_scratch([&](Workspace& workspace) {
    rig.backend->embed(*rig.queue, evaluations.view(), in.view, scale, 5, base, workspace, Form::evaluation);
  });
  EXPECT_TRUE(same(rig.transformed(rig.download(evaluations), Form::evaluation, Form::coefficient), result));
  // And so are those that are stored by fewer entries.
  const std::size_t needed = std::max(poly::min_entries, 2 * in.view.slots);
  for (std::size_t entries = needed; entries < base.ring()->degree(); entries *= 2) {
    if (entries > needed && entries != base.ring()->degree() / 2) continue;
    poly::Poly stored = rig.upload(rig.random(base, batch, 1, entries));
    rig.with_scratch([&](Workspace& workspace) {
      rig.backend->embed(*rig.queue, stored.view(), in.view, scale, 5, base, workspace, Form::evaluation);
    });
    poly::Poly expected = rig.upload(rig.random(base, batch, 1, entries));
    rig.backend->copy(*rig.queue, expected.view(), std::as_const(evaluations).view());
    EXPECT_TRUE(same(rig.download(stored), rig.download(expected))) << entries;
  }
  return result;
}

Slots decoded(Rig& rig, const Host& in, std::size_t batch, std::size_t n, double scale) {
  const poly::Poly polynomials = rig.upload(in, Form::coefficient);
  Slots slots(batch * n, {12345.0, 6789.0});
  const DeviceSlots out(rig, slots, batch);
  rig.with_scratch([&](Workspace& workspace) {
    rig.backend->unembed(*rig.queue, out.view, polynomials.view(), scale, 5, in.base, workspace);
  });
  rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(slots)), out.view.bytes());
  rig.queue->synchronize();
  return slots;
}

::testing::AssertionResult same_bits(const Slots& actual, const Slots& expected) {
  if (actual.size() != expected.size()) return ::testing::AssertionFailure() << "numbers of slots differ";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(Complex)) != 0) {
      return ::testing::AssertionFailure()
             << "slot " << i << ": " << actual[i] << " in place of " << expected[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// Values of very different sizes around `size`, some zero.
Slots random_slots(Rig& rig, std::size_t count, double size) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Slots slots(count);
  for (Complex& slot : slots) {
    slot = {size * uniform(rig.generator), size * uniform(rig.generator)};
    switch (rig.generator() % 16) {
      case 0:
        slot = 0;
        break;
      case 1:
        slot *= 0x1p-60;
        break;
      case 2:
        slot = {-0.0, slot.imag()};
        break;
      default:
        break;
    }
  }
  return slots;
}

std::vector<std::size_t> numbers_of_slots(std::size_t degree) {
  std::vector<std::size_t> result;
  for (std::size_t n = 1; n <= degree / 2; n *= 2) result.push_back(n);
  return result;
}

TEST_P(BackendTest, SlotsTravelUnchanged) {
  Rig rig(GetParam(), 1024, {50});
  const double infinity = std::numeric_limits<double>::infinity();
  const Slots slots = {{1.5, -0.0}, {0x1p-1074, infinity}, {-3, 4}, {1e300, -1e-300}, {0, 1}, {2, 3}};
  const DeviceSlots device(rig, slots, 3);
  Slots back(6);
  rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(back)), device.view.bytes());
  rig.queue->synchronize();
  EXPECT_TRUE(same_bits(back, slots));
  Slots few(5);
  const auto bytes = std::as_writable_bytes(std::span(few));
  EXPECT_THROW(rig.backend->download_values(*rig.queue, bytes, device.view.bytes()), MismatchError);
  EXPECT_THROW(rig.backend->upload_values(*rig.queue, device.view.bytes(), bytes), MismatchError);
}

TEST_P(BackendTest, EncodingIsExactForAllNumbersOfSlots) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 12, std::size_t{1} << 14}) {
    Rig rig(GetParam(), degree, {60, 30});
    for (const std::size_t n : numbers_of_slots(degree)) {
      if (degree > 4096 && n != 1 && n != 1024 && n < 4096) continue;
      const Slots slots = random_slots(rig, n, 1);
      for (const double scale : {0x1p40, 0x1p100}) {
        ASSERT_TRUE(same(encoded(rig, rig.all(), 1, slots, 1, scale),
                         expected_encoding(rig.all(), 1, slots, 1, scale)))
            << degree << " " << n << " " << scale;
      }
    }
  }
}

TEST_P(BackendTest, EncodingIsExactForAllScales) {
  Rig rig(GetParam(), 1024, {60, 30, 50, 45, 61}, {2, 65536, 17});
  const RnsBase base = rig.choose({0, 1, 2, 3, 4, 5, 7});
  constexpr double below = 0x1.fffffffffffffp40, odd = 0x1.23456789abcdep64;
  for (const double scale : {0x1p-1074, 0x1p-1000, 0x1p-60, 0.3,     1.0,       0x1p20,  below,   0x1p58,
                             0x1p60,    0x1p61,    0x1p62,  0x1p63,  odd,       0x1p100, 0x1p119, 0x1p120,
                             0x1p126,   0x1p127,   0x1p128, 0x1p240, 0x1.8p500, 0x1p900}) {
    for (const std::size_t n : {std::size_t{8}, std::size_t{512}}) {
      for (const double size : {1.0, 0x1p-30, 0x1p30}) {
        const Slots slots = random_slots(rig, n, size);
        ASSERT_TRUE(same(encoded(rig, base, 1, slots, 1, scale), expected_encoding(base, 1, slots, 1, scale)))
            << scale << " " << n << " " << size;
      }
    }
  }
}

// Constant slots c are the polynomial c: here with c * scale at halves of integers, which go to even ones.
TEST_P(BackendTest, EncodingRoundsTiesToEven) {
  Rig rig(GetParam(), 1024, {60, 30}, {65536});
  const RnsBase base = rig.choose({0, 1, 2});
  for (const double value : {0.5,
                             1.5,
                             2.5,
                             -0.5,
                             -1.5,
                             -2.5,
                             0x1p51 + 0.5,
                             0x1p51 + 1.5,
                             0.49999999999999994,
                             -0x1p52,
                             4503599627370497.0,
                             0x1.fffffffffffffp61,
                             -0x1.fffffffffffffp61,
                             0x1p62,
                             -0x1p62,
                             0x1p63,
                             0x1p64,
                             0x1.fffffffffffffp63,
                             -0x1.fffffffffffffp126,
                             0x1p127,
                             0x1.fffffffffffffp127,
                             0x1p128,
                             -0x1p128,
                             1e200,
                             0x1p-1074,
                             -0x1.fffffffffffffp-1023}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{16}, std::size_t{512}}) {
      for (const double scale : {1.0, 0x1p-3, 0x1p10}) {
        const Slots slots(n, Complex(value / scale));
        const Host actual = encoded(rig, base, 1, slots, 1, scale);
        ASSERT_TRUE(same(actual, expected_encoding(base, 1, slots, 1, scale)))
            << value << " " << n << " " << scale;
        if (std::fabs(value / scale) > 0x1p-1000) {
          ASSERT_EQ(actual.at(0, 0, 0, 0), arith::modulo(exact_round(value, 1.0), base.modulus(0).value()))
              << value;
        }
      }
    }
  }
}

TEST_P(BackendTest, EncodingTakesBatchesAndBroadcasts) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 13}) {
    Rig rig(GetParam(), degree, {60, 30, 50});
    for (const std::size_t n : {std::size_t{4}, degree / 2}) {
      Slots slots = random_slots(rig, 3 * n, 1);
      // Values of one, two and many words: the largest value of each polynomial decides, not of the batch.
      for (std::size_t j = 0; j < n; ++j) slots[n + j] *= 0x1p40, slots[2 * n + j] *= 0x1p150;
      EXPECT_TRUE(same(encoded(rig, rig.all(), 3, slots, 3, 0x1p50),
                       expected_encoding(rig.all(), 3, slots, 3, 0x1p50)));
      slots.resize(n);
      EXPECT_TRUE(same(encoded(rig, rig.all(), 3, slots, 1, 0x1p50),
                       expected_encoding(rig.all(), 3, slots, 1, 0x1p50)));
    }
  }
}

TEST_P(BackendTest, EncodingTakesAnyNumberOfLimbs) {
  Rig rig(GetParam(), 1024, std::vector<int>(70, 30));
  const Slots slots = random_slots(rig, 512, 1);
  for (const std::size_t limbs : {1, 7, 8, 9, 63, 64, 65, 70}) {
    const RnsBase base = rig.primes(0, limbs);
    for (const double scale : {0x1p30, 0x1p80, 0x1p200}) {
      EXPECT_TRUE(same(encoded(rig, base, 1, slots, 1, scale), expected_encoding(base, 1, slots, 1, scale)))
          << limbs << " " << scale;
    }
  }
}

TEST_P(BackendTest, DecodingIsExactForAllNumbersOfSlots) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 12, std::size_t{1} << 14}) {
    Rig rig(GetParam(), degree, {60, 30});
    const Host in = adversarial(rig, rig.all(), 1, 1);
    for (const std::size_t n : numbers_of_slots(degree)) {
      if (degree > 4096 && n != 1 && n != 1024 && n < 4096) continue;
      ASSERT_TRUE(same_bits(decoded(rig, in, 1, n, 0x1p40), expected_decoding(in, 1, n, 0x1p40)))
          << degree << " " << n;
    }
  }
}

// Integers where rounding and centring can go wrong: near Q/2, near powers of two, at ties of 53 bits.
Host edges(Rig& rig, const RnsBase& base) {
  Host in = adversarial(rig, base, 1, 1);
  const ExactBase exact(base);
  std::size_t n = 64;
  const auto set = [&](const BigInteger& value) {
    if (n == in.shape.degree || 2 * abs(value) > exact.product()) return;
    const std::vector<std::uint64_t> residues = exact.residues(value);
    for (std::size_t l = 0; l < base.size(); ++l) in.at(0, 0, l, n) = residues[l];
    ++n;
  };
  for (unsigned bit = 1; BigInteger(1) << bit < exact.product(); bit += bit < 70 ? 1 : 31) {
    const BigInteger power = BigInteger(1) << bit;
    for (const int sign : {1, -1}) {
      for (const int distance : {-1, 0, 1}) set(sign * (power + distance));
      if (bit >= 54) {
        const BigInteger half = power >> 53;
        for (const int odd : {1, 3}) {
          for (const int distance : {-1, 0, 1}) set(sign * (power + odd * half + distance));
        }
      }
    }
  }
  return in;
}

// The largest power of a prime below 2^61: far from a power of two, unlike the primes of a ring.
std::uint64_t power_of(std::uint64_t prime) {
  std::uint64_t power = prime;
  while (power < (std::uint64_t{1} << 61) / prime) power *= prime;
  return power;
}

TEST_P(BackendTest, DecodingIsExactForAllBasesAndScales) {
  std::vector<std::uint64_t> others = {2, 65536, 3};  // from index 12 on
  for (const std::uint64_t prime : {5, 7, 11, 13, 17, 19, 23, 29, 31}) others.push_back(power_of(prime));
  Rig rig(GetParam(), 1024, {61, 30, 50, 45, 60, 61, 60, 59, 58, 57, 61, 60}, others);
  const std::vector<std::vector<std::uint32_t>> bases = {{0},
                                                         {1},
                                                         {12},
                                                         {13},
                                                         {14},
                                                         {0, 1},
                                                         {13, 0},
                                                         {14, 12},
                                                         {0, 5, 6},
                                                         {1, 2, 3, 14, 12},
                                                         {0, 1, 2, 3, 4, 5, 6, 7},
                                                         {0, 1, 2, 3, 4, 5, 6, 7, 13},
                                                         {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                                         {15, 16},
                                                         {15, 16, 17, 18, 19, 20, 21, 22, 23, 14, 13}};
  for (const auto& indices : bases) {
    const RnsBase base = rig.choose(indices);
    const Host in = edges(rig, base);
    for (const double scale : {1.0, 0x1p40, 0x1.999999999999ap59, 0x1p120, 3e-7, 0x1p-300, 0x1p1000}) {
      if (base.log2() - std::log2(scale) > 1000) continue;
      ASSERT_TRUE(same_bits(decoded(rig, in, 1, 512, scale), expected_decoding(in, 1, 512, scale)))
          << base.size() << " limbs, scale " << scale;
    }
  }
}

TEST_P(BackendTest, DecodingTakesAnyNumberOfLimbs) {
  Rig rig(GetParam(), 1024, std::vector<int>(75, 26));
  for (const std::size_t limbs : {4, 12, 13, 17, 21, 25, 31, 33, 41, 49, 57, 64, 65, 75}) {
    const RnsBase base = rig.primes(0, limbs);
    const Host in = edges(rig, base);
    ASSERT_TRUE(same_bits(decoded(rig, in, 1, 256, 0x1p990), expected_decoding(in, 1, 256, 0x1p990)))
        << limbs;
  }
}

// What decoding usually meets, and the largest sums: scaled residues are random, whatever the integers are.
TEST_P(BackendTest, DecodingFindsSmallIntegersModuloLargeProducts) {
  for (const std::size_t limbs : {9, 30, 40, 70}) {
    Rig rig(GetParam(), 1024, std::vector<int>(limbs, 61));
    const ExactBase exact(rig.all());
    Host in(rig.all(), 1, 1);
    for (std::size_t n = 0; n < 1024; ++n) {
      BigInteger value = rig.generator();
      for (std::size_t word = 0; word < n / 128; ++word) value = (value << 64) + rig.generator();
      value >>= static_cast<unsigned>(rig.generator() % 64);
      const std::vector<std::uint64_t> residues = exact.residues(n % 2 == 0 ? value : BigInteger(-value));
      for (std::size_t l = 0; l < limbs; ++l) in.at(0, 0, l, n) = residues[l];
    }
    ASSERT_TRUE(same_bits(decoded(rig, in, 1, 512, 0x1p60), expected_decoding(in, 1, 512, 0x1p60))) << limbs;
  }
}

TEST_P(BackendTest, DecodingTakesBatchesAndBroadcasts) {
  for (const std::size_t limbs : {2, 66}) {
    Rig rig(GetParam(), limbs == 2 ? 8192 : 1024, std::vector<int>(limbs, 27));
    const std::size_t full = rig.ring->degree() / 2;
    const Host in = rig.random(rig.all(), 3, 1);
    const Host one = rig.random(rig.all(), 1, 1);
    for (const std::size_t n : {std::size_t{4}, full}) {
      EXPECT_TRUE(same_bits(decoded(rig, in, 3, n, 0x1p900), expected_decoding(in, 3, n, 0x1p900)));
      EXPECT_TRUE(same_bits(decoded(rig, one, 3, n, 0x1p900), expected_decoding(one, 3, n, 0x1p900)));
    }
  }
}

TEST_P(BackendTest, DecodingFindsTheLargestCoefficients) {
  for (const std::size_t limbs : {1, 2, 66}) {
    Rig rig(GetParam(), limbs == 2 ? 8192 : 1024, std::vector<int>(limbs, 27));
    const ExactBase exact(rig.all());
    Host in = rig.random(rig.all(), 3, 1);
    // One row is smaller than the others, and one is 0.
    for (std::size_t i = 0; i < in.shape.degree; ++i) {
      for (std::size_t l = 0; l < limbs; ++l) in.at(1, 0, l, i) = i % 1000, in.at(2, 0, l, i) = 0;
    }
    const poly::Poly polynomials = rig.upload(in, Form::coefficient);
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, in.shape.degree / 2}) {
      const DeviceSlots slots(rig, Slots(3 * n), 3);
      const DeviceSlots numbers(rig, Slots(2, {7, 7}), 1);
      Workspace workspace(rig.backend->memory());
      rig.backend->unembed(*rig.queue, slots.view, polynomials.view(), 0x1p40, 5, in.base, workspace,
                           reinterpret_cast<double*>(numbers.view.data));
      Slots pairs(2);
      rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(pairs)),
                                   numbers.view.bytes());
      rig.queue->synchronize();
      const double found[] = {pairs[0].real(), pairs[0].imag(), pairs[1].real(), pairs[1].imag()};
      for (std::size_t b = 0; b < 3; ++b) {
        double expected = 0;
        for (std::size_t i = 0; i < 2 * n; ++i) {
          expected = std::max(expected, std::fabs(quotient_of(in, exact, b, n, i, 0x1p40)));
        }
        EXPECT_EQ(found[b], expected) << limbs << " limbs, " << n << " slots, row " << b;
      }
      EXPECT_EQ(found[3], 7) << "beyond the rows";
    }
  }
}

TEST_P(BackendTest, EmbeddingIsExactForAllDegrees) {
  for (const std::size_t degree : {std::size_t{1} << 15, std::size_t{1} << 16, std::size_t{1} << 17}) {
    Rig rig(GetParam(), degree, {50});
    const Slots slots = random_slots(rig, degree / 2, 1);
    const Host encoding = encoded(rig, rig.all(), 1, slots, 1, 0x1p40);
    EXPECT_TRUE(same(encoding, expected_encoding(rig.all(), 1, slots, 1, 0x1p40))) << degree;
    EXPECT_TRUE(same_bits(decoded(rig, encoding, 1, degree / 2, 0x1p40),
                          expected_decoding(encoding, 1, degree / 2, 0x1p40)))
        << degree;
  }
}

}  // namespace
}  // namespace hemera::conformance
