// Two 64-bit words or doubles at a time: names for the SIMD instructions of WebAssembly that the kernels use.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

#define HEMERA_VECTOR_FUNCTION [[gnu::always_inline]] static inline
/// The namespace of this set, for the loops of poly/cpu/vector.
#define HEMERA_INSTRUCTION_SET simd128

namespace hemera::poly::cpu::simd128 {

using Word = std::uint64_t;
/// Words or doubles: the instructions tell.
using Vector = v128_t;

inline constexpr std::size_t lanes = 2;
/// Vectors that loops over words take at a time: their eight words divide every count.
inline constexpr std::size_t unrolled_vectors = 4;

HEMERA_VECTOR_FUNCTION Vector load(const Word* p) { return wasm_v128_load(p); }
HEMERA_VECTOR_FUNCTION void store(Word* p, Vector x) { wasm_v128_store(p, x); }
HEMERA_VECTOR_FUNCTION Vector broadcast(Word a) { return wasm_i64x2_splat(static_cast<std::int64_t>(a)); }
HEMERA_VECTOR_FUNCTION Vector broadcast(double a) { return wasm_f64x2_splat(a); }
HEMERA_VECTOR_FUNCTION Vector zero() { return wasm_i64x2_const(0, 0); }

HEMERA_VECTOR_FUNCTION Vector add(Vector a, Vector b) { return wasm_i64x2_add(a, b); }
HEMERA_VECTOR_FUNCTION Vector subtract(Vector a, Vector b) { return wasm_i64x2_sub(a, b); }
/// a b modulo 2^64.
HEMERA_VECTOR_FUNCTION Vector multiply_low(Vector a, Vector b) { return wasm_i64x2_mul(a, b); }

/// x in [-bound, bound), as a signed word, to [0, bound); bound < 2^63.
HEMERA_VECTOR_FUNCTION Vector lift(Vector x, Vector bound) {
  return add(x, wasm_v128_and(bound, wasm_i64x2_lt(x, zero())));
}
/// x in [0, 2 bound) to [0, bound); bound < 2^63.
HEMERA_VECTOR_FUNCTION Vector fold(Vector x, Vector bound) { return lift(subtract(x, bound), bound); }

/// Two vectors as a matrix of two rows, transposed.
HEMERA_VECTOR_FUNCTION void transpose(Vector& a, Vector& b) {
  const Vector row = wasm_i64x2_shuffle(a, b, 0, 2);
  b = wasm_i64x2_shuffle(a, b, 1, 3);
  a = row;
}

}  // namespace hemera::poly::cpu::simd128
