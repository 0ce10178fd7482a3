// Integers for IntegerRows where a vector of words multiplies its low halves as signed integers.
#pragma once

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

struct Integers {
  using Sum = Vector;
  using Half = Vector;
  using Weight = Vector;
  static constexpr std::size_t lanes = HEMERA_INSTRUCTION_SET::lanes;

  HEMERA_VECTOR_FUNCTION Half load_low(const Word* p) {
    return bit_and(load(p), HEMERA_INSTRUCTION_SET::broadcast(Word{0x7fffffff}));
  }
  HEMERA_VECTOR_FUNCTION Half load_high(const Word* p) { return shift_right<31>(load(p)); }
  HEMERA_VECTOR_FUNCTION Weight broadcast(std::int32_t w) { return broadcast_half(w); }
  HEMERA_VECTOR_FUNCTION Sum add_product(Sum sum, Half half, Weight w) {
    return add(sum, multiply_signed_halves(half, w));
  }
  HEMERA_VECTOR_FUNCTION void store(std::int64_t* out, Sum sum) {
    HEMERA_INSTRUCTION_SET::store(reinterpret_cast<Word*>(out), sum);
  }
};

}  // namespace
}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
