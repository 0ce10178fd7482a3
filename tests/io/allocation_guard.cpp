#include "io/allocation_guard.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

struct Count {
  bool active = false;
  std::size_t total = 0;
  std::size_t largest = 0;
};
thread_local Count count;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (count.active) {
    count.total += bytes;
    count.largest = std::max(count.largest, bytes);
  }
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = size < bytes ? nullptr : std::aligned_alloc(alignment, size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hemera::io::test {

AllocationGuard::AllocationGuard() { count = {.active = true}; }
AllocationGuard::~AllocationGuard() { count.active = false; }
std::size_t AllocationGuard::total() const { return count.total; }
std::size_t AllocationGuard::largest() const { return count.largest; }

}  // namespace hemera::io::test
