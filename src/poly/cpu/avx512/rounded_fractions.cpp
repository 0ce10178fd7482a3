// The rounded fractions of scale-and-round for AVX-512.
#include <type_traits>

#include "poly/cpu/avx512/vectors.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::avx512 {

bool rounded_fractions(Word* low48, Word* rest, const Word* const* y, const Word* high, const Word* low,
                       std::size_t sources, Word source_bound, std::size_t count) {
  // The sums below take two 52-bit halves a term.
  constexpr std::size_t capacity = std::size_t{1} << 10;
  if (source_bound > (Word{1} << 52) || sources > capacity) {
    return scalar_kernels().rounded_fractions(low48, rest, y, high, low, sources, source_bound, count);
  }
  constexpr Word mask52 = (Word{1} << 52) - 1;
  constexpr std::size_t tile = 4;
  Vector differences = broadcast(~Word{0});
  const auto run = [&](auto width, std::size_t first) __attribute__((always_inline)) {
    // Sums of the parts at 2^0, 2^52, 2^104 and 2^156; 2^127 rounds.
    Vector sum0[width.value], sum1[width.value], sum2[width.value], sum3[width.value];
    for (std::size_t k = 0; k < width.value; ++k) {
      sum0[k] = sum1[k] = sum3[k] = zero();
      sum2[k] = broadcast(Word{1} << 23);
    }
    for (std::size_t i = 0; i < sources; ++i) {
      const Vector piece0 = broadcast(low[i] & mask52);
      const Vector piece1 = broadcast((low[i] >> 52 | high[i] << 12) & mask52);
      const Vector piece2 = broadcast(high[i] >> 40);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < width.value; ++k) {
        const Vector x = load(y[i] + first + k * lanes);
        sum0[k] = add_low52(sum0[k], x, piece0);
        sum1[k] = add_low52(add_high52(sum1[k], x, piece0), x, piece1);
        sum2[k] = add_low52(add_high52(sum2[k], x, piece1), x, piece2);
        sum3[k] = add_high52(sum3[k], x, piece2);
      }
    }
    const Vector mask48 = broadcast((Word{1} << 48) - 1);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < width.value; ++k) {
      const Vector carry1 = add(sum1[k], shift_right<52>(sum0[k]));
      const Vector carry2 = add(sum2[k], shift_right<52>(carry1));
      differences = add_differences(differences, carry2);
      const Vector whole = add(shift_right<24>(carry2), shift_left<28>(sum3[k]));
      store(low48 + first + k * lanes, bit_and(whole, mask48));
      store(rest + first + k * lanes, shift_right<48>(whole));
    }
  };
  std::size_t first = 0;
  for (; first + tile * lanes <= count; first += tile * lanes) {
    run(std::integral_constant<std::size_t, tile>{}, first);
  }
  for (; first < count; first += lanes) run(std::integral_constant<std::size_t, 1>{}, first);
  return one_is_alike<23>(differences);
}

}  // namespace hemera::poly::cpu::avx512
