// Matrices of integers of two bytes times rows of residues, modulo pairwise prime numbers of a byte each: one
// product of bytes for each, where bytes of both factors take their products (K. Ozaki, Y. Uchino, T.
// Imamura, "Ozaki Scheme II", arXiv 2504.08009). Sums become remainders in registers; another kernel joins
// them modulo q (remainder_join.cu).
#include <algorithm>

#include "poly/cuda/matrix/cluster_product.cuh"
#include "poly/cuda/matrix/divisors.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/remainders.cuh"

namespace hemera::poly::cuda {
namespace {

using namespace matrix;

// The numbers by which remainders of sums are taken.
struct Divisor {
  std::uint32_t value;
  std::uint32_t reciprocal;  // floor(2^32 / value)
  std::uint32_t multiple;    // of it, at least 2^31
};

// The operands of a launch.
struct RemainderProduct {
  ClusterProduct factors;
  uint4* found;
  Divisor divisors[most_divisors];
};

using Steps = ClusterSteps<entries_of_wide_tile>;

// Writes the sums' remainders: [sixteen sums][lane] of a warp.
__device__ __forceinline__ void write_remainders(const Steps::Sums& sums, uint4* to, const Divisor& by) {
  const auto remainder = [&](int sum) {
    const std::uint32_t positive = static_cast<std::uint32_t>(sum) + by.multiple;
    const std::uint32_t rest = positive - __umulhi(positive, by.reciprocal) * by.value;
    return min(rest, rest - by.value);  // the quotient is at most one too small
  };
#pragma unroll
  for (unsigned i = 0; i < sums_of_wide_tile / sums_of_chunk; ++i) {
    std::uint32_t words[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const int* const four = sums + sums_of_chunk * i + 4 * k;
      const std::uint32_t low = __byte_perm(remainder(four[0]), remainder(four[1]), 0x0040);
      const std::uint32_t high = __byte_perm(remainder(four[2]), remainder(four[3]), 0x0040);
      words[k] = __byte_perm(low, high, 0x5410);
    }
    to[i * 32] = uint4{words[0], words[1], words[2], words[3]};
  }
}

__global__ void __launch_bounds__(cluster_threads, 1)
    remainder_product_kernel(const __grid_constant__ RemainderProduct product) {
  const ClusterProduct& factors = product.factors;
  run_clusters<entries_of_wide_tile>(factors, [&](const Job& job, unsigned warp, Steps& steps) {
    Steps::Sums sums = {};
    steps.add<true>(sums, factors.part.steps);
    if (!job.writes) return;
    uint4* const to = product.found + found_place(job.place, factors.jobs.row_blocks, job.block, warp);
    write_remainders(sums, to + threadIdx.x % 32, product.divisors[job.kind]);
  });
}

// Bytes of a tile's split words and of the remainders of its sums, of all kinds.
std::size_t bytes_of_tile(const IntegerMatrixView& w, unsigned kinds) {
  return (std::size_t{steps_of(w.columns)} * wide_tile_bytes + std::size_t{blocks_of(w.rows)} * found_bytes) *
         kinds;
}

}  // namespace

std::size_t matrix_bytes_of_remainders(const IntegerMatrixView& w, unsigned divisors) {
  return std::size_t{blocks_of(w.rows)} * steps_of(w.columns) * block_bytes * divisors;
}

std::size_t scratch_bytes_of_remainders(const PolyShape& shape, std::size_t degree,
                                        const IntegerMatrixView& w, unsigned divisors, std::size_t most) {
  const std::size_t tile = bytes_of_tile(w, divisors);
  const std::size_t all = tile * (degree / entries_of_wide_tile) * shape.limbs * shape.components;
  return std::min(all, std::max(tile, most));
}

void multiply_matrix_by_remainders(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, unsigned divisors, std::byte* packed,
                                   std::span<std::byte> scratch, std::size_t multiprocessors,
                                   const RnsBase& base) {
  pack_remainders(launcher, packed, w, divisors);
  RemainderProduct product{.factors = {.matrix = reinterpret_cast<const std::uint8_t*>(packed),
                                       .split = reinterpret_cast<const std::uint8_t*>(scratch.data()),
                                       .planes = 1,
                                       .part = {},
                                       .jobs = {}},
                           .found = nullptr,
                           .divisors = {}};
  for (unsigned d = 0; d < divisors; ++d) {
    product.divisors[d] = {.value = divisor(d),
                           .reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / divisor(d)),
                           .multiple = ((1U << 31) / divisor(d) + 1) * divisor(d)};
  }
  const SplitPart whole{.limbs = static_cast<unsigned>(out.shape.limbs),
                        .kinds = divisors,
                        .columns = static_cast<unsigned>(w.columns),
                        .steps = steps_of(w.columns)};
  for_each_part(whole, launcher.degree() / entries_of_wide_tile, out.shape.components * out.shape.limbs,
                scratch.size() / bytes_of_tile(w, divisors), [&](const SplitPart& part) {
                  std::byte* const found =
                      scratch.data() + std::size_t{part.all_tiles()} * part.steps * wide_tile_bytes;
                  split_remainders(launcher, scratch.data(), in, part);
                  product.factors.part = part;
                  product.factors.jobs = jobs_of(part, blocks_of(w.rows));
                  product.found = reinterpret_cast<uint4*>(found);
                  launch_clusters_of_jobs<entries_of_wide_tile>(
                      launcher, product.factors.jobs, multiprocessors, remainder_product_kernel, product);
                  join_remainders(launcher, out, found, part, w.rows, base);
                });
}

}  // namespace hemera::poly::cuda
