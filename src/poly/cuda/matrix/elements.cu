// A product of matrices of residues for each entry: sums of up to 2 rows and 4 columns in a thread, which
// reads each factor once for them. Of rows that are stored by fewer entries, which a warp shares, 4 rows.
#include <algorithm>
#include <bit>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/pairs.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

constexpr unsigned threads = 256;
constexpr unsigned most_columns = 4;
constexpr unsigned entries_of_block = 2 * threads;
static_assert(min_degree % entries_of_block == 0);

// Rows of a thread, whose sums are in registers.
template <unsigned columns, bool stored>
constexpr unsigned rows_of_thread = stored&& columns <= 2 ? 4 : 2;

// The places of two neighbours' values in limbs that are whole, or stored by one of each 2^log_run entries.
template <bool stored>
struct Places {
  unsigned first, second;

  __device__ Places(unsigned entry, unsigned log_run) : first(entry), second(0) {
    if constexpr (stored) {
      first = transposed(entry) >> log_run;
      second = transposed(entry + 1) >> log_run;
    }
  }
  __device__ __forceinline__ Pair values(const std::uint64_t* limb) const {
    if constexpr (stored) return {limb[first], limb[second]};
    return read(limb + first);
  }
};

// Grid [rows of a thread, tile, limb]: blocks that read the same of b are neighbours.
template <unsigned columns, bool stored>
__global__ void __launch_bounds__(threads)
    elements_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned rows, unsigned terms,
                    unsigned log_run, const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  constexpr unsigned own_rows = rows_of_thread<columns, stored>;
  const unsigned limb = blockIdx.z, first = blockIdx.x * own_rows;
  const unsigned entry = (blockIdx.y * threads + threadIdx.x) * 2;
  const Places<stored> places(entry, log_run);
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  PairSum sums[own_rows][columns];
  for (unsigned j = 0; j < terms; ++j) {
    Pair right[columns];
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) right[c] = read(b.limb(j, c, limb) + entry);
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
      if (first + r >= rows) break;
      const Pair left = places.values(a.limb(first + r, j, limb));
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) sums[r][c].add_product(left, right[c]);
    }
    if (j % (products_per_sum - 1) != products_per_sum - 2) continue;
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) sums[r][c].fold(q);
    }
  }
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
    if (first + r >= rows) break;
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) {
      const Pair sum = sums[r][c].reduced(q);
      write(out.limb(first + r, c, limb) + entry, sum.x, sum.y);
    }
  }
}

template <unsigned columns, bool stored>
void multiply_columns(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                      const ConstPolyView& b, const RnsBase& base) {
  constexpr unsigned own_rows = rows_of_thread<columns, stored>;
  const auto rows = static_cast<unsigned>(out.shape.batch), terms = static_cast<unsigned>(b.shape.batch);
  const auto log_run = static_cast<unsigned>(std::countr_zero(out.shape.degree / a.shape.degree));
  for (std::size_t limb = 0; limb < out.shape.limbs; limb += limbs_per_launch) {
    const std::size_t limbs = std::min<std::size_t>(limbs_per_launch, out.shape.limbs - limb);
    launch("multiply_elements", launcher.stream, elements_kernel<columns, stored>,
           {(rows + own_rows - 1) / own_rows, launcher.degree() / entries_of_block,
            static_cast<unsigned>(limbs)},
           {threads}, 0, device_view(out.limbs(limb, limbs)), device_view(a.limbs(limb, limbs)),
           device_view(b.limbs(limb, limbs)), rows, terms, log_run, limb_moduli(base, limb, limbs),
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
    const auto multiply = [&]<unsigned count>(std::integral_constant<unsigned, count>) {
      if (a.shape.degree != out.shape.degree)
        return multiply_columns<count, true>(launcher, to, a, from, base);
      multiply_columns<count, false>(launcher, to, a, from, base);
    };
    switch (columns) {
      case 1:
        multiply(std::integral_constant<unsigned, 1>{});
        break;
      case 2:
        multiply(std::integral_constant<unsigned, 2>{});
        break;
      case 3:
        multiply(std::integral_constant<unsigned, 3>{});
        break;
      default:
        multiply(std::integral_constant<unsigned, 4>{});
    }
  }
}

}  // namespace hemera::poly::cuda
