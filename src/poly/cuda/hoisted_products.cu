// Sums of products of switched polynomials, over Q u P: the baby steps of a linear transform with their
// plaintexts, or its giant steps.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = row_size;
constexpr unsigned products_per_reduction = 4;

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

// Where a value of an array in the backend's order, or of one stored by fewer entries in standard order,
// lies.
__device__ __forceinline__ unsigned stored_at(unsigned position, unsigned log_run) {
  return log_run == 0 ? position : transposed(position) >> log_run;
}

// The words of a term at one position, on their way while the term before is multiplied; further digits are
// read when they are due.
template <unsigned outputs>
struct Words {
  std::uint64_t digit[digits_at_once];
  std::uint64_t key[digits_at_once][2];
  std::uint64_t addend[2];
  std::uint64_t factor[outputs];
};

// A block has a row of one limb, and goes through the terms: an automorphism takes a row to a row, so the
// term's row is switched where it lies, and turned within shared memory. Grid [batch, row, limb].
template <class A, unsigned outputs>
__global__ void __launch_bounds__(threads, 2)
    hoisted_products_kernel(const __grid_constant__ Pass<outputs> pass, const arith::Modulus* moduli) {
  const unsigned batch = blockIdx.x, row = blockIdx.y, limb = blockIdx.z, t = threadIdx.x;
  const unsigned extended_limb = pass.first_limb + limb;
  const arith::Modulus q = moduli[pass.limbs.ring_index[limb]];
  const typename A::Modulus m = modulus_of<A>(q);
  const unsigned key_limb = pass.key_limbs[limb];
  const std::uint64_t special = pass.special.word[limb];
  const unsigned position = row * row_size + t;
  auto* turned = dynamic_shared<typename A::Value>();  // [2, component, entry]
  begin_kernel();

  Accumulator<A> sums[outputs][2];
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const std::uint64_t word = pass.adds ? pass.out[g].limb(batch, c, limb)[position] : 0;
      sums[g][c].start(first_factor<A>(word, m));
    }
  }
  // Where the position's value comes from: the row's entries come from one row.
  const auto source_of = [&](const Term& term) { return permuted(position, term.element, pass.log_degree); };
  const auto has_addend = [&](const Term& term, unsigned c) {
    return term.addend.data != nullptr && c < term.addend_components && extended_limb < term.addend_limbs;
  };
  const auto read = [&](unsigned k) {
    const Term& term = pass.terms[k];
    Words<outputs> words{};
    const unsigned from = source_of(term) / row_size * row_size + t;
    if (term.digits.data != nullptr) {
#pragma unroll
      for (unsigned d = 0; d < digits_at_once; ++d) {
        if (d >= pass.digits) break;
        words.digit[d] = term.digits.limb(batch, d, limb)[from];
#pragma unroll
        for (unsigned c = 0; c < 2; ++c) {
          words.key[d][c] = __ldcs(term.key.limb(pass.key_digits[d], c, key_limb) + from);
        }
      }
    }
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (has_addend(term, c)) words.addend[c] = term.addend.limb(batch, c, limb)[from];
    }
#pragma unroll
    for (unsigned g = 0; g < outputs; ++g) {
      const Factor& factor = pass.factors[k][g];
      if (factor.values.data != nullptr) {
        words.factor[g] = factor.values.limb(batch, 0, limb)[stored_at(position, factor.log_run)];
      }
    }
    return words;
  };

  Words<outputs> words = read(0);
  for (unsigned k = 0; k < pass.count; ++k) {
    const Term& term = pass.terms[k];
    const unsigned source = source_of(term), from = source / row_size * row_size + t;
    const Words<outputs> now = words;
    if (k + 1 < pass.count) words = read(k + 1);
    Accumulator<A> inner[2];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) inner[c].start(typename A::Value{});
    if (term.digits.data != nullptr) {
#pragma unroll
      for (unsigned d = 0; d < digits_at_once; ++d) {
        if (d >= pass.digits) break;
        const typename A::Value x = first_factor<A>(now.digit[d], m);
        inner[0].add(x, second_factor<A>(now.key[d][0], m), m);
        inner[1].add(x, second_factor<A>(now.key[d][1], m), m);
      }
      for (unsigned d = digits_at_once; d < pass.digits; ++d) {
        if (d % products_per_reduction == 0) {
          inner[0].start(inner[0].reduced(q, m));
          inner[1].start(inner[1].reduced(q, m));
        }
        const typename A::Value x = first_factor<A>(term.digits.limb(batch, d, limb)[from], m);
        inner[0].add(x, second_factor<A>(term.key.limb(pass.key_digits[d], 0, key_limb)[from], m), m);
        inner[1].add(x, second_factor<A>(term.key.limb(pass.key_digits[d], 1, key_limb)[from], m), m);
      }
    }
    auto* buffer = turned + k % 2 * (2 * row_size);
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (has_addend(term, c)) {
        // At most four products before, and the addend makes five.
        const typename A::Value x = first_factor<A>(now.addend[c], m);
        if (term.scaled) {
          if constexpr (!std::is_same_v<A, F64>) inner[c].start(inner[c].reduced(q, m));
          inner[c].add(x, second_factor<A>(special, m), m);
        } else {
          inner[c].add_value(x);
        }
      }
      buffer[c * row_size + t] = inner[c].reduced(q, m);
    }
    __syncthreads();
    const typename A::Value x[2] = {buffer[source % row_size], buffer[row_size + source % row_size]};
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
      if (pass.factors[k][g].values.data == nullptr) continue;
      const typename A::Value factor = first_factor<A>(now.factor[g], m);
      sums[g][0].add(x[0], factor, m);
      sums[g][1].add(x[1], factor, m);
    }
  }
#pragma unroll
  for (unsigned g = 0; g < outputs; ++g) {
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const typename A::Value value = sums[g][c].reduced(q, m);
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
Source part_of(const ConstPolyView& view, const Part& part, bool limbs = true) {
  if (view.data == nullptr) return {};
  const ConstPolyView batches = part.batches_of(view);
  if (!limbs || part.first_limb >= batches.shape.limbs) return source_of(batches);
  return source_of(
      batches.limbs(part.first_limb, std::min(part.limbs, batches.shape.limbs - part.first_limb)));
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
    launch("hoisted_products", launcher.stream, hoisted_products_kernel<A, outputs>,
           {static_cast<unsigned>(part.batches), launcher.degree() / row_size,
            static_cast<unsigned>(part.limbs)},
           {threads}, 4 * row_size * sizeof(typename A::Value), pass, launcher.tables->moduli());
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
