// How keys are stored (Word), as kernels read them: one template argument, so that each kernel knows its own.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "poly/cuda/rounds.cuh"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda {

/// Places are words of a view, counted as its strides count: whole rows of 256 (what `row` takes), and an
/// entry of a row.
struct EightBytes {
  static constexpr unsigned row_bytes = row_size * 8;
  struct Place {
    const std::uint64_t* words;
  };
  using Pair = ulonglong2;

  static __device__ __forceinline__ const void* row(const std::uint64_t* view, std::size_t word) {
    return view + word;
  }
  static __device__ __forceinline__ Place place(const std::uint64_t* view, std::size_t word) {
    return {view + word};
  }
  /// The word at a place, and this many rows' words on; and two neighbours, of which the first is even.
  static __device__ __forceinline__ std::uint64_t word(const Place& place, std::size_t on = 0) {
    return place.words[on];
  }
  /// The same by bytes, a multiple of 16: among rows of several storages.
  static __device__ __forceinline__ std::uint64_t word_after(const Place& place, std::size_t bytes) {
    return place.words[bytes / 8];
  }
  static __device__ __forceinline__ Pair pair(const Place& place, std::size_t on = 0) {
    return *reinterpret_cast<const ulonglong2*>(place.words + on);
  }
  /// A pair that nobody else will read soon.
  static __device__ __forceinline__ Pair stream_pair(const Place& place, std::size_t on = 0) {
    return __ldcs(reinterpret_cast<const ulonglong2*>(place.words + on));
  }
  static __device__ __forceinline__ void set_pair(std::uint64_t* view, std::size_t word, std::uint64_t first,
                                                  std::uint64_t second) {
    *reinterpret_cast<ulonglong2*>(view + word) = make_ulonglong2(first, second);
  }
};

/// A row is its words' low 32 bits, then the 16 bits above these, then the two highest ones, those of four
/// words a byte: neighbours read whole sectors of all.
struct FiftyBits {
  static constexpr unsigned row_bytes = row_size / 4 * 25;
  static constexpr unsigned middle_part = row_size * 4, high_part = row_size * 6;  // in bytes
  struct Place {
    const unsigned char* low;
    const unsigned char* middle;
    const unsigned char* high;
    unsigned shift;  // of the word's highest bits
  };
  struct Pair {
    uint2 low;
    std::uint32_t middle, high;
  };

  static __device__ __forceinline__ const void* row(const std::uint64_t* view, std::size_t word) {
    return reinterpret_cast<const unsigned char*>(view) + stored_bytes(Word::u50, word);
  }
  static __device__ __forceinline__ Place place(const std::uint64_t* view, std::size_t word) {
    const unsigned entry = static_cast<unsigned>(word) % row_size;
    const auto* bytes = static_cast<const unsigned char*>(row(view, word - entry));
    return {bytes + 4 * entry, bytes + middle_part + 2 * entry, bytes + high_part + entry / 4, entry % 4 * 2};
  }
  static __device__ __forceinline__ std::uint64_t word(const Place& place, std::size_t on = 0) {
    return word_after(place, stored_bytes(Word::u50, on));
  }
  static __device__ __forceinline__ std::uint64_t word_after(const Place& place, std::size_t bytes) {
    const std::uint32_t middle = *reinterpret_cast<const std::uint16_t*>(place.middle + bytes);
    const std::uint32_t high = (place.high[bytes] >> place.shift & 3U) << 16;
    return std::uint64_t{high | middle} << 32 | *reinterpret_cast<const std::uint32_t*>(place.low + bytes);
  }
  static __device__ __forceinline__ Pair pair(const Place& place, std::size_t on = 0) {
    const std::size_t bytes = stored_bytes(Word::u50, on);
    return {*reinterpret_cast<const uint2*>(place.low + bytes),
            *reinterpret_cast<const std::uint32_t*>(place.middle + bytes),
            static_cast<std::uint32_t>(place.high[bytes]) >> place.shift};
  }
  static __device__ __forceinline__ Pair stream_pair(const Place& place, std::size_t on = 0) {
    const std::size_t bytes = stored_bytes(Word::u50, on);
    return {__ldcs(reinterpret_cast<const uint2*>(place.low + bytes)),
            __ldcs(reinterpret_cast<const std::uint32_t*>(place.middle + bytes)),
            static_cast<std::uint32_t>(__ldcs(place.high + bytes)) >> place.shift};
  }
  /// Called by all lanes of a warp, neighbours by neighbours: they share bytes.
  static __device__ __forceinline__ void set_pair(std::uint64_t* view, std::size_t word, std::uint64_t first,
                                                  std::uint64_t second) {
    const Place to = place(view, word);
    const auto upper = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
    *reinterpret_cast<uint2*>(const_cast<unsigned char*>(to.low)) = {static_cast<std::uint32_t>(first),
                                                                     static_cast<std::uint32_t>(second)};
    *reinterpret_cast<std::uint32_t*>(const_cast<unsigned char*>(to.middle)) =
        (upper(first) & 0xffffU) | upper(second) << 16;
    std::uint32_t high = (upper(first) >> 16 | upper(second) >> 16 << 2) << to.shift;
    high |= __shfl_xor_sync(0xffffffffU, high, 1);
    if (to.shift == 0) *const_cast<unsigned char*>(to.high) = static_cast<unsigned char>(high);
  }
};

__device__ __forceinline__ std::uint64_t first_of(const ulonglong2& pair) { return pair.x; }
__device__ __forceinline__ std::uint64_t second_of(const ulonglong2& pair) { return pair.y; }
__device__ __forceinline__ std::uint64_t first_of(const FiftyBits::Pair& pair) {
  return std::uint64_t{(pair.high & 3U) << 16 | (pair.middle & 0xffffU)} << 32 | pair.low.x;
}
__device__ __forceinline__ std::uint64_t second_of(const FiftyBits::Pair& pair) {
  return std::uint64_t{(pair.high >> 2 & 3U) << 16 | pair.middle >> 16} << 32 | pair.low.y;
}

/// Calls run(storage) for that of the word.
template <typename Run>
void with_storage(Word word, const Run& run) {
  if (word == Word::u50) return run(FiftyBits{});
  run(EightBytes{});
}

}  // namespace hemera::poly::cuda
