#include "hemera/circuits/linear/slot_circuit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/coefficient.hpp"
#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::Ciphertext;

// The most bits of a row's number that one step goes through.
constexpr std::size_t widest_step = 4;

void require_blocks(std::size_t slots, const Blocks& blocks) {
  if (!std::has_single_bit(blocks.count) || !std::has_single_bit(blocks.stride) ||
      blocks.count > slots / std::min(slots, blocks.stride) || blocks.stride > slots) {
    throw ParameterError("blocks of " + std::to_string(blocks.count) + " times " +
                         std::to_string(blocks.stride) + " slots among " + std::to_string(slots) +
                         "; both must be powers of two, and their product at most the number of slots (fill "
                         "up with zeros)");
  }
}

std::vector<Complex> numbers_of(const std::vector<bool>& kept) { return {kept.begin(), kept.end()}; }

// How many copies a row of steps adds up.
template <typename Steps>
double copies_of(const Steps& steps) {
  double copies = 1;
  for (const auto& step : steps) copies *= static_cast<double>(step.size() + 1);
  return copies;
}

}  // namespace

SlotCircuit::SlotCircuit(const rlwe::Parameters& parameters, std::size_t slots,
                         const SlotCircuitOptions& options)
    : Plan(parameters), slots_(slots), fewest_keys_(options.fewest_keys), own_keys_(options.own_keys) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("sums, copies and masks of slots are for CKKS, not for " +
                        rlwe::name(parameters.scheme()));
  }
  if (!std::has_single_bit(slots) || slots > parameters.max_slots()) {
    throw ParameterError("a circuit of " + std::to_string(slots) +
                         " slots; their number must be a power of two up to " +
                         std::to_string(parameters.max_slots()));
  }
  ends_.level = options.level.value_or(parameters.highest_user_level());
}

SlotCircuit SlotCircuit::inner_sum(const rlwe::Parameters& parameters, std::size_t slots,
                                   const Blocks& blocks, bool everywhere, const SlotCircuitOptions& options) {
  SlotCircuit result(parameters, slots, options);
  require_blocks(slots, blocks);
  result.before_ = result.steps_of(blocks, 0, result.ends_.level, true);
  // Where a block has all slots, rotations go round it.
  if (everywhere && blocks.count * blocks.stride < slots && blocks.count > 1) {
    for (std::size_t i = 0; i < slots; ++i) {
      result.kept_.push_back(i % (blocks.count * blocks.stride) < blocks.stride);
    }
    result.after_ = result.steps_of(blocks, 0, result.ends_.level, false);
  }
  result.choose_ends();
  return result;
}

SlotCircuit SlotCircuit::replication(const rlwe::Parameters& parameters, std::size_t slots,
                                     const Blocks& blocks, std::size_t position, bool others_are_zero,
                                     const SlotCircuitOptions& options) {
  SlotCircuit result(parameters, slots, options);
  require_blocks(slots, blocks);
  if (position >= blocks.count) {
    throw ParameterError("a copy of row " + std::to_string(position) + " of blocks of " +
                         std::to_string(blocks.count) + " rows, which are counted from 0");
  }
  if (!others_are_zero && blocks.count > 1) {
    for (std::size_t i = 0; i < slots; ++i) {
      result.kept_.push_back(i / blocks.stride % blocks.count == position);
    }
  }
  result.after_ = result.steps_of(blocks, position, result.ends_.level, false);
  result.choose_ends();
  return result;
}

SlotCircuit SlotCircuit::mask(const rlwe::Parameters& parameters, std::vector<bool> kept,
                              const SlotCircuitOptions& options) {
  SlotCircuit result(parameters, kept.size(), options);
  result.kept_ = std::move(kept);
  result.choose_ends();
  return result;
}

rlwe::GadgetPrimes SlotCircuit::gadget_at(std::size_t level) const {
  return own_keys_ ? rotation_gadget(parameters(), level, most_special_primes_of_transforms)
                   : parameters().default_gadget(level);
}

std::optional<rlwe::GadgetPrimes> SlotCircuit::gadget_of(const rlwe::KeyRole& /*role*/,
                                                         std::size_t level) const {
  return gadget_at(level);
}

// Steps through the bits of a row's number. To the left, row k gets all rows from it on. To the right, row
// `position` gets to all rows: bits that it has are left out by turning left, the others by turning right.
std::vector<SlotCircuit::Step> SlotCircuit::steps_of(const Blocks& blocks, std::size_t position,
                                                     std::size_t level, bool to_left) const {
  const auto bits = static_cast<std::size_t>(std::countr_zero(blocks.count));
  // Costs in words of memory traffic: a rotation reads two components of every digit's key, a step extends
  // the digits and divides two components, whose transforms count thrice.
  const rlwe::GadgetPrimes gadget = gadget_at(std::min(level, parameters().levels() - 1));
  const auto digits = static_cast<double>(rlwe::key_digits(gadget));
  const auto cost_of = [&](std::size_t width) {
    return 2 * digits * static_cast<double>((std::size_t{1} << width) - 1) + 3 * (digits + 2);
  };
  // least[b]: the cost of the first b bits, and how many of them the last step takes.
  std::vector<std::pair<double, std::size_t>> least(bits + 1, {std::numeric_limits<double>::infinity(), 0});
  least[0].first = 0;
  for (std::size_t end = 1; end <= bits; ++end) {
    for (std::size_t width = 1; width <= std::min(end, fewest_keys_ ? 1 : widest_step); ++width) {
      least[end] = std::min(least[end], {least[end - width].first + cost_of(width), width});
    }
  }
  std::vector<Step> steps;
  for (std::size_t end = bits; end > 0; end -= least[end].second) {
    const std::size_t width = least[end].second, first = end - width;
    Step step;
    for (std::size_t number = 1; number < std::size_t{1} << width; ++number) {
      std::size_t turn = 0;  // to the left, modulo the slots
      for (std::size_t bit = 0; bit < width; ++bit) {
        if ((number >> bit & 1) == 0) continue;
        const std::size_t distance = blocks.stride << (first + bit);
        const bool is_left = to_left || (position >> (first + bit) & 1) != 0;
        turn += is_left ? distance : slots_ - distance;
      }
      step.push_back(turn % slots_);
    }
    steps.push_back(std::move(step));
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

void SlotCircuit::choose_ends() {
  const std::size_t depth = kept_.empty() ? 0 : 1;
  take_user_levels(ends_.level, depth, "a circuit of slots");
  if (depth != 0) {
    const rlwe::ScalePolicy scales(parameters());
    plaintext_scale_ = ends_.result_scale * (scales.policy().scales[ends_.level].divisor / ends_.scale);
  }
  rounding_ = division_error(parameters(), slots_);
  switching_before_ = switching_error(parameters(), gadget_at(ends_.level), slots_);
  switching_after_ = switching_error(parameters(), gadget_at(ends_.result_level), slots_);
}

std::vector<Plan::Input> SlotCircuit::inputs() const { return {{.slots = slots_}}; }

Plan::Evaluation SlotCircuit::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedSlotCircuit>(context, *this)](const ckks::Evaluator& evaluator,
                                                                            auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

std::vector<std::size_t> SlotCircuit::rotations() const {
  std::set<std::size_t> rotations;
  for (const auto* steps : {&before_, &after_}) {
    for (const Step& step : *steps) rotations.insert(step.begin(), step.end());
  }
  return {rotations.begin(), rotations.end()};
}

ExpectedError SlotCircuit::error_from(double input_error) const {
  // Variances. A step adds up what its copies have, and its own.
  const auto step_error = [&](const Step& step, double switching, double scale) {
    return (static_cast<double>(step.size()) * squared(switching) + squared(rounding_)) / squared(scale);
  };
  double mean = squared(input_error);
  for (const Step& step : before_) {
    mean = static_cast<double>(step.size() + 1) * mean + step_error(step, switching_before_, ends_.scale);
  }
  double worst = mean;
  if (!kept_.empty()) {
    // Values are as large as sums of all copies, of magnitude 1.
    const double encoding =
        copies_of(before_) * static_cast<double>(2 * slots_) / 12 / squared(plaintext_scale_);
    const double own = encoding + squared(rounding_ / ends_.result_scale);
    const double part =
        static_cast<double>(std::count(kept_.begin(), kept_.end(), true)) / static_cast<double>(kept_.size());
    const double copies = copies_of(after_);
    mean = mean * part * copies + copies * own;
    worst += copies * own;
  } else if (!after_.empty()) {
    // The other rows are zero, and have errors.
    mean = worst = copies_of(after_) * mean;
  }
  double added = 0;
  for (const Step& step : after_) {
    added =
        static_cast<double>(step.size() + 1) * added + step_error(step, switching_after_, ends_.result_scale);
  }
  return {.mean = std::sqrt(mean + added), .worst = std::sqrt(worst + added)};
}

std::vector<Complex> SlotCircuit::evaluate_clear(std::span<const Complex> values) const {
  if (values.size() != slots_) {
    throw ParameterError("a circuit of " + std::to_string(slots_) + " slots was given " +
                         std::to_string(values.size()) + " values");
  }
  std::vector<Complex> result(values.begin(), values.end());
  const auto take = [&](const Step& step) {
    const std::vector<Complex> before = result;
    for (const std::size_t rotation : step) {
      for (std::size_t i = 0; i < slots_; ++i) result[i] += before[(i + rotation) % slots_];
    }
  };
  for (const Step& step : before_) take(step);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i]) result[i] = 0;
  }
  for (const Step& step : after_) take(step);
  return result;
}

PreparedSlotCircuit::PreparedSlotCircuit(rlwe::ContextPointer context, const SlotCircuit& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_parameters(*context_, "circuit of slots");
  if (plan_.kept_.empty()) return;
  const std::vector<Complex> numbers = numbers_of(plan_.kept_);
  mask_ = std::make_shared<const rlwe::Plaintext>(rlwe::stored_plaintext(ckks::Encoder(context_).encode_over(
      context_->base(plan_.level()), period_of(std::span(numbers)), {}, plan_.level(), plan_.plaintext_scale_,
      ckks::Stored::one_period, 1)));
}

// x and its rotations by the step, added up before they are divided.
Ciphertext PreparedSlotCircuit::summed(const ckks::Evaluator& evaluator, const Ciphertext& x,
                                       const SlotCircuit::Step& step) const {
  // Turns by gadget: the plan's keys have one, other keys may have several. x itself is a part of the first.
  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> keys;
  std::map<rlwe::GadgetPointer, std::vector<rlwe::Turn>> turns;
  for (const std::size_t rotation : step) {
    const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(rotation));
    keys.push_back(evaluator.keys().find(rlwe::KeyRole::galois(element), x.meta.level));
    turns[keys.back()->gadget].push_back({.key = keys.back().get(), .galois_element = element});
  }
  turns.begin()->second.push_back({});
  Ciphertext sum;
  for (const auto& [gadget, of_gadget] : turns) {
    Ciphertext part = rlwe::mod_down(rlwe::turned_sum(x, gadget, of_gadget));
    if (sum.context) {
      evaluator.add_inplace(sum, part);
    } else {
      sum = std::move(part);
    }
  }
  return sum;
}

Ciphertext PreparedSlotCircuit::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  constexpr const char* operation = "circuit of slots";
  rlwe::require_filled(in, operation);
  rlwe::require_same_context(*context_, *in.context, operation);
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  if (in.meta.slots != plan_.slots_) {
    throw MismatchError("circuit of slots: it is for " + std::to_string(plan_.slots_) +
                        " slots, and the ciphertext has " + std::to_string(in.meta.slots) +
                        "; make it for as many");
  }
  Ciphertext storage;
  const Ciphertext& x = lowered_input(evaluator, in, plan_.level(), storage);
  if (mask_ && x.meta.level < plan_.level()) {
    throw LevelError("circuit of slots: it was made for level " + std::to_string(plan_.level()) +
                     ", and the ciphertext is at level " + std::to_string(x.meta.level) +
                     "; make it for that level");
  }
  const auto require_keys = [&](const std::vector<SlotCircuit::Step>& steps, std::size_t level) {
    for (const auto& step : steps) {
      for (const std::size_t rotation : step) {
        const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(rotation));
        const rlwe::KeyRole role = rlwe::KeyRole::galois(element);
        // Where keys are made as they are asked for, those of its own are.
        if (plan_.own_keys_ && evaluator.keys().find(role, plan_.gadget_at(level))) continue;
        if (evaluator.keys().find(role, level)) continue;
        throw MissingKeyError("circuit of slots: there is no key for the rotation by " +
                              std::to_string(rotation) + " at level " + std::to_string(level) + "; " +
                              Message(WayOut::keys_of_plan, "make keys for the plan"));
      }
    }
  };
  require_keys(plan_.before_, x.meta.level);
  require_keys(plan_.after_, x.meta.level - (mask_ ? 1 : 0));
  Ciphertext result;
  const Ciphertext* last = &x;
  for (const auto& step : plan_.before_) {
    result = summed(evaluator, *last, step);
    last = &result;
  }
  result = mask_ ? evaluator.rescale(evaluator.multiply_plain(*last, *mask_))
                 : (last == &x ? x.clone() : std::move(result));
  const double largest = result.meta.largest;
  for (const auto& step : plan_.after_) result = summed(evaluator, result, step);
  // Each slot has one copy of the values that the mask keeps.
  if (mask_) result.meta.largest = largest;
  if (!plan_.before_.empty() || !plan_.after_.empty()) rlwe::count_all(result.meta);
  return result;
}

Ciphertext with_slots(const Ciphertext& x, std::size_t slots) {
  rlwe::require_filled(x, "with_slots");
  const rlwe::Parameters& parameters = x.context->parameters();
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("with_slots is for CKKS, whose slots repeat, not for " +
                        rlwe::name(parameters.scheme()));
  }
  if (!std::has_single_bit(slots) || slots > parameters.max_slots()) {
    throw ParameterError("with_slots: " + std::to_string(slots) +
                         " slots; their number must be a power of two up to " +
                         std::to_string(parameters.max_slots()));
  }
  Ciphertext result = x.clone();
  if (slots != x.meta.slots) rlwe::count_all(result.meta);
  result.meta.slots = slots;
  return result;
}

}  // namespace hemera::circuits
