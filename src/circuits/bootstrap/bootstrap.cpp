#include "hemera/circuits/bootstrap/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_engine.hpp"
#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/bootstrap_matrices.hpp"
#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/precision_model.hpp"
#include "circuits/bootstrap/roots_of_unity.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using rlwe::KeyRole;

// Bits by which a magnified difference stays below 1, if the model is right.
constexpr int factor_margin = 2;

// The most that a matrix of SlotToCoeff divides by: its entries lose as many bits.
constexpr double most_divided_by_a_matrix = 0x1p5;

// Real parts, then imaginary ones.
std::vector<std::complex<double>> parts_of(const std::vector<std::complex<double>>& values) {
  std::vector<std::complex<double>> parts;
  for (const std::complex<double>& value : values) parts.emplace_back(value.real());
  for (const std::complex<double>& value : values) parts.emplace_back(value.imag());
  return parts;
}

// The sine that EvalMod is, of values that are divided before it and multiplied after it.
std::vector<std::complex<double>> sines_of(std::vector<std::complex<double>> values, double ratio,
                                           double divisor) {
  const double angle = 2 * std::numbers::pi / ratio, gain = sine_slope(ratio) / angle;
  const auto sine = [&](double x) { return divisor * gain * std::sin(angle * x / divisor); };
  for (std::complex<double>& value : values) value = {sine(value.real()), sine(value.imag())};
  return values;
}

}  // namespace

Precision precision_of(std::span<const std::complex<double>> found,
                       std::span<const std::complex<double>> expected) {
  if (found.empty() || found.size() != expected.size()) {
    throw ParameterError("a precision of " + std::to_string(found.size()) + " values beside " +
                         std::to_string(expected.size()) + "; give as many of both, and at least one");
  }
  std::vector<std::complex<double>> errors;
  // Equal doubles have an error below a double's precision.
  for (std::size_t i = 0; i < found.size(); ++i) errors.push_back(found[i] - expected[i]);
  return precision_of_errors(errors, 0x1p-60);
}

Precision precision_of_errors(std::span<const std::complex<double>> errors, double least) {
  double sum = 0, largest = 0;
  for (const std::complex<double>& each : errors) {
    const double error = std::max(std::abs(each), least);
    sum -= std::log2(error);
    // Unlike std::max this keeps a NaN, in which no bit is right.
    if (!std::isnan(largest) && !(error <= largest)) largest = error;
  }
  return {.mean_bits = sum / static_cast<double>(errors.size()), .worst_bits = -std::log2(largest)};
}

Bootstrap::Bootstrap(const rlwe::Parameters& parameters, const BootstrapOptions& options)
    : Plan(parameters),
      slots_(options.slots == 0 ? parameters.max_slots() : options.slots),
      together_(options.together),
      upload_limit_(options.upload_limit),
      ephemeral_weight_(options.ephemeral_weight),
      real_(options.real),
      merges_parts_(options.merges_parts),
      joins_parts_(options.joins_parts) {
  BootstrapLayout layout(parameters);
  layout.sine.range = options.sine_range;
  layout.sine.terms = parameters.literal().secret.terms;
  layout.sine.weight = ephemeral_weight_ * layout.sine.terms;
  blocks_ = layout.blocks;
  exponential_ = layout.sine.exponential;
  if (blocks_ != 0) check_roots(options);
  if (blocks_ != 0 && !real_) merges_parts_ = true;
  if (options.sine_degree != 0 && blocks_ == 0) {
    if (series_log_size(options.sine_degree) != series_log_size(layout.sine.degree)) {
      throw ParameterError("a bootstrap by a series of degree " + std::to_string(options.sine_degree) +
                           "; these parameters' levels take one of degree " +
                           std::to_string(layout.sine.degree) + " at most, and not of half of it");
    }
    layout.sine.degree = options.sine_degree;
  }
  if (!std::has_single_bit(slots_) || slots_ < 2 || slots_ > parameters.max_slots()) {
    throw ParameterError("a bootstrap of " + std::to_string(slots_) +
                         " slots; their number must be a power of two from 2 to " +
                         std::to_string(parameters.max_slots()));
  }
  order_ = layout.order;
  // There EvalMod takes coefficients two by two, as complex slots; of real values they are no more real.
  if (real_ && order_ == BootstrapOrder::standard) {
    throw ParameterError(
        "a bootstrap of real slots in the standard order, where EvalMod needs both parts; use parameters of "
        "the other order, slots-first, or leave real out");
  }
  if (from_coefficients() && (real_ || merges_parts_ || together_ != 1 || options.iterations != 1)) {
    throw ParameterError(
        "a bootstrap from coefficients takes all of one ciphertext at a time, once; leave real, "
        "merges_parts, "
        "together and iterations out");
  }
  if (merges_parts_ && (real_ || 2 * slots_ > parameters.max_slots())) {
    throw ParameterError("a bootstrap merges the parts of complex slots, up to " +
                         std::to_string(parameters.max_slots() / 2) +
                         "; leave merges_parts out, or use fewer slots");
  }
  if (!joins_parts_ && (!merges_parts_ || order_ == BootstrapOrder::standard || options.iterations != 1)) {
    throw ParameterError(
        "a bootstrap leaves parts side by side that it merges, with slots first and in one iteration; leave "
        "joins_parts out, or set merges_parts");
  }
  ratio_ = layout.ratio;
  if (exponential_ && (merges_parts_ || options.iterations != 1)) {
    throw ParameterError(
        "a bootstrap to exponentials has one iteration, and parts that are ciphertexts of their own; leave "
        "iterations and merges_parts out");
  }
  if (gives_sine() && options.iterations != 1) {
    throw ParameterError(
        "a bootstrap to the sine itself has nothing to refine; leave iterations out, or use a ratio_bits of "
        "3 "
        "or more");
  }
  check_together();
  input_level_ = layout.input_level;
  fresh_level_ = layout.result_level;
  top_level_ = layout.top_level;
  if (blocks_ != 0) {
    roots_ =
        std::make_shared<const RootsStage>(roots_stage(parameters, layout, slots_, merges_parts_ ? 2 : 1));
  } else {
    sine_range_ = layout.sine.range;
    sine_degree_ = layout.sine.degree;
    doublings_ = layout.sine.doublings;
    const bool sums_parts = !real_ && !merges_parts_ && !gives_parts();
    eval_mod_ = std::make_shared<const EvalMod>(parameters, layout, sums_parts);
  }
  const std::size_t raised = raised_slots();
  BootstrapMatrices matrices = bootstrap_matrices(
      parameters, layout, {.slots = slots_, .raised_slots = raised, .merges_parts = merges_parts_});
  to_coefficients_ = std::move(matrices.to_coefficients);
  to_slots_ = std::move(matrices.to_slots);
  if (joins_parts_) join_ = std::move(matrices.join);
  fresh_level_ -= join_.size();
  model_ = std::make_shared<const PrecisionModel>(
      parameters, layout, eval_mod_.get(),
      PrecisionModel::Slots{slots_, raised, together_, real_, merges_parts_});
  // Two doublings a step: a third rotation costs less than a second ModUp.
  for (std::size_t step = raised; step < parameters.max_slots();) {
    const bool is_last = 2 * step == parameters.max_slots();
    trace_.push_back(is_last ? std::vector{step} : std::vector{step, 2 * step, 3 * step});
    step *= is_last ? 2 : 4;
  }
  top_gadget_ = spread_rotation_gadget(parameters, top_level_);
  last_modulus_ = last_modulus(parameters);
  to_ephemeral_ = to_ephemeral_gadget(parameters);
  from_ephemeral_ = from_ephemeral_gadget(parameters, top_level_);
  // EvalMod takes a coefficient for each part of a slot.
  if (blocks_ != 0) {
    failure_log2_ = -std::numeric_limits<double>::infinity();
  } else {
    failure_log2_ = circuits::failure_log2(sine_range_, layout.sine.weight, (real_ ? 1 : 2) * raised,
                                           layout.sine.terms, parameters.degree()) +
                    std::log2(static_cast<double>(options.iterations));
  }
  plan_iterations(options.iterations);
  const rlwe::ScalePolicy scales(parameters);
  ends_ = {.level = input_level_,
           .scale = scales.level_scale(input_level_),
           .result_level = fresh_level_ - factors_log2_.size(),
           .result_scale = scales.level_scale(fresh_level_ - factors_log2_.size())};
  rounding_ = division_error(parameters, slots_);
  if (options.upload_limit != 0) {
    fit_upload(options.upload_limit, options.key_memory_limit);
  } else if (options.key_memory_limit != 0) {
    fit_keys(options.key_memory_limit);
  }
}

bool Bootstrap::gives_sine() const {
  return ratio_ < least_near_ratio && blocks_ == 0 && !exponential_ && order_ != BootstrapOrder::standard;
}

std::size_t Bootstrap::raised_slots() const { return slots_ * std::bit_ceil(together_); }

void Bootstrap::check_together() const {
  const std::size_t room = parameters().max_slots() / (merges_parts_ ? 2 : 1) / slots_;
  if (together_ == 0 || together_ > room) {
    throw ParameterError("a bootstrap of " + std::to_string(together_) + " ciphertexts of " +
                         std::to_string(slots_) + " slots at once; from 1 to " + std::to_string(room) +
                         " have room" + (merges_parts_ ? " beside merged parts" : ""));
  }
  if (together_ > 1 && (order_ == BootstrapOrder::standard || exponential_ || !joins_parts_)) {
    throw ParameterError(
        "a bootstrap of several ciphertexts at once takes slots first, to the same complex or real slots; "
        "leave together out, or the standard order, exponentials and joins_parts");
  }
}

void Bootstrap::check_roots(const BootstrapOptions& options) const {
  if (together_ > 1 || options.sine_degree != 0) {
    throw ParameterError(
        "a bootstrap by roots of unity has no sine's degree, and takes one ciphertext at once; leave "
        "together and sine_degree out, or use parameters without blocks");
  }
  if (exponential_ && !real_) {
    throw ParameterError("a bootstrap by roots of unity has exponentials of real slots alone; set real");
  }
}

void Bootstrap::plan_iterations(std::size_t iterations) {
  const std::size_t most = fresh_level_ - input_level_;  // one level must be left
  if (iterations == 0 || iterations > most) {
    throw ParameterError("a bootstrap of " + std::to_string(iterations) + " iterations; from 1 to " +
                         std::to_string(most) + " are possible, for each beyond the first takes one of the " +
                         std::to_string(most) + " levels");
  }
  const auto uniform = [&] { return model_run(uniform_values(0), 1, 0).precision; };
  while (this->iterations() < iterations) {
    const double before = uniform().worst_bits;
    const int bits = static_cast<int>(before) - factor_margin;
    factors_log2_.push_back(std::max(bits, 0));
    if (uniform().worst_bits < before + 1) {
      const std::string useful = std::to_string(factors_log2_.size());
      throw ParameterError("a bootstrap of " + std::to_string(iterations) +
                           " iterations has no more than the " + std::to_string(before) + " bits that " +
                           useful + " have, as results of this scale hold no more; use " + useful +
                           ", or a larger scale");
    }
  }
}

std::vector<Plan::Input> Bootstrap::inputs() const {
  if (together_ == 1) return {{.slots = slots_}};
  return {{.slots = slots_, .batch = {together_}}};
}

Plan::Evaluation Bootstrap::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedBootstrap>(context, *this)](const ckks::Evaluator& evaluator,
                                                                          auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

std::optional<rlwe::GadgetPrimes> Bootstrap::gadget_of(const rlwe::KeyRole& /*role*/,
                                                       std::size_t level) const {
  return spread_rotation_gadget(parameters(), level);
}

double Bootstrap::divisor_for(double magnitude) {
  if (!(magnitude > 0 && std::isfinite(magnitude))) {
    throw ParameterError("a bootstrap of values of a magnitude of up to " + std::to_string(magnitude) +
                         "; it must be finite and positive");
  }
  return std::max(1.0, std::ceil(magnitude));
}

double Bootstrap::matrix_divisor(double divisor) const {
  const auto matrices = static_cast<double>(to_coefficients_.size());
  const double most = std::pow(most_divided_by_a_matrix, matrices);
  if (divisor > most) {
    char text[256];
    std::snprintf(
        text, sizeof(text),
        "a bootstrap of values of a magnitude of up to %.6g; its %zu matrices divide by up to %.6g: "
        "give a smaller magnitude, or declare the values' bound in ciphertexts, which are then "
        "bootstrapped a level earlier",
        divisor, to_coefficients_.size(), most);
    throw RangeError(text);
  }
  return std::pow(divisor, 1 / matrices);
}

std::vector<int> Bootstrap::factors_log2_of(double divisor) const {
  // An error that is larger in relation to the values is magnified by less.
  const int lost = static_cast<int>(std::ceil(std::log2(matrix_divisor(divisor))));
  std::vector<int> factors;
  for (std::size_t i = 0; i < factors_log2_.size(); ++i) {
    factors.push_back(std::max(factors_log2_[i] - static_cast<int>(i + 1) * lost, 0));
  }
  return factors;
}

std::vector<std::complex<double>> Bootstrap::simulate(std::span<const std::complex<double>> values,
                                                      std::uint64_t seed, double magnitude) const {
  std::vector<std::complex<double>> result = simulated_errors(values, seed, magnitude);
  std::vector<std::complex<double>> wanted(values.begin(), values.end());
  if (gives_sine()) wanted = sines_of(std::move(wanted), ratio_, divisor_for(magnitude));
  wanted = exact(std::move(wanted));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += wanted[i];
  return result;
}

std::vector<std::complex<double>> Bootstrap::simulated_errors(std::span<const std::complex<double>> values,
                                                              std::uint64_t seed, double magnitude) const {
  const double divisor = divisor_for(magnitude);
  // In the standard order the values are divided on their way down, all iterations.
  const double before = order_ == BootstrapOrder::slots_first ? 1 : divisor, inside = divisor / before;
  std::vector<std::complex<double>> given(values.begin(), values.end());
  for (std::complex<double>& value : given) value /= before;
  const std::vector<int> factors_log2 = factors_log2_of(inside);
  std::vector<std::complex<double>> errors = (*model_)(given, inside, seed);
  std::vector<std::complex<double>> wanted = exponential_ ? exact(given) : given;
  if (gives_sine()) wanted = sines_of(std::move(wanted), ratio_, inside);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] -= wanted[i];
  std::size_t level = fresh_level_;
  if (real_ && iterations() > 1) {
    for (std::complex<double>& error : errors) error.imag(0);
  }
  for (const int factor_log2 : factors_log2) {
    --level;
    errors = model_->refined(errors, factor_log2, level, inside, seed + level);
  }
  for (std::complex<double>& error : errors) error *= before;
  return joins_parts_ && !from_coefficients() ? errors : parts_of(errors);
}

BootstrapStages Bootstrap::stages() const {
  if (blocks_ != 0) {
    return {.order = order_,
            .raise = {},
            .to_slots = {},
            .to_coefficients = to_coefficients_,
            .roots = *roots_,
            .join = join_};
  }
  const std::uint32_t ephemeral = rlwe::ephemeral_secret_of(ephemeral_weight_);
  return {.order = order_,
          .raise = {.level = top_level_,
                    .to_ephemeral = KeyNeed{{.to = ephemeral}, to_ephemeral_},
                    .from_ephemeral = KeyNeed{{.from = ephemeral}, from_ephemeral_},
                    .trace = trace_,
                    .gadget = top_gadget_,
                    .scale = last_modulus_},  // slots are those of m / q_0 + I
          .to_slots = to_slots_,
          .to_coefficients = to_coefficients_,
          .function = eval_mod_->plan(),
          .takes_apart = !real_ && !merges_parts_,
          .turns_parts = exponential_,
          .shift = eval_mod_->shift(),
          .function_scale = eval_mod_->end_scale(),
          .join = join_,
          .together = together_,
          .interleaving = {.slots = slots_,
                           .raised_slots = raised_slots(),
                           .low_level = input_level_,
                           .high_level = fresh_level_ + join_.size()}};
}

}  // namespace hemera::circuits
