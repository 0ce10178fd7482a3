// The sizes at which the CPU backend works another way, each with the measurement that set it. They change
// times, never results; sizes that kernels are built around stand with the kernels.
#pragma once

#include <cstddef>

namespace hemera::poly::cpu::tuning {

// --- Threads. Work is counted in additions of words, of about 0.2 ns each. ---

/// An operation of up to `serial_words` stays on the caller; above, no thread takes part for fewer than
/// `words_per_thread`. Half as much again as `serial_words` would be no better for sums, and decoding at
/// N = 2^13 took 72 us for 53 with it.
inline constexpr std::size_t serial_words = std::size_t{1} << 16;
inline constexpr std::size_t words_per_thread = std::size_t{1} << 14;

/// The cost of a word in additions: estimates, not measured alone. A transform's cost is half of its work, as
/// threads gain little on a single transform.
inline constexpr std::size_t addition_weight = 1;
inline constexpr std::size_t product_weight = 2;
inline constexpr std::size_t transform_weight = 4;
inline constexpr std::size_t gather_weight = 4;
/// The same of an integer in slots, of a sampled coefficient, and of a limb of an encryption: its three
/// transforms with what is before and after them.
inline constexpr std::size_t value_weight = 3;
inline constexpr std::size_t sampling_weight = 16;
inline constexpr std::size_t exponential_weight = 40;
inline constexpr std::size_t encryption_weight = 3 * 10;
/// The same of a limb of a sample of RLWE: a transform, and a draw.
inline constexpr std::size_t rlwe_sample_weight = 10 + sampling_weight;
/// The same of a slot of the embedding, in a step of its transform and in each limb.
inline constexpr std::size_t slot_step_weight = 16;
inline constexpr std::size_t slot_limb_weight = 8;

/// From here on one transform of the embedding is spread over threads. Not measured alone.
inline constexpr std::size_t least_divided_slots = std::size_t{1} << 12;

/// From this degree on a limb's transform is divided, into up to this many parts: eighths of a row at least
/// (kernels.hpp). Not measured alone.
inline constexpr std::size_t least_divided_degree = 4096;
inline constexpr std::size_t most_transform_parts = 8;

// --- Blocks: what a task has in its caches. ---

/// Results of this many bytes, with operands of as many, do not stay in a thread's share of the last cache:
/// past it a sum of 8 MB took half as long on a Zen 5, one of 4 MB as long, one of 2 MB 1.15 times. On a Xeon
/// (Sapphire Rapids), whose last cache is slow, sums of 2 MB took 0.75 of the time; of 1 MB they stay in its
/// second cache.
inline constexpr std::size_t cached_bytes = std::size_t{6} << 20;
inline constexpr std::size_t cached_bytes_of_intel = std::size_t{2} << 20;

/// Entries of a block of `hoisted_products`: blocks of a task stay in the second-level cache, and are enough
/// for keys to come from memory in order. Not measured alone.
inline constexpr std::size_t hoisted_block = 2048;
/// Terms of `hoisted_products` whose products are summed before they are reduced. Not measured alone.
inline constexpr std::size_t hoisted_terms_at_once = 4;

/// Fewer rows of `multiply_matrix` than this are rows of `combine`, which packs nothing. With 4 rows of 768
/// columns packing takes 10.4 ms for 12.0 with AVX-512, 13.2 for 67 with AVX2 (N = 8,192, 49 bits, a Xeon of
/// Sapphire Rapids, one thread).
inline constexpr std::size_t least_packed_rows = 4;
/// Products of integers and words that cost an addition. Not measured alone.
inline constexpr std::size_t integers_per_addition = 2;
/// Entries of a block of `multiply_matrix`, so many that the block, of up to most_packed_columns of the
/// input, has about these words; and entries, terms and columns of a block of `multiply_elements`: both stay
/// in the second-level cache. Not measured alone.
inline constexpr std::size_t matrix_block_words = std::size_t{1} << 16;
inline constexpr std::size_t least_matrix_block = 32;
inline constexpr std::size_t most_matrix_block = 512;
inline constexpr std::size_t element_block = 64;
inline constexpr std::size_t element_terms = 256;
inline constexpr std::size_t element_columns = 4;

/// Coefficients of a task of a sampler: fewer, down to sampled_range, where there would not be two tasks for
/// each thread. Not measured alone.
inline constexpr std::size_t sampled_range_of_task = 4096;

/// Coefficients that a task of the encoder writes, and one of the decoder reads; and those of them that are
/// rounded and reduced at a time. Scratch is laid out by task, so both are fixed. Not measured alone.
inline constexpr std::size_t embedding_range = 2048;
inline constexpr std::size_t embedding_chunk = 1024;
/// Coefficients that the wide path of the encoder takes at a time. Not measured alone.
inline constexpr std::size_t wide_embedding_block = 64;

}  // namespace hemera::poly::cpu::tuning
