// The kernel of hoisted products.
#pragma once

#include <type_traits>

#include "poly/cuda/hoisted/accumulator.cuh"
#include "poly/cuda/hoisted/copies.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/stored_words.cuh"

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
  typename A::Modulus m;
  if constexpr (std::is_same_v<A, F64>) {
    m = {A::from_bits(pass.modulus.word[limb]), __ddiv_rn(1.0, A::from_bits(pass.modulus.word[limb])),
         q.value()};
  } else {
    m = {q.value(), 0 - q.value()};
  }
  if (layout.factors == Factors::kept) {
    for (unsigned i = t; i < pass.count * layout.kept_values * outputs; i += threads_of_block) {
      const unsigned value = i / outputs % layout.kept_values;
      const Factor& factor = pass.factors[i / outputs / layout.kept_values][i % outputs];
      const unsigned first = row * row_size >> layout.log_run;
      kept[i] = factor.values.data == nullptr
                    ? Value{}
                    : small<A>(factor.values.limb(batch, 0, limb)[first + value], m);
    }
  }
  __syncthreads();
  if (t >= threads) return ask_for_rows<Stored>(barriers, layout, rows, steps, stages);

  // The thread's positions in the row are t, t + threads, ...
  const auto in_row = [&](unsigned i) { return t + i * threads; };
  Accumulator<A> sums[outputs][2][positions];
  unsigned exponents[positions];
  const Value* own_kept[positions];
#pragma unroll
  for (unsigned i = 0; i < positions; ++i) {
    const unsigned position = row * row_size + in_row(i);
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        sums[g][c][i].start(pass.adds ? small<A>(pass.out[g].limb(batch, c, limb)[position], m) : Value{});
      }
    }
    exponents[i] = 2 * reversed(transposed(position), pass.log_degree) + 1;
    own_kept[i] = kept + (transposed(in_row(i)) >> layout.log_run) * outputs;
  }
  const auto for_positions = [](const auto& body) { unroll<positions>(body); };

  Accumulator<A> inner[2][positions];
  for_positions([&](auto i) {
    inner[0][i].start(Value{});
    inner[1][i].start(Value{});
  });
  StagePlace place;
  unsigned k = 0, unreduced = 0;
  [[maybe_unused]] bool is_first = true;  // step of its term
  for (unsigned step = 0; step < layout.steps; ++step) {
    const Step now = steps[step];
    const std::uint64_t* stage = stages + place.stage * Shape::words(layout);
    // Where in its row a position's value comes from.
    const std::uint64_t* gathered[positions];
    typename Stored::Place gathered_keys[positions];
    for_positions([&](auto i) {
      const unsigned exponent = exponents[i] * now.element & ((2U << pass.log_degree) - 1);
      const unsigned entry = transposed(reversed(exponent >> 1, pass.log_degree)) % row_size;
      gathered[i] = stage + entry;
      gathered_keys[i] = Stored::place(stage, entry);
    });
    barriers.wait_full(place);
    for_positions([&](auto i) {
      if (digits != 0 || is_first) {
        inner[0][i].start(Value{});
        inner[1][i].start(Value{});
      } else {
        inner[0][i].start(inner[0][i].reduced(q, m));
        inner[1][i].start(inner[1][i].reduced(q, m));
      }
    });
    // Up to three products of words, and that of an addend and P; of four, the digits are made small.
    const auto add_products = [&](auto number) {
      constexpr unsigned count = decltype(number)::value;
      unroll<count>([&](auto d) {
        for_positions([&](auto i) {
          constexpr unsigned first = decltype(d)::value * Shape::digit_words;
          const std::uint64_t word = gathered[i][first + 2 * Shape::key_words];
          const Value x = count == 4 ? small<A>(word, m) : A::load(word, m);
          inner[0][i].add(x, A::load(Stored::word_after(gathered_keys[i], 8 * first), m), m);
          inner[1][i].add(x, A::load(Stored::word_after(gathered_keys[i], 8 * (first + Shape::key_words)), m),
                          m);
        });
      });
    };
    static_assert(digits_at_once == 4);
    if constexpr (digits != 0) {
      if (now.digits != 0) add_products(std::integral_constant<int, digits>{});
    } else {
      if (now.digits == 1) add_products(std::integral_constant<int, 1>{});
      if (now.digits == 2) add_products(std::integral_constant<int, 2>{});
      if (now.digits == 3) add_products(std::integral_constant<int, 3>{});
      if (now.digits == 4) add_products(std::integral_constant<int, 4>{});
      is_first = now.is_last;
      if (!now.is_last) {
        barriers.leave(place);
        place.advance(layout.stages);
        continue;
      }
    }
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (c >= now.addends) continue;
      for_positions([&](auto i) {
        const Value addend = A::load(gathered[i][Shape::addend(now.digits, c)], m);
        if (now.scaled) {
          if constexpr (!std::is_same_v<A, F64>) inner[c][i].start(inner[c][i].reduced(q, m));
          inner[c][i].add(addend, A::from_bits(pass.special.word[limb]), m);
        } else {
          inner[c][i].add_value(addend);
        }
      });
    }
    Value x[2][positions];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      for_positions([&](auto i) { x[c][i] = made_small<A>(inner[c][i].reduced(q, m), m); });
    }
    if (unreduced++ == Accumulator<A>::most) {
      unreduced = 1;
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        for_positions([&](auto i) {
          sums[g][0][i].start(sums[g][0][i].reduced(q, m));
          sums[g][1][i].start(sums[g][1][i].reduced(q, m));
        });
      }
    }
    const auto add_to = [&](unsigned g, unsigned i, Value factor) {
      sums[g][0][i].add(x[0][i], factor, m);
      sums[g][1][i].add(x[1][i], factor, m);
    };
    const std::uint64_t* staged = stage + Shape::first_factor(layout);
    if (layout.factors == Factors::kept) {
      for_positions([&](auto i) {
        const Value* factors = own_kept[i] + k * (layout.kept_values * outputs);
#pragma unroll
        for (unsigned g = 0; g < outputs; ++g) add_to(g, i, factors[g]);
      });
    } else if (layout.factors == Factors::whole && pass.present[k] == (1U << outputs) - 1) {
      for_positions([&](auto i) {
#pragma unroll
        for (unsigned g = 0; g < outputs; ++g) add_to(g, i, A::load(staged[g * row_size + in_row(i)], m));
      });
    } else if (layout.factors == Factors::ones) {
      for_positions([&](auto i) {
#pragma unroll
        for (unsigned g = 0; g < outputs; ++g) {
          sums[g][0][i].add_value(x[0][i]);
          sums[g][1][i].add_value(x[1][i]);
        }
      });
    } else {
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        if ((pass.present[k] >> g & 1) == 0) continue;
        const Factor& factor = pass.factors[k][g];
        const bool is_staged = factor.log_run < log_row_size;
        for_positions([&](auto i) {
          const unsigned index = factor.log_run == 0 ? in_row(i) : transposed(in_row(i)) >> factor.log_run;
          add_to(g, i,
                 A::load(is_staged ? staged[g * row_size + index]
                                   : factor.values.limb(batch, 0, limb)[row * row_size >> factor.log_run],
                         m));
        });
      }
    }
    barriers.leave(place);
    place.advance(layout.stages);
    ++k;
  }
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      for_positions([&](auto i) {
        const Value value = made_small<A>(sums[g][c][i].reduced(q, m), m);
        std::uint64_t word;
        if constexpr (std::is_same_v<A, F64>) {
          word = F64::canonical(value, m);
        } else {
          word = value;
        }
        pass.out[g].limb(batch, c, limb)[row * row_size + in_row(i)] = word;
      });
    }
  }
}

}  // namespace hemera::poly::cuda::hoisted
