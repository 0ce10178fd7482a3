// The facts of a device that the CUDA backend's choices follow from. Host C++: no header of CUDA.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hemera::poly::cuda {

/// A device as its driver describes it, or as a test gives it. The numbers of an H200 stand here.
struct Card {
  std::size_t capability = 90;  // compute capability: 10 major + minor
  std::size_t multiprocessors = 132;
  std::size_t clock_mhz = 1980;                             // of multiprocessors, at most
  std::size_t shared_bytes_of_multiprocessor = 228 * 1024;  // shared memory
  std::size_t shared_bytes_of_block = 227 * 1024;           // at most, if a kernel asks for it
  std::size_t cache_bytes = std::size_t{50} << 20;          // of the second level
  std::size_t bandwidth = 4800;                             // of its memory, in GB/s
  std::size_t single_to_double = 2;                         // FP32 operations in the time of one of FP64
  bool launches_clusters = true;                            // of thread blocks

  bool operator==(const Card&) const = default;
};

/// The device of this index. Throws DeviceError if the driver does not describe it.
Card card_of_device(int device);

/// Cards that are known by name, for tests and for forced choices; their makers' data sheets have the
/// numbers.
struct NamedCard {
  std::string_view name;
  Card card;
};
std::span<const NamedCard> named_cards();

/// Kinds of cards that have numbers of their own (docs/gpu.md).
enum class CardClass {
  ampere,           // A100: compute capability 8.0
  small_ampere,     // 8.6 and 8.7
  ada,              // 8.9
  hopper,           // H100 and H200: 9.0
  blackwell,        // of data centres: 10.x
  small_blackwell,  // 12.x, and what is newer
};
CardClass class_of(const Card& card);
std::string_view name(CardClass kind);

}  // namespace hemera::poly::cuda
