// How matrices of integers and rows of residues stand in memory, as bytes, for warpgroups; and what a launch
// takes of them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda::matrix {

constexpr unsigned rows_of_group = 64;
constexpr unsigned groups = 2;
constexpr unsigned rows_of_block = groups * rows_of_group;
constexpr unsigned warps_of_group = 4;
constexpr unsigned warps = groups * warps_of_group;  // that multiply
constexpr unsigned entries_of_tile = 32;
constexpr unsigned columns_of_step = 128;
constexpr unsigned columns_of_chunk = 16;  // which stand together
constexpr unsigned chunks_of_step = columns_of_step / columns_of_chunk;
static_assert(min_degree % entries_of_tile == 0);

/// A step's bytes of one kind of a block's rows, and all bytes of a tile's entries.
constexpr unsigned block_bytes = rows_of_block * columns_of_step;
constexpr unsigned tile_bytes(unsigned bytes) { return bytes * entries_of_tile * columns_of_step; }

inline unsigned steps_of(std::size_t columns) {
  return static_cast<unsigned>((columns + columns_of_step - 1) / columns_of_step);
}
inline unsigned blocks_of(std::size_t rows) {
  return static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
}

/// Some entries of some polynomials of a batch, which a launch splits or multiplies.
struct SplitPart {
  unsigned first_tile, tiles;  // of entries
  unsigned first_unit, units;  // component and limb
  unsigned limbs;              // of a component
  unsigned kinds = 1;          // of a unit's bytes, each with tiles and rows of its own: numbers that all are
                               // taken modulo
  unsigned columns, steps;

  [[nodiscard]] __host__ __device__ __forceinline__ unsigned all_tiles() const {
    return tiles * units * kinds;
  }
  [[nodiscard]] __host__ __device__ __forceinline__ unsigned component(unsigned unit) const {
    return (first_unit + unit) / limbs;
  }
  [[nodiscard]] __host__ __device__ __forceinline__ unsigned limb(unsigned unit) const {
    return (first_unit + unit) % limbs;
  }
};

/// Calls run(part) for parts, about as large as each other, of a product's tiles and units: `part` with its
/// other members. `held`: tiles at a time, of which there is memory for one at least.
template <typename Run>
void for_each_part(SplitPart part, unsigned all_tiles, std::size_t all_units, std::size_t held,
                   const Run& run) {
  constexpr std::size_t most_units = 65535;  // of a grid
  const std::size_t parts = (all_tiles + held - 1) / held;
  const auto tiles = static_cast<unsigned>((all_tiles + parts - 1) / parts);
  const std::size_t units = std::min({held / tiles, all_units, most_units});
  for (std::size_t unit = 0; unit < all_units; unit += units) {
    for (unsigned tile = 0; tile < all_tiles; tile += tiles) {
      part.first_unit = static_cast<unsigned>(unit);
      part.units = static_cast<unsigned>(std::min(units, all_units - unit));
      part.first_tile = tile;
      part.tiles = std::min(tiles, all_tiles - tile);
      run(part);
    }
  }
}

/// Integers of one or two bytes, row by row, as [block of rows][byte][step][chunk][row][16 bytes]. What is
/// beyond the matrix is 0: the rows fill blocks.
void pack_rows(const Launcher& launcher, std::byte* packed, const IntegerMatrixView& w);

/// Residues of this many bytes, as [unit][tile][step][chunk][byte of the word][entry][16 bytes]. Beyond the
/// columns is 0.
void split_words(const Launcher& launcher, std::byte* split, const ConstPolyView& in, const SplitPart& part,
                 unsigned bytes);

}  // namespace hemera::poly::cuda::matrix
