#include "circuits/bootstrap/bootstrap_engine.hpp"

#include <array>
#include <string>
#include <utility>

#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/imaginary_unit.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/sum_metadata.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using rlwe::KeyRole;

std::vector<PreparedLinearTransform> prepared(const rlwe::ContextPointer& context,
                                              const std::vector<LinearTransform>& transforms) {
  std::vector<PreparedLinearTransform> result;
  for (const LinearTransform& transform : transforms) result.emplace_back(context, transform);
  return result;
}

// The key of the gadget, or another one that serves the level: clients' keys have gadgets of their own.
std::shared_ptr<const rlwe::SwitchingKey> key_of(const rlwe::EvaluationKeys& keys, const KeyNeed& need,
                                                 std::size_t level, const std::string& what) {
  if (auto found = keys.find(need.role, need.gadget)) return found;
  if (auto found = keys.find(need.role, level)) return found;
  throw MissingKeyError("bootstrap: the key " + what +
                        " is missing; make the keys with generate_keys of the plan, or load the client's");
}

}  // namespace

BootstrapStages without_matrices(BootstrapStages stages) {
  for (auto* matrices : {&stages.to_slots, &stages.to_coefficients, &stages.join}) matrices->clear();
  return stages;
}

// Results have the scales of their plans: other libraries' contexts divide by other numbers.
Ciphertext through(const std::vector<PreparedLinearTransform>& transforms, const ckks::Evaluator& evaluator,
                   Ciphertext x) {
  for (const PreparedLinearTransform& transform : transforms) {
    x.meta.slots = transform.plan().slots();  // repeated ones, where they are more
    x = transform(evaluator, x);
    x.meta.scale = transform.plan().ends().result_scale;
  }
  return x;
}

BootstrapEngine::BootstrapEngine(rlwe::ContextPointer context, BootstrapStages stages)
    : context_(std::move(context)),
      stages_(std::move(stages)),
      to_slots_(prepared(context_, stages_.to_slots)),
      to_coefficients_(prepared(context_, stages_.to_coefficients)),
      join_(prepared(context_, stages_.join)) {
  // Their plaintexts are enough.
  stages_ = without_matrices(std::move(stages_));
  if (stages_.function) function_.emplace(context_, *stages_.function);
  if (stages_.roots) roots_.emplace(context_, *stages_.roots);
  if (stages_.together > 1) interleaving_.emplace(context_, stages_.interleaving);
  if (stages_.takes_apart || stages_.turns_parts) {
    i_ = imaginary_unit(context_, stages_.function->level());
    minus_i_ = imaginary_unit(context_, stages_.function->level(), -1);
  }
}

Ciphertext BootstrapEngine::raised(const rlwe::EvaluationKeys& keys, const Ciphertext& low) const {
  const RaiseStage& stage = stages_.raise;
  rlwe::ExtendedCiphertext sum;
  if (stage.from_ephemeral) {
    const auto to = key_of(keys, *stage.to_ephemeral, 0, "to the ephemeral secret");
    const auto from = key_of(keys, *stage.from_ephemeral, stage.level, "from the ephemeral secret");
    sum = mod_raise(low, *to, *from, stage.level);
  } else {
    sum = rlwe::extend(raise_modulus(low, stage.level), context_->gadget(stage.gadget));
  }
  // I fills all coefficients: the trace keeps those that the slots' polynomial has.
  for (const auto& step : stage.trace) {
    std::vector<std::shared_ptr<const rlwe::SwitchingKey>> used;
    std::vector<rlwe::Turn> turns(1);
    for (const std::size_t rotation : step) {
      const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(rotation));
      used.push_back(key_of(keys, {KeyRole::galois(element), stage.gadget}, stage.level,
                            "of the rotation by " + std::to_string(rotation)));
      turns.push_back({.key = used.back().get(), .galois_element = element});
    }
    if (sum.gadget == used.front()->gadget) {
      sum = rlwe::turned_sum(sum, turns);
    } else {
      const Ciphertext x = rlwe::mod_down(std::exchange(sum, {}));
      sum = rlwe::turned_sum(x, used.front()->gadget, turns);
    }
  }
  Ciphertext result;
  if (stage.factor) {
    const poly::PolyView view = sum.poly.view();
    const poly::RnsBase base = sum.poly.base();
    context_->backend().multiply_scalar(context_->queue(), view, std::as_const(sum.poly).view(),
                                        ckks::scaled_residues(1, {*stage.factor}, base), base);
    sum.meta.noise_scale_degree = 2;
    result = rlwe::mod_down_rescaled(sum);
  } else {
    result = rlwe::mod_down(sum);
  }
  result.meta.scale = stage.scale;
  return result;
}

Ciphertext BootstrapEngine::taken_apart(const Ciphertext& x, const Ciphertext& conjugate,
                                        std::span<const Part> parts) const {
  rlwe::Metadata meta = rlwe::sum_metadata(*context_, x.meta, conjugate.meta, "bootstrap");
  if (parts.size() > 1) meta.batch.insert(meta.batch.begin(), parts.size());
  if (stages_.shift != 0) meta.padding = rlwe::no_longer_zeros(meta);
  Ciphertext result = rlwe::make_ciphertext(context_, std::move(meta), 2);
  const poly::Backend& backend = context_->backend();
  const poly::RnsBase& base = context_->base(x.meta.level);
  const std::array both{x.poly.view(), conjugate.poly.view()};
  const auto& [a, b] = both;
  std::vector<std::uint64_t> shift;
  if (stages_.shift != 0) {
    shift = ckks::scaled_residues(stages_.shift, {stages_.function->scale(), stages_.function->scale_rest()},
                                  base);
  }
  const std::vector<std::uint64_t> ones(base.size(), 1);
  auto workspace = context_->make_workspace();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_real = parts[i] == Part::real, turns = is_real == stages_.turns_parts;
    const poly::PolyView out = result.poly.view().batches(i * a.shape.batch, a.shape.batch);
    if (turns) {
      const std::array factors{(is_real ? i_ : minus_i_).poly.view(), i_.poly.view()};
      backend.inner_product(context_->queue(), out, both, factors, base, shift);
    } else if (is_real) {
      backend.combine(context_->queue(), out, both, std::array{ones, ones}, shift, base, workspace);
    } else {
      backend.subtract(context_->queue(), out, a, b, base);
    }
  }
  return result;
}

// The function of real and imaginary parts, as a batch where they are two.
Ciphertext BootstrapEngine::reduced(const ckks::Evaluator& evaluator, const Ciphertext& x) const {
  constexpr Part both[] = {Part::real, Part::imaginary};
  std::vector<Ciphertext> inputs;
  inputs.push_back(
      taken_apart(x, evaluator.conjugate(x), std::span(both).first(stages_.takes_apart ? 2 : 1)));
  Ciphertext result = std::move((*function_)(evaluator, std::move(inputs)).front());
  result.meta.scale = stages_.function_scale;
  return result;
}

Ciphertext BootstrapEngine::part(const ckks::Evaluator& evaluator, const Ciphertext& x, Part which) const {
  return function_->part(evaluator, taken_apart(x, evaluator.conjugate(x), std::span(&which, 1)), which);
}

Ciphertext BootstrapEngine::joined(const ckks::Evaluator& evaluator, const Ciphertext& sum) const {
  Ciphertext result = function_->joined(evaluator, sum);
  result.meta.scale = stages_.function_scale;
  return result;
}

Ciphertext BootstrapEngine::operator()(const ckks::Evaluator& evaluator, Ciphertext x,
                                       const std::vector<PreparedLinearTransform>* to_coefficients) const {
  const bool is_slots_first = stages_.order == BootstrapOrder::slots_first;  // from coefficients: no matrices
  const auto& matrices = to_coefficients == nullptr ? to_coefficients_ : *to_coefficients;
  if (interleaving_) return together(evaluator, std::move(x), matrices);
  if (is_slots_first) x = through(matrices, evaluator, std::move(x));
  x = roots_ ? (*roots_)(evaluator, x)
             : reduced(evaluator, through(to_slots_, evaluator, raised(evaluator.keys(), x)));
  x = through(join_, evaluator, std::move(x));
  return is_slots_first ? std::move(x) : through(matrices, evaluator, std::move(x));
}

// One rounding ends SlotToCoeff, after the sum, in which roundings of all would fill the coefficients of
// each. The results' rounding comes last, too, at their own scale.
Ciphertext BootstrapEngine::together(const ckks::Evaluator& evaluator, Ciphertext x,
                                     const std::vector<PreparedLinearTransform>& to_coefficients) const {
  const rlwe::BatchShape batch = x.meta.batch;
  const std::size_t count = x.poly.shape().batch;
  for (const PreparedLinearTransform& transform : to_coefficients) {
    x = transform(evaluator, x);
    x.meta.noise_scale_degree = 1;  // it waits for no rescale
  }
  x = interleaving_->joined(std::move(x), (count + stages_.together - 1) / stages_.together);
  x = reduced(evaluator, through(to_slots_, evaluator, raised(evaluator.keys(), x)));
  x = interleaving_->taken_apart(evaluator, through(join_, evaluator, std::move(x)), count);
  rlwe::reshape_inplace(x, batch);
  return x;
}

}  // namespace hemera::circuits
