#include "interop/openfhe/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "circuits/rehearsal.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {
namespace {

using rlwe::Ciphertext;

void rescale_all(const ckks::Evaluator& evaluator, Ciphertext& x) {
  for (int degree = x.meta.noise_scale_degree; degree > 1; --degree) evaluator.rescale_inplace(x);
}

// The values times 2^bits, at the same scale.
Ciphertext magnified(const ckks::Evaluator& evaluator, Ciphertext x, int bits) {
  for (int i = 0; i < bits; ++i) x = evaluator.add(x, x);
  return x;
}

// A copy of two components.
Ciphertext relinearized(const ckks::Evaluator& evaluator, const Ciphertext& in) {
  Ciphertext x = in.clone();
  if (x.size() > 2) evaluator.relinearize_inplace(x);
  return x;
}

}  // namespace

Bootstrapper::Bootstrapper(rlwe::ContextPointer context, const CryptoContext& client,
                           const BootstrapSettings& settings, std::uint32_t correction_factor,
                           GiantSteps giant_steps)
    : context_(std::move(context)),
      client_(client),
      settings_(settings),
      correction_factor_(correction_factor),
      giant_steps_(giant_steps),
      layout_(layout_of(*context_, client, settings, correction_factor, giant_steps)) {
  choose_keys(layout_.stages);
  engine_ = std::make_unique<const circuits::BootstrapEngine>(context_, std::move(layout_.stages));
}

void Bootstrapper::choose_keys(const circuits::BootstrapStages& stages) {
  const rlwe::Parameters& parameters = context_->parameters();
  const circuits::RaiseStage& raise = stages.raise;
  const rlwe::GadgetPrimes& gadget = raise.gadget;
  const auto add = [&](const circuits::KeyNeed& need) {
    if (std::find(needed_keys_.begin(), needed_keys_.end(), need) == needed_keys_.end()) {
      needed_keys_.push_back(need);
    }
  };
  const auto add_rotation = [&](std::size_t step) {
    add({rlwe::KeyRole::galois(parameters.galois_element(static_cast<std::int64_t>(step))), gadget});
  };
  if (raise.from_ephemeral) {
    add(*raise.to_ephemeral);
    add(*raise.from_ephemeral);
  }
  for (const auto& step : raise.trace) add_rotation(step.front());
  for (const std::size_t left : layout_.last_turns) add_rotation(left);
  for (const auto* transforms : {&stages.to_slots, &stages.to_coefficients}) {
    for (const circuits::LinearTransform& transform : *transforms) {
      for (const std::size_t step : transform.rotations()) add_rotation(step);
    }
  }
  add({rlwe::KeyRole::galois(parameters.conjugation_element()), gadget});
  add({rlwe::KeyRole::relinearization(), gadget});
  if (layout_.is_side_by_side) add_rotation(layout_.slots);
}

const circuits::Cost& Bootstrapper::cost() const {
  std::call_once(counted_->once, [&] {
    circuits::Rehearsal rehearsal{
        .bind =
            [&](const rlwe::ContextPointer& context) {
              const auto bound = std::make_shared<const Bootstrapper>(context, client_, settings_,
                                                                      correction_factor_, giant_steps_);
              return [bound](const ckks::Evaluator& evaluator, auto inputs) {
                static_cast<void>((*bound)(evaluator, *inputs[0]));
              };
            },
        .inputs = {},
        .needs = needed_keys_,
    };
    rlwe::Metadata& input = rehearsal.inputs.emplace_back();
    input.level = layout_.input_level + 1;
    input.scale = context_->scales().level_scale(input.level);
    input.slots = layout_.slots;
    counted_->cost = circuits::rehearse(context_->parameters(), rehearsal).cost;
  });
  return counted_->cost;
}

// Takes one rotation if there is a key for it: OpenFHE makes those of the parts.
void Bootstrapper::turn_last(const ckks::Evaluator& evaluator, Ciphertext& x) const {
  std::size_t total = 0;
  for (const std::size_t left : layout_.last_turns) total += left;
  const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(total));
  if (evaluator.keys().has(rlwe::KeyRole::galois(element))) {
    x = evaluator.rotate(x, static_cast<std::int64_t>(total));
    return;
  }
  for (const std::size_t left : layout_.last_turns) x = evaluator.rotate(x, static_cast<std::int64_t>(left));
}

Ciphertext Bootstrapper::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  Ciphertext x = relinearized(evaluator, in);
  if (x.meta.level >= layout_.result_level) return x;
  if (x.meta.slots != layout_.slots) {
    throw MismatchError("bootstrap: the ciphertext has " + std::to_string(x.meta.slots) +
                        " slots, the settings are for " + std::to_string(layout_.slots));
  }
  rescale_all(evaluator, x);
  x.meta.largest = std::numeric_limits<double>::infinity();  // of the values, not of those in between
  if (x.meta.level < layout_.input_level) {
    throw LevelError("bootstrap: SlotToCoeff comes first and takes " + std::to_string(layout_.input_level) +
                     " levels, and the ciphertext has " + std::to_string(x.meta.level) +
                     "; bootstrap it earlier");
  }
  evaluator.adjust_to_level_inplace(x, layout_.input_level, layout_.input_scale);
  x = (*engine_)(evaluator, std::move(x));
  turn_last(evaluator, x);
  if (layout_.is_side_by_side) {
    evaluator.add_inplace(x, evaluator.rotate(x, static_cast<std::int64_t>(layout_.slots)));
  }
  if (layout_.result_degree == 1) evaluator.rescale_inplace(x);
  x.meta.scale = layout_.result_scale;
  x.meta.slots = layout_.slots;
  rlwe::copy_declarations(x.meta, in.meta);
  evaluator.count_bootstrap(in, std::isinf(in.meta.largest));
  return x;
}

Ciphertext Bootstrapper::twice(const ckks::Evaluator& evaluator, const Ciphertext& in, int precision) const {
  Ciphertext x = relinearized(evaluator, in);
  Ciphertext first = (*this)(evaluator, x);
  if (first.meta.level > 0) rescale_all(evaluator, first);
  if (first.meta.level <= in.meta.level) return x;
  rescale_all(evaluator, x);
  first = magnified(evaluator, std::move(first), precision);
  const Ciphertext error = evaluator.subtract(first, magnified(evaluator, std::move(x), precision));
  Ciphertext second = (*this)(evaluator, error);
  rescale_all(evaluator, second);
  Ciphertext result = evaluator.subtract(first, second);
  evaluator.multiply_scalar_inplace(result, std::ldexp(1.0, -precision));
  rlwe::copy_declarations(result.meta, in.meta);
  return result;
}

}  // namespace hemera::interop::openfhe
