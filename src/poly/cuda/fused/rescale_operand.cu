// BFV's second operand between its two conversions: a conversion by the tensor cores, coefficient by
// coefficient, and the quotients of both operands.
#include "poly/cuda/fused/byte_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::uint128;

constexpr unsigned warps = 4;
constexpr unsigned threads = 32 * warps;
constexpr unsigned targets = 4;
// Tiles of eight pairs of coefficients that a warp takes at a time, with the same weights.
constexpr unsigned warp_tiles = 2;

template <class A>
struct RescalePass {
  DeviceView scratch;
  unsigned components;
  const ColumnJob* jobs;
  unsigned job_count;
  const std::uint32_t* fragments;
  const RescaleTables::Fraction* fractions;
  unsigned sources;
  unsigned quotient_limb;
  const typename A::Modulus* moduli;
  const typename A::Fold* folds;
};

template <class A>
struct RescaleTarget {
  typename A::Modulus modulus;
  typename A::Fold fold;
  std::uint64_t product;
  RescaleTables::Fraction fraction;
  std::uint32_t limb;
  std::uint32_t stored;
};

constexpr unsigned most_jobs = max_fused_sources / targets;

// Lanes are as in convert_columns. Grid [tiles, polynomial, 2]: the second operand, then the quotient of the
// first.
template <class A, int steps>
__global__ void __launch_bounds__(threads, 4) rescale_kernel(const __grid_constant__ RescalePass<A> pass) {
  __shared__ RescaleTarget<A> table[most_jobs * targets];
  auto* weights = dynamic_shared<uint4>();  // [job, step, two column tiles, lane]
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool second = blockIdx.z == 0;
  if (second) {
    auto* words = reinterpret_cast<std::uint32_t*>(weights);
    for (unsigned i = threadIdx.x; i < pass.job_count * steps * 256; i += threads) {
      words[(i / 128 * 32 + i % 32) * 4 + i / 32 % 4] = __ldg(pass.fragments + i);
    }
    if (threadIdx.x < targets * pass.job_count) {
      const ColumnJob::Target& target = pass.jobs[threadIdx.x / targets].target[threadIdx.x % targets];
      table[threadIdx.x] = {.modulus = pass.moduli[target.ring_index],
                            .fold = pass.folds[target.ring_index],
                            .product = target.minus_product,
                            .fraction = pass.fractions[threadIdx.x],
                            .limb = target.limb,
                            .stored = target.stored};
    }
    __syncthreads();
  }
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const std::size_t first = ((blockIdx.x * warps + threadIdx.x / 32) * warp_tiles) * 8 + g;
  const auto pairs_of = [&](unsigned limb) {
    return reinterpret_cast<ulonglong2*>(pass.scratch.limb(batch, component, limb)) + first;
  };
  ulonglong2 halves[warp_tiles][steps];
  uint128 sums_of_fractions[warp_tiles][2] = {};
  const ColumnJob& job = *pass.jobs;
#pragma unroll
  for (int s = 0; s < steps; ++s) {
    const ulonglong2* source = pairs_of(job.source[4 * s + t] - (second ? 0 : pass.sources));
#pragma unroll
    for (unsigned i = 0; i < warp_tiles; ++i) halves[i][s] = source[8 * i];
  }
#pragma unroll
  for (int s = 0; s < steps; ++s) {
    const std::uint64_t factor = job.quotient_factor[4 * s + t];
    const std::uint32_t shift = job.quotient_shift[4 * s + t];
#pragma unroll
    for (unsigned i = 0; i < warp_tiles; ++i) {
      const ulonglong2 v = paired(halves[i][s].x, halves[i][s].y);
      sums_of_fractions[i][0] += fraction(v.x, factor, shift);
      sums_of_fractions[i][1] += fraction(v.y, factor, shift);
    }
  }
  std::uint64_t quotients[warp_tiles][2];
  const auto round = [&] {
#pragma unroll
    for (unsigned i = 0; i < warp_tiles; ++i) {
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) quotients[i][k] = rounded_over_quad(sums_of_fractions[i][k]);
    }
  };
  const auto store_quotients = [&](unsigned limb) {
    if (t != 0) return;
    ulonglong2* to = pairs_of(limb);
#pragma unroll
    for (unsigned i = 0; i < warp_tiles; ++i) to[8 * i] = make_ulonglong2(quotients[i][0], quotients[i][1]);
  };
  round();
  if (!second) return store_quotients(pass.quotient_limb);
#pragma unroll
  for (unsigned i = 0; i < warp_tiles; ++i) sums_of_fractions[i][0] = sums_of_fractions[i][1] = 0;
#pragma unroll 1
  for (unsigned j = 0; j < pass.job_count; ++j) {
    int sums[warp_tiles][4][4] = {};
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const uint4* step = weights + (j * steps + s) * 64 + lane;
      const uint4 lower = step[0], upper = step[32];
      const std::uint32_t own[4][2] = {
          {lower.x, lower.y}, {lower.z, lower.w}, {upper.x, upper.y}, {upper.z, upper.w}};
#pragma unroll
      for (unsigned i = 0; i < warp_tiles; ++i) add_products(sums[i], halves[i][s], own);
    }
    const RescaleTarget<A>& target = table[targets * j + t];
    const typename A::Modulus m = target.modulus;
    const typename A::Fold fold = target.fold;
    ulonglong2* to = pairs_of(target.limb);
#pragma unroll
    for (unsigned i = 0; i < warp_tiles; ++i) {
      std::uint64_t z[2];
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        ByteSums bytes = byte_sums(sums[i], static_cast<int>(k));
        add_quotient(bytes, quotients[i][k], target.product);
        z[k] = finish_fold<A>(A::fold_bytes(bytes, 0, fold, m), m);
        sums_of_fractions[i][k] += fraction(z[k], target.fraction.factor, target.fraction.shift);
      }
      if (target.stored != 0) to[8 * i] = paired(z[0], z[1]);
    }
  }
  round();
  store_quotients(pass.quotient_limb + 1);
}

}  // namespace

void rescale_operand(const Launcher& launcher, Arithmetic arithmetic, const PolyView& scratch,
                     const RescaleTables& rescale) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_batch_part(scratch.shape, [&](const Part& part) {
      const auto components = static_cast<unsigned>(scratch.shape.components);
      const ColumnTables& columns = rescale.columns;
      const RescalePass<A> pass{.scratch = device_view(part.batches_of(scratch)),
                                .components = components,
                                .jobs = columns.jobs.data(),
                                .job_count = columns.job_count,
                                .fragments = columns.fragments.data(),
                                .fractions = rescale.fractions.data(),
                                .sources = rescale.sources,
                                .quotient_limb = rescale.quotient_limb,
                                .moduli = tables.moduli.data(),
                                .folds = tables.folds.data()};
      constexpr decltype(&rescale_kernel<A, 1>) kernels[] = {rescale_kernel<A, 1>, rescale_kernel<A, 2>,
                                                             rescale_kernel<A, 3>, rescale_kernel<A, 4>};
      launch("scaled_product", launcher.stream, kernels[columns.steps - 1],
             {launcher.degree() / (16 * warp_tiles * warps), static_cast<unsigned>(part.batches) * components,
              2},
             {threads}, std::size_t{columns.job_count} * columns.steps * 64 * sizeof(uint4), pass);
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
