// What the emulated programs of another machine take of libraries that are not there
// (cmake/HemeraCrossTests.cmake).
#include <cstddef>

/// OpenSSL's: zeroes `bytes` bytes, whatever the compiler knows of their use.
extern "C" void OPENSSL_cleanse(void* data, std::size_t bytes) {
  auto* const byte = static_cast<volatile unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) byte[i] = 0;
}
