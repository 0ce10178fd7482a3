// Transform tables of one modulus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::poly::cpu {

/// Twiddle factors in bit-reversed order: entry i of the forward tables belongs to root^reverse_bits(i), of
/// the inverse tables to its inverse. Quotients are Shoup's: floor(w * 2^64 / q), and for q < 2^50 also
/// floor(w * 2^52 / q) for the 52-bit multiply.
struct LimbTables {
  arith::Modulus modulus;
  std::size_t degree = 0;
  int log_degree = 0;
  std::uint64_t root = 0;  // 0: no transform, the tables are empty

  std::vector<std::uint64_t> powers;
  std::vector<std::uint64_t> quotients;
  std::vector<std::uint64_t> quotients52;
  std::vector<std::uint64_t> inverse_powers;
  std::vector<std::uint64_t> inverse_quotients;
  std::vector<std::uint64_t> inverse_quotients52;
  arith::ShoupFactor inverse_degree;  // N^-1
};

/// The largest modulus for which kernels may use 52-bit multiplies.
inline constexpr std::uint64_t max_modulus_52 = std::uint64_t{1} << 50;

LimbTables make_limb_tables(const RingModulus& modulus, std::size_t degree);

}  // namespace hemera::poly::cpu
