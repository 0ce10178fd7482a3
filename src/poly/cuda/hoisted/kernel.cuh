// The kernel of hoisted products.
#pragma once

#include <type_traits>

#include "poly/cuda/hoisted/row_sums.cuh"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda::hoisted {

/// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
/// rows that a term needs come whole, by copies that are asked for ahead of their use, and are read in the
/// order that the automorphism gives them. `digits`: of every term that is switched, one step each; 0: any
/// number. Grid [batch / ciphertexts, row, limb].
template <class A, class Stored, unsigned outputs, unsigned digits, unsigned ciphertexts>
__global__ void __launch_bounds__(BlockShape<ciphertexts>::all_threads,
                                  BlockShape<ciphertexts>::blocks(outputs))
    hoisted_products_kernel(const __grid_constant__ Pass<outputs> pass, const arith::Modulus* moduli) {
  using Value = typename A::Value;
  using Shape = StageShape<Stored, ciphertexts>;
  using Block = BlockShape<ciphertexts>;
  const unsigned batch = blockIdx.x * ciphertexts, row = blockIdx.y, limb = blockIdx.z, t = threadIdx.x;
  const Layout& layout = pass.layout;
  auto* memory = dynamic_shared<unsigned char>();
  const StageBarriers barriers(memory, Block::warps);
  auto* rows = reinterpret_cast<Row*>(memory + StageBarriers::bytes);
  auto* steps = reinterpret_cast<Step*>(memory + layout.first_step);
  auto* kept = reinterpret_cast<Value*>(memory + layout.first_kept);
  auto* stages = reinterpret_cast<std::uint64_t*>(memory + layout.first_stage);
  begin_kernel();

  for (unsigned i = t; i < layout.steps * layout.slots; i += Block::all_threads) {
    rows[i] = row_of<Stored, ciphertexts>(pass, batch, row, limb, i / layout.slots, i % layout.slots);
  }
  for (unsigned i = t; i < layout.steps; i += Block::all_threads) steps[i] = step_of(pass, limb, i);
  const arith::Modulus q = moduli[pass.limbs.ring_index[limb]];
  const typename A::Modulus m = modulus_of<A>(pass, q, limb);
  if (layout.factors == Factors::kept) keep_factors<A, Block::all_threads>(pass, kept, batch, row, limb, m);
  __syncthreads();
  if (t >= Block::threads) return ask_for_rows<Stored, ciphertexts>(barriers, layout, rows, steps, stages);

  RowSums<A, Stored, outputs, digits, ciphertexts> sums(pass, q, m, batch, row, limb);
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
