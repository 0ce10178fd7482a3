// SHA-256 (FIPS 180-4), for the fingerprints of parameters, and HMAC with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_md_ctx_st;

namespace hemera::runtime {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// The SHA-256 digest of the bytes. Throws DeviceError when the system's OpenSSL refuses to compute it.
Sha256Digest sha256(std::span<const std::byte> data);

/// The digest of bytes that come piece by piece; not in WebAssembly. Throws DeviceError as sha256 does.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> data);
  /// The digest of all pieces; nothing may follow.
  [[nodiscard]] Sha256Digest finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> state_;
};

/// HMAC-SHA-256 (RFC 2104) of the bytes under the key, to `out`: no copy of it stays. Throws DeviceError when
/// the system's OpenSSL refuses to compute it.
void hmac_sha256(std::span<std::uint8_t, 32> out, std::span<const std::byte> key,
                 std::span<const std::byte> data);

}  // namespace hemera::runtime
