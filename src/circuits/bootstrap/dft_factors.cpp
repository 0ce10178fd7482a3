#include "circuits/bootstrap/dft_factors.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

enum class Direction { forward, inverse };

// One stage: butterflies (a, b) -> (a + w b, a - w b) of entries `half` apart, or the inverse of that.
Diagonals stage(std::size_t slots, std::size_t log_half, Direction direction) {
  const std::size_t half = std::size_t{1} << log_half;
  Diagonals result;
  const auto entry = [&](std::size_t row, std::size_t column) -> Complex& {
    std::vector<Complex>& diagonal = result[(column + slots - row) % slots];
    diagonal.resize(slots);
    return diagonal[row];
  };
  std::size_t power = 1;  // 5^j modulo 8 half
  for (std::size_t j = 0; j < half; ++j) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(power) / static_cast<double>(8 * half);
    const Complex w = std::polar(1.0, angle);
    for (std::size_t a = j; a < slots; a += 2 * half) {
      const std::size_t b = a + half;
      if (direction == Direction::forward) {
        entry(a, a) = entry(b, a) = 1;
        entry(a, b) = w;
        entry(b, b) = -w;
      } else {
        entry(a, a) = entry(a, b) = 0.5;
        entry(b, a) = std::conj(w) / 2.0;
        entry(b, b) = -std::conj(w) / 2.0;
      }
    }
    power = power * 5 % (8 * half);
  }
  return result;
}

Diagonals identity(std::size_t slots) { return {{0, std::vector<Complex>(slots, 1)}}; }

}  // namespace

Diagonals product(const Diagonals& a, const Diagonals& b, std::size_t slots) {
  Diagonals result;
  for (const auto& [i, left] : a) {
    for (const auto& [j, right] : b) {
      std::vector<Complex>& sum = result[(i + j) % slots];
      sum.resize(slots);
      for (std::size_t k = 0; k < slots; ++k) sum[k] += left[k] * right[(k + i) % slots];
    }
  }
  return result;
}

void scale_inplace(Diagonals& matrix, double factor) {
  for (auto& [number, diagonal] : matrix) {
    for (Complex& entry : diagonal) entry *= factor;
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
    Diagonals matrix = identity(slots);
    for (std::size_t i = 0; i < count; ++i) {
      matrix = product(stage(slots, at++, Direction::forward), matrix, slots);
    }
    result.push_back(std::move(matrix));
  }
  return result;
}

std::vector<Diagonals> coefficients_to_slots_factors(std::size_t slots,
                                                     const std::vector<std::size_t>& stages) {
  std::vector<Diagonals> result;
  std::size_t at = 0;
  for (const std::size_t count : stages) at += count;
  for (const std::size_t count : stages) {
    Diagonals matrix = identity(slots);
    for (std::size_t i = 0; i < count; ++i) {
      matrix = product(stage(slots, --at, Direction::inverse), matrix, slots);
    }
    result.push_back(std::move(matrix));
  }
  return result;
}

}  // namespace hemera::circuits
