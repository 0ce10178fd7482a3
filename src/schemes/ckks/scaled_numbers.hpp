// Real numbers as integers of a scale, exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/two_doubles.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::ckks {

/// value * scale to the nearest integer, ties to even, exactly.
arith::BigInteger scaled_integer(const arith::TwoDoubles& value, const arith::TwoDoubles& scale);
inline arith::BigInteger scaled_integer(double value, double scale) {
  return scaled_integer(arith::TwoDoubles{value}, arith::TwoDoubles{scale});
}

/// One residue a limb.
std::vector<std::uint64_t> residues(const arith::BigInteger& value, const poly::RnsBase& base);
/// The residues of the scaled integer.
std::vector<std::uint64_t> scaled_residues(double value, const arith::TwoDoubles& scale,
                                           const poly::RnsBase& base);

}  // namespace hemera::ckks
