// How clusters of thread blocks share the rows and entries of a product of bytes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/matrix/cluster_ring.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/split_layout.cuh"

namespace hemera::poly::cuda::matrix {

/// Shared memory: the barriers of two rings and of the groups' turns, entries' bytes, rows' bytes.
constexpr unsigned shared_bytes = 227 * 1024;
constexpr unsigned barrier_bytes = 1024;
constexpr unsigned stage_bytes = shared_bytes - barrier_bytes;
/// Steps of all bytes of a tile that stay in shared memory at most, beside those of four groups of rows.
constexpr unsigned most_steps_that_stay(unsigned bytes) {
  return std::min((stage_bytes - 4 * group_bytes) / tile_bytes(bytes), ClusterRing::most_stages);
}

/// What clusters of two or four blocks do: blocks that share the entries' bytes have rows of their own, those
/// that share the rows' bytes tiles of their own. A job is so many blocks of rows of each, one after the
/// other.
struct Jobs {
  bool entries_stay;               // in shared memory, for all rows of a job
  unsigned row_ranks, tile_ranks;  // of a cluster, 1 or 2 each
  unsigned row_blocks;
  unsigned blocks_of_job;          // more than one where entries stay
  unsigned parts, parts_together;  // jobs of the same entries, and those of them that are neighbours
  unsigned count;
  unsigned entry_stages, row_stages;

  [[nodiscard]] unsigned blocks_of_cluster() const { return row_ranks * tile_ranks; }
};

inline unsigned divided(std::size_t a, std::size_t b) { return static_cast<unsigned>((a + b - 1) / b); }

/// `row_blocks`: of the matrix. `bytes`: of a residue. `planes`: bytes of an integer.
inline Jobs jobs_of(const SplitPart& part, unsigned row_blocks, unsigned bytes, unsigned planes,
                    const MatrixSizes& sizes) {
  const unsigned tiles = part.tiles * part.units, tile = tile_bytes(bytes);
  Jobs jobs{};
  jobs.row_blocks = row_blocks;
  jobs.entries_stay = sizes.entries_stay && part.steps <= most_steps_that_stay(bytes);
  if (jobs.entries_stay) {
    jobs.row_ranks = 1;
    jobs.tile_ranks = 2;
    // Four jobs or more for each cluster, so that none waits for long at the end.
    const unsigned pairs = divided(tiles, 2), clusters = divided(sizes.multiprocessors, 2);
    jobs.blocks_of_job = divided(row_blocks, std::clamp(divided(4 * clusters, pairs), 1U, row_blocks));
    jobs.entry_stages = part.steps;
    jobs.row_stages = std::min((stage_bytes - part.steps * tile) / group_bytes, ClusterRing::most_stages);
  } else {
    // Few rows leave no block of a pair idle.
    jobs.row_ranks = row_blocks > 4 || row_blocks % 2 == 0 ? 2 : 1;
    jobs.tile_ranks = jobs.row_ranks == 1 || sizes.blocks_of_cluster == 4 ? 2 : 1;
    jobs.blocks_of_job = 1;
    jobs.entry_stages =
        std::min(stage_bytes / (tile + groups * group_bytes), ClusterRing::most_stages / groups);
    jobs.row_stages = groups * jobs.entry_stages;
  }
  const unsigned rows_of_job = jobs.blocks_of_job * jobs.row_ranks;
  jobs.parts = divided(row_blocks, rows_of_job);
  const std::size_t bytes_of_part = std::size_t{rows_of_job} * groups * group_bytes * planes * part.steps;
  jobs.parts_together = static_cast<unsigned>(
      std::clamp<std::size_t>(sizes.matrix_bytes_together / bytes_of_part, 1, jobs.parts));
  jobs.count = jobs.parts * divided(tiles, jobs.tile_ranks);
  return jobs;
}

/// A job of one of the cluster's blocks.
struct Job {
  unsigned unit, tile;
  unsigned first_block, end_block;  // of rows
  bool writes;                      // not where a pair lacks its second tile: the first is done twice

  __device__ __forceinline__ Job(const SplitPart& part, const Jobs& jobs, unsigned number) {
    const unsigned tiles = part.tiles * part.units;
    const unsigned groups_of_tiles = (tiles + jobs.tile_ranks - 1) / jobs.tile_ranks;
    const unsigned first_part = number / (jobs.parts_together * groups_of_tiles) * jobs.parts_together;
    const unsigned together = min(jobs.parts_together, jobs.parts - first_part);
    const unsigned own = number - first_part * groups_of_tiles, rank = cluster_rank();
    const unsigned place = own / together * jobs.tile_ranks + rank / jobs.row_ranks;
    writes = place < tiles;
    unit = min(place, tiles - 1) / part.tiles;
    tile = min(place, tiles - 1) % part.tiles;
    first_block = (first_part + own % together) * jobs.row_ranks * jobs.blocks_of_job + rank % jobs.row_ranks;
    end_block = min(first_block + jobs.blocks_of_job, packed_blocks_of_job(jobs));
  }

 private:
  // Two blocks' rows are there by twos.
  static __device__ __forceinline__ unsigned packed_blocks_of_job(const Jobs& jobs) {
    return (jobs.row_blocks + jobs.row_ranks - 1) / jobs.row_ranks * jobs.row_ranks;
  }
};

}  // namespace hemera::poly::cuda::matrix
