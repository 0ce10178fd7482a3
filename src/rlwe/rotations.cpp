#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

// Signed binary digits of `value` with the fewest non-zero ones (the non-adjacent form).
std::vector<std::int64_t> signed_powers(std::int64_t value) {
  std::vector<std::int64_t> terms;
  for (std::int64_t power = 1; value != 0; power *= 2, value /= 2) {
    if (value % 2 == 0) continue;
    const std::int64_t digit = ((value % 4) + 4) % 4 == 1 ? 1 : -1;
    terms.push_back(digit * power);
    value -= digit;
  }
  return terms;
}

// Ordinary binary digits, all of the sign of `value`.
std::vector<std::int64_t> plain_powers(std::int64_t value) {
  std::vector<std::int64_t> terms;
  const std::int64_t sign = value < 0 ? -1 : 1;
  for (std::int64_t power = 1, rest = sign * value; rest != 0; power *= 2, rest /= 2) {
    if (rest % 2 != 0) terms.push_back(sign * power);
  }
  return terms;
}

// After an automorphism of slots that are not all alike, values are where the padding was.
void mark_turned(Metadata& meta, bool two_rows) {
  if (meta.padding == Padding::uniform || meta.filled == 0) return;
  if (two_rows) {
    meta.padding = Padding::values;
  } else {
    count_all(meta);
  }
}

std::int64_t wrap(std::int64_t steps, std::int64_t period) { return ((steps % period) + period) % period; }

// Candidate decompositions of a rotation, fewest terms first.
std::vector<std::vector<std::int64_t>> decompositions(std::int64_t steps, std::int64_t period) {
  const std::int64_t left = wrap(steps, period);
  std::vector<std::vector<std::int64_t>> candidates = {signed_powers(left), signed_powers(left - period),
                                                       plain_powers(left), plain_powers(left - period)};
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return candidates;
}

}  // namespace

std::vector<std::int64_t> Evaluator::rotation_plan(std::int64_t steps, const Ciphertext& a) const {
  require(a, "rotate");
  if (a.meta.encoding != Encoding::slots) {
    throw MismatchError("rotate: the ciphertext is encoded in coefficients; only slots can be rotated");
  }
  const auto all = static_cast<std::int64_t>(context_->degree() / 2);
  const auto period = static_cast<std::int64_t>(rotation_period(context_->parameters(), a.meta.slots));
  const auto has = [&](std::int64_t step) {
    return keys_.has(KeyRole::galois(context_->galois_element(step)));
  };
  if (context_->is_long_rotation(steps)) {
    if (has(steps)) return {steps};
    if (traits(context_->scheme()).two_rows && has(all)) {
      // Rotating by N/2 steps exchanges the rows, and nothing else.
      std::vector<std::int64_t> plan = rotation_plan(wrap(steps, all), a);
      plan.push_back(all);
      return plan;
    }
    throw MissingKeyError("rotation by " + std::to_string(steps) +
                          ", which is no rotation within the rows, needs a key of its own" +
                          missing_key_way_out(keys_));
  }
  if (wrap(steps, period) == 0) return {};
  for (std::int64_t same = wrap(steps, period); same < all; same += period) {
    if (has(same)) return {same};
  }
  const auto candidates = decompositions(steps, period);
  for (const auto& candidate : candidates) {
    if (std::all_of(candidate.begin(), candidate.end(), has)) return candidate;
  }
  std::string missing;
  for (const std::int64_t step : candidates.front()) {
    if (!has(step)) missing += (missing.empty() ? "" : ", ") + std::to_string(step);
  }
  const std::string own = std::to_string(steps);
  throw MissingKeyError(
      "rotation by " + own + " needs its key (" +
      Message(WayOut::keys_of_rotation, "generate_keys of a plan, or of the rotations") + " [" + own +
      "] alone)" + (missing == own ? "" : ", or those of rotations " + missing) + missing_key_way_out(keys_));
}

Ciphertext Evaluator::rotate(const Ciphertext& a, std::int64_t steps) const {
  require(a, "rotate");
  Ciphertext storage;
  const std::vector<std::int64_t> plan = rotation_plan(steps, a);
  const Ciphertext& source = at_size_two(a, storage);
  if (plan.empty()) return source.clone();
  Ciphertext result;
  const Ciphertext* current = &source;
  for (const std::int64_t step : plan) {
    const std::uint64_t element = context_->galois_element(step);
    result = apply_galois(*current, element, galois_key(element, step, current->meta.level));
    current = &result;
  }
  mark_turned(result.meta, traits(context_->scheme()).two_rows);
  return noticed(std::move(result), "rotate");
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& a,
                                                  std::span<const std::int64_t> steps) const {
  require(a, "rotate_hoisted");
  Ciphertext storage;
  const Ciphertext& source = at_size_two(a, storage);
  // Rotations that have a key of their own share one ModUp; those by 0 or by several keys are done singly.
  std::vector<Ciphertext> results(steps.size());
  std::vector<std::size_t> hoisted;
  std::vector<std::uint64_t> elements;
  std::vector<const SwitchingKey*> keys;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto plan = rotation_plan(steps[i], source);
    if (plan.size() == 1) {
      hoisted.push_back(i);
      elements.push_back(context_->galois_element(plan.front()));
      keys.push_back(&galois_key(elements.back(), plan.front(), source.meta.level));
    } else {
      results[i] = rotate(source, steps[i]);
    }
  }
  auto rotated = apply_galois_hoisted(source, elements, keys);
  for (std::size_t i = 0; i < hoisted.size(); ++i) {
    mark_turned(rotated[i].meta, traits(context_->scheme()).two_rows);
    results[hoisted[i]] = noticed(std::move(rotated[i]), "rotate_hoisted");
  }
  return results;
}

Ciphertext Evaluator::conjugate(const Ciphertext& a) const {
  require(a, "conjugate");
  if (a.meta.encoding != Encoding::slots) {
    throw MismatchError("conjugate: the ciphertext is encoded in coefficients; only slots can be exchanged");
  }
  Ciphertext storage;
  const std::uint64_t element = context_->conjugation_element();
  Ciphertext result = apply_galois(at_size_two(a, storage), element, galois_key(element, 0, a.meta.level));
  const bool two_rows = traits(context_->scheme()).two_rows;
  if (two_rows) mark_turned(result.meta, two_rows);
  return noticed(std::move(result), "conjugate");
}

Ciphertext Evaluator::sum_slots(const Ciphertext& a) const {
  require(a, "sum_slots");
  const std::size_t period = rotation_period(context_->parameters(), a.meta.slots);
  const bool two_rows = traits(context_->scheme()).two_rows;
  Ciphertext storage;
  auto fresh = refreshed_for_sum(a, two_rows ? 2 * period : period);
  Ciphertext sum = fresh ? std::move(*fresh) : at_size_two(a, storage).clone();
  for (std::size_t step = 1; step < period; step *= 2) {
    add_inplace(sum, rotate(sum, static_cast<std::int64_t>(step)));
  }
  if (two_rows) add_inplace(sum, conjugate(sum));
  sum.meta.filled = a.meta.filled;
  sum.meta.padding = Padding::uniform;
  return sum;
}

std::vector<std::int64_t> rotations_for_sum(const Parameters& parameters, std::size_t slots) {
  const std::size_t period = rotation_period(parameters, slots);
  std::vector<std::int64_t> steps;
  for (std::size_t step = 1; step < period; step *= 2) steps.push_back(static_cast<std::int64_t>(step));
  return steps;
}

std::vector<std::int64_t> rotations_needed(std::span<const std::int64_t> steps, std::size_t period) {
  if (period == 0 || !std::has_single_bit(period)) {
    throw ParameterError("rotations_needed: the period " + std::to_string(period) + " is not a power of two");
  }
  std::vector<std::int64_t> needed;
  for (const std::int64_t step : steps) {
    const auto candidates = decompositions(step, static_cast<std::int64_t>(period));
    needed.insert(needed.end(), candidates.front().begin(), candidates.front().end());
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

}  // namespace hemera::rlwe
