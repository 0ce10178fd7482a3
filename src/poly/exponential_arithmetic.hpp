// exp(2 pi i r / q) in a fixed order of IEEE operations, which every backend has the same bits of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/views.hpp"

namespace hemera::poly {

/// Residues are modulo primes of at most this many bits.
inline constexpr int most_exponential_bits = 58;

struct UnitNumber {
  double real, imaginary;
};

/// For r < q < 2^58; within 2^-51. The nearest eighth of a turn, and the series of the rest, at most a
/// sixteenth.
HEMERA_HOST_DEVICE inline UnitNumber exponential(std::uint64_t r, std::uint64_t q) {
  unsigned eighths = 0;
  for (unsigned k = 1; k <= 8; ++k) eighths += static_cast<unsigned>(16 * r >= (2 * k - 1) * q);
  const auto rest = static_cast<std::int64_t>(8 * r - eighths * q);
  constexpr double eighth = 0.78539816339744830962;  // pi / 4
  const double x = static_cast<double>(rest) / static_cast<double>(q) * eighth, y = x * x;
  // 1 / (2 k + 1)! and 1 / (2 k)!, with signs: the terms left out are below 2^-66.
  double sine = -1.0 / 1307674368000.0;
  sine = sine * y + 1.0 / 6227020800.0;
  sine = sine * y - 1.0 / 39916800.0;
  sine = sine * y + 1.0 / 362880.0;
  sine = sine * y - 1.0 / 5040.0;
  sine = sine * y + 1.0 / 120.0;
  sine = sine * y - 1.0 / 6.0;
  sine = x + x * (sine * y);
  double cosine = -1.0 / 87178291200.0;
  cosine = cosine * y + 1.0 / 479001600.0;
  cosine = cosine * y - 1.0 / 3628800.0;
  cosine = cosine * y + 1.0 / 40320.0;
  cosine = cosine * y - 1.0 / 720.0;
  cosine = cosine * y + 1.0 / 24.0;
  cosine = cosine * y - 0.5;
  cosine = 1.0 + cosine * y;
  // An odd number of eighths turns by one more, in whose place (1 + i) / sqrt(2) multiplies.
  constexpr double diagonal = 0.70710678118654752440;
  const bool is_odd = (eighths & 1U) != 0;
  const double real = is_odd ? diagonal * (cosine - sine) : cosine;
  const double imaginary = is_odd ? diagonal * (cosine + sine) : sine;
  switch (eighths >> 1 & 3U) {
    case 0:
      return {real, imaginary};
    case 1:
      return {-imaginary, real};
    case 2:
      return {-real, -imaginary};
    default:
      return {imaginary, -real};
  }
}

/// position(j) of Backend::exponentials.
HEMERA_HOST_DEVICE inline std::size_t exponential_position(const ExponentialLayout& layout, std::size_t j,
                                                           std::size_t degree) {
  std::size_t reversed = 0, bits = j & (layout.row - 1);
  for (std::size_t place = layout.row >> 1; place != 0; place >>= 1, bits >>= 1)
    reversed += (bits & 1) * place;
  return (reversed + (j & ~(layout.row - 1))) * (degree / (2 * layout.row));
}

/// The coefficient of X^shift a at a position, modulo q, for shift < N.
HEMERA_HOST_DEVICE inline std::uint64_t shifted_coefficient(const std::uint64_t* a, std::size_t shift,
                                                            std::size_t position, std::size_t degree,
                                                            std::uint64_t q) {
  const bool wraps = shift > position;
  const std::uint64_t residue = a[position + (wraps ? degree : 0) - shift];
  return wraps && residue != 0 ? q - residue : residue;
}

}  // namespace hemera::poly
