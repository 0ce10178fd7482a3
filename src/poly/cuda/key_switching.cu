// The inner product with an evaluation key, and what ModUp needs beside conversions and transforms.
#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/stored_words.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 256;
constexpr unsigned terms_per_sum = 32;  // products below 2^122 in 128 bits, with room for more

// Grid [tile, batch, limb].
__global__ void __launch_bounds__(threads)
    copy_own_limbs_kernel(DeviceView out, ConstDeviceView in, const std::uint32_t* own_digits) {
  const std::uint32_t digit = own_digits[blockIdx.z];
  begin_kernel();
  if (digit == no_digit) return;
  const unsigned n = 2 * (blockIdx.x * threads + threadIdx.x);
  *reinterpret_cast<ulonglong2*>(out.limb(blockIdx.y, digit, blockIdx.z) + n) =
      *reinterpret_cast<const ulonglong2*>(in.limb(blockIdx.y, 0, blockIdx.z) + n);
}

struct Digits {
  const std::uint32_t* key_digits;
  const std::uint32_t* key_limbs;
  unsigned count;
};

// `width` components of the key at once, from the first: grid [batch, tile, limb * component / width].
// Polynomials of a batch are neighbours, so they find the key in the cache.
template <class Stored, unsigned width>
__global__ void __launch_bounds__(threads)
    key_inner_product_kernel(DeviceView out, ConstDeviceView digits, ConstDeviceView key, Digits plan,
                             unsigned components, const __grid_constant__ LimbModuli limbs,
                             const Modulus* moduli) {
  const unsigned groups = components / width;
  const unsigned limb = blockIdx.z / groups, first = blockIdx.z % groups * width;
  const Modulus q = moduli[limbs.ring_index[limb]];
  const unsigned key_limb = plan.key_limbs[limb];
  begin_kernel();
  const unsigned batch = blockIdx.x;
  const unsigned n = 2 * (blockIdx.y * threads + threadIdx.x);
  uint128 sums[width][2] = {};
  for (unsigned d = 0; d < plan.count; ++d) {
    const ulonglong2 x = *reinterpret_cast<const ulonglong2*>(digits.limb(batch, d, limb) + n);
    const auto k = Stored::place(key.data, key.word(plan.key_digits[d], first, key_limb) + n);
    if (d != 0 && d % terms_per_sum == 0) {
#pragma unroll
      for (unsigned c = 0; c < width; ++c) {
        sums[c][0] = q.reduce_sum_lazily(sums[c][0]);
        sums[c][1] = q.reduce_sum_lazily(sums[c][1]);
      }
    }
#pragma unroll
    for (unsigned c = 0; c < width; ++c) {
      const auto w = Stored::pair(k, c * key.component_stride);
      sums[c][0] += static_cast<uint128>(x.x) * first_of(w);
      sums[c][1] += static_cast<uint128>(x.y) * second_of(w);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < width; ++c) {
    *reinterpret_cast<ulonglong2*>(out.limb(batch, first + c, limb) + n) =
        make_ulonglong2(q.reduce_sum(sums[c][0]), q.reduce_sum(sums[c][1]));
  }
}

}  // namespace

void copy_own_limbs(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                    const ModUpTables& tables) {
  PolyShape shape = in.shape;
  shape.batch = out.shape.batch;
  for_each_launch(shape, [&](const Part& part) {
    launch("mod_up", launcher.stream, copy_own_limbs_kernel,
           {launcher.degree() / (2 * threads), static_cast<unsigned>(part.batches),
            static_cast<unsigned>(part.limbs)},
           {threads}, 0, device_view(part.of(out)), device_view(part.of(in)),
           tables.own_digits.data() + part.first_limb);
  });
}

void key_inner_product(const Launcher& launcher, const PolyView& out, const ConstPolyView& digits,
                       const ConstPolyView& key, const RnsBase& extended, const ModUpTables& tables) {
  const auto components = static_cast<unsigned>(out.shape.components);
  PolyShape shape = out.shape;
  shape.components = 1;
  const auto run = [&]<class Stored>(const Part& part, Stored) {
    const unsigned width = components == 2 ? 2 : 1;
    launch("key_inner_product", launcher.stream,
           width == 2 ? key_inner_product_kernel<Stored, 2> : key_inner_product_kernel<Stored, 1>,
           {static_cast<unsigned>(part.batches), launcher.degree() / (2 * threads),
            static_cast<unsigned>(part.limbs) * components / width},
           {threads}, 0, device_view(part.of(out)), device_view(part.of(digits)), device_view(key),
           Digits{tables.key_digits.data(), tables.key_limbs.data() + part.first_limb,
                  static_cast<unsigned>(digits.shape.components)},
           components, limb_moduli(extended, part.first_limb, part.limbs), launcher.tables->moduli());
  };
  for_each_launch(
      shape, [&](const Part& part) { with_storage(key.word, [&](auto storage) { run(part, storage); }); });
}

}  // namespace hemera::poly::cuda
