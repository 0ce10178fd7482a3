#include "hemera/circuits/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "circuits/bootstrap_layout.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/dft_factors.hpp"
#include "circuits/eval_mod.hpp"
#include "circuits/mod_raise.hpp"
#include "circuits/precision_model.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using rlwe::KeyRole;

constexpr KeyRole to_ephemeral_role{.to = rlwe::ephemeral_secret};
constexpr KeyRole from_ephemeral_role{.from = rlwe::ephemeral_secret};

// A row of transforms, one level each from `level` down.
std::vector<LinearTransform> transforms(const rlwe::Parameters& parameters, std::vector<Diagonals> matrices,
                                        std::size_t slots, std::size_t level) {
  std::vector<LinearTransform> result;
  for (Diagonals& matrix : matrices) {
    result.emplace_back(parameters, std::move(matrix), slots,
                        LinearTransformOptions{
                            .level = level,
                            .gadget = rotation_gadget(parameters, level, most_special_primes),
                        });
    --level;
  }
  return result;
}

std::shared_ptr<const rlwe::SwitchingKey> require_key(const rlwe::EvaluationKeys& keys, const KeyRole& role,
                                                      const rlwe::GadgetPrimes& gadget) {
  if (auto found = keys.find(role, gadget)) return found;
  throw MissingKeyError(
      "bootstrap: a key of the plan is not there; make the keys with Bootstrap::generate_keys (Python: "
      "generate_keys(plan=))");
}

// X^(N/2), which is i in every slot, without a scale.
rlwe::Plaintext imaginary_unit(const std::shared_ptr<const rlwe::Context>& context, std::size_t level) {
  const std::complex<double> i(0, 1);
  return ckks::Encoder(context).encode_over(context->base(level), std::span(&i, 1), {}, level, 1,
                                            ckks::Stored::one_period);
}

// i x, exactly.
Ciphertext times_i(const Ciphertext& x, const rlwe::Plaintext& i) {
  const rlwe::Context& context = *x.context;
  Ciphertext result = rlwe::make_ciphertext(x.context, x.meta, x.size());
  context.backend().multiply(context.queue(), result.poly.view(), x.poly.view(), i.poly.view(),
                             context.base(x.meta.level));
  return result;
}

}  // namespace

Precision precision_of(std::span<const std::complex<double>> found,
                       std::span<const std::complex<double>> expected) {
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Equal doubles have an error below what a double tells.
    const double error = std::max(std::abs(found[i] - expected[i]), 0x1p-60);
    sum -= std::log2(error);
    largest = std::max(largest, error);
  }
  return {.mean_bits = sum / static_cast<double>(found.size()), .worst_bits = -std::log2(largest)};
}

Bootstrap::Bootstrap(const rlwe::Parameters& parameters, const BootstrapOptions& options)
    : Plan(parameters),
      slots_(options.slots == 0 ? parameters.max_slots() : options.slots),
      real_(options.real) {
  const BootstrapLayout layout(parameters);
  if (!std::has_single_bit(slots_) || slots_ < 2 || slots_ > parameters.max_slots()) {
    throw ParameterError("a bootstrap of " + std::to_string(slots_) +
                         " slots; their number must be a power of two from 2 to " +
                         std::to_string(parameters.max_slots()));
  }
  order_ = layout.order;
  input_level_ = layout.input_level;
  result_level_ = layout.result_level;
  top_level_ = layout.top_level;
  eval_mod_level_ = layout.eval_mod_level;

  const auto log_slots = static_cast<std::size_t>(std::countr_zero(slots_));
  auto short_first = split_stages(log_slots, layout.slots_to_coefficients);
  std::reverse(short_first.begin(), short_first.end());
  to_coefficients_ = transforms(parameters, slots_to_coefficients_factors(slots_, short_first), slots_,
                                layout.slots_to_coefficients_level);
  auto matrices =
      coefficients_to_slots_factors(slots_, split_stages(log_slots, layout.coefficients_to_slots));
  // Down to v = t / range, half of it, for real and imaginary part are each a sum of two; the trace has
  // multiplied by the number of repetitions.
  const double factor = static_cast<double>(slots_) / static_cast<double>(parameters.max_slots()) /
                        (2 * static_cast<double>(eval_mod_range));
  for (Diagonals& matrix : matrices) {
    scale_inplace(matrix, std::pow(factor, 1 / static_cast<double>(matrices.size())));
  }
  to_slots_ = transforms(parameters, std::move(matrices), slots_, top_level_);
  eval_mod_ = std::make_shared<const EvalMod>(parameters, layout);
  model_ = std::make_shared<const PrecisionModel>(parameters, layout, eval_mod_->series(), slots_, real_);
  for (std::size_t step = slots_; step < parameters.max_slots(); step *= 2) trace_.push_back(step);
  top_gadget_ = rotation_gadget(parameters, top_level_, most_special_primes);
  to_ephemeral_ = to_ephemeral_gadget(parameters);
  from_ephemeral_ = from_ephemeral_gadget(parameters, top_level_);
  // Each of the slots' real and imaginary parts is a coefficient.
  failure_log2_ = circuits::failure_log2(eval_mod_range, ephemeral_weight, 2 * slots_);
  tell_needs(parameters);
  if (options.key_memory_limit != 0) fit_keys(parameters, options.key_memory_limit);
}

void Bootstrap::tell_needs(const rlwe::Parameters& parameters) {
  const auto add = [&](KeyNeed need) { add_need(std::move(need)); };
  needed_keys_.clear();
  for (const auto* row : {&to_coefficients_, &to_slots_}) {
    for (const LinearTransform& transform : *row) {
      for (const KeyNeed& need : transform.needed_keys()) add(need);
    }
  }
  for (const std::size_t step : trace_) {
    add({KeyRole::galois(parameters.galois_element(static_cast<std::int64_t>(step))), top_gadget_});
  }
  add({KeyRole::galois(parameters.conjugation_element()),
       rotation_gadget(parameters, eval_mod_level_, most_special_primes)});
  for (const std::size_t level : eval_mod_->product_levels()) {
    add({KeyRole::relinearization(), product_gadget(parameters, level, most_special_primes)});
  }
  add({to_ephemeral_role, to_ephemeral_});
  add({from_ephemeral_role, from_ephemeral_});
  tell_cost(parameters);
}

std::vector<std::complex<double>> Bootstrap::simulate(std::span<const std::complex<double>> values,
                                                      std::uint64_t seed) const {
  return (*model_)(values, seed);
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
  i_before_ = imaginary_unit(context_, plan_.eval_mod_level_);
  i_after_ = imaginary_unit(context_, plan_.eval_mod_->end_level());
}

// At the input level, with its scale.
Ciphertext PreparedBootstrap::fitted(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  Ciphertext x = in.clone();
  if (x.size() > 2) evaluator.relinearize_inplace(x);
  if (x.meta.level < plan_.input_level_) {
    throw LevelError("bootstrap: the ciphertext is at level " + std::to_string(x.meta.level) +
                     ", below the user's lowest, " + std::to_string(plan_.input_level_));
  }
  if (x.meta.noise_scale_degree > 1 && x.meta.level > plan_.input_level_) evaluator.rescale_inplace(x);
  if (x.meta.level > plan_.input_level_) evaluator.lower_to_level_inplace(x, plan_.input_level_);
  const rlwe::ScalePolicy& scales = context_->scales();
  if (!scales.close(x.meta.scale, scales.level_scale(plan_.input_level_))) {
    throw ScaleError("bootstrap: the ciphertext's scale 2^" + std::to_string(std::log2(x.meta.scale)) +
                     " is not that of its level, 2^" +
                     std::to_string(std::log2(scales.level_scale(plan_.input_level_))) +
                     "; bootstrap before the product that takes the last level");
  }
  x.meta.largest = std::numeric_limits<double>::infinity();
  return x;
}

Ciphertext PreparedBootstrap::raised(const ckks::Evaluator& evaluator, const Ciphertext& low) const {
  const rlwe::EvaluationKeys& keys = evaluator.keys();
  Ciphertext x = mod_raise(low, *require_key(keys, to_ephemeral_role, plan_.to_ephemeral_),
                           *require_key(keys, from_ephemeral_role, plan_.from_ephemeral_), plan_.top_level_);
  // I fills all coefficients: the trace keeps those that the slots' polynomial has.
  for (const std::size_t step : plan_.trace_) {
    const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(step));
    const auto key = require_key(keys, KeyRole::galois(element), plan_.top_gadget_);
    evaluator.add_inplace(x, rlwe::apply_galois(x, element, *key));
  }
  return x;
}

// EvalMod of real and imaginary parts.
Ciphertext PreparedBootstrap::reduced(const ckks::Evaluator& evaluator, const Ciphertext& x) const {
  const Ciphertext conjugate = evaluator.conjugate(x);
  Ciphertext real = evaluator.add(x, conjugate);
  if (plan_.real_) return (*plan_.eval_mod_)(evaluator, std::move(real));
  const Ciphertext imaginary = times_i(evaluator.subtract(conjugate, x), i_before_);
  const Ciphertext both = (*plan_.eval_mod_)(evaluator, rlwe::stack({&real, &imaginary}));
  return evaluator.add(rlwe::take(both, 0), times_i(rlwe::take(both, 1), i_after_));
}

Ciphertext PreparedBootstrap::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  rlwe::require_filled(in, "bootstrap");
  rlwe::require_same_context(*context_, *in.context, "bootstrap");
  rlwe::require_same_context(*context_, *evaluator.context(), "bootstrap");
  if (in.meta.slots != plan_.slots_) {
    throw MismatchError("bootstrap: a plan for " + std::to_string(plan_.slots_) +
                        " slots and a ciphertext of " + std::to_string(in.meta.slots) +
                        "; make the plan for as many");
  }
  for (const KeyNeed& need : plan_.needed_keys()) require_key(evaluator.keys(), need.role, need.gadget);
  require_room(*context_, in.poly.shape().batch * plan_.cost().workspace_bytes, "bootstrap");

  const bool is_slots_first = plan_.order_ == BootstrapOrder::slots_first;
  const auto through = [&](const std::vector<PreparedLinearTransform>& transforms, Ciphertext x) {
    for (const PreparedLinearTransform& transform : transforms) x = transform(evaluator, x);
    return x;
  };
  Ciphertext x = fitted(evaluator, in);
  if (is_slots_first) x = through(to_coefficients_, std::move(x));
  x = reduced(evaluator, through(to_slots_, raised(evaluator, x)));
  if (!is_slots_first) x = through(to_coefficients_, std::move(x));
  x.meta.largest = in.meta.largest;
  return x;
}

}  // namespace hemera::circuits
