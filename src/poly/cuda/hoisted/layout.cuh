// What a launch of hoisted products is given, and how a block's shared memory is laid out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda::hoisted {

/// Sums of a thread: of two positions of a row, which share what a step costs beside its products, or of one
/// position in two ciphertexts, which share its key words and factors as well.
inline constexpr unsigned values_of_thread = 2;

/// A block's threads and rows, by the ciphertexts that it sums.
template <unsigned ciphertexts>
struct BlockShape {
  static constexpr unsigned positions = values_of_thread / ciphertexts;  // of a thread
  static constexpr unsigned threads = row_size / positions;
  static constexpr unsigned warps = threads / 32;
  /// And of a warp that asks for the copies.
  static constexpr unsigned all_threads = threads + 32;
  /// Rows in shared memory that a digit takes: two components of a key, and the digits.
  static constexpr unsigned rows_of_digit = 2 + ciphertexts;
  /// As many as registers and shared memory are shared out for.
  static constexpr unsigned blocks(unsigned outputs) {
    return ciphertexts == 2 ? (outputs > 4 ? 1 : 2) : (outputs > 4 ? 2 : 3);
  }
};
/// A factor stored by fewer entries has at most this many values in a row: they are kept for the whole block.
inline constexpr unsigned most_kept_values = 8;

/// A view in 32-bit strides: parameters of a launch hold many. Strides are 0 where an extent of 1 broadcasts.
struct Source {
  const std::uint64_t* data;
  std::uint32_t batch_stride, component_stride, limb_stride;

  __device__ __forceinline__ std::size_t word(unsigned batch, unsigned component, unsigned limb) const {
    return std::size_t{batch} * batch_stride + std::size_t{component} * component_stride +
           std::size_t{limb} * limb_stride;
  }
  __device__ __forceinline__ const std::uint64_t* limb(unsigned batch, unsigned component,
                                                       unsigned limb) const {
    return data + word(batch, component, limb);
  }
};

struct Term {
  Source digits;  // no data: nothing is switched
  Source key;     // batch: key digit
  Source addend;  // no data: nothing is added
  std::uint32_t element;
  std::uint16_t addend_components;
  std::uint16_t addend_limbs;
  bool scaled;  // over the level's base: multiplied by P
};

struct Factor {
  Source values;  // no data: see `ones`
  std::uint32_t log_run;
};

/// How all factors of a launch are given.
enum class Factors : std::uint8_t {
  ones,   // there are none: every term is part of every output
  whole,  // each row comes with the term's
  kept,   // few values in a row: they wait in shared memory, 0 for a factor that is not there
  mixed,
};

/// Shared memory of a block: barriers, the rows to copy [step, slot], steps, kept factors [term, value,
/// output], and stages [slot, entry]. A step takes up to digits_at_once digits of a term. Slots: rows of key
/// words and digits [digit, 2 + ciphertexts]; behind those that a step has, the addends' rows [component,
/// ciphertext]; the factors' rows [output]. Key rows are as they are stored, the others of eight-byte words.
struct Layout {
  std::uint32_t stages;
  std::uint32_t steps;
  std::uint32_t steps_of_term;
  std::uint32_t slots;
  std::uint32_t first_factor;                         // slot
  std::uint32_t first_step, first_kept, first_stage;  // in bytes
  std::uint32_t kept_values;                          // of a row
  std::uint32_t log_run;                              // of kept factors
  Factors factors;
  std::uint32_t first_factor_word, stage_words;  // as words of eight bytes
};

template <unsigned outputs>
struct Pass {
  DeviceView out[outputs];
  Term terms[hoisted_terms_per_launch];
  Factor factors[hoisted_terms_per_launch][outputs];
  std::uint32_t present[hoisted_terms_per_launch];  // a bit for each output of which the term is part
  unsigned count;
  bool adds;  // to what the outputs hold
  LimbModuli limbs;
  LimbWords modulus;  // as the arithmetic has it: bits of a value
  LimbWords special;  // P modulo the limbs of the base, likewise and small
  unsigned first_limb;
  const std::uint32_t* key_digits;
  const std::uint32_t* key_limbs;
  unsigned digits;
  unsigned log_degree;
  Layout layout;
};

/// Where rows stand in a stage, in words of eight bytes.
template <class Stored, unsigned ciphertexts>
struct StageShape {
  static constexpr unsigned rows_of_digit = BlockShape<ciphertexts>::rows_of_digit;
  static constexpr unsigned key_words = Stored::row_bytes / 8;
  static constexpr unsigned digit_words = 2 * key_words + ciphertexts * row_size;
  static constexpr bool even = key_words == row_size;  // every slot has as many words

  __device__ __forceinline__ static unsigned first_factor(const Layout& layout) {
    return even ? layout.first_factor * row_size : layout.first_factor_word;
  }
  __device__ __forceinline__ static unsigned words(const Layout& layout) {
    return even ? layout.slots * row_size : layout.stage_words;
  }
  // Whether a slot of a step of this many digits has a key's row of another size.
  __device__ __forceinline__ static bool is_key(unsigned digits, unsigned slot) {
    return !even && slot < rows_of_digit * digits && slot % rows_of_digit < 2;
  }
  // Where it begins.
  __device__ __forceinline__ static unsigned slot(const Layout& layout, unsigned digits, unsigned slot) {
    if (even) return slot * row_size;
    const unsigned first_addend = rows_of_digit * digits;
    if (slot < first_addend) {
      const unsigned row = slot % rows_of_digit, keys = row < 2 ? row : 2;
      return slot / rows_of_digit * digit_words + keys * key_words + (row - keys) * row_size;
    }
    if (slot < layout.first_factor) return addend(digits, slot - first_addend);
    return layout.first_factor_word + (slot - layout.first_factor) * row_size;
  }
  // `row`: component * ciphertexts + ciphertext.
  __device__ __forceinline__ static unsigned addend(unsigned digits, unsigned row) {
    return even ? (rows_of_digit * digits + row) * row_size : digits * digit_words + row * row_size;
  }
};

}  // namespace hemera::poly::cuda::hoisted
