#include "circuits/bootstrap/dft_factors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <utility>

namespace hemera::circuits {
namespace {

// Products of many roots: only results are rounded to doubles.
using WideComplex = std::complex<long double>;
using WideDiagonals = std::map<std::size_t, std::vector<WideComplex>>;

enum class Direction { forward, inverse };

// One stage: butterflies (a, b) -> (a + w b, a - w b) of entries `half` apart, or the inverse of that. Its
// diagonals repeat 2 half entries.
WideDiagonals stage(std::size_t slots, std::size_t log_half, Direction direction) {
  const std::size_t half = std::size_t{1} << log_half;
  WideDiagonals result;
  const auto entry = [&](std::size_t row, std::size_t column) -> WideComplex& {
    std::vector<WideComplex>& diagonal = result[(column + slots - row) % slots];
    diagonal.resize(2 * half);
    return diagonal[row];
  };
  std::size_t power = 1;  // 5^j modulo 8 half
  for (std::size_t j = 0; j < half; ++j) {
    const long double turn = static_cast<long double>(power) / static_cast<long double>(8 * half);
    const WideComplex w = std::polar(1.0L, 2 * std::numbers::pi_v<long double> * turn);
    const std::size_t a = j, b = j + half;
    if (direction == Direction::forward) {
      entry(a, a) = entry(b, a) = 1;
      entry(a, b) = w;
      entry(b, b) = -w;
    } else {
      entry(a, a) = entry(a, b) = 0.5L;
      entry(b, a) = std::conj(w) / 2.0L;
      entry(b, b) = -std::conj(w) / 2.0L;
    }
    power = power * 5 % (8 * half);
  }
  return result;
}

// Diagonals of a matrix have one period, a power of two.
template <typename Matrix>
Matrix product_of(const Matrix& a, const Matrix& b, std::size_t slots) {
  Matrix result;
  for (const auto& [i, left] : a) {
    for (const auto& [j, right] : b) {
      auto& sum = result[(i + j) % slots];
      sum.resize(std::max(left.size(), right.size()));
      for (std::size_t k = 0; k < sum.size(); ++k) {
        sum[k] += left[k & (left.size() - 1)] * right[(k + i) & (right.size() - 1)];
      }
    }
  }
  return result;
}

// The product of `count` stages that follow each other, the first one of size `log_half`.
Diagonals merged(std::size_t slots, std::size_t log_half, std::size_t count, Direction direction) {
  // Few slots have fewer stages than matrices: the others are the identity.
  if (count == 0) return {{0, std::vector<std::complex<double>>(slots, 1)}};
  WideDiagonals matrix = stage(slots, log_half, direction);
  for (std::size_t i = 1; i < count; ++i) {
    log_half = direction == Direction::forward ? log_half + 1 : log_half - 1;
    matrix = product_of(stage(slots, log_half, direction), matrix, slots);
  }
  Diagonals result;
  for (const auto& [number, diagonal] : matrix) {
    auto& entries = result[number];
    entries.reserve(slots);
    while (entries.size() < slots) entries.insert(entries.end(), diagonal.begin(), diagonal.end());
  }
  return result;
}

}  // namespace

Diagonals product(const Diagonals& a, const Diagonals& b, std::size_t slots) {
  return product_of(a, b, slots);
}

void scale_inplace(Diagonals& matrix, double factor) {
  for (auto& [number, diagonal] : matrix) {
    for (std::complex<double>& entry : diagonal) entry *= factor;
  }
}

std::vector<std::size_t> split_stages(std::size_t log_slots, std::size_t matrices) {
  std::vector<std::size_t> result;
  for (std::size_t left = matrices; left > 0; --left) {
    result.push_back((log_slots + left - 1) / left);
    log_slots -= result.back();
  }
  return result;
}

std::vector<Diagonals> slots_to_coefficients_factors(std::size_t slots,
                                                     const std::vector<std::size_t>& stages) {
  std::vector<Diagonals> result;
  std::size_t at = 0;
  for (const std::size_t count : stages) {
    result.push_back(merged(slots, at, count, Direction::forward));
    at += count;
  }
  return result;
}

Diagonals long_stages(std::size_t slots, std::size_t first) {
  const auto all = static_cast<std::size_t>(std::countr_zero(slots));
  return merged(slots, first, all - first, Direction::forward);
}

std::vector<Diagonals> coefficients_to_slots_factors(std::size_t slots,
                                                     const std::vector<std::size_t>& stages) {
  std::vector<Diagonals> result;
  std::size_t at = 0;
  for (const std::size_t count : stages) at += count;
  for (const std::size_t count : stages) {
    result.push_back(merged(slots, at - 1, count, Direction::inverse));
    at -= count;
  }
  return result;
}

}  // namespace hemera::circuits
