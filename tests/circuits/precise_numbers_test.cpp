// Numbers beyond doubles: EvalMod's scales and coefficients, and embeddings on the host, against wide floats.
#include <gtest/gtest.h>

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <complex>
#include <random>
#include <set>
#include <vector>

#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/functions/exact_scales.hpp"
#include "hemera/arith/two_doubles.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks/precise_embedding.hpp"
#include "schemes/ckks/scaled_numbers.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {
namespace {

using arith::BigInteger;
using arith::TwoDoubles;
using Real =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>, boost::multiprecision::et_off>;

Real exactly(const TwoDoubles& x) { return Real(x.value) + Real(x.rest); }

// A number of 100 random bits or more.
TwoDoubles random_number(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.5, 1);
  return {std::ldexp(uniform(random), 20), std::ldexp(uniform(random) - 0.75, -34)};
}

TEST(PreciseNumbers, AreRightToAHundredBits) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const TwoDoubles a = random_number(random), b = random_number(random);
    const auto off = [](const TwoDoubles& found, const Real& expected) {
      return static_cast<double>(abs(exactly(found) / expected - 1));
    };
    EXPECT_LT(off(a + b, exactly(a) + exactly(b)), 0x1p-100);
    EXPECT_LT(off(a * b, exactly(a) * exactly(b)), 0x1p-100);
    EXPECT_LT(off(a / b, exactly(a) / exactly(b)), 0x1p-98);
    EXPECT_EQ(exactly(arith::exact_sum(a.value, b.rest)), Real(a.value) + Real(b.rest));
  }
}

TEST(PreciseNumbers, AreScaledToTheNearestInteger) {
  std::mt19937_64 random(4);
  for (const int bits : {-30, 0, 40, 90}) {
    for (int i = 0; i < 300; ++i) {
      TwoDoubles value = random_number(random), scale = random_number(random);
      scale = {std::ldexp(scale.value, bits), std::ldexp(scale.rest, bits)};
      if (i % 3 == 0) value = -value;
      if (i % 5 == 0) value.rest = 0;
      const Real expected = exactly(value) * exactly(scale);
      const BigInteger found = ckks::scaled_integer(value, scale);
      EXPECT_LE(abs(Real(found) - expected), 0.5);
    }
  }
  EXPECT_EQ(ckks::scaled_integer({1, 0x1p-60}, {0x1p60, 0}), (BigInteger(1) << 60) + 1);
}

// Slot j is the value at exp(2 pi i 5^j / 4n).
TEST(PreciseNumbers, EmbeddingsHaveTheSlots) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double scale = 0x1p80;
  for (const std::size_t slots : {1, 2, 8, 64}) {
    std::vector<ckks::PreciseComplex> values(slots);
    const auto number = [&] { return TwoDoubles{uniform(random), std::ldexp(uniform(random), -54)}; };
    for (auto& value : values) value = {number(), number()};
    const std::vector<arith::int128> coefficients = ckks::precise_coefficients(values, {scale});
    ASSERT_EQ(coefficients.size(), 2 * slots);
    std::size_t power = 1;
    Real largest = 0;
    for (std::size_t j = 0; j < slots; ++j) {
      Real real = 0, imaginary = 0;
      for (std::size_t k = 0; k < 2 * slots; ++k) {
        const Real angle =
            boost::math::constants::two_pi<Real>() * Real(power * k % (4 * slots)) / Real(4 * slots);
        real += Real(coefficients[k]) * cos(angle);
        imaginary += Real(coefficients[k]) * sin(angle);
      }
      largest = std::max({largest, Real(abs(real / scale - exactly(values[j].real))),
                          Real(abs(imaginary / scale - exactly(values[j].imag)))});
      power = power * 5 % (4 * slots);
    }
    // What rounding the coefficients leaves.
    EXPECT_LT(largest, 0x1p-80 * static_cast<double>(2 * slots)) << slots;

    std::vector<TwoDoubles> given;
    for (const arith::int128 coefficient : coefficients) {
      const auto high = static_cast<double>(coefficient);
      const auto low = static_cast<double>(coefficient - static_cast<arith::int128>(high));
      given.push_back(TwoDoubles{high, low} / TwoDoubles{scale});
    }
    const std::vector<ckks::PreciseComplex> found = ckks::precise_slots(given);
    for (std::size_t j = 0; j < slots; ++j) {
      EXPECT_LT(abs(exactly(found[j].real) - exactly(values[j].real)),
                0x1p-80 * static_cast<double>(2 * slots));
      EXPECT_LT(abs(exactly(found[j].imag) - exactly(values[j].imag)),
                0x1p-80 * static_cast<double>(2 * slots));
    }
  }
}

// Residues are read as the integer nearest to 0, against Python-like big integers.
TEST(PreciseNumbers, ReadCenteredIntegers) {
  const ckks::Session client(parameters_for_bootstrapping(bootstrap_preset("test-40")));
  const poly::RnsBase& base = client.context->base(3);
  BigInteger modulus = arith::product(base.values());
  ckks::CenteredReader centered(base);
  std::mt19937_64 random(7);
  std::vector<BigInteger> integers = {0, 1, -1, (modulus - 1) / 2, -(modulus - 1) / 2};
  for (unsigned bits = 1; bits + 2 < static_cast<unsigned>(base.log2()); bits += 3) {
    BigInteger integer = 0;
    for (unsigned i = 0; i < bits; ++i) integer = 2 * integer + random() % 2;
    integers.push_back(random() % 2 == 0 ? integer : BigInteger(-integer));
  }
  for (const BigInteger& integer : integers) {
    std::vector<std::uint64_t> residues;
    for (const std::uint64_t q : base.values()) {
      residues.push_back(arith::modulo(integer, q));
      residues.push_back(~std::uint64_t{0});  // of another coefficient
    }
    const Real found = exactly(centered(residues.data(), 2));
    EXPECT_LE(abs(found - Real(integer)), Real(abs(integer)) * 0x1p-100) << integer;
  }
}

// The same plaintext as the usual encoder's, but for the rounding of its doubles.
TEST(PreciseNumbers, PlaintextsAreThoseOfTheEncoder) {
  const ckks::Session client(parameters_for_bootstrapping(bootstrap_preset("test-40")));
  const rlwe::Context& context = *client.context;
  const poly::RnsBase& base = context.base(3);
  for (const std::size_t slots : {4U, 256U, 1024U}) {
    const auto values = ckks::random_values(slots, 7);
    for (const auto stored : {ckks::Stored::whole, ckks::Stored::one_period}) {
      const auto usual = client.encoder->encode_over(base, values, {}, 3, 0x1p30, stored, HUGE_VAL);
      const auto precise = client.encoder->encode_precisely_over(base, values, 3, 0x1p30, stored);
      EXPECT_EQ(precise.poly.shape(), usual.poly.shape());
      EXPECT_EQ(precise.meta.scale, usual.meta.scale);
      EXPECT_LT(ckks::largest_difference(client.encoder->decode(precise), client.encoder->decode(usual)),
                0x1p-24);
    }
  }
  const std::vector<std::complex<double>> large(4, 0x1p20);
  EXPECT_THROW(static_cast<void>(client.encoder->encode_precisely_over(context.base(0), large, 0, 0x1p40)),
               ParameterError);
}

Real divisor(const rlwe::Parameters& parameters, std::size_t level) {
  const auto &high = parameters.literal().levels[level], &low = parameters.literal().levels[level - 1];
  const std::set<std::uint64_t> above(high.begin(), high.end()), below(low.begin(), low.end());
  Real result = 1;
  for (const std::uint64_t prime : above) result *= below.contains(prime) ? Real(1) : Real(prime);
  for (const std::uint64_t prime : below) result /= above.contains(prime) ? Real(1) : Real(prime);
  return result;
}

// What CoeffToSlot makes of q_0, then each step of it, in wide floats.
TEST(PreciseNumbers, ScalesOfEvalModAreExact) {
  const rlwe::Parameters parameters =
      parameters_for_bootstrapping(rlwe::Scheme::bfv, 257, integer_bootstrap_preset("bfv11-test-40"))
          .circuit();
  const BootstrapLayout layout(parameters);
  ASSERT_EQ(layout.sine.doublings, 4U);
  const EvalMod eval_mod(parameters, layout, true);
  const auto& levels = parameters.rescaling().scales;
  Real v = 1;
  for (const std::uint64_t prime : parameters.literal().levels.front()) v *= Real(prime);
  for (std::size_t level = layout.top_level; level > layout.eval_mod_level; --level) {
    v *= Real(levels[level - 1].scale * (levels[level].divisor / levels[level].scale));
    v /= divisor(parameters, level);
  }
  std::vector<Real> scales = {v};
  double drift = 0;
  for (const FunctionStep& step : eval_mod.plan().steps()) {
    Real scale;
    if (!step.products.empty()) {
      scale = scales[step.products.front().a] * scales[step.products.front().b];
      if (step.doubles_by_scale) scale /= 2;
    } else if (step.rescaled) {
      const std::size_t value = step.terms.front().value;
      const double before =
          value == 0 ? eval_mod.plan().scale() : eval_mod.plan().steps()[value - 1].result_scale;
      scale = scales[value] * Real(std::nearbyint(step.scale / before));
    } else if (step.is_mapped()) {
      scale = scales[step.terms.front().value] / Real(step.terms.front().factor.front().real());
    } else {
      scale = scales[step.terms.front().value] * Real(std::ldexp(1.0, step.fraction_bits));
    }
    EXPECT_LT(abs(exactly({step.scale, step.scale_rest}) / scale - 1), 0x1p-80);
    if (step.rescaled) scale /= divisor(parameters, step.level);
    EXPECT_LT(abs(exactly({step.result_scale, step.result_scale_rest}) / scale - 1), 0x1p-80);
    drift = std::max(drift, std::abs(step.result_scale_rest / step.result_scale));
    scales.push_back(scale);
  }
  // More than doubles hold.
  EXPECT_GT(drift, 0x1p-52);
}

// The parts' coefficients are whole multiples of 2^-constant_bits, of more bits than a double has.
TEST(PreciseNumbers, CoefficientsHaveAllTheirBits) {
  const EvalModSeries series = fit_eval_mod({.degree = 15, .doublings = 4});
  double rest = 0, value = 0;
  for (const TwoDoubles& c : series.coefficients) {
    rest = std::max(rest, std::abs(c.rest));
    value = std::max(value, std::abs(c.value));
  }
  EXPECT_GT(rest, 0x1p-58);
  EXPECT_LT(rest, value * 0x1p-53);
  const rlwe::Parameters parameters =
      parameters_for_bootstrapping(rlwe::Scheme::bfv, 257, integer_bootstrap_preset("bfv11-test-40"))
          .circuit();
  const EvalMod eval_mod(parameters, BootstrapLayout(parameters), true);
  bool is_wide = false;
  for (const FunctionStep& step : eval_mod.plan().steps()) {
    if (step.rescaled || step.fraction_bits == 0) continue;
    EXPECT_EQ(step.fraction_bits, 58);
    for (const auto& term : step.terms) {
      const Real whole = ldexp(exactly({term.factor.front().real(), term.rest}), 58);
      EXPECT_EQ(whole, round(whole));
      is_wide = is_wide || term.rest != 0;
    }
  }
  EXPECT_TRUE(is_wide);
  // The series in the clear is the cosine to the fit's error.
  Real worst = 0;
  for (const int integer : {-5, -1, 0, 1, 3, 6}) {
    const Real v = (Real(integer) - Real(1) / 4) / 16, y = 2 * v * v - 1;
    Real before = 1, now = y, sum = exactly(series.coefficients[0]) + exactly(series.coefficients[1]) * y;
    for (std::size_t k = 2; k < series.coefficients.size(); ++k) {
      const Real next = 2 * y * now - before;
      before = now;
      now = next;
      sum += exactly(series.coefficients[k]) * now;
    }
    const Real angle = boost::math::constants::two_pi<Real>() * v;
    worst = std::max(worst, Real(abs(sum - cos(angle))));
  }
  EXPECT_LT(worst, 0x1p-70);
}

TEST(PreciseNumbers, FunctionsRefuseRestsOfOtherNumbers) {
  Function function(std::vector{Interval{-1, 1}});
  const double nan = std::nan("");
  EXPECT_THROW(function.add({.terms = {{0, {1}, nan}}}), ParameterError);
  EXPECT_THROW(function.add({.terms = {{0, {{0, 1}}, 0x1p-60}}}), ParameterError);
  EXPECT_THROW(function.add({.terms = {{0, {1}}}, .constant = {1, 2}, .constant_rest = 1}), ParameterError);
  EXPECT_EQ(function.add({.terms = {{0, {1}, 0x1p-60}}}), 1U);
}

}  // namespace
}  // namespace hemera::circuits
