// The kernels of the CKKS embedding that one instruction set provides; all give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "poly/embedding_arithmetic.hpp"

namespace hemera::poly::cpu {

/// Constants to centre residues modulo Q = q_1 ... q_k and round them to doubles.
///
/// Everything is scaled by 2^shift so that Q' = Q 2^shift fills `words` words of `word_bits` bits (52 for the
/// IFMA kernel, 64 otherwise); words are stored one per std::uint64_t, lowest first. With C_i = (Q / q_i) [(Q
/// / q_i)^-1]_{q_i} the integer is x = sum x_i C_i - v Q. One modulus needs none of the arrays.
struct Centering {
  std::size_t limbs = 0;
  std::size_t words = 0;
  int shift = 0;
  std::uint64_t modulus = 0;                  // q_1
  bool narrow = false;                        // all moduli are below 2^52
  const std::uint64_t* weights = nullptr;     // C_i 2^shift, [word, limb]
  const std::uint64_t* product = nullptr;     // Q', [words]
  const std::uint64_t* complement = nullptr;  // 2^(word_bits (words + 1)) - Q', [words + 1]
  const std::uint64_t* half = nullptr;        // floor(Q / 2) 2^shift, [words]
  std::uint64_t reciprocal_high = 0;          // the two words of a lower bound of
  std::uint64_t reciprocal_low = 0;           // 2^(word_bits (words + 2) - 1) / Q', at most 8 below it
  double divisor = 1.0;                       // the scale is divisor * 2^divisor_exponent, 1 <= divisor < 2
  int divisor_exponent = 0;
};

/// Pointers need no alignment beyond their type's; complex arrays are interleaved (real, imaginary).
/// `roots` is the table of poly/embedding_tables.hpp, a block is named by its entry there.
struct EmbeddingKernels {
  const char* name;
  /// log2 of the vector width w: the deepest log2(w) levels belong to the leaf kernels. They need n >= w^2.
  int log_width;
  /// Number of levels that the top kernels do.
  int top_levels;
  /// Bits of a word of Centering.
  int word_bits;

  // --- Forward: coefficients to slots. Real and imaginary parts apart until the leaves. ---
  /// The first `top_levels` levels on columns [begin, end) of n / 2^top_levels; multiples of w.
  void (*forward_top)(double* real, double* imaginary, std::size_t n, std::size_t begin, std::size_t end,
                      const double* roots);
  /// `levels` levels from block `node` of `length` values on; length >> levels is at least w.
  void (*forward_block)(double* real, double* imaginary, std::size_t length, int levels, const double* roots,
                        std::size_t node);
  /// The deepest levels and the bit reversal, tiles [begin, end) of n / w^2. `leaf`: leaf_roots(n, log_width,
  /// roots).
  void (*forward_leaf)(double* slots, const double* real, const double* imaginary, std::size_t n,
                       std::size_t begin, std::size_t end, const double* leaf);

  // --- Inverse: slots to n times the coefficients, the same steps in reverse. ---
  void (*inverse_leaf)(double* real, double* imaginary, const double* slots, std::size_t n, std::size_t begin,
                       std::size_t end, const double* leaf);
  void (*inverse_block)(double* real, double* imaginary, std::size_t length, int levels, const double* roots,
                        std::size_t node);
  void (*inverse_top)(double* real, double* imaginary, std::size_t n, std::size_t begin, std::size_t end,
                      const double* roots);

  // --- Rounding and residues. ---
  /// The largest bit pattern of |values|: as an integer it orders like the magnitude.
  std::uint64_t (*largest)(const double* values, std::size_t count);
  /// Nearest integers to values * scale, ties to even, exact; |values * scale| <= 2^62.
  void (*round_scaled)(std::int64_t* out, const double* values, std::size_t count, const Scale& scale);
  /// Canonical residues of |values| <= 2^magnitude_bits, magnitude_bits <= 62.
  void (*reduce)(std::uint64_t* out, const std::int64_t* values, std::size_t count, int magnitude_bits,
                 const arith::Modulus& q);
  /// out[c] = the centred integer with residues limbs[i][c * stride], rounded, divided by the scale.
  /// `scratch`: center_scratch_words(limbs, words).
  void (*center)(double* out, const std::uint64_t* const* limbs, std::size_t stride, std::size_t count,
                 const Centering& centering, std::uint64_t* scratch);
};

/// Words of scratch for `center`: residues and a sum for each of up to 16 lanes.
constexpr std::size_t center_scratch_words(std::size_t limbs, std::size_t words) {
  return 16 * (2 * limbs + words + 2);
}

const EmbeddingKernels& scalar_embedding_kernels();
#if defined(__x86_64__)
/// Call only on a processor with AVX2 and FMA, or AVX-512 F, DQ, VL and IFMA.
const EmbeddingKernels& avx2_embedding_kernels();
const EmbeddingKernels& avx512_embedding_kernels();
#elif defined(__aarch64__)
const EmbeddingKernels& neon_embedding_kernels();
#endif
/// The kernels of a name, or the best ones of this processor if `isa` is empty. Throws DeviceError.
const EmbeddingKernels& select_embedding_kernels(const char* isa);

}  // namespace hemera::poly::cpu
