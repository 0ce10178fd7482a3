#include "interop/seal/generator.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "hemera/runtime/error.hpp"
#include "interop/seal/blake2b.hpp"
#include "interop/seal/words.hpp"

namespace hemera::interop::seal {
namespace {

constexpr std::size_t part_bytes = 4096;

void shake256(std::span<std::byte> out, std::span<const std::byte> message) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_shake256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), message.data(), message.size()) != 1 ||
      EVP_DigestFinalXOF(context.get(), reinterpret_cast<unsigned char*>(out.data()), out.size()) != 1) {
    throw DeviceError("OpenSSL's libcrypto did not compute SHAKE-256; check its installation");
  }
}

// The stream of a seed: part i is made of the seed and the number i.
class Stream {
 public:
  explicit Stream(const Seed& seed) : seed_(seed) {}

  void read(std::span<std::byte> out) {
    while (!out.empty()) {
      if (position_ == part_bytes) refill();
      const std::size_t count = std::min(out.size(), part_bytes - position_);
      std::copy_n(part_.begin() + static_cast<std::ptrdiff_t>(position_), count, out.begin());
      position_ += count;
      out = out.subspan(count);
    }
  }

  std::uint64_t word() {
    std::uint64_t value = 0;
    read(std::as_writable_bytes(std::span(&value, 1)));
    swap_to_host(std::span(&value, 1));
    return value;
  }

 private:
  void refill() {
    std::array<std::byte, sizeof(std::uint64_t)> number;
    for (std::size_t i = 0; i < number.size(); ++i)
      number[i] = static_cast<std::byte>(part_number_ >> (8 * i));
    if (seed_.kind == GeneratorKind::blake2xb) {
      blake2xb(part_, number, seed_.bytes);
    } else {
      std::array<std::byte, seed_bytes + sizeof(std::uint64_t)> message;
      std::copy(seed_.bytes.begin(), seed_.bytes.end(), message.begin());
      std::copy(number.begin(), number.end(), message.begin() + seed_bytes);
      shake256(part_, message);
    }
    ++part_number_;
    position_ = 0;
  }

  const Seed& seed_;
  std::array<std::byte, part_bytes> part_{};
  std::size_t position_ = part_bytes;
  std::uint64_t part_number_ = 0;
};

}  // namespace

void expand(const Seed& seed, std::span<const std::uint64_t> moduli, std::span<std::uint64_t> residues) {
  Stream stream(seed);
  stream.read(std::as_writable_bytes(residues));
  swap_to_host(residues);
  const std::size_t degree = residues.size() / moduli.size();
  for (std::size_t limb = 0; limb < moduli.size(); ++limb) {
    const std::uint64_t modulus = moduli[limb];
    const std::uint64_t bound = ~std::uint64_t{0} - ~std::uint64_t{0} % modulus - 1;
    for (std::uint64_t& word : residues.subspan(limb * degree, degree)) {
      while (word >= bound) word = stream.word();
      word %= modulus;
    }
  }
}

}  // namespace hemera::interop::seal
