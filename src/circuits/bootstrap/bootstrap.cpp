#include "hemera/circuits/bootstrap/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/imaginary_unit.hpp"
#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/bootstrap/precision_model.hpp"
#include "circuits/bootstrap/refinement.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/descent.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using rlwe::KeyRole;
using Complex = std::complex<double>;

// Bits by which a magnified difference stays below 1, if the model is right.
constexpr int factor_margin = 2;

// Up to here values of a declared bound are bootstrapped as they are where no level is left to make them
// smaller: errors are 8 times those of 1.
constexpr double largest_as_it_is = 2;
// Factors that are tried for one whose quotient with the moduli is nearly a whole number, and bits that such
// a number has at least.
constexpr int most_factors = 1024;
constexpr double least_quotient = 0x1p10;

constexpr KeyRole to_ephemeral_role{.to = rlwe::ephemeral_secret};
constexpr KeyRole from_ephemeral_role{.from = rlwe::ephemeral_secret};

// A row of transforms, one level each from `level` down.
std::vector<LinearTransform> transforms(const rlwe::Parameters& parameters, std::vector<Diagonals> matrices,
                                        std::size_t level) {
  std::vector<LinearTransform> result;
  for (Diagonals& matrix : matrices) {
    const std::size_t slots = matrix.begin()->second.size();
    result.emplace_back(parameters, std::move(matrix), slots,
                        LinearTransformOptions{
                            .level = level,
                            .gadget = rotation_gadget(parameters, level, most_special_primes),
                        });
    --level;
  }
  return result;
}

// From a matrix with result u to one over twice the slots, with (u, -i u): with its conjugate that is twice
// the real and the imaginary parts, side by side.
void widen(Diagonals& matrix) {
  for (auto& [number, diagonal] : matrix) {
    const std::size_t slots = diagonal.size();
    for (std::size_t i = 0; i < slots; ++i) diagonal.push_back(Complex(0, -1) * diagonal[i]);
  }
}

// From (a, b) to a + i b, twice.
Diagonals joining(std::size_t slots) {
  Diagonals result;
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<Complex>& diagonal = result[half * slots];
    diagonal.assign(2 * slots, half == 0 ? 1 : Complex(0, 1));
    std::fill(diagonal.begin() + static_cast<std::ptrdiff_t>(slots), diagonal.end(),
              half == 0 ? Complex(0, 1) : 1);
  }
  return result;
}

// From a matrix to the same over twice the slots, whose values stand there twice.
Diagonals twice(Diagonals matrix) {
  for (auto& [number, diagonal] : matrix) {
    const std::vector<Complex> once = diagonal;
    diagonal.insert(diagonal.end(), once.begin(), once.end());
  }
  return matrix;
}

}  // namespace

Precision precision_of(std::span<const std::complex<double>> found,
                       std::span<const std::complex<double>> expected) {
  if (found.empty() || found.size() != expected.size()) {
    throw ParameterError("a precision of " + std::to_string(found.size()) + " values beside " +
                         std::to_string(expected.size()) + "; give as many of both, and at least one");
  }
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Equal doubles have an error below what a double tells.
    const double error = std::max(std::abs(found[i] - expected[i]), 0x1p-60);
    sum -= std::log2(error);
    // Unlike std::max this keeps a NaN, in which no bit is right.
    if (!std::isnan(largest) && !(error <= largest)) largest = error;
  }
  return {.mean_bits = sum / static_cast<double>(found.size()), .worst_bits = -std::log2(largest)};
}

Bootstrap::Bootstrap(const rlwe::Parameters& parameters, const BootstrapOptions& options)
    : Plan(parameters),
      slots_(options.slots == 0 ? parameters.max_slots() : options.slots),
      real_(options.real),
      merges_parts_(options.merges_parts) {
  const BootstrapLayout layout(parameters);
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
  if (merges_parts_ && (real_ || 2 * slots_ > parameters.max_slots())) {
    throw ParameterError("a bootstrap merges the parts of complex slots, up to " +
                         std::to_string(parameters.max_slots() / 2) +
                         "; leave merges_parts out, or use fewer slots");
  }
  input_level_ = layout.input_level;
  fresh_level_ = layout.result_level;
  top_level_ = layout.top_level;
  eval_mod_level_ = layout.eval_mod_level;

  const auto log_slots = static_cast<std::size_t>(std::countr_zero(slots_));
  auto short_first = split_stages(log_slots, layout.slots_to_coefficients);
  std::reverse(short_first.begin(), short_first.end());
  auto matrices =
      coefficients_to_slots_factors(slots_, split_stages(log_slots, layout.coefficients_to_slots));
  // Down to v = t / range, half of it, for real and imaginary part are each a sum of two; the trace has
  // multiplied by the number of repetitions.
  const double factor = static_cast<double>(slots_) / static_cast<double>(parameters.max_slots()) /
                        (2 * static_cast<double>(eval_mod_range));
  for (Diagonals& matrix : matrices) {
    scale_inplace(matrix, std::pow(factor, 1 / static_cast<double>(matrices.size())));
  }
  auto to_coefficients = slots_to_coefficients_factors(slots_, short_first);
  const bool is_slots_first = order_ == BootstrapOrder::slots_first;
  if (merges_parts_) {
    widen(matrices.back());
    // What comes after EvalMod in the standard order joins them beside its own work.
    if (!is_slots_first) {
      to_coefficients.front() = product(twice(to_coefficients.front()), joining(slots_), 2 * slots_);
    }
  }
  to_coefficients_ = transforms(parameters, std::move(to_coefficients), layout.slots_to_coefficients_level);
  to_slots_ = transforms(parameters, std::move(matrices), top_level_);
  eval_mod_ = std::make_shared<const EvalMod>(parameters, layout);
  if (merges_parts_ && is_slots_first) {
    join_ = transforms(parameters, {joining(slots_)}, eval_mod_->end_level());
    --fresh_level_;
  }
  model_ = std::make_shared<const PrecisionModel>(parameters, layout, eval_mod_->series(),
                                                  PrecisionModel::Slots{slots_, real_, merges_parts_});
  // Two doublings a step: a third rotation costs less than a second ModUp.
  for (std::size_t step = slots_; step < parameters.max_slots();) {
    const bool is_last = 2 * step == parameters.max_slots();
    trace_.push_back(is_last ? std::vector{step} : std::vector{step, 2 * step, 3 * step});
    step *= is_last ? 2 : 4;
  }
  top_gadget_ = rotation_gadget(parameters, top_level_, most_special_primes);
  to_ephemeral_ = to_ephemeral_gadget(parameters);
  from_ephemeral_ = from_ephemeral_gadget(parameters, top_level_);
  // EvalMod takes a coefficient for each part of a slot.
  failure_log2_ = circuits::failure_log2(eval_mod_range, ephemeral_weight, (real_ ? 1 : 2) * slots_) +
                  std::log2(static_cast<double>(options.iterations));
  plan_iterations(options.iterations);
  tell_needs(parameters);
  if (options.key_memory_limit != 0) fit_keys(parameters, options.key_memory_limit);
}

void Bootstrap::plan_iterations(std::size_t iterations) {
  const std::size_t most = fresh_level_ - input_level_;  // one level must be left
  if (iterations == 0 || iterations > most) {
    throw ParameterError("a bootstrap of " + std::to_string(iterations) + " iterations; from 1 to " +
                         std::to_string(most) + " are possible, for each beyond the first takes one of the " +
                         std::to_string(most) + " levels");
  }
  while (this->iterations() < iterations) {
    const double before = expected_precision().worst_bits;
    const int bits = static_cast<int>(before) - factor_margin;
    factors_log2_.push_back(std::max(bits, 0));
    if (expected_precision().worst_bits < before + 1) {
      const std::string useful = std::to_string(factors_log2_.size());
      throw ParameterError("a bootstrap of " + std::to_string(iterations) +
                           " iterations has no more than the " + std::to_string(before) + " bits that " +
                           useful + " have, as results of this scale hold no more; use " + useful +
                           ", or a larger scale");
    }
  }
}

std::vector<KeyNeed> Bootstrap::trace_needs(const rlwe::Parameters& parameters) const {
  std::vector<KeyNeed> needs;
  for (const auto& step : trace_) {
    for (const std::size_t rotation : step) {
      needs.push_back(
          {KeyRole::galois(parameters.galois_element(static_cast<std::int64_t>(rotation))), top_gadget_});
    }
  }
  return needs;
}

void Bootstrap::tell_needs(const rlwe::Parameters& parameters) {
  const auto add = [&](KeyNeed need) { add_need(std::move(need)); };
  needed_keys_.clear();
  for (const auto* row : {&to_coefficients_, &to_slots_, &join_}) {
    for (const LinearTransform& transform : *row) {
      for (const KeyNeed& need : transform.needed_keys()) add(need);
    }
  }
  for (KeyNeed& need : trace_needs(parameters)) add(std::move(need));
  add({KeyRole::galois(parameters.conjugation_element()),
       rotation_gadget(parameters, eval_mod_level_, most_special_primes)});
  for (const std::size_t level : eval_mod_->product_levels()) {
    add({KeyRole::relinearization(), product_gadget(parameters, level, most_special_primes)});
  }
  if (iterations() > 1 && real_) {
    for (const std::size_t level : {input_level_, fresh_level_}) {
      add({KeyRole::galois(parameters.conjugation_element()),
           rotation_gadget(parameters, level, most_special_primes)});
    }
  }
  add({to_ephemeral_role, to_ephemeral_});
  add({from_ephemeral_role, from_ephemeral_});
  tell_cost(parameters);
}

std::vector<std::complex<double>> Bootstrap::simulate(std::span<const std::complex<double>> values,
                                                      std::uint64_t seed) const {
  std::vector<std::complex<double>> result = (*model_)(values, seed);
  std::size_t level = fresh_level_;
  if (real_ && iterations() > 1) {
    for (std::complex<double>& value : result) value.imag(0);
  }
  for (const int factor_log2 : factors_log2_) {
    --level;
    result = model_->refined(values, result, factor_log2, level, seed + level);
  }
  return result;
}

std::vector<std::complex<double>> Bootstrap::uniform_values() const {
  std::mt19937_64 generator(1);  // of the model alone
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::complex<double>> values(slots_);
  for (std::complex<double>& value : values) {
    value.real(uniform(generator));
    if (!real_) value.imag(uniform(generator));
  }
  return values;
}

Precision Bootstrap::expected_precision() const {
  const std::vector<std::complex<double>> values = uniform_values();
  return precision_of(simulate(values), values);
}

PreparedBootstrap::PreparedBootstrap(std::shared_ptr<const rlwe::Context> context, const Bootstrap& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_parameters(*context_, "bootstrap");
  require_room(*context_, plan_.cost().plaintext_bytes + plan_.cost().workspace_bytes, "bootstrap");
  for (const LinearTransform& transform : plan_.to_coefficients_)
    to_coefficients_.emplace_back(context_, transform);
  for (const LinearTransform& transform : plan_.to_slots_) to_slots_.emplace_back(context_, transform);
  for (const int factor_log2 : plan_.factors_log2_) {
    refinements_.push_back(std::make_shared<const Refinement>(
        plan_.input_level_, plan_.fresh_level_ - refinements_.size(), plan_.fresh_level_, factor_log2));
  }
  for (const LinearTransform& transform : plan_.join_) join_.emplace_back(context_, transform);
  if (plan_.real_ || plan_.merges_parts_) return;
  i_before_ = imaginary_unit(context_, plan_.eval_mod_level_);
  i_joined_ = imaginary_unit(context_, plan_.eval_mod_->join_level());
}

// Whatever may be wrong is found before the first step.
void PreparedBootstrap::check(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  rlwe::require_filled(in, "bootstrap");
  rlwe::require_same_context(*context_, *in.context, "bootstrap");
  rlwe::require_same_context(*context_, *evaluator.context(), "bootstrap");
  if (in.meta.slots != plan_.slots_) {
    throw MismatchError("bootstrap: a plan for " + std::to_string(plan_.slots_) +
                        " slots and a ciphertext of " + std::to_string(in.meta.slots) +
                        "; make the plan for as many");
  }
  if (in.meta.level < plan_.input_level_) {
    throw LevelError("bootstrap: the ciphertext is at level " + std::to_string(in.meta.level) +
                     ", below the user's lowest, " + std::to_string(plan_.input_level_));
  }
  // From higher levels a rescale leads to the scale.
  const rlwe::ScalePolicy& scales = context_->scales();
  if (in.meta.level == plan_.input_level_ &&
      !scales.close(in.meta.scale, scales.level_scale(plan_.input_level_))) {
    throw ScaleError("bootstrap: the ciphertext's scale 2^" + std::to_string(std::log2(in.meta.scale)) +
                     " is not that of its level, 2^" +
                     std::to_string(std::log2(scales.level_scale(plan_.input_level_))) +
                     "; bootstrap before the product that takes the last level");
  }
  for (const KeyNeed& need : plan_.needed_keys()) require_key(evaluator.keys(), need);
  require_room(*context_, in.poly.shape().batch * plan_.cost().workspace_bytes, "bootstrap");
}

// A ciphertext of x at a scale S / f is one of x / f at the scale S: the smallest f, or near it, for which
// the declared bound is at most 1. 1 where none is declared.
double PreparedBootstrap::divisor(const Ciphertext& in) const {
  const double bound = in.meta.largest;
  if (!(bound > 1) || std::isinf(bound)) return 1;
  const rlwe::ScalePolicy& scales = context_->scales();
  const rlwe::Metadata meta = scales.finished(in.meta).meta;
  const std::size_t level = plan_.input_level_;
  char text[320];
  if (meta.level <= level) {
    if (bound <= largest_as_it_is) return 1;
    std::snprintf(
        text, sizeof(text),
        "bootstrap: values of a magnitude of up to %.6g are declared, and at level %zu, the lowest, "
        "they must be from -1 to 1; bootstrap at a higher level, where they are made smaller before "
        "and larger after, divide them earlier, or declare a smaller bound (largest=)",
        bound, level);
    throw RangeError(text);
  }
  // What is multiplied by before the descent divides: a whole number.
  const double whole =
      context_->descent(meta.level, level).quotient * (scales.level_scale(level) / meta.scale);
  const double least = std::ceil(bound);
  if (whole / least < least_quotient) {
    std::snprintf(
        text, sizeof(text),
        "bootstrap: values of a magnitude of up to %.6g are declared, and at level %zu they can be "
        "made smaller by a factor of up to %.6g; bootstrap earlier or at a higher level, or declare a "
        "smaller bound (largest=)",
        bound, meta.level, whole / least_quotient);
    throw RangeError(text);
  }
  double best = least, error = HUGE_VAL;
  for (double factor = least; factor <= 1.25 * least && factor < least + most_factors; ++factor) {
    const double quotient = whole / factor, own = std::abs(std::nearbyint(quotient) / quotient - 1);
    if (own >= error) continue;
    best = factor;
    error = own;
  }
  return best;
}

// At the input level, with its scale, for values divided by the divisor.
Ciphertext PreparedBootstrap::fitted(const ckks::Evaluator& evaluator, const Ciphertext& in,
                                     double divisor) const {
  Ciphertext x = in.clone();
  if (x.size() > 2) evaluator.relinearize_inplace(x);
  const std::size_t level = plan_.input_level_;
  const double scale = context_->scales().level_scale(level);
  if (x.meta.noise_scale_degree > 1 && x.meta.level > level) evaluator.rescale_inplace(x);
  if (x.meta.level > level) {
    const double ratio = scale / x.meta.scale / divisor;
    x.poly = rlwe::descended_by_ratio(*context_, x.poly, x.meta.level, level, ratio);
  }
  x.seed.reset();
  x.meta.level = level;
  x.meta.scale = scale;
  x.meta.noise_scale_degree = 1;
  x.meta.largest = std::numeric_limits<double>::infinity();
  return x;
}

Ciphertext PreparedBootstrap::raised(const ckks::Evaluator& evaluator, const Ciphertext& low) const {
  const rlwe::EvaluationKeys& keys = evaluator.keys();
  Ciphertext x = rlwe::mod_down(mod_raise(low, *require_key(keys, {to_ephemeral_role, plan_.to_ephemeral_}),
                                          *require_key(keys, {from_ephemeral_role, plan_.from_ephemeral_}),
                                          plan_.top_level_));
  x.meta.scale = last_modulus(context_->parameters());  // slots are those of m / q_0 + I
  // I fills all coefficients: the trace keeps those that the slots' polynomial has.
  std::optional<rlwe::ExtendedCiphertext> sum;
  for (const auto& step : plan_.trace_) {
    std::vector<std::shared_ptr<const rlwe::SwitchingKey>> used;
    std::vector<rlwe::Turn> turns(1);
    for (const std::size_t rotation : step) {
      const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(rotation));
      used.push_back(require_key(keys, {KeyRole::galois(element), plan_.top_gadget_}));
      turns.push_back({.key = used.back().get(), .galois_element = element});
    }
    sum = sum ? rlwe::turned_sum(*sum, turns) : rlwe::turned_sum(x, used.front()->gadget, turns);
  }
  return sum ? rlwe::mod_down(*sum) : std::move(x);
}

// EvalMod of real and imaginary parts.
Ciphertext PreparedBootstrap::reduced(const ckks::Evaluator& evaluator, const Ciphertext& x) const {
  const Ciphertext conjugate = evaluator.conjugate(x);
  Ciphertext real = evaluator.add(x, conjugate);
  if (plan_.real_) return (*plan_.eval_mod_)(evaluator, std::move(real));
  if (plan_.merges_parts_) {
    Ciphertext both = (*plan_.eval_mod_)(evaluator, std::move(real));
    return join_.empty() ? std::move(both) : join_.front()(evaluator, both);
  }
  const Ciphertext imaginary = times_i(evaluator.subtract(conjugate, x), i_before_);
  return (*plan_.eval_mod_)(evaluator, rlwe::stack({&real, &imaginary}), &i_joined_);
}

Ciphertext PreparedBootstrap::once(const ckks::Evaluator& evaluator, Ciphertext x) const {
  const bool is_slots_first = plan_.order_ == BootstrapOrder::slots_first;
  const auto through = [&](const std::vector<PreparedLinearTransform>& transforms, Ciphertext y) {
    for (const PreparedLinearTransform& transform : transforms) {
      y.meta.slots = transform.plan().slots();  // repeated ones, where they are more
      y = transform(evaluator, y);
    }
    return y;
  };
  if (is_slots_first) x = through(to_coefficients_, std::move(x));
  x = reduced(evaluator, through(to_slots_, raised(evaluator, x)));
  if (!is_slots_first) x = through(to_coefficients_, std::move(x));
  x.meta.slots = plan_.slots_;  // of merged parts, twice as many that repeat
  return x;
}

Ciphertext PreparedBootstrap::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  check(evaluator, in);
  const double factor = divisor(in);
  Ciphertext result = of_small(evaluator, fitted(evaluator, in, factor));
  if (factor != 1) evaluator.multiply_scalar_inplace(result, {.value = factor, .integer = 0});
  result.meta.largest = in.meta.largest;
  result.meta.is_complex = in.meta.is_complex;
  rlwe::copy_filling(result.meta, in.meta);
  return result;
}

Ciphertext PreparedBootstrap::of_small(const ckks::Evaluator& evaluator, Ciphertext x) const {
  if (refinements_.empty()) return once(evaluator, std::move(x));
  Ciphertext result = once(evaluator, x.clone());
  if (plan_.real_) {
    // Magnified, imaginary parts of x would be too large for the transforms, and the noise in those of the
    // result is not made smaller. Left are twice the real parts.
    for (Ciphertext* each : {&x, &result}) {
      *each = evaluator.add(*each, evaluator.conjugate(*each));
      each->meta.scale *= 2;
    }
  }
  for (const auto& refinement : refinements_) {
    result = refinement->sum(result, once(evaluator, refinement->difference(x, result)));
  }
  return result;
}

}  // namespace hemera::circuits
