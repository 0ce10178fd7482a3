#include <openssl/crypto.h>

#include <cstring>

#include "hemera/runtime/memory.hpp"

namespace hemera::runtime {

void secure_zero(void* data, std::size_t bytes) noexcept {
  // OPENSSL_cleanse writes word by word, at half of memset's speed or less. Whoever is called with the
  // address may read all of the block, so the stores before the call stay.
  constexpr std::size_t large = 4096, cache_line = 64;
  if (bytes >= large) std::memset(data, 0, bytes);
  OPENSSL_cleanse(data, bytes >= large ? cache_line : bytes);
}

}  // namespace hemera::runtime
