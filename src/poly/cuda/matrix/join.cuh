// Sums of products of bytes put together modulo q.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda::matrix {

/// The sum of 2^(8 i) sum(i) for i < count, of signed sums, modulo q. The highest of nine is below 2^30 in
/// size: residues end below 2^61.
template <unsigned count, typename Sum>
__device__ __forceinline__ std::uint64_t join(const Sum& sum, const arith::Modulus& q) {
  static_assert(count >= 4 && count <= 9);
  std::int64_t low = 0, high = 0;
#pragma unroll
  for (unsigned i = 4; i > 0; --i) low = low * 256 + sum(i - 1);
#pragma unroll
  for (unsigned i = count; i > 4; --i) high = high * 256 + sum(i - 1);
  // low + 2^32 high, in two words.
  const std::uint64_t shifted = static_cast<std::uint64_t>(high) << 32;
  std::uint64_t first = shifted + static_cast<std::uint64_t>(low);
  std::int64_t second = (high >> 32) + (low >> 63) + (first < shifted ? 1 : 0);
  const std::uint64_t sign = static_cast<std::uint64_t>(second >> 63);
  const arith::uint128 mask = static_cast<arith::uint128>(sign) << 64 | sign;
  const arith::uint128 value = static_cast<arith::uint128>(static_cast<std::uint64_t>(second)) << 64 | first;
  const std::uint64_t residue = q.reduce((value ^ mask) - mask);  // of its size
  return (q.negate(residue) & sign) | (residue & ~sign);
}

}  // namespace hemera::poly::cuda::matrix
