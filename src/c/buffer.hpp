// Buffers that the C interface gives out.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "hemera/c/hemera.h"
#include "hemera/runtime/memory.hpp"

namespace hemera::c {

/// Memory of `bytes` bytes in `out`, for the caller to fill. Throws std::bad_alloc.
void* allocate(hemera_buffer* out, std::size_t bytes);
/// A copy of the bytes.
void give_bytes(hemera_buffer* out, std::span<const std::byte> bytes);

/// Zeroes the numbers, which are secret, when it goes.
template <typename Number>
class [[nodiscard]] ZeroAtEnd {
 public:
  explicit ZeroAtEnd(std::vector<Number>& numbers) : numbers_(numbers) {}
  ZeroAtEnd(const ZeroAtEnd&) = delete;
  ZeroAtEnd& operator=(const ZeroAtEnd&) = delete;
  ~ZeroAtEnd() { runtime::secure_zero(numbers_.data(), numbers_.size() * sizeof(Number)); }

 private:
  std::vector<Number>& numbers_;
};

}  // namespace hemera::c
