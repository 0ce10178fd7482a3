#include "c/buffer.hpp"

#include <cstdlib>
#include <new>

#include "hemera/runtime/memory.hpp"

namespace hemera::c {

void* allocate(hemera_buffer* out, std::size_t bytes) {
  void* const data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  *out = {data, bytes};
  return data;
}

void give_bytes(hemera_buffer* out, std::span<const std::byte> bytes) {
  void* const data = allocate(out, bytes.size());
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
}

}  // namespace hemera::c

void hemera_buffer_free(hemera_buffer* buffer) {
  if (buffer == nullptr || buffer->data == nullptr) return;
  hemera::runtime::secure_zero(buffer->data, buffer->bytes);
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}
