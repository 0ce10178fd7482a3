#include "circuits/bootstrap/bootstrap_matrices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/circuit_gadgets.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

// The largest scale of plaintexts that doubles embed: at larger ones they round more than the scale does.
constexpr double largest_double_scale = 0x1p54;

// A row of transforms, one level each from `level` down.
std::vector<LinearTransform> transforms(const rlwe::Parameters& parameters, std::vector<Diagonals> matrices,
                                        std::size_t level) {
  std::vector<LinearTransform> result;
  for (Diagonals& matrix : matrices) {
    const std::size_t slots = matrix.begin()->second.size();
    result.emplace_back(parameters, std::move(matrix), slots,
                        LinearTransformOptions{
                            .level = level,
                            .gadget = spread_rotation_gadget(parameters, level),
                            .precise = matrix_scale(parameters, level) > largest_double_scale,
                        });
    --level;
  }
  return result;
}

// Turns a matrix with result u into one over twice the slots, with (u, -i u): with its conjugate that is
// twice the real and the imaginary parts, side by side.
void widen(Diagonals& matrix) {
  for (auto& [number, diagonal] : matrix) {
    const std::size_t slots = diagonal.size();
    for (std::size_t i = 0; i < slots; ++i) diagonal.push_back(Complex(0, -1) * diagonal[i]);
  }
}

// The matrix from (a, b) to a + i b, twice.
Diagonals joining(std::size_t slots) {
  Diagonals result;
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<Complex>& diagonal = result[half * slots];
    diagonal.assign(2 * slots, half == 0 ? 1 : Complex(0, 1));
    std::fill(diagonal.begin() + static_cast<std::ptrdiff_t>(slots), diagonal.end(),
              half == 0 ? Complex(0, 1) : 1);
  }
  return result;
}

// The same matrix over twice the slots, whose values stand there twice.
Diagonals twice(Diagonals matrix) {
  for (auto& [number, diagonal] : matrix) {
    const std::vector<Complex> once = diagonal;
    diagonal.insert(diagonal.end(), once.begin(), once.end());
  }
  return matrix;
}

std::size_t log2_of(std::size_t power) { return static_cast<std::size_t>(std::countr_zero(power)); }

// A matrix of a result that is not rescaled.
LinearTransform unscaled(const rlwe::Parameters& parameters, Diagonals matrix, std::size_t level,
                         double plaintext_scale) {
  const std::size_t slots = matrix.begin()->second.size();
  return {parameters, std::move(matrix), slots,
          LinearTransformOptions{
              .level = level,
              .rescaled = false,
              .plaintext_scale = plaintext_scale,
              .gadget = spread_rotation_gadget(parameters, level),
              .precise = plaintext_scale > largest_double_scale,
          }};
}

// SlotToCoeff, all at its first matrix's level. The plaintexts have the scales that they have when each
// result is rescaled: so a coefficient fills as much of that level's modulus as of q_0 in the end, and the
// quotient of both gives it the scale of level 0.
std::vector<LinearTransform> to_coefficients_at_once(const rlwe::Parameters& parameters,
                                                     std::vector<Diagonals> matrices, std::size_t level) {
  std::vector<LinearTransform> result;
  std::size_t own = level;
  for (Diagonals& matrix : matrices) {
    result.push_back(unscaled(parameters, std::move(matrix), level, matrix_scale(parameters, own)));
    --own;
  }
  return result;
}

// The matrices after EvalMod, slots first.
std::vector<LinearTransform> joins(const rlwe::Parameters& parameters, std::size_t level,
                                   const MatrixShape& shape) {
  const std::size_t slots = shape.raised_slots;
  if (slots == shape.slots) {
    if (!shape.merges_parts) return {};
    return transforms(parameters, {joining(slots)}, level);
  }
  Diagonals matrix = long_stages(slots, log2_of(shape.slots));
  if (shape.merges_parts) matrix = product(twice(std::move(matrix)), joining(slots), 2 * slots);
  const auto blocks = static_cast<double>(slots / shape.slots);
  std::vector<LinearTransform> result;
  result.push_back(unscaled(parameters, std::move(matrix), level, matrix_scale(parameters, level) / blocks));
  return result;
}

}  // namespace

BootstrapMatrices bootstrap_matrices(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                                     const MatrixShape& shape) {
  const std::size_t slots = shape.raised_slots;
  auto short_first = split_stages(log2_of(shape.slots), layout.slots_to_coefficients);
  std::reverse(short_first.begin(), short_first.end());
  auto to_slots =
      coefficients_to_slots_factors(slots, split_stages(log2_of(slots), layout.coefficients_to_slots));
  // Down to v = t / range, half of it, for real and imaginary part are each a sum of two; the trace has
  // multiplied by the number of repetitions.
  const double factor = static_cast<double>(slots) / static_cast<double>(parameters.max_slots()) /
                        (2 * static_cast<double>(layout.sine.range));
  double left = factor;
  for (std::size_t i = 0; i < to_slots.size(); ++i) {
    // Powers of two change no digit of the entries; the last one takes what is left.
    const bool is_last = i + 1 == to_slots.size();
    const double share = std::log2(left) / static_cast<double>(to_slots.size() - i);
    const double own = is_last ? left : std::exp2(std::round(share));
    scale_inplace(to_slots[i], own);
    left /= own;
  }
  auto to_coefficients = slots_to_coefficients_factors(shape.slots, short_first);
  BootstrapMatrices result;
  if (shape.merges_parts) widen(to_slots.back());
  if (layout.order != BootstrapOrder::standard) {
    result.join = joins(parameters, layout.eval_mod_end(), shape);
  } else if (shape.merges_parts) {
    // The first matrix after EvalMod joins them as well, in the standard order.
    to_coefficients.front() = product(twice(to_coefficients.front()), joining(slots), 2 * slots);
  }
  const std::size_t level = layout.slots_to_coefficients_level;
  result.to_coefficients = slots == shape.slots
                               ? transforms(parameters, std::move(to_coefficients), level)
                               : to_coefficients_at_once(parameters, std::move(to_coefficients), level);
  if (layout.blocks == 0) result.to_slots = transforms(parameters, std::move(to_slots), layout.top_level);
  return result;
}

namespace {

LinearTransformOptions options_of(const LinearTransform& transform, const MatrixKeys& keys) {
  return {
      .level = transform.level(),
      .rescaled = transform.is_rescaled(),
      .plaintext_scale = transform.is_rescaled() ? 0 : transform.plaintext_scale(),
      .gadget = keys.has_short_prime ? short_rotation_gadget(transform.parameters(), transform.level())
                                     : transform.gadget(),
      .baby_steps = std::size_t{keys.one_key},
      .fewest_keys = keys.hoisted != 0,
      .hoisted_steps = std::max<std::size_t>(keys.hoisted, 1),
      .precise = transform.is_precise(),
  };
}

}  // namespace

LinearTransform by_keys(const LinearTransform& transform, const MatrixKeys& keys) {
  return transform.with(options_of(transform, keys));
}

LinearTransform by_keys(const LinearTransform& transform, MatrixDiagonals diagonals, const MatrixKeys& keys) {
  return {transform.parameters(), std::move(diagonals), transform.slots(), options_of(transform, keys)};
}

LinearTransform scaled(const LinearTransform& transform, double factor) {
  const std::size_t hoisted = transform.has_fewest_keys() ? transform.hoisted_steps() : 0;
  const bool one_key = hoisted == 1 && transform.has_giant_steps_alone();
  return by_keys(transform, transform.diagonals().times(factor), {.hoisted = hoisted, .one_key = one_key});
}

}  // namespace hemera::circuits
