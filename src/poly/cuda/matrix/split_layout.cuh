// How matrices of integers and rows of residues stand in memory, as bytes, for warpgroups; and what a launch
// takes of them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda::matrix {

constexpr unsigned rows_of_group = 64;
constexpr unsigned groups = 2;
constexpr unsigned rows_of_block = groups * rows_of_group;
constexpr unsigned entries_of_tile = 32;
constexpr unsigned columns_of_step = 128;
constexpr unsigned columns_of_chunk = 16;  // which stand together
constexpr unsigned chunks_of_step = columns_of_step / columns_of_chunk;
static_assert(min_degree % entries_of_tile == 0);

/// A step's bytes of one kind of a group's rows, and all bytes of a tile's entries.
constexpr unsigned group_bytes = rows_of_group * columns_of_step;
constexpr unsigned tile_bytes(unsigned bytes) { return bytes * entries_of_tile * columns_of_step; }

inline unsigned steps_of(std::size_t columns) {
  return static_cast<unsigned>((columns + columns_of_step - 1) / columns_of_step);
}
inline unsigned blocks_of(std::size_t rows) {
  return static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
}
/// Of a packed matrix: by twos, which the two blocks of a cluster take.
inline unsigned packed_blocks_of(std::size_t rows) { return (blocks_of(rows) + 1) / 2 * 2; }

/// Some entries of some polynomials of a batch, which a launch splits or multiplies.
struct SplitPart {
  unsigned first_tile, tiles;  // of entries
  unsigned first_unit, units;  // component and limb
  unsigned limbs;              // of a component
  unsigned columns, steps;

  [[nodiscard]] __device__ __forceinline__ unsigned component(unsigned unit) const {
    return (first_unit + unit) / limbs;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned limb(unsigned unit) const {
    return (first_unit + unit) % limbs;
  }
};

/// Integers of one or two bytes, row by row, as [group of rows][byte][step][chunk][row][16 bytes]. What is
/// beyond the matrix is 0: the groups fill blocks.
void pack_rows(const Launcher& launcher, std::byte* packed, const IntegerMatrixView& w);

/// Residues of so many bytes, as [unit][tile][step][chunk][byte of the word][entry][16 bytes]. Beyond the
/// columns is 0.
void split_words(const Launcher& launcher, std::byte* split, const ConstPolyView& in, const SplitPart& part,
                 unsigned bytes);

}  // namespace hemera::poly::cuda::matrix
