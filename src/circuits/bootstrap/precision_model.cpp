#include "circuits/bootstrap/precision_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

double to_double(std::size_t x) { return static_cast<double>(x); }

// log2 of the error of a row of matrices, relative to the size of the content. A matrix of k butterfly stages
// has 2^k entries of one size in a row, and 2^(k + 1) - 1 rounded diagonals of 2 slots coefficients.
struct MatrixNoise {
  double coefficients, rounding;

  [[nodiscard]] double operator()(const rlwe::Parameters& parameters, std::size_t level,
                                  const std::vector<std::size_t>& stages, double content, double last) const {
    const double decline = (content - last) / to_double(stages.size());
    double sum = 0;
    for (const std::size_t stage : stages) {
      const auto k = to_double(stage);
      const double scale = std::log2(parameters.ratio(level)) - k / 2 - decline;
      const double diagonals = (std::exp2(k + 1) - 1) / std::exp2(k);
      sum += std::exp2(2 * (0.5 * std::log2(coefficients / 12 * diagonals) - scale));
      content -= decline;
      sum += std::exp2(2 * (rounding - content));
      --level;
    }
    return 0.5 * std::log2(sum);
  }
};

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

PrecisionModel::PrecisionModel(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                               EvalModSeries series, const Slots& slots)
    : series_(std::move(series)),
      slots_(slots.count),
      real_(slots.real),
      order_(layout.order),
      ratio_(layout.ratio),
      constant_(layout.constant),
      repetitions_(to_double(parameters.max_slots()) / to_double(slots.count)),
      secret_norm_(6 * std::pow(division_error(parameters, slots_), 2) / to_double(slots_) - 1),
      // Values that repeat are the mean of their repetitions, whose noise is independent.
      rounding_(std::log2(division_error(parameters, slots_))),
      parts_rounding_(std::log2(division_error(parameters, slots.merged ? 2 * slots_ : slots_))) {
  const auto& scales = parameters.rescaling().scales;
  for (const rlwe::LevelScale& level : scales) levels_.push_back(std::log2(level.scale));
  const auto scale = [&](std::size_t level) { return levels_[level]; };
  const std::size_t end = layout.eval_mod_level - eval_mod_steps - (layout.arcsine ? arcsine_steps : 0);
  const MatrixNoise matrices{2 * to_double(slots_), rounding_};
  const double log_coefficients = std::log2(2 * to_double(slots_));
  const double log_repetitions = std::log2(repetitions_);
  const auto log_slots = static_cast<std::size_t>(std::countr_zero(slots_));
  const double q0 = std::log2(last_modulus(parameters));
  const double t_size = 0.5 * std::log2(to_double(ephemeral_weight + 1) / 6);
  // Coefficients are spread over the slots, where they are the root of their number larger; the trace adds up
  // repetitions.
  auto short_first = split_stages(log_slots, layout.slots_to_coefficients);
  std::reverse(short_first.begin(), short_first.end());
  const bool is_slots_first = order_ == BootstrapOrder::slots_first;
  const double raised = q0 - std::log2(ratio_);
  to_coefficients_ = is_slots_first
                         ? matrices(parameters, layout.slots_to_coefficients_level, short_first,
                                    scale(layout.slots_to_coefficients_level), raised + log_coefficients / 2)
                         : matrices(parameters, layout.slots_to_coefficients_level, short_first,
                                    scale(layout.slots_to_coefficients_level) - log_coefficients / 2,
                                    scale(layout.result_level));
  to_slots_ = matrices(parameters, layout.top_level, split_stages(log_slots, layout.coefficients_to_slots),
                       q0 + t_size + log_coefficients / 2 + log_repetitions - 0.5,
                       scale(layout.eval_mod_level) + t_size - std::log2(2 * to_double(eval_mod_range)));
  switch_ = 0.5 * std::log2(to_double(ephemeral_weight + 1) / 6) - raised;
  v_ = scale(layout.eval_mod_level);
  for (std::size_t i = 0; i < eval_mod_steps; ++i) after_[i] = scale(layout.eval_mod_level - 1 - i);
  if (layout.arcsine) {
    arcsine_ = fit_arcsine(ratio_);
    square_ = scale(end + 1);
  }
  result_ = scale(end);
}

std::vector<double> PrecisionModel::secret_slots(Noise& noise) const {
  std::vector<double> result(slots_);
  for (double& slot : result) {
    slot = 0.5 * std::log2((1 + secret_norm_ * noise.secret_slot(repetitions_)) / (1 + secret_norm_));
  }
  return result;
}

std::vector<Complex> PrecisionModel::eval_mod(const std::vector<double>& t, const std::vector<double>& secret,
                                              Noise& noise) const {
  const auto [high, low] = divide_chebyshev(series_.coefficients, 8);
  const auto high_parts = divide_chebyshev(high, 4);
  const auto low_parts = divide_chebyshev(low, 4);
  const auto rounded = [&](double x) { return std::nearbyint(x * constant_) / constant_; };
  std::vector<Complex> result;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const double rounding = parts_rounding_ + secret[slot];
    const auto noisy = [&](Complex x, double scale) { return x + noise(rounding - scale); };
    const Complex v = noisy((t[slot] - 0.25) / to_double(eval_mod_range), v_);  // the conjugate's switch
    const Complex y = noisy(2.0 * v * v - 1.0, after_[0]);
    Complex t2 = noisy(2.0 * y * y - 1.0, after_[1]);
    Complex t1 = noisy(y, after_[1]);
    const Complex t3 = noisy(2.0 * t1 * t2 - t1, after_[2]);
    const Complex t4 = noisy(2.0 * t2 * t2 - 1.0, after_[2]);
    t1 = noisy(t1, after_[2]);
    t2 = noisy(t2, after_[2]);
    const auto part = [&](const std::vector<double>& c) {
      return rounded(c[0]) + rounded(c[1]) * t1 + rounded(c[2]) * t2 + rounded(c[3]) * t3;
    };
    const auto half = [&](const ChebyshevQuotient& parts) {
      return noisy(part(parts.quotient) * t4 + part(parts.remainder), after_[3] + 1);
    };
    const Complex t8 = noisy(2.0 * t4 * t4 - 1.0, after_[3]);
    Complex x = noisy(half(high_parts) * t8 + half(low_parts), after_[4]);
    for (std::size_t i = 5; i + 1 < eval_mod_steps; ++i) x = noisy(2.0 * x * x - 1.0, after_[i]);
    x = 2.0 * x * x - 1.0;
    if (arcsine_) {
      x = noisy(x, after_.back());
      const Complex square = noisy(x * x, square_);
      x = noisy(x, square_) * (arcsine_->constant + arcsine_->square * square);
      x *= ratio_ / (2 * std::numbers::pi);
    } else {
      x *= ratio_ * sine_slope(ratio_) / (2 * std::numbers::pi);
    }
    result.push_back(x);
  }
  return result;
}

std::vector<Complex> PrecisionModel::operator()(std::span<const Complex> values, std::uint64_t seed) const {
  if (values.size() != slots_) {
    throw ParameterError("a bootstrap of " + std::to_string(slots_) + " slots was given " +
                         std::to_string(values.size()) + " values");
  }
  Noise noise(seed);
  std::vector<Complex> x(values.begin(), values.end());
  double size = 0;
  for (const Complex& value : x) size += std::norm(value);
  size = 0.5 * std::log2(std::max(size, 0x1p-1000) / to_double(slots_));
  if (order_ == BootstrapOrder::slots_first) {
    for (Complex& value : x) value += noise(size + to_coefficients_);
  } else {
    for (const Diagonals& stage : coefficients_to_slots_factors(slots_, single_stages(slots_)))
      apply(x, stage);
  }
  const double t_size = 0.5 * std::log2(to_double(ephemeral_weight + 1) / 6);
  std::vector<double> parts[2];
  for (Complex& value : x) {
    value += noise(switch_);
    const Complex error = noise(t_size + to_slots_);
    parts[0].push_back(noise.integer(ephemeral_weight) + value.real() / ratio_ + error.real());
    parts[1].push_back(noise.integer(ephemeral_weight) + value.imag() / ratio_ + error.imag());
  }
  const std::vector<double> secret = secret_slots(noise);
  x = eval_mod(parts[0], secret, noise);
  if (!real_) {
    const std::vector<Complex> imaginary = eval_mod(parts[1], secret, noise);
    for (std::size_t i = 0; i < slots_; ++i) x[i] += Complex(0, 1) * imaginary[i];
  }
  for (std::size_t i = 0; i < slots_; ++i) x[i] += noise(rounding_ + secret[i] - result_);
  if (order_ == BootstrapOrder::standard) {
    for (const Diagonals& stage : slots_to_coefficients_factors(slots_, single_stages(slots_)))
      apply(x, stage);
    for (Complex& value : x) value += noise(size + to_coefficients_);
  }
  return x;
}

std::vector<Complex> PrecisionModel::refined(std::span<const Complex> values, std::span<const Complex> found,
                                             int factor_log2, std::size_t level, std::uint64_t seed) const {
  const double factor = std::exp2(factor_log2);
  std::vector<Complex> difference;
  for (std::size_t i = 0; i < values.size(); ++i) difference.push_back(factor * (values[i] - found[i]));
  std::vector<Complex> result = (*this)(difference, seed);
  Noise noise(~seed);
  const std::vector<double> secret = secret_slots(noise);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = found[i] + result[i] / factor + noise(rounding_ + secret[i] - levels_[level]);
  }
  return result;
}

}  // namespace hemera::circuits
