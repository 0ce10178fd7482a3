// Residues in fewer bytes: a thread packs eight neighbours, which begin and end at whole words.
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/pairs.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 128;
constexpr unsigned words_of_thread = 8;
static_assert(min_degree % (threads * words_of_thread) == 0);

// Grid [tile, polynomial, limb]. `out`: of the launch's first batch, [batch, component, all limbs, N].
template <unsigned width>
__global__ void __launch_bounds__(threads)
    pack_kernel(std::uint64_t* out, ConstDeviceView in, unsigned components, unsigned first_limb,
                unsigned all_limbs, unsigned degree, int dropped_bits) {
  const unsigned entry = (blockIdx.x * threads + threadIdx.x) * words_of_thread;
  begin_kernel();
  const std::uint64_t* from = in.limb(blockIdx.y / components, blockIdx.y % components, blockIdx.z) + entry;
  const std::uint64_t half = (std::uint64_t{1} << dropped_bits) >> 1;
  std::uint64_t words[width] = {};
#pragma unroll
  for (unsigned i = 0; i < words_of_thread; i += 2) {
    const Pair pair = read(from + i);
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      std::uint64_t number = ((k == 0 ? pair.x : pair.y) + half) >> dropped_bits;
      if constexpr (width < 8) number &= (std::uint64_t{1} << 8 * width) - 1;
      const unsigned bit = 8 * width * (i + k), word = bit / 64, shift = bit % 64;
      words[word] |= number << shift;
      if (shift + 8 * width > 64) words[word + 1] |= number >> (64 - shift);
    }
  }
  const std::size_t row = std::size_t{blockIdx.y} * all_limbs + first_limb + blockIdx.z;
  std::uint64_t* to = out + (row * degree + entry) / words_of_thread * width;
#pragma unroll
  for (unsigned i = 0; i < width; ++i) to[i] = words[i];
}

template <unsigned width>
void pack(const Launcher& launcher, std::span<std::byte> out, const ConstPolyView& in, int dropped_bits) {
  const auto components = static_cast<unsigned>(in.shape.components);
  for_each_launch(in.shape, [&](const Part& part) {
    const std::size_t first = part.first_batch * in.shape.components * in.shape.limbs * launcher.degree();
    launch("pack_rounded", launcher.stream, pack_kernel<width>,
           {launcher.degree() / (threads * words_of_thread), static_cast<unsigned>(part.batches) * components,
            static_cast<unsigned>(part.limbs)},
           {threads}, 0, reinterpret_cast<std::uint64_t*>(out.data() + first * width),
           device_view(part.of(in)), components, static_cast<unsigned>(part.first_limb),
           static_cast<unsigned>(in.shape.limbs), launcher.degree(), dropped_bits);
  });
}

template <unsigned least = 1, typename Run>
void with_width(int width, const Run& run) {
  if constexpr (least < 8) {
    if (width != static_cast<int>(least)) return with_width<least + 1>(width, run);
  }
  run(std::integral_constant<unsigned, least>{});
}

}  // namespace

void pack_rounded(const Launcher& launcher, std::span<std::byte> out, const ConstPolyView& in,
                  int dropped_bits, int width) {
  with_width(width, [&](auto bytes) { pack<decltype(bytes)::value>(launcher, out, in, dropped_bits); });
}

}  // namespace hemera::poly::cuda
