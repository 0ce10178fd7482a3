// Sums of products of switched polynomials, over Q u P: the baby steps of a linear transform with their
// plaintexts, or its giant steps.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/stages.cuh"
#include "poly/cuda/stored_words.cuh"
#include "poly/cuda/tuning.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {
namespace {

// Positions of a row that a thread sums: they share what a step costs beside its products.
constexpr unsigned positions = 2;
constexpr unsigned threads = row_size / positions;
constexpr unsigned warps = threads / 32;
// And a warp that asks for the copies.
constexpr unsigned threads_of_block = threads + 32;
// Rows in shared memory that a digit takes: two components of a key, and the digit.
constexpr unsigned rows_of_digit = 3;
// A factor stored by fewer entries has so many values in a row or fewer: they are kept for the whole block.
constexpr unsigned most_kept_values = 8;

// A view in 32-bit strides: parameters of a launch hold many. Strides are 0 where an extent of 1 broadcasts.
struct Source {
  const std::uint64_t* data;
  std::uint32_t batch_stride, component_stride, limb_stride;

  __device__ __forceinline__ std::size_t word(unsigned batch, unsigned component, unsigned limb) const {
    return std::size_t{batch} * batch_stride + std::size_t{component} * component_stride +
           std::size_t{limb} * limb_stride;
  }
  __device__ __forceinline__ const std::uint64_t* limb(unsigned batch, unsigned component,
                                                       unsigned limb) const {
    return data + word(batch, component, limb);
  }
};

struct Term {
  Source digits;  // no data: nothing is switched
  Source key;     // batch: key digit
  Source addend;  // no data: nothing is added
  std::uint32_t element;
  std::uint16_t addend_components;
  std::uint16_t addend_limbs;
  bool scaled;  // over the level's base: multiplied by P
};

struct Factor {
  Source values;  // no data: see `ones`
  std::uint32_t log_run;
};

// How all factors of a launch are given.
enum class Factors : std::uint8_t {
  ones,   // there are none: every term is part of every output
  whole,  // each row comes with the term's
  kept,   // few values in a row: they wait in shared memory, 0 for a factor that is not there
  mixed,
};

// Shared memory of a block: barriers, the rows to copy [step, slot], steps, kept factors [term, value,
// output], and stages [slot, entry]. A step takes up to digits_at_once digits of a term. Slots: rows of key
// words and digits [digit, 2 + 1]; behind those that a step has, the addends' rows; the factors' rows
// [output]. Key rows are as they are stored, the others of eight-byte words.
struct Layout {
  std::uint32_t stages;
  std::uint32_t steps;
  std::uint32_t steps_of_term;
  std::uint32_t slots;
  std::uint32_t first_factor;                         // slot
  std::uint32_t first_step, first_kept, first_stage;  // in bytes
  std::uint32_t kept_values;                          // of a row
  std::uint32_t log_run;                              // of kept factors
  Factors factors;
  std::uint32_t first_factor_word, stage_words;  // as words of eight bytes
};

// Where rows stand in a stage, in words of eight bytes.
template <class Stored>
struct StageShape {
  static constexpr unsigned key_words = Stored::row_bytes / 8;
  static constexpr unsigned digit_words = 2 * key_words + row_size;
  static constexpr bool even = key_words == row_size;  // every slot has as many words

  __device__ __forceinline__ static unsigned first_factor(const Layout& layout) {
    return even ? layout.first_factor * row_size : layout.first_factor_word;
  }
  __device__ __forceinline__ static unsigned words(const Layout& layout) {
    return even ? layout.slots * row_size : layout.stage_words;
  }
  // Whether a slot of a step of so many digits has a key's row of another size.
  __device__ __forceinline__ static bool is_key(unsigned digits, unsigned slot) {
    return !even && slot < rows_of_digit * digits && slot % rows_of_digit != 2;
  }
  // Where it begins.
  __device__ __forceinline__ static unsigned slot(const Layout& layout, unsigned digits, unsigned slot) {
    if (even) return slot * row_size;
    const unsigned first_addend = rows_of_digit * digits;
    if (slot < first_addend) return slot / rows_of_digit * digit_words + slot % rows_of_digit * key_words;
    if (slot < layout.first_factor) return addend(digits, slot - first_addend);
    return layout.first_factor_word + (slot - layout.first_factor) * row_size;
  }
  __device__ __forceinline__ static unsigned addend(unsigned digits, unsigned component) {
    return even ? (rows_of_digit * digits + component) * row_size
                : digits * digit_words + component * row_size;
  }
};

// A row to copy: its address, and in the bits that are 0 there its words (row_size >> log_run) and whether
// nobody else will read it soon. 0: none.
struct Row {
  static constexpr std::uint64_t log_run_bits = 7, once_bit = 8;
  std::uint64_t bits = 0;

  __device__ __forceinline__ static Row of(const void* words, unsigned log_run, bool once) {
    return {reinterpret_cast<std::uint64_t>(words) | log_run | (once ? once_bit : 0)};
  }
  [[nodiscard]] __device__ __forceinline__ const void* address() const {
    return reinterpret_cast<const void*>(bits & ~(log_run_bits | once_bit));
  }
  [[nodiscard]] __device__ __forceinline__ unsigned bytes() const {
    return row_size * sizeof(std::uint64_t) >> (bits & log_run_bits);
  }
  [[nodiscard]] __device__ __forceinline__ bool is_read_once() const { return (bits & once_bit) != 0; }
};

// What a block's threads must know of a step.
struct Step {
  std::uint32_t element;
  std::uint8_t digits;
  std::uint8_t addends;
  bool scaled;   // the addends
  bool is_last;  // of its term
};

template <unsigned outputs>
struct Pass {
  DeviceView out[outputs];
  Term terms[hoisted_terms_per_launch];
  Factor factors[hoisted_terms_per_launch][outputs];
  std::uint32_t present[hoisted_terms_per_launch];  // a bit for each output of which the term is part
  unsigned count;
  bool adds;  // to what the outputs hold
  LimbModuli limbs;
  LimbWords modulus;  // as the arithmetic has it: bits of a value
  LimbWords special;  // P modulo the limbs of the base, likewise and small
  unsigned first_limb;
  const std::uint32_t* key_digits;
  const std::uint32_t* key_limbs;
  unsigned digits;
  unsigned log_degree;
  Layout layout;
};

// A sum of products, to be reduced after `most`.
//
// In doubles it is two: `high` is 1.5 2^103 plus a multiple of 2^51, to which fused operations round each
// product, and `low` the exact sum of what is left of them, at most 2^50 each: four operations a product,
// where F64::multiply and its sum take eight. With q < 2^50, |high| has to stay below 2^102 >= 4 q^2: up to
// four products of words, or six of a word and a small value. `reduced` leaves 1.75 q at most, as it rounds
// the quotient (below 2^52) to even integers; `low` holds that and 6 2^50, below 2^53.
template <class A>
struct Accumulator {
  static constexpr unsigned most = 6;
  Sum<A> sum;

  __device__ __forceinline__ void start(typename A::Value from) { sum.value = from; }
  __device__ __forceinline__ void add(typename A::Value a, typename A::Value w,
                                      const typename A::Modulus& m) {
    sum.add(a, w, m);
  }
  __device__ __forceinline__ void add_value(typename A::Value a) { sum.value += a; }
  __device__ __forceinline__ typename A::Value reduced(const arith::Modulus& q,
                                                       const typename A::Modulus& m) {
    sum.reduce(q, m);
    return static_cast<typename A::Value>(sum.value);
  }
};

template <>
struct Accumulator<F64> {
  static constexpr unsigned most = 6;
  double high, low;

  __device__ __forceinline__ void start(double from) {
    high = 0x1.8p103;
    low = from;
  }
  __device__ __forceinline__ void add(double a, double w, const F64::Modulus&) {
    const double next = __fma_rn(a, w, high);
    const double rest = __fma_rn(a, w, __dsub_rn(high, next));
    high = next;
    low = __dadd_rn(low, rest);
  }
  __device__ __forceinline__ void add_value(double a) { low = __dadd_rn(low, a); }
  __device__ __forceinline__ double reduced(const arith::Modulus&, const F64::Modulus& m) const {
    constexpr double round = 0x1.8p53;
    const double h = __dadd_rn(high, -0x1.8p103);
    const double multiple = __dadd_rn(__fma_rn(__dadd_rn(h, low), m.inverse, round), -round);
    return __dadd_rn(__fma_rn(-multiple, m.q, h), low);
  }
};

// Below q / 2 in size in doubles, from a canonical word; and of a reduced sum, at most 0.51 q.
template <class A>
__device__ __forceinline__ typename A::Value small(std::uint64_t word, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::centered(word, m);
  } else {
    return word;
  }
}
template <class A>
__device__ __forceinline__ typename A::Value made_small(typename A::Value value,
                                                        const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::reduce(value, m);
  } else {
    return value;
  }
}

template <unsigned outputs>
__device__ __forceinline__ unsigned addends_of(const Pass<outputs>& pass, const Term& term, unsigned limb) {
  return term.addend.data != nullptr && pass.first_limb + limb < term.addend_limbs ? term.addend_components
                                                                                   : 0U;
}

// Digits of a term's step.
template <unsigned outputs>
__device__ __forceinline__ unsigned digits_of(const Pass<outputs>& pass, const Term& term,
                                              unsigned step_of_term) {
  if (term.digits.data == nullptr) return 0;
  const unsigned left = pass.digits - step_of_term * digits_at_once;
  return left < digits_at_once ? left : digits_at_once;
}

template <class Stored, unsigned outputs>
__device__ __forceinline__ Row row_of(const Pass<outputs>& pass, unsigned batch, unsigned row, unsigned limb,
                                      unsigned step, unsigned slot) {
  const unsigned k = step / pass.layout.steps_of_term, step_of_term = step % pass.layout.steps_of_term;
  const Term& term = pass.terms[k];
  const bool is_last = step_of_term == pass.layout.steps_of_term - 1;
  const bool once = gridDim.x == 1;
  if (slot >= pass.layout.first_factor) {
    const Factor& factor = pass.factors[k][slot - pass.layout.first_factor];
    if (!is_last || factor.values.data == nullptr || factor.log_run >= log_row_size) return {};
    return Row::of(factor.values.limb(batch, 0, limb) + (row * row_size >> factor.log_run), factor.log_run,
                   once);
  }
  const unsigned from = permuted(row * row_size, term.element, pass.log_degree) / row_size * row_size;
  const unsigned first_addend = rows_of_digit * digits_of(pass, term, step_of_term);
  if (slot < first_addend) {
    const unsigned d = step_of_term * digits_at_once + slot / rows_of_digit, c = slot % rows_of_digit;
    if (c == 2) return Row::of(term.digits.limb(batch, d, limb) + from, 0, false);
    const std::size_t word = term.key.word(pass.key_digits[d], c, pass.key_limbs[limb]) + from;
    return Row::of(Stored::row(term.key.data, word), 0, once);
  }
  const unsigned c = slot - first_addend;
  if (!is_last || c >= addends_of(pass, term, limb)) return {};
  return Row::of(term.addend.limb(batch, c, limb) + from, 0, false);
}

template <unsigned outputs>
__device__ __forceinline__ Step step_of(const Pass<outputs>& pass, unsigned limb, unsigned step) {
  const Term& term = pass.terms[step / pass.layout.steps_of_term];
  const unsigned step_of_term = step % pass.layout.steps_of_term;
  return {.element = term.element,
          .digits = static_cast<std::uint8_t>(digits_of(pass, term, step_of_term)),
          .addends = static_cast<std::uint8_t>(addends_of(pass, term, limb)),
          .scaled = term.scaled,
          .is_last = step_of_term == pass.layout.steps_of_term - 1};
}

// By a warp: asks for the rows of all steps, ahead of their use as far as there are stages.
template <class Stored>
__device__ __forceinline__ void ask_for_rows(const StageBarriers& barriers, const Layout& layout,
                                             const Row* rows, const Step* steps, std::uint64_t* stages) {
  using Shape = StageShape<Stored>;
  // A lane for each slot: the digits' rows, two addends, eight factors.
  static_assert(rows_of_digit * digits_at_once + 2 + 8 <= 32);
  const unsigned lane = threadIdx.x % 32;
  const auto request = [&](unsigned step, unsigned stage) {
    unsigned bytes = 0;
    if (lane < layout.slots) {
      const Row from = rows[step * layout.slots + lane];
      if (from.bits != 0) {
        const unsigned digits = Shape::even ? 0 : steps[step].digits;
        bytes = Shape::is_key(digits, lane) ? Stored::row_bytes : from.bytes();
        barriers.copy(stage, stages + stage * Shape::words(layout) + Shape::slot(layout, digits, lane),
                      from.address(), bytes, from.is_read_once());
      }
    }
    barriers.end_copies(stage, bytes);
  };
  for (unsigned step = 0; step < layout.stages; ++step) request(step, step);
  barriers.keep_step();
  StagePlace before;
  for (unsigned step = 1; step < layout.steps; ++step) {
    barriers.keep_step();
    if (step - 1 + layout.stages >= layout.steps) continue;
    barriers.wait_empty(before);
    request(step - 1 + layout.stages, before.stage);
    before.advance(layout.stages);
  }
}

// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
// rows that a term needs come whole, by copies that are asked for ahead of their use, and are read in the
// order that the automorphism gives them. `digits`: of every term that is switched, one step each; 0: any
// number. Grid [batch, row, limb].
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

Source source_of(const ConstPolyView& view) {
  const ConstDeviceView whole = device_view(view);
  return {whole.data, static_cast<std::uint32_t>(whole.batch_stride),
          static_cast<std::uint32_t>(whole.component_stride), static_cast<std::uint32_t>(whole.limb_stride)};
}

// A broadcast batch stays, as it has no stride.
Source part_of(const ConstPolyView& view, const Part& part) {
  if (view.data == nullptr) return {};
  const ConstPolyView batches = part.batches_of(view);
  if (part.first_limb >= batches.shape.limbs) return source_of(batches);
  return source_of(
      batches.limbs(part.first_limb, std::min(part.limbs, batches.shape.limbs - part.first_limb)));
}

std::uint32_t steps_of_term(std::size_t digits) {
  return static_cast<std::uint32_t>((digits + digits_at_once - 1) / digits_at_once);
}

// Shared memory has room for the rows of so many steps.
constexpr std::size_t steps_per_launch = 128;
std::size_t terms_per_launch(std::size_t digits) {
  return std::clamp<std::size_t>(steps_per_launch / steps_of_term(digits), 1, hoisted_terms_per_launch);
}

// As many stages as leave shared memory for three blocks on a multiprocessor, but two.
template <class A, class Stored, unsigned outputs>
Layout layout_of(const Pass<outputs>& pass, bool ones) {
  Layout layout{};
  std::uint32_t least = ~0U, most = 0;
  bool switches = false;
  for (unsigned k = 0; k < pass.count; ++k) {
    const Term& term = pass.terms[k];
    const bool is_switched = term.digits.data != nullptr;
    switches = switches || is_switched;
    const std::uint32_t digits = is_switched ? std::min(pass.digits, digits_at_once) : 0;
    const std::uint32_t addends = term.addend.data == nullptr ? 0U : term.addend_components;
    layout.first_factor = std::max(layout.first_factor, rows_of_digit * digits + addends);
    layout.first_factor_word = std::max<std::uint32_t>(
        layout.first_factor_word, StageShape<Stored>::digit_words * digits + row_size * addends);
    for (const Factor& factor : pass.factors[k]) {
      if (factor.values.data == nullptr) continue;
      least = std::min(least, factor.log_run);
      most = std::max(most, factor.log_run);
    }
  }
  layout.steps_of_term = switches ? steps_of_term(pass.digits) : 1;
  layout.steps = pass.count * layout.steps_of_term;
  layout.slots = layout.first_factor;
  layout.stage_words = layout.first_factor_word;
  std::size_t kept_words = 0;
  if (ones) {
    layout.factors = Factors::ones;
  } else if (least == most && row_size >> most <= most_kept_values) {
    layout.factors = Factors::kept;
    layout.kept_values = std::max(1U, row_size >> most);
    layout.log_run = most;
    kept_words = std::size_t{pass.count} * layout.kept_values * outputs;
  } else {
    layout.factors = most == 0 ? Factors::whole : Factors::mixed;
    layout.slots += outputs;
    layout.stage_words += row_size * outputs;
  }
  const auto aligned = [](std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + 127) / 128 * 128);
  };
  layout.first_step = static_cast<std::uint32_t>(StageBarriers::bytes +
                                                 std::size_t{layout.steps} * layout.slots * sizeof(Row));
  layout.first_kept = aligned(layout.first_step + layout.steps * sizeof(Step));
  layout.first_stage = aligned(layout.first_kept + kept_words * sizeof(typename A::Value));
  const std::size_t stage_bytes = layout.stage_words * sizeof(std::uint64_t);
  const std::size_t room = tuning::shared_bytes_of_three_blocks;
  const std::size_t fitting = room < layout.first_stage ? 0 : (room - layout.first_stage) / stage_bytes;
  layout.stages =
      std::min(layout.steps,
               static_cast<std::uint32_t>(std::clamp<std::size_t>(fitting, 2, StageBarriers::most_stages)));
  return layout;
}

template <class A, class Stored, unsigned outputs>
void run(const Launcher& launcher, std::span<const PolyView> out, std::span<const Backend::HoistedTerm> terms,
         std::size_t first_output, std::size_t first_term, const ModUp& plan, const ModUpTables& tables,
         std::span<const std::uint64_t> special) {
  const bool ones = terms.front().factors.empty();
  PolyShape shape = out.front().shape;
  shape.components = 1;
  for_each_launch(shape, [&](const Part& part) {
    Pass<outputs> pass{};
    for (unsigned g = 0; g < outputs; ++g) pass.out[g] = device_view(part.of(out[first_output + g]));
    pass.count =
        static_cast<unsigned>(std::min(terms_per_launch(plan.digits().size()), terms.size() - first_term));
    pass.adds = first_term != 0;
    for (unsigned k = 0; k < pass.count; ++k) {
      const Backend::HoistedTerm& term = terms[first_term + k];
      pass.terms[k] = {
          .digits = part_of(term.digits, part),
          .key = term.key.data == nullptr ? Source{} : source_of(term.key),
          .addend = part_of(term.addend, part),
          .element = static_cast<std::uint32_t>(term.galois_element),
          .addend_components = static_cast<std::uint16_t>(term.addend.shape.components),
          .addend_limbs =
              static_cast<std::uint16_t>(term.addend.data == nullptr ? 0 : term.addend.shape.limbs),
          .scaled = term.addend.data != nullptr && term.addend.shape.limbs != plan.extended().size()};
      for (unsigned g = 0; g < outputs && !ones; ++g) {
        const ConstPolyView& factor = term.factors[first_output + g];
        if (factor.data == nullptr) continue;
        pass.present[k] |= 1U << g;
        pass.factors[k][g] = {
            .values = part_of(factor, part),
            .log_run = static_cast<std::uint32_t>(std::countr_zero(launcher.degree() / factor.shape.degree))};
      }
    }
    pass.limbs = limb_moduli(plan.extended(), part.first_limb, part.limbs);
    for (std::size_t i = 0; i < part.limbs; ++i) {
      const std::size_t l = part.first_limb + i;
      const arith::Modulus& q = plan.extended().modulus(l);
      const std::uint64_t scale = l < special.size() ? special[l] : 0;
      if constexpr (std::is_same_v<A, F64>) {
        pass.modulus.word[i] = std::bit_cast<std::uint64_t>(static_cast<double>(q.value()));
        pass.special.word[i] = std::bit_cast<std::uint64_t>(static_cast<double>(q.centered(scale)));
      } else {
        pass.modulus.word[i] = q.value();
        pass.special.word[i] = scale;
      }
    }
    pass.first_limb = static_cast<unsigned>(part.first_limb);
    pass.key_digits = tables.key_digits.data();
    pass.key_limbs = tables.key_limbs.data() + part.first_limb;
    pass.digits = static_cast<unsigned>(plan.digits().size());
    pass.log_degree = launcher.log_degree;
    pass.layout = layout_of<A, Stored>(pass, ones);
    const auto with = [&](auto kernel) {
      launch("hoisted_products", launcher.stream, kernel,
             {static_cast<unsigned>(part.batches), launcher.degree() / row_size,
              static_cast<unsigned>(part.limbs)},
             {threads_of_block},
             pass.layout.first_stage + pass.layout.stages * pass.layout.stage_words * sizeof(std::uint64_t),
             pass, launcher.tables->moduli());
    };
    if constexpr (std::is_same_v<A, F64>) {
      if (pass.digits == 1) return with(hoisted_products_kernel<A, Stored, outputs, 1>);
      if (pass.digits == 2) return with(hoisted_products_kernel<A, Stored, outputs, 2>);
      if (pass.digits == 3) return with(hoisted_products_kernel<A, Stored, outputs, 3>);
      if (pass.digits == 4) return with(hoisted_products_kernel<A, Stored, outputs, 4>);
    }
    with(hoisted_products_kernel<A, Stored, outputs, 0>);
  });
}

template <class A, class Stored>
void run_all(const Launcher& launcher, std::span<const PolyView> out,
             std::span<const Backend::HoistedTerm> terms, const ModUp& plan, const ModUpTables& tables,
             std::span<const std::uint64_t> special) {
  for (std::size_t output = 0; output < out.size();) {
    const std::size_t left = out.size() - output;
    const std::size_t together = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (std::size_t term = 0; term < terms.size(); term += terms_per_launch(plan.digits().size())) {
      const auto with = [&]<unsigned outputs>() {
        run<A, Stored, outputs>(launcher, out, terms, output, term, plan, tables, special);
      };
      if (together == 8) with.template operator()<8>();
      if (together == 4) with.template operator()<4>();
      if (together == 2) with.template operator()<2>();
      if (together == 1) with.template operator()<1>();
    }
    output += together;
  }
}

}  // namespace

void hoisted_products(const Launcher& launcher, Arithmetic arithmetic, std::span<const PolyView> out,
                      std::span<const Backend::HoistedTerm> terms, const ModUp& plan,
                      const ModUpTables& tables, std::span<const std::uint64_t> special) {
  const auto has_key = [](const Backend::HoistedTerm& term) { return term.digits.data != nullptr; };
  const auto switched = std::find_if(terms.begin(), terms.end(), has_key);
  // Primes below 2^48 run in FP64.
  if (switched != terms.end() && switched->key.word == Word::u48) {
    return run_all<F64, SixBytes>(launcher, out, terms, plan, tables, special);
  }
  if (arithmetic == Arithmetic::f64) {
    return run_all<F64, EightBytes>(launcher, out, terms, plan, tables, special);
  }
  run_all<U64, EightBytes>(launcher, out, terms, plan, tables, special);
}

}  // namespace hemera::poly::cuda
