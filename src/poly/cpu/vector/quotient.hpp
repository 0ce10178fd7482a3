// The quotients of exact conversions by products of whole words (`multiply_wide` of the instruction set), and
// their test.
#pragma once

#include <cstddef>

#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET {
namespace {

// Kernels::quotient for moduli of any size: the halves of the terms are summed apart, below 2^32 each.
bool wide_quotient(Word* v, const Word* const* y, const Word* r, const int* bits, std::size_t sources,
                   std::size_t count) {
  const Vector half = broadcast(Word{0xffffffff});
  Vector differences = broadcast(~Word{0});
  for (std::size_t start = 0; start < count; start += lanes) {
    Vector low = zero();
    Vector high = broadcast(Word{1} << 31);
    for (std::size_t i = 0; i < sources; ++i) {
      Vector product_high;
      Vector product_low;
      multiply_wide(load(y[i] + start), broadcast(r[i]), product_high, product_low);
      const Vector term = bit_or(shift_left(product_high, _mm_cvtsi32_si128(65 - bits[i])),
                                 shift_right(product_low, _mm_cvtsi32_si128(bits[i] - 1)));
      low = add(low, bit_and(term, half));
      high = add(high, shift_right<32>(term));
    }
    high = add(high, shift_right<32>(low));
    differences = add_differences(differences, high);
    store(v + start, shift_right<32>(high));
  }
  return one_is_alike<31>(differences);
}

}  // namespace

bool one_outside(const Word* words, Word least, Word most, std::size_t count) {
  Vector signs = zero();
  for (std::size_t i = 0; i < count; i += lanes) {
    const Vector x = load(words + i);
    signs = bit_or(signs, bit_or(subtract(x, broadcast(least)), subtract(broadcast(most), x)));
  }
  return one_is_negative(signs);
}

}  // namespace hemera::poly::cpu::HEMERA_INSTRUCTION_SET
