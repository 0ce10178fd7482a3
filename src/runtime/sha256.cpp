#include "hemera/runtime/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "hemera/runtime/error.hpp"

namespace hemera::runtime {
namespace {

void require_computed(bool computed) {
  if (computed) return;
  throw DeviceError("OpenSSL's libcrypto did not compute a SHA-256 digest; check its installation");
}

}  // namespace

Sha256Digest sha256(std::span<const std::byte> data) {
  Sha256Digest digest{};
  unsigned int length = 0;
  require_computed(EVP_Digest(data.data(), data.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1 &&
                   length == digest.size());
  return digest;
}

Sha256::Sha256() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  require_computed(state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::span<const std::byte> data) {
  require_computed(EVP_DigestUpdate(state_.get(), data.data(), data.size()) == 1);
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  unsigned int length = 0;
  require_computed(EVP_DigestFinal_ex(state_.get(), digest.data(), &length) == 1 && length == digest.size());
  return digest;
}

void hmac_sha256(std::span<std::uint8_t, 32> out, std::span<const std::byte> key,
                 std::span<const std::byte> data) {
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), out.data(),
           &length) == nullptr ||
      length != out.size()) {
    throw DeviceError("OpenSSL's libcrypto did not compute an HMAC; check its installation");
  }
}

}  // namespace hemera::runtime
