// Sums of products of bytes put together modulo q.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cuda::matrix {

/// Puts sums together modulo q, of residues of this many bytes: 4 up to 32 bits, 6 up to 48, 7 up to 56, 8
/// above. What they are together is below 2^29 q in size, as 2^14 products of a residue and an integer of two
/// bytes are, and 2^22 of one. So the quotient has 30 bits, and a product of 32 bits estimates it: Barrett's
/// reduction by the highest bits alone.
template <unsigned bytes>
class Join {
 public:
  __device__ __forceinline__ explicit Join(const arith::Modulus& q) : q_(q) {
    if constexpr (bytes == 4) return;
    const auto bits = static_cast<unsigned>(64 - __clzll(static_cast<long long>(q.value())));
    shift_ = bits - 2 - split;
    // 2^(31 + bits) / q: 2^32 for a power of two.
    const arith::uint128 ratio = static_cast<arith::uint128>(q.ratio_high()) << 64 | q.ratio_low();
    const auto most = static_cast<std::uint64_t>(ratio >> (97 - bits));
    ratio_ = static_cast<std::uint32_t>(most - (most >> 32));
  }

  /// The sum of 2^(8 i) sum(i) for i < count, of signed sums, and of a residue, modulo q. The highest of nine
  /// is below 2^30 in size.
  template <unsigned count, typename Sum>
  __device__ __forceinline__ std::uint64_t operator()(const Sum& sum, std::uint64_t added = 0) const {
    static_assert(count >= 4 && count <= 9);
    // 2^29 q more, which makes it positive.
    auto low = static_cast<std::int64_t>(added + (static_cast<std::uint32_t>(q_.value()) << 29));
    auto high = static_cast<std::int64_t>(q_.value() >> 3);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) low += sum(i) * (std::int64_t{1} << (8 * i));
#pragma unroll
    for (unsigned i = 4; i < count; ++i) high += sum(i) * (std::int64_t{1} << (8 * (i - 4)));
    const std::uint64_t all = static_cast<std::uint64_t>(low) + (static_cast<std::uint64_t>(high) << 32);
    if constexpr (bytes == 4) return q_.reduce(all);
    // Its highest 32 bits, of bits + 30. What they leave out and the ratio's rest are below half of q each,
    // so the quotient is at most one too small.
    const auto upper = static_cast<std::uint64_t>(high * (std::int64_t{1} << (32 - split)) + (low >> split));
    const auto top = static_cast<std::uint32_t>(upper >> shift_);
    const auto quotient = static_cast<std::uint32_t>(static_cast<std::uint64_t>(top) * ratio_ >> 33);
    const std::uint64_t once = all - quotient * q_.value() - q_.value();
    return once + (q_.value() & (0 - (once >> 63)));
  }

 private:
  // The sum's bits from here on are those that the quotient needs.
  static constexpr unsigned split = bytes == 6 ? 31 : 32;

  const arith::Modulus& q_;
  unsigned shift_ = 0;
  std::uint32_t ratio_ = 0;
};

}  // namespace hemera::poly::cuda::matrix
