// WebAssembly: SHA-256 (FIPS 180-4) and HMAC (RFC 2104) without OpenSSL.
#include "hemera/runtime/sha256.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "hemera/runtime/memory.hpp"

namespace hemera::runtime {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::size_t block_bytes = 64;

// What it holds is secret when its input is: it zeroes itself.
class Hash {
 public:
  Hash() = default;
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  ~Hash() { secure_zero(this, sizeof(*this)); }

  void add(std::span<const std::byte> data) {
    bits_ += std::uint64_t{8} * data.size();
    for (const std::byte byte : data) put(std::to_integer<std::uint8_t>(byte));
  }

  void end(std::span<std::uint8_t, 32> out) {
    const std::uint64_t bits = bits_;
    put(0x80);
    while (used_ != block_bytes - 8) put(0);
    for (int shift = 56; shift >= 0; shift -= 8) put(static_cast<std::uint8_t>(bits >> shift));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
  }

 private:
  void put(std::uint8_t byte) {
    block_[used_++] = byte;
    if (used_ == block_bytes) {
      compress();
      used_ = 0;
    }
  }

  void compress() {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | block_[4 * i + byte];
    }
    for (std::size_t i = 16; i < w.size(); ++i) {
      const std::uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
      const std::uint32_t first =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + constants[i] + w[i];
      const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
    secure_zero(w.data(), sizeof(w));
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, block_bytes> block_{};
  std::size_t used_ = 0;
  std::uint64_t bits_ = 0;
};

}  // namespace

Sha256Digest sha256(std::span<const std::byte> data) {
  Sha256Digest digest{};
  Hash hash;
  hash.add(data);
  hash.end(digest);
  return digest;
}

void hmac_sha256(std::span<std::uint8_t, 32> out, std::span<const std::byte> key,
                 std::span<const std::byte> data) {
  std::array<std::uint8_t, block_bytes> pad{};
  if (key.size() > pad.size()) {
    Hash hash;
    hash.add(key);
    hash.end(std::span(pad).first<32>());
  } else {
    std::transform(key.begin(), key.end(), pad.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  }
  Sha256Digest inner{};
  for (std::uint8_t& byte : pad) byte ^= 0x36;
  {
    Hash hash;
    hash.add(std::as_bytes(std::span(pad)));
    hash.add(data);
    hash.end(inner);
  }
  for (std::uint8_t& byte : pad) byte ^= 0x36 ^ 0x5c;
  Hash hash;
  hash.add(std::as_bytes(std::span(pad)));
  hash.add(std::as_bytes(std::span(inner)));
  hash.end(out);
  secure_zero(pad.data(), pad.size());
  secure_zero(inner.data(), inner.size());
}

}  // namespace hemera::runtime
