// The butterflies of a few stages on 2^stages values in registers, numbered at compile time.
#pragma once

#include <type_traits>
#include <utility>

namespace hemera::poly::cpu {

/// Calls body(k) for k = 0, ..., count - 1 as compile-time constants.
template <int count, typename Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
  [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, k>{}), ...);
  }
  (std::make_integer_sequence<int, count>{});
}

/// The body for the logarithm of a degree from 2^least to 2^17, as a compile-time constant.
template <int least, typename Body>
[[gnu::always_inline]] inline void at_degree(int log_degree, const Body& body) {
  unrolled<18 - least>([&](auto k) __attribute__((always_inline)) {
    if (log_degree == least + k.value) body(std::integral_constant<int, least + k.value>{});
  });
}

/// Butterfly k of `stages` stages, 2^(stages - 1) a stage; stage 0 is the one of the largest distance.
template <int stages>
struct ButterflyIndex {
  static constexpr int count = stages << (stages - 1);

  int stage;
  int group;
  int x;
  int y;

  constexpr explicit ButterflyIndex(int k) : stage(k >> (stages - 1)), group(0), x(0), y(0) {
    const int half = (1 << (stages - 1)) >> stage;
    const int number = k % (1 << (stages - 1));
    group = number / half;
    x = group * 2 * half + number % half;
    y = x + half;
  }
  /// The same with the stages in reverse order.
  static constexpr ButterflyIndex reversed(int k) {
    return ButterflyIndex((stages - 1 - (k >> (stages - 1))) * (1 << (stages - 1)) + k % (1 << (stages - 1)));
  }
};

}  // namespace hemera::poly::cpu
