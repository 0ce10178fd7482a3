#include "hemera/runtime/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <future>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/thread_pool.hpp"

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

std::vector<Sha256Digest> sha256_of_pieces(std::span<const std::span<const std::byte>> parts) {
  constexpr std::size_t most_threads = 16;
  constexpr std::size_t pieces_of_thread = 2;  // at least: some 80 us for the 10 that a thread takes to begin
  std::vector<std::span<const std::byte>> pieces;
  for (const std::span<const std::byte> part : parts) {
    for (std::size_t begin = 0; begin < part.size(); begin += sha256_piece_bytes) {
      pieces.push_back(part.subspan(begin, std::min(sha256_piece_bytes, part.size() - begin)));
    }
  }
  std::vector<Sha256Digest> digests(pieces.size());
  const std::size_t threads = std::min({(pieces.size() + pieces_of_thread - 1) / pieces_of_thread,
                                        most_threads, static_cast<std::size_t>(available_processors())});
  const auto take = [&](std::size_t thread) {
    for (std::size_t i = thread; i < pieces.size(); i += threads) digests[i] = sha256(pieces[i]);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    others.push_back(std::async(std::launch::async, take, thread));
  }
  if (threads > 0) take(0);
  for (std::future<void>& other : others) other.get();
  return digests;
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
