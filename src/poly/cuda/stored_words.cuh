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
  /// The word at a place, and so many rows' words on; and two neighbours, of which the first is even.
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
  /// That nobody else will read soon.
  static __device__ __forceinline__ Pair stream_pair(const Place& place, std::size_t on = 0) {
    return __ldcs(reinterpret_cast<const ulonglong2*>(place.words + on));
  }
  static __device__ __forceinline__ void set_pair(std::uint64_t* view, std::size_t word, std::uint64_t first,
                                                  std::uint64_t second) {
    *reinterpret_cast<ulonglong2*>(view + word) = make_ulonglong2(first, second);
  }
};

/// A row is its words' low 32 bits, then their high 16 bits: neighbours read whole sectors of both.
struct SixBytes {
  static constexpr unsigned row_bytes = row_size * 6;
  static constexpr unsigned high_part = row_size * 4;  // in bytes
  struct Place {
    const unsigned char* low;
    const unsigned char* high;
  };
  struct Pair {
    uint2 low;
    std::uint32_t high;
  };

  static __device__ __forceinline__ const void* row(const std::uint64_t* view, std::size_t word) {
    return reinterpret_cast<const unsigned char*>(view) + word * 6;
  }
  static __device__ __forceinline__ Place place(const std::uint64_t* view, std::size_t word) {
    const unsigned entry = static_cast<unsigned>(word) % row_size;
    const auto* bytes = static_cast<const unsigned char*>(row(view, word - entry));
    return {bytes + 4 * entry, bytes + high_part + 2 * entry};
  }
  static __device__ __forceinline__ std::uint64_t word(const Place& place, std::size_t on = 0) {
    return word_after(place, on * 6);
  }
  static __device__ __forceinline__ std::uint64_t word_after(const Place& place, std::size_t bytes) {
    return std::uint64_t{*reinterpret_cast<const std::uint16_t*>(place.high + bytes)} << 32 |
           *reinterpret_cast<const std::uint32_t*>(place.low + bytes);
  }
  static __device__ __forceinline__ Pair pair(const Place& place, std::size_t on = 0) {
    return {*reinterpret_cast<const uint2*>(place.low + on * 6),
            *reinterpret_cast<const std::uint32_t*>(place.high + on * 6)};
  }
  static __device__ __forceinline__ Pair stream_pair(const Place& place, std::size_t on = 0) {
    return {__ldcs(reinterpret_cast<const uint2*>(place.low + on * 6)),
            __ldcs(reinterpret_cast<const std::uint32_t*>(place.high + on * 6))};
  }
  static __device__ __forceinline__ void set_pair(std::uint64_t* view, std::size_t word, std::uint64_t first,
                                                  std::uint64_t second) {
    const Place to = place(view, word);
    *reinterpret_cast<uint2*>(const_cast<unsigned char*>(to.low)) = {static_cast<std::uint32_t>(first),
                                                                     static_cast<std::uint32_t>(second)};
    *reinterpret_cast<std::uint32_t*>(const_cast<unsigned char*>(to.high)) =
        static_cast<std::uint32_t>(first >> 32 | second >> 32 << 16);
  }
};

__device__ __forceinline__ std::uint64_t first_of(const ulonglong2& pair) { return pair.x; }
__device__ __forceinline__ std::uint64_t second_of(const ulonglong2& pair) { return pair.y; }
__device__ __forceinline__ std::uint64_t first_of(const SixBytes::Pair& pair) {
  return std::uint64_t{pair.high & 0xffffU} << 32 | pair.low.x;
}
__device__ __forceinline__ std::uint64_t second_of(const SixBytes::Pair& pair) {
  return std::uint64_t{pair.high >> 16} << 32 | pair.low.y;
}

/// Calls run(storage) for that of the word.
template <typename Run>
void with_storage(Word word, const Run& run) {
  if (word == Word::u48) return run(SixBytes{});
  run(EightBytes{});
}

}  // namespace hemera::poly::cuda
