// Element-wise kernels and sums for WebAssembly, of moduli below 2^49; larger ones are left to the scalar
// kernels.
#include "poly/cpu/simd128/arithmetic49.hpp"
#include "poly/cpu/vector/words.hpp"

namespace hemera::poly::cpu::simd128 {
void multiply(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  if (!is_narrow(q, max_modulus_49)) return scalar_kernels().multiply(out, a, b, count, q);
  const Modulus49 modulus = Modulus49::make(q);
  map(out, a, b, count, [=](Vector x, Vector y) { return lift(multiply49(x, y, modulus), modulus.q); });
}

void multiply_add(Word* out, const Word* a, const Word* b, const Word* addend, std::size_t count,
                  const Modulus& q) {
  if (!is_narrow(q, max_modulus_49)) return scalar_kernels().multiply_add(out, a, b, addend, count, q);
  const Modulus49 modulus = Modulus49::make(q);
  for_each_vector(
      count, [&](std::size_t i) __attribute__((always_inline)) {
        const Vector product = multiply49(load(a + i), load(b + i), modulus);
        store(out + i, canonical49(add(load(addend + i), product), modulus));
      });
}

void multiply_scalar(Word* out, const Word* a, const ShoupFactor& scalar, std::size_t count,
                     const Modulus& q) {
  if (!is_narrow(q, max_modulus_49)) return scalar_kernels().multiply_scalar(out, a, scalar, count, q);
  const Modulus49 modulus = Modulus49::make(q);
  const Factors49 factor = Factors49::make(scalar.operand, modulus);
  map(out, a, count, [=](Vector x) { return lift(multiply49(x, factor, modulus), modulus.q); });
}

void scale_residues(Word* y, const Word* x, const ShoupFactor& factor, bool center, std::size_t count,
                    const Modulus& a) {
  if (!is_narrow(a, max_modulus_49)) return scalar_kernels().scale_residues(y, x, factor, center, count, a);
  const Modulus49 modulus = Modulus49::make(a);
  const Factors49 w = Factors49::make(factor.operand, modulus);
  const Vector shift = broadcast(center ? (a.value() - 1) / 2 : 0);
  map(y, x, count,
      [=](Vector value) { return canonical49(add(multiply49(value, w, modulus), shift), modulus); });
}

// Products are in (-q, q): with three of them and a reduced sum, all is below 2^51.
void weighted_sum(Word* out, const Word* const* y, const Word* weights, std::size_t sources,
                  Word source_bound, const Word* v, Word product, Word shift, std::size_t count,
                  const Modulus& q) {
  if (!is_narrow(q, max_modulus_49) || source_bound > max_modulus_49) {
    return scalar_kernels().weighted_sum(out, y, weights, sources, source_bound, v, product, shift, count, q);
  }
  const Modulus49 modulus = Modulus49::make(q);
  const Factors49 correction = Factors49::make(product, modulus);
  const Vector start = broadcast(0 - shift);
  for_each_vector(
      count, [&](std::size_t n) __attribute__((always_inline)) {
        Vector sum = start;
        if (v != nullptr) sum = subtract(sum, multiply49(load(v + n), correction, modulus));
        for (std::size_t i = 0; i < sources; ++i) {
          sum = add(sum, multiply49(load(y[i] + n), Factors49::make(weights[i], modulus), modulus));
          if (i % 2 == 1) sum = reduce49(sum, modulus);
        }
        store(out + n, lift(reduce49(sum, modulus), modulus.q));
      });
}

}  // namespace hemera::poly::cpu::simd128
