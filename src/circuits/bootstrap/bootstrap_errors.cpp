// The errors that a bootstrap's model predicts for inputs that nobody has yet.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"

namespace hemera::circuits {
namespace {

using Values = std::vector<std::complex<double>>;

// With fewer slots the mean of one bootstrap scatters by some tenths of a bit.
constexpr std::size_t least_values = 4096;

}  // namespace

Values Bootstrap::uniform_values(std::uint64_t seed) const {
  std::mt19937_64 generator(1 + seed);  // of the model alone
  std::uniform_real_distribution<double> uniform(-1, 1);
  Values values(slots_);
  for (std::complex<double>& value : values) {
    value.real(uniform(generator));
    if (!real_) value.imag(uniform(generator));
    if (exponential_) value *= ratio_ / 2;
  }
  return values;
}

Values Bootstrap::exact(Values values) const {
  if (!joins_parts_ || from_coefficients()) {
    for (std::size_t i = 0; i < slots_; ++i) values.emplace_back(values[i].imag());
    for (std::size_t i = 0; i < slots_; ++i) values[i].imag(0);
  }
  if (!exponential_) return values;
  const double angle = 2 * std::numbers::pi / ratio_;
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count && !real_; ++i)
    values.push_back(std::polar(1.0, angle * values[i].imag()));
  for (std::size_t i = 0; i < count; ++i) values[i] = std::polar(1.0, angle * values[i].real());
  return values;
}

// Decoded values of real slots have no imaginary part.
Bootstrap::ModelRun Bootstrap::model_run(Values values, double magnitude, std::uint64_t seed) const {
  for (std::complex<double>& value : values) value *= magnitude;
  Values errors = simulated_errors(values, seed, magnitude);
  double squares = 0;
  for (std::complex<double>& error : errors) {
    if (real_ && !exponential_) error.imag(0);
    squares += std::norm(error);
  }
  return {.precision = precision_of_errors(errors),
          .mean_square = squares / static_cast<double>(errors.size())};
}

Bootstrap::ModelRun Bootstrap::worse_kind(double magnitude) const {
  if (exponential_) magnitude = 1;
  const std::size_t runs = std::max<std::size_t>(1, least_values / slots_);
  const auto averaged = [&](const auto& values) {
    const double part = 1 / static_cast<double>(runs);
    ModelRun sum;
    for (std::size_t run = 0; run < runs; ++run) {
      const ModelRun one = model_run(values(run), magnitude, run);
      sum.precision.mean_bits += part * one.precision.mean_bits;
      sum.precision.worst_bits += part * one.precision.worst_bits;
      sum.mean_square += part * one.mean_square;
    }
    return sum;
  };
  const ModelRun uniform = averaged([&](std::size_t run) { return uniform_values(run); });
  if (exponential_) return uniform;
  const ModelRun largest = averaged([&](std::size_t) { return Values(slots_, 1); });
  return {.precision = {.mean_bits = std::min(uniform.precision.mean_bits, largest.precision.mean_bits),
                        .worst_bits = std::min(uniform.precision.worst_bits, largest.precision.worst_bits)},
          .mean_square = std::max(uniform.mean_square, largest.mean_square)};
}

Precision Bootstrap::expected_precision(double magnitude) const { return worse_kind(magnitude).precision; }

ExpectedError Bootstrap::error_from(double input_error) const {
  const ModelRun own = worse_kind(1);
  const double before = input_error * (exponential_ ? 2 * std::numbers::pi / ratio_ : 1);
  return {.mean = std::hypot(std::sqrt(own.mean_square), before),
          .worst = std::hypot(std::exp2(-own.precision.worst_bits), before)};
}

}  // namespace hemera::circuits
