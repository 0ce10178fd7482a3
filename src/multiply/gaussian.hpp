// Gaussian integers modulo a word-sized modulus, and the roots that a discrete Galois transform needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiply {

/// re + i im with canonical residues.
struct Gaussian {
  std::uint64_t re = 0;
  std::uint64_t im = 0;

  friend bool operator==(const Gaussian&, const Gaussian&) = default;
};

inline Gaussian multiply(const Gaussian& a, const Gaussian& b, const arith::Modulus& p) {
  return {p.subtract(p.multiply(a.re, b.re), p.multiply(a.im, b.im)),
          p.add(p.multiply(a.re, b.im), p.multiply(a.im, b.re))};
}
inline Gaussian conjugate(const Gaussian& a, const arith::Modulus& p) { return {a.re, p.negate(a.im)}; }
inline Gaussian power(Gaussian base, std::uint64_t exponent, const arith::Modulus& p) {
  Gaussian result{1, 0};
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, base, p);
    base = multiply(base, base, p);
  }
  return result;
}

/// An h with h^(degree / 2) = i for a prime p = 3 modulo 4 that is -1 modulo degree, a power of two >= 2.
/// It is z^((p - 1)/2 (p + 1)/degree) for a Gaussian integer z for which this power has the full order 2
/// degree.
Gaussian inert_root(std::size_t degree, const arith::Modulus& p);

/// The h of norm 1 with h^(degree / 2) = i for a prime p = 1 modulo 2 degree: (cos, sin) in terms of a
/// primitive root psi of order 2 degree, since Z_p[i] is Z_p x Z_p and h is (psi, 1/psi) there.
Gaussian split_root(std::size_t degree, std::uint64_t psi, const arith::Modulus& p);

}  // namespace hemera::multiply
