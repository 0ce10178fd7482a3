// Bootstraps from coefficients, beside the coefficients that were encoded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/automatic.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

BootstrapSettings coefficient_settings() {
  BootstrapSettings settings = small_settings();
  settings.order = BootstrapOrder::from_coefficients;
  settings.levels = 3;
  settings.slots_to_coefficients = {};
  settings.last_bits = 52;
  return settings;
}

// Coarse and small, for what a comparison alone needs.
BootstrapSettings coarse_settings() {
  BootstrapSettings settings = coefficient_settings();
  settings.scale_bits = 30;
  settings.last_bits = 34;
  settings.ratio_bits = 4;
  settings.coefficients_to_slots = {30, 30, 30};
  settings.eval_mod_error = -14;
  settings.constant_bits = 18;
  return settings;
}

// In [-1, 1], [batch, count].
std::vector<double> random_numbers(std::size_t count) {
  std::vector<double> numbers;
  for (const Complex& value : ckks::random_values(count, 7)) numbers.push_back(value.real());
  return numbers;
}

std::vector<std::int64_t> scaled_to_integers(const std::vector<double>& numbers, double scale) {
  std::vector<std::int64_t> result;
  for (const double number : numbers) result.push_back(std::llround(number * scale));
  return result;
}

std::size_t reversed_bits(std::size_t number, std::size_t below) {
  std::size_t result = 0;
  for (std::size_t bit = 1; bit < below; bit *= 2) {
    result = 2 * result + number % 2;
    number /= 2;
  }
  return result;
}

// As a_j + i a_(j + n), for the coefficients of a polynomial in X^stride.
Values in_slots(const std::vector<double>& coefficients, std::size_t slots, std::size_t stride = 1) {
  Values result;
  for (std::size_t i = 0; i < slots; ++i) {
    const std::size_t j = reversed_bits(i, slots);
    result.emplace_back(coefficients[j * stride], coefficients[(j + slots) * stride]);
  }
  return result;
}

Values parts_of_values(const Values& values) {
  Values result;
  for (const Complex& value : values) result.emplace_back(value.real());
  for (const Complex& value : values) result.emplace_back(value.imag());
  return result;
}

struct CoefficientBootstrap : ::testing::Test {
  static rlwe::Ciphertext encrypted(const BootstrapSession& session, const std::vector<double>& numbers,
                                    const rlwe::BatchShape& batch = {}) {
    const double scale = session.client.context->scales().level_scale(0);
    const std::size_t count = numbers.size() / rlwe::batch_count(batch);
    return ckks::encrypt(session.client.encoder->encode_coefficients(scaled_to_integers(numbers, scale),
                                                                     count, batch, 0, scale),
                         session.client.secret);
  }
};

TEST_F(CoefficientBootstrap, BringsThemToSlotsWithTheModelsError) {
  // The scale of level 0 may be another one than the user's.
  BootstrapSettings apart = coarse_settings();
  apart.last_bits = 36;
  for (const BootstrapSettings& settings : {coefficient_settings(), apart}) {
    const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
    const Bootstrap plan(parameters);
    EXPECT_EQ(plan.order(), BootstrapOrder::from_coefficients);
    EXPECT_TRUE(plan.gives_parts());
    EXPECT_TRUE(plan.slots_to_coefficients().empty());
    EXPECT_EQ(plan.input_level(), 0);
    EXPECT_EQ(plan.result_level(), settings.levels);
    const BootstrapSession session(parameters, plan);
    const double scale = session.client.context->scales().level_scale(0);
    EXPECT_NEAR(std::log2(scale), settings.last_bits - settings.ratio_bits, 0.01);
    const std::vector<double> numbers = random_numbers(parameters.degree());
    const rlwe::Ciphertext out = session.prepared(session.evaluator, encrypted(session, numbers));
    EXPECT_EQ(out.meta.batch, rlwe::BatchShape{2});
    EXPECT_EQ(out.meta.level, settings.levels);
    EXPECT_EQ(out.meta.slots, parameters.degree() / 2);
    EXPECT_FALSE(out.meta.is_complex);
    EXPECT_EQ(out.meta.filled, 0);
    const Values wanted = in_slots(numbers, plan.slots());
    const Precision found = precision_of(session.client.decrypt(out), parts_of_values(wanted));
    const Precision model = precision_of(plan.simulate(wanted, 3), parts_of_values(wanted));
    EXPECT_NEAR(found.mean_bits, model.mean_bits, 0.5);
    EXPECT_NEAR(found.worst_bits, model.worst_bits, 1.5);
    // The lower of two kinds of values; the other kind has all of them at the magnitude.
    EXPECT_GT(found.mean_bits, plan.expected_precision().mean_bits - 0.5);
    EXPECT_GT(found.mean_bits, settings.ratio_bits > 4 ? 20 : 6);
  }
}

TEST_F(CoefficientBootstrap, TakesBatchesFewSlotsAndFewKeys) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(coarse_settings());
  const std::size_t slots = 64, stride = parameters.max_slots() / slots;
  const Bootstrap plan(parameters, {.slots = slots, .key_memory_limit = std::size_t{24} << 20});
  const BootstrapSession session(parameters, plan);
  std::vector<double> numbers(2 * parameters.degree(), 0);
  const std::vector<double> given = random_numbers(2 * 2 * slots);
  for (std::size_t i = 0; i < given.size(); ++i) numbers[i * stride] = given[i];
  rlwe::Ciphertext in = encrypted(session, numbers, {2});
  in.meta.slots = slots;
  // Metadata of slots that the result does not have.
  in.meta.is_complex = true;
  in.meta.filled = 5;
  in.meta.largest = 0.5;
  const rlwe::Ciphertext out = session.prepared(session.evaluator, in);
  EXPECT_EQ(out.meta.batch, (rlwe::BatchShape{2, 2}));
  EXPECT_EQ(out.meta.slots, slots);
  EXPECT_FALSE(out.meta.is_complex);
  EXPECT_EQ(out.meta.filled, 0);
  EXPECT_TRUE(std::isinf(out.meta.largest));
  const Values found = session.client.decrypt(out);
  for (std::size_t element = 0; element < 2; ++element) {
    const auto first = given.begin() + static_cast<std::ptrdiff_t>(element * 2 * slots);
    const Values wanted = in_slots({first, first + static_cast<std::ptrdiff_t>(2 * slots)}, slots);
    for (std::size_t i = 0; i < slots; ++i) {
      EXPECT_NEAR(found[element * slots + i].real(), wanted[i].real(), 0.03);
      EXPECT_NEAR(found[(2 + element) * slots + i].real(), wanted[i].imag(), 0.03);
    }
  }
}

// Scores of which only a threshold matters: a message of a whole turn, and a sine of it.
TEST_F(CoefficientBootstrap, GivesTheSineItselfOfNumbersThatFillThePeriod) {
  BootstrapSettings settings = coarse_settings();
  settings.ratio_bits = 1.27;
  settings.last_bits = 31.27;
  settings.sine_degree = 7;
  settings.doublings = 4;
  settings.eval_mod_error = -13;
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
  const BootstrapLayout layout(parameters);
  EXPECT_FALSE(layout.sine.nested);
  EXPECT_EQ(layout.sine.degree, 7);
  const Bootstrap plan(parameters);
  EXPECT_LT(plan.failure_log2(), -130);
  const BootstrapSession session(parameters, plan);
  std::vector<double> numbers = random_numbers(parameters.degree());
  const rlwe::Ciphertext half = encrypted(session, numbers);
  const rlwe::Ciphertext out = session.prepared(session.evaluator, session.evaluator.add(half, half));
  for (double& number : numbers) number *= 2;  // nearly two periods
  const Values found = session.client.decrypt(out);
  const Values given = parts_of_values(in_slots(numbers, plan.slots()));
  const Values model = plan.simulate(in_slots(numbers, plan.slots()), 5);
  const double angle = 2 * std::numbers::pi / layout.ratio;
  const double slope = (1 + angle * angle / 8) / angle;
  Values wanted;
  for (const Complex& value : given) wanted.emplace_back(slope * std::sin(angle * value.real()));
  EXPECT_LT(ckks::largest_difference(found, wanted), 0.02);
  const Precision precision = precision_of(found, wanted), modelled = precision_of(model, wanted);
  EXPECT_NEAR(precision.mean_bits, modelled.mean_bits, 0.5);
  EXPECT_NEAR(precision.worst_bits, modelled.worst_bits, 1.5);
  // Beside the sine, of values up to 1: the lower of two kinds, none of which are these.
  EXPECT_TRUE(plan.gives_sine());
  EXPECT_FALSE(Bootstrap(parameters_for_bootstrapping(coarse_settings())).gives_sine());
  EXPECT_NEAR(precision.mean_bits, plan.expected_precision().mean_bits, 1);
  settings.nested_sine = true;
  settings.sine_degree = 15;
  settings.doublings = 3;
  EXPECT_THROW(parameters_for_bootstrapping(settings), ParameterError);
  // Slots first nested products come by themselves, where messages are near the integers.
  settings = small_settings();
  settings.ratio_bits = 3.1;
  EXPECT_TRUE(BootstrapLayout(parameters_for_bootstrapping(settings)).sine.nested);
  settings.ratio_bits = 2.9;
  const rlwe::Parameters slots_first = parameters_for_bootstrapping(settings);
  EXPECT_FALSE(BootstrapLayout(slots_first).sine.nested);
  EXPECT_THROW(Bootstrap(slots_first, {.iterations = 2}), ParameterError);
  const Bootstrap sines(slots_first, {.slots = 64});
  const BootstrapSession other(slots_first, sines);
  const auto prepared = std::make_shared<const PreparedBootstrap>(other.client.context, sines);
  EXPECT_THROW(AutomaticBootstraps(prepared, other.evaluator.keys()), ParameterError);
  // Values that are divided before it come back as multiples of their sine.
  const Values values = ckks::random_values(64, 3);
  const Values magnified = sines.simulate(values, 7, 2);
  const double turn = 2 * std::numbers::pi / sines.ratio();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double sine = 2 * (1 + turn * turn / 8) / turn * std::sin(turn * values[i].imag() / 2);
    EXPECT_NEAR(magnified[i].imag(), sine, 0.01);
  }
}

TEST_F(CoefficientBootstrap, RefusesWhatItHasNot) {
  BootstrapSettings settings = coefficient_settings();
  settings.slots_to_coefficients = {34};
  EXPECT_THROW(parameters_for_bootstrapping(settings), ParameterError);
  settings = small_settings();
  settings.slots_to_coefficients = {};
  EXPECT_THROW(parameters_for_bootstrapping(settings), ParameterError);
  settings = coefficient_settings();
  settings.exponential = true;
  EXPECT_THROW(parameters_for_bootstrapping(settings), ParameterError);
  const rlwe::Parameters parameters = parameters_for_bootstrapping(coarse_settings());
  EXPECT_EQ(BootstrapLayout(parameters).order, BootstrapOrder::from_coefficients);
  EXPECT_THROW(Bootstrap(parameters, {.real = true}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 64, .merges_parts = true}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.slots = 64, .together = 2}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.iterations = 2}), ParameterError);
  const Bootstrap plan(parameters, {.slots = 64});
  const BootstrapSession session(parameters, plan);
  const auto prepared = std::make_shared<const PreparedBootstrap>(session.client.context, plan);
  EXPECT_THROW(AutomaticBootstraps(prepared, session.evaluator.keys()), ParameterError);
}

TEST_F(CoefficientBootstrap, CoefficientsAreThoseOfTheSlots) {
  const ckks::Session client(
      ckks::parameters_for({.depth = 2, .slots = 512, .degree = 1024, .security = {}}));
  const std::vector<std::int64_t> integers = {5, -3, 0, 1 << 20};
  const double scale = 0x1p20;
  for (const std::size_t level : {0, 2}) {
    const rlwe::Plaintext plain = client.encoder->encode_coefficients(integers, 4, {}, level, scale);
    EXPECT_EQ(plain.meta.level, level);
    EXPECT_EQ(plain.meta.slots, 512);
    const Values slots = client.encoder->decode(plain);
    std::uint64_t power = 1;  // slot i is the polynomial at the root of unity to the 5^i
    for (const Complex& slot : slots) {
      Complex wanted = 0;
      for (std::size_t k = 0; k < integers.size(); ++k) {
        const double angle = std::numbers::pi * static_cast<double>(power * k % 2048) / 1024;
        wanted += static_cast<double>(integers[k]) / scale * std::polar(1.0, angle);
      }
      EXPECT_LT(std::abs(slot - wanted), 1e-9);
      power = power * 5 % 2048;
    }
  }
  const ckks::Encoder& encoder = *client.encoder;
  const double q = std::exp2(client.context->base(0).log2());
  const std::vector<std::int64_t> too_large = {static_cast<std::int64_t>(q / 2) + 1};
  EXPECT_THROW(encoder.encode_coefficients(too_large, 1, {}, 0, scale), ParameterError);
  EXPECT_NO_THROW(encoder.encode_coefficients(too_large, 1, {}, 1, scale));
  const std::vector<std::int64_t> least = {std::numeric_limits<std::int64_t>::min()};
  EXPECT_THROW(encoder.encode_coefficients(least, 1, {}, 2, scale), ParameterError);
  EXPECT_THROW(encoder.encode_coefficients(integers, 3, {}, 0, scale), ParameterError);
  EXPECT_THROW(encoder.encode_coefficients({}, 0, {}, 0, scale), ParameterError);
  const std::vector<std::int64_t> too_many(1025, 0);
  EXPECT_THROW(encoder.encode_coefficients(too_many, 1025, {}, 0, scale), ParameterError);
}

}  // namespace
}  // namespace hemera::circuits
