// The rounds of ChaCha20 (RFC 8439), shared by every form of its block function. There are no tables and no
// branches: they take the same time for all keys.
#pragma once

#include <cstdint>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly {

/// "expand 32-byte k", little-endian: words 0 to 3 of the state.
inline constexpr std::uint32_t chacha20_constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

/// The quarter round of RFC 8439, section 2.1, on `Lanes`: 32-bit words or vectors of them, with
/// add(a, b), exclusive_or(a, b) and rotate_left<bits>(a).
template <typename Lanes, typename Type>
HEMERA_HOST_DEVICE inline __attribute__((always_inline)) void chacha20_quarter_round(Type& a, Type& b,
                                                                                     Type& c, Type& d) {
  a = Lanes::add(a, b);
  d = Lanes::template rotate_left<16>(Lanes::exclusive_or(d, a));
  c = Lanes::add(c, d);
  b = Lanes::template rotate_left<12>(Lanes::exclusive_or(b, c));
  a = Lanes::add(a, b);
  d = Lanes::template rotate_left<8>(Lanes::exclusive_or(d, a));
  c = Lanes::add(c, d);
  b = Lanes::template rotate_left<7>(Lanes::exclusive_or(b, c));
}

/// The 20 rounds on the 16 words of a state (section 2.3.1), without the final addition of the input.
template <typename Lanes, typename Type>
HEMERA_HOST_DEVICE inline __attribute__((always_inline)) void chacha20_rounds(Type (&x)[16]) {
  for (int round = 0; round < 20; round += 2) {
    chacha20_quarter_round<Lanes>(x[0], x[4], x[8], x[12]);
    chacha20_quarter_round<Lanes>(x[1], x[5], x[9], x[13]);
    chacha20_quarter_round<Lanes>(x[2], x[6], x[10], x[14]);
    chacha20_quarter_round<Lanes>(x[3], x[7], x[11], x[15]);
    chacha20_quarter_round<Lanes>(x[0], x[5], x[10], x[15]);
    chacha20_quarter_round<Lanes>(x[1], x[6], x[11], x[12]);
    chacha20_quarter_round<Lanes>(x[2], x[7], x[8], x[13]);
    chacha20_quarter_round<Lanes>(x[3], x[4], x[9], x[14]);
  }
}

}  // namespace hemera::poly
