// A product of matrices of residues for each entry: sums of up to 2 rows and 4 columns in a thread, which
// reads each factor once for them.
#include <algorithm>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/pairs.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned threads = 256;
constexpr unsigned rows_of_thread = 2;
constexpr unsigned most_columns = 4;
constexpr unsigned entries_of_block = 2 * threads;
static_assert(min_degree % entries_of_block == 0);

// Grid [pair of rows, tile, limb]: blocks that read the same of b are neighbours.
template <unsigned columns>
__global__ void __launch_bounds__(threads)
    elements_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned rows, unsigned terms,
                    const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const unsigned limb = blockIdx.z, first = blockIdx.x * rows_of_thread;
  const unsigned entry = (blockIdx.y * threads + threadIdx.x) * 2;
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  PairSum sums[rows_of_thread][columns];
  for (unsigned j = 0; j < terms; ++j) {
    Pair right[columns];
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) right[c] = read(b.limb(j, c, limb) + entry);
#pragma unroll
    for (unsigned r = 0; r < rows_of_thread; ++r) {
      if (first + r >= rows) break;
      const Pair left = read(a.limb(first + r, j, limb) + entry);
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) sums[r][c].add_product(left, right[c]);
    }
    if (j % (products_per_sum - 1) != products_per_sum - 2) continue;
#pragma unroll
    for (unsigned r = 0; r < rows_of_thread; ++r) {
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) sums[r][c].fold(q);
    }
  }
#pragma unroll
  for (unsigned r = 0; r < rows_of_thread; ++r) {
    if (first + r >= rows) break;
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) {
      const Pair sum = sums[r][c].reduced(q);
      write(out.limb(first + r, c, limb) + entry, sum.x, sum.y);
    }
  }
}

template <unsigned columns>
void multiply_columns(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                      const ConstPolyView& b, const RnsBase& base) {
  const auto rows = static_cast<unsigned>(out.shape.batch), terms = static_cast<unsigned>(b.shape.batch);
  for (std::size_t limb = 0; limb < out.shape.limbs; limb += limbs_per_launch) {
    const std::size_t limbs = std::min<std::size_t>(limbs_per_launch, out.shape.limbs - limb);
    launch("multiply_elements", launcher.stream, elements_kernel<columns>,
           {(rows + rows_of_thread - 1) / rows_of_thread, launcher.degree() / entries_of_block,
            static_cast<unsigned>(limbs)},
           {threads}, 0, device_view(out.limbs(limb, limbs)), device_view(a.limbs(limb, limbs)),
           device_view(b.limbs(limb, limbs)), rows, terms, limb_moduli(base, limb, limbs),
           launcher.tables->moduli());
  }
}

}  // namespace

void multiply_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                       const ConstPolyView& b, const RnsBase& base) {
  for (std::size_t first = 0; first < out.shape.components; first += most_columns) {
    const std::size_t columns = std::min<std::size_t>(most_columns, out.shape.components - first);
    const PolyView to = out.components(first, columns);
    const ConstPolyView from = b.components(first, columns);
    switch (columns) {
      case 1:
        multiply_columns<1>(launcher, to, a, from, base);
        break;
      case 2:
        multiply_columns<2>(launcher, to, a, from, base);
        break;
      case 3:
        multiply_columns<3>(launcher, to, a, from, base);
        break;
      default:
        multiply_columns<4>(launcher, to, a, from, base);
    }
  }
}

}  // namespace hemera::poly::cuda
