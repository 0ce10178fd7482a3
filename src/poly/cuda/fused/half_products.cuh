// Sums of residues times weights as products of matrices of doubles, for primes below 2^50. A residue is two
// halves, y = (y0 - 2^24) + (2^25 y1 - 2^49) + a constant. The lower one is multiplied by the weight w, the
// upper one by 2^-25 (2^25 w mod q), each centred and in two parts: a multiple of 2^25, and at most 2^24. So
// a product of a half and a part is at most 2^48, once or 2^25 times: sums of two products from each of 14
// sources, with a quotient's, stay below 2^52.9, and are exact in whatever order they are made.
#pragma once

#include "poly/cuda/arithmetic.cuh"

namespace hemera::poly::cuda {

/// The sum of the constants that the halves of a residue lack.
inline constexpr std::uint64_t half_offset = (std::uint64_t{1} << 24) + (std::uint64_t{1} << 49);

/// An integer: `high` is a multiple of 2^25, `low` at most 2^24 in size.
struct Parts {
  double low;
  double high;
};

/// The parts of an integer of at most 2^50 in size.
__host__ __device__ __forceinline__ Parts parts_of(double x) {
  constexpr double round = 0x1.8p77;  // rounds to multiples of 2^25
  const double high = (x + round) - round;
  return {x - high, high};
}

/// The halves y0 - 2^24 and 2^25 y1 - 2^49 of y = y0 + 2^25 y1 < 2^50, by their places in a double.
__device__ __forceinline__ void split(std::uint64_t y, double& low, double& high) {
  const double whole = __longlong_as_double(static_cast<long long>(y | 0x4330000000000000ULL));  // 2^52 + y
  const double part =
      __hiloint2double(0x43320000, static_cast<int>(static_cast<std::uint32_t>(y) & 0x1ffffffU));
  high = __dsub_rn(whole, part);  // part = 2^52 + 2^49 + y0
  low = __dadd_rn(part, -(0x1p52 + 0x1p49 + 0x1p24));
}

/// The sum of both parts, below 2^50 q in size, to at most 0.51 q. With a low part below 2^52.9 the
/// difference of the high part and the multiple of q is below 2^53, so it is exact.
__device__ __forceinline__ double fold_parts(const Parts& sums, const F64::Modulus& m) {
  const double multiple =
      __dadd_rn(__fma_rn(__dadd_rn(sums.high, sums.low), m.inverse, F64::round), -F64::round);
  return __dadd_rn(__fma_rn(-multiple, m.q, sums.high), sums.low);
}

}  // namespace hemera::poly::cuda
