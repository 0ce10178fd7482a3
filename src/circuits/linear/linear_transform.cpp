#include "hemera/circuits/linear/linear_transform.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "circuits/linear/switch_cost.hpp"
#include "circuits/linear/widest_gap.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::ExtendedCiphertext;

// The cost of a whole circuit's operations, in the same words.
std::size_t cost_of(const LinearTransform& transform) {
  const Work work = transform.cost().total_work();
  return work.key_products + work.products + 3 * (work.mod_ups + work.divisions);
}

// Without zeros.
std::shared_ptr<const MatrixDiagonals> checked(MatrixDiagonals diagonals, std::size_t slots) {
  for (const auto& [number, diagonal] : diagonals.map()) {
    const bool is_of_slots = diagonal.size() == slots || diagonal.size() == 1;
    if (number >= slots || !is_of_slots || !diagonal.is_finite()) {
      throw ParameterError("diagonal " + std::to_string(number) + " with " + std::to_string(diagonal.size()) +
                           " entries does not act on " + std::to_string(slots) +
                           " slots, or has an entry that is not finite");
    }
  }
  diagonals.drop_zeros();
  if (diagonals.size() == 0) {
    throw ParameterError("a linear transform without a diagonal that is not zero: its product is zero");
  }
  return std::make_shared<const MatrixDiagonals>(std::move(diagonals));
}

}  // namespace

void LinearTransform::require_options(const rlwe::Parameters& parameters, std::size_t slots,
                                      const LinearTransformOptions& options) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a linear transform is for CKKS, not for " + rlwe::name(parameters.scheme()));
  }
  if (!std::has_single_bit(slots) || slots > parameters.max_slots()) {
    throw ParameterError("a linear transform over " + std::to_string(slots) +
                         " slots; their number must be a power of two up to " +
                         std::to_string(parameters.max_slots()));
  }
  // A circuit that brings its gadget may end below the user's levels.
  const std::size_t lowest = options.gadget ? 0 : parameters.lowest_user_level();
  const std::size_t highest = options.gadget ? parameters.levels() - 1 : parameters.highest_user_level();
  const std::size_t level = options.level.value_or(parameters.highest_user_level());
  if (level <= lowest || level > highest) {
    throw LevelError("a linear transform at level " + std::to_string(level) +
                     ": it takes one level, so it starts from " + std::to_string(lowest + 1) + " to " +
                     std::to_string(highest) + "; use parameters of more depth");
  }
  if (options.baby_steps != 0 && !std::has_single_bit(options.baby_steps)) {
    throw ParameterError("baby_steps is " + std::to_string(options.baby_steps) + ", no power of two");
  }
  if (!std::has_single_bit(options.hoisted_steps) || (options.hoisted_steps != 1 && !options.fewest_keys)) {
    throw ParameterError("hoisted_steps is " + std::to_string(options.hoisted_steps) +
                         "; it is a power of two, and above 1 with fewest_keys alone");
  }
  if (options.members == 0) throw ParameterError("a linear transform of no member; it has one or more");
  if (options.own_keys && options.gadget) {
    throw ParameterError("a linear transform with a gadget, and with own_keys, which choose one");
  }
  const Wrapping& wrapping = options.wrapping;
  for (const std::size_t period : {wrapping.result_period, wrapping.vector_period}) {
    if (period == 0 || (std::has_single_bit(period) && period <= slots)) continue;
    throw ParameterError("a linear transform over " + std::to_string(slots) + " slots with a period of " +
                         std::to_string(period) + "; it must be a power of two up to them");
  }
  if (wrapping != Wrapping{} && (options.gadget || !options.rescaled)) {
    throw ParameterError(
        "a linear transform by wrapped diagonals ends in a sum at the next level, so it "
        "needs the user's gadgets and a result that is rescaled");
  }
  const bool is_scale = options.plaintext_scale >= 1 && std::isfinite(options.plaintext_scale);
  if (options.plaintext_scale != 0 && (options.rescaled || !is_scale)) {
    throw ParameterError("a linear transform by diagonals of scale " +
                         std::to_string(options.plaintext_scale) +
                         "; it is 1 or more, and of a result that is not rescaled");
  }
  if (options.steps && (options.baby_steps != 0 || options.fewest_keys)) {
    throw ParameterError(
        "a linear transform with steps, and with baby_steps or fewest_keys, which choose them; "
        "give one of these");
  }
}

LinearTransform::LinearTransform(const rlwe::Parameters& parameters, MatrixDiagonals diagonals,
                                 std::size_t slots, const LinearTransformOptions& options)
    : LinearTransform(parameters, checked(std::move(diagonals), slots), slots, options) {}

LinearTransform::LinearTransform(const rlwe::Parameters& parameters,
                                 std::shared_ptr<const MatrixDiagonals> diagonals, std::size_t slots,
                                 const LinearTransformOptions& options)
    : Plan(parameters),
      diagonals_(std::move(diagonals)),
      slots_(slots),
      vector_slots_(options.wrapping.vector_period == 0 ? slots : options.wrapping.vector_period),
      result_period_(options.wrapping.result_period == 0 ? slots : options.wrapping.result_period),
      fewest_keys_(options.fewest_keys),
      precise_(options.precise),
      rescaled_(options.rescaled),
      own_keys_(options.own_keys),
      hoisted_steps_(options.hoisted_steps) {
  require_options(parameters, slots, options);
  ends_.level = options.level.value_or(parameters.highest_user_level());
  gadget_ = options.gadget ? *options.gadget : parameters.default_gadget(ends_.level);
  if (own_keys_) {
    choose_gadget(options);
  } else {
    choose_groups(options);
  }
  choose_rotations();
  const rlwe::ScalePolicy scales(parameters);
  const rlwe::LevelScale& own = scales.policy().scales[ends_.level];
  ends_.scale = own.scale;
  ends_.result_level = ends_.level - (rescaled_ ? 1 : 0);
  ends_.result_scale = rescaled_ ? scales.level_scale(ends_.result_level) : own.product_scale;
  if (options.plaintext_scale != 0) ends_.result_scale = ends_.scale * options.plaintext_scale;
  plaintext_scale_ = ends_.result_scale * ((rescaled_ ? own.divisor : 1) / ends_.scale);
  rounding_ = division_error(parameters, slots_);
  switching_ = switching_error(parameters, gadget_, slots_);
  if (result_period_ != slots_) {
    fold_ = SlotCircuit::inner_sum(
        parameters, slots_, {.count = slots_ / result_period_, .stride = result_period_}, true,
        {.level = ends_.result_level, .fewest_keys = fewest_keys_, .own_keys = own_keys_});
    std::set<std::size_t> all(turns_.begin(), turns_.end());
    for (const std::size_t rotation : fold_->rotations()) all.insert(rotation);
    rotations_.assign(all.begin(), all.end());
  }
}

void LinearTransform::choose_gadget(const LinearTransformOptions& options) {
  double least = std::numeric_limits<double>::infinity();
  rlwe::GadgetPrimes best;
  for (const rlwe::GadgetPrimes& candidate : own_gadgets(parameters(), ends_.level)) {
    gadget_ = candidate;
    groups_.clear();
    const double own = choose_groups(options);
    if (own >= least) continue;
    least = own;
    best = candidate;
  }
  gadget_ = best;
  groups_.clear();
  choose_groups(options);
}

double LinearTransform::choose_groups(const LinearTransformOptions& options) {
  const SwitchCost cost(parameters(), gadget_, ends_.level);
  const auto of_member = [&](std::size_t all) {
    return static_cast<double>((all + options.members - 1) / options.members);
  };
  const double giant = options.members == 1 ? cost.giant : cost.shared_giant;
  const double rest = cost.input + cost.result + of_member(diagonals().size()) * cost.diagonal;
  // Rotations by 0 are none.
  const auto total = [&](const std::map<std::size_t, Group>& groups) {
    const std::set<std::size_t> babies = babies_of(groups);
    return static_cast<double>(babies.size() - babies.count(0)) * cost.baby +
           of_member(groups.size() - groups.count(0)) * giant;
  };
  if (options.steps) {
    take_steps(*options.steps);
    return rest + total(groups_);
  }
  stride_ = slots_;
  for (const auto& [number, diagonal] : diagonals().map()) stride_ = std::gcd(stride_, number);
  if (fewest_keys_) return rest + choose_steps(options, cost);
  const std::size_t most = slots_ / stride_;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t steps = 1; steps <= most; steps *= 2) {
    if (options.baby_steps != 0 && steps != std::min(options.baby_steps, most)) continue;
    auto groups = split(0, steps);
    const double own = total(groups);
    if (own >= least) continue;
    least = own;
    baby_steps_ = steps;
    groups_ = std::move(groups);
  }
  return rest + least;
}

// Steps that follow each other have an extension each, and those of one place one for all. Diagonals on both
// sides of number 0 are counted from the far end of the widest gap between them, and the sum is turned by it
// at the end.
double LinearTransform::choose_steps(const LinearTransformOptions& options, const SwitchCost& cost) {
  const std::size_t start = after_widest_gap(diagonals().map(), slots_);
  const std::size_t most = slots_ / stride_;
  const double extension = cost.giant - cost.baby;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t from : {std::size_t{0}, start}) {
    for (std::size_t steps = 1; steps <= most; steps *= 2) {
      if (options.baby_steps != 0 && steps != std::min(options.baby_steps, most)) continue;
      auto groups = split(from, steps);
      const Turns turns = chained(groups, steps * stride_, from != 0);
      const double own =
          static_cast<double>(turns.switches) * cost.baby + static_cast<double>(turns.extensions) * extension;
      if (own >= least) continue;
      least = own;
      start_ = from;
      baby_steps_ = steps;
      groups_ = std::move(groups);
    }
  }
  return least;
}

LinearTransform::Turns LinearTransform::chained(const std::map<std::size_t, Group>& groups,
                                                std::size_t giant_unit, bool turns_back) const {
  const std::set<std::size_t> babies = babies_of(groups);
  const std::size_t places = place_of(*babies.rbegin()).first;
  const std::size_t giants = groups.rbegin()->first / giant_unit + (turns_back ? 1 : 0);
  Turns turns{.switches = places + giants, .extensions = places + giants};
  bool at_last = false;  // whether a hoisted one begins at the last place
  for (const std::size_t baby : babies) {
    const auto [place, left] = place_of(baby);
    if (left == 0) continue;
    ++turns.switches;
    at_last = at_last || place == places;
  }
  if (at_last) ++turns.extensions;
  return turns;
}

LinearTransform::Turns LinearTransform::turns() const {
  if (fewest_keys_) return chained(groups_, baby_steps_ * stride_, start_ != 0);
  const std::set<std::size_t> babies = babies_of(groups_);
  const std::size_t hoisted = babies.size() - babies.count(0);
  const std::size_t giants =
      giant_unit_ != 0 ? groups_.rbegin()->first / giant_unit_ : groups_.size() - groups_.count(0);
  return {.switches = hoisted + giants, .extensions = giants + (hoisted == 0 ? 0 : 1)};
}

void LinearTransform::take_steps(const RotationSteps& steps) {
  giant_unit_ = steps.giant_unit;
  for (const auto* row : {&steps.baby, &steps.giant}) {
    for (const std::size_t step : *row) {
      if (step < slots_) continue;
      throw ParameterError("a linear transform over " + std::to_string(slots_) + " slots with a step of " +
                           std::to_string(step) + "; steps are below their number");
    }
  }
  const auto is_multiple = [&](std::size_t giant) { return giant % giant_unit_ == 0; };
  if (giant_unit_ != 0 && !std::all_of(steps.giant.begin(), steps.giant.end(), is_multiple)) {
    throw ParameterError("a linear transform with a giant step that is no multiple of " +
                         std::to_string(giant_unit_) + ", by whose key they are all taken");
  }
  std::set<std::size_t> left;
  for (const auto& [number, diagonal] : diagonals().map()) left.insert(number);
  for (const std::size_t giant : steps.giant) {
    for (const std::size_t baby : steps.baby) {
      const std::size_t number = (giant + baby) % slots_;
      if (left.erase(number) != 0) groups_[giant][baby] = number;
    }
  }
  if (left.empty()) return;
  throw ParameterError("a linear transform whose diagonal " + std::to_string(*left.begin()) +
                       " is no sum of one of its " + std::to_string(steps.baby.size()) + " baby and " +
                       std::to_string(steps.giant.size()) + " giant steps; give more of them");
}

std::map<std::size_t, LinearTransform::Group> LinearTransform::split(std::size_t start,
                                                                     std::size_t steps) const {
  std::map<std::size_t, Group> groups;
  for (const auto& [number, diagonal] : diagonals().map()) {
    const std::size_t place = (number + slots_ - start) % slots_;
    const std::size_t baby = place % (steps * stride_);
    groups[place - baby][baby] = number;
  }
  return groups;
}

void LinearTransform::choose_rotations() {
  turns_ = turns_of(groups_);
  rotations_ = turns_;
}

std::set<std::size_t> LinearTransform::babies_of(const std::map<std::size_t, Group>& groups) {
  std::set<std::size_t> babies;
  for (const auto& [giant, group] : groups) {
    for (const auto& [baby, number] : group) babies.insert(baby);
  }
  return babies;
}

std::vector<std::size_t> LinearTransform::turns_of(const std::map<std::size_t, Group>& groups) const {
  const std::set<std::size_t> babies = babies_of(groups);
  std::set<std::size_t> rotations;
  if (fewest_keys_) {
    // One step after the other, from the farthest one that is there.
    if (place_of(*babies.rbegin()).first != 0) rotations.insert(hoisted_steps_ * stride_);
    for (const std::size_t baby : babies) rotations.insert(place_of(baby).second * stride_);
    if (groups.rbegin()->first != 0) rotations.insert(baby_steps_ * stride_);
    rotations.insert(start_);
  } else {
    rotations = babies;
    const std::size_t farthest = groups.rbegin()->first;
    if (giant_unit_ != 0) rotations.insert(farthest == 0 ? 0 : giant_unit_);
    for (const auto& [giant, group] : groups) {
      if (giant_unit_ == 0) rotations.insert(giant);
    }
  }
  rotations.erase(0);
  return {rotations.begin(), rotations.end()};
}

// The gadget of the sum at the end. Usual keys are all of one gadget, which serves its level as well.
std::optional<rlwe::GadgetPrimes> LinearTransform::gadget_of(const rlwe::KeyRole& /*role*/,
                                                             std::size_t level) const {
  return own_keys_ ? rotation_gadget(parameters(), level, most_special_primes_of_transforms) : gadget_;
}

std::vector<Plan::Input> LinearTransform::inputs() const { return {{.slots = vector_slots_}}; }

Plan::Evaluation LinearTransform::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedLinearTransform>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

ExpectedError LinearTransform::error_from(double fresh) const {
  // Variances by slot, of the input and the rotations, as often as a diagonal's entry is large.
  std::vector<double> variances(slots_);
  for (const auto& [giant, group] : groups_) {
    for (const auto& [baby, number] : group) {
      // A single rotation is not divided before its product; each of several is.
      // So is all but the first switch of a chain, which begins with the ciphertext.
      const auto [place, left] = place_of(baby);
      const std::size_t turns = fewest_keys_ ? place + (left == 0 ? 0 : 1) : (baby == 0 ? 0 : 1);
      const std::size_t divisions = turns == 0 ? 0 : turns - 1;
      const double turned = (static_cast<double>(turns) * squared(switching_) +
                             static_cast<double>(divisions) * squared(rounding_)) /
                            squared(ends_.scale);
      diagonals().at(number).add_squares(variances, fresh * fresh + turned);
    }
  }
  const double encoding =
      static_cast<double>(diagonals().size() * 2 * slots_) / 12 / (plaintext_scale_ * plaintext_scale_);
  const double own = encoding + std::pow(rounding_ / ends_.result_scale, 2);
  const double sum = std::accumulate(variances.begin(), variances.end(), 0.0);
  const ExpectedError product = {
      .mean = std::sqrt(sum / static_cast<double>(slots_) + own),
      .worst = std::sqrt(*std::max_element(variances.begin(), variances.end()) + own)};
  if (!fold_) return product;
  return {.mean = fold_->expected_error(product.mean).mean,
          .worst = fold_->expected_error(product.worst).mean};
}

std::vector<Complex> LinearTransform::evaluate_clear(std::span<const Complex> values) const {
  if (values.size() != vector_slots_) {
    throw ParameterError("a linear transform over " + std::to_string(vector_slots_) + " slots was given " +
                         std::to_string(values.size()) + " values");
  }
  std::vector<Complex> result(slots_);
  for (const auto& [number, diagonal] : diagonals().map()) {
    for (std::size_t k = 0; k < slots_; ++k) result[k] += diagonal[k] * values[(k + number) % vector_slots_];
  }
  return fold_ ? fold_->evaluate_clear(result) : result;
}

std::size_t cheapest_result_period(const rlwe::Parameters& parameters, std::span<const std::size_t> numbers,
                                   std::size_t rows, std::size_t slots,
                                   const LinearTransformOptions& options) {
  // Diagonals of one number take the same operations.
  const auto counted = [&](std::size_t period) {
    MatrixDiagonals::Map diagonals;
    for (const std::size_t number : numbers) diagonals[number % period] = Diagonal(std::vector<double>{1});
    LinearTransformOptions own = options;
    own.wrapping.result_period = period == slots ? 0 : period;
    return cost_of(LinearTransform(parameters, MatrixDiagonals(std::move(diagonals)), slots, own));
  };
  const std::size_t period = std::bit_ceil(rows);
  if (period >= slots || numbers.empty()) return 0;
  std::set<std::size_t> wrapped;
  for (const std::size_t number : numbers) wrapped.insert(number % period);
  if (wrapped.size() == numbers.size()) return 0;
  return counted(period) < counted(slots) ? period : 0;
}

}  // namespace hemera::circuits
