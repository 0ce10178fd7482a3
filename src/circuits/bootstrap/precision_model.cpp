#include "circuits/bootstrap/precision_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/roots_of_unity.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/functions/function_parts.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
// EvalMod's values: what doubles round would be more than what a precise bootstrap leaves.
using Wide = std::complex<long double>;

// The error of a matrix's entries, w 2^-k with |w| = 1, whose parts are doubles: uniform in a unit of the
// last place of each, which for a part c is 2^-52 c to 2^-53 c.
constexpr double entry_error_log2 = -54.2;

double to_double(std::size_t x) { return static_cast<double>(x); }

// The transform between slots and coefficients without noise.
void apply(std::vector<Complex>& values, const Diagonals& matrix) {
  std::vector<Complex> result(values.size());
  for (const auto& [number, diagonal] : matrix) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      result[k] += diagonal[k] * values[(k + number) % values.size()];
    }
  }
  values = std::move(result);
}

std::vector<std::size_t> single_stages(std::size_t slots) {
  return std::vector<std::size_t>(static_cast<std::size_t>(std::countr_zero(slots)), 1);
}

// log2 of the error that roots of unity have before the last product's rounding, of magnitude 1. A division's
// error, of a slot's product of 2^d blocks, meets h / 2^d of them, and is the mean of all slots that repeat:
// those of the plaintexts and of the encryptions are the same in all places.
double roots_error(const rlwe::Parameters& parameters, const BootstrapLayout& layout, std::size_t values) {
  const std::size_t slots = parameters.max_slots();
  const auto blocks = to_double(layout.blocks);
  const double rounding = division_variance(parameters.degree(), parameters.literal().secret, slots);
  const double integers = to_double(parameters.degree()) / 12;
  const auto& scales = parameters.rescaling().scales;
  const auto over = [](double variance, double scale) { return variance / (scale * scale); };
  const double places = to_double(slots) / (to_double(values) * blocks);
  double variance = blocks * over(integers, matrix_scale(parameters, layout.top_level)) +
                    blocks * to_double(block_secret(parameters, layout.blocks).length()) *
                        over(integers, scales[layout.top_level].scale);
  double share = blocks / places;
  for (std::size_t level = layout.top_level - 1; level > layout.result_level; --level) {
    variance += share * over(rounding, scales[level].scale);
    share /= 4;
  }
  return 0.5 * std::log2(variance);
}

}  // namespace

class PrecisionModel::Noise {
 public:
  explicit Noise(std::uint64_t seed) : generator_(seed) {}
  // Complex, with E|e|^2 = 2^(2 deviation_log2).
  Complex operator()(double deviation_log2) {
    const double deviation = std::exp2(deviation_log2) / std::numbers::sqrt2;
    const double real = normal_(generator_);
    return {deviation * real, deviation * normal_(generator_)};
  }
  // |s|^2 of a slot over its mean, where this many are averaged: their real and imaginary parts are normal.
  double secret_slot(double repetitions) {
    return std::gamma_distribution<double>(repetitions, 1 / repetitions)(generator_);
  }
  // A coefficient of I.
  double integer(std::size_t weight) {
    double sum = 0;
    for (std::size_t i = 0; i <= weight; ++i) sum += uniform_(generator_);
    return std::round(sum);
  }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{-0.5, 0.5};
};

double PrecisionModel::error_of(const std::vector<MatrixNoise>& matrices, double size, double divided) {
  double sum = 0;
  double after = divided * (to_double(matrices.size()) - 1);  // by which later matrices divide
  for (const auto& [plaintext, rounding] : matrices) {
    sum += std::exp2(2 * (plaintext + size + divided));
    sum += std::exp2(2 * (rounding - after));
    after -= divided;
  }
  return 0.5 * std::log2(sum);
}

PrecisionModel::PrecisionModel(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                               const EvalMod* eval_mod, const Slots& slots)
    : slots_(slots.count),
      together_(slots.together),
      blocks_(layout.blocks),
      ephemeral_weight_(layout.sine.weight),
      real_(slots.real),
      exponential_(layout.sine.exponential),
      order_(layout.order),
      ratio_(layout.ratio),
      range_(to_double(layout.sine.range)),
      gain_(exponential_ ? 1 : ratio_ * (layout.arcsine ? 1 : sine_slope(ratio_)) / (2 * std::numbers::pi)),
      steps_(eval_mod == nullptr ? std::vector<FunctionStep>() : eval_mod->plan().steps()),
      shift_(eval_mod == nullptr ? 0 : eval_mod->shift()),
      repetitions_(to_double(parameters.max_slots()) / to_double(slots.raised)),
      secret_norm_(6 * std::pow(division_error(parameters, slots_), 2) / to_double(slots_) - 1),
      // Values that repeat are the mean of their repetitions, whose noise is independent.
      rounding_(std::log2(division_error(parameters, slots_))),
      end_rounding_(rounding_),
      parts_rounding_(std::log2(division_error(parameters, slots.merged ? 2 * slots.raised : slots.raised))) {
  const auto& scales = parameters.rescaling().scales;
  for (const rlwe::LevelScale& level : scales) levels_.push_back(std::log2(level.scale));
  const auto scale = [&](std::size_t level) { return levels_[level]; };
  // A matrix of k butterfly stages has 2^k entries of one size in a row, and 2^(k + 1) - 1 rounded diagonals
  // of 2 slots coefficients.
  const auto matrices = [&](std::size_t of_slots, std::size_t level, const std::vector<std::size_t>& stages,
                            double content, double last) {
    const double rounding = std::log2(division_error(parameters, of_slots));
    const double decline = (content - last) / to_double(stages.size());
    std::vector<MatrixNoise> result;
    for (const std::size_t stage : stages) {
      const auto k = to_double(stage);
      const double scale_log2 = std::log2(parameters.ratio(level)) - k / 2 - decline;
      const double diagonals = (std::exp2(k + 1) - 1) / std::exp2(k);
      content -= decline;
      const double rounded = 2 * to_double(of_slots) / 12 * diagonals * std::exp2(-2 * scale_log2);
      result.push_back({.plaintext = 0.5 * std::log2(rounded + std::exp2(2 * entry_error_log2)),
                        .rounding = rounding - content});
      --level;
    }
    return result;
  };
  const double log_coefficients = std::log2(2 * to_double(slots_));
  const double log_raised = std::log2(2 * to_double(slots.raised));
  const double log_repetitions = std::log2(repetitions_);
  const auto log_slots = static_cast<std::size_t>(std::countr_zero(slots_));
  const double q0 = std::log2(last_modulus(parameters));
  const double t_size = 0.5 * std::log2(to_double(ephemeral_weight_ + 1) / 6);
  // Coefficients are spread over the slots, where they are the root of their number larger; the trace adds up
  // repetitions.
  auto short_first = split_stages(log_slots, layout.slots_to_coefficients);
  std::reverse(short_first.begin(), short_first.end());
  const bool is_slots_first = order_ == BootstrapOrder::slots_first;
  const double raised = q0 - std::log2(ratio_);
  to_coefficients_ = is_slots_first
                         ? matrices(slots_, layout.slots_to_coefficients_level, short_first,
                                    scale(layout.slots_to_coefficients_level), raised + log_coefficients / 2)
                         : matrices(slots_, layout.slots_to_coefficients_level, short_first,
                                    scale(layout.slots_to_coefficients_level) - log_coefficients / 2,
                                    scale(layout.result_level));
  // The rounding of the switch to the ephemeral secret, and its key's errors, which a digit below q_0 meets.
  const double key_error = switching_error(parameters, to_ephemeral_gadget(parameters), 1);  // of two
  const std::size_t weight = blocks_ == 0 ? ephemeral_weight_ : blocks_;
  switch_ = 0.5 * std::log2(to_double(weight + 1) / 6 + key_error * key_error) - raised;
  result_ = scale(layout.eval_mod_end());
  if (blocks_ != 0) {
    roots_ = roots_error(parameters, layout, slots.merged ? 2 * slots_ : slots_);
    return;
  }
  const auto log_raised_slots = static_cast<std::size_t>(std::countr_zero(slots.raised));
  to_slots_ = error_of(
      matrices(slots.raised, layout.top_level, split_stages(log_raised_slots, layout.coefficients_to_slots),
               q0 + t_size + log_raised / 2 + log_repetitions - 0.5,
               scale(layout.eval_mod_level) + t_size - std::log2(2 * range_)),
      0, 0);
  if (together_ > 1) {
    // One rounding after the sum, and before it one of each input, in the coefficients of all.
    const double sum = to_coefficients_.back().rounding;
    const double inputs = rounding_ - scale(layout.input_level) + 0.5 * std::log2(to_double(together_));
    for (MatrixNoise& matrix : to_coefficients_) matrix.rounding = -HUGE_VAL;
    to_coefficients_.front().rounding = inputs;
    double& last = to_coefficients_.back().rounding;
    last = std::log2(std::hypot(std::exp2(last), std::exp2(sum)));
    // EvalMod's last division is one of all slots, and that of each ciphertext's own is a level lower.
    end_rounding_ =
        std::log2(std::hypot(std::exp2(parts_rounding_), std::exp2(rounding_ + scale(layout.eval_mod_end()) -
                                                                   scale(layout.eval_mod_end() - 1))));
  }
  v_ = scale(layout.eval_mod_level);
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    if (steps_[i].rescaled) rounded_.push_back(i);
  }
  // Level by level: doubled products, sums of parts from the last to the first, values that are only lowered.
  // Any order will do, but the factors of iterations depend on it.
  const auto place = [&](std::size_t i) {
    const FunctionStep& step = steps_[i];
    const std::size_t depth = steps_.front().level - step.level;
    const bool is_sum = !step.products.empty() && step.factor == 1;
    return std::tuple(depth, step.products.empty(), is_sum, is_sum ? steps_.size() - i : i);
  };
  std::sort(rounded_.begin(), rounded_.end(),
            [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
}

std::vector<double> PrecisionModel::secret_slots(Noise& noise) const {
  std::vector<double> result(slots_);
  for (double& slot : result) {
    slot = 0.5 * std::log2((1 + secret_norm_ * noise.secret_slot(repetitions_)) / (1 + secret_norm_));
  }
  return result;
}

std::vector<Complex> PrecisionModel::eval_mod(const std::vector<long double>& t,
                                              const std::vector<double>& secret, Noise& noise) const {
  std::vector<Complex> result, errors(steps_.size());
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const double rounding = parts_rounding_ + secret[slot];
    // The conjugate's switch.
    const Wide v = t[slot] / static_cast<long double>(range_) + Wide(noise(rounding - v_));
    std::vector<Wide> values = {exponential_ ? v * Wide(0, 1) : v + Wide(shift_)};
    for (const std::size_t i : rounded_) errors[i] = noise(rounding - std::log2(steps_[i].result_scale));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      values.push_back(value_of(steps_[i], values, 0) + Wide(errors[i]));
    }
    result.push_back(gain_ * Complex(values.back()));
  }
  return result;
}

// The secret's slots are those of all N/2 in products of blocks, whose errors are means.
std::vector<Complex> PrecisionModel::roots(const std::vector<long double>& t,
                                           const std::vector<double>& secret, Noise& noise) const {
  std::vector<Complex> result;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const double rounding = parts_rounding_ + secret[slot] - result_;
    const double angle = 2 * std::numbers::pi * static_cast<double>(t[slot]);
    if (exponential_) {
      result.push_back(std::polar(1.0, angle) + noise(roots_) + noise(rounding));
      continue;
    }
    const double error = noise(roots_).imag() * gain_;
    // Errors of the last product, whose imaginary part is doubled, and of the conjugate's switch.
    result.emplace_back(gain_ * std::sin(angle) + error + 2 * noise(rounding).imag() +
                        noise(rounding).imag());
  }
  return result;
}

std::vector<Complex> PrecisionModel::operator()(std::span<const Complex> values, double divisor,
                                                std::uint64_t seed) const {
  if (values.size() != slots_) {
    throw ParameterError("a bootstrap of " + std::to_string(slots_) + " slots was given " +
                         std::to_string(values.size()) + " values");
  }
  Noise noise(seed);
  std::vector<Complex> x(values.begin(), values.end());
  for (Complex& value : x) value /= divisor;
  double size = 0;
  for (const Complex& value : x) size += std::norm(value);
  size = 0.5 * std::log2(std::max(size, 0x1p-1000) / to_double(slots_));
  if (order_ == BootstrapOrder::slots_first) {
    const double divided = std::log2(divisor) / to_double(to_coefficients_.size());
    const double error = error_of(to_coefficients_, size, divided);
    for (Complex& value : x) value += noise(error);
  } else if (order_ == BootstrapOrder::standard) {
    for (const Diagonals& stage : coefficients_to_slots_factors(slots_, single_stages(slots_)))
      apply(x, stage);
  }
  const double t_size = 0.5 * std::log2(to_double(ephemeral_weight_ + 1) / 6);
  // Modulo q_0, a sine's message is small, and an exponential's any number.
  const auto message = [&](double value) {
    const double t = value / ratio_;
    return exponential_ ? t - std::round(t) : t;
  };
  std::vector<long double> parts[2];
  for (Complex& value : x) {
    value += noise(switch_);
    const Complex error = blocks_ == 0 ? noise(t_size + to_slots_) : 0;
    const auto part = [&](double of_value, double of_error) {
      const long double integer = blocks_ == 0 ? noise.integer(ephemeral_weight_) : 0;
      return integer + (message(of_value) + of_error);
    };
    parts[0].push_back(part(value.real(), error.real()));
    parts[1].push_back(part(value.imag(), error.imag()));
  }
  const std::vector<double> secret = secret_slots(noise);
  const auto reduced = [&](const std::vector<long double>& t) {
    return blocks_ == 0 ? eval_mod(t, secret, noise) : roots(t, secret, noise);
  };
  x = reduced(parts[0]);
  if (!real_) {
    const std::vector<Complex> imaginary = reduced(parts[1]);
    for (std::size_t i = 0; i < slots_ && !exponential_; ++i) x[i] += Complex(0, 1) * imaginary[i];
    if (exponential_) x.insert(x.end(), imaginary.begin(), imaginary.end());
  }
  for (std::size_t i = 0; i < x.size() && blocks_ == 0; ++i)
    x[i] += noise(end_rounding_ + secret[i % slots_] - result_);
  if (order_ == BootstrapOrder::standard) {
    for (const Diagonals& stage : slots_to_coefficients_factors(slots_, single_stages(slots_)))
      apply(x, stage);
    const double error = error_of(to_coefficients_, size, 0);
    for (Complex& value : x) value += noise(error);
  }
  for (Complex& value : x) value *= divisor;
  return x;
}

std::vector<Complex> PrecisionModel::refined(std::span<const Complex> errors, int factor_log2,
                                             std::size_t level, double divisor, std::uint64_t seed) const {
  const double factor = std::exp2(factor_log2);
  std::vector<Complex> difference;
  for (const Complex& error : errors) difference.push_back(-factor * error);
  std::vector<Complex> result = (*this)(difference, divisor, seed);
  Noise noise(~seed);
  const std::vector<double> secret = secret_slots(noise);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = errors[i] + result[i] / factor + noise(rounding_ + secret[i] - levels_[level]);
  }
  return result;
}

}  // namespace hemera::circuits
