// Parts of polynomials from their values. Neighbours in standard order, d of them, are the values at the d
// roots of X^d = a value of Y: the first stages of an inverse transform, among them, leave the parts' values.
#include <algorithm>
#include <bit>
#include <vector>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned most_values = 2048;  // of a block: 16 KB of shared memory
static_assert(max_degree / min_entries <= most_values);

/// The place of factor `block` of the stage with 2^stage blocks, which is not among the columns' first ones.
__device__ __forceinline__ unsigned place_of_factor(const TableLayout& layout, unsigned stage, unsigned block,
                                                    unsigned log_rows) {
  const auto in_round = [&](unsigned level) {
    const unsigned s = stage - level;
    return (1U << s) + (block & ((1U << s) - 1));
  };
  if (stage >= log_rows + 4) {
    const unsigned of_round = block >> (stage - log_rows - 4);
    return layout.fourth() + row_size * (of_round / 16) + 16 * in_round(log_rows + 4) + of_round % 16;
  }
  if (stage >= log_rows) {
    return layout.third() + 16 * (block >> (stage - log_rows)) + in_round(log_rows);
  }
  return layout.second() + 16 * (block >> (stage - log_rows + 4)) + in_round(log_rows - 4);
}

// Grid [tile, polynomial, limb].
__global__ void __launch_bounds__(threads)
    split_kernel(DeviceView out, ConstDeviceView in, unsigned components, unsigned log_degree,
                 unsigned log_parts, unsigned count, const __grid_constant__ LimbModuli limbs,
                 const __grid_constant__ LimbWords inverses, const arith::Modulus* moduli,
                 const ShoupTwiddle* tables) {
  __shared__ std::uint64_t values[most_values];
  const unsigned limb = blockIdx.z, batch = blockIdx.y / components, component = blockIdx.y % components;
  const arith::Modulus q = moduli[limbs.ring_index[limb]];
  const unsigned log_rows = log_degree - log_row_size, begin = blockIdx.x * count;
  const TableLayout layout(static_cast<int>(log_rows));
  const ShoupTwiddle* table = tables + std::size_t{limbs.ring_index[limb]} * layout.size();
  begin_kernel();
  const std::uint64_t* from = in.limb(batch, component, limb) + begin;
  for (unsigned i = threadIdx.x; i < count; i += threads) values[transposed(i)] = from[i];
  for (unsigned log_half = 0; log_half < log_parts; ++log_half) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count / 2; i += threads) {
      const unsigned block = i >> log_half, half = 1U << log_half;
      const unsigned low = (block << (log_half + 1)) + (i & (half - 1)), high = low + half;
      const ShoupTwiddle w = table[place_of_factor(layout, log_degree - 1 - log_half,
                                                   (begin >> (log_half + 1)) + block, log_rows)];
      arith::ShoupFactor factor;
      factor.operand = w.operand;
      factor.quotient = w.quotient;
      const std::uint64_t x = values[low], y = values[high];
      values[low] = q.add(x, y);
      values[high] = arith::multiply(q.subtract(x, y), factor, q.value());
    }
  }
  __syncthreads();
  const std::uint64_t inverse = inverses.word[limb];
  const unsigned log_runs = 31U - static_cast<unsigned>(__clz(static_cast<int>(count))) - log_parts;
  for (unsigned i = threadIdx.x; i < count; i += threads) {
    const unsigned part = i >> log_runs, run = i & ((1U << log_runs) - 1);
    out.limb((component << log_parts) + part, batch, limb)[(begin >> log_parts) + run] =
        q.multiply(values[(run << log_parts) + part], inverse);
  }
}

}  // namespace

void split_parts(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                 const RnsBase& base) {
  const unsigned parts = launcher.degree() / static_cast<unsigned>(out.shape.degree);
  const unsigned count = std::min(launcher.degree(), most_values);
  std::vector<std::uint64_t> inverses;
  for (std::size_t l = 0; l < base.size(); ++l) {
    inverses.push_back(arith::inverse(parts, base.modulus(l).value()));
  }
  const auto components = static_cast<unsigned>(in.shape.components);
  for_each_launch(in.shape, [&](const Part& part) {
    // The batches of the input are components of the output.
    const PolyView to = out.components(part.first_batch, part.batches).limbs(part.first_limb, part.limbs);
    launch("split_parts", launcher.stream, split_kernel,
           {launcher.degree() / count, static_cast<unsigned>(part.batches) * components,
            static_cast<unsigned>(part.limbs)},
           {threads}, 0, device_view(to), device_view(part.of(in)), components, launcher.log_degree,
           static_cast<unsigned>(std::countr_zero(parts)), count,
           limb_moduli(base, part.first_limb, part.limbs), limb_words(inverses, part.first_limb, part.limbs),
           launcher.tables->moduli(), launcher.tables->transforms<U64>().inverse.data());
  });
}

}  // namespace hemera::poly::cuda
