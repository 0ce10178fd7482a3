// The constants of a base that decoding needs, computed into scratch at each call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/poly/ring.hpp"
#include "poly/cpu/embedding_kernels.hpp"

namespace hemera::poly::cpu {

/// Upper bound of Centering::words for any base of this many moduli.
constexpr std::size_t max_centering_words(std::size_t limbs, int word_bits) {
  return (61 * limbs + static_cast<std::size_t>(word_bits) - 1) / static_cast<std::size_t>(word_bits);
}

/// Words of memory for the constants of any base of this many moduli.
constexpr std::size_t centering_memory_words(std::size_t limbs, int word_bits) {
  return (max_centering_words(limbs, word_bits) + 1) * (limbs + 3) + 2 * (limbs + 2);
}

/// Fills `memory` (centering_memory_words) with the constants of `base`, which lie there as long as they are
/// used. The moduli must be pairwise coprime, `scale` positive and finite.
Centering make_centering(const RnsBase& base, double scale, int word_bits, std::uint64_t* memory);

}  // namespace hemera::poly::cpu
