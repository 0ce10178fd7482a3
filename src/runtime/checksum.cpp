#include "hemera/runtime/checksum.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <future>
#include <memory>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

Checksum checksum(std::span<const std::byte> data) {
  struct Free {
    void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  static const std::unique_ptr<EVP_MAC, Free> poly1305(EVP_MAC_fetch(nullptr, "POLY1305", nullptr));
  static_assert(sizeof(checksum_key) - 1 == 32);
  Checksum out{};
  std::size_t length = 0;
  const std::unique_ptr<EVP_MAC_CTX, Free> context(poly1305 ? EVP_MAC_CTX_new(poly1305.get()) : nullptr);
  if (context == nullptr ||
      EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(checksum_key), 32, nullptr) != 1 ||
      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(data.data()), data.size()) != 1 ||
      EVP_MAC_final(context.get(), out.data(), &length, out.size()) != 1 || length != out.size()) {
    throw DeviceError("OpenSSL's libcrypto did not compute Poly1305; check its installation");
  }
  return out;
}

std::vector<Checksum> checksums_of_pieces(std::span<const std::span<const std::byte>> parts) {
  constexpr std::size_t most_threads = 16;
  constexpr std::size_t pieces_of_thread = 16;  // at least: 100 us for the 10 that a thread takes to begin
  std::vector<std::span<const std::byte>> pieces;
  for (const std::span<const std::byte> part : parts) {
    for (std::size_t begin = 0; begin < part.size(); begin += checksum_piece_bytes) {
      pieces.push_back(part.subspan(begin, std::min(checksum_piece_bytes, part.size() - begin)));
    }
  }
  std::vector<Checksum> found(pieces.size());
  const std::size_t threads = std::min({(pieces.size() + pieces_of_thread - 1) / pieces_of_thread,
                                        most_threads, static_cast<std::size_t>(available_processors())});
  const auto take = [&](std::size_t thread) {
    for (std::size_t i = thread; i < pieces.size(); i += threads) found[i] = checksum(pieces[i]);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    others.push_back(std::async(std::launch::async, take, thread));
  }
  if (threads > 0) take(0);
  for (std::future<void>& other : others) other.get();
  return found;
}

}  // namespace hemera::runtime
