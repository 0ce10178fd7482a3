// Element-wise kernels in double precision for moduli below 2^50; larger ones are left to the scalar kernels.
// arithmetic50.hpp of the instruction set comes first.
#pragma once

#include "poly/cpu/vector/words.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

// Whether all values lie in (-bound, bound), for whole vectors of them; see(i, values i, ...) is called with
// each vector.
template <typename See>
[[gnu::always_inline]] inline bool vectors_within(const std::int64_t* values, std::size_t count,
                                                  std::uint64_t bound, const See& see) {
  const Vector shift = broadcast(bound - 1);
  const Vector most = broadcast(2 * bound - 2);
  Vector signs = zero();
  for_each_vector(
      count, [&](std::size_t i) __attribute__((always_inline)) {
        const Vector x = load(reinterpret_cast<const Word*>(values) + i);
        const Vector shifted = add(x, shift);
        signs = bit_or(signs, bit_or(shifted, subtract(most, shifted)));
        see(i, x);
      });
  return !one_is_negative(signs);
}

}  // namespace

void multiply(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  if (!is_narrow(q)) return scalar_kernels().multiply(out, a, b, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  map(out, a, b, count, [=](Vector x, Vector y) {
    return canonical50(multiply50(to_doubles(x), to_doubles(y), modulus), modulus);
  });
}

void multiply_add(Word* out, const Word* a, const Word* b, const Word* addend, std::size_t count,
                  const Modulus& q) {
  if (!is_narrow(q)) return scalar_kernels().multiply_add(out, a, b, addend, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  for_each_vector(
      count, [&](std::size_t i) __attribute__((always_inline)) {
        const Doubles product = multiply50(to_doubles(load(a + i)), to_doubles(load(b + i)), modulus);
        store(out + i, fold(add(load(addend + i), canonical50(product, modulus)), modulus.word));
      });
}

void multiply_scalar(Word* out, const Word* a, const ShoupFactor& scalar, std::size_t count,
                     const Modulus& q) {
  if (!is_narrow(q)) return scalar_kernels().multiply_scalar(out, a, scalar, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  const Factors50 factor = Factors50::make(scalar.operand, modulus);
  map(out, a, count,
      [=](Vector x) { return canonical50(multiply50(to_doubles(x), factor, modulus.q), modulus); });
}

void subtract_multiply_scalar(Word* out, const Word* a, const Word* b, const ShoupFactor& scalar,
                              std::size_t count, const Modulus& q) {
  if (!is_narrow(q)) return scalar_kernels().subtract_multiply_scalar(out, a, b, scalar, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  const Factors50 factor = Factors50::make(scalar.operand, modulus);
  const auto product = [=](Vector difference) {  // in (-q, q)
    return canonical50(multiply50(signed_to_doubles(difference), factor, modulus.q), modulus);
  };
  if (a == nullptr) {
    map(out, b, count, [=](Vector y) { return product(subtract(zero(), y)); });
  } else {
    map(out, a, b, count, [=](Vector x, Vector y) { return product(subtract(x, y)); });
  }
}

void scale_residues(Word* y, const Word* x, const ShoupFactor& factor, bool center, std::size_t count,
                    const Modulus& a) {
  if (!center) return multiply_scalar(y, x, factor, count, a);
  if (!is_narrow(a)) return scalar_kernels().scale_residues(y, x, factor, center, count, a);
  const Modulus50 modulus = Modulus50::make(a);
  const Factors50 w = Factors50::make(factor.operand, modulus);
  const Vector shift = broadcast((a.value() - 1) / 2);
  map(y, x, count, [=](Vector value) {
    const Vector scaled = canonical50(multiply50(to_doubles(value), w, modulus.q), modulus);
    return fold(add(scaled, shift), modulus.word);
  });
}

void tensor_2x2(Word* out0, Word* out1, Word* out2, const Word* a0, const Word* a1, const Word* b0,
                const Word* b1, std::size_t count, const Modulus& q) {
  if (!is_narrow(q)) return scalar_kernels().tensor_2x2(out0, out1, out2, a0, a1, b0, b1, count, q);
  const Modulus50 modulus = Modulus50::make(q);
  for_each_vector(
      count, [&](std::size_t i) __attribute__((always_inline)) {
        const Doubles x0 = to_doubles(load(a0 + i));
        const Doubles x1 = to_doubles(load(a1 + i));
        const Doubles y0 = to_doubles(load(b0 + i));
        const Doubles y1 = to_doubles(load(b1 + i));
        store(out0 + i, canonical50(multiply50(x0, y0, modulus), modulus));
        const Doubles cross = add(multiply50(x0, y1, modulus), multiply50(x1, y0, modulus));  // in (-2q, 2q)
        store(out1 + i, canonical50(reduce50(cross, modulus), modulus));
        store(out2 + i, canonical50(multiply50(x1, y1, modulus), modulus));
      });
}

bool residues_within(Word* out, const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  const Vector modulus = broadcast(bound);
  const std::size_t whole = count - count % (unrolled_vectors * lanes);
  const bool within = vectors_within(values, whole, bound,
                                     [&](std::size_t i, Vector x) { store(out + i, lift(x, modulus)); });
  return scalar_kernels().residues_within(out + whole, values + whole, count - whole, bound) && within;
}

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
