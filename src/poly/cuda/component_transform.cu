// Fourier transforms over the components of an array. A thread has one entry of up to 16 components in
// registers, for up to four stages at a time.
#include <bit>
#include <type_traits>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned threads = 128;
static_assert(min_degree % threads == 0);
constexpr unsigned most_stages = 4;

// Stages of a launch: those between halves of 2^log_half, the largest, and of 2^(log_half - stages + 1).
struct Stages {
  unsigned log_size, log_half;
};

// Grid [tile of entries, groups of components times batch, limb]. `reversed`: the smallest half first, and
// factors times what is written.
template <unsigned stages, bool reversed, bool multiplies>
__global__ void __launch_bounds__(threads)
    transform_kernel(DeviceView values, ConstDeviceView roots, ConstDeviceView factors, Stages at,
                     const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  constexpr unsigned count = 1U << stages;
  const unsigned limb = blockIdx.z, entry = blockIdx.x * threads + threadIdx.x;
  const unsigned groups = 1U << (at.log_size - stages);
  const unsigned batch = blockIdx.y / groups, group = blockIdx.y % groups;
  const unsigned log_step = at.log_half + 1 - stages;
  const unsigned first = group & ((1U << log_step) - 1);  // in its block of 2^(log_half + 1) components
  const unsigned begin = (group >> log_step << (at.log_half + 1)) + first;
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  std::uint64_t* const own = values.limb(batch, begin, limb) + entry;
  const std::size_t step = values.component_stride << log_step;
  std::uint64_t x[count];
#pragma unroll
  for (unsigned j = 0; j < count; ++j) x[j] = own[j * step];
  const auto multiply_all = [&] {
    const std::uint64_t* const factor = factors.limb(0, begin, limb) + entry;
#pragma unroll
    for (unsigned j = 0; j < count; ++j) {
      x[j] = q.multiply(x[j], factor[j * (factors.component_stride << log_step)]);
    }
  };
  if constexpr (multiplies && !reversed) multiply_all();
#pragma unroll
  for (unsigned turn = 0; turn < stages; ++turn) {
    const unsigned s = reversed ? stages - 1 - turn : turn;
    const unsigned half = count >> (s + 1);  // in registers
#pragma unroll
    for (unsigned j = 0; j < half; ++j) {
      const unsigned exponent = (first + (j << log_step)) << (at.log_size - 1 - (at.log_half - s));
      const std::uint64_t root = roots.limb(0, exponent, limb)[entry];
#pragma unroll
      for (unsigned block = 0; block < count; block += 2 * half) {
        std::uint64_t &a = x[block + j], &b = x[block + j + half];
        if constexpr (reversed) {
          const std::uint64_t product = q.multiply(b, root);
          b = q.subtract(a, product);
          a = q.add(a, product);
        } else {
          const std::uint64_t difference = q.subtract(a, b);
          a = q.add(a, b);
          b = q.multiply(difference, root);
        }
      }
    }
  }
  if constexpr (multiplies && reversed) multiply_all();
#pragma unroll
  for (unsigned j = 0; j < count; ++j) own[j * step] = x[j];
}

template <unsigned stages>
void run(const Launcher& launcher, const PolyView& values, const ConstPolyView& roots,
         const ConstPolyView& factors, ComponentOrder order, const RnsBase& base, unsigned log_half,
         bool multiplies) {
  const auto log_size = static_cast<unsigned>(std::countr_zero(values.shape.components));
  PolyShape shape = values.shape;
  shape.components >>= stages;
  for_each_launch(shape, [&](const Part& part) {
    const PolyView own = part.of(values);
    const ConstPolyView own_roots = roots.limbs(part.first_limb, part.limbs);
    const ConstPolyView own_factors = multiplies ? factors.limbs(part.first_limb, part.limbs) : roots;
    const Stages at{.log_size = log_size, .log_half = log_half};
    const auto with = [&](auto kernel) {
      launch("transform_components", launcher.stream, kernel,
             {launcher.degree() / threads, static_cast<unsigned>(part.batches << (log_size - stages)),
              static_cast<unsigned>(part.limbs)},
             {threads}, 0, device_view(own), device_view(own_roots), device_view(own_factors), at,
             limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
    };
    if (order == ComponentOrder::reversed) {
      multiplies ? with(transform_kernel<stages, true, true>) : with(transform_kernel<stages, true, false>);
    } else {
      multiplies ? with(transform_kernel<stages, false, true>) : with(transform_kernel<stages, false, false>);
    }
  });
}

}  // namespace

void transform_components(const Launcher& launcher, const PolyView& values, const ConstPolyView& roots,
                          const ConstPolyView& factors, ComponentOrder order, const RnsBase& base) {
  const auto log_size = static_cast<unsigned>(std::countr_zero(values.shape.components));
  const unsigned passes = (log_size + most_stages - 1) / most_stages;
  // Factors are multiplied by what has all of the first stage, or of the last one: the largest half.
  for (unsigned pass = 0, left = log_size; pass < passes; ++pass) {
    const unsigned stages = (left + passes - pass - 1) / (passes - pass);
    const bool reversed = order == ComponentOrder::reversed;
    const unsigned log_half = reversed ? log_size - left + stages - 1 : left - 1;
    const bool multiplies = factors.data != nullptr && log_half == log_size - 1;
    const auto with = [&]<unsigned count>(std::integral_constant<unsigned, count>) {
      run<count>(launcher, values, roots, factors, order, base, log_half, multiplies);
    };
    if (stages == 1) with(std::integral_constant<unsigned, 1>{});
    if (stages == 2) with(std::integral_constant<unsigned, 2>{});
    if (stages == 3) with(std::integral_constant<unsigned, 3>{});
    if (stages == 4) with(std::integral_constant<unsigned, 4>{});
    left -= stages;
  }
}

}  // namespace hemera::poly::cuda
