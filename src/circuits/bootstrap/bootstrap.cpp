#include "hemera/circuits/bootstrap/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_engine.hpp"
#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/precision_model.hpp"
#include "circuits/bootstrap/refinement.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/rounding_model.hpp"
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
// By more than this a matrix of SlotToCoeff does not divide: its entries lose as many bits.
constexpr double most_divided_by_a_matrix = 0x1p5;

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

// The same matrix times a factor, with the same keys.
LinearTransform scaled(const rlwe::Parameters& parameters, const LinearTransform& transform, double factor) {
  Diagonals diagonals = transform.diagonals();
  scale_inplace(diagonals, factor);
  return {parameters, std::move(diagonals), transform.slots(),
          LinearTransformOptions{
              .level = transform.level(),
              .gadget = rotation_gadget(parameters, transform.level(), most_special_primes),
              .fewest_keys = transform.has_fewest_keys(),
          }};
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
  eval_mod_ = std::make_shared<const EvalMod>(parameters, layout, !real_ && !merges_parts_);
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
  last_modulus_ = last_modulus(parameters);
  to_ephemeral_ = to_ephemeral_gadget(parameters);
  from_ephemeral_ = from_ephemeral_gadget(parameters, top_level_);
  // EvalMod takes a coefficient for each part of a slot.
  failure_log2_ = circuits::failure_log2(eval_mod_range, ephemeral_weight, (real_ ? 1 : 2) * slots_) +
                  std::log2(static_cast<double>(options.iterations));
  plan_iterations(options.iterations);
  const rlwe::ScalePolicy scales(parameters);
  ends_ = {.level = input_level_,
           .scale = scales.level_scale(input_level_),
           .result_level = fresh_level_ - factors_log2_.size(),
           .result_scale = scales.level_scale(fresh_level_ - factors_log2_.size())};
  rounding_ = division_error(parameters, slots_);
  if (options.key_memory_limit != 0) fit_keys(options.key_memory_limit);
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

std::vector<Plan::Input> Bootstrap::inputs() const { return {{.slots = slots_}}; }

Plan::Evaluation Bootstrap::bound(const std::shared_ptr<const rlwe::Context>& context) const {
  return [prepared = std::make_shared<PreparedBootstrap>(context, *this)](const ckks::Evaluator& evaluator,
                                                                          auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

std::optional<rlwe::GadgetPrimes> Bootstrap::gadget_of(const rlwe::KeyRole& /*role*/,
                                                       std::size_t level) const {
  return rotation_gadget(parameters(), level, most_special_primes);
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

BootstrapStages Bootstrap::stages() const {
  return {.order = order_,
          .raise = {.level = top_level_,
                    .to_ephemeral = KeyNeed{to_ephemeral_role, to_ephemeral_},
                    .from_ephemeral = KeyNeed{from_ephemeral_role, from_ephemeral_},
                    .trace = trace_,
                    .gadget = top_gadget_,
                    .scale = last_modulus_},  // slots are those of m / q_0 + I
          .to_slots = to_slots_,
          .to_coefficients = to_coefficients_,
          .function = eval_mod_->plan(),
          .function_level = eval_mod_->end_level(),
          .function_scale = eval_mod_->end_scale(),
          .join = join_};
}

PreparedBootstrap::PreparedBootstrap(std::shared_ptr<const rlwe::Context> context, const Bootstrap& plan,
                                     std::optional<double> magnitude)
    : context_(std::move(context)), plan_(plan), magnitude_(magnitude) {
  if (magnitude && !(*magnitude > 0 && std::isfinite(*magnitude))) {
    throw ParameterError("a bootstrap of values of a magnitude of up to " + std::to_string(*magnitude) +
                         "; it must be finite and positive");
  }
  plan_.require_binding(*context_, "bootstrap");
  engine_ = std::make_shared<const BootstrapEngine>(context_, plan_.stages());
  none_ = division_by(1);
  if (magnitude_.value_or(1) > 1 && plan_.order_ == BootstrapOrder::slots_first) {
    at_input_ = division_by(std::ceil(*magnitude_));
  }
}

PreparedBootstrap::Division PreparedBootstrap::division_by(double divisor) const {
  const auto matrices = static_cast<double>(plan_.to_coefficients_.size());
  const double most = std::pow(most_divided_by_a_matrix, matrices), each = std::pow(divisor, 1 / matrices);
  if (divisor > most) {
    char text[256];
    std::snprintf(
        text, sizeof(text),
        "a bootstrap of values of a magnitude of up to %.6g; its %zu matrices divide by up to %.6g: "
        "give a smaller magnitude, or declare the values' bound in ciphertexts, which are then "
        "bootstrapped a level earlier",
        divisor, plan_.to_coefficients_.size(), most);
    throw RangeError(text);
  }
  Division result{.divisor = divisor};
  const rlwe::Parameters& parameters = context_->parameters();
  for (const LinearTransform& transform : plan_.to_coefficients_) {
    if (divisor != 1) result.to_coefficients.emplace_back(context_, scaled(parameters, transform, 1 / each));
  }
  // An error that is larger in relation to the values is magnified by less.
  const int lost = static_cast<int>(std::ceil(std::log2(each)));
  for (std::size_t i = 0; i < plan_.factors_log2_.size(); ++i) {
    const int bits = plan_.factors_log2_[i] - static_cast<int>(i + 1) * lost;
    result.refinements.push_back(std::make_shared<const Refinement>(
        plan_.input_level_, plan_.fresh_level_ - i, plan_.fresh_level_, std::max(bits, 0)));
  }
  return result;
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
  plan_.require_keys(*context_, evaluator.keys());
  plan_.require_workspace(*context_, in.poly.shape().batch, "bootstrap");
}

double PreparedBootstrap::bound_of(const Ciphertext& in) const {
  return std::isfinite(in.meta.largest) ? in.meta.largest : magnitude_.value_or(1);
}

bool PreparedBootstrap::is_divided_at_input(const Ciphertext& in) const {
  const std::size_t level = context_->scales().finished(in.meta).meta.level;
  const double bound = bound_of(in);
  return at_input_ && level <= plan_.input_level_ && bound > 1 && bound <= at_input_->divisor;
}

// A ciphertext of x at a scale S / f is one of x / f at the scale S: the smallest f, or near it, for which
// the bound is at most 1.
double PreparedBootstrap::divisor(const Ciphertext& in) const {
  const double bound = bound_of(in);
  if (!(bound > 1)) return 1;
  const rlwe::ScalePolicy& scales = context_->scales();
  const rlwe::Metadata meta = scales.finished(in.meta).meta;
  const std::size_t level = plan_.input_level_;
  char text[320];
  if (meta.level <= level) {
    if (bound <= largest_as_it_is) return 1;
    std::snprintf(
        text, sizeof(text),
        "bootstrap: values of a magnitude of up to %.6g are declared, and at level %zu, the lowest, "
        "they must be from -1 to %.6g; bootstrap at a higher level, where they are made smaller before "
        "and larger after, prepare the bootstrap for their magnitude (slots first), or declare a smaller "
        "bound",
        bound, level, largest_at_input());
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
        "smaller bound",
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

Ciphertext PreparedBootstrap::once(const ckks::Evaluator& evaluator, Ciphertext x,
                                   const Division& division) const {
  const bool is_own = division.to_coefficients.empty();
  Ciphertext result = (*engine_)(evaluator, std::move(x), is_own ? nullptr : &division.to_coefficients);
  result.meta.slots = plan_.slots_;  // of merged parts, twice as many that repeat
  if (!is_own) evaluator.multiply_scalar_inplace(result, {.value = division.divisor, .integer = 0});
  return result;
}

Ciphertext PreparedBootstrap::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  check(evaluator, in);
  const bool at_input = is_divided_at_input(in);
  const double factor = at_input ? 1 : divisor(in);
  Ciphertext result = iterated(evaluator, fitted(evaluator, in, factor), at_input ? *at_input_ : none_);
  if (factor != 1) evaluator.multiply_scalar_inplace(result, {.value = factor, .integer = 0});
  rlwe::copy_declarations(result.meta, in.meta);
  evaluator.count_bootstrap(in, !magnitude_ && std::isinf(in.meta.largest));
  return result;
}

Ciphertext PreparedBootstrap::iterated(const ckks::Evaluator& evaluator, Ciphertext x,
                                       const Division& division) const {
  if (division.refinements.empty()) return once(evaluator, std::move(x), division);
  Ciphertext result = once(evaluator, x.clone(), division);
  if (plan_.real_) {
    // Magnified, imaginary parts of x would be too large for the transforms, and the noise in those of the
    // result is not made smaller. Left are twice the real parts.
    for (Ciphertext* each : {&x, &result}) {
      *each = evaluator.add(*each, evaluator.conjugate(*each));
      each->meta.scale *= 2;
    }
  }
  for (const auto& refinement : division.refinements) {
    result = refinement->sum(result, once(evaluator, refinement->difference(x, result), division));
  }
  return result;
}

}  // namespace hemera::circuits
