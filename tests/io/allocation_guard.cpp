#include "io/allocation_guard.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

struct Count {
  bool active = false;
  std::size_t total = 0;
  std::size_t largest = 0;
  std::span<const std::byte> watched = {};
  std::size_t found = 0;
};
thread_local Count count;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (count.active) {
    count.total += bytes;
    count.largest = std::max(count.largest, bytes);
  }
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = size < bytes ? nullptr : std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && count.active && !count.watched.empty()) {
    const std::span block(static_cast<const std::byte*>(memory), malloc_usable_size(memory));
    const auto& watched = count.watched;
    if (std::search(block.begin(), block.end(), watched.begin(), watched.end()) != block.end()) ++count.found;
  }
  std::free(memory);
}

}  // namespace

// The array forms call these. Those with nothrow do, too, but for AddressSanitizer's.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace hemera::io::test {

AllocationGuard::AllocationGuard() { count = {.active = true}; }
AllocationGuard::~AllocationGuard() { count = {}; }
std::size_t AllocationGuard::total() const { return count.total; }
std::size_t AllocationGuard::largest() const { return count.largest; }

void AllocationGuard::watch(std::span<const std::byte> bytes) {
  watched_.assign(bytes.begin(), bytes.end());
  count.watched = watched_;
}
std::size_t AllocationGuard::found() const { return count.found; }

}  // namespace hemera::io::test
