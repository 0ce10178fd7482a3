// Products of matrices of residues for each entry, where runs of entries share the left factor: for each run
// one product of matrices, whose columns are the run's entries, in FP64 on the tensor cores.
//
// A residue a, |a| <= q / 2 < 2^49, is a_0 + 2^25 a_1 in halves of 25 bits. With b' = 2^25 b modulo q,
// centred, a b is a_0 b + a_1 b' modulo q: the sums of the lower and of the upper halves of b and b', each of
// products up to 2^48. Sixteen of them and a reduced sum are below 2^53.
#include <algorithm>
#include <bit>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/tensor_core.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned warp = 32, warps = 8, threads = warp * warps;
constexpr unsigned rows_of_block = 64, columns_of_block = 128;
constexpr unsigned terms_of_step = 8;  // 16 with both halves
// A warp's: 2 of 16 rows, 4 of 8 columns.
constexpr unsigned row_tiles = 2, column_tiles = 4;
constexpr unsigned warps_of_rows = rows_of_block / (16 * row_tiles);
static_assert(warps_of_rows * columns_of_block / (8 * column_tiles) == warps);
// Doubles of a row of 16: neighbours begin in banks that do not meet.
constexpr unsigned pitch = 20;
constexpr unsigned left_size = rows_of_block * pitch, right_size = columns_of_block * pitch;
constexpr unsigned stage_size = left_size + 2 * right_size;
constexpr std::size_t shared_bytes = 2 * stage_size * sizeof(double);

struct Halves {
  double low, high;
};
__device__ __forceinline__ Halves halves(double x) {
  const double high = __dadd_rn(__fma_rn(x, 0x1p-25, F64::round), -F64::round);
  return {__fma_rn(-high, 0x1p25, x), high};
}
/// The remainder, at most 0.51 q in size, of integers below 2^53 (of a residue times 2^25, too).
__device__ __forceinline__ double reduced(double x, const F64::Modulus& m) {
  return __fma_rn(-__dadd_rn(__fma_rn(x, m.inverse, F64::round), -F64::round), m.q, x);
}

struct Shape {
  unsigned rows, terms, columns;  // columns: of all components
  unsigned log_run, row_blocks;
};

// Grid [run, blocks of rows of blocks of columns, limb].
__global__ void __launch_bounds__(threads, 1)
    shared_elements_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, Shape shape,
                           const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  double* const shared = dynamic_shared<double>();
  const unsigned limb = blockIdx.z, run = 1U << shape.log_run;
  const unsigned first_row = blockIdx.y % shape.row_blocks * rows_of_block;
  const unsigned first_column = blockIdx.y / shape.row_blocks * columns_of_block;
  const Modulus modulus = moduli[limbs.ring_index[limb]];
  const F64::Modulus m{static_cast<double>(modulus.value()), 1.0 / static_cast<double>(modulus.value()),
                       modulus.value()};
  const auto entry_of = [&](unsigned column) {
    return transposed((blockIdx.x << shape.log_run) + (column & (run - 1)));
  };
  begin_kernel();
  // The loads of a thread: terms of one column and of one row. Beyond the last ones is the last one again.
  constexpr unsigned own_right = terms_of_step * columns_of_block / threads;
  constexpr unsigned own_left = terms_of_step * rows_of_block / threads;
  const unsigned right_column = threadIdx.x % columns_of_block,
                 right_term = threadIdx.x / columns_of_block * own_right;
  const unsigned left_row = threadIdx.x % rows_of_block, left_term = threadIdx.x / rows_of_block * own_left;
  const unsigned column = min(first_column + right_column, shape.columns - 1);
  const std::uint64_t* const right = b.limb(0, column >> shape.log_run, limb) + entry_of(column);
  const std::uint64_t* const left = a.limb(min(first_row + left_row, shape.rows - 1), 0, limb) + blockIdx.x;
  std::uint64_t right_words[own_right], left_words[own_left];
  const auto load = [&](unsigned first) {
#pragma unroll
    for (unsigned i = 0; i < own_right; ++i) {
      const unsigned term = first + right_term + i;
      right_words[i] = term < shape.terms ? right[term * b.batch_stride] : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < own_left; ++i) {
      const unsigned term = first + left_term + i;
      left_words[i] = term < shape.terms ? left[term * a.component_stride] : 0;
    }
  };
  const auto store = [&](double* stage) {
#pragma unroll
    for (unsigned i = 0; i < own_left; ++i) {
      const Halves x = halves(F64::centered(left_words[i], m));
      double* const to = stage + left_row * pitch + left_term + i;
      to[0] = x.low;
      to[terms_of_step] = x.high;
    }
#pragma unroll
    for (unsigned i = 0; i < own_right; ++i) {
      const double x = F64::centered(right_words[i], m);
      const Halves plain = halves(x), turned = halves(reduced(__dmul_rn(x, 0x1p25), m));
      double* const to = stage + left_size + right_column * pitch + right_term + i;
      to[0] = plain.low;
      to[terms_of_step] = turned.low;
      to[right_size] = plain.high;
      to[right_size + terms_of_step] = turned.high;
    }
  };
  const unsigned lane = threadIdx.x % warp, group = lane / 4, place = lane % 4;
  const unsigned own = threadIdx.x / warp;
  const unsigned warp_row = own % warps_of_rows * 16 * row_tiles;
  const unsigned warp_column = own / warps_of_rows * 8 * column_tiles;
  double sums[2][row_tiles][column_tiles][4] = {};  // of lower and upper halves
  const unsigned steps = (shape.terms + terms_of_step - 1) / terms_of_step;
  load(0);
  for (unsigned step = 0; step < steps; ++step) {
    double* const stage = shared + step % 2 * stage_size;
    store(stage);
    __syncthreads();
    if (step + 1 < steps) load((step + 1) * terms_of_step);
    double rows[row_tiles][8];
#pragma unroll
    for (unsigned r = 0; r < row_tiles; ++r) {
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
        rows[r][i] = stage[(warp_row + 16 * r + 8 * (i % 2) + group) * pitch + place + 4 * (i / 2)];
      }
    }
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned c = 0; c < column_tiles; ++c) {
        const double* const from =
            stage + left_size + half * right_size + (warp_column + 8 * c + group) * pitch + place;
        const double columns[4] = {from[0], from[4], from[8], from[12]};
#pragma unroll
        for (unsigned r = 0; r < row_tiles; ++r) {
          double(&sum)[4] = sums[half][r][c];
          multiply_halves(sum, rows[r], columns);
#pragma unroll
          for (double& each : sum) each = reduced(each, m);
        }
      }
    }
  }
#pragma unroll
  for (unsigned r = 0; r < row_tiles; ++r) {
#pragma unroll
    for (unsigned c = 0; c < column_tiles; ++c) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = first_row + warp_row + 16 * r + 8 * (i / 2) + group;
        const unsigned to = first_column + warp_column + 8 * c + 2 * place + i % 2;
        if (row >= shape.rows || to >= shape.columns) continue;
        const double high = reduced(__dmul_rn(sums[1][r][c][i], 0x1p25), m);
        const double sum = reduced(__dadd_rn(sums[0][r][c][i], high), m);
        const auto found = static_cast<std::int64_t>(sum);
        out.limb(row, to >> shape.log_run, limb)[entry_of(to)] =
            static_cast<std::uint64_t>(found < 0 ? found + static_cast<std::int64_t>(m.word) : found);
      }
    }
  }
}

}  // namespace

bool shares_elements(const PolyView& out, const ConstPolyView& a, const RnsBase& base) {
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    if (!F64::takes(base.modulus(limb))) return false;
  }
  return out.shape.batch >= rows_of_block / 2 &&
         out.shape.components * (out.shape.degree / a.shape.degree) >= columns_of_block / 2;
}

void multiply_shared_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base) {
  const auto runs = static_cast<unsigned>(a.shape.degree);
  Shape shape{.rows = static_cast<unsigned>(out.shape.batch),
              .terms = static_cast<unsigned>(b.shape.batch),
              .columns = static_cast<unsigned>(out.shape.components) * (launcher.degree() / runs),
              .log_run = static_cast<unsigned>(std::countr_zero(launcher.degree() / runs)),
              .row_blocks = 0};
  shape.row_blocks = (shape.rows + rows_of_block - 1) / rows_of_block;
  const unsigned column_blocks = (shape.columns + columns_of_block - 1) / columns_of_block;
  for (std::size_t limb = 0; limb < out.shape.limbs; limb += limbs_per_launch) {
    const std::size_t limbs = std::min<std::size_t>(limbs_per_launch, out.shape.limbs - limb);
    launch("multiply_shared_elements", launcher.stream, shared_elements_kernel,
           {runs, shape.row_blocks * column_blocks, static_cast<unsigned>(limbs)}, {threads}, shared_bytes,
           device_view(out.limbs(limb, limbs)), device_view(a.limbs(limb, limbs)),
           device_view(b.limbs(limb, limbs)), shape, limb_moduli(base, limb, limbs),
           launcher.tables->moduli());
  }
}

}  // namespace hemera::poly::cuda
