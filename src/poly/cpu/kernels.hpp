// The table of kernels that one instruction set provides: each works on one limb (or one coefficient range of
// a few limbs) and is called by the CPU backend from its threads.
//
// Every kernel returns canonical residues and gives the same bits as the scalar one. Pointers are 64-byte
// aligned, counts are multiples of 8, arrays of one call are equal or do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/limb_tables.hpp"
#include "poly/cpu/sampling_kernels.hpp"

namespace hemera::poly::cpu {

/// See Kernels::forward_columns.
inline constexpr std::size_t transform_rows = 8;

/// Residues x[column][n] that serve many rows of a matrix, in the order in which they are read:
/// words[(n / 8 columns + column) 8 + n % 8].
struct PackedRows {
  const std::uint64_t* words;
  const std::uint64_t* sums;  ///< [n], over all columns, of moduli below 2^52
  std::size_t columns;        ///< at most most_packed_columns
  std::size_t count;          ///< a multiple of 16
};
inline constexpr std::size_t packed_tile = 8;
inline constexpr std::size_t most_packed_columns = 1024;
/// Rows that are made at a time.
inline constexpr std::size_t packed_row_group = 4;

struct Kernels {
  const char* name;

  // --- Transforms of N entries; tables.root != 0. ---
  void (*forward_transform)(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
  void (*inverse_transform)(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);

  // The same in two steps, for N >= tuning::least_divided_degree: the limb as transform_rows rows of N /
  // transform_rows entries each. The first stages of the forward transform are done on columns [first, first
  // + count) of all rows, then the other stages on each row; the inverse one begins with the rows. What is in
  // between is each instruction set's own.
  void (*forward_columns)(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables,
                          std::size_t first, std::size_t count);
  void (*forward_row)(std::uint64_t* data, const LimbTables& tables, std::size_t row);
  void (*inverse_row)(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row);
  void (*inverse_columns)(std::uint64_t* data, const LimbTables& tables, std::size_t first,
                          std::size_t count);

  /// The forward transform of a[n] + b[n] * factor + shift: a and b below 2^61, for q < 2^50 below 2^50;
  /// shift canonical; b may be null. out may be a or b. Null where it would gain nothing.
  void (*forward_transform_of_sum)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                                   const arith::ShoupFactor& factor, std::uint64_t shift,
                                   const LimbTables& tables) = nullptr;

  // --- Element by element over `count` entries. ---
  void (*add)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const arith::Modulus& q);
  void (*subtract)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
                   const arith::Modulus& q);
  void (*negate)(std::uint64_t* out, const std::uint64_t* a, std::size_t count, const arith::Modulus& q);
  void (*multiply)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
                   const arith::Modulus& q);
  /// out = a * b + addend; out may be any of them.
  void (*multiply_add)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                       const std::uint64_t* addend, std::size_t count, const arith::Modulus& q);
  void (*multiply_scalar)(std::uint64_t* out, const std::uint64_t* a, const arith::ShoupFactor& scalar,
                          std::size_t count, const arith::Modulus& q);
  void (*add_scalar)(std::uint64_t* out, const std::uint64_t* a, std::uint64_t scalar, std::size_t count,
                     const arith::Modulus& q);
  // The same as their namesakes, but for results that go past the cache; out is none of the operands. Null
  // where there is no instruction for it.
  void (*add_past_cache)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                         std::size_t count, const arith::Modulus& q) = nullptr;
  void (*subtract_past_cache)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              std::size_t count, const arith::Modulus& q) = nullptr;
  void (*multiply_past_cache)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              std::size_t count, const arith::Modulus& q) = nullptr;
  /// out = (a - b) * scalar: the last step of a division. a may be null: out = -b * scalar.
  void (*subtract_multiply_scalar)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                                   const arith::ShoupFactor& scalar, std::size_t count,
                                   const arith::Modulus& q);

  /// An automorphism in evaluation form: out[8 k + l] = in[(groups[k] & ~7) + lanes[8 (groups[k] & 7) + l]]
  /// for l < 8; out is not in.
  void (*permute_groups)(std::uint64_t* out, const std::uint64_t* in, const std::uint32_t* groups,
                         const std::uint64_t* lanes, std::size_t count);

  // --- Groups of eight entries from and to eight rows, `stride` words apart, of which each group has one
  // word: group k < count stands at 8 (groups[k] / 32), in an order of orders[8 (groups[k] % 32)...]. `count`
  // and `stride` are multiples of 8. ---
  /// out[8 (groups[k] / 32) + l] = in[k + stride * orders[8 (groups[k] % 32) + l]] for l < 8, modulo the
  /// bound. Whether all of them lie in (-bound, bound), as for residues_within; else out is not to be used.
  bool (*place_groups)(std::uint64_t* out, const std::int64_t* in, std::size_t stride,
                       const std::uint32_t* groups, const std::uint64_t* orders, std::size_t count,
                       std::uint64_t bound);
  /// out[k + stride * c] = in[8 (groups[k] / 32) + orders[8 (groups[k] % 32) + c]] for c < 8, less q where it
  /// is above `most`.
  void (*collect_groups)(std::int64_t* out, std::size_t stride, const std::uint64_t* in,
                         const std::uint32_t* groups, const std::uint64_t* orders, std::size_t count,
                         std::uint64_t most, std::uint64_t q);

  // --- Sums of products: out = sum_{i < terms} a[i][n] * b[i][n] mod q, terms >= 1, canonical inputs. ---
  void (*inner_product)(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                        std::size_t terms, std::size_t count, const arith::Modulus& q);
  /// Two such sums with the same a, where the b come from memory once. Null where it would gain nothing.
  void (*inner_product_pair)(std::uint64_t* out0, std::uint64_t* out1, const std::uint64_t* const* a,
                             const std::uint64_t* const* b0, const std::uint64_t* const* b1,
                             std::size_t terms, std::size_t count, const arith::Modulus& q) = nullptr;
  /// out[r] = sum_j weights[r][j] in[j] mod q, plus out[r] if `adds`, for up to packed_row_group rows; the
  /// weights, [row][column], lie in [-2^15, 2^15).
  void (*multiply_integers)(std::uint64_t* const* out, const PackedRows& in, const std::int32_t* weights,
                            std::size_t rows, bool adds, const arith::Modulus& q);
  /// out0 = a0 b0, out1 = a0 b1 + a1 b0, out2 = a1 b1.
  void (*tensor_2x2)(std::uint64_t* out0, std::uint64_t* out1, std::uint64_t* out2, const std::uint64_t* a0,
                     const std::uint64_t* a1, const std::uint64_t* b0, const std::uint64_t* b1,
                     std::size_t count, const arith::Modulus& q);

  // --- Base conversion in three steps (poly/plans.hpp, BaseConversion). ---
  /// y = x * factor mod a, plus (a - 1)/2 modulo a if `center`; canonical.
  void (*scale_residues)(std::uint64_t* y, const std::uint64_t* x, const arith::ShoupFactor& factor,
                         bool center, std::size_t count, const arith::Modulus& a);
  /// v = floor((sum_i floor(y[i] * r[i] / 2^(bits_i - 1)) + 2^63) / 2^64), the quotient of the exact
  /// conversion. Whether one of `count` sums is 2^62 or more away from every multiple of 2^64: rounded by a
  /// quarter or more. That is found without branches, as what is rounded may be secret.
  bool (*quotient)(std::uint64_t* v, const std::uint64_t* const* y, const std::uint64_t* r, const int* bits,
                   std::size_t sources, std::size_t count);
  /// out = sum_i y[i] * weights[i] - v * product - shift mod q; y[i] < source_bound, weights, product and
  /// shift canonical; v may be null (then no quotient is subtracted).
  void (*weighted_sum)(std::uint64_t* out, const std::uint64_t* const* y, const std::uint64_t* weights,
                       std::size_t sources, std::uint64_t source_bound, const std::uint64_t* v,
                       std::uint64_t product, std::uint64_t shift, std::size_t count,
                       const arith::Modulus& q);

  /// The low 48 bits and the rest of floor((sum_i y[i] * (2^64 high[i] + low[i]) + 2^127) / 2^128), the
  /// rounded fractions of ScaleAndRound; y[i] < source_bound <= 2^61, sources < 2^16. Whether one of them is
  /// rounded by a quarter or more (2^126), as above.
  bool (*rounded_fractions)(std::uint64_t* low48, std::uint64_t* rest, const std::uint64_t* const* y,
                            const std::uint64_t* high, const std::uint64_t* low, std::size_t sources,
                            std::uint64_t source_bound, std::size_t count);

  /// Whether one of the words is outside of [least, most], without branches; all are below 2^63.
  bool (*one_outside)(const std::uint64_t* words, std::uint64_t least, std::uint64_t most, std::size_t count);

  /// Whether all values, of any number, lie in (-bound, bound), 0 < bound < 2^62, without branches on them.
  bool (*all_within)(const std::int64_t* values, std::size_t count, std::uint64_t bound);
  /// The same; then out are the values modulo the bound.
  bool (*residues_within)(std::uint64_t* out, const std::int64_t* values, std::size_t count,
                          std::uint64_t bound);

  /// Inner loops of the samplers: &scalar_sampling, &avx2_sampling, ...
  const SamplingKernels* sampling;
};

/// The type of the functions that a member of the table points to: Kernel<&Kernels::add> add; declares one.
template <auto member>
using Kernel = std::remove_pointer_t<std::remove_reference_t<decltype(std::declval<Kernels&>().*member)>>;

/// The scalar table: the reference, on every processor.
const Kernels& scalar_kernels();
#if defined(__x86_64__)
/// Tables for AVX2, and for AVX-512 (F, DQ, VL, IFMA); call only when the processor has them.
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#elif defined(__aarch64__)
/// The table for Advanced SIMD, which every AArch64 processor has.
const Kernels& neon_kernels();
#elif defined(__wasm_simd128__)
/// The table for WebAssembly with SIMD, which every engine has had since 2023.
const Kernels& simd128_kernels();
#endif

/// The tables that this processor can run: the scalar one, which is the reference, first, the best one last.
std::span<const Kernels* const> available_kernels();

/// The table for `name` ("scalar", "avx2", "avx512", "neon", "simd128"), or the best one if empty. Throws
/// DeviceError if the name is unknown or the processor lacks the instruction set.
const Kernels& select_kernels(const char* name);

}  // namespace hemera::poly::cpu
