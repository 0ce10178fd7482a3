#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/circuits/counted_cost.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "schemes/bfv/noise.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/integer/rules.hpp"
#include "schemes/integer/search.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Scheme;
using Complex = std::complex<double>;

// Between the deviation of a pass's noise and the range of the next one: above the tail of 2^-128.
constexpr int room_bits = 4;
// The bound rests on a model of deviations, not on a worst case.
constexpr double model_bits = 1;
// The rounding of the whole number that takes a result to the noise, below the pass's own error.
constexpr double factor_bits = 1;
constexpr std::size_t most_passes = 16;
constexpr std::size_t most_products = 1000;
constexpr int least_failure_bits = 40, most_failure_bits = 128;

// The CKKS bootstrap of all coefficients, or of those at multiples of N/n, where n are the slots.
Bootstrap circuit_of(const rlwe::Parameters& parameters, bool slots_only) {
  rlwe::Parameters circuit = parameters.circuit();
  if (slots_only && !parameters.has_slots()) {
    throw ParameterError("a bootstrap of slots only, and the plaintext modulus " +
                         std::to_string(parameters.plain_modulus()) +
                         " has none; bootstrap coefficients, or take another one");
  }
  const std::size_t range = sine_range_of(parameters.literal().secret.terms);
  if (!slots_only || !parameters.has_fewer_slots()) return Bootstrap(circuit, {.sine_range = range});
  return Bootstrap(circuit, {.slots = parameters.max_slots() / 2, .merges_parts = true, .sine_range = range});
}

// The slots of random coefficients.
template <typename Distribution>
std::vector<Complex> slots_of(Distribution distribution, std::size_t slots) {
  std::mt19937_64 generator(1);  // of the model alone
  std::vector<Complex> values(slots);
  for (Complex& value : values) {
    value.real(distribution(generator));
    value.imag(distribution(generator));
  }
  const std::vector<std::size_t> stages(static_cast<std::size_t>(std::countr_zero(slots)), 1);
  for (const Diagonals& matrix : slots_to_coefficients_factors(slots, stages)) {
    std::vector<Complex> result(slots);
    for (const auto& [number, diagonal] : matrix) {
      for (std::size_t k = 0; k < slots; ++k) result[k] += diagonal[k] * values[(k + number) % slots];
    }
    values = std::move(result);
  }
  return values;
}

// -log2 of the deviation of a coefficient's error, over the largest noise.
double bits_of(const Bootstrap& circuit, const std::vector<Complex>& values) {
  const std::vector<Complex> found = circuit.simulate(values);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += std::norm(found[i] - values[i]);
  // White noise of N coefficients is that of N/2 slots, each N times as large in the square.
  const auto slots = static_cast<double>(values.size());
  const double bootstrap = sum / slots / (2 * slots);
  const rlwe::Parameters& parameters = circuit.parameters();
  // The division that brings the noise to q_0.
  const double scale = parameters.rescaling().scales.front().scale;
  const double division =
      division_variance(parameters.degree(), parameters.literal().secret, 1) / 2 / (scale * scale);
  return -0.5 * std::log2(bootstrap + division);
}

}  // namespace

IntegerBootstrap::IntegerBootstrap(const rlwe::Parameters& parameters, const IntegerBootstrapOptions& options)
    : parameters_(parameters),
      slots_only_(options.slots_only),
      circuit_(circuit_of(parameters, options.slots_only)),
      ratio_bits_(parameters.log_modulus(0) -
                  std::log2(circuit_.parameters().rescaling().scales.front().scale)),
      first_bits_(
          bits_of(circuit_, slots_of(std::uniform_real_distribution<double>(-1, 1), circuit_.slots()))),
      later_bits_(bits_of(
          circuit_, slots_of(std::normal_distribution<double>(0, std::exp2(-room_bits)), circuit_.slots()))),
      failure_bits_(options.failure_bits) {
  if (failure_bits_ < least_failure_bits || failure_bits_ > most_failure_bits) {
    throw ParameterError("a bootstrap whose noise bound fails with a probability of 2^" +
                         std::to_string(-failure_bits_) + "; from 2^-40 to 2^-128 are possible");
  }
  if (factor_log2(0) < first_bits_ + factor_bits) {
    throw ParameterError(
        "a bootstrap of the plaintext modulus " + std::to_string(parameters_.plain_modulus()) +
        ": the user's " + std::to_string(parameters_.log_modulus(result_level())) +
        " bits do not hold it with the result's precision; use a smaller one, or more levels");
  }
  const auto is_enough = [&] { return options.passes != 0 ? passes() == options.passes : holds(options); };
  while (!is_enough()) {
    const int next = shifts_.back() + static_cast<int>(precision_bits()) - room_bits;
    const bool is_accurate = factor_log2(next) >= later_bits_ - room_bits + factor_bits;
    if (!is_accurate || next <= shifts_.back() || passes() == most_passes) {
      char text[256];
      std::snprintf(
          text, sizeof(text),
          "a bootstrap of %s: the user's %.0f bits hold %zu passes at most, which leave %.1f bits of "
          "budget; ask for less, or use a smaller plaintext modulus or more levels",
          rlwe::name(parameters_.scheme()).c_str(), parameters_.log_modulus(result_level()), passes(),
          budget_left());
      throw ParameterError(text);
    }
    shifts_.push_back(next);
  }
}

bool IntegerBootstrap::holds(const IntegerBootstrapOptions& options) const {
  if (options.budget > 0) return budget_left() >= options.budget;
  const Noise product = squared({result_level(), result_noise_log2()});
  return budget_of(product.log2, product.level) >= kept_budget();
}

double IntegerBootstrap::factor_log2(int shift) const {
  // Without t, which BGV's factor has in addition.
  return parameters_.log_modulus(result_level()) - std::log2(parameters_.plain_modulus()) - ratio_bits_ -
         shift - std::log2(circuit_.ends().result_scale);
}

double IntegerBootstrap::budget_of(double noise_log2, std::size_t level) const {
  return integer::rules_of(parameters_.scheme())
      .budget(parameters_.log_modulus(level), noise_log2, parameters_.plain_modulus());
}

double IntegerBootstrap::result_noise_log2() const {
  const double deviation = -(ratio_bits_ + precision_bits() + shifts_.back());
  // t over Q of BFV's noise; BGV's noise over Q.
  const double whole = parameters_.log_modulus(result_level()) -
                       (parameters_.scheme() == Scheme::bfv ? std::log2(parameters_.plain_modulus()) : 0);
  const double noise =
      whole + deviation + std::log2(rlwe::tail_factor(parameters_.degree(), -failure_bits_)) + model_bits;
  if (repetitions() == 1) return noise;
  // The noise of the trace.
  const std::uint64_t t = parameters_.scheme() == Scheme::bfv ? 0 : parameters_.plain_modulus();
  const std::size_t primes = parameters_.literal().levels[result_level()].size();
  return rlwe::add_log2(noise, integer::expected_switching_noise_log2(parameters_.degree(), primes, t,
                                                                      parameters_.literal().secret) +
                                   std::log2(static_cast<double>(repetitions())));
}

double IntegerBootstrap::budget_left() const { return budget_of(result_noise_log2(), result_level()); }

IntegerBootstrap::Noise IntegerBootstrap::squared(const Noise& operand) const {
  const std::size_t degree = parameters_.degree();
  const std::uint64_t t = parameters_.plain_modulus();
  const rlwe::SecretDistribution& secret = parameters_.literal().secret;
  const auto primes = [&](std::size_t level) { return parameters_.literal().levels[level].size(); };
  if (parameters_.scheme() == Scheme::bfv) {
    const bfv::ProductSetting setting{.degree = degree,
                                      .plain_modulus = t,
                                      .secret = secret,
                                      .log_modulus = parameters_.log_modulus(operand.level),
                                      .rounding_error = static_cast<double>(primes(operand.level)) / 2,
                                      .operand_rounding_log2 = 2};
    const double product = bfv::product_noise_log2(setting, operand.log2, operand.log2);
    return {operand.level, rlwe::add_log2(product, integer::expected_switching_noise_log2(
                                                       degree, primes(operand.level), 0, secret))};
  }
  std::vector<double> log_moduli;
  for (std::size_t level = 0; level <= result_level(); ++level) {
    log_moduli.push_back(parameters_.log_modulus(level));
  }
  const bgv::LevelSetting setting{
      .degree = degree,
      .log_moduli = log_moduli,
      .rounding_log2 = rlwe::rounding_noise_log2(degree, secret, 2,
                                                 integer::rules_of(Scheme::bgv).switching_half_range(t)),
      .switching_log2 = [&](std::size_t level) {
        return integer::expected_switching_noise_log2(degree, primes(level), t, secret);
      }};
  const bgv::Operand given{operand.level, operand.log2};
  const std::size_t level = bgv::multiplication_level(setting, given, given);
  const double chosen = 0.5 * std::log2(degree) + std::log2(t) - 2;
  const double noise = std::max(chosen, bgv::noise_at_level(setting, given, level));
  return {level,
          rlwe::add_log2(bgv::product_noise_log2(degree, noise, noise), setting.switching_log2(level))};
}

std::size_t IntegerBootstrap::products() const {
  Noise noise{result_level(), result_noise_log2()};
  for (std::size_t count = 0; count < most_products; ++count) {
    noise = squared(noise);
    if (budget_of(noise.log2, noise.level) < needed_budget()) return count;
  }
  return most_products;
}

double IntegerBootstrap::failure_log2() const {
  // A pass's noise is beyond the range of the next one with a probability far below either.
  return rlwe::add_log2(std::log2(static_cast<double>(passes())) + circuit_.failure_log2(),
                        -static_cast<double>(failure_bits_));
}

std::vector<KeyNeed> IntegerBootstrap::trace_keys() const {
  const rlwe::Parameters& circuit = circuit_.parameters();
  std::vector<KeyNeed> needs;
  for (std::size_t step = circuit_.slots(); step < circuit.max_slots(); step *= 2) {
    needs.push_back({rlwe::KeyRole::galois(circuit.galois_element(static_cast<std::int64_t>(step))),
                     circuit.default_gadget(result_level())});
  }
  return needs;
}

std::vector<KeyNeed> IntegerBootstrap::needed_keys() const {
  std::vector<KeyNeed> needs = circuit_.needed_keys();
  for (KeyNeed& need : trace_keys()) needs.push_back(std::move(need));
  for (KeyNeed& need : needs) need.role = rlwe::circuit_role(need.role);
  return needs;
}

const Cost& IntegerBootstrap::cost() const {
  std::call_once(counted_->once, [&] { count(counted_->cost); });
  return counted_->cost;
}

void IntegerBootstrap::count(Cost& cost) const {
  const auto context = rlwe::Context::make(parameters_, runtime::Device::parse("ledger"), {.threads = 1});
  const PreparedIntegerBootstrap prepared(context, *this);
  rlwe::EvaluationKeys asking;
  asking.context = context;
  asking.asked = std::make_shared<rlwe::AskedKeys>(context);
  std::unique_ptr<integer::Evaluator> evaluator;
  if (parameters_.scheme() == Scheme::bfv) {
    evaluator = std::make_unique<bfv::Evaluator>(context, asking);
  } else {
    evaluator = std::make_unique<bgv::Evaluator>(context, asking);
  }
  const rlwe::Ciphertext fresh =
      rlwe::make_ciphertext(context, {.level = result_level(), .noise_log2 = result_noise_log2()}, 2);
  const auto run = [&] { return prepared(*evaluator, fresh); };
  run();  // makes the constants that stay
  context->ledger()->clear();
  const std::size_t before = context->memory_used();
  context->memory()->reset_peak();
  run();
  cost = counted_cost(*context, context->ledger()->entries());
  cost.workspace_bytes = context->memory()->peak() - before;
  cost.key_bytes = circuit_.cost().key_bytes + key_bytes(parameters_.degree(), trace_keys());
  cost.plaintext_bytes = circuit_.cost().plaintext_bytes;
}

std::size_t IntegerBootstrap::memory_bytes(std::size_t batch) const {
  return circuit_.memory_bytes(batch) + key_bytes(parameters_.degree(), trace_keys()) +
         batch * 2 * parameters_.ciphertext_bytes();
}

void IntegerBootstrap::require_parameters(const rlwe::Context& context, const char* operation) const {
  circuits::require_parameters(context, parameters_, operation);
}

void IntegerBootstrap::require_memory(const rlwe::Context& context, std::size_t batch) const {
  require_parameters(context, "memory of a plan");
  circuit_.require_memory(*context.circuit(), batch);
}

rlwe::EvaluationKeys IntegerBootstrap::generate_keys(const rlwe::SecretKey& secret) const {
  require_parameters(*secret.context, "keys of a plan");
  return rlwe::generate_needed_keys(secret, needed_keys());
}

}  // namespace hemera::circuits
