// Changes of base: conversion, scale-and-round, division.
#include <algorithm>
#include <atomic>

#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hemera::poly::cpu {

using Limb = std::uint64_t;
using arith::uint128;

namespace {

// Two words. Every processor of the x86-64 architecture multiplies the low halves of both at once, which
// compilers do not find by themselves.
#if defined(__SSE2__)
struct Pair {
  __m128i words;

  static Pair all(Limb word) { return {_mm_set1_epi64x(static_cast<long long>(word))}; }
  void add_product(const Limb* y, int up, int down, std::uint32_t weight) {
    const __m128i x =
        _mm_sll_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(y)), _mm_cvtsi32_si128(up));
    const __m128i high = _mm_srl_epi64(x, _mm_cvtsi32_si128(down));
    words = _mm_add_epi64(words, _mm_mul_epu32(high, _mm_set1_epi64x(weight)));
  }
  // Word by word: x ^ 2x.
  [[nodiscard]] Pair changes() const { return {_mm_xor_si128(words, _mm_slli_epi64(words, 1))}; }
  void collect(const Pair& other) { words = _mm_or_si128(words, other.words); }
  [[nodiscard]] Limb collected() const {
    return static_cast<Limb>(_mm_cvtsi128_si64(_mm_or_si128(words, _mm_unpackhi_epi64(words, words))));
  }
};
#else
struct Pair {
  Limb words[2];

  static Pair all(Limb word) { return {{word, word}}; }
  void add_product(const Limb* y, int up, int down, std::uint32_t weight) {
    for (int i = 0; i < 2; ++i) words[i] += Limb{static_cast<std::uint32_t>(y[i] << up >> down)} * weight;
  }
  [[nodiscard]] Pair changes() const { return {{words[0] ^ (words[0] << 1), words[1] ^ (words[1] << 1)}}; }
  void collect(const Pair& other) {
    for (int i = 0; i < 2; ++i) words[i] |= other.words[i];
  }
  [[nodiscard]] Limb collected() const { return words[0] | words[1]; }
};
#endif

// Pairs whose sums stay in registers, and coefficients that are looked at together: they divide every block.
constexpr std::size_t pairs = 4;
constexpr std::size_t tile = 64;

// Whether one of `count` coefficients x is a quarter or more of the source's product away from all of its
// multiples: of the sum of y[i] / a_i modulo 2, each off by at most 2^-30: the highest 32 bits of y times
// those of floor(2^(63 + bits) / a). A centred residue comes with half the modulus added. Every coefficient
// is treated alike.
std::int64_t conversion_doubt(const std::vector<const Limb*>& y, const BaseConversion& plan, bool centered,
                              std::size_t count) {
  struct Source {
    const Limb* row;
    int up, down;
    std::uint32_t weight;
  };
  std::vector<Source> sources;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const int bits = plan.source().modulus(i).bits();
    sources.push_back({y[i], std::max(0, 32 - bits), std::max(0, bits - 32),
                       static_cast<std::uint32_t>(plan.quotient_factors()[i] >> 32)});
  }
  // One bit is left of the point. The two after it differ from a quarter to three quarters.
  const Limb start = centered ? Limb{1} << 62 : 0;  // another half
  Pair found = Pair::all(0);
  for (std::size_t n = 0; n < count; n += 2 * pairs) {
    Pair sums[pairs];
    for (Pair& sum : sums) sum = Pair::all(start);
    for (const Source& source : sources) {
      for (std::size_t k = 0; k < pairs; ++k) {
        sums[k].add_product(source.row + n + 2 * k, source.up, source.down, source.weight);
      }
    }
    for (const Pair& sum : sums) found.collect(sum.changes());
  }
  return static_cast<std::int64_t>(found.collected() >> 62 & 1);
}

// Whether one of `count` coefficients is rounded by a quarter or more: of the sum of y (2^64 high + low) /
// 2^128 modulo 1 in words, with the low part (off by 2^-32) or without.
std::int64_t rounding_doubt(const std::vector<const Limb*>& y, const ScaleAndRound& plan, bool is_long,
                            std::size_t count) {
  Limb found = 0;
  for (std::size_t n = 0; n < count; n += tile) {
    Limb sums[tile] = {};
    for (std::size_t i = 0; i < plan.divided().size(); ++i) {
      const std::uint64_t high = plan.fraction_high()[i];
      const Limb* row = y[i] + n;
      for (std::size_t k = 0; k < tile; ++k) sums[k] += row[k] * high;
      if (!is_long) continue;
      const auto low = static_cast<std::uint32_t>(plan.fraction_low()[i] >> 32);
      for (std::size_t k = 0; k < tile; ++k) {
        sums[k] += Limb{static_cast<std::uint32_t>(row[k] >> 29)} * low >> 3;
      }
    }
    // The two highest bits differ from a quarter to three quarters.
    for (std::size_t k = 0; k < tile; ++k) found |= sums[k] ^ (sums[k] << 1);
  }
  return static_cast<std::int64_t>(found >> 63);
}

// Tasks of one polynomial share its flag.
void report(std::int64_t& flag, std::int64_t doubt) {
  std::atomic_ref(flag).fetch_or(doubt, std::memory_order_relaxed);
}

void clear(const IntegerView* doubtful) {
  if (doubtful != nullptr) std::fill(doubtful->data, doubtful->data + doubtful->batch, 0);
}

}  // namespace

void CpuBackend::do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            const BaseConversion& plan, const IntegerView* doubtful) const {
  const std::size_t sources = plan.source().size();
  const std::size_t targets = plan.target().size();
  const Converter converter(kernels_, plan);
  const std::size_t rows = sources + 1;
  const std::size_t block = block_size(rows);
  clear(doubtful);
  for_each_block(queue, out.shape, block, sources + targets,
                 [&](std::size_t b, std::size_t c, std::size_t first) {
                   BlockScratch scratch(rows * block);
                   std::vector<const Limb*> y(sources);
                   for (std::size_t i = 0; i < sources; ++i) {
                     Limb* row = scratch.data() + i * block;
                     converter.scale(row, in.limb<Limb>(b, c, i) + first, i, block);
                     y[i] = row;
                   }
                   Limb* v = converter.has_quotient() ? scratch.data() + sources * block : nullptr;
                   if (v != nullptr) converter.quotient(v, y.data(), block);
                   for (std::size_t j = 0; j < targets; ++j) {
                     converter.convert(out.limb<Limb>(b, c, j) + first, y.data(), v, j, block);
                   }
                   if (doubtful != nullptr) {
                     report(doubtful->data[b], conversion_doubt(y, plan, converter.centered(), block));
                     runtime::secure_zero(scratch.data(), rows * block * sizeof(Limb));
                   }
                 });
}

void CpuBackend::do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ScaleAndRound& plan, const IntegerView* doubtful) const {
  const std::size_t divided = plan.divided().size();
  const std::size_t targets = plan.target().size();
  // Rows: scaled residues of the divided limbs, the two parts of the rounded sum, those of one kept limb.
  const std::size_t rows = divided + 3;
  const std::size_t block = block_size(rows);
  const std::uint64_t bound = std::max(largest_modulus(plan.source()), std::uint64_t{1} << 48);
  // Fractions of 64 bits do where the sum of the residues stays below 2^54.
  const bool is_long = bound > (std::uint64_t{1} << 54) / divided;
  clear(doubtful);
  std::vector<std::vector<std::uint64_t>> weights(targets);
  for (std::size_t j = 0; j < targets; ++j) {
    const arith::Modulus& q = plan.target().modulus(j);
    weights[j] = plan.whole()[j];
    weights[j].push_back(1);
    weights[j].push_back(q.reduce(std::uint64_t{1} << 48));
    if (plan.target_positions()[j] >= 0) weights[j].push_back(plan.kept_factor()[j]);
  }
  for_each_block(
      queue, out.shape, block, 4 * divided + targets, [&](std::size_t b, std::size_t c, std::size_t first) {
        BlockScratch scratch(rows * block);
        Limb* row = scratch.data();
        std::vector<const Limb*> y;
        const auto scale = [&](std::size_t position) {
          kernels_.scale_residues(row, in.limb<Limb>(b, c, position) + first,
                                  plan.inverse_punctured()[position], false, block,
                                  plan.source().modulus(position));
          y.push_back(row);
          row += block;
        };
        for (const std::uint32_t position : plan.divided_positions()) scale(position);
        kernels_.rounded_fractions(row, row + block, y.data(), plan.fraction_high().data(),
                                   plan.fraction_low().data(), divided, bound, block);
        y.push_back(row);
        y.push_back(row + block);
        row += 2 * block;
        for (std::size_t j = 0; j < targets; ++j) {
          if (plan.target_positions()[j] >= 0) scale(static_cast<std::size_t>(plan.target_positions()[j]));
          kernels_.weighted_sum(out.limb<Limb>(b, c, j) + first, y.data(), weights[j].data(),
                                weights[j].size(), bound, nullptr, 0, 0, block, plan.target().modulus(j));
          if (plan.target_positions()[j] >= 0) {
            y.pop_back();
            row -= block;
          }
        }
        if (doubtful != nullptr) {
          report(doubtful->data[b], rounding_doubt(y, plan, is_long, block));
        }
        // What is left of a decryption would tell the plaintext.
        if (plan.divided().size() == plan.source().size()) {
          runtime::secure_zero(scratch.data(), rows * block * sizeof(Limb));
        }
      });
}

void CpuBackend::do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ConstPolyView& delta, const Division& plan) const {
  for_each_limb(queue, out.shape, 2, [&](std::size_t b, std::size_t c, std::size_t j) {
    finish_division_limb(out.limb<Limb>(b, c, j), in, delta.limb<Limb>(b, c, j), b, c, j, plan);
  });
}

void CpuBackend::finish_division_limb(Limb* out, const ConstPolyView& in, const Limb* delta,
                                      std::size_t batch, std::size_t component, std::size_t j,
                                      const Division& plan) const {
  const arith::Modulus& q = plan.target().modulus(j);
  const std::size_t degree = in.shape.degree;
  const std::int32_t position = plan.kept_positions()[j];
  const arith::ShoupFactor& inverse = plan.inverse_dropped()[j];
  const Limb* kept =
      position < 0 ? nullptr : in.limb<Limb>(batch, component, static_cast<std::size_t>(position));
  if (position < 0 || !plan.adds_primes()) {
    kernels_.subtract_multiply_scalar(out, kept, delta, inverse, degree, q);
    return;
  }
  // (E x - delta) / D, in blocks that stay in the first-level cache.
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const arith::ShoupFactor added(
      q.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand), q);
  alignas(64) Limb scaled[block];
  for (std::size_t first = 0; first < degree; first += block) {
    kernels_.multiply_scalar(scaled, kept + first, added, block, q);
    kernels_.subtract_multiply_scalar(out + first, scaled, delta + first, inverse, block, q);
  }
}

}  // namespace hemera::poly::cpu
