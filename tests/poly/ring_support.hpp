// Rings of NTT primes of given sizes, for tests.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::poly {

inline RingModulus ntt_modulus(std::size_t degree, int bits, const std::vector<std::uint64_t>& taken = {}) {
  const arith::Modulus q(arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 1, taken).at(0));
  return {q, arith::minimal_primitive_root(2 * degree, q)};
}

/// One prime for each entry of `bits`, then the plaintext moduli, without a root.
inline std::shared_ptr<const Ring> make_ring(std::size_t degree, const std::vector<int>& bits,
                                             const std::vector<std::uint64_t>& plaintext_moduli = {}) {
  std::vector<RingModulus> moduli;
  std::vector<std::uint64_t> taken;
  for (const int size : bits) {
    moduli.push_back(ntt_modulus(degree, size, taken));
    taken.push_back(moduli.back().modulus.value());
  }
  for (const std::uint64_t t : plaintext_moduli) moduli.push_back({arith::Modulus(t), 0});
  return Ring::make(degree, std::move(moduli));
}

}  // namespace hemera::poly
