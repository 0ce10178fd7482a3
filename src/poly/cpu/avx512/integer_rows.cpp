// Rows of integers times packed residues for AVX-512: in 52-bit products for moduli below 2^50.
#include "poly/cpu/integer_rows.hpp"

#include "poly/cpu/avx512/arithmetic52.hpp"
#include "poly/cpu/vector/integers.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using arith::Modulus;

// Weights are raised by 2^15, so that none is negative; 2^15 times the sum of the residues goes off again.
constexpr Word raise = Word{1} << 15;

// q - 2^15 sum mod q, for sums below 2^63.
[[gnu::always_inline]] inline Vector lowered(Vector sum, const Modulus52& q) {
  const Vector high = add_high52(shift_left<15>(shift_right<52>(sum)), sum, broadcast(raise));
  return subtract(q.q, reduce_sum52(high, add_low52(zero(), sum, broadcast(raise)), q));
}

// Two tiles at a time: high grows by less than 2^14 a product, low by 2^52.
template <std::size_t rows>
[[gnu::always_inline]] inline void multiply52(Word* const* out, const PackedRows& in, const Word* weights,
                                              bool adds, const Modulus& q) {
  constexpr std::size_t tiles = 2;
  static_assert(packed_tile == lanes);
  const Modulus52 modulus = Modulus52::make(q);
  for (std::size_t n = 0; n < in.count; n += tiles * lanes) {
    const Word* x = in.words + n * in.columns;
    Vector low[rows][tiles], high[rows][tiles];
    for (std::size_t t = 0; t < tiles; ++t) {
      const Vector start = lowered(load(in.sums + n + t * lanes), modulus);
      for (std::size_t r = 0; r < rows; ++r) {
        low[r][t] = start;
        if (adds) low[r][t] = add(low[r][t], load(out[r] + n + t * lanes));
        high[r][t] = zero();
      }
    }
    for (std::size_t j = 0; j < in.columns; ++j) {
      const Vector values[tiles] = {load(x + j * lanes), load(x + (in.columns + j) * lanes)};
#pragma GCC unroll 4
      for (std::size_t r = 0; r < rows; ++r) {
        const Vector w = broadcast(weights[r * in.columns + j]);
#pragma GCC unroll 2
        for (std::size_t t = 0; t < tiles; ++t) {
          low[r][t] = add_low52(low[r][t], values[t], w);
          high[r][t] = add_high52(high[r][t], values[t], w);
        }
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t t = 0; t < tiles; ++t) {
        store(out[r] + n + t * lanes, reduce_sum52(high[r][t], low[r][t], modulus));
      }
    }
  }
}

}  // namespace

void multiply_integers(Word* const* out, const PackedRows& in, const std::int32_t* weights, std::size_t rows,
                       bool adds, const Modulus& q) {
  if (q.value() >= max_modulus_52) return IntegerRows<Integers>::run(out, in, weights, rows, adds, q);
  alignas(64) Word raised[packed_row_group * most_packed_columns];
  for (std::size_t i = 0; i < rows * in.columns; ++i) {
    raised[i] = static_cast<Word>(static_cast<std::int64_t>(weights[i])) + raise;
  }
  static_assert(packed_row_group == 4);
  switch (rows) {
    case 1:
      return multiply52<1>(out, in, raised, adds, q);
    case 2:
      return multiply52<2>(out, in, raised, adds, q);
    case 3:
      return multiply52<3>(out, in, raised, adds, q);
    default:
      return multiply52<4>(out, in, raised, adds, q);
  }
}

}  // namespace hemera::poly::cpu::avx512
