// Changes of base, coefficient by coefficient: a thread takes one coefficient to up to eight target limbs.
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 256;
// Products below 2^122 that a 128-bit sum holds, with room for more.
constexpr unsigned terms_per_sum = 32;

__device__ __forceinline__ std::uint64_t add_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  const std::uint64_t difference = a + b - q;
  return difference + (q & (0 - (difference >> 63)));
}

constexpr unsigned doubts_per_block = threads / coefficients_per_doubt;

// The two bits after the point of a sum of fractions and a half agree where it is a quarter or more from
// every integer. What one thread of a block finds stands in all numbers of the block, which writes them
// whatever it found: nothing clears them before.
__device__ __forceinline__ void report_doubt(std::int64_t* doubtful, unsigned polynomial,
                                             std::uint64_t fraction) {
  const auto alike = static_cast<int>(~(fraction >> 63 ^ fraction >> 62) & 1);
  const int found = __syncthreads_or(alike) != 0 ? 1 : 0;
  const std::uint64_t first = (std::uint64_t{polynomial} * gridDim.x + blockIdx.x) * doubts_per_block;
  if (blockIdx.z == 0 && threadIdx.x < doubts_per_block) doubtful[first + threadIdx.x] = found;
}

struct Conversion {
  const ConversionSource* sources;
  const ConversionTarget* targets;
  const std::uint64_t* weights;
  const ConversionJob* jobs;
};

// Grid [tile, polynomial, job]. Doubts are reported for one component.
template <bool tells_doubt>
__global__ void __launch_bounds__(threads)
    convert_kernel(DeviceView out, ConstDeviceView in, unsigned components, Conversion tables,
                   std::int64_t* doubtful) {
  begin_kernel();
  const ConversionJob job = tables.jobs[blockIdx.z];
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned n = blockIdx.x * threads + threadIdx.x;
  const ConversionTarget* targets = tables.targets + job.first_target;
  const std::uint64_t* weights[targets_per_job];
  uint128 sums[targets_per_job];
#pragma unroll
  for (unsigned j = 0; j < targets_per_job; ++j) {
    // Beyond the last target the last one is worked out again, and not stored.
    const ConversionTarget& target = targets[j < job.targets ? j : job.targets - 1];
    weights[j] = tables.weights + target.weights;
    sums[j] = target.minus_shift;
  }
  uint128 quotient = std::uint64_t{1} << 63;
  for (unsigned i = 0; i < job.sources; ++i) {
    const ConversionSource& source = tables.sources[job.first_source + i];
    const std::uint64_t x = in.limb(batch, component, source.limb)[n];
    const std::uint64_t y =
        add_modulo(arith::multiply(x, source.scale, source.modulus), source.shift, source.modulus);
    quotient += static_cast<std::uint64_t>((static_cast<uint128>(y) * source.quotient_factor) >>
                                           source.quotient_shift);
    if (i != 0 && i % terms_per_sum == 0) {
#pragma unroll
      for (unsigned j = 0; j < targets_per_job; ++j) {
        sums[j] = targets[j < job.targets ? j : job.targets - 1].modulus.reduce(sums[j]);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < targets_per_job; ++j) sums[j] += static_cast<uint128>(y) * __ldg(weights[j] + i);
  }
  const std::uint64_t v = job.has_quotient != 0 ? static_cast<std::uint64_t>(quotient >> 64) : 0;
#pragma unroll
  for (unsigned j = 0; j < targets_per_job; ++j) {
    if (j < job.targets) {
      const ConversionTarget& target = targets[j];
      out.limb(batch, job.component + component, target.limb)[n] =
          target.modulus.reduce(sums[j] + static_cast<uint128>(v) * target.minus_product);
    }
  }
  if constexpr (tells_doubt) {
    // A centred residue comes with half the modulus added.
    const std::uint64_t centre = job.has_quotient != 0 ? 0 : std::uint64_t{1} << 63;
    report_doubt(doubtful, batch, static_cast<std::uint64_t>(quotient) - centre);
  }
}

struct Rounding {
  const RoundingSource* sources;
  const RoundingTarget* targets;
  const std::uint64_t* weights;
  unsigned source_count;
  unsigned target_count;
};

// Grid [tile, polynomial, eight targets]. Every thread works out the rounded sum of fractions; its words are
// summed apart, since all terms together may pass 192 bits.
template <bool tells_doubt>
__global__ void __launch_bounds__(threads)
    scale_and_round_kernel(DeviceView out, ConstDeviceView in, unsigned components, Rounding tables,
                           std::int64_t* doubtful) {
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned n = blockIdx.x * threads + threadIdx.x;
  const unsigned first = blockIdx.z * targets_per_job;
  const unsigned count = min(targets_per_job, tables.target_count - first);
  const RoundingTarget* targets = tables.targets + first;
  const std::uint64_t* weights = tables.weights + std::size_t{first} * tables.source_count;
  uint128 sums[targets_per_job] = {};
  uint128 word0 = 0, word1 = std::uint64_t{1} << 63, word2 = 0;
  for (unsigned i = 0; i < tables.source_count; ++i) {
    const RoundingSource& source = tables.sources[i];
    const std::uint64_t x = in.limb(batch, component, static_cast<unsigned>(source.limb))[n];
    const std::uint64_t y = arith::multiply(x, source.scale, source.modulus);
    const uint128 lower = static_cast<uint128>(y) * source.fraction_low;
    const uint128 upper =
        static_cast<uint128>(y) * source.fraction_high + static_cast<std::uint64_t>(lower >> 64);
    word0 += static_cast<std::uint64_t>(lower);
    word1 += static_cast<std::uint64_t>(upper);
    word2 += static_cast<std::uint64_t>(upper >> 64);
    if (i != 0 && i % terms_per_sum == 0) {
#pragma unroll
      for (unsigned j = 0; j < targets_per_job; ++j)
        sums[j] = targets[min(j, count - 1)].modulus.reduce(sums[j]);
    }
#pragma unroll
    for (unsigned j = 0; j < targets_per_job; ++j) {
      sums[j] +=
          static_cast<uint128>(y) * __ldg(weights + std::size_t{min(j, count - 1)} * tables.source_count + i);
    }
  }
  word1 += word0 >> 64;
  word2 += word1 >> 64;
  if constexpr (tells_doubt) report_doubt(doubtful, batch, static_cast<std::uint64_t>(word1));
  const std::uint64_t low48 = static_cast<std::uint64_t>(word2) & ((std::uint64_t{1} << 48) - 1);
  const auto rest = static_cast<std::uint64_t>(word2 >> 48);
#pragma unroll
  for (unsigned j = 0; j < targets_per_job; ++j) {
    if (j < count) {
      const RoundingTarget& target = targets[j];
      const std::uint64_t x = target.kept_factor != 0 ? in.limb(batch, component, target.kept_limb)[n] : 0;
      const std::uint64_t y = arith::multiply(x, target.kept_scale, target.modulus.value());
      std::uint64_t sum = target.modulus.reduce(sums[j]);
      sum = target.modulus.reduce(static_cast<uint128>(y) * target.kept_factor + sum);
      sum = target.modulus.reduce(static_cast<uint128>(rest) * target.power_48 + sum);
      out.limb(batch, component, target.limb)[n] = target.modulus.add(sum, target.modulus.reduce(low48));
    }
  }
}

struct Finish {
  std::int16_t kept[limbs_per_launch];      // limb of x, or -1
  std::uint64_t inverse[limbs_per_launch];  // D^-1
  std::uint64_t added[limbs_per_launch];    // E
};

// Grid [tile, polynomial, limb].
__global__ void __launch_bounds__(threads)
    finish_division_kernel(DeviceView out, ConstDeviceView in, ConstDeviceView delta, unsigned components,
                           bool multiplies, const __grid_constant__ LimbModuli limbs,
                           const __grid_constant__ Finish finish, const Modulus* moduli) {
  const unsigned limb = blockIdx.z;
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned n = 2 * (blockIdx.x * threads + threadIdx.x);
  const int kept = finish.kept[limb];
  const ulonglong2 d = *reinterpret_cast<const ulonglong2*>(delta.limb(batch, component, limb) + n);
  ulonglong2 x{0, 0};
  if (kept >= 0) {
    x = *reinterpret_cast<const ulonglong2*>(in.limb(batch, component, static_cast<unsigned>(kept)) + n);
    if (multiplies)
      x = make_ulonglong2(q.multiply(x.x, finish.added[limb]), q.multiply(x.y, finish.added[limb]));
  }
  const std::uint64_t inverse = finish.inverse[limb];
  *reinterpret_cast<ulonglong2*>(out.limb(batch, component, limb) + n) =
      make_ulonglong2(q.multiply(x.x - d.x + q.value(), inverse), q.multiply(x.y - d.y + q.value(), inverse));
}

__global__ void __launch_bounds__(threads)
    extract_window_kernel(DeviceView out, ConstDeviceView in, unsigned components, int shift,
                          std::uint64_t mask, const __grid_constant__ LimbModuli limbs,
                          const Modulus* moduli) {
  const Modulus q = moduli[limbs.ring_index[blockIdx.z]];
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned n = blockIdx.x * threads + threadIdx.x;
  out.limb(batch, component, blockIdx.z)[n] = q.reduce(in.limb(batch, component, 0)[n] >> shift & mask);
}

}  // namespace

void convert(const char* operation, const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
             unsigned components, const ConversionTables& tables, const IntegerView* doubtful) {
  const auto kernel = doubtful == nullptr ? convert_kernel<false> : convert_kernel<true>;
  for_each_batch_part(out.shape, [&](const Part& part) {
    launch(
        operation, launcher.stream, kernel,
        {launcher.degree() / threads, static_cast<unsigned>(part.batches) * components, tables.job_count},
        {threads}, 0, device_view(part.batches_of(out)), device_view(part.batches_of(in)), components,
        Conversion{tables.sources.data(), tables.targets.data(), tables.weights.data(), tables.jobs.data()},
        doubtful == nullptr ? nullptr : doubtful->data + part.first_batch * doubtful->count);
  });
}

void scale_and_round(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const RoundingTables& tables, const IntegerView* doubtful) {
  const auto kernel = doubtful == nullptr ? scale_and_round_kernel<false> : scale_and_round_kernel<true>;
  for_each_batch_part(out.shape, [&](const Part& part) {
    const auto components = static_cast<unsigned>(out.shape.components);
    launch("scale_and_round", launcher.stream, kernel,
           {launcher.degree() / threads, static_cast<unsigned>(part.batches) * components,
            (tables.target_count + targets_per_job - 1) / targets_per_job},
           {threads}, 0, device_view(part.batches_of(out)), device_view(part.batches_of(in)), components,
           Rounding{tables.sources.data(), tables.targets.data(), tables.weights.data(), tables.source_count,
                    tables.target_count},
           doubtful == nullptr ? nullptr : doubtful->data + part.first_batch * doubtful->count);
  });
}

void finish_division(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const ConstPolyView& delta, const Division& plan) {
  for_each_launch(out.shape, [&](const Part& part) {
    Finish finish{};
    for (std::size_t i = 0; i < part.limbs; ++i) {
      const std::size_t j = part.first_limb + i;
      const arith::Modulus& q = plan.target().modulus(j);
      finish.kept[i] = static_cast<std::int16_t>(plan.kept_positions()[j]);
      finish.inverse[i] = plan.inverse_dropped()[j].operand;
      finish.added[i] = q.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand);
    }
    // All limbs of the input: its positions are not the output's.
    const auto components = static_cast<unsigned>(out.shape.components);
    launch("divide_and_round", launcher.stream, finish_division_kernel,
           {launcher.degree() / (2 * threads), static_cast<unsigned>(part.batches) * components,
            static_cast<unsigned>(part.limbs)},
           {threads}, 0, device_view(part.of(out)), device_view(part.batches_of(in)),
           device_view(part.of(delta)), components, plan.multiplies(),
           limb_moduli(plan.target(), part.first_limb, part.limbs), finish, launcher.tables->moduli());
  });
}

void extract_window(const Launcher& launcher, const PolyView& out, const ConstPolyView& in, int shift,
                    int width, const RnsBase& base) {
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  for_each_launch(out.shape, [&](const Part& part) {
    const auto components = static_cast<unsigned>(out.shape.components);
    launch("extract_window", launcher.stream, extract_window_kernel,
           {launcher.degree() / threads, static_cast<unsigned>(part.batches) * components,
            static_cast<unsigned>(part.limbs)},
           {threads}, 0, device_view(part.of(out)), device_view(part.batches_of(in)), components, shift, mask,
           limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

}  // namespace hemera::poly::cuda
