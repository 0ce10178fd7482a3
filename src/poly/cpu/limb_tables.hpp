// Transform tables of one modulus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::poly::cpu {

/// Places tables on cache lines: vector loads from them then never straddle two.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T* pointer, std::size_t) { ::operator delete(pointer, alignment); }

  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

using TwiddleTable = std::vector<std::uint64_t, CacheLineAllocator<std::uint64_t>>;

/// Twiddle factors in bit-reversed order: entry i of the forward tables belongs to root^reverse_bits(i), of
/// the inverse tables to its inverse. Quotients are Shoup's, floor(w * 2^64 / q).
///
/// The tables whose names end in 52 and 64 are for kernels with vectors of eight words. Tables of 52 have
/// quotients floor(w * 2^52 / q) and are empty unless q < 2^50, those of 64 are empty if it is. Up to entry
/// N/4 their order is the same; the factors of the last two stages follow in an order that gives a vector to
/// each of the 8 blocks of 8 coefficients within 64: at N/4 + 48 b + 8 h + l that of entry N/4 + 2 (8 b + l)
/// + h, h < 2, and at N/4 + 48 b + 16 + 8 h + l that of N/2 + 4 (8 b + l) + h, h < 4.
struct LimbTables {
  arith::Modulus modulus;
  std::size_t degree = 0;
  int log_degree = 0;
  std::uint64_t root = 0;  // 0: no transform, the tables are empty

  TwiddleTable powers;
  TwiddleTable quotients;
  TwiddleTable inverse_powers;
  TwiddleTable inverse_quotients;
  TwiddleTable powers52;
  TwiddleTable quotients52;
  TwiddleTable inverse_powers52;
  TwiddleTable inverse_quotients52;
  TwiddleTable powers64;
  TwiddleTable quotients64;
  TwiddleTable inverse_powers64;
  TwiddleTable inverse_quotients64;
  arith::ShoupFactor inverse_degree;  // N^-1; of fewer values (RingModulus) their number's inverse
  /// N^-1 * inverse_powers[1]: the factor of the last stage of the inverse.
  arith::ShoupFactor inverse_degree_twist;
};

/// The largest modulus for which kernels may use 52-bit multiplies.
inline constexpr std::uint64_t max_modulus_52 = std::uint64_t{1} << 50;

LimbTables make_limb_tables(const RingModulus& modulus, std::size_t degree);

}  // namespace hemera::poly::cpu
