// The CKKS embedding and its inverse on the host, in pairs of doubles.
#pragma once

#include <span>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/two_doubles.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::ckks {

struct PreciseComplex {
  arith::TwoDoubles real, imag;
};

/// The polynomial of 2n coefficients whose slots j (its values at exp(2 pi i 5^j / 4n)) are the n values, a
/// power of two of them, times the scale: to the nearest integers. The error is some 2^-100 of the values'
/// root mean square, where doubles leave 2^-52. Coefficients must be below 2^126.
std::vector<arith::int128> precise_coefficients(std::span<const PreciseComplex> values,
                                                const arith::TwoDoubles& scale);

/// The n slots of the polynomial with these 2n coefficients.
std::vector<PreciseComplex> precise_slots(std::span<const arith::TwoDoubles> coefficients);

/// The integer nearest to 0 that has these residues, to 2^-100 of itself: one at a time, as its digits in the
/// mixed radix of the moduli (H. Garner, "The residue number system", 1959).
class CenteredReader {
 public:
  explicit CenteredReader(const poly::RnsBase& base);
  /// The residue modulo limb i at residues[i * stride].
  arith::TwoDoubles operator()(const std::uint64_t* residues, std::size_t stride);

 private:
  const poly::RnsBase base_;
  std::vector<std::vector<std::uint64_t>> inverses_;  // [i][j < i]: of modulus j, modulo i
  std::vector<std::uint64_t> digits_;
};

}  // namespace hemera::ckks
