// The rounds of ChaCha20 (RFC 8439), shared by every form of its block function. There are no tables and no
// branches: they take the same time for all keys.
#pragma once

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly {

/// "expand 32-byte k", little-endian: words 0 to 3 of the state.
inline constexpr std::uint32_t chacha20_constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

/// The quarter round of RFC 8439, section 2.1, on lanes: 32-bit words or vectors of them, with
/// lanes.add(a, b), lanes.exclusive_or(a, b) and lanes.rotate_left<bits>(a).
template <typename Lanes, typename Type>
HEMERA_HOST_DEVICE inline __attribute__((always_inline)) void chacha20_quarter_round(const Lanes& lanes,
                                                                                     Type& a, Type& b,
                                                                                     Type& c, Type& d) {
  a = lanes.add(a, b);
  d = lanes.template rotate_left<16>(lanes.exclusive_or(d, a));
  c = lanes.add(c, d);
  b = lanes.template rotate_left<12>(lanes.exclusive_or(b, c));
  a = lanes.add(a, b);
  d = lanes.template rotate_left<8>(lanes.exclusive_or(d, a));
  c = lanes.add(c, d);
  b = lanes.template rotate_left<7>(lanes.exclusive_or(b, c));
}

/// Every second round: the diagonals of the state.
template <typename Lanes, typename Type>
HEMERA_HOST_DEVICE inline __attribute__((always_inline)) void chacha20_diagonals(const Lanes& lanes,
                                                                                 Type (&x)[16]) {
  chacha20_quarter_round(lanes, x[0], x[5], x[10], x[15]);
  chacha20_quarter_round(lanes, x[1], x[6], x[11], x[12]);
  chacha20_quarter_round(lanes, x[2], x[7], x[8], x[13]);
  chacha20_quarter_round(lanes, x[3], x[4], x[9], x[14]);
}

/// `rounds` rounds, an even number, on the 16 words of a state (section 2.3.1: 20), without the final
/// addition of the input.
template <typename Lanes, int rounds = 20, typename Type>
HEMERA_HOST_DEVICE inline __attribute__((always_inline)) void chacha20_rounds(Type (&x)[16],
                                                                              const Lanes& lanes = {}) {
  for (int round = 0; round < rounds; round += 2) {
    chacha20_quarter_round(lanes, x[0], x[4], x[8], x[12]);
    chacha20_quarter_round(lanes, x[1], x[5], x[9], x[13]);
    chacha20_quarter_round(lanes, x[2], x[6], x[10], x[14]);
    chacha20_quarter_round(lanes, x[3], x[7], x[11], x[15]);
    chacha20_diagonals(lanes, x);
  }
}

}  // namespace hemera::poly
