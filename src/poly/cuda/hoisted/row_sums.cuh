// The sums of a thread of the kernel of hoisted products.
#pragma once

#include <type_traits>

#include "poly/cuda/hoisted/accumulator.cuh"
#include "poly/cuda/hoisted/copies.cuh"
#include "poly/cuda/stored_words.cuh"

namespace hemera::poly::cuda::hoisted {

/// The modulus q of a limb as the arithmetic has it.
template <class A, unsigned outputs>
__device__ __forceinline__ typename A::Modulus modulus_of(const Pass<outputs>& pass, const arith::Modulus& q,
                                                          unsigned limb) {
  if constexpr (std::is_same_v<A, F64>) {
    return {A::from_bits(pass.modulus.word[limb]), __ddiv_rn(1.0, A::from_bits(pass.modulus.word[limb])),
            q.value()};
  } else {
    return {q.value(), 0 - q.value()};
  }
}

/// Factors of few values in a row to shared memory, [term, value, output].
template <class A, unsigned all_threads, unsigned outputs>
__device__ __forceinline__ void keep_factors(const Pass<outputs>& pass, typename A::Value* kept,
                                             unsigned batch, unsigned row, unsigned limb,
                                             const typename A::Modulus& m) {
  using Value = typename A::Value;
  const Layout& layout = pass.layout;
  for (unsigned i = threadIdx.x; i < pass.count * layout.kept_values * outputs; i += all_threads) {
    const unsigned value = i / outputs % layout.kept_values;
    const Factor& factor = pass.factors[i / outputs / layout.kept_values][i % outputs];
    const unsigned first = row * row_size >> layout.log_run;
    kept[i] = factor.values.data == nullptr ? Value{}
                                            : small<A>(factor.values.limb(batch, 0, limb)[first + value], m);
  }
}

/// The sums of a thread's positions in a row, t, t + threads, ..., for every output and ciphertext of the
/// block. `digits` as for the kernel.
template <class A, class Stored, unsigned outputs, unsigned digits, unsigned ciphertexts>
struct RowSums {
  using Value = typename A::Value;
  using Shape = StageShape<Stored, ciphertexts>;
  static constexpr unsigned positions = BlockShape<ciphertexts>::positions;

  const Pass<outputs>& pass;
  const arith::Modulus& q;
  const typename A::Modulus& m;
  unsigned batch, row, limb;

  __device__ __forceinline__ RowSums(const Pass<outputs>& given, const arith::Modulus& modulus,
                                     const typename A::Modulus& modulus_of_values, unsigned batch_index,
                                     unsigned row_index, unsigned limb_index)
      : pass(given), q(modulus), m(modulus_of_values), batch(batch_index), row(row_index), limb(limb_index) {}

  // Indexed [position, ciphertext].
  Accumulator<A> sums[outputs][2][values_of_thread];
  unsigned exponents[positions];
  const Value* own_kept[positions];
  /// Sums of the term that is switched now; reduced at its end.
  Accumulator<A> inner[2][values_of_thread];
  Value x[2][values_of_thread];
  /// Where in the stage a position's value comes from.
  const std::uint64_t* gathered[positions];
  typename Stored::Place gathered_keys[positions];

  __device__ __forceinline__ static unsigned in_row(unsigned position) {
    return threadIdx.x + position * BlockShape<ciphertexts>::threads;
  }
  template <typename Body>
  __device__ __forceinline__ static void for_positions(const Body& body) {
    unroll<positions>(body);
  }
  // body(value, position, ciphertext)
  template <typename Body>
  __device__ __forceinline__ static void for_values(const Body& body) {
    unroll<values_of_thread>([&](auto i) {
      constexpr unsigned value = decltype(i)::value;
      body(value, value / ciphertexts, value % ciphertexts);
    });
  }

  __device__ __forceinline__ void start(const Value* kept) {
    for_positions([&](auto p) {
      const unsigned position = row * row_size + in_row(p);
      exponents[p] = 2 * reversed(transposed(position), pass.log_degree) + 1;
      own_kept[p] = kept + (transposed(in_row(p)) >> pass.layout.log_run) * outputs;
    });
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        for_values([&](unsigned i, unsigned p, unsigned b) {
          const unsigned position = row * row_size + in_row(p);
          sums[g][c][i].start(pass.adds ? small<A>(pass.out[g].limb(batch + b, c, limb)[position], m)
                                        : Value{});
        });
      }
    }
    for_values([&](unsigned i, unsigned, unsigned) {
      inner[0][i].start(Value{});
      inner[1][i].start(Value{});
    });
  }

  /// Where a step's automorphism takes the positions' values from.
  __device__ __forceinline__ void find(const std::uint64_t* stage, const Step& now) {
    for_positions([&](auto p) {
      const unsigned exponent = exponents[p] * now.element & ((2U << pass.log_degree) - 1);
      const unsigned entry = transposed(reversed(exponent >> 1, pass.log_degree)) % row_size;
      gathered[p] = stage + entry;
      gathered_keys[p] = Stored::place(stage, entry);
    });
  }

  /// `is_first`: of its term.
  __device__ __forceinline__ void start_step(bool is_first) {
    for_values([&](unsigned i, unsigned, unsigned) {
      if (digits != 0 || is_first) {
        inner[0][i].start(Value{});
        inner[1][i].start(Value{});
      } else {
        inner[0][i].start(inner[0][i].reduced(q, m));
        inner[1][i].start(inner[1][i].reduced(q, m));
      }
    });
  }

  /// Up to three products of words, and that of an addend and P; of four, the digits are made small.
  template <unsigned count>
  __device__ __forceinline__ void add_products() {
    unroll<count>([&](auto d) {
      constexpr unsigned first = decltype(d)::value * Shape::digit_words;
      for_positions([&](auto p) {
        const Value keys[] = {
            A::load(Stored::word_after(gathered_keys[p], 8 * first), m),
            A::load(Stored::word_after(gathered_keys[p], 8 * (first + Shape::key_words)), m)};
        unroll<ciphertexts>([&](auto b) {
          const std::uint64_t word = gathered[p][first + 2 * Shape::key_words + b * row_size];
          const Value digit = count == 4 ? small<A>(word, m) : A::load(word, m);
          inner[0][p * ciphertexts + b].add(digit, keys[0], m);
          inner[1][p * ciphertexts + b].add(digit, keys[1], m);
        });
      });
    });
  }

  __device__ __forceinline__ void add_digits(const Step& now) {
    static_assert(digits_at_once == 4);
    if constexpr (digits != 0) {
      if (now.digits != 0) add_products<digits>();
    } else {
      if (now.digits == 1) add_products<1>();
      if (now.digits == 2) add_products<2>();
      if (now.digits == 3) add_products<3>();
      if (now.digits == 4) add_products<4>();
    }
  }

  /// Adds the addends of the term's last step, and makes x of the term.
  __device__ __forceinline__ void end_term(const Step& now) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (c >= now.addends) continue;
      for_values([&](unsigned i, unsigned p, unsigned b) {
        const Value addend = A::load(gathered[p][Shape::addend(now.digits, c * ciphertexts + b)], m);
        if (now.scaled) {
          inner[c][i].add(addend, A::from_bits(pass.special.word[limb]), m);
        } else {
          inner[c][i].add_value(addend);
        }
      });
    }
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      for_values(
          [&](unsigned i, unsigned, unsigned) { x[c][i] = made_small<A>(inner[c][i].reduced(q, m), m); });
    }
  }

  __device__ __forceinline__ void reduce() {
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
      for_values([&](unsigned i, unsigned, unsigned) {
        sums[g][0][i].start(sums[g][0][i].reduced(q, m));
        sums[g][1][i].start(sums[g][1][i].reduced(q, m));
      });
    }
  }

  __device__ __forceinline__ void add_to(unsigned g, unsigned position, Value factor) {
    unroll<ciphertexts>([&](auto b) {
      const unsigned i = position * ciphertexts + b;
      sums[g][0][i].add(x[0][i], factor, m);
      sums[g][1][i].add(x[1][i], factor, m);
    });
  }

  /// Adds x times the factors of term k, of which `staged` has the rows that came with it.
  __device__ __forceinline__ void multiply(const std::uint64_t* staged, unsigned k) {
    const Layout& layout = pass.layout;
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
      for_values([&](unsigned i, unsigned, unsigned) {
#pragma unroll
        for (unsigned g = 0; g < outputs; ++g) {
          sums[g][0][i].add_value(x[0][i]);
          sums[g][1][i].add_value(x[1][i]);
        }
      });
    } else {
      multiply_mixed(staged, k);
    }
  }

  __device__ __forceinline__ void multiply_mixed(const std::uint64_t* staged, unsigned k) {
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

  __device__ __forceinline__ void store() {
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        for_values([&](unsigned i, unsigned p, unsigned b) {
          const Value value = made_small<A>(sums[g][c][i].reduced(q, m), m);
          std::uint64_t word;
          if constexpr (std::is_same_v<A, F64>) {
            word = F64::canonical(value, m);
          } else {
            word = reduce_once<1>(reduce_once<2>(value, m.q), m.q);
          }
          pass.out[g].limb(batch + b, c, limb)[row * row_size + in_row(p)] = word;
        });
      }
    }
  }
};

}  // namespace hemera::poly::cuda::hoisted
