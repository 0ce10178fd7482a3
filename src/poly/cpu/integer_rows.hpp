// Rows of integers times packed residues over vectors of 64-bit lanes, for moduli of any size; scalar code,
// avx2/, avx512/ and neon/ bring the vectors.
//
// A residue is its low 31 bits and the rest, below 2^30. Both halves' products with a weight are signed and
// below 2^46 in size, so that their sums need no reduction.
//
// `V` is a type of the including file's unnamed namespace, so that nothing here can be shared with a file
// compiled for another instruction set. It has Sum, Half, Weight, lanes and:
//   load_low(p), load_high(p)         the halves of `lanes` residues, as signed words of 32 bits or more;
//   broadcast(w)                      a signed weight;
//   add_product(sum, half, weight)    in signed words of 64 bits;
//   store(out, sum)                   them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

__extension__ using SignedWide = __int128;

template <typename V>
struct IntegerRows {
  using Word = std::uint64_t;
  static constexpr std::size_t tile = packed_tile;

  // low + 2^31 high + addend modulo q; sums below 2^62 in size.
  static Word reduce(std::int64_t low, std::int64_t high, Word addend, arith::uint128 multiple,
                     const arith::Modulus& q) {
    const auto sum = static_cast<SignedWide>(high) * (SignedWide{1} << 31) + low;
    return q.reduce(multiple + static_cast<arith::uint128>(sum) + addend);
  }

  template <std::size_t rows>
  [[gnu::always_inline]] static inline void multiply(Word* const* out, const PackedRows& in,
                                                     const std::int32_t* weights, bool adds,
                                                     const arith::Modulus& q) {
    // A multiple of q above every sum's size.
    const arith::uint128 multiple = (arith::uint128{1} << 95) / q.value() * q.value();
    for (std::size_t n = 0; n < in.count; n += V::lanes) {
      const Word* x = in.words + n / tile * tile * in.columns + n % tile;
      typename V::Sum low[rows] = {}, high[rows] = {};
      for (std::size_t j = 0; j < in.columns; ++j) {
        const typename V::Half x_low = V::load_low(x + j * tile), x_high = V::load_high(x + j * tile);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < rows; ++r) {
          const typename V::Weight w = V::broadcast(weights[r * in.columns + j]);
          low[r] = V::add_product(low[r], x_low, w);
          high[r] = V::add_product(high[r], x_high, w);
        }
      }
      for (std::size_t r = 0; r < rows; ++r) {
        std::int64_t of_low[V::lanes], of_high[V::lanes];
        V::store(of_low, low[r]);
        V::store(of_high, high[r]);
        for (std::size_t i = 0; i < V::lanes; ++i) {
          out[r][n + i] = reduce(of_low[i], of_high[i], adds ? out[r][n + i] : 0, multiple, q);
        }
      }
    }
  }

  /// Kernels::multiply_integers.
  static void run(Word* const* out, const PackedRows& in, const std::int32_t* weights, std::size_t rows,
                  bool adds, const arith::Modulus& q) {
    static_assert(packed_row_group == 4);
    switch (rows) {
      case 1:
        return multiply<1>(out, in, weights, adds, q);
      case 2:
        return multiply<2>(out, in, weights, adds, q);
      case 3:
        return multiply<3>(out, in, weights, adds, q);
      default:
        return multiply<4>(out, in, weights, adds, q);
    }
  }
};

}  // namespace hemera::poly::cpu
