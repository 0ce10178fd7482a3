#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/plan_input.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::ExtendedCiphertext;

// Diagonals that are encoded together: enough for all threads and for a device, while whole plaintexts of the
// batch take little of the memory that is left.
std::size_t most_at_once(const rlwe::Context& context, const poly::RnsBase& base) {
  constexpr std::size_t most = 32, most_bytes = std::size_t{1} << 26;
  const std::size_t bytes = std::min(most_bytes, context.memory()->available() / 8);
  return std::clamp<std::size_t>(bytes / (base.size() * context.degree() * sizeof(std::uint64_t)), 1, most);
}

}  // namespace

PreparedLinearTransform::PreparedLinearTransform(rlwe::ContextPointer context, const LinearTransform& plan,
                                                 const TransformShare& share)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_binding(*context_, "linear transform");
  gadget_ = context_->gadget(plan_.gadget_);
  for (const auto& [number, diagonal] : plan_.diagonals().map()) {
    is_complex_ = is_complex_ || diagonal.is_complex();
  }
  std::vector<double> rows(plan_.slots_);
  std::vector<Place> places;
  std::size_t number_of_group = 0;
  for (const auto& [giant, group] : plan_.groups_) {
    const bool is_own = number_of_group++ % share.members == share.member;
    if (is_own) groups_.emplace(giant, group);
    for (const auto& [baby, number] : group) {
      plan_.diagonals().at(number).add_magnitudes(rows);
      if (!is_own) continue;
      // The giant step turns the products, too.
      const std::size_t turn = (giant + plan_.start_) % plan_.slots_;
      places.push_back({number, plan_.slots_ - turn});
    }
  }
  turns_ = plan_.turns_of(groups_);
  // Rows that are summed at the end are one.
  const std::size_t period = plan_.result_period_;
  for (std::size_t k = period; k < rows.size(); ++k) rows[k % period] += rows[k];
  rows.resize(period);
  largest_row_ = *std::max_element(rows.begin(), rows.end());
  if (plan_.fold_) fold_.emplace(context_, *plan_.fold_);
  encode(places);
}

// On a CPU each thread encodes diagonals of its own, in its cache; a device takes them in batches.
void PreparedLinearTransform::encode(std::span<const Place> places) {
  const poly::RnsBase& base = gadget_->mod_up(plan_.level()).extended();
  const ckks::Encoder encoder(context_);
  const auto values_at = [&](const Place& place) {
    return plan_.diagonals().at(place.number).turned(place.turn);
  };
  const std::size_t at_once = most_at_once(*context_, base);
  auto* cpu = dynamic_cast<runtime::CpuQueue*>(&context_->queue());
  if (cpu != nullptr && context_->ledger() == nullptr) {
    std::vector<rlwe::Plaintext> encoded(places.size());
    const auto encode_one = [&](std::size_t i, std::size_t /*slot*/) {
      const auto values = values_at(places[i]);
      encoded[i] = plan_.precise_
                       ? encoder.encode_precisely_over(base, period_of(values), plan_.level(),
                                                       plan_.plaintext_scale_, ckks::Stored::one_period)
                       : encoder.encode_over(base, period_of(values), {}, plan_.level(),
                                             plan_.plaintext_scale_, ckks::Stored::one_period, HUGE_VAL);
    };
    cpu->pool().parallel_for_slots(places.size(), encode_one, static_cast<int>(at_once));
    for (std::size_t i = 0; i < places.size(); ++i) {
      plaintexts_.emplace(places[i].number, std::move(encoded[i]));
    }
    return;
  }
  if (plan_.precise_) {
    for (const Place& place : places) {
      const auto values = values_at(place);
      auto encoded = encoder.encode_precisely_over(base, period_of(values), plan_.level(),
                                                   plan_.plaintext_scale_, ckks::Stored::one_period);
      plaintexts_.emplace(place.number, rlwe::stored_plaintext(std::move(encoded)));
    }
    return;
  }
  struct Rows {
    std::vector<std::size_t> numbers;
    std::vector<Complex> values;  // [diagonal, entry]
  };
  const auto encode_rows = [&](const Rows& rows) {
    auto encoded = encoder.encode_each_over(base, rows.values, rows.numbers.size(), plan_.level(),
                                            plan_.plaintext_scale_, ckks::Stored::one_period, HUGE_VAL);
    for (std::size_t i = 0; i < encoded.size(); ++i) {
      plaintexts_.emplace(rows.numbers[i], rlwe::stored_plaintext(std::move(encoded[i])));
    }
  };
  std::map<std::size_t, Rows> waiting;  // by their length
  for (const Place& place : places) {
    const auto values = values_at(place);
    const auto period = period_of(values);
    Rows& alike = waiting[period.size()];
    alike.numbers.push_back(place.number);
    alike.values.insert(alike.values.end(), period.begin(), period.end());
    if (alike.numbers.size() == at_once) encode_rows(std::exchange(alike, {}));
  }
  for (const auto& [length, alike] : waiting) {
    if (!alike.numbers.empty()) encode_rows(alike);
  }
}

// The plan's own keys, or others whose digits are extended to the primes that the plaintexts have.
PreparedLinearTransform::RotationKeys PreparedLinearTransform::keys_among(
    const rlwe::EvaluationKeys& keys, const std::vector<std::size_t>& rotations,
    const std::vector<std::size_t>& taken) const {
  const auto role_of = [&](std::size_t rotation) {
    return rlwe::KeyRole::galois(context_->galois_element(static_cast<std::int64_t>(rotation)));
  };
  if (rotations.empty()) return {.gadget = gadget_, .of = {}};
  std::vector<rlwe::GadgetPrimes> gadgets{plan_.gadget_};
  if (const auto first = keys.switching.find(role_of(rotations.front())); first != keys.switching.end()) {
    for (const auto& [gadget, key] : first->second) {
      const bool serves = gadget.special == plan_.gadget_.special && key->gadget->serves(plan_.level());
      if (serves && gadget != plan_.gadget_) gadgets.push_back(gadget);
    }
  }
  for (const rlwe::GadgetPrimes& gadget : gadgets) {
    const auto is_there = [&](std::size_t rotation) { return keys.has(role_of(rotation), gadget); };
    if (!std::ranges::all_of(rotations, is_there)) continue;
    RotationKeys result{.gadget = context_->gadget(gadget), .of = {}};
    for (const std::size_t rotation : taken)
      result.of.emplace(rotation, keys.find(role_of(rotation), gadget));
    return result;
  }
  constexpr std::size_t shown = 8;
  std::string needed, lacking;
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    const std::string rotation = std::to_string(rotations[i]);
    if (i < shown) needed += (i == 0 ? "" : ", ") + rotation;
    if (lacking.empty() && !keys.has(role_of(rotations[i]), plan_.gadget_)) lacking = rotation;
  }
  if (rotations.size() > shown) needed += ", ... (" + std::to_string(rotations.size()) + " in all)";
  throw MissingKeyError("linear transform: there is no key of its gadget for the rotation by " + lacking +
                        "; make keys for the transform: it needs those of rotations by " + needed);
}

ExtendedCiphertext PreparedLinearTransform::turned(const RotationKeys& keys, const ExtendedCiphertext& in,
                                                   std::size_t rotation) const {
  return rlwe::switch_extended(in, *keys.of.at(rotation),
                               context_->galois_element(static_cast<std::int64_t>(rotation)));
}

const rlwe::Ciphertext& PreparedLinearTransform::input(const ckks::Evaluator& evaluator,
                                                       const rlwe::Ciphertext& vector,
                                                       rlwe::Ciphertext& storage) const {
  rlwe::require_filled(vector, "linear transform");
  rlwe::require_same_context(*context_, *vector.context, "linear transform");
  if (vector.meta.slots != plan_.vector_slots_) {
    throw MismatchError("linear transform: a matrix over " + std::to_string(plan_.vector_slots_) +
                        " slots and a ciphertext of " + std::to_string(vector.meta.slots) +
                        "; make the matrix for as many");
  }
  const rlwe::Ciphertext& x = lowered_input(evaluator, vector, plan_.level(), storage);
  if (x.meta.level < plan_.level()) {
    throw LevelError("linear transform: it was made for level " + std::to_string(plan_.level()) +
                     ", and the ciphertext is at level " + std::to_string(x.meta.level) +
                     "; make it for that level");
  }
  if (plan_.vector_slots_ == plan_.slots_) return x;
  storage = with_slots(x, plan_.slots_);
  return storage;
}

rlwe::Ciphertext PreparedLinearTransform::operator()(const ckks::Evaluator& evaluator,
                                                     const rlwe::Ciphertext& vector) const {
  rlwe::require_filled(vector, "linear transform");
  rlwe::require_same_context(*context_, *vector.context, "linear transform");
  rlwe::require_same_context(*context_, *evaluator.context(), "linear transform");
  rlwe::Ciphertext storage;
  const rlwe::Ciphertext& x = input(evaluator, vector, storage);
  return finished(evaluator, products(evaluator, x), x.meta.largest);
}

ExtendedCiphertext PreparedLinearTransform::products(const ckks::Evaluator& evaluator,
                                                     const rlwe::Ciphertext& x) const {
  const RotationKeys keys = keys_among(evaluator.keys(), plan_.turns_, turns_);
  return plan_.fewest_keys_ ? step_by_step(keys, x) : by_all_keys(keys, x);
}

rlwe::Ciphertext PreparedLinearTransform::finished(const ckks::Evaluator& evaluator,
                                                   const ExtendedCiphertext& sum, double largest) const {
  rlwe::Ciphertext result = plan_.rescaled_ ? rlwe::mod_down_rescaled(sum) : rlwe::mod_down(sum);
  if (fold_) result = (*fold_)(evaluator, result);
  result.meta.largest = rlwe::largest_product(largest, largest_row_);
  result.meta.filled = 0;
  result.meta.padding = rlwe::Padding::zeros;
  result.meta.is_complex = result.meta.is_complex || is_complex_;
  return result;
}

// All baby steps and their products in one pass, then all giant steps in one.
ExtendedCiphertext PreparedLinearTransform::by_all_keys(const RotationKeys& keys,
                                                        const rlwe::Ciphertext& x) const {
  const auto element_of = [&](std::size_t rotation) {
    return context_->galois_element(static_cast<std::int64_t>(rotation));
  };
  const auto key_of = [&](std::size_t rotation) -> const rlwe::SwitchingKey* {
    return rotation == 0 ? nullptr : keys.of.at(rotation).get();
  };
  std::map<std::size_t, rlwe::HoistedTerm> babies;
  std::size_t number_of_group = 0;
  for (const auto& [giant, group] : groups_) {
    for (const auto& [baby, number] : group) {
      rlwe::HoistedTerm& term = babies[baby];
      if (term.factors.empty()) {
        term = {.key = key_of(baby), .galois_element = element_of(baby), .factors = {}};
        term.factors.resize(groups_.size());
      }
      term.factors[number_of_group] = &plaintexts_.at(number);
    }
    ++number_of_group;
  }
  std::vector<rlwe::HoistedTerm> terms;
  for (auto& [baby, term] : babies) terms.push_back(std::move(term));
  rlwe::ExtendedSums inner = rlwe::hoisted_products(x, keys.gadget, terms, groups_.size());
  if (groups_.size() == 1 && groups_.begin()->first == 0) {
    return {inner.context, inner.gadget, std::move(inner.meta.front()), std::move(inner.poly)};
  }
  if (plan_.giant_unit_ != 0) return by_one_giant_key(keys, inner);
  std::vector<rlwe::Turn> turns;
  for (const auto& [giant, group] : groups_) {
    turns.push_back({.key = key_of(giant), .galois_element = element_of(giant)});
  }
  return rlwe::turned_sum(inner, turns);
}

ExtendedCiphertext PreparedLinearTransform::by_one_giant_key(const RotationKeys& keys,
                                                             const rlwe::ExtendedSums& inner) const {
  std::size_t number = groups_.size();
  std::size_t at = groups_.rbegin()->first;
  ExtendedCiphertext sum = rlwe::sum_at(inner, --number);
  const auto turn_down_to = [&](std::size_t giant) {
    for (; at > giant; at -= plan_.giant_unit_) sum = turned(keys, sum, plan_.giant_unit_);
  };
  for (auto group = std::next(groups_.rbegin()); group != groups_.rend(); ++group) {
    turn_down_to(group->first);
    rlwe::add_inplace(sum, rlwe::sum_at(inner, --number));
  }
  turn_down_to(0);
  return sum;
}

// Each step from the one before, by the same two keys.
ExtendedCiphertext PreparedLinearTransform::step_by_step(const RotationKeys& keys,
                                                         const rlwe::Ciphertext& x) const {
  const std::set<std::size_t> babies = LinearTransform::babies_of(groups_);
  std::map<std::size_t, ExtendedCiphertext> steps;
  steps.emplace(0, rlwe::extend(x, keys.gadget));
  for (std::size_t step = plan_.stride_; step <= *babies.rbegin(); step += plan_.stride_) {
    const auto before = std::prev(steps.end());
    steps.emplace(step, turned(keys, before->second, plan_.stride_));
    if (!babies.contains(before->first)) steps.erase(before);
  }
  // From the farthest giant step down: each sum turns on with what comes after it.
  const std::size_t giant_stride = plan_.baby_steps_ * plan_.stride_;
  std::optional<ExtendedCiphertext> sum;
  std::size_t at = 0;
  const auto turn_down_to = [&](std::size_t giant) {
    for (; sum && at > giant; at -= giant_stride) sum = turned(keys, *sum, giant_stride);
  };
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    const auto& [giant, terms] = *group;
    ExtendedCiphertext inner;
    for (const auto& [baby, number] : terms) {
      rlwe::multiply_plain_add(inner, steps.at(baby), plaintexts_.at(number));
    }
    turn_down_to(giant);
    at = giant;
    if (sum) {
      rlwe::add_inplace(*sum, inner);
    } else {
      sum = std::move(inner);
    }
  }
  turn_down_to(0);
  return plan_.start_ == 0 ? std::move(*sum) : turned(keys, *sum, plan_.start_);
}

}  // namespace hemera::circuits
