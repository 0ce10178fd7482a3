// The kernel of hoisted products.
#pragma once

#include <type_traits>

#include "poly/cuda/hoisted/row_sums.cuh"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda::hoisted {

/// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
/// rows that a term needs come whole, by copies that are asked for ahead of their use, and are read in the
/// order that the automorphism gives them. `digits`: of every term that is switched, one step each; 0: any
/// number. Grid [batch, row, limb].
template <class A, class Stored, unsigned outputs, unsigned digits>
__global__ void __launch_bounds__(threads_of_block, outputs > 4 ? 2 : 3)
    hoisted_products_kernel(const __grid_constant__ Pass<outputs> pass, const arith::Modulus* moduli) {
  using Value = typename A::Value;
  using Shape = StageShape<Stored>;
  const unsigned batch = blockIdx.x, row = blockIdx.y, limb = blockIdx.z, t = threadIdx.x;
  const Layout& layout = pass.layout;
  auto* memory = dynamic_shared<unsigned char>();
  const StageBarriers barriers(memory, warps);
  auto* rows = reinterpret_cast<Row*>(memory + StageBarriers::bytes);
  auto* steps = reinterpret_cast<Step*>(memory + layout.first_step);
  auto* kept = reinterpret_cast<Value*>(memory + layout.first_kept);
  auto* stages = reinterpret_cast<std::uint64_t*>(memory + layout.first_stage);
  begin_kernel();

  for (unsigned i = t; i < layout.steps * layout.slots; i += threads_of_block) {
    rows[i] = row_of<Stored>(pass, batch, row, limb, i / layout.slots, i % layout.slots);
  }
  for (unsigned i = t; i < layout.steps; i += threads_of_block) steps[i] = step_of(pass, limb, i);
  const arith::Modulus q = moduli[pass.limbs.ring_index[limb]];
  const typename A::Modulus m = modulus_of<A>(pass, q, limb);
  if (layout.factors == Factors::kept) keep_factors<A>(pass, kept, batch, row, limb, m);
  __syncthreads();
  if (t >= threads) return ask_for_rows<Stored>(barriers, layout, rows, steps, stages);

  RowSums<A, Stored, outputs, digits> sums(pass, q, m, batch, row, limb);
  sums.start(kept);
  StagePlace place;
  unsigned k = 0, unreduced = 0;
  [[maybe_unused]] bool is_first = true;  // step of its term
  for (unsigned step = 0; step < layout.steps; ++step) {
    const Step now = steps[step];
    const std::uint64_t* stage = stages + place.stage * Shape::words(layout);
    sums.find(stage, now);
    barriers.wait_full(place);
    sums.start_step(is_first);
    sums.add_digits(now);
    if constexpr (digits == 0) {
      is_first = now.is_last;
      if (!now.is_last) {
        barriers.leave(place);
        place.advance(layout.stages);
        continue;
      }
    }
    sums.end_term(now);
    if (unreduced++ == Accumulator<A>::most) {
      unreduced = 1;
      sums.reduce();
    }
    sums.multiply(stage + Shape::first_factor(layout), k);
    barriers.leave(place);
    place.advance(layout.stages);
    ++k;
  }
  sums.store();
}

}  // namespace hemera::poly::cuda::hoisted
