#include "poly/cuda/tuning.hpp"

#include <algorithm>

namespace hemera::poly::cuda {
namespace {

constexpr Card h200;

// An H200's x in proportion, for a card with `own` where an H200 has `measured`; rounded to the nearest.
std::size_t in_proportion(std::size_t x, std::size_t own, std::size_t measured) {
  return std::max<std::size_t>(1, (x * own + measured / 2) / measured);
}

}  // namespace

Tuning tuning_of(const Card& card) {
  Tuning tuning;
  tuning.clusters = card.launches_clusters;
  tuning.fp64 = card.single_to_double <= 8;
  if (class_of(card) == CardClass::hopper) return tuning;
  tuning.least_rows_of_warpgroups = 0;
  tuning.most_sources_of_halves = 0;

  for (std::size_t Tuning::*size :
       {&Tuning::most_cluster_limbs, &Tuning::polynomials_together, &Tuning::most_jobs_beside_conversion,
        &Tuning::most_joined_jobs, &Tuning::most_inverted_limbs, &Tuning::least_blocks_of_four,
        &Tuning::few_rows}) {
    tuning.*size = in_proportion(tuning.*size, card.multiprocessors, h200.multiprocessors);
  }
  // Whole clusters of eight, and half of them.
  tuning.cluster_blocks_of_device = std::max<std::size_t>(8, card.multiprocessors / 8 * 8);
  tuning.cluster_blocks_of_remainders = tuning.cluster_blocks_of_device / 2;

  // A third of a multiprocessor's, less what each block needs for itself; a group of rows takes 4 KB of it.
  tuning.hoisted_shared_bytes =
      std::max<std::size_t>(card.shared_bytes_of_multiprocessor / 3, 2 * 1024) - 1024;
  tuning.row_groups_together = std::max<std::size_t>(1, tuning.hoisted_shared_bytes / (4 * 1024));
  tuning.most_cluster_key_bytes =
      in_proportion(tuning.most_cluster_key_bytes, card.shared_bytes_of_block, h200.shared_bytes_of_block);
  // A percentage means the same bytes only where there is as much in all.
  if (card.shared_bytes_of_multiprocessor != h200.shared_bytes_of_multiprocessor) tuning.carve_out = 0;

  const std::size_t work = card.multiprocessors * card.clock_mhz, bandwidth = card.bandwidth;
  if (bandwidth != 0) {
    tuning.most_digits_transformed_again =
        in_proportion(tuning.most_digits_transformed_again, work * h200.bandwidth,
                      bandwidth * h200.multiprocessors * h200.clock_mhz);
  }
  // About five times the second-level cache.
  tuning.lifted_bytes_together =
      in_proportion(tuning.lifted_bytes_together, card.cache_bytes, h200.cache_bytes);
  return tuning;
}

}  // namespace hemera::poly::cuda
