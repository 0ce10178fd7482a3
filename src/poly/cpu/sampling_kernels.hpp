// The inner loops of the samplers that one instruction set provides.
//
// No branch and no memory address depends on random bits, in any of them. All versions give the same bits as
// the scalar one, for any count. Pointers need only the alignment of their type.
//
// "Wide" integers are the random bits of coefficients (random.hpp): little-endian 128-bit integers, the low
// word at an even index and the high word after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cpu {

struct SamplingKernels {
  const char* name;

  /// Blocks counter, counter + 1, ... (modulo 2^32) of the ChaCha20 block function (RFC 8439, section 2.3),
  /// 64 bytes each.
  void (*chacha20_blocks)(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                          const std::uint32_t nonce[3], std::size_t blocks);
  /// out = wide mod q, canonical; wide: 2 * count words.
  void (*reduce_wide)(std::uint64_t* out, const std::uint64_t* wide, std::size_t count,
                      const arith::Modulus& q);
  /// out = floor(3 (wide mod 2^64) / 2^64) - 1.
  void (*ternary_values)(std::int64_t* out, const std::uint64_t* wide, std::size_t count);
  /// |out| = the number of table entries <= wide mod 2^63, negative if bit 127 of wide is set; entries <
  /// 2^63.
  void (*error_values)(std::int64_t* out, const std::uint64_t* wide, std::size_t count,
                       const std::uint64_t* table, std::size_t table_size);
  /// out = values mod q, canonical, for |values| < q.
  void (*residues)(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t q);
  /// How many keys are below the bound; keys and bound < 2^63.
  std::size_t (*count_below)(const std::uint64_t* keys, std::size_t count, std::uint64_t bound);
};

/// The reference, on every processor.
extern const SamplingKernels scalar_sampling;
#if defined(__x86_64__)
/// Kernels for AVX2 and AVX-512 (F, DQ, VL); call only when the processor has them.
extern const SamplingKernels avx2_sampling;
extern const SamplingKernels avx512_sampling;
#elif defined(__aarch64__)
/// Kernels for Advanced SIMD, which every AArch64 processor has.
extern const SamplingKernels neon_sampling;
#elif defined(__wasm_simd128__)
/// Kernels for WebAssembly with SIMD.
extern const SamplingKernels simd128_sampling;
#endif

}  // namespace hemera::poly::cpu
