// Values of a few bits each, one behind the other, lowest bit first.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiparty {

static_assert(std::endian::native == std::endian::little);

/// Writes values of `bits` bits, up to 64, into bytes that hold them all.
class Packer {
 public:
  Packer(std::span<std::byte> bytes, int bits) : bytes_(bytes), bits_(bits) {}

  void put(std::uint64_t value) {
    pending_ |= static_cast<arith::uint128>(value) << pending_bits_;
    pending_bits_ += bits_;
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
  int bits_;
  std::size_t at_ = 0;
  arith::uint128 pending_ = 0;
  int pending_bits_ = 0;
};

/// Values that stand so, read at any place. The caller has made sure that the bytes are there.
class PackedValues {
 public:
  PackedValues(std::span<const std::byte> bytes, int bits)
      : bytes_(bytes),
        bits_(static_cast<std::size_t>(bits)),
        mask_(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {}

  std::uint64_t operator[](std::size_t i) const { return bits_from(i * bits_) & mask_; }
  /// The values from number `first` on, a multiple of 8, as many as `out` has.
  void read(std::size_t first, std::span<std::uint64_t> out) const {
    constexpr std::size_t group = 8;
    std::array<std::size_t, group> at, shift;  // of a group, which begins with a byte
    for (std::size_t k = 0; k < group; ++k) at[k] = k * bits_ / 8, shift[k] = k * bits_ % 8;
    std::size_t i = 0;
    // A value of up to 57 bits lies in the eight bytes from its first one on.
    if (bits_ <= 57) {
      const std::byte* from = bytes_.data() + first / 8 * bits_;
      for (; i + group <= out.size() &&
             (first + i) / 8 * bits_ + at[group - 1] + sizeof(std::uint64_t) <= bytes_.size();
           i += group, from += bits_) {
        for (std::size_t k = 0; k < group; ++k) {
          std::uint64_t word;
          std::memcpy(&word, from + at[k], sizeof(word));
          out[i + k] = (word >> shift[k]) & mask_;
        }
      }
    }
    for (; i < out.size(); ++i) out[i] = (*this)[first + i];
  }
  /// The bytes of so many values, a multiple of 8.
  [[nodiscard]] std::size_t bytes_of(std::size_t count) const { return count / 8 * bits_; }
  /// Whether the bits that no value has are 0.
  [[nodiscard]] bool ends_clean(std::size_t count) const {
    const std::size_t end = count * bits_;
    return end / 8 >= bytes_.size() || bits_from(end) == 0;
  }

 private:
  // 64 bits from this one on: 0 beyond the last byte.
  [[nodiscard]] std::uint64_t bits_from(std::size_t bit) const {
    const std::size_t at = bit / 8, shift = bit % 8;
    arith::uint128 word = 0;
    if (bytes_.size() - at >= sizeof(word)) {
      std::memcpy(&word, bytes_.data() + at, sizeof(word));
    } else {
      std::memcpy(&word, bytes_.data() + at, bytes_.size() - at);
    }
    return static_cast<std::uint64_t>(word >> shift);
  }

  std::span<const std::byte> bytes_;
  std::size_t bits_;
  std::uint64_t mask_;
};

}  // namespace hemera::multiparty
