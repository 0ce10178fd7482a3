#include "schemes/ckks/precise_embedding.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

namespace hemera::ckks {
namespace {

using LongComplex = std::complex<long double>;

arith::int128 rounded(long double x) {
  const auto magnitude = static_cast<arith::int128>(std::nearbyint(std::abs(x)));
  return x < 0 ? -magnitude : magnitude;
}

}  // namespace

std::vector<arith::int128> precise_coefficients(std::span<const std::complex<double>> values, double scale) {
  const std::size_t slots = values.size();
  std::vector<LongComplex> u(values.begin(), values.end());
  // Butterflies (x, y) -> (x + y, (x - y) conj w), from the longest strides to the shortest.
  for (std::size_t half = slots / 2; half > 0; half /= 2) {
    std::size_t power = 1;  // 5^j modulo 8 half
    for (std::size_t j = 0; j < half; ++j) {
      const long double turn = static_cast<long double>(power) / static_cast<long double>(8 * half);
      const LongComplex w = std::polar(1.0L, -2 * std::numbers::pi_v<long double> * turn);
      for (std::size_t a = j; a < slots; a += 2 * half) {
        const LongComplex x = u[a], y = u[a + half], difference = x - y;
        u[a] = x + y;
        u[a + half] = {difference.real() * w.real() - difference.imag() * w.imag(),
                       difference.real() * w.imag() + difference.imag() * w.real()};
      }
      power = power * 5 % (8 * half);
    }
  }
  // Coefficients k and n + k of u at the place of k's bits in reverse.
  const long double factor = static_cast<long double>(scale) / static_cast<long double>(slots);
  std::vector<arith::int128> result(2 * slots);
  std::size_t place = 0;
  for (std::size_t k = 0; k < slots; ++k) {
    result[k] = rounded(u[place].real() * factor);
    result[slots + k] = rounded(u[place].imag() * factor);
    std::size_t bit = slots / 2;
    while (bit != 0 && (place & bit) != 0) {
      place ^= bit;
      bit /= 2;
    }
    place |= bit;
  }
  return result;
}

}  // namespace hemera::ckks
