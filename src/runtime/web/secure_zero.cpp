// WebAssembly: without OpenSSL. The compiler must take it that something reads the zeros.
#include <cstddef>
#include <cstring>

#include "hemera/runtime/memory.hpp"

namespace hemera::runtime {

void secure_zero(void* data, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::memset(data, 0, bytes);
  __asm__ __volatile__("" : : "r"(data) : "memory");
}

}  // namespace hemera::runtime
