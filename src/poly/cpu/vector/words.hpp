// Element-wise loops, and the kernels that need no products.
#pragma once

#include <cstddef>

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

using arith::Modulus;
using arith::ShoupFactor;

// body(i) for the first index i < count of each vector, `unrolled_vectors` at a time.
template <typename Body>
[[gnu::always_inline]] inline void for_each_vector(std::size_t count, const Body& body) {
  for (std::size_t start = 0; start < count; start += unrolled_vectors * lanes) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < unrolled_vectors; ++k) body(start + k * lanes);
  }
}
// out[i] = operation(a[i]) and out[i] = operation(a[i], b[i]).
template <typename Operation>
[[gnu::always_inline]] inline void map(Word* out, const Word* a, std::size_t count,
                                       const Operation& operation) {
  for_each_vector(
      count, [&](std::size_t i) __attribute__((always_inline)) { store(out + i, operation(load(a + i))); });
}
template <typename Operation>
[[gnu::always_inline]] inline void map(Word* out, const Word* a, const Word* b, std::size_t count,
                                       const Operation& operation) {
  for_each_vector(
      count, [&](std::size_t i)
                 __attribute__((always_inline)) { store(out + i, operation(load(a + i), load(b + i))); });
}

bool is_narrow(const Modulus& q, Word bound = max_modulus_52) { return q.value() < bound; }

}  // namespace

void add(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  map(out, a, b, count, [=](Vector x, Vector y) { return fold(add(x, y), modulus); });
}

void subtract(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  map(out, a, b, count, [=](Vector x, Vector y) { return lift(subtract(x, y), modulus); });
}

void negate(Word* out, const Word* a, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  map(out, a, count, [=](Vector x) { return lift(subtract(zero(), x), modulus); });
}

void add_scalar(Word* out, const Word* a, Word scalar, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  const Vector addend = broadcast(scalar);
  map(out, a, count, [=](Vector x) { return fold(add(x, addend), modulus); });
}

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
