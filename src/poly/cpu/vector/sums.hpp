// Loops over sums of products.
//
// A `Sum` has Constants of a modulus, with `make`, and
//   capacity(a_bound, q)          products of a < a_bound and b < q that may be added before `fold_sum`, less
//                                 one;
//   operand(vector), weight(word) the factors of a product, the second one the same in all lanes;
//   start(word)                   a residue, in place of zero;
//   add_product(a, b);
//   add_quotient(v, weight, q)    one more product, of words v as for Kernels::weighted_sum;
//   fold_sum(q), reduce(q)        the sum modulo q, as its new value, and as canonical words.
#pragma once

#include <cstddef>

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

using arith::Modulus;

std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// run(width, first) for the first index of each `tile` vectors as a compile-time width, then of single ones.
// Counts are multiples of eight words.
template <std::size_t tile, typename Run>
[[gnu::always_inline]] inline void for_each_tile(std::size_t count, const Run& run) {
  std::size_t start = 0;
  for (; start + tile * lanes <= count; start += tile * lanes) {
    run(std::integral_constant<std::size_t, tile>{}, start);
  }
  if constexpr (tile * lanes > 8) {
    for (; start < count; start += lanes) run(std::integral_constant<std::size_t, 1>{}, start);
  }
}

// `tile` vectors from `start` on: each operand is read in runs of several cache lines.
template <typename Sum, std::size_t tile>
[[gnu::always_inline]] inline void inner_product_tile(Word* out, const Word* const* a, const Word* const* b,
                                                      std::size_t terms, std::size_t capacity,
                                                      std::size_t start, const typename Sum::Constants& q) {
  Sum sums[tile];
  for (std::size_t begin = 0; begin < terms; begin += capacity) {
    if (begin != 0) {
      for (Sum& sum : sums) sum.fold_sum(q);
    }
    const std::size_t end = smaller(terms, begin + capacity);
    for (std::size_t term = begin; term < end; ++term) {
      const Word* x = a[term] + start;
      const Word* y = b[term] + start;
#pragma GCC unroll 8
      for (std::size_t k = 0; k < tile; ++k) {
        sums[k].add_product(Sum::operand(load(x + k * lanes)), Sum::operand(load(y + k * lanes)));
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < tile; ++k) store(out + start + k * lanes, sums[k].reduce(q));
}

template <typename Sum, std::size_t tile>
void inner_product_with(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                        std::size_t count, const Modulus& q) {
  const auto constants = Sum::Constants::make(q);
  const std::size_t capacity = Sum::capacity(q.value(), q.value());
  std::size_t start = 0;
  for (; start + tile * lanes <= count; start += tile * lanes) {
    inner_product_tile<Sum, tile>(out, a, b, terms, capacity, start, constants);
  }
  if constexpr (tile * lanes > 8) {
    for (; start < count; start += lanes) {
      inner_product_tile<Sum, 1>(out, a, b, terms, capacity, start, constants);
    }
  }
}

// The number that a weighted sum adds to the terms.
struct Correction {
  const Word* v;          // or null
  Word negative_product;  // -product mod q
  Word negative_shift;    // -shift mod q

  static Correction of(const Word* v, Word product, Word shift, const Modulus& q) {
    return {v, product == 0 ? 0 : q.value() - product, shift == 0 ? 0 : q.value() - shift};
  }
};

template <typename Sum, std::size_t tile>
[[gnu::always_inline]] inline void weighted_sum_tile(Word* out, const Word* const* y, const Word* weights,
                                                     std::size_t sources, std::size_t capacity,
                                                     const Correction& correction, std::size_t start,
                                                     const typename Sum::Constants& q) {
  Sum sums[tile];
  for (Sum& sum : sums) sum.start(correction.negative_shift);
  for (std::size_t begin = 0; begin < sources; begin += capacity) {
    if (begin != 0) {
      for (Sum& sum : sums) sum.fold_sum(q);
    }
    const std::size_t end = smaller(sources, begin + capacity);
    for (std::size_t i = begin; i < end; ++i) {
      const Word* source = y[i] + start;
      const auto weight = Sum::weight(weights[i]);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < tile; ++k) {
        sums[k].add_product(Sum::operand(load(source + k * lanes)), weight);
      }
    }
  }
  if (correction.v != nullptr) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < tile; ++k) {
      sums[k].add_quotient(load(correction.v + start + k * lanes), correction.negative_product, q);
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < tile; ++k) store(out + start + k * lanes, sums[k].reduce(q));
}

template <typename Sum, std::size_t tile>
void weighted_sum_with(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                       Word source_bound, const Correction correction, std::size_t count, const Modulus& q) {
  const auto constants = Sum::Constants::make(q);
  const std::size_t capacity = Sum::capacity(source_bound, q.value());
  std::size_t start = 0;
  for (; start + tile * lanes <= count; start += tile * lanes) {
    weighted_sum_tile<Sum, tile>(out, y, weights, sources, capacity, correction, start, constants);
  }
  if constexpr (tile * lanes > 8) {
    for (; start < count; start += lanes) {
      weighted_sum_tile<Sum, 1>(out, y, weights, sources, capacity, correction, start, constants);
    }
  }
}

}  // namespace
}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
