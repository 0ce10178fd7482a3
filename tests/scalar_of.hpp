// Numbers for tests that run for every scheme.
#pragma once

#include <complex>
#include <cstdint>

#include "hemera/rlwe/evaluator.hpp"

namespace hemera {

/// The complex number for CKKS, the integer for BFV and BGV.
inline rlwe::Scalar scalar_of(const rlwe::Evaluator& evaluator, std::complex<double> value,
                              std::int64_t integer) {
  if (evaluator.context()->scheme() == rlwe::Scheme::ckks) return value;
  return integer;
}

}  // namespace hemera
