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

#include "circuits/coefficient.hpp"
#include "circuits/linear/switch_cost.hpp"
#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::ExtendedCiphertext;

// The baby steps of all groups, by giant step.
std::set<std::size_t> babies_of(const std::map<std::size_t, std::map<std::size_t, std::size_t>>& groups) {
  std::set<std::size_t> babies;
  for (const auto& [giant, group] : groups) {
    for (const auto& [baby, number] : group) babies.insert(baby);
  }
  return babies;
}

// What the sum of a whole circuit's operations costs, in the same words.
std::size_t cost_of(const LinearTransform& transform) {
  const Work work = transform.cost().total_work();
  return work.key_products + work.products + 3 * (work.mod_ups + work.divisions);
}

// Diagonals that are encoded together: enough for all threads and for a device, while whole plaintexts of the
// batch take little of the memory that is left.
std::size_t most_at_once(const rlwe::Context& context, const poly::RnsBase& base) {
  constexpr std::size_t most = 32, most_bytes = std::size_t{1} << 26;
  const std::size_t bytes = std::min(most_bytes, context.memory()->available() / 8);
  return std::clamp<std::size_t>(bytes / (base.size() * context.degree() * sizeof(std::uint64_t)), 1, most);
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
    : Plan(parameters),
      slots_(slots),
      vector_slots_(options.wrapping.vector_period == 0 ? slots : options.wrapping.vector_period),
      result_period_(options.wrapping.result_period == 0 ? slots : options.wrapping.result_period),
      fewest_keys_(options.fewest_keys),
      precise_(options.precise),
      rescaled_(options.rescaled),
      own_keys_(options.own_keys) {
  require_options(parameters, slots, options);
  ends_.level = options.level.value_or(parameters.highest_user_level());
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
  diagonals_ = std::make_shared<const MatrixDiagonals>(std::move(diagonals));
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
  if (fewest_keys_) return rest + static_cast<double>(choose_steps(options)) * cost.giant;
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

// With one step after the other it is their number that counts. Diagonals on both sides of number 0 are
// counted from the far end of the widest gap between them, and the sum is turned by it at the end.
std::size_t LinearTransform::choose_steps(const LinearTransformOptions& options) {
  std::size_t start = diagonals().map().begin()->first;
  std::size_t widest = start + slots_ - diagonals().map().rbegin()->first;
  for (auto next = std::next(diagonals().map().begin()); next != diagonals().map().end(); ++next) {
    const std::size_t gap = next->first - std::prev(next)->first;
    if (gap > widest) {
      widest = gap;
      start = next->first;
    }
  }
  const std::size_t most = slots_ / stride_;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::size_t from : {std::size_t{0}, start}) {
    for (std::size_t steps = 1; steps <= most; steps *= 2) {
      if (options.baby_steps != 0 && steps != std::min(options.baby_steps, most)) continue;
      auto groups = split(from, steps);
      const std::size_t turns = *babies_of(groups).rbegin() / stride_ +
                                groups.rbegin()->first / (steps * stride_) + (from == 0 ? 0 : 1);
      if (turns >= fewest) continue;
      fewest = turns;
      start_ = from;
      baby_steps_ = steps;
      groups_ = std::move(groups);
    }
  }
  return fewest;
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

std::vector<std::size_t> LinearTransform::turns_of(const std::map<std::size_t, Group>& groups) const {
  const std::set<std::size_t> babies = babies_of(groups);
  std::set<std::size_t> rotations;
  if (fewest_keys_) {
    // One step after the other, from the farthest one that is there.
    if (*babies.rbegin() != 0) rotations.insert(stride_);
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

// Of the sum at the end. Usual keys are all of one gadget, which serves its level as well.
std::optional<rlwe::GadgetPrimes> LinearTransform::gadget_of(const rlwe::KeyRole& /*role*/,
                                                             std::size_t level) const {
  return own_keys_ ? rotation_gadget(parameters(), level, most_special_primes_of_transforms) : gadget_;
}

std::vector<Plan::Input> LinearTransform::inputs() const { return {{.slots = vector_slots_}}; }

Plan::Evaluation LinearTransform::bound(const std::shared_ptr<const rlwe::Context>& context) const {
  return [prepared = std::make_shared<PreparedLinearTransform>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

ExpectedError LinearTransform::error_from(double fresh) const {
  // By slot: of the input and the rotations, as often as a diagonal's entry is large.
  std::vector<double> variances(slots_);
  for (const auto& [giant, group] : groups_) {
    for (const auto& [baby, number] : group) {
      // A single rotation is not divided before its product; each of several is.
      const auto turns = static_cast<double>(fewest_keys_ ? baby / stride_ : (baby == 0 ? 0 : 1));
      const double divided = fewest_keys_ ? rounding_ : 0;
      const double turned =
          turns * (switching_ * switching_ + divided * divided) / (ends_.scale * ends_.scale);
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

PreparedLinearTransform::PreparedLinearTransform(std::shared_ptr<const rlwe::Context> context,
                                                 const LinearTransform& plan, const TransformShare& share)
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
  const std::set<std::size_t> babies = babies_of(groups_);
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
