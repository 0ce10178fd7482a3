// 64-bit words as SEAL's files have them, little-endian, in place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hemera::interop::seal {

/// Words that were read as bytes of a file become numbers, and the other way round.
inline void swap_to_host(std::span<std::uint64_t> words) {
  if constexpr (std::endian::native == std::endian::big) {
    for (std::uint64_t& word : words) {
      auto bytes = std::as_writable_bytes(std::span(&word, 1));
      for (std::size_t i = 0; i < bytes.size() / 2; ++i) std::swap(bytes[i], bytes[bytes.size() - 1 - i]);
    }
  }
}

}  // namespace hemera::interop::seal
