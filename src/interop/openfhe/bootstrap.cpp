#include "interop/openfhe/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/imaginary_unit.hpp"
#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/switch_extent.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::interop::openfhe {
namespace {

using Number = std::complex<double>;
using circuits::LinearTransform;
using rlwe::Ciphertext;

// What a distribution of secrets asks of the sine: the range of the multiples of q_0, double angles, and the
// degree of the polynomial: the largest of OddSteps' products, which OpenFHE's 88, 44 and 32 take as well.
struct Sine {
  int bound, angles;
  std::size_t degree;
};

// The multiples of q_0 that a uniform secret makes have a deviation of sqrt(N / 18). OpenFHE takes 8.49 of
// them at N = 2^16, and as large a bound in smaller rings, where results would be less precise by it.
Sine sine_of(SecretType secret, std::size_t degree) {
  const int bound = std::min(512, static_cast<int>(std::ceil(512 * std::sqrt(std::ldexp(degree, -16)))));
  switch (secret) {
    case SecretType::uniform:
      return {.bound = bound, .angles = 6, .degree = 90};
    case SecretType::sparse:
      return {.bound = 28, .angles = 3, .degree = 48};
    case SecretType::sparse_encapsulated:
      return {.bound = 16, .angles = 3, .degree = 34};
    default:
      return {.bound = 512, .angles = 6, .degree = 90};
  }
}

// Coefficients of the polynomial that has the function's values at the Chebyshev nodes; doubles would lose
// three digits to the double angles.
std::vector<double> chebyshev_coefficients(const std::function<long double(long double)>& f,
                                           std::size_t degree) {
  const std::size_t nodes = degree + 1;
  constexpr long double pi = std::numbers::pi_v<long double>;
  std::vector<double> coefficients;
  for (std::size_t power = 0; power < nodes; ++power) {
    long double sum = 0;
    for (std::size_t k = 0; k < nodes; ++k) {
      const long double angle = pi * (static_cast<long double>(k) + 0.5L) / static_cast<long double>(nodes);
      sum += f(std::cos(angle)) * std::cos(static_cast<long double>(power) * angle);
    }
    coefficients.push_back(static_cast<double>(sum * (power == 0 ? 1 : 2) / static_cast<long double>(nodes)));
  }
  return coefficients;
}

// A polynomial of input 0 in the Chebyshev basis, by T_m, T_2m and T_4m for an odd m, and T_1 to T_m. (M.
// Paterson, L. Stockmeyer, 1973.) Values are near 0, where the noise of T_2 is doubled twice by each further
// doubling: so there are few.
class OddSteps {
 public:
  OddSteps(circuits::Function& function, const std::vector<double>& coefficients)
      : function_(function), base_(((coefficients.size() - 1) / 7 + 1) | 1) {
    chebyshev_[1] = 0;
    const auto [high, low] = divided(coefficients, 4 * base_);
    const auto [high_high, high_low] = divided(high, 2 * base_);
    const auto [low_high, low_low] = divided(low, 2 * base_);
    circuits::Function::Sum first = part(high_low);
    first.products.insert(first.products.begin(), {function_.add(part(high_high)), chebyshev(2 * base_)});
    circuits::Function::Sum last = part(low_low);
    last.products.insert(last.products.begin(), {{function_.add(std::move(first)), chebyshev(4 * base_)},
                                                 {function_.add(part(low_high)), chebyshev(2 * base_)}});
    value_ = function_.add(std::move(last));
  }

  [[nodiscard]] std::size_t value() const { return value_; }

 private:
  // p = q T_n + r, by T_a T_b = (T_(a+b) + T_|a-b|) / 2.
  static std::pair<std::vector<double>, std::vector<double>> divided(const std::vector<double>& p,
                                                                     std::size_t n) {
    std::vector<double> quotient = {0};
    std::vector<double> rest(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(std::min(n, p.size())));
    rest.resize(n);
    for (std::size_t power = n; power < p.size(); ++power) {
      quotient.resize(power - n + 1);
      quotient[power - n] = power == n ? p[power] : 2 * p[power];
      if (power != n) rest[2 * n - power] -= p[power];
    }
    return {quotient, rest};
  }

  // T_power, of the fewest products one after the other.
  std::size_t chebyshev(std::size_t power) {
    if (const auto known = chebyshev_.find(power); known != chebyshev_.end()) return known->second;
    const std::size_t more = (power + 1) / 2;
    const std::size_t less = power / 2;
    circuits::Function::Sum sum{
        .factor = 2, .products = {{chebyshev(more), chebyshev(less)}}, .terms = {}, .constant = {0}};
    if (more == less) {
      sum.constant = {-1};
    } else {
      sum.terms.push_back({chebyshev(1), {-1}});
    }
    return chebyshev_[power] = function_.add(std::move(sum));
  }

  // By T_m, of a degree below 2m.
  circuits::Function::Sum part(const std::vector<double>& coefficients) {
    if (coefficients.size() <= base_ + 1) return leaf(coefficients);
    const auto [quotient, rest] = divided(coefficients, base_);
    const std::size_t factor = function_.add(leaf(quotient));
    circuits::Function::Sum sum = leaf(rest);
    sum.products = {{factor, chebyshev(base_)}};
    return sum;
  }

  circuits::Function::Sum leaf(const std::vector<double>& coefficients) {
    circuits::Function::Sum sum{.factor = 1, .products = {}, .terms = {}, .constant = {coefficients[0]}};
    for (std::size_t power = 1; power < coefficients.size(); ++power) {
      if (coefficients[power] != 0) sum.terms.push_back({chebyshev(power), {coefficients[power]}});
    }
    return sum;
  }

  circuits::Function& function_;
  std::size_t base_;
  std::map<std::size_t, std::size_t> chebyshev_;
  std::size_t value_ = 0;
};

constexpr long double turn = 2 * std::numbers::pi_v<long double>;

// The polynomial of degree 2n that has the function's values at -n / bound to n / bound, in the barycentric
// form: its weights at equidistant points are binomial coefficients of alternating sign.
std::function<long double(long double)> through_multiples(const std::function<long double(long double)>& f,
                                                          std::size_t degree, int bound) {
  std::vector<long double> points, values, weights;
  long double weight = 1;
  for (std::size_t j = 0; j <= degree; ++j) {
    const long double multiple = static_cast<long double>(j) - static_cast<long double>(degree) / 2;
    points.push_back(multiple / bound);
    values.push_back(f(points.back()));
    weights.push_back(weight);
    weight *= -static_cast<long double>(degree - j) / static_cast<long double>(j + 1);
  }
  return [=](long double v) {
    long double sum = 0, total = 0;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (v == points[j]) return values[j];
      const long double share = weights[j] / (v - points[j]);
      sum += share * values[j];
      total += share;
    }
    return sum / total;
  };
}

// factor sin(2 pi K v) for v in [-1, 1], after the last of the double angles; `angles` of them are taken.
circuits::Function scaled_sine(const Sine& sine, long double factor, int angles) {
  const long double parts = std::exp2(static_cast<long double>(sine.angles));
  const std::function<long double(long double)> cosine = [&](long double v) {
    return std::pow(factor, 1 / parts) * std::cos(turn * (sine.bound * v - 0.25L) / parts);
  };
  circuits::Function function(std::vector<circuits::Interval>{{-1, 1}});
  // Inputs lie within 2^-(correction) of multiples of q_0. Where the degree is enough for all of these, and
  // for one more on each side, the polynomial takes the cosine's values there, and any between.
  const bool meets_all = sine.degree >= 2 * static_cast<std::size_t>(sine.bound + 1);
  const auto values = meets_all ? through_multiples(cosine, sine.degree, sine.bound) : cosine;
  std::size_t value = OddSteps(function, chebyshev_coefficients(values, sine.degree)).value();
  for (int i = 1 - sine.angles; i <= angles - sine.angles; ++i) {
    const auto constant = static_cast<double>(-std::pow(factor, std::exp2(static_cast<long double>(i))));
    value = function.add(circuits::Function::Sum{
        .factor = 2, .products = {{value, value}}, .terms = {}, .constant = {constant}});
  }
  function.set_outputs({value});
  return function;
}

// How OpenFHE shares log2(slots) layers among the levels of a budget.
struct Layers {
  std::size_t each = 0;
  std::size_t rows = 0;
  std::size_t rest = 0;

  Layers(std::size_t log_slots, std::size_t budget) {
    const auto share = [&](std::size_t size) {
      each = size;
      rows = log_slots / each;
      rest = log_slots % each;
    };
    share((log_slots + budget - 1) / budget);
    if (count() < budget) {
      share(each - 1);
      while (count() > budget) {
        --rows;
        rest = log_slots - rows * each;
      }
    }
  }
  [[nodiscard]] std::size_t count() const { return rows + (rest != 0 ? 1 : 0); }
  [[nodiscard]] std::vector<std::size_t> stages() const {
    std::vector<std::size_t> result(rows, each);
    if (rest != 0) result.push_back(rest);
    return result;
  }
};

std::int64_t baby_steps(std::size_t layers) {
  const bool many = (std::size_t{2} << layers) - 1 > 7;
  return std::int64_t{1} << (layers / 2 + 1 + (many ? 1 : 0));
}

// A stage's rotations: (first + j) stride for j < count, modulo the number of slots or not, and outer ones by
// multiples of count stride.
struct Split {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::int64_t outer = 1;
  std::int64_t stride = 1;
  bool is_reduced = false;
};

std::size_t modulo(std::int64_t a, std::size_t m) {
  const auto modulus = static_cast<std::int64_t>(m);
  return static_cast<std::size_t>((a % modulus + modulus) % modulus);
}

// How the values that a stage reads lie: `slots` of them, or real and imaginary parts one after the other,
// which it takes together or makes.
enum class Parts : std::uint8_t { whole, makes_parts, takes_parts };

// A stage over all slots of the ring, where what repeats may be turned by either of several numbers.
struct Stage {
  circuits::Diagonals matrix;
  circuits::RotationSteps steps;
};

// With `pending`: the stage reads values that are still to be turned by it. It takes rotations from 0 on, by
// one giant key, and adds to `pending` the one that its result is still to be turned by.
Stage make_stage(const circuits::Diagonals& matrix, std::size_t slots, std::size_t ring_slots,
                 const Split& split, Parts parts, double factor, std::int64_t* pending) {
  const std::size_t width = parts == Parts::whole ? slots : 2 * slots;
  Stage stage;
  const std::int64_t offset = pending == nullptr ? 0 : split.first * split.stride;
  if (pending != nullptr) {
    *pending += offset;
    stage.steps.giant_unit = static_cast<std::size_t>(split.count * split.stride);
  }
  std::vector<std::int64_t> inner;
  for (std::int64_t j = 0; j < split.count; ++j) {
    const std::int64_t rotation = (split.first + j) * split.stride;
    const bool is_reduced = split.is_reduced && pending == nullptr;
    inner.push_back(is_reduced ? static_cast<std::int64_t>(modulo(rotation, slots)) : rotation);
    stage.steps.baby.push_back(modulo(inner.back() - offset, ring_slots));
  }
  std::set<std::size_t> taken;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    const std::int64_t outer = o * split.count * split.stride;
    // Rotations from 0 on reach every diagonal before they have gone round.
    if (pending != nullptr && outer >= static_cast<std::int64_t>(slots)) break;
    stage.steps.giant.push_back(modulo(outer, ring_slots));
    for (const std::int64_t j : inner) {
      const std::int64_t rotation = outer + j;
      const auto diagonal = matrix.find(modulo(rotation, slots));
      if (diagonal == matrix.end() || !taken.insert(diagonal->first).second) continue;
      std::vector<Number> values(ring_slots);
      for (std::size_t k = 0; k < ring_slots; ++k) {
        values[k] = factor * diagonal->second[k % slots];
        // The second half of the rows makes imaginary parts; the second half of the columns holds them.
        if (parts == Parts::makes_parts && k % width >= slots) values[k] *= Number(0, -1);
        if (parts == Parts::takes_parts && modulo(static_cast<std::int64_t>(k) + rotation, width) >= slots) {
          values[k] *= Number(0, 1);
        }
      }
      if (pending != nullptr) {
        std::rotate(values.begin(),
                    values.begin() + static_cast<std::ptrdiff_t>(modulo(-*pending, ring_slots)),
                    values.end());
      }
      stage.matrix[modulo(rotation - offset, ring_slots)] = std::move(values);
    }
  }
  if (taken.size() != matrix.size()) {
    throw ParameterError("bootstrap: the settings have too few baby steps for their budgets");
  }
  return stage;
}

void rescale_all(const ckks::Evaluator& evaluator, Ciphertext& x) {
  for (int degree = x.meta.noise_scale_degree; degree > 1; --degree) evaluator.rescale_inplace(x);
}

// With the moduli themselves as divisors. FIXEDMANUAL and FIXEDAUTO take 2^bits for each: values are off by
// a small part of themselves, but so are the multiples of q_0, whose error the correction magnifies.
rlwe::Parameters with_exact_divisors(const rlwe::Parameters& parameters) {
  rlwe::ParametersLiteral literal = parameters.literal();
  rlwe::RescalingPolicy policy = parameters.rescaling();
  for (std::size_t level = 1; level < policy.scales.size(); ++level) {
    policy.scales[level].divisor = static_cast<double>(literal.levels[level].back());
  }
  literal.rescaling = std::move(policy);
  return rlwe::Parameters(std::move(literal));
}

// Results have the scales of their plans; a rescale would divide by the context's divisors.
void apply(const std::vector<circuits::PreparedLinearTransform>& stages, const ckks::Evaluator& evaluator,
           Ciphertext& x) {
  for (const auto& stage : stages) {
    x = stage(evaluator, x);
    x.meta.scale = stage.plan().cost().result_scale;
  }
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

Bootstrapper::Bootstrapper(std::shared_ptr<const rlwe::Context> context, const CryptoContext& client,
                           const BootstrapSettings& settings, std::uint32_t correction_factor,
                           GiantSteps giant_steps)
    : context_(std::move(context)),
      slots_(settings.slots),
      encapsulated_(client.parameters->secret == SecretType::sparse_encapsulated),
      decodes_first_(settings.encodes_slots.value_or(false)) {
  const rlwe::Parameters parameters = with_exact_divisors(context_->parameters());
  if (!std::has_single_bit(slots_) || slots_ < 2 || slots_ > parameters.max_slots()) {
    throw ParameterError("bootstrap: the settings are for " + std::to_string(slots_) + " slots");
  }
  const auto log_slots = static_cast<std::size_t>(std::countr_zero(slots_));
  // Two parts, real and imaginary, of what has as many coefficients as the ring, or complex slots.
  takes_both_ =
      decodes_first_ ? client.parameters->data_type == complex_data : slots_ == parameters.max_slots();
  is_side_by_side_ = !decodes_first_ && slots_ != parameters.max_slots();
  const Sine sine = sine_of(client.parameters->secret, parameters.degree());
  const double q0 = static_cast<double>(context_->base(0).modulus(0).value());
  const auto bits = static_cast<double>(client.parameters->encoding->plain_modulus);
  const double given_correction = correction_factor - std::round(std::log2(q0) - bits);
  const std::size_t encode_budget = settings.budget_encode, decode_budget = settings.budget_decode;
  if (encode_budget < 1 || decode_budget < 1 || encode_budget > log_slots || decode_budget > log_slots ||
      given_correction < 0 || given_correction > 60) {
    throw ParameterError("bootstrap: the budgets or the correction factor of the settings are out of range");
  }
  const int correction = static_cast<int>(given_correction);
  const auto& scales = parameters.rescaling().scales;
  input_scale_ = std::ldexp(scales[0].scale, -correction);
  // SlotToCoeff at the end brings the sine to the input's scale; without it the last double angle does, which
  // is a product that OpenFHE does not rescale.
  const double gain = q0 / input_scale_;
  const int angles = sine.angles - (decodes_first_ ? 1 : 0);
  circuits::Function function = scaled_sine(sine, (decodes_first_ ? gain : 1) / turn, angles);
  const std::size_t sine_levels = function.depth() + (decodes_first_ ? 1 : 0);
  // From the top, to where SlotToCoeff at the end begins; and all that are rescaled.
  const std::size_t levels_above = 1 + encode_budget + sine_levels;
  const std::size_t levels = levels_above + decode_budget - 1;
  const std::size_t extra = client.parameters->scaling == Scaling::flexible_auto_ext ? 1 : 0;
  // The input has a level to spare or those of SlotToCoeff, and the result more than that.
  if (levels + extra + 2 > context_->top_level()) {
    throw ParameterError(
        "bootstrap: it takes " + std::to_string(levels) + " of the context's " +
        std::to_string(context_->top_level() - extra) +
        " levels, which leaves no more than it begins with; use a larger multiplicative depth");
  }
  const std::size_t top = context_->top_level() - extra;
  raised_level_ = top;
  raised_scale_ = q0 * 2 * sine.bound * static_cast<double>(parameters.max_slots() / slots_);
  // An integer brings them to the next level's scale, but for its rounding.
  const double wanted = scales[top - 1].scale * (scales[top].divisor / raised_scale_);
  raised_factor_ = std::nearbyint(wanted);

  // Rotations: those of one dense matrix, or of collapsed layers, whose diagonals lie around number 0.
  const bool dense = encode_budget == 1 && decode_budget == 1;
  const auto split_of = [&](std::size_t stages, std::int64_t stride, std::uint32_t given, bool is_rest,
                            bool is_reduced) {
    if (dense) {  // with CoeffToSlot's steps for both
      given = settings.baby_steps_encode;
      // 1.4 writes 0 for its own choice.
      const std::int64_t own = settings.encodes_slots
                                   ? baby_steps(stages)
                                   : static_cast<std::int64_t>(std::ceil(std::sqrt(slots_)));
      const std::int64_t count = given != 0 ? static_cast<std::int64_t>(given) : own;
      if (count > static_cast<std::int64_t>(parameters.max_slots())) {
        throw ParameterError("bootstrap: the settings have " + std::to_string(count) +
                             " baby steps, more than there are slots");
      }
      return Split{.first = 0,
                   .count = count,
                   .outer = (static_cast<std::int64_t>(slots_) + count - 1) / count,
                   .stride = 1,
                   .is_reduced = is_reduced};
    }
    const std::int64_t diagonals = (std::int64_t{2} << stages) - 1;
    const std::int64_t count =
        !is_rest && given != 0 && given <= diagonals ? static_cast<std::int64_t>(given) : baby_steps(stages);
    return Split{.first = 1 - (std::int64_t{1} << stages),
                 .count = count,
                 .outer = (diagonals + count) / count,
                 .stride = stride,
                 .is_reduced = is_reduced};
  };

  // What SlotToCoeff leaves out, also where it comes first.
  const std::int64_t decode_turn = dense ? 0 : 1 - static_cast<std::int64_t>(slots_);
  std::int64_t pending = decodes_first_ ? decode_turn : 0;
  const auto add_stage = [&](std::vector<circuits::PreparedLinearTransform>& stages,
                             const circuits::Diagonals& matrix, const Split& split, Parts parts,
                             double factor, std::size_t level, bool rescaled) {
    Stage stage = make_stage(matrix, slots_, parameters.max_slots(), split, parts, factor,
                             giant_steps == GiantSteps::one_key ? &pending : nullptr);
    const LinearTransform plan(parameters, std::move(stage.matrix), parameters.max_slots(),
                               {.level = level,
                                .rescaled = rescaled,
                                .gadget = parameters.default_gadget(context_->top_level()),
                                .steps = std::move(stage.steps)});
    stages.emplace_back(context_, plan);
  };

  // CoeffToSlot, from slots of (m / q_0 + I) / 2K to coefficients k + i (slots + k), of which real parts are
  // taken by adding the conjugate.
  const Layers encode(log_slots, encode_budget);
  const std::vector<std::size_t> encode_stages = encode.stages();
  const auto encode_factors = circuits::coefficients_to_slots_factors(slots_, encode_stages);
  std::size_t level = top - 1;
  std::size_t left = log_slots;
  for (std::size_t i = 0; i < encode_factors.size(); ++i, --level) {
    left -= encode_stages[i];
    const bool is_last = i + 1 == encode_factors.size();
    const Split split = split_of(encode_stages[i], std::int64_t{1} << left, settings.baby_steps_encode,
                                 is_last && encode.rest != 0, true);
    add_stage(encode_, encode_factors[i], split,
              is_last && is_side_by_side_ ? Parts::makes_parts : Parts::whole,
              i == 0 ? wanted / raised_factor_ : 1, level, true);
  }

  if (decodes_first_) pending = 0;
  const circuits::FunctionPlanOptions options{.level = level, .results_drift = true};
  const std::size_t sine_level = level;
  const std::size_t last_level = top - levels_above + (decodes_first_ ? 1 : 0);
  circuits::FunctionPlan plan(parameters, function, options);
  rlwe::PlainOperand result = plan.results().front();
  if (result.level < last_level) {
    throw ParameterError("bootstrap: the sine takes more levels than OpenFHE gives it");
  }
  if (decodes_first_) {
    // What is doubled last is read at its level's scale.
    const long double ratio = scales[last_level].scale / result.scale;
    function = scaled_sine(sine, gain / turn * ratio * ratio, angles);
    plan = circuits::FunctionPlan(parameters, function, options);
    last_constant_ = -static_cast<double>(gain / turn);
  }
  sine_ = std::make_unique<const circuits::PreparedFunction>(context_, plan);
  sine_result_level_ = last_level;
  if (takes_both_) {
    parts_unit_ = circuits::imaginary_unit(context_, sine_level);
    joining_unit_ = circuits::imaginary_unit(context_, last_level);
  }

  // SlotToCoeff: at the end by q_0 over the scale that the input was brought to, into a product that is not
  // rescaled; at the beginning, down to the last level, by the correction.
  decode_level_ = decodes_first_ ? decode_budget : last_level;
  const Layers decode(log_slots, decode_budget);
  const std::vector<std::size_t> decode_stages = decode.stages();
  const auto decode_factors = circuits::slots_to_coefficients_factors(slots_, decode_stages);
  level = decode_level_;
  std::size_t done = 0;
  for (std::size_t i = 0; i < decode_factors.size(); ++i, --level) {
    const bool is_last = i + 1 == decode_factors.size();
    const Split split = split_of(decode_stages[i], std::int64_t{1} << done, settings.baby_steps_decode,
                                 is_last && decode.rest != 0, false);
    done += decode_stages[i];
    double factor = 1;
    // The first one after the sine reads it at another scale than its level's.
    if (i == 0 && !decodes_first_) factor = scales[level].scale / result.scale;
    if (is_last) factor *= decodes_first_ ? input_scale_ / scales[0].scale : gain;
    add_stage(decode_, decode_factors[i], split,
              i == 0 && is_side_by_side_ ? Parts::takes_parts : Parts::whole, factor, level,
              decodes_first_ || !is_last);
  }
  if (giant_steps == GiantSteps::one_key && !dense) {
    // Every stage leaves out the rotations below 0: all of those of one side together by 1 - slots.
    last_turns_ = {modulo(decode_turn, slots_), modulo(decode_turn, slots_)};
  }
  if (!decodes_first_) {
    result_level_ = decode_level_ - (decode_.size() - 1);
  } else if (client.parameters->scaling == Scaling::fixed_manual) {
    result_level_ = last_level - 1;
    result_degree_ = 1;
  } else {
    result_level_ = last_level;
  }
  const rlwe::LevelScale& scale = scales[result_level_];
  result_scale_ = result_degree_ == 1 ? scale.scale : scale.product_scale;
  tell_needs(plan.level());
}

void Bootstrapper::tell_needs(std::size_t sine_level) {
  const rlwe::Parameters& parameters = context_->parameters();
  const rlwe::GadgetPrimes gadget = parameters.default_gadget(context_->top_level());
  const auto add_need = [&](const rlwe::KeyRole& role, const rlwe::GadgetPrimes& primes) {
    const circuits::KeyNeed need{role, primes};
    if (std::find(needed_keys_.begin(), needed_keys_.end(), need) == needed_keys_.end()) {
      needed_keys_.push_back(need);
    }
  };
  const auto add_switch = [&](const rlwe::KeyRole& role, const rlwe::GadgetPrimes& primes,
                              std::size_t level) {
    add_need(role, primes);
    circuits::SwitchExtent(parameters, primes, level).add_switches(cost_.work[level], 1);
    ++cost_.key_products;
    ++cost_.mod_ups;
    ++cost_.divisions;
  };
  const auto rotation = [&](std::size_t step) {
    return rlwe::KeyRole::galois(parameters.galois_element(static_cast<std::int64_t>(step)));
  };
  cost_.result_level = result_level_;
  cost_.scale = parameters.rescaling().scales[0].scale;
  cost_.result_scale = result_scale_;
  cost_.rescales = 1;  // of the input

  // The last division of what is raised rescales it, too.
  if (encapsulated_) {
    const std::vector<std::uint64_t>& last = parameters.literal().levels.front();
    const auto& special = parameters.literal().special_primes;
    add_switch({.to = rlwe::ephemeral_secret},
               {.base = last,
                .special = {special.begin(), special.begin() + (special.empty() ? 0 : 1)},
                .digits = {last}},
               0);
    add_switch({.from = rlwe::ephemeral_secret}, gadget, raised_level_);
  } else {
    ++cost_.divisions;
  }
  for (std::size_t step = slots_; step < parameters.max_slots(); step *= 2) {
    add_switch(rotation(step), gadget, raised_level_);
  }
  for (const std::size_t left : last_turns_) add_switch(rotation(left), gadget, result_level_);
  for (const auto* stages : {&encode_, &decode_}) {
    for (const auto& stage : *stages) {
      cost_.add_operations(stage.plan().cost());
      for (const circuits::KeyNeed& need : stage.plan().needed_keys()) add_need(need.role, gadget);
    }
  }
  add_switch(rlwe::KeyRole::galois(parameters.conjugation_element()), gadget, sine_level);
  add_need(rlwe::KeyRole::relinearization(), gadget);
  for (std::size_t part = 0; part < (takes_both_ ? 2 : 1); ++part) {
    cost_.add_operations(sine_->plan().cost());
    if (decodes_first_) add_switch(rlwe::KeyRole::relinearization(), gadget, sine_result_level_);
  }
  if (is_side_by_side_) add_switch(rotation(slots_), gadget, result_level_);
  cost_.key_bytes = circuits::key_bytes(parameters.degree(), needed_keys_);
}

// At the level below the top, slots of (m / q_0 + I) / 2K, with the subring's trace taken.
Ciphertext Bootstrapper::raised(const ckks::Evaluator& evaluator, const Ciphertext& low) const {
  const rlwe::Context& ctx = *context_;
  const std::size_t top = raised_level_;
  const rlwe::EvaluationKeys& keys = evaluator.keys();
  rlwe::ExtendedCiphertext x;
  if (encapsulated_) {
    const auto to = keys.find({.to = rlwe::ephemeral_secret}, 0);
    const auto from = keys.find({.from = rlwe::ephemeral_secret}, top);
    if (to == nullptr || from == nullptr) {
      throw MissingKeyError(
          "bootstrap: the keys to and from the sparse secret are missing; load those of EvalBootstrapKeyGen");
    }
    x = circuits::mod_raise(low, *to, *from, top);
  } else {
    x = rlwe::extend(circuits::raise_modulus(low, top),
                     ctx.gadget(ctx.parameters().default_gadget(ctx.top_level())));
  }
  for (std::size_t step = slots_; step < ctx.parameters().max_slots(); step *= 2) {
    const std::uint64_t element = ctx.galois_element(static_cast<std::int64_t>(step));
    const auto key = keys.find(rlwe::KeyRole::galois(element), top);
    if (key == nullptr) {
      throw MissingKeyError("bootstrap: the key of the rotation by " + std::to_string(step) +
                            " is missing; load those of EvalBootstrapKeyGen");
    }
    const std::vector<rlwe::Turn> turns = {{}, {.key = key.get(), .galois_element = element}};
    x = rlwe::turned_sum(x, turns);
  }
  const poly::PolyView view = x.poly.view();
  const poly::RnsBase base = x.poly.base();
  ctx.backend().multiply_scalar(ctx.queue(), view, std::as_const(x.poly).view(),
                                ckks::scaled_residues(1, raised_factor_, base), base);
  x.meta.scale = raised_scale_ * raised_factor_;
  x.meta.noise_scale_degree = 2;
  Ciphertext result = rlwe::mod_down_rescaled(x);
  result.meta.scale = ctx.scales().level_scale(top - 1);
  result.meta.slots = ctx.parameters().max_slots();  // as for SlotToCoeff
  return result;
}

// The sine of all coefficients, at the level and scale that SlotToCoeff at the end begins with, or of the
// result.
Ciphertext Bootstrapper::reduced(const ckks::Evaluator& evaluator, const Ciphertext& x) const {
  const Ciphertext conjugate = evaluator.conjugate(x);
  const Ciphertext real = evaluator.add(x, conjugate);
  const auto sine = [&](const Ciphertext& in) {
    const Ciphertext* const input = &in;
    Ciphertext result = std::move((*sine_)(evaluator, std::span(&input, 1)).front());
    evaluator.drop_to_level_inplace(result, sine_result_level_);
    result.meta.scale = context_->scales().level_scale(sine_result_level_);  // what follows has the rest
    if (decodes_first_) {
      result = evaluator.square(result);
      evaluator.add_inplace(result, result);
      evaluator.add_scalar_inplace(result, {.value = last_constant_});
    }
    return result;
  };
  Ciphertext result;
  if (!takes_both_) {
    result = sine(real);
  } else {
    const Ciphertext imaginary = circuits::times_i(evaluator.subtract(conjugate, x), parts_unit_);
    result = circuits::joined_parts(sine(rlwe::stack({&real, &imaginary})), joining_unit_);
  }
  return result;
}

// By one rotation if there is a key for it: OpenFHE makes those of the parts.
void Bootstrapper::turn_last(const ckks::Evaluator& evaluator, Ciphertext& x) const {
  std::size_t total = 0;
  for (const std::size_t left : last_turns_) total += left;
  const std::uint64_t element = context_->galois_element(static_cast<std::int64_t>(total));
  if (evaluator.keys().has(rlwe::KeyRole::galois(element))) {
    x = evaluator.rotate(x, static_cast<std::int64_t>(total));
    return;
  }
  for (const std::size_t left : last_turns_) x = evaluator.rotate(x, static_cast<std::int64_t>(left));
}

Ciphertext Bootstrapper::operator()(const ckks::Evaluator& evaluator, const Ciphertext& in) const {
  Ciphertext x = relinearized(evaluator, in);
  if (x.meta.level >= result_level_) return x;
  if (x.meta.slots != slots_) {
    throw MismatchError("bootstrap: the ciphertext has " + std::to_string(x.meta.slots) +
                        " slots, the settings are for " + std::to_string(slots_));
  }
  rescale_all(evaluator, x);
  x.meta.largest = std::numeric_limits<double>::infinity();  // of the values, not of what is between
  const auto decode = [&] {
    // Rotations are told apart in all slots, however many hold values.
    x.meta.slots = context_->parameters().max_slots();
    apply(decode_, evaluator, x);
  };
  if (decodes_first_) {
    if (x.meta.level < decode_level_) {
      throw LevelError("bootstrap: SlotToCoeff comes first and takes " + std::to_string(decode_level_) +
                       " levels, and the ciphertext has " + std::to_string(x.meta.level) +
                       "; bootstrap it earlier");
    }
    evaluator.adjust_to_level_inplace(x, decode_level_, context_->scales().level_scale(decode_level_));
    decode();
  } else {
    evaluator.adjust_to_level_inplace(x, 0, input_scale_);
  }
  x = raised(evaluator, x);
  apply(encode_, evaluator, x);
  x = reduced(evaluator, x);
  if (!decodes_first_) decode();
  turn_last(evaluator, x);
  if (is_side_by_side_) evaluator.add_inplace(x, evaluator.rotate(x, static_cast<std::int64_t>(slots_)));
  if (decodes_first_ && result_degree_ == 1) evaluator.rescale_inplace(x);
  x.meta.scale = result_scale_;
  x.meta.slots = slots_;
  x.meta.largest = in.meta.largest;
  x.meta.is_complex = in.meta.is_complex;
  rlwe::copy_filling(x.meta, in.meta);
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
  evaluator.multiply_scalar_inplace(result, {.value = std::ldexp(1.0, -precision)});
  result.meta.largest = in.meta.largest;
  rlwe::copy_filling(result.meta, in.meta);
  return result;
}

}  // namespace hemera::interop::openfhe
