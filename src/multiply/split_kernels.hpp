// Whole transforms of the split form with vector instructions, and the tables they
// read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiply {

inline constexpr std::size_t split_lanes = 8;
inline constexpr std::size_t split_pair = 2 * split_lanes;  // words of eight Gaussian values
inline constexpr int split_max_passes = 8;

/// How kernels take a factor w: as a word with the quotient floor(w 2^52 / p) or floor(w 2^64 / p), or as the
/// bits of two doubles, w in [-p/2, p/2) and w / p.
enum class SplitFactorForm { quotients52, quotients64, doubles };

/// A row of factors with their quotients.
struct SplitFactors {
  const std::uint64_t* operands;
  const std::uint64_t* quotients;
};

/// Tables for degree N = 16 pairs.
struct SplitTables {
  arith::Modulus modulus;
  std::size_t pairs;
  /// h^j for j < N/2, and h^-j 2/N, in the order in which the sweeps read them: vectors of the cosines, their
  /// quotients, the sines and their quotients, [eight columns, part of the array, these four, lane].
  const std::uint64_t* weights;
  const std::uint64_t* inverse_weights;
  /// Factors of the first three stages, by block.
  SplitFactors first;
  SplitFactors inverse_first;
  /// Factors of the other stages, [2^level + block, lane].
  SplitFactors twiddles;
  SplitFactors inverse_twiddles;
  /// Stages of each pass, 2 or 3.
  int passes;
  int stages[split_max_passes];
};

/// The contracts are those of GaloisTransform; factors of a tensor product have at most 8 polynomials.
struct SplitKernels {
  SplitFactorForm factor_form;
  void (*forward)(std::uint64_t* values, const std::uint64_t* coefficients, const SplitTables& tables);
  void (*inverse)(std::uint64_t* coefficients, std::uint64_t* values, const SplitTables& tables);
  void (*sum_of_products)(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                          std::size_t terms, const SplitTables& tables);
  /// `square`: b is a.
  void (*tensor_product)(std::uint64_t* const* out, const std::uint64_t* const* a, std::size_t left,
                         const std::uint64_t* const* b, std::size_t right, bool square,
                         std::uint64_t* scratch, const SplitTables& tables);
};

#if defined(__x86_64__)
/// Kernels for primes below 2^50, and for all; call only when the processor has AVX-512 IFMA.
const SplitKernels& avx512_split52_kernels();
const SplitKernels& avx512_split64_kernels();
/// Kernels for primes below 2^50; call only when the processor has AVX2 and FMA.
const SplitKernels& avx2_split50_kernels();
#endif

}  // namespace hemera::multiply
