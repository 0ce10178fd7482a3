// Transforms over the field of p^2 elements for inert primes p < 2^48, eight Gaussian values at a time, and
// the recombination of residues that integer products need. One table for each instruction set.
//
// A transform has M values, M = 8 P; P "pairs" of eight real and eight imaginary parts. The first three
// levels of the tree X^M - i, X^(M/2) -+ e(1/8), ... are done on natural order and lead to eight parts, one
// in each lane: value j of part l is at words 16 j + l and 16 j + 8 + l. The levels below take two at a time,
// on whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "multiply/gaussian.hpp"

namespace hemera::multiply {

inline constexpr std::size_t inert_lanes = 8;
inline constexpr std::size_t inert_pair = 2 * inert_lanes;  // words of eight Gaussian values
inline constexpr std::size_t inert_min_pairs = 8;

/// How kernels take a factor cos + i sin: as words, the cosine, floor(cos 2^52 / p), the sine, floor(sin 2^52
/// / p); or as the bits of doubles, residues in [-p/2, p/2] of cos, cos + sin and sin - cos, for a product of
/// three.
enum class InertFactorForm { quotients52, doubles };
constexpr std::size_t inert_factor_words(InertFactorForm form) {
  return form == InertFactorForm::quotients52 ? 4 : 3;
}
/// Words of one entry of the twiddle table: v, v^2 and v^3, each [factor word, lane].
constexpr std::size_t inert_entry(InertFactorForm form) { return 3 * inert_factor_words(form) * inert_lanes; }

/// Where the entry of block k of lane level m stands; a table holds the levels of one parity.
inline std::size_t inert_entry_at(int level, std::size_t block) {
  return ((std::size_t{1} << level) - 1) / 3 + block;
}

/// A prime p from 2^20 to 2^48, p = -1 modulo 2^m with m <= 34 (for integer products, m = 34), and what all
/// lengths need.
struct InertPrime {
  arith::Modulus modulus;
  Gaussian roots[35];  // roots[j] = e(1 / 2^j), a primitive 2^j-th root of unity, j <= m

  /// e(numerator / 2^log_denominator), log_denominator <= m.
  [[nodiscard]] Gaussian unit(std::uint64_t numerator, int log_denominator) const {
    return power(roots[log_denominator], numerator & ((std::uint64_t{1} << log_denominator) - 1), modulus);
  }
};

/// The tables of a transform of one length.
struct InertTables {
  const InertPrime* prime;
  /// [entry, 3 powers, factor word, lane]: levels of the parity of log2 P.
  const std::uint64_t* twiddles;
  /// Scalars for the first three levels, and for the first lane level when log2 P is odd: see fill_first.
  const std::uint64_t* first;
  std::size_t pairs;
  arith::ShoupFactor inverse_length;  // 1 / M
};

struct InertKernels {
  const char* name;
  InertFactorForm form;
  /// One level of twiddles from the one two levels above it: `blocks` entries each multiplied by four vectors
  /// of units (a Gaussian in each lane: [4, re or im, lane]); the quotients and powers are filled in.
  void (*next_level)(std::uint64_t* to, const std::uint64_t* from, std::size_t blocks,
                     const std::uint64_t* units, const arith::Modulus& p);
  /// Digits (any words below 2^63, natural order, 16 P of them: real parts, then imaginary ones) through the
  /// first three levels, for columns first <= j < first + count (multiples of 8) of the eight parts.
  void (*forward_sweep)(std::uint64_t* values, const std::uint64_t* digits, const InertTables& tables,
                        std::size_t first, std::size_t count);
  /// The pass at lane level `level` on columns [first, first + count) of block `block`, which starts at
  /// `data` and has `length` pairs; two levels, or three at level 0 if log2 P is odd.
  void (*forward_pass)(std::uint64_t* data, int level, std::size_t block, std::size_t length,
                       std::size_t first, std::size_t count, const InertTables& tables);
  void (*inverse_pass)(std::uint64_t* data, int level, std::size_t block, std::size_t length,
                       std::size_t first, std::size_t count, const InertTables& tables);
  /// All passes from `level` on, on the block `block` of `length` pairs at `data`.
  void (*forward_block)(std::uint64_t* data, int level, std::size_t block, std::size_t length,
                        const InertTables& tables);
  void (*inverse_block)(std::uint64_t* data, int level, std::size_t block, std::size_t length,
                        const InertTables& tables);
  /// out = sum of a[i] b[i] / M for i < terms, on `pairs` pairs; out may be a factor.
  void (*multiply)(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                   std::size_t terms, std::size_t pairs, const InertTables& tables);
  /// Back to natural order, canonical.
  void (*inverse_sweep)(std::uint64_t* out, const std::uint64_t* values, const InertTables& tables,
                        std::size_t first, std::size_t count);
  /// Residues x modulo primes[0 .. n - 1] to mixed-radix digits t_0 + p_0 (t_1 + p_1 (t_2 + ...)), in place,
  /// `count` of them (a multiple of 8) in each row. inverses[i][j]: p_j^-1 modulo p_i.
  void (*mixed_radix)(std::uint64_t* const* rows, const arith::Modulus* primes,
                      const arith::ShoupFactor* const* inverses, std::size_t n, std::size_t count);
};

/// Words of InertTables::first: w of level 0, then (v, v^2, v^3) of the two blocks of level 1, as scalars of
/// four words each (the last one unused by doubles); then for an odd log2 P the vectors of w of lane level 0.
inline constexpr std::size_t inert_first_words = 4 * (1 + 3 + 3) + 4 + 4 * inert_lanes;

const InertKernels& portable_inert_kernels();
#if defined(__x86_64__)
/// Call only when the processor has AVX-512 IFMA, or AVX2 and FMA.
const InertKernels& avx512_inert_kernels();
const InertKernels& avx2_inert_kernels();
#endif

}  // namespace hemera::multiply
