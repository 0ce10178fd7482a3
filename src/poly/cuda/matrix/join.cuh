// Sums of products of bytes put together modulo q.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda::matrix {

/// Puts sums together modulo q, of residues of so many bytes: four are up to 32 bits, more are above.
template <unsigned bytes>
class Join {
 public:
  __device__ __forceinline__ explicit Join(const arith::Modulus& q)
      : q_(q),
        quotient_(bytes == 4 ? 0 : static_cast<std::uint64_t>((arith::uint128{1} << 96) / q.value())) {}

  /// The sum of 2^(8 i) sum(i) for i < count, of signed sums, modulo q. The highest of nine is below 2^30 in
  /// size.
  template <unsigned count, typename Sum>
  __device__ __forceinline__ std::uint64_t operator()(const Sum& sum) const {
    static_assert(count >= 4 && count <= 9);
    std::int64_t low = 0, high = 0;
#pragma unroll
    for (unsigned i = 4; i > 0; --i) low = low * 256 + sum(i - 1);
    const std::uint64_t low_residue = q_.reduce_signed(low);
    if constexpr (count == 4) return low_residue;
#pragma unroll
    for (unsigned i = count; i > 4; --i) high = high * 256 + sum(i - 1);
    const std::uint64_t residue = q_.reduce_signed(high);
    if constexpr (bytes == 4) return q_.add(q_.reduce(residue << 32), low_residue);
    // Times 2^32 as by Shoup, below 2 q.
    const std::uint64_t shifted = (residue << 32) - arith::multiply_high(residue, quotient_) * q_.value();
    const std::uint64_t once = shifted - q_.value();
    return q_.add(once + (q_.value() & (0 - (once >> 63))), low_residue);
  }

  /// A residue times 256.
  __device__ __forceinline__ std::uint64_t next_byte(std::uint64_t residue) const {
    if constexpr (bytes < 8) return q_.reduce(residue << 8);
    return q_.reduce(static_cast<arith::uint128>(residue) << 8);
  }

 private:
  const arith::Modulus& q_;
  std::uint64_t quotient_;  // of 2^96, where that is a word
};

}  // namespace hemera::poly::cuda::matrix
