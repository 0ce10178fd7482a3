// WebAssembly: without OpenSSL. Stores to volatile memory stay.
#include <cstddef>

#include "hemera/runtime/memory.hpp"

namespace hemera::runtime {

void secure_zero(void* data, std::size_t bytes) noexcept {
  auto* const out = static_cast<volatile unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = 0;
}

}  // namespace hemera::runtime
