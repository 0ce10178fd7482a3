#include "circuits/bootstrap/sine_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "circuits/bootstrap/nested_series.hpp"

namespace hemera::circuits {
namespace {

// The most by which a gain that is read from scales may differ from a whole number.
constexpr double most_off = 0x1p-10;

}  // namespace

std::size_t series_log_size(std::size_t degree) {
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::bit_width(degree)));
}

std::size_t sine_step_count(const SineShape& shape) {
  return 1 + series_log_size(shape.degree) + shape.doublings;
}

std::size_t sine_parts_step(std::size_t log_size) { return log_size / 2 + 1; }

std::vector<double> sine_step_gains(const SineShape& shape, int constant_bits) {
  const std::size_t log_size = series_log_size(shape.degree);
  std::vector<double> gains(sine_step_count(shape), 0);
  if (shape.nested && shape.exponential) {
    std::fill(gains.begin(), gains.end(), 1);
    gains[nested_outer_step] -= std::log2(nested_exponential.outer);
    return gains;
  }
  if (shape.nested) {
    gains[nested_inner_step] = -std::log2(nested_series.inner);
    gains[nested_outer_step] = -std::log2(nested_series.outer);
    return gains;
  }
  const std::size_t giant = sine_parts_step(log_size);
  gains[giant] = constant_bits;
  // Parts have twice the scale of T_2m, sums of two 4 times that of T_4m, and so on: the last one shows it.
  gains[log_size] += static_cast<int>(log_size - giant) + 1;
  if (shape.exponential)
    std::fill(gains.end() - static_cast<std::ptrdiff_t>(shape.doublings), gains.end(), 1);
  return gains;
}

std::optional<SineLevels> find_sine(std::span<const double> gains) {
  const std::size_t levels = gains.size() + 1;
  struct Kind {
    bool arcsine = false, exponential = false, nested = false;
  };
  constexpr std::array kinds{Kind{}, Kind{.arcsine = true}, Kind{.exponential = true}, Kind{.nested = true},
                             Kind{.exponential = true, .nested = true}};
  for (const auto& [arcsine, exponential, nested] : kinds) {
    const std::size_t corrections = arcsine ? arcsine_steps : 0;
    // The last step of a series alone is not known.
    for (std::size_t log_size = 2; corrections + 1 + log_size <= levels; ++log_size) {
      SineShape shape{.degree = (std::size_t{1} << log_size) - 1,
                      .doublings = levels - corrections - 1 - log_size,
                      .exponential = exponential,
                      .nested = nested};
      if (exponential && shape.doublings < least_exponential_doublings) continue;
      if (nested && !fits_nested(shape)) continue;
      const std::size_t giant = sine_parts_step(log_size);
      if (giant >= gains.size() || !(std::abs(gains[giant]) < 64)) continue;
      const int constant_bits =
          nested ? 0 : static_cast<int>(std::lround(gains[giant])) - (giant == log_size ? 1 : 0);
      std::vector<double> expected = sine_step_gains(shape, constant_bits);
      if (arcsine) expected.push_back(1);  // its square has no factor 2
      const bool fits = (constant_bits > 0 || nested) &&
                        std::equal(gains.begin(), gains.end(), expected.begin(),
                                   [](double a, double b) { return std::abs(a - b) < most_off; });
      if (fits) return SineLevels{shape.degree, shape.doublings, constant_bits, arcsine, exponential, nested};
    }
  }
  return std::nullopt;
}

}  // namespace hemera::circuits
