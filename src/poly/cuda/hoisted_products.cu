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
#include "poly/cuda/tuning.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = row_size;
constexpr unsigned warps = threads / 32;
// Rows in shared memory that a digit takes: two components of a key, and the digit.
constexpr unsigned rows_of_digit = 3;
// A factor stored by fewer entries has so many values in a row or fewer: they are kept for the whole block.
constexpr unsigned most_kept_values = 8;

// A view in 32-bit strides: parameters of a launch hold many. Strides are 0 where an extent of 1 broadcasts.
struct Source {
  const std::uint64_t* data;
  std::uint32_t batch_stride, component_stride, limb_stride;

  __device__ __forceinline__ const std::uint64_t* limb(unsigned batch, unsigned component,
                                                       unsigned limb) const {
    return data + (std::size_t{batch} * batch_stride + std::size_t{component} * component_stride +
                   std::size_t{limb} * limb_stride);
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

// Shared memory of a block: barriers, the rows to copy [step, slot], kept factors [term, value, output], and
// stages [slot, entry]. A step takes up to digits_at_once digits of a term. Slots: rows of key words and
// digits [digit, 2 + 1]; behind those that a step has, the addends' rows; the factors' rows [output].
struct Layout {
  std::uint32_t stages;
  std::uint32_t steps;
  std::uint32_t steps_of_term;
  std::uint32_t slots;
  std::uint32_t first_factor;             // slot
  std::uint32_t first_kept, first_stage;  // in bytes
  std::uint32_t kept_values;              // of a row
  std::uint32_t log_run;                  // of kept factors
  Factors factors;
};

// A row to copy: its address, and in the bits that are 0 there its words (row_size >> log_run) and whether
// nobody else will read it soon. 0: none.
struct Row {
  static constexpr std::uint64_t log_run_bits = 7, once_bit = 8;
  std::uint64_t bits = 0;

  __device__ __forceinline__ static Row of(const std::uint64_t* words, unsigned log_run, bool once) {
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

template <unsigned outputs>
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
    return Row::of(term.key.limb(pass.key_digits[d], c, pass.key_limbs[limb]) + from, 0, once);
  }
  const unsigned c = slot - first_addend;
  if (!is_last || c >= addends_of(pass, term, limb)) return {};
  return Row::of(term.addend.limb(batch, c, limb) + from, 0, false);
}

// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
// rows that a term needs come whole, by copies that are asked for ahead of their use, and are read in the
// order that the automorphism gives them. `digits`: of every term that is switched, one step each; 0: any
// number. Grid [batch, row, limb].
template <class A, unsigned outputs, unsigned digits>
__global__ void __launch_bounds__(threads, outputs > 4 ? 2 : 3)
    hoisted_products_kernel(const __grid_constant__ Pass<outputs> pass, const arith::Modulus* moduli) {
  using Value = typename A::Value;
  const unsigned batch = blockIdx.x, row = blockIdx.y, limb = blockIdx.z, t = threadIdx.x;
  const Layout& layout = pass.layout;
  const unsigned position = row * row_size + t;
  auto* memory = dynamic_shared<unsigned char>();
  const StageBarriers barriers(memory, warps);
  auto* rows = reinterpret_cast<Row*>(memory + StageBarriers::bytes);
  auto* kept = reinterpret_cast<Value*>(memory + layout.first_kept);
  auto* stages = reinterpret_cast<std::uint64_t*>(memory + layout.first_stage);
  begin_kernel();

  for (unsigned i = t; i < layout.steps * layout.slots; i += threads) {
    rows[i] = row_of(pass, batch, row, limb, i / layout.slots, i % layout.slots);
  }
  __syncthreads();
  // By a lane of each warp: the warp's share of a step's rows.
  const auto request = [&](unsigned step, unsigned stage) {
    unsigned bytes = 0;
    for (unsigned slot = t / 32; slot < layout.slots; slot += warps) {
      const Row from = rows[step * layout.slots + slot];
      if (from.bits == 0) continue;
      barriers.copy(stage, stages + (stage * layout.slots + slot) * row_size, from.address(), from.bytes(),
                    from.is_read_once());
      bytes += from.bytes();
    }
    barriers.end_copies(stage, bytes);
  };
  const bool asks = t % 32 == 0;
  if (asks) {
    for (unsigned step = 0; step < layout.stages; ++step) request(step, step);
  }

  const arith::Modulus q = moduli[pass.limbs.ring_index[limb]];
  typename A::Modulus m;
  if constexpr (std::is_same_v<A, F64>) {
    m = {A::from_bits(pass.modulus.word[limb]), __ddiv_rn(1.0, A::from_bits(pass.modulus.word[limb])),
         q.value()};
  } else {
    m = {q.value(), 0 - q.value()};
  }
  if (layout.factors == Factors::kept) {
    for (unsigned i = t; i < pass.count * layout.kept_values * outputs; i += threads) {
      const unsigned value = i / outputs % layout.kept_values;
      const Factor& factor = pass.factors[i / outputs / layout.kept_values][i % outputs];
      const unsigned first = row * row_size >> layout.log_run;
      kept[i] = factor.values.data == nullptr
                    ? Value{}
                    : small<A>(factor.values.limb(batch, 0, limb)[first + value], m);
    }
  }
  Accumulator<A> sums[outputs][2];
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      sums[g][c].start(pass.adds ? small<A>(pass.out[g].limb(batch, c, limb)[position], m) : Value{});
    }
  }
  __syncthreads();

  const unsigned exponent = 2 * reversed(transposed(position), pass.log_degree) + 1;
  const Value* own_kept = kept + (transposed(t) >> layout.log_run) * outputs;
  Accumulator<A> inner[2];
  inner[0].start(Value{});
  inner[1].start(Value{});
  StagePlace place;
  unsigned k = 0, step_of_term = 0, unreduced = 0;
  for (unsigned step = 0; step < layout.steps; ++step) {
    const Term& term = pass.terms[k];
    // Where in its row the position's value comes from.
    const unsigned at = transposed(reversed((exponent * term.element & ((2U << pass.log_degree) - 1)) >> 1,
                                            pass.log_degree)) %
                        row_size;
    barriers.wait_full(place);
    if (asks && step != 0 && step - 1 + layout.stages < layout.steps) {
      const StagePlace before = place.before(layout.stages);
      barriers.wait_empty(before);
      request(step - 1 + layout.stages, before.stage);
    }
    const std::uint64_t* stage = stages + place.stage * (layout.slots * row_size);
    const std::uint64_t* gathered = stage + at;
    if (step_of_term == 0) {
      inner[0].start(Value{});
      inner[1].start(Value{});
    } else {
      inner[0].start(inner[0].reduced(q, m));
      inner[1].start(inner[1].reduced(q, m));
    }
    // Up to three products of words, and that of an addend and P; of four, the digits are made small.
    const auto add_products = [&](auto number) {
      constexpr unsigned count = decltype(number)::value;
      unroll<count>([&](auto d) {
        const std::uint64_t* words = gathered + decltype(d)::value * rows_of_digit * row_size;
        const Value x = count == 4 ? small<A>(words[2 * row_size], m) : A::load(words[2 * row_size], m);
        inner[0].add(x, A::load(words[0], m), m);
        inner[1].add(x, A::load(words[row_size], m), m);
      });
    };
    static_assert(digits_at_once == 4);
    const unsigned count = digits_of(pass, term, step_of_term);
    if constexpr (digits != 0) {
      if (count != 0) add_products(std::integral_constant<int, digits>{});
    } else {
      if (count == 1) add_products(std::integral_constant<int, 1>{});
      if (count == 2) add_products(std::integral_constant<int, 2>{});
      if (count == 3) add_products(std::integral_constant<int, 3>{});
      if (count == 4) add_products(std::integral_constant<int, 4>{});
      if (++step_of_term != layout.steps_of_term) {
        barriers.leave(place);
        place.advance(layout.stages);
        continue;
      }
      step_of_term = 0;
    }
    const unsigned addends = addends_of(pass, term, limb);
    Value x[2];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (c < addends) {
        const Value addend = A::load(gathered[(rows_of_digit * count + c) * row_size], m);
        if (term.scaled) {
          if constexpr (!std::is_same_v<A, F64>) inner[c].start(inner[c].reduced(q, m));
          inner[c].add(addend, A::from_bits(pass.special.word[limb]), m);
        } else {
          inner[c].add_value(addend);
        }
      }
      x[c] = made_small<A>(inner[c].reduced(q, m), m);
    }
    if (unreduced++ == Accumulator<A>::most) {
      unreduced = 1;
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        sums[g][0].start(sums[g][0].reduced(q, m));
        sums[g][1].start(sums[g][1].reduced(q, m));
      }
    }
    const auto add_to = [&](unsigned g, Value factor) {
      sums[g][0].add(x[0], factor, m);
      sums[g][1].add(x[1], factor, m);
    };
    const std::uint64_t* staged = stage + layout.first_factor * row_size;
    if (layout.factors == Factors::kept) {
      const Value* factors = own_kept + k * (layout.kept_values * outputs);
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) add_to(g, factors[g]);
    } else if (layout.factors == Factors::whole && pass.present[k] == (1U << outputs) - 1) {
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) add_to(g, A::load(staged[g * row_size + t], m));
    } else if (layout.factors == Factors::ones) {
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        sums[g][0].add_value(x[0]);
        sums[g][1].add_value(x[1]);
      }
    } else {
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        if ((pass.present[k] >> g & 1) == 0) continue;
        const Factor& factor = pass.factors[k][g];
        const bool is_staged = factor.log_run < log_row_size;
        const unsigned index = factor.log_run == 0 ? t : transposed(t) >> factor.log_run;
        add_to(g, A::load(is_staged ? staged[g * row_size + index]
                                    : factor.values.limb(batch, 0, limb)[row * row_size >> factor.log_run],
                          m));
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
      const Value value = made_small<A>(sums[g][c].reduced(q, m), m);
      std::uint64_t word;
      if constexpr (std::is_same_v<A, F64>) {
        word = F64::canonical(value, m);
      } else {
        word = value;
      }
      pass.out[g].limb(batch, c, limb)[position] = word;
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
template <class A, unsigned outputs>
Layout layout_of(const Pass<outputs>& pass, bool ones) {
  Layout layout{};
  std::uint32_t least = ~0U, most = 0;
  bool switches = false;
  for (unsigned k = 0; k < pass.count; ++k) {
    const Term& term = pass.terms[k];
    const bool is_switched = term.digits.data != nullptr;
    switches = switches || is_switched;
    const std::uint32_t behind = is_switched ? rows_of_digit * std::min(pass.digits, digits_at_once) : 0;
    layout.first_factor =
        std::max(layout.first_factor, behind + (term.addend.data == nullptr ? 0U : term.addend_components));
    for (const Factor& factor : pass.factors[k]) {
      if (factor.values.data == nullptr) continue;
      least = std::min(least, factor.log_run);
      most = std::max(most, factor.log_run);
    }
  }
  layout.steps_of_term = switches ? steps_of_term(pass.digits) : 1;
  layout.steps = pass.count * layout.steps_of_term;
  layout.slots = layout.first_factor;
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
  }
  const auto aligned = [](std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + 127) / 128 * 128);
  };
  layout.first_kept = aligned(StageBarriers::bytes + std::size_t{layout.steps} * layout.slots * sizeof(Row));
  layout.first_stage = aligned(layout.first_kept + kept_words * sizeof(typename A::Value));
  const std::size_t stage_bytes = layout.slots * row_size * sizeof(std::uint64_t);
  const std::size_t room = tuning::shared_bytes_of_three_blocks;
  const std::size_t fitting = room < layout.first_stage ? 0 : (room - layout.first_stage) / stage_bytes;
  layout.stages =
      std::min(layout.steps,
               static_cast<std::uint32_t>(std::clamp<std::size_t>(fitting, 2, StageBarriers::most_stages)));
  return layout;
}

template <class A, unsigned outputs>
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
    pass.layout = layout_of<A>(pass, ones);
    const auto with = [&](auto kernel) {
      launch(
          "hoisted_products", launcher.stream, kernel,
          {static_cast<unsigned>(part.batches), launcher.degree() / row_size,
           static_cast<unsigned>(part.limbs)},
          {threads},
          pass.layout.first_stage + pass.layout.stages * pass.layout.slots * row_size * sizeof(std::uint64_t),
          pass, launcher.tables->moduli());
    };
    if constexpr (std::is_same_v<A, F64>) {
      if (pass.digits == 1) return with(hoisted_products_kernel<A, outputs, 1>);
      if (pass.digits == 2) return with(hoisted_products_kernel<A, outputs, 2>);
      if (pass.digits == 3) return with(hoisted_products_kernel<A, outputs, 3>);
      if (pass.digits == 4) return with(hoisted_products_kernel<A, outputs, 4>);
    }
    with(hoisted_products_kernel<A, outputs, 0>);
  });
}

template <class A>
void run_all(const Launcher& launcher, std::span<const PolyView> out,
             std::span<const Backend::HoistedTerm> terms, const ModUp& plan, const ModUpTables& tables,
             std::span<const std::uint64_t> special) {
  for (std::size_t output = 0; output < out.size();) {
    const std::size_t left = out.size() - output;
    const std::size_t together = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (std::size_t term = 0; term < terms.size(); term += terms_per_launch(plan.digits().size())) {
      const auto with = [&]<unsigned outputs>() {
        run<A, outputs>(launcher, out, terms, output, term, plan, tables, special);
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
  if (arithmetic == Arithmetic::f64) return run_all<F64>(launcher, out, terms, plan, tables, special);
  run_all<U64>(launcher, out, terms, plan, tables, special);
}

}  // namespace hemera::poly::cuda
