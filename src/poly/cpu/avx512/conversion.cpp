// Sums of products and base conversion for AVX-512.
#include "poly/cpu/avx512/sums.hpp"
#include "poly/cpu/vector/quotient.hpp"
#include "poly/cpu/vector/sums.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using arith::ShoupFactor;

// Two sums of products with the same first factors, where the second factors (an evaluation key) come from
// memory. They are read a page of a few at a time: what the hardware prefetches well, and what does not fall
// on more entries of one set of the caches than those have, as limbs do that are a power of two apart. The
// sums of a page are kept in the first-level cache meanwhile, and the next page of each is fetched into the
// second.
constexpr std::size_t run_words = 512;
constexpr std::size_t group_terms = 4;

template <typename Sum>
using RunSums = Sum[2][run_words / lanes];

// The terms that one step adds, and the second factors that come next.
struct Group {
  const Word* const* a;
  const Word* const* b[2];
  std::size_t first;
  const Word* const* next[2];
  std::size_t next_first;
};

HEMERA_VECTOR_FUNCTION void prefetch(const Word* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
}

template <typename Sum, std::size_t terms, bool first_group>
void add_group(RunSums<Sum>& sums, const Group& group) {
  for (std::size_t k = 0; k < run_words / lanes; ++k) {
    const std::size_t i = k * lanes;
    Sum sum[2];
#pragma GCC unroll 2
    for (std::size_t c = 0; c < 2; ++c) {
      if (!first_group) sum[c] = sums[c][k];
    }
#pragma GCC unroll 4
    for (std::size_t term = 0; term < terms; ++term) {
      const Vector x = load(group.a[term] + group.first + i);
#pragma GCC unroll 2
      for (std::size_t c = 0; c < 2; ++c) {
        prefetch(group.next[c][term] + group.next_first + i);
        sum[c].add_product(x, load(group.b[c][term] + group.first + i));
      }
    }
#pragma GCC unroll 2
    for (std::size_t c = 0; c < 2; ++c) sums[c][k] = sum[c];
  }
}

template <typename Sum, bool first_group>
void add_group(RunSums<Sum>& sums, const Group& group, std::size_t terms) {
  static_assert(group_terms == 4);
  switch (terms) {
    case 1:
      return add_group<Sum, 1, first_group>(sums, group);
    case 2:
      return add_group<Sum, 2, first_group>(sums, group);
    case 3:
      return add_group<Sum, 3, first_group>(sums, group);
    default:
      return add_group<Sum, 4, first_group>(sums, group);
  }
}

// The runs of `count` words, a multiple of run_words.
template <typename Sum>
void inner_product_runs(Word* const* out, const Word* const* a, const Word* const* b0, const Word* const* b1,
                        std::size_t terms, std::size_t count, const Modulus& modulus) {
  const auto q = Sum::Constants::make(modulus);
  const std::size_t capacity = Sum::capacity(modulus.value(), modulus.value());
  // Groups of nearly equal size, larger ones first, so that each fetches enough for the next.
  const std::size_t groups = (terms + group_terms - 1) / group_terms;
  const std::size_t larger = terms % groups;
  RunSums<Sum> sums;
  for (std::size_t first = 0; first < count; first += run_words) {
    std::size_t added = 0;
    std::size_t term = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t size = terms / groups + (g < larger ? 1 : 0);
      // The last group of a run fetches the first terms of the next run; that of the last run its own.
      const bool last = g + 1 == groups;
      const std::size_t ahead = !last ? smaller(term + size, terms - size) : 0;
      const std::size_t next_first = last && first + run_words < count ? first + run_words : first;
      const Group group{.a = a + term,
                        .b = {b0 + term, b1 + term},
                        .first = first,
                        .next = {b0 + ahead, b1 + ahead},
                        .next_first = next_first};
      if (g == 0) {
        add_group<Sum, true>(sums, group, size);
      } else {
        if (added + size > capacity) {
          for (Sum(&component)[run_words / lanes] : sums) {
            for (Sum& sum : component) sum.fold_sum(q);
          }
          added = 0;
        }
        add_group<Sum, false>(sums, group, size);
      }
      added += size;
      term += size;
    }
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t k = 0; k < run_words / lanes; ++k) {
        store(out[c] + first + k * lanes, sums[c][k].reduce(q));
      }
    }
  }
}

// The words from `first` on, fewer than a run: two tiles at once, so that the second finds the first factors
// in the cache.
template <typename Sum, std::size_t tile>
void inner_product_pair_rest(Word* const* out, const Word* const* a, const Word* const* b0,
                             const Word* const* b1, std::size_t terms, std::size_t first, std::size_t count,
                             const Modulus& q) {
  const auto constants = Sum::Constants::make(q);
  const std::size_t capacity = Sum::capacity(q.value(), q.value());
  for_each_tile<tile>(
      count - first, [&](auto width, std::size_t start) __attribute__((always_inline)) {
        inner_product_tile<Sum, width.value>(out[0], a, b0, terms, capacity, first + start, constants);
        inner_product_tile<Sum, width.value>(out[1], a, b1, terms, capacity, first + start, constants);
      });
}

template <typename Sum, std::size_t tile>
void inner_product_pair_with(Word* const* out, const Word* const* a, const Word* const* b0,
                             const Word* const* b1, std::size_t terms, std::size_t count, const Modulus& q) {
  const std::size_t whole_runs = count / run_words * run_words;
  inner_product_runs<Sum>(out, a, b0, b1, terms, whole_runs, q);
  inner_product_pair_rest<Sum, tile>(out, a, b0, b1, terms, whole_runs, count, q);
}

// A weighted sum of one source with weight 1, for source_bound + q <= 2^52: residues modulo another modulus.
void shifted_residues(Word* out, const Word* y, Word negative_shift, std::size_t count, const Modulus& q) {
  const Modulus52 modulus = Modulus52::make(q);
  const Vector shift = broadcast(negative_shift);
  for (std::size_t i = 0; i < count; i += lanes) {
    const Vector x = add(load(y + i), shift);
    const Vector quotient = add_high52(zero(), x, modulus.ratio);  // at most one too small
    store(out + i, fold(bit_and(add_low52(x, quotient, modulus.negative_q), modulus.mask), modulus.q));
  }
}

// The same for larger moduli, from 2^14 on, with source_bound + q <= 2^64.
void wide_shifted_residues(Word* out, const Word* y, Word negative_shift, std::size_t count,
                           const Modulus& q) {
  const Modulus64 modulus = Modulus64::make(q);
  const Vector shift = broadcast(negative_shift);
  for (std::size_t i = 0; i < count; i += lanes) store(out + i, reduce64(add(load(y + i), shift), modulus));
}

}  // namespace

void inner_product(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                   std::size_t count, const Modulus& q) {
  if (q.value() < max_modulus_52) {
    inner_product_with<Sum52, 8>(out, a, b, terms, count, q);
  } else if (q.value() < Sum55::bound) {
    inner_product_with<Sum55, 8>(out, a, b, terms, count, q);
  } else {
    inner_product_with<Sum64, 4>(out, a, b, terms, count, q);
  }
}

void inner_product_pair(Word* out0, Word* out1, const Word* const* a, const Word* const* b0,
                        const Word* const* b1, std::size_t terms, std::size_t count, const Modulus& q) {
  Word* const out[2] = {out0, out1};
  if (q.value() < max_modulus_52) {
    inner_product_pair_with<Sum52, 8>(out, a, b0, b1, terms, count, q);
  } else if (q.value() < Sum55::bound) {
    inner_product_pair_with<Sum55, 8>(out, a, b0, b1, terms, count, q);
  } else {
    inner_product_pair_with<Sum64, 4>(out, a, b0, b1, terms, count, q);
  }
}

void scale_residues(Word* y, const Word* x, const ShoupFactor& factor, bool center, std::size_t count,
                    const Modulus& a) {
  if (!center) {
    multiply_scalar(y, x, factor, count, a);
    return;
  }
  const Vector shift = broadcast((a.value() - 1) / 2);
  if (a.value() < max_modulus_52) {
    const Modulus52 modulus = Modulus52::make(a);
    const Factor52 w = Factor52::make(factor);
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector scaled = multiply52_lazy(load(x + i), w, modulus.negative_q, modulus.mask);  // [0, 2a)
      store(y + i, fold(fold(add(scaled, shift), modulus.twice_q), modulus.q));
    }
  } else {
    const Modulus64 modulus = Modulus64::make(a);
    const Factor64 w = Factor64::make(factor);
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector scaled = fold(multiply64_lazy(load(x + i), w, modulus.q), modulus.twice_q);  // [0, 2a)
      store(y + i, canonical64(add(scaled, shift), modulus));
    }
  }
}

void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  const Correction correction = Correction::of(v, product, shift, q);
  const bool shifts = sources == 1 && weights[0] == 1 && v == nullptr;
  if (shifts && q.value() < max_modulus_52 && source_bound <= (Word{1} << 52) - q.value()) {
    shifted_residues(out, y[0], correction.negative_shift, count, q);
  } else if (shifts && q.value() >= Word{1} << 14) {
    wide_shifted_residues(out, y[0], correction.negative_shift, count, q);
  } else if (q.value() < max_modulus_52 && source_bound <= (Word{1} << 52)) {
    weighted_sum_with<Sum52, 8>(out, y, weights, sources, source_bound, correction, count, q);
  } else if (q.value() < Sum55::bound && source_bound <= Sum55::bound) {
    weighted_sum_with<Sum55, 8>(out, y, weights, sources, source_bound, correction, count, q);
  } else {
    weighted_sum_with<Sum64, 4>(out, y, weights, sources, source_bound, correction, count, q);
  }
}

bool quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
              std::size_t count) {
  for (std::size_t i = 0; i < sources; ++i) {
    if (bits[i] > 52) return wide_quotient(v, y, r, bits, sources, count);
  }
  // With z = y 2^(52 - bits) and r = top * 2^52 + bottom a term is floor(z r / 2^51) =
  // 2 (z top + high(z bottom)) + floor(low(z bottom) / 2^51). The doubled parts are summed in 52-bit pieces,
  // the last ones as they are; half of everything is then shifted by 63 in place of 64.
  constexpr std::size_t tile = 4;
  Vector differences = broadcast(~Word{0});
  const auto run = [&](auto width, std::size_t first) __attribute__((always_inline)) {
    Vector low[width.value], high[width.value], units[width.value];
    for (std::size_t k = 0; k < width.value; ++k) low[k] = high[k] = units[k] = zero();
    for (std::size_t i = 0; i < sources; ++i) {
      const __m128i shift = _mm_cvtsi32_si128(52 - bits[i]);
      const Vector top = broadcast(r[i] >> 52);
      const Vector bottom = broadcast(r[i] & mask52);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < width.value; ++k) {
        const Vector z = shift_left(load(y[i] + first + k * lanes), shift);
        low[k] = add_high52(add_low52(low[k], z, top), z, bottom);
        high[k] = add_high52(high[k], z, top);
        units[k] = add(units[k], shift_right<51>(add_low52(zero(), z, bottom)));
      }
    }
    const Vector half = broadcast(Word{1} << 62);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < width.value; ++k) {
      const Vector carry = shift_right<52>(add(add(low[k], shift_right<1>(units[k])), half));
      const Vector whole = add(high[k], carry);
      differences = add_differences(differences, whole);
      store(v + first + k * lanes, shift_right<11>(whole));
    }
  };
  for_each_tile<tile>(count, run);
  return one_is_alike<10>(differences);
}

}  // namespace hemera::poly::cpu::avx512
