// How clusters of two thread blocks share the rows and entries of a product of bytes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/matrix/split_layout.cuh"

namespace hemera::poly::cuda::matrix {

/// Jobs of the same entries that are neighbours: clusters that run at a time (66 on an H100) have about as
/// many blocks of rows as tiles, so that their bytes come from the second-level cache.
constexpr unsigned parts_together = 8;

/// The jobs of clusters. A job is a block of rows and a tile of entries for each of the two blocks: rows of
/// their own and the same entries, or the same rows and tiles of their own, of one kind.
struct Jobs {
  unsigned row_ranks, tile_ranks;  // of a cluster: 2 and 1, or 1 and 2
  unsigned row_blocks;
  unsigned parts;           // jobs of the same entries
  unsigned tiles_together;  // of a kind: tiles, or pairs of them
  unsigned count;
};

/// `row_blocks`: of the matrix.
inline Jobs jobs_of(const SplitPart& part, unsigned row_blocks) {
  // Few rows leave no block of a pair idle.
  const unsigned row_ranks = row_blocks > 4 || row_blocks % 2 == 0 ? 2 : 1, tile_ranks = 3 - row_ranks;
  const unsigned parts = (row_blocks + row_ranks - 1) / row_ranks;
  const unsigned tiles_together = (part.tiles + tile_ranks - 1) / tile_ranks;
  return {.row_ranks = row_ranks,
          .tile_ranks = tile_ranks,
          .row_blocks = row_blocks,
          .parts = parts,
          .tiles_together = tiles_together,
          .count = parts * tiles_together * part.units * part.kinds};
}

/// A job of one of the cluster's blocks.
struct Job {
  unsigned place;  // [unit][kind][tile]
  unsigned unit, kind, tile;
  unsigned block;  // of rows
  bool writes;     // not where a pair lacks its second tile, or block: what is there is multiplied twice

  __device__ __forceinline__ Job(const SplitPart& part, const Jobs& jobs, unsigned number) {
    const unsigned all_together = jobs.tiles_together * part.units * part.kinds;
    const unsigned first_part = number / (parts_together * all_together) * parts_together;
    const unsigned together = min(parts_together, jobs.parts - first_part);
    const unsigned own = number - first_part * all_together, rank = cluster_rank();
    const unsigned of_kind = own / together / jobs.tiles_together;
    const unsigned own_tile = own / together % jobs.tiles_together * jobs.tile_ranks + rank / jobs.row_ranks;
    const unsigned own_block = (first_part + own % together) * jobs.row_ranks + rank % jobs.row_ranks;
    writes = own_tile < part.tiles && own_block < jobs.row_blocks;
    unit = of_kind / part.kinds;
    kind = of_kind % part.kinds;
    tile = min(own_tile, part.tiles - 1);
    place = of_kind * part.tiles + tile;
    block = min(own_block, jobs.row_blocks - 1);
  }
};

}  // namespace hemera::poly::cuda::matrix
