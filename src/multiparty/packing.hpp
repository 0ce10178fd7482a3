// Values of a few bits each, one behind the other, lowest bit first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiparty {

static_assert(std::endian::native == std::endian::little);

/// Writes values of up to 64 bits into bytes that hold them all.
class Packer {
 public:
  explicit Packer(std::span<std::byte> bytes) : bytes_(bytes) {}

  void put(std::uint64_t value, int bits) {
    pending_ |= static_cast<arith::uint128>(value) << pending_bits_;
    pending_bits_ += bits;
    if (pending_bits_ < 64) return;
    const auto word = static_cast<std::uint64_t>(pending_);
    std::memcpy(bytes_.data() + at_, &word, sizeof(word));
    at_ += sizeof(word);
    pending_ >>= 64;
    pending_bits_ -= 64;
  }
  /// Writes what is left; bits of no value are 0. Returns the number of bytes.
  std::size_t finish() {
    for (; pending_bits_ > 0; pending_bits_ -= 8) {
      bytes_[at_++] = static_cast<std::byte>(static_cast<std::uint64_t>(pending_) & 0xFF);
      pending_ >>= 8;
    }
    return at_;
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
  arith::uint128 pending_ = 0;
  int pending_bits_ = 0;
};

/// Reads them. The caller has made sure that the bytes are there.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t next(int bits) {
    while (pending_bits_ < bits) {
      std::uint64_t word = 0;
      const std::size_t count = bytes_.size() - at_ < sizeof(word) ? bytes_.size() - at_ : sizeof(word);
      std::memcpy(&word, bytes_.data() + at_, count);
      pending_ |= static_cast<arith::uint128>(word) << pending_bits_;
      at_ += count;
      pending_bits_ += static_cast<int>(8 * count);
    }
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const auto value = static_cast<std::uint64_t>(pending_) & mask;
    pending_ >>= bits;
    pending_bits_ -= bits;
    return value;
  }
  /// Whether the bits that no value has are 0.
  [[nodiscard]] bool ends_clean() const { return pending_ == 0; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  arith::uint128 pending_ = 0;
  int pending_bits_ = 0;
};

}  // namespace hemera::multiparty
