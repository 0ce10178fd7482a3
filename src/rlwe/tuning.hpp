// Bytes up to which operations on ciphertexts keep what they will sum or divide together. These numbers
// change times and memory, never results.
#pragma once

#include <cstddef>

namespace hemera::rlwe::tuning {

/// Products that wait to be summed hold copies of operands, or plaintexts that their sum will lift; above so
/// many bytes they are summed first. Not measured alone.
inline constexpr std::size_t most_held_bytes = std::size_t{1} << 28;

/// Scratch of BFV's products above which a batch, or a sum of products, is computed in parts. Not measured
/// alone.
inline constexpr std::size_t most_product_scratch_bytes = std::size_t{1} << 28;

}  // namespace hemera::rlwe::tuning
