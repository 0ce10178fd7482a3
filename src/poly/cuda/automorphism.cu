// X -> X^g in both forms, read where it comes from and written in order.
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;

// Values: entry i of the result is the input's entry for the exponent (2 reverse(i) + 1) g. Rows go to rows.
__global__ void __launch_bounds__(threads)
    automorphism_values_kernel(DeviceView out, ConstDeviceView in, unsigned components, unsigned log_degree,
                               unsigned galois_element) {
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned position = blockIdx.x * threads + threadIdx.x;
  out.limb(batch, component, blockIdx.z)[position] =
      in.limb(batch, component, blockIdx.z)[permuted(position, galois_element, log_degree)];
}

// Coefficients: that of X^m comes from X^n with n = m / g modulo 2N, where X^(N + n) = -X^n.
__global__ void __launch_bounds__(threads)
    automorphism_coefficients_kernel(DeviceView out, ConstDeviceView in, unsigned components,
                                     unsigned log_degree, unsigned inverse_element,
                                     const __grid_constant__ LimbModuli limbs, const arith::Modulus* moduli) {
  const arith::Modulus q = moduli[limbs.ring_index[blockIdx.z]];
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned position = blockIdx.x * threads + threadIdx.x;
  const unsigned from = position * inverse_element;
  const unsigned degree = 1U << log_degree;
  const std::uint64_t x = in.limb(batch, component, blockIdx.z)[from & (degree - 1)];
  out.limb(batch, component, blockIdx.z)[position] = (from & degree) != 0 ? q.negate(x) : x;
}

dim3 grid(const Launcher& launcher, const PolyShape& shape, const Part& part) {
  return {launcher.degree() / threads, static_cast<unsigned>(part.batches * shape.components),
          static_cast<unsigned>(part.limbs)};
}

}  // namespace

void automorphism_values(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                         std::uint64_t galois_element) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("automorphism", launcher.stream, automorphism_values_kernel, grid(launcher, out.shape, part),
           {threads}, 0, device_view(part.of(out)), device_view(part.of(in)),
           static_cast<unsigned>(out.shape.components), launcher.log_degree,
           static_cast<unsigned>(galois_element));
  });
}

void automorphism_coefficients(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                               std::uint64_t galois_element, const RnsBase& base) {
  const std::uint64_t inverse = arith::inverse(galois_element, 2 * std::uint64_t{launcher.degree()});
  for_each_launch(out.shape, [&](const Part& part) {
    launch("automorphism", launcher.stream, automorphism_coefficients_kernel, grid(launcher, out.shape, part),
           {threads}, 0, device_view(part.of(out)), device_view(part.of(in)),
           static_cast<unsigned>(out.shape.components), launcher.log_degree, static_cast<unsigned>(inverse),
           limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

}  // namespace hemera::poly::cuda
