// Integers and slots in the order of a Galois generator, against the definition: a slot is the value of the
// polynomial at a power of the root.
#include <bit>
#include <complex>
#include <limits>

#include "conformance/suite.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::ConstPolyView;
using poly::Form;
using poly::IntegerView;
using poly::RnsBase;
using poly::SlotView;
using Integers = std::vector<std::int64_t>;
using Complex = std::complex<double>;

// Values in the backend's memory.
template <typename View, typename T>
struct DeviceArray {
  runtime::Buffer buffer;
  View view;

  DeviceArray(Rig& rig, const std::vector<T>& values, std::size_t batch)
      : buffer(rig.backend->memory(), values.size() * sizeof(T)),
        view{reinterpret_cast<T*>(buffer.data()), batch, values.size() / batch} {
    rig.backend->upload_values(*rig.queue, view.bytes(), std::as_bytes(std::span(values)));
  }
  [[nodiscard]] std::vector<T> values(Rig& rig) const {
    std::vector<T> result(view.bytes().size() / sizeof(T));
    rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(result)), view.bytes());
    rig.queue->synchronize();
    return result;
  }
};
using DeviceIntegers = DeviceArray<IntegerView, std::int64_t>;
using DeviceSlots = DeviceArray<SlotView, Complex>;

// The exponents e of the values at root^e, slot by slot.
std::vector<std::size_t> exponents(std::size_t degree, std::uint64_t generator) {
  std::vector<std::size_t> result;
  for (std::size_t j = 0, e = 1; j < degree / 2; ++j, e = e * generator % (2 * degree)) result.push_back(e);
  for (std::size_t j = 0; j < degree / 2; ++j) result.push_back(2 * degree - result[j]);
  return result;
}

// The entry of the standard order that belongs to each value.
std::vector<std::size_t> places(std::size_t degree, std::uint64_t generator, Form form) {
  std::vector<std::size_t> result(degree);
  const int bits = std::countr_zero(degree);
  for (std::size_t i = 0; i < degree; ++i) result[i] = i;
  if (form == Form::coefficient) return result;
  const auto powers = exponents(degree, generator);
  for (std::size_t i = 0; i < degree; ++i) result[i] = arith::reverse_bits((powers[i] - 1) / 2, bits);
  return result;
}

std::uint64_t modulo(std::int64_t value, std::uint64_t t) {
  const auto remainder = static_cast<arith::int128>(value) % static_cast<arith::int128>(t);
  return static_cast<std::uint64_t>(remainder < 0 ? remainder + static_cast<arith::int128>(t) : remainder);
}

Integers random_integers(Rig& rig, std::size_t count, std::uint64_t t) {
  const auto limit = static_cast<std::int64_t>(t);
  const Integers edges = {0,          1,         -1,
                          limit - 1,  1 - limit, limit / 2,
                          -limit / 2, limit,     std::numeric_limits<std::int64_t>::min(),
                          -limit,     limit + 1, std::numeric_limits<std::int64_t>::max()};
  Integers values(count);
  for (std::int64_t& value : values) {
    const std::uint64_t bits = rig.generator();
    value = bits % 4 == 0 ? edges[(bits >> 8) % edges.size()] : static_cast<std::int64_t>(rig.generator());
  }
  return values;
}

TEST_P(BackendTest, IntegersHaveTheirPlaces) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 15}) {
    Rig rig(GetParam(), degree, {30, 60}, {2, 65536, 65537});
    for (const RnsBase& base :
         {rig.primes(0, 1), rig.primes(1, 1), rig.plaintext(0), rig.plaintext(1), rig.plaintext(2)}) {
      if (degree > 1024 && base.modulus(0).value() < 65537) continue;
      const std::uint64_t t = base.modulus(0).value();
      for (const std::uint64_t generator : {5, 3}) {
        for (const Form form : {Form::evaluation, Form::coefficient}) {
          const auto place = places(degree, generator, form);
          for (const std::size_t count :
               {std::size_t{1}, std::size_t{511}, degree / 2, degree / 2 + 1, degree}) {
            for (const std::size_t rows : {std::size_t{1}, std::size_t{3}}) {
              const Integers values = random_integers(rig, rows * count, t);
              const DeviceIntegers in(rig, values, rows);
              Host expected(base, 3, 1);
              for (std::size_t b = 0; b < 3; ++b) {
                for (std::size_t i = 0; i < count; ++i) {
                  expected.at(b, 0, 0, place[i]) = modulo(values[(rows == 1 ? 0 : b * count) + i], t);
                }
              }
              poly::Poly out = rig.output(base, 3, 1, form);
              rig.backend->place_integers(*rig.queue, out.view(), in.view, form, generator, base);
              ASSERT_TRUE(same(rig.download(out), expected)) << degree << ", " << count << " values";
            }
          }
        }
      }
    }
  }
}

TEST_P(BackendTest, IntegersAreCollectedFromTheirPlaces) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 15}) {
    Rig rig(GetParam(), degree, {30, 60}, {2, 65536, 65537});
    for (const RnsBase& base : {rig.primes(1, 1), rig.plaintext(0), rig.plaintext(1), rig.plaintext(2)}) {
      if (degree > 1024 && base.modulus(0).value() < 65537) continue;
      const std::uint64_t t = base.modulus(0).value();
      const Host residues = rig.random(base, 3, 1);
      for (const std::uint64_t generator : {5, 3}) {
        for (const Form form : {Form::evaluation, Form::coefficient}) {
          const auto place = places(degree, generator, form);
          poly::Poly in = rig.upload(residues, form);
          for (const std::size_t count : {std::size_t{1}, std::size_t{511}, degree / 2 + 1, degree}) {
            for (const bool is_signed : {false, true}) {
              Integers expected;
              for (std::size_t b = 0; b < 3; ++b) {
                for (std::size_t i = 0; i < count; ++i) {
                  const std::uint64_t x = residues.at(b, 0, 0, place[i]);
                  expected.push_back(static_cast<std::int64_t>(is_signed && x > t / 2 ? x - t : x));
                }
              }
              const DeviceIntegers out(rig, Integers(3 * count, 12345), 3);
              rig.backend->collect_integers(*rig.queue, out.view, std::as_const(in).view(), form, generator,
                                            is_signed, base);
              ASSERT_EQ(out.values(rig), expected) << degree << ", " << count << " values";
              // One polynomial for all rows.
              rig.backend->collect_integers(*rig.queue, out.view, std::as_const(in).view().batches(1, 1),
                                            form, generator, is_signed, base);
              const Integers all = out.values(rig);
              for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], expected[count + i % count]);
            }
          }
        }
      }
    }
  }
}

// The numbers of one part in each place, as many parts as rows; the last ones are shorter, or empty.
TEST_P(BackendTest, NumbersComeAlongWithIntegers) {
  constexpr std::size_t rows = 3, count = 700;
  Rig rig(GetParam(), 1024, {30});
  const poly::Poly in = rig.upload(rig.random(rig.all(), rows, 1), Form::coefficient);
  const auto collect = [&](const DeviceIntegers& out, const poly::TakenAlong& along) {
    rig.backend->collect_integers(*rig.queue, {.data = out.view.data, .batch = rows, .count = count},
                                  in.view(), Form::coefficient, 5, true, rig.all(), along);
    return out.values(rig);
  };
  const Integers alone = collect({rig, Integers(rows * count, 12345), rows}, {});
  for (const std::size_t size : {0, 1, 2, 4, 16 * 3, 700, 3 * 2048}) {
    const std::size_t part = (size + rows - 1) / rows;
    for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
      if (place >= size && size != 0) continue;
      Integers numbers(size, 0);
      Integers expected = alone;
      expected.resize(rows * count + rows, 0);
      if (size != 0) {
        numbers[place] = 5;
        numbers[place / part * part] |= 8;
        expected[rows * count + place / part] = 5 | 8;
      }
      const DeviceIntegers given(rig, Integers(std::max<std::size_t>(size, 1), 0), 1);
      rig.backend->upload_values(*rig.queue, given.view.bytes().first(size * sizeof(std::int64_t)),
                                 std::as_bytes(std::span(numbers)));
      const DeviceIntegers out(rig, Integers(expected.size(), 12345), 1);
      EXPECT_EQ(collect(out, {.numbers = {given.view.data, size}, .any = out.view.data + rows * count}),
                expected)
          << size << " numbers, " << place;
    }
  }
}

// Placed in evaluation form they are the values of the polynomial at the powers of the root.
TEST_P(BackendTest, PlacedIntegersAreValuesOfThePolynomial) {
  constexpr std::size_t degree = 1024;
  Rig rig(GetParam(), degree, {30});
  const arith::Modulus& t = rig.all().modulus(0);
  for (const std::uint64_t generator : {5, 3}) {
    const Integers values = random_integers(rig, degree, t.value());
    const DeviceIntegers in(rig, values, 1);
    poly::Poly out = rig.output(rig.all(), 1, 1, Form::evaluation);
    rig.backend->place_integers(*rig.queue, out.view(), in.view, Form::evaluation, generator, rig.all());
    rig.backend->inverse_transform(*rig.queue, out.view(), out.view(), rig.all());
    out.set_form(Form::coefficient);
    const Host polynomial = rig.download(out);
    const auto powers = exponents(degree, generator);
    for (const std::size_t slot : {std::size_t{0}, std::size_t{1}, degree / 2 - 1, degree / 2, degree - 1}) {
      const std::uint64_t point = t.power((*rig.ring)[0].root, powers[slot]);
      std::uint64_t sum = 0;
      for (std::size_t n = degree; n-- > 0;) sum = t.add(t.multiply(sum, point), polynomial.at(0, 0, 0, n));
      EXPECT_EQ(sum, modulo(values[slot], t.value())) << "slot " << slot;
    }
  }
}

// Plaintext moduli t = 1 modulo 2n, n < N, with a 2n-th root: small ones, one of 30 bits and one of 60.
std::vector<poly::RingModulus> with_fewer_values(std::size_t degree) {
  std::vector<std::pair<std::uint64_t, std::size_t>> moduli = {{5, 2}, {17, 8}, {257, 128}, {7681, 256}};
  for (const int bits : {30, 60}) {
    const auto found = arith::primes_below(std::uint64_t{1} << bits, degree, 64);
    const auto one = std::find_if(found.begin(), found.end(),
                                  [&](std::uint64_t prime) { return prime % (2 * degree) != 1; });
    moduli.emplace_back(*one, degree / 2);
  }
  std::vector<poly::RingModulus> result;
  for (const auto& [t, values] : moduli) {
    const arith::Modulus modulus(t);
    std::uint64_t root = 2;
    while (t < 10000 && modulus.power(root, values) != t - 1) ++root;
    if (t > 10000) root = arith::minimal_primitive_root(2 * values, modulus);
    result.push_back({modulus, root, values});
  }
  return result;
}

// n < N values are those of the polynomial in X^(N/n) whose coefficients are at multiples of N/n.
TEST_P(BackendTest, FewerValuesAreOfPolynomialsInAPower) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 13}) {
    const auto moduli = with_fewer_values(degree);
    Rig rig(GetParam(), degree, {}, {}, moduli);
    for (std::size_t m = 0; m < moduli.size(); ++m) {
      const RnsBase base = rig.plaintext(m);
      const arith::Modulus& t = base.modulus(0);
      const std::size_t n = moduli[m].values, gap = degree / n;
      SCOPED_TRACE(t.value());
      // The value of the polynomial in the power, coefficients that others have in between left out.
      const auto value = [&](const Host& polynomial, std::size_t b, std::uint64_t exponent) {
        const std::uint64_t point = t.power(moduli[m].root, exponent);
        std::uint64_t sum = 0;
        for (std::size_t k = n; k-- > 0;)
          sum = t.add(t.multiply(sum, point), polynomial.at(b, 0, 0, gap * k));
        return sum;
      };
      for (const std::uint64_t generator : {5, 3}) {
        const auto powers = exponents(n, generator);
        for (const std::size_t count : {std::size_t{1}, n / 2 + 1, n}) {
          const Integers values = random_integers(rig, 2 * count, t.value());
          const DeviceIntegers in(rig, values, 2);
          poly::Poly out = rig.output(base, 2, 1, Form::evaluation);
          rig.backend->place_integers(*rig.queue, out.view(), in.view, Form::evaluation, generator, base);
          rig.backend->inverse_transform(*rig.queue, out.view(), out.view(), base);
          out.set_form(Form::coefficient);
          const Host polynomial = rig.download(out);
          for (std::size_t b = 0; b < 2; ++b) {
            for (std::size_t i = 0; i < degree; ++i) {
              ASSERT_TRUE(i % gap == 0 || polynomial.at(b, 0, 0, i) == 0) << "coefficient " << i;
            }
            for (std::size_t slot = 0; slot < n; slot += n < 16 ? 1 : n / 8 - 1) {
              ASSERT_EQ(value(polynomial, b, powers[slot]),
                        slot < count ? modulo(values[b * count + slot], t.value()) : 0)
                  << "slot " << slot;
            }
          }
        }
        // Other coefficients are not seen.
        const Host any = rig.random(base, 2, 1);
        poly::Poly polynomial = rig.upload(any, Form::coefficient);
        rig.backend->forward_transform(*rig.queue, polynomial.view(), std::as_const(polynomial).view(), base);
        const DeviceIntegers found(rig, Integers(2 * n, 12345), 2);
        rig.backend->collect_integers(*rig.queue, found.view, std::as_const(polynomial).view(),
                                      Form::evaluation, generator, false, base);
        const Integers values = found.values(rig);
        for (std::size_t b = 0; b < 2; ++b) {
          for (std::size_t slot = 0; slot < n; slot += n < 16 ? 1 : n / 8 - 1) {
            ASSERT_EQ(static_cast<std::uint64_t>(values[b * n + slot]), value(any, b, powers[slot]));
          }
        }
        // There is no place for more.
        const DeviceIntegers more(rig, Integers(n + 1, 0), 1);
        EXPECT_THROW(rig.backend->collect_integers(*rig.queue, more.view, std::as_const(polynomial).view(),
                                                   Form::evaluation, generator, false, base),
                     MismatchError);
      }
    }
  }
}

// The order of slots is a permutation of those by the powers of 5, with conjugates: the embedding of the
// permuted slots has the same bits.
TEST_P(BackendTest, SlotsOfAnyGeneratorGoToTheEmbedding) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 13, std::size_t{1} << 17}) {
    if (GetParam().emulated && degree > 8192) continue;
    Rig rig(GetParam(), degree, {50});
    const std::size_t all = degree / 2;
    constexpr std::size_t batch = 2;
    constexpr double scale = 0x1p30;
    std::vector<std::size_t> slot_of(2 * degree);  // by exponent
    const auto fives = exponents(degree, 5);
    for (std::size_t k = 0; k < all; ++k) slot_of[fives[k]] = k;
    const auto embedded = [&](const DeviceSlots& slots, std::uint64_t generator) {
      poly::Poly out = rig.output(rig.all(), batch, 1, Form::coefficient);
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->embed(*rig.queue, out.view(), slots.view, scale, generator, rig.all(), space);
      });
      return out;
    };
    const auto unembedded = [&](const poly::Poly& in, std::size_t slots, std::uint64_t generator) {
      const DeviceSlots out(rig, std::vector<Complex>(batch * slots, 12345), batch);
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->unembed(*rig.queue, out.view, in.view(), scale, generator, rig.all(), space);
      });
      return out.values(rig);
    };
    for (const std::uint64_t generator : {std::uint64_t{3}, 2 * degree - 5}) {
      const auto powers = exponents(degree, generator);
      for (const std::size_t slots : {std::size_t{1}, std::size_t{8}, all}) {
        std::vector<Complex> values(batch * slots), permuted(batch * all);
        for (Complex& value : values) {
          value = {static_cast<double>(rig.generator() % 1000), -static_cast<double>(rig.generator() % 1000)};
        }
        const auto place = [&](std::size_t j) {
          return slot_of[powers[j] % 4 == 3 ? 2 * degree - powers[j] : powers[j]];
        };
        const auto turned = [&](std::size_t j, const Complex& value) {
          return powers[j] % 4 == 3 ? std::conj(value) : value;
        };
        for (std::size_t b = 0; b < batch; ++b) {
          for (std::size_t j = 0; j < all; ++j) {
            permuted[b * all + place(j)] = turned(j, values[b * slots + j % slots]);
          }
        }
        const poly::Poly polynomial = embedded(DeviceSlots(rig, values, batch), generator);
        ASSERT_TRUE(
            same(rig.download(polynomial), rig.download(embedded(DeviceSlots(rig, permuted, batch), 5))))
            << degree << ", " << slots << " slots";
        const std::vector<Complex> back = unembedded(polynomial, all, 5);
        std::vector<Complex> expected;
        for (std::size_t b = 0; b < batch; ++b) {
          for (std::size_t j = 0; j < slots; ++j) expected.push_back(turned(j, back[b * all + place(j)]));
        }
        ASSERT_EQ(unembedded(polynomial, slots, generator), expected) << degree << ", " << slots << " slots";
      }
    }
  }
}

TEST_P(BackendTest, NumbersHaveTheirSlots) {
  Rig rig(GetParam(), 1024, {50});
  for (const std::size_t slots : {std::size_t{1}, std::size_t{8}, std::size_t{512}}) {
    for (const std::size_t count : {std::size_t{1}, slots - slots / 3, slots}) {
      for (const bool is_complex : {false, true}) {
        const std::size_t batch = 3;
        std::vector<Complex> values(batch * count);
        std::vector<double> doubles;
        std::vector<Complex> expected(batch * slots);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = {static_cast<double>(i) + 0.5, is_complex ? -static_cast<double>(i) : 0.0};
          doubles.push_back(values[i].real());
          if (is_complex) doubles.push_back(values[i].imag());
          expected[i / count * slots + i % count] = values[i];
        }
        runtime::Buffer given(rig.backend->memory(), doubles.size() * sizeof(double));
        rig.backend->upload_values(*rig.queue, {given.data(), given.size()},
                                   std::as_bytes(std::span(doubles)));
        const DeviceSlots out(rig, std::vector<Complex>(batch * slots, 12345), batch);
        rig.backend->place_slots(*rig.queue, out.view,
                                 {reinterpret_cast<double*>(given.data()), is_complex, batch, count});
        ASSERT_EQ(out.values(rig), expected) << count << " of " << slots << " slots";
        runtime::Buffer back(rig.backend->memory(), given.size());
        rig.backend->collect_slots(
            *rig.queue, {reinterpret_cast<double*>(back.data()), is_complex, batch, count}, out.view);
        std::vector<double> returned(doubles.size());
        rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(returned)),
                                     {back.data(), back.size()});
        rig.queue->synchronize();
        ASSERT_EQ(returned, doubles) << count << " of " << slots << " slots";
      }
    }
  }
}

TEST_P(BackendTest, LiftedIntegersAreCentredAndScaled) {
  struct Case {
    std::size_t degree;
    std::vector<int> bits;
    std::uint64_t t;
    std::size_t batch;
  };
  constexpr std::uint64_t large = (std::uint64_t{1} << 61) - 1, even = std::uint64_t{1} << 20;
  std::vector<Case> cases = {{1024, {50, 30}, 65537, 2}, {1024, {50, 30}, 257, 18},
                             {2048, {61}, even, 1},      {4096, {-60, -60}, 2, 1},
                             {8192, {50, 45}, large, 2}, {8192, {61, 20}, large, 1},
                             {16384, {-60}, 3, 1},       {16384, {50, 45}, 65537, 2},
                             {16384, {59}, 65537, 1},    {32768, {61}, 65537, 1}};
  if (!GetParam().emulated) cases.push_back({std::size_t{1} << 17, {55, 40}, 786433, 2});
  enum class Added { nothing, apart, in_place };
  for (const Case& given : cases) {
    SCOPED_TRACE(given.degree);
    Rig rig(GetParam(), given.degree, given.bits, {given.t});
    const poly::Backend& backend = *rig.backend;
    const RnsBase base = rig.all(), plain = rig.plaintext(0);
    const arith::Modulus& t = plain.modulus(0);
    const poly::BaseConversion lift(plain, base, poly::BaseConversion::Kind::exact);
    const Host integers = rig.random(plain, given.batch, 1);
    const poly::Poly in = rig.upload(integers, Form::coefficient);
    const Host addend = rig.random(base, given.batch, 1);
    const Host addend_values = rig.transformed(addend, Form::coefficient, Form::evaluation);
    for (const std::uint64_t factor : {std::uint64_t{1}, given.t - 1, given.t / 2}) {
      for (const bool scales : {false, true}) {
        std::vector<std::uint64_t> scalars;
        for (std::size_t i = 0; scales && i < base.size(); ++i)
          scalars.push_back(base.modulus(i).value() - 2 - i);
        Host expected(base, given.batch, 1);
        for (std::size_t b = 0; b < given.batch; ++b) {
          for (std::size_t i = 0; i < base.size(); ++i) {
            const arith::Modulus& q = base.modulus(i);
            for (std::size_t n = 0; n < given.degree; ++n) {
              const std::uint64_t scaled = t.multiply(integers.words[integers.index(b, 0, 0, n)], factor);
              const std::uint64_t residue = q.reduce_signed(t.centered(scaled));
              expected.at(b, 0, i, n) = scales ? q.multiply(residue, scalars[i]) : residue;
            }
          }
        }
        Host sum = expected;
        for (std::size_t i = 0; i < sum.words.size(); ++i) {
          const arith::Modulus& q = base.modulus(i / given.degree % base.size());
          sum.words[i] = q.add(sum.words[i], addend.words[i]);
        }
        const auto expect = [&](const poly::Backend& chosen, std::span<const ConstPolyView> inputs,
                                Added added) {
          const poly::Poly apart = rig.upload(addend_values);
          poly::Poly out;
          rig.with_scratch([&](runtime::Workspace& space) {
            out = added == Added::in_place ? rig.upload(addend_values) : rig.output(base, given.batch, 1);
            ConstPolyView adds;
            if (added == Added::apart) adds = apart.view();
            if (added == Added::in_place) adds = out.view();
            chosen.lift_integers(*rig.queue, out.view(), inputs, factor, scalars, lift, space, adds);
          });
          const Host transformed = rig.transformed(rig.download(out), Form::evaluation, Form::coefficient);
          ASSERT_TRUE(same(transformed, added == Added::nothing ? expected : sum))
              << inputs.size() << " inputs, factor " << factor << (scales ? ", scaled" : "") << ", added "
              << static_cast<int>(added);
        };
        for (std::size_t inputs = 1; inputs <= given.batch; ++inputs) {
          if (given.batch % inputs != 0) continue;
          const std::size_t each = given.batch / inputs;
          std::vector<ConstPolyView> parts;
          for (std::size_t i = 0; i < inputs; ++i) {
            parts.push_back(std::as_const(in).view().batches(i * each, each));
          }
          for (const Added added : {Added::nothing, Added::apart, Added::in_place}) {
            if (added != Added::nothing && factor != given.t / 2) continue;
            expect(backend, parts, added);
            if (!GetParam().brief()) expect(*rig.defaults, parts, added);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
