#include "hemera/runtime/sha256.hpp"

#include <openssl/evp.h>

#include "hemera/runtime/error.hpp"

namespace hemera::runtime {

Sha256Digest sha256(std::span<const std::byte> data) {
  Sha256Digest digest{};
  unsigned int length = 0;
  if (EVP_Digest(data.data(), data.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1 ||
      length != digest.size()) {
    throw DeviceError("OpenSSL's libcrypto did not compute a SHA-256 digest; check its installation");
  }
  return digest;
}

}  // namespace hemera::runtime
