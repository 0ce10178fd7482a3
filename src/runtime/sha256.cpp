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

Sha256Digest sha256_of_pieces(std::span<const std::byte> data) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 16, most_threads = 16;
  constexpr std::size_t pieces_of_thread = 2;  // at least: some 80 us for the 10 that a thread takes to begin
  std::vector<Sha256Digest> digests((data.size() + piece_bytes - 1) / piece_bytes);
  const std::size_t threads = std::min({(digests.size() + pieces_of_thread - 1) / pieces_of_thread,
                                        most_threads, static_cast<std::size_t>(available_processors())});
  const auto take = [&](std::size_t thread) {
    for (std::size_t i = thread; i < digests.size(); i += threads) {
      digests[i] =
          sha256(data.subspan(i * piece_bytes, std::min(piece_bytes, data.size() - i * piece_bytes)));
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    others.push_back(std::async(std::launch::async, take, thread));
  }
  if (threads > 0) take(0);
  for (std::future<void>& other : others) other.get();
  return sha256(std::as_bytes(std::span(digests)));
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
