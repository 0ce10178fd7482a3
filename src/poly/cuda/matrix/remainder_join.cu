// Remainders of sums put together modulo q by the Chinese remainder theorem.
#include <type_traits>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/byte_products.cuh"
#include "poly/cuda/matrix/divisors.hpp"
#include "poly/cuda/matrix/join.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/remainders.cuh"
#include "poly/cuda/matrix/split.cuh"

namespace hemera::poly::cuda::matrix {
namespace {

using arith::Modulus;
using arith::uint128;

// How remainders of a sum are joined modulo q: of the product P of the divisors d,
// sum = (remainder P / d, of each d) - P round(remainder / d, of each d), as its size is below 0.45 P.
// Numbers are there as bytes, those of four divisors together: the last one of all is the rounded sum.
constexpr unsigned most_fours = most_divisors / 4 + 1;
struct Joining {
  static constexpr unsigned fraction_bits = 20;  // 14 255 2^-21 < 0.05
  std::uint32_t factors[most_fours][8] = {};     // bytes of P / d modulo q, then of -P modulo q
  std::uint32_t fractions[most_fours][2] = {};   // and of 2^20 / d, rounded
};

Joining joining_of(unsigned kinds, unsigned fours, const Modulus& q) {
  const uint128 product = product_of_divisors(kinds);
  Joining joining;
  const auto put = [](std::uint32_t* bytes, unsigned count, unsigned at, std::uint64_t number) {
    for (unsigned i = 0; i < count; ++i) {
      bytes[i] |= static_cast<std::uint32_t>(number >> (8 * i) & 0xffU) << (8 * (at % 4));
    }
  };
  for (unsigned d = 0; d < kinds; ++d) {
    put(joining.factors[d / 4], 8, d, q.reduce(product / divisor(d)));
    put(joining.fractions[d / 4], 2, d, ((1U << (Joining::fraction_bits + 1)) / divisor(d) + 1) / 2);
  }
  put(joining.factors[fours - 1], 8, kinds % 4, q.negate(q.reduce(product)));
  return joining;
}

// Grid [block of rows, chunk of a thread's sums; tile], a warp for each that made them, of one unit, whose
// residues have this many bytes. `fours`: kinds / 4 + 1, or more.
template <unsigned bytes, unsigned fours>
__global__ void __launch_bounds__(warps * 32)
    join_remainders_kernel(DeviceView out, const uint4* found, unsigned rows, unsigned component,
                           unsigned limb, const Modulus* modulus, const __grid_constant__ SplitPart part,
                           const __grid_constant__ Joining joining) {
  begin_kernel();
  constexpr unsigned chunks = sums_of_wide_tile / sums_of_chunk;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned blocks = gridDim.x / chunks, block = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
  const Modulus q = *modulus;
  const Join<bytes> join(q);
  const uint4* const from = found + found_place(blockIdx.y, blocks, block, warp) + chunk * 32 + lane;
  const std::size_t of_kind = std::size_t{part.tiles} * blocks * (found_bytes / sizeof(uint4));
  uint4 remainders[4 * fours];
#pragma unroll
  for (unsigned d = 0; d < 4 * fours; ++d) {
    remainders[d] = d < part.kinds ? from[d * of_kind] : uint4{0, 0, 0, 0};
  }
  // Four sums: two of a row and two of the row eight below.
  ulonglong2 results[4][2];
#pragma unroll
  for (unsigned word = 0; word < 4; ++word) {
    std::uint32_t of_sum[fours][4];
#pragma unroll
    for (unsigned four = 0; four < fours; ++four) {
      const auto of_divisor = [&](unsigned d) {
        const uint4& all = remainders[4 * four + d];
        return word == 0 ? all.x : word == 1 ? all.y : word == 2 ? all.z : all.w;
      };
      transpose_bytes(of_sum[four], of_divisor(0), of_divisor(1), of_divisor(2), of_divisor(3));
    }
    std::uint64_t joined[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      std::uint32_t low = 1U << (Joining::fraction_bits - 1), high = 0;
#pragma unroll
      for (unsigned four = 0; four < fours; ++four) {
        low = add_products(of_sum[four][i], joining.fractions[four][0], low);
        high = add_products(of_sum[four][i], joining.fractions[four][1], high);
      }
      const std::uint32_t rounded = (low + (high << 8)) >> Joining::fraction_bits;
      // The last four have room for it.
      of_sum[fours - 1][i] |= rounded << (8 * (part.kinds % 4));
      joined[i] = join.template operator()<bytes>([&](unsigned weight) {
        std::uint32_t sum = 0;
#pragma unroll
        for (unsigned four = 0; four < fours; ++four) {
          sum = add_products(of_sum[four][i], joining.factors[four][weight], sum);
        }
        return static_cast<int>(sum);
      });
    }
    results[word][0] = make_ulonglong2(joined[0], joined[1]);
    results[word][1] = make_ulonglong2(joined[2], joined[3]);
  }
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = block * rows_of_block + 16 * warp + lane / 4 + 8 * half;
    if (row >= rows) break;
    std::uint64_t* const to = out.limb(row, component, limb) +
                              (part.first_tile + blockIdx.y) * entries_of_wide_tile + 32 * chunk +
                              2 * (lane % 4);
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
      *reinterpret_cast<ulonglong2*>(to + 8 * word) = results[word][half];
    }
  }
}

template <typename Body>
void with_fours(unsigned fours, const Body& body) {
  if (fours <= 2) return body(std::integral_constant<unsigned, 2>{});
  if (fours == 3) return body(std::integral_constant<unsigned, 3>{});
  return body(std::integral_constant<unsigned, 4>{});
}
static_assert(most_fours == 4);

}  // namespace

void join_remainders(const Launcher& launcher, const PolyView& out, const std::byte* found,
                     const SplitPart& part, std::size_t rows, const RnsBase& base) {
  const unsigned blocks = blocks_of(rows);
  for (unsigned unit = 0; unit < part.units; ++unit) {
    const unsigned limb = part.limb(unit);
    with_bytes(bytes_of(base.modulus(limb)), [&](auto bytes) {
      with_fours(part.kinds / 4 + 1, [&](auto fours) {
        launch("multiply_matrix", launcher.stream, join_remainders_kernel<bytes, fours>,
               {blocks * (sums_of_wide_tile / sums_of_chunk), part.tiles}, {warps * 32}, 0, device_view(out),
               reinterpret_cast<const uint4*>(found + std::size_t{unit} * part.kinds * part.tiles * blocks *
                                                          found_bytes),
               static_cast<unsigned>(rows), part.component(unit), limb,
               launcher.tables->moduli() + limb_moduli(base, limb, 1).ring_index[0], part,
               joining_of(part.kinds, fours, base.modulus(limb)));
      });
    });
  }
}

}  // namespace hemera::poly::cuda::matrix
