#include "io/bit_packing.hpp"

#include <cassert>
#include <cstring>

namespace hemera::io {
namespace {

// A 64-bit word in the format's byte order.
std::uint64_t load_word(const std::byte* from) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, from, sizeof word);
  } else {
    for (unsigned byte = 0; byte < 8; ++byte) {
      word |= std::to_integer<std::uint64_t>(from[byte]) << (8 * byte);
    }
  }
  return word;
}

void store_word(std::byte* to, std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &word, sizeof word);
  } else {
    for (unsigned byte = 0; byte < 8; ++byte) to[byte] = static_cast<std::byte>((word >> (8 * byte)) & 0xFF);
  }
}

}  // namespace

void pack_bits(std::span<const std::uint64_t> values, unsigned width, std::span<std::byte> out) {
  assert(values.size() % 64 == 0 && width >= 1 && width <= 64 && out.size() == values.size() / 8 * width);
  std::byte* to = out.data();
  std::uint64_t word = 0;
  unsigned filled = 0;  // < 64
  for (const std::uint64_t value : values) {
    word |= value << filled;
    filled += width;
    if (filled >= 64) {
      store_word(to, word);
      to += 8;
      filled -= 64;
      // The bits of `value` that did not fit; two shifts, as one by 64 is undefined.
      word = value >> (width - filled - 1) >> 1;
    }
  }
}

bool unpack_bits(std::span<const std::byte> in, unsigned width, std::uint64_t limit,
                 std::span<std::uint64_t> out) {
  assert(out.size() % 64 == 0 && width >= 1 && width <= 64 && in.size() == out.size() / 8 * width);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const std::byte* from = in.data();
  std::uint64_t word = 0;
  unsigned left = 0;  // bits of `word` not yet used, < 64; the others are zero
  bool below = true;
  for (std::uint64_t& value : out) {
    std::uint64_t bits = word;
    if (left < width) {
      const std::uint64_t next = load_word(from);
      from += 8;
      bits |= next << left;
      word = next >> (width - left - 1) >> 1;
      left += 64 - width;
    } else {
      word >>= width;
      left -= width;
    }
    value = bits & mask;
    below &= value < limit;
  }
  return below;
}

}  // namespace hemera::io
