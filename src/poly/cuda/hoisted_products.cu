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
constexpr unsigned products_per_reduction = 4;
// Rows in shared memory of which a digit's step reads: two components of a key, and the digit.
constexpr unsigned rows_of_digit = 3;
// From so many equal values on, a row of a factor is one value.
constexpr unsigned log_run_of_row = log_row_size;

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

// Shared memory of a block: barriers, factors that are one value in a row [term, output], and stages. A stage
// has what a step reads, in words: rows of key words and digits [digit, 2 + 1], of addends behind them, and
// of factors.
struct Layout {
  std::uint32_t stages;
  std::uint32_t steps;        // of up to digits_at_once digits of a term
  std::uint32_t first_stage;  // in bytes
  std::uint32_t stage_words;
  std::uint32_t first_factor;  // in words of a stage
  std::uint32_t factor_words;  // of an output
};

template <unsigned outputs>
struct Pass {
  DeviceView out[outputs];
  Term terms[hoisted_terms_per_launch];
  Factor factors[hoisted_terms_per_launch][outputs];
  unsigned count;
  bool ones;  // without factors: every term is part of the output
  bool adds;  // to what the outputs hold
  LimbModuli limbs;
  LimbWords special;  // P modulo the limbs of the base
  unsigned first_limb;
  const std::uint32_t* key_digits;
  const std::uint32_t* key_limbs;
  unsigned digits;
  unsigned log_degree;
  Layout layout;
};

template <class A>
__device__ __forceinline__ typename A::Modulus modulus_of(const arith::Modulus& q) {
  if constexpr (std::is_same_v<A, F64>) {
    const auto value = static_cast<double>(q.value());
    return {value, __ddiv_rn(1.0, value), q.value()};
  } else {
    return {q.value(), 0 - q.value()};
  }
}

// A sum of products, to be reduced after so many.
//
// In doubles it is two: `high` is 1.5 2^103 plus a multiple of 2^51, to which fused operations round each
// product, and `low` the exact sum of what is left of them, at most 2^50 each: four operations a product,
// where F64::multiply and its sum take eight. Bounds, in units of q < 2^50: |high| stays below 2^102 >= 4
// q^2, so eight products of halves (centred words) and words, or four of 1.75 and a half; `reduced`
// leaves 1.75 q at most, as it rounds the quotient (below 2^52) to even integers; low holds 1.75 q + 8 2^50 <
// 2^53.
template <class A>
struct Accumulator {
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

// A product's second factor, of a canonical word.
template <class A>
__device__ __forceinline__ typename A::Value second_factor(std::uint64_t word, const typename A::Modulus& m) {
  return A::load(word, m);
}

// What a product's first factor is made of a canonical word: centred in doubles.
template <class A>
__device__ __forceinline__ typename A::Value first_factor(std::uint64_t word, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::centered(word, m);
  } else {
    return word;
  }
}

// Which digits of which term.
struct Step {
  unsigned term = 0, first = 0;

  __device__ __forceinline__ unsigned digits(const Term& of, unsigned all) const {
    if (of.digits.data == nullptr) return 0;
    return all - first < digits_at_once ? all - first : digits_at_once;
  }
  __device__ __forceinline__ bool is_last(const Term& of, unsigned all) const {
    return of.digits.data == nullptr || first + digits_at_once >= all;
  }
  __device__ __forceinline__ void advance(const Term& of, unsigned all) {
    if (is_last(of, all)) {
      ++term;
      first = 0;
    } else {
      first += digits_at_once;
    }
  }
};

// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
// rows that a term needs come whole, by copies that the first warp asks for ahead of their use, and are read
// in the order that the automorphism gives them. Grid [batch, row, limb].
template <class A, unsigned outputs>
__global__ void __launch_bounds__(threads, outputs > 4 ? 2 : 3)
    hoisted_products_kernel(const __grid_constant__ Pass<outputs> pass, const arith::Modulus* moduli) {
  using Value = typename A::Value;
  const unsigned batch = blockIdx.x, row = blockIdx.y, limb = blockIdx.z, t = threadIdx.x;
  const unsigned extended_limb = pass.first_limb + limb;
  const arith::Modulus q = moduli[pass.limbs.ring_index[limb]];
  const typename A::Modulus m = modulus_of<A>(q);
  const std::uint64_t special = pass.special.word[limb];
  const unsigned position = row * row_size + t;
  auto* memory = dynamic_shared<unsigned char>();
  StageBarriers barriers(memory, threads / 32);
  auto* row_factors = reinterpret_cast<Value*>(memory + StageBarriers::bytes);
  auto* stages = reinterpret_cast<std::uint64_t*>(memory + pass.layout.first_stage);
  begin_kernel();

  const auto addends_of = [&](const Term& term) {
    return term.addend.data != nullptr && extended_limb < term.addend_limbs ? term.addend_components : 0U;
  };
  // The first warp's: a lane asks for one row.
  Step requested;
  const auto request = [&](unsigned stage) {
    const unsigned lane = t % 32;
    const Term& term = pass.terms[requested.term];
    const unsigned digits = requested.digits(term, pass.digits);
    const bool is_last = requested.is_last(term, pass.digits);
    const unsigned addends = is_last ? addends_of(term) : 0, first_addend = rows_of_digit * digits;
    const unsigned from = permuted(row * row_size, term.element, pass.log_degree) / row_size * row_size;
    std::uint64_t* to = stages + stage * pass.layout.stage_words;
    const std::uint64_t* source = nullptr;
    unsigned words = 0;
    bool once = false;
    if (lane < first_addend) {
      const unsigned d = requested.first + lane / rows_of_digit, c = lane % rows_of_digit;
      once = c < 2;
      source = (once ? term.key.limb(pass.key_digits[d], c, pass.key_limbs[limb])
                     : term.digits.limb(batch, d, limb)) +
               from;
      words = row_size;
      to += lane * row_size;
    } else if (lane < first_addend + addends) {
      source = term.addend.limb(batch, lane - first_addend, limb) + from;
      words = row_size;
      to += lane * row_size;
    } else if (is_last && !pass.ones && lane < first_addend + addends + outputs) {
      const unsigned g = lane - first_addend - addends;
      const Factor& factor = pass.factors[requested.term][g];
      if (factor.values.data != nullptr && factor.log_run < log_run_of_row) {
        source = factor.values.limb(batch, 0, limb) + (row * row_size >> factor.log_run);
        words = row_size >> factor.log_run;
        to += pass.layout.first_factor + g * pass.layout.factor_words;
      }
    }
    barriers.fill(stage, to, source, words * sizeof(std::uint64_t), once && gridDim.x == 1);
    requested.advance(term, pass.digits);
  };
  if (t < 32) {
    for (unsigned step = 0; step < pass.layout.steps && step < pass.layout.stages; ++step) request(step);
  }

  for (unsigned i = t; !pass.ones && i < pass.count * outputs; i += threads) {
    const Factor& factor = pass.factors[i / outputs][i % outputs];
    if (factor.values.data == nullptr || factor.log_run < log_run_of_row) continue;
    const std::uint64_t* values = factor.values.limb(batch, 0, limb);
    row_factors[i] = first_factor<A>(values[row * row_size >> factor.log_run], m);
  }
  Accumulator<A> sums[outputs][2];
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const std::uint64_t word = pass.adds ? pass.out[g].limb(batch, c, limb)[position] : 0;
      sums[g][c].start(first_factor<A>(word, m));
    }
  }
  __syncthreads();

  Accumulator<A> inner[2];
  Step now;
  StagePlace place;
  for (unsigned step = 0; step < pass.layout.steps; ++step) {
    const Term& term = pass.terms[now.term];
    const unsigned k = now.term, digits = now.digits(term, pass.digits);
    const unsigned at = permuted(position, term.element, pass.log_degree) % row_size;
    barriers.wait_full(place);
    if (t < 32 && step != 0 && step - 1 + pass.layout.stages < pass.layout.steps) {
      const StagePlace before = place.before(pass.layout.stages);
      barriers.wait_empty(before);
      request(before.stage);
    }
    const std::uint64_t* stage = stages + place.stage * pass.layout.stage_words;
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) inner[c].start(now.first == 0 ? Value{} : inner[c].reduced(q, m));
    const auto add_products = [&](auto count) {
      unroll<decltype(count)::value>([&](auto d) {
        const std::uint64_t* rows = stage + decltype(d)::value * rows_of_digit * row_size + at;
        const Value x = first_factor<A>(rows[2 * row_size], m);
        inner[0].add(x, second_factor<A>(rows[0], m), m);
        inner[1].add(x, second_factor<A>(rows[row_size], m), m);
      });
    };
    static_assert(digits_at_once == 4 && products_per_reduction == 4);
    if (digits == 1) add_products(std::integral_constant<int, 1>{});
    if (digits == 2) add_products(std::integral_constant<int, 2>{});
    if (digits == 3) add_products(std::integral_constant<int, 3>{});
    if (digits == 4) add_products(std::integral_constant<int, 4>{});
    if (!now.is_last(term, pass.digits)) {
      barriers.leave(place);
      place.advance(pass.layout.stages);
      now.advance(term, pass.digits);
      continue;
    }
    const unsigned addends = addends_of(term);
    Value x[2];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (c < addends) {
        // At most four products before, and the addend makes five.
        const Value addend = first_factor<A>(stage[(rows_of_digit * digits + c) * row_size + at], m);
        if (term.scaled) {
          if constexpr (!std::is_same_v<A, F64>) inner[c].start(inner[c].reduced(q, m));
          inner[c].add(addend, second_factor<A>(special, m), m);
        } else {
          inner[c].add_value(addend);
        }
      }
      x[c] = inner[c].reduced(q, m);
    }
    // Whole values of 1.75 q take more room than products.
    if (k != 0 && k % (pass.ones ? products_per_reduction / 2 : products_per_reduction) == 0) {
#pragma unroll
      for (unsigned g = 0; g < outputs; ++g) {
        sums[g][0].start(sums[g][0].reduced(q, m));
        sums[g][1].start(sums[g][1].reduced(q, m));
      }
    }
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
      if (pass.ones) {
        sums[g][0].add_value(x[0]);
        sums[g][1].add_value(x[1]);
        continue;
      }
      const Factor& of = pass.factors[k][g];
      if (of.values.data == nullptr) continue;
      Value factor;
      if (of.log_run < log_run_of_row) {
        const unsigned index = of.log_run == 0 ? t : transposed(t) >> of.log_run;
        factor = first_factor<A>(stage[pass.layout.first_factor + g * pass.layout.factor_words + index], m);
      } else {
        factor = row_factors[k * outputs + g];
      }
      sums[g][0].add(x[0], factor, m);
      sums[g][1].add(x[1], factor, m);
    }
    barriers.leave(place);
    place.advance(pass.layout.stages);
    now.advance(term, pass.digits);
  }
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const Value value = sums[g][c].reduced(q, m);
      std::uint64_t word;
      if constexpr (std::is_same_v<A, F64>) {
        word = F64::canonical(F64::reduce(value, m), m);
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

// As many stages as leave shared memory for three blocks on a multiprocessor, but two.
template <class A, unsigned outputs>
Layout layout_of(const Pass<outputs>& pass) {
  Layout layout{};
  std::uint32_t rows = 0;
  for (unsigned k = 0; k < pass.count; ++k) {
    const Term& term = pass.terms[k];
    const unsigned digits = term.digits.data == nullptr ? 0 : pass.digits;
    layout.steps += std::max(1U, (digits + digits_at_once - 1) / digits_at_once);
    rows = std::max(rows, rows_of_digit * std::min(digits, digits_at_once) +
                              (term.addend.data == nullptr ? 0U : term.addend_components));
    for (unsigned g = 0; g < outputs; ++g) {
      const Factor& factor = pass.factors[k][g];
      if (factor.values.data == nullptr || factor.log_run >= log_run_of_row) continue;
      layout.factor_words = std::max(layout.factor_words, row_size >> factor.log_run);
    }
  }
  layout.first_factor = rows * row_size;
  layout.stage_words = layout.first_factor + outputs * layout.factor_words;
  const std::size_t row_factors = std::size_t{pass.count} * outputs * sizeof(typename A::Value);
  layout.first_stage = static_cast<std::uint32_t>((StageBarriers::bytes + row_factors + 127) / 128 * 128);
  const std::size_t stage_bytes = layout.stage_words * sizeof(std::uint64_t);
  layout.stages = static_cast<std::uint32_t>(
      std::clamp<std::size_t>((tuning::shared_bytes_of_three_blocks - layout.first_stage) / stage_bytes, 2,
                              StageBarriers::most_stages));
  layout.stages = std::min(layout.stages, layout.steps);
  return layout;
}

template <class A, unsigned outputs>
void run(const Launcher& launcher, std::span<const PolyView> out, std::span<const Backend::HoistedTerm> terms,
         std::size_t first_output, std::size_t first_term, const ModUp& plan, const ModUpTables& tables,
         std::span<const std::uint64_t> special) {
  PolyShape shape = out.front().shape;
  shape.components = 1;
  for_each_launch(shape, [&](const Part& part) {
    Pass<outputs> pass{};
    for (unsigned g = 0; g < outputs; ++g) pass.out[g] = device_view(part.of(out[first_output + g]));
    pass.count =
        static_cast<unsigned>(std::min<std::size_t>(hoisted_terms_per_launch, terms.size() - first_term));
    pass.ones = terms.front().factors.empty();
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
      for (unsigned g = 0; g < outputs && !pass.ones; ++g) {
        const ConstPolyView& factor = term.factors[first_output + g];
        if (factor.data == nullptr) continue;
        pass.factors[k][g] = {
            .values = part_of(factor, part),
            .log_run = static_cast<std::uint32_t>(std::countr_zero(launcher.degree() / factor.shape.degree))};
      }
    }
    pass.limbs = limb_moduli(plan.extended(), part.first_limb, part.limbs);
    for (std::size_t i = 0; i < part.limbs && part.first_limb + i < special.size(); ++i) {
      pass.special.word[i] = special[part.first_limb + i];
    }
    pass.first_limb = static_cast<unsigned>(part.first_limb);
    pass.key_digits = tables.key_digits.data();
    pass.key_limbs = tables.key_limbs.data() + part.first_limb;
    pass.digits = static_cast<unsigned>(plan.digits().size());
    pass.log_degree = launcher.log_degree;
    pass.layout = layout_of<A>(pass);
    launch("hoisted_products", launcher.stream, hoisted_products_kernel<A, outputs>,
           {static_cast<unsigned>(part.batches), launcher.degree() / row_size,
            static_cast<unsigned>(part.limbs)},
           {threads},
           pass.layout.first_stage + pass.layout.stages * pass.layout.stage_words * sizeof(std::uint64_t),
           pass, launcher.tables->moduli());
  });
}

template <class A>
void run_all(const Launcher& launcher, std::span<const PolyView> out,
             std::span<const Backend::HoistedTerm> terms, const ModUp& plan, const ModUpTables& tables,
             std::span<const std::uint64_t> special) {
  for (std::size_t output = 0; output < out.size();) {
    const std::size_t left = out.size() - output;
    const std::size_t together = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (std::size_t term = 0; term < terms.size(); term += hoisted_terms_per_launch) {
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
