#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "circuits/plan_input.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/host_threads.hpp"
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

ExtendedCiphertext only_sum(rlwe::ExtendedSums sums) {
  return {sums.context, sums.gadget, std::move(sums.meta.front()), std::move(sums.poly)};
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
    return plan_.diagonals().at(place.number).turned_period(place.turn);
  };
  const std::size_t at_once = most_at_once(*context_, base);
  if (runtime::ThreadPool* threads = rlwe::host_threads(*context_)) {
    std::vector<rlwe::Plaintext> encoded(places.size());
    const auto encode_one = [&](std::size_t i, std::size_t /*slot*/) {
      const auto values = values_at(places[i]);
      encoded[i] = plan_.precise_
                       ? encoder.encode_precisely_over(base, values, plan_.level(), plan_.plaintext_scale_,
                                                       ckks::Stored::one_period)
                       : encoder.encode_over(base, values, {}, plan_.level(), plan_.plaintext_scale_,
                                             ckks::Stored::one_period, HUGE_VAL);
    };
    threads->parallel_for_slots(places.size(), encode_one, static_cast<int>(at_once));
    for (std::size_t i = 0; i < places.size(); ++i) {
      plaintexts_.emplace(places[i].number, std::move(encoded[i]));
    }
    return;
  }
  if (plan_.precise_) {
    for (const Place& place : places) {
      const auto values = values_at(place);
      auto encoded = encoder.encode_precisely_over(base, values, plan_.level(), plan_.plaintext_scale_,
                                                   ckks::Stored::one_period);
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
    Rows& alike = waiting[values.size()];
    alike.numbers.push_back(place.number);
    alike.values.insert(alike.values.end(), values.begin(), values.end());
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
                        "; " + Message(WayOut::keys_of_transform, "make keys for the transform") +
                        ": it needs those of rotations by " + needed);
}

rlwe::Turn PreparedLinearTransform::turn_by(const RotationKeys& keys, std::size_t rotation) const {
  return {.key = rotation == 0 ? nullptr : keys.of.at(rotation).get(),
          .galois_element = context_->galois_element(static_cast<std::int64_t>(rotation))};
}

ExtendedCiphertext PreparedLinearTransform::turned(const RotationKeys& keys, const ExtendedCiphertext& in,
                                                   std::size_t rotation) const {
  const rlwe::Turn turn = turn_by(keys, rotation);
  return rlwe::turned_sum(in, std::span(&turn, 1));
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
  const TermStart start = [&](std::size_t baby, rlwe::HoistedTerm& term) {
    const rlwe::Turn turn = turn_by(keys, baby);
    term.key = turn.key;
    term.galois_element = turn.galois_element;
  };
  rlwe::ExtendedSums inner =
      rlwe::hoisted_products(x, keys.gadget, terms_of(0, groups_.size(), start), groups_.size());
  if (groups_.size() == 1 && groups_.begin()->first == 0) return only_sum(std::move(inner));
  if (plan_.giant_unit_ != 0) {
    std::optional<ExtendedCiphertext> sum;
    add_giants(sum, keys, inner, 0, plan_.giant_unit_);
    return std::move(*sum);
  }
  std::vector<rlwe::Turn> turns;
  for (const auto& [giant, group] : groups_) turns.push_back(turn_by(keys, giant));
  return rlwe::turned_sum(inner, turns);
}

std::vector<rlwe::HoistedTerm> PreparedLinearTransform::terms_of(std::size_t first, std::size_t count,
                                                                 const TermStart& start) const {
  std::map<std::size_t, rlwe::HoistedTerm> babies;
  auto group = std::next(groups_.begin(), static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < count; ++i, ++group) {
    for (const auto& [baby, number] : group->second) {
      rlwe::HoistedTerm& term = babies[baby];
      if (term.factors.empty()) {
        term.factors.resize(count);
        start(baby, term);
      }
      term.factors[i] = &plaintexts_.at(number);
    }
  }
  std::vector<rlwe::HoistedTerm> terms;
  for (auto& [baby, term] : babies) terms.push_back(std::move(term));
  return terms;
}

// From the farthest giant step down: each sum turns on with what comes after it.
void PreparedLinearTransform::add_giants(std::optional<ExtendedCiphertext>& sum, const RotationKeys& keys,
                                         const rlwe::ExtendedSums& inner, std::size_t first,
                                         std::size_t unit) const {
  const auto begin = std::next(groups_.begin(), static_cast<std::ptrdiff_t>(first));
  auto group = std::next(begin, static_cast<std::ptrdiff_t>(inner.meta.size()));
  // Where the sum stands: at the step of the group before.
  std::size_t at = sum ? group->first : 0;
  for (std::size_t number = inner.meta.size(); number-- > 0;) {
    --group;
    if (sum) {
      for (; at > group->first + unit; at -= unit) sum = turned(keys, *sum, unit);
      const rlwe::Turn turn = turn_by(keys, unit);
      sum = rlwe::turned_onto(inner, number, *sum, *turn.key, turn.galois_element);
    } else {
      sum = rlwe::sum_at(inner, number);
    }
    at = group->first;
  }
  if (first != 0) return;
  for (; at > 0; at -= unit) sum = turned(keys, *sum, unit);
}

// Each place of the chain from the one before, by one key. Baby steps in between begin at its places, and are
// made with the products.
ExtendedCiphertext PreparedLinearTransform::step_by_step(const RotationKeys& keys,
                                                         const rlwe::Ciphertext& x) const {
  const std::size_t unit = plan_.hoisted_steps_ * plan_.stride_;
  std::map<std::size_t, bool> places;  // where baby steps begin; whether one is beyond it
  for (const std::size_t baby : LinearTransform::babies_of(groups_)) {
    const auto [place, left] = plan_.place_of(baby);
    places[place] = places[place] || left != 0;
  }
  const std::size_t last = places.rbegin()->first;
  std::vector<rlwe::SplitCiphertext> chain;
  std::map<std::size_t, std::size_t> sources;  // by place
  rlwe::SplitCiphertext now;
  for (std::size_t place = 0; place <= last; ++place) {
    const auto used = places.find(place);
    const bool is_split = place < last || used->second;
    if (place == 0) {
      now = is_split ? rlwe::split(x, keys.gadget)
                     : rlwe::SplitCiphertext{rlwe::extend(x, keys.gadget), poly::Poly()};
    } else if (is_split) {
      now = rlwe::split(std::move(now.value));
    }
    std::optional<ExtendedCiphertext> next;
    if (place < last) {
      const rlwe::Turn turn = turn_by(keys, unit);
      next = rlwe::turned_sum(now, std::span(&turn, 1));
    }
    if (used != places.end()) {
      if (!used->second) now.digits = poly::Poly();
      sources[place] = chain.size();
      chain.push_back(std::move(now));
    }
    if (next) now = {std::move(*next), poly::Poly()};
  }
  const TermStart start = [&](std::size_t baby, rlwe::HoistedTerm& term) {
    const auto [place, left] = plan_.place_of(baby);
    const rlwe::Turn turn = turn_by(keys, left * plan_.stride_);
    term.key = turn.key;
    term.galois_element = turn.galois_element;
    term.source = sources.at(place);
  };
  // Some groups at a time: their sums are as large as the chain.
  constexpr std::size_t most = 16;
  std::optional<ExtendedCiphertext> sum;
  for (std::size_t end = groups_.size(); end != 0;) {
    const std::size_t first = end - std::min(end, most);
    rlwe::ExtendedSums inner =
        rlwe::hoisted_products(chain, terms_of(first, end - first, start), end - first);
    if (first == 0) chain.clear();
    if (plan_.has_one_step()) {
      sum = only_sum(std::move(inner));
    } else {
      add_giants(sum, keys, inner, first, plan_.baby_steps_ * plan_.stride_);
    }
    end = first;
  }
  return plan_.start_ == 0 ? std::move(*sum) : turned(keys, *sum, plan_.start_);
}

}  // namespace hemera::circuits
