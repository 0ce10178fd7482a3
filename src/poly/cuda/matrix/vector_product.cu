// Rows of bytes times a vector of residues, added to others: the bytes of the rows are read once, those of
// the residues stand in shared memory. Eight threads share a row, sixteen bytes at a time, and each has four
// rows.
#include <algorithm>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/byte_products.cuh"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/split.cuh"
#include "poly/cuda/pairs.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 256;
constexpr unsigned threads_of_row = 8;
constexpr unsigned rows_of_thread = 4;
constexpr unsigned rows_at_a_time = threads / threads_of_row;
constexpr unsigned rows_of_block = rows_at_a_time * rows_of_thread;
constexpr unsigned columns_of_load = 16;
// Residues that stand in shared memory: at most 16 KB.
constexpr unsigned columns_of_pass = 2048;
static_assert(min_degree % rows_of_block == 0);

/// The residue of the sum of 2^(8 i) sums[i]: all are above -2^31.
template <unsigned bytes>
__device__ __forceinline__ std::uint64_t joined(const int (&sums)[bytes], const Modulus& q) {
  constexpr std::uint64_t bias = std::uint64_t{1} << 31;
  uint128 sum = 0, biases = 0;
#pragma unroll
  for (unsigned i = 0; i < bytes; ++i) {
    sum += static_cast<uint128>(static_cast<std::uint64_t>(sums[i] + static_cast<std::int64_t>(bias)))
           << 8 * i;
    biases += static_cast<uint128>(bias) << 8 * i;
  }
  return q.subtract(q.reduce(sum), q.reduce(biases));
}

// Grid [128 rows, limb]. Sums of up to 2^16 products stay below 2^31.
template <unsigned bytes>
__global__ void __launch_bounds__(threads)
    vector_kernel(DeviceView out, const std::byte* w, ConstDeviceView in, unsigned rows, unsigned columns,
                  unsigned log_degree, const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  __shared__ uint4 parts[bytes][columns_of_pass / columns_of_load];
  const unsigned limb = blockIdx.y, lane = threadIdx.x % threads_of_row;
  const unsigned first = blockIdx.x * rows_of_block + threadIdx.x / threads_of_row;
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  const std::uint64_t* residues = in.limb(0, 0, limb);
  int sums[rows_of_thread][bytes] = {};
  for (unsigned pass = 0; pass < columns; pass += columns_of_pass) {
    const unsigned width = min(columns_of_pass, columns - pass);
    if (pass != 0) __syncthreads();
    for (unsigned i = threadIdx.x; i < width / 4; i += threads) {
      const Pair low = read(residues + pass + 4 * i), high = read(residues + pass + 4 * i + 2);
      std::uint32_t split[bytes];
      matrix::split<bytes>(split, {low.x, low.y, high.x, high.y});
#pragma unroll
      for (unsigned b = 0; b < bytes; ++b) reinterpret_cast<std::uint32_t*>(parts[b])[i] = split[b];
    }
    __syncthreads();
    for (unsigned c = lane * columns_of_load; c < width; c += threads_of_row * columns_of_load) {
      uint4 row[rows_of_thread];
#pragma unroll
      for (unsigned r = 0; r < rows_of_thread; ++r) {
        const unsigned number = first + r * rows_at_a_time;
        row[r] = number < rows ? *reinterpret_cast<const uint4*>(w + std::size_t{number} * columns + pass + c)
                               : uint4{0, 0, 0, 0};
      }
#pragma unroll
      for (unsigned b = 0; b < bytes; ++b) {
        const uint4 part = parts[b][c / columns_of_load];
#pragma unroll
        for (unsigned r = 0; r < rows_of_thread; ++r) {
          int sum = matrix::add_products(row[r].x, part.x, sums[r][b]);
          sum = matrix::add_products(row[r].y, part.y, sum);
          sum = matrix::add_products(row[r].z, part.z, sum);
          sums[r][b] = matrix::add_products(row[r].w, part.w, sum);
        }
      }
    }
  }
  // Thread r of a row's eight has the sums of the r-th row.
  int own[bytes] = {};
#pragma unroll
  for (unsigned r = 0; r < rows_of_thread; ++r) {
#pragma unroll
    for (unsigned b = 0; b < bytes; ++b) {
      int sum = sums[r][b];
#pragma unroll
      for (int lanes = threads_of_row / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0U, sum, lanes);
      if (lane == r) own[b] = sum;
    }
  }
  if (lane >= rows_of_thread) return;
  const unsigned row = first + lane * rows_at_a_time;
  if (row >= rows) return;
  std::uint64_t& sum = out.limb(row >> log_degree, 0, limb)[row & ((1U << log_degree) - 1)];
  sum = q.add(sum, joined(own, q));
}

}  // namespace

void multiply_add_vector(const Launcher& launcher, const PolyView& out, const IntegerMatrixView& w,
                         const ConstPolyView& in, const RnsBase& base) {
  const std::size_t coefficients = out.shape.batch * launcher.degree();
  matrix::for_each_kernel(
      out.shape, base, [&](std::size_t limb, std::size_t limbs, std::size_t, std::size_t, unsigned bytes) {
        matrix::with_bytes(bytes, [&](auto count) {
          launch("multiply_add_vector", launcher.stream, vector_kernel<decltype(count)::value>,
                 {static_cast<unsigned>(coefficients / rows_of_block), static_cast<unsigned>(limbs)},
                 {threads}, 0, device_view(out.limbs(limb, limbs)), w.data,
                 device_view(in.limbs(limb, limbs)), static_cast<unsigned>(w.rows),
                 static_cast<unsigned>(w.columns), launcher.log_degree, limb_moduli(base, limb, limbs),
                 launcher.tables->moduli());
        });
      });
}

}  // namespace hemera::poly::cuda
