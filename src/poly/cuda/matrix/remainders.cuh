// How matrices, rows of residues and the sums of their products stand in memory as remainders modulo numbers
// of a byte, one kind for each of these (divisors.hpp).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/matrix/split_layout.cuh"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda::matrix {

constexpr unsigned entries_of_wide_tile = 256;  // of one kind: a product's width
constexpr unsigned wide_tile_bytes = entries_of_wide_tile * columns_of_step;
static_assert(min_degree % entries_of_wide_tile == 0);

/// A thread's sums of a tile; remainders of those that eight warps have of a block of rows.
constexpr unsigned sums_of_wide_tile = entries_of_wide_tile / 2;
constexpr unsigned sums_of_chunk = 16;
constexpr unsigned found_bytes = rows_of_block * entries_of_wide_tile;

/// The place of the first chunk, of 16 bytes, that a warp's lanes write of a tile's remainders, which stand
/// as [tile of a kind][block of rows][warp][chunk][lane][16 sums].
HEMERA_HOST_DEVICE constexpr std::size_t found_place(std::size_t tile, unsigned blocks, unsigned block,
                                                     unsigned warp) {
  return ((tile * blocks + block) * warps + warp) * (sums_of_wide_tile / sums_of_chunk) * 32;
}

/// Integers of two bytes times the inverses of the products of the other divisors, as signed remainders:
/// [block of rows][kind][step][chunk][row][16 bytes]. What is beyond the matrix is 0.
void pack_remainders(const Launcher& launcher, std::byte* packed, const IntegerMatrixView& w, unsigned kinds);

/// Remainders of residues: [unit][kind][tile][step][chunk][entry][16 bytes]. Beyond the columns is 0.
void split_remainders(const Launcher& launcher, std::byte* split, const ConstPolyView& in,
                      const SplitPart& part);

/// Joins what was found of a part's units modulo their primes, by the Chinese remainder theorem: a launch for
/// each unit.
void join_remainders(const Launcher& launcher, const PolyView& out, const std::byte* found,
                     const SplitPart& part, std::size_t rows, const RnsBase& base);

}  // namespace hemera::poly::cuda::matrix
