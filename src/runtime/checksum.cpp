#include "hemera/runtime/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <vector>

#include "hemera/runtime/memory.hpp"
#include "runtime/in_threads.hpp"

namespace hemera::runtime {
namespace {

// Vector registers hold bytes, too; whatever is called next may save them, as the dynamic linker does where
// it binds a function at its first call.
#if defined(__has_cpp_attribute) && __has_cpp_attribute(gnu::zero_call_used_regs)
#define HEMERA_ZERO_REGISTERS [[gnu::zero_call_used_regs("all")]]
#else
#define HEMERA_ZERO_REGISTERS
#endif

// xxHash keeps the last bytes that it is given in its state, and copies them on the stack: in frames of this
// call.
HEMERA_ZERO_REGISTERS [[gnu::noinline]] std::uint64_t hash(std::uint64_t seed,
                                                           std::span<const std::byte> first,
                                                           std::span<const std::byte> second) {
  if (second.empty()) {
    return XXH3_64bits_withSeed(first.data(), first.size(), seed);
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

// More than the frames of `hash`, in their place.
[[gnu::noinline]] void zero_stack_below() {
  std::array<std::byte, 8192> frames;
  secure_zero(frames.data(), frames.size());
}

}  // namespace

std::uint64_t checksum(std::uint64_t seed, std::span<const std::byte> first,
                       std::span<const std::byte> second) {
  const std::uint64_t result = hash(seed, first, second);
  zero_stack_below();  // the bytes may be those of a secret key
  return result;
}

std::vector<std::uint64_t> checksums_of_pieces(std::span<const std::span<const std::byte>> parts) {
  constexpr std::size_t pieces_of_thread = 16;  // at least: 100 us for the 10 that a thread takes to begin
  std::vector<std::span<const std::byte>> pieces;
  for (const std::span<const std::byte> part : parts) {
    for (std::size_t begin = 0; begin < part.size(); begin += checksum_piece_bytes) {
      pieces.push_back(part.subspan(begin, std::min(checksum_piece_bytes, part.size() - begin)));
    }
  }
  std::vector<std::uint64_t> found(pieces.size());
  in_threads(pieces.size(), pieces_of_thread, [&](std::size_t i) { found[i] = checksum(0, pieces[i]); });
  return found;
}

}  // namespace hemera::runtime
