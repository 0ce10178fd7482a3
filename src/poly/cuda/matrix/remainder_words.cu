// Integers and residues become remainders in memory, in the order in which warpgroups take them.
#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/byte_products.cuh"
#include "poly/cuda/matrix/divisors.hpp"
#include "poly/cuda/matrix/matrix_chunks.cuh"
#include "poly/cuda/matrix/remainders.cuh"

namespace hemera::poly::cuda::matrix {
namespace {

// x, below 2^23 in size, modulo a constant from 199 to 256, as a byte from -128 to 127. The reciprocal is off
// by 2^-33 at most, so the quotient by 2^-10, and rounds to what leaves 128 for no divisor.
__device__ __forceinline__ std::uint32_t signed_remainder(int x, unsigned of) {
  const auto reciprocal = static_cast<std::int64_t>(((std::uint64_t{1} << 33) / of + 1) / 2);
  const auto quotient = static_cast<int>((x * reciprocal + (std::int64_t{1} << 31)) >> 32);
  return static_cast<std::uint32_t>(x - quotient * static_cast<int>(of)) & 0xffU;
}

// A word modulo a constant from 199 to 256: 256^i modulo it times the word's bytes.
__device__ __forceinline__ std::uint32_t remainder(std::uint32_t low, std::uint32_t high, unsigned of) {
  if (of == 256) return low & 0xffU;
  std::uint32_t powers[2] = {};
  for (std::uint32_t i = 0, power = 1; i < 8; ++i, power = power * 256 % of) {
    powers[i / 4] |= power << (8 * (i % 4));
  }
  // Below 2^19, so the quotient is exact.
  const std::uint32_t sum = add_products(high, powers[1], add_products(low, powers[0], 0U));
  const auto reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / of + 1);
  return sum - __umulhi(sum, reciprocal) * of;
}

struct Inverses {
  std::uint8_t of[most_divisors];  // of the product of the other divisors
};

__global__ void __launch_bounds__(MatrixRows::threads)
    pack_remainders_kernel(uint4* packed, const __grid_constant__ MatrixRows from, unsigned kinds,
                           const __grid_constant__ Inverses inverses) {
  begin_kernel();
  for_each_chunk<2>(from, kinds, [&](const std::uint32_t(&bytes)[2][4], std::size_t place) {
    int values[columns_of_chunk];
#pragma unroll
    for (unsigned i = 0; i < columns_of_chunk; ++i) {
      const auto byte = [&](unsigned plane) { return bytes[plane][i / 4] >> (8 * (i % 4)) & 0xffU; };
      values[i] = static_cast<std::int16_t>(byte(1) << 8 | byte(0));
    }
#pragma unroll
    for (unsigned d = 0; d < most_divisors; ++d) {
      if (d >= kinds) break;
      std::uint32_t found[4] = {};
#pragma unroll
      for (unsigned i = 0; i < columns_of_chunk; ++i) {
        found[i / 4] |= signed_remainder(values[i] * inverses.of[d], divisor(d)) << (8 * (i % 4));
      }
      packed[place + std::size_t{d} * from.steps * (block_bytes / sizeof(uint4))] =
          uint4{found[0], found[1], found[2], found[3]};
    }
  });
}

// Grid [step, 32 entries, unit], a warp for each chunk.
__global__ void __launch_bounds__(chunks_of_step * 32)
    split_remainders_kernel(uint4* split, ConstDeviceView in, const __grid_constant__ SplitPart part) {
  begin_kernel();
  constexpr unsigned warps_of_tile = entries_of_wide_tile / 32;
  const unsigned chunk = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned first = blockIdx.x * columns_of_step + chunk * columns_of_chunk;
  const unsigned entry = part.first_tile * entries_of_wide_tile + blockIdx.y * 32 + lane;
  const unsigned component = part.component(blockIdx.z), limb = part.limb(blockIdx.z);
  std::uint32_t low[columns_of_chunk], high[columns_of_chunk];
#pragma unroll
  for (unsigned i = 0; i < columns_of_chunk; ++i) {
    const std::uint64_t word = first + i < part.columns ? in.limb(first + i, component, limb)[entry] : 0;
    low[i] = static_cast<std::uint32_t>(word);
    high[i] = static_cast<std::uint32_t>(word >> 32);
  }
  const std::size_t tile = std::size_t{blockIdx.z} * part.kinds * part.tiles + blockIdx.y / warps_of_tile;
  uint4* const to = split + (tile * part.steps + blockIdx.x) * (wide_tile_bytes / sizeof(uint4)) +
                    chunk * entries_of_wide_tile + blockIdx.y % warps_of_tile * 32 + lane;
  const std::size_t of_kind = std::size_t{part.tiles} * part.steps * (wide_tile_bytes / sizeof(uint4));
#pragma unroll
  for (unsigned d = 0; d < most_divisors; ++d) {
    if (d >= part.kinds) break;
    std::uint32_t found[4] = {};
#pragma unroll
    for (unsigned i = 0; i < columns_of_chunk; ++i) {
      found[i / 4] |= remainder(low[i], high[i], divisor(d)) << (8 * (i % 4));
    }
    to[d * of_kind] = uint4{found[0], found[1], found[2], found[3]};
  }
}

// x^-1 modulo a number below 257.
std::uint8_t inverse(unsigned x, unsigned modulo) {
  unsigned y = 1;
  while (x * y % modulo != 1) ++y;
  return static_cast<std::uint8_t>(y);
}

Inverses inverses_of(unsigned kinds) {
  Inverses inverses{};
  for (unsigned d = 0; d < kinds; ++d) {
    unsigned others = 1;
    for (unsigned i = 0; i < kinds; ++i) {
      if (i != d) others = others * divisor(i) % divisor(d);
    }
    inverses.of[d] = inverse(others, divisor(d));
  }
  return inverses;
}

}  // namespace

void pack_remainders(const Launcher& launcher, std::byte* packed, const IntegerMatrixView& w,
                     unsigned kinds) {
  const MatrixRows from(w);
  launch("multiply_matrix", launcher.stream, pack_remainders_kernel, {from.grid()}, {MatrixRows::threads}, 0,
         reinterpret_cast<uint4*>(packed), from, kinds, inverses_of(kinds));
}

void split_remainders(const Launcher& launcher, std::byte* split, const ConstPolyView& in,
                      const SplitPart& part) {
  launch("multiply_matrix", launcher.stream, split_remainders_kernel,
         {part.steps, part.tiles * (entries_of_wide_tile / 32), part.units}, {chunks_of_step * 32}, 0,
         reinterpret_cast<uint4*>(split), device_view(in), part);
}

}  // namespace hemera::poly::cuda::matrix
