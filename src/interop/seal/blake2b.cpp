#include "interop/seal/blake2b.hpp"

#include <algorithm>
#include <bit>

namespace hemera::interop::seal {
namespace {

constexpr std::size_t block_bytes = 128;
constexpr std::size_t rounds = 12;

// RFC 7693, section 2.6: those of SHA-512.
constexpr std::array<std::uint64_t, 8> initial{0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                               0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F,
                                               0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};

// RFC 7693, section 2.7.
constexpr std::array<std::array<std::uint8_t, 16>, 10> schedule{{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};

std::uint64_t load_word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= std::to_integer<std::uint64_t>(bytes[8 * index + i]) << (8 * i);
  return word;
}

// The parameter block (RFC 7693, section 2.8; BLAKE2X, section 2) as the words that differ from 0.
struct ParameterBlock {
  std::size_t digest_bytes = 0;
  std::size_t key_bytes = 0;
  std::uint64_t fanout = 1;
  std::uint64_t depth = 1;
  std::uint64_t leaf_bytes = 0;
  std::uint64_t node_offset = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t inner_bytes = 0;

  [[nodiscard]] std::uint64_t first() const {
    return digest_bytes | key_bytes << 8 | fanout << 16 | depth << 24 | leaf_bytes << 32;
  }
  [[nodiscard]] std::uint64_t second() const { return node_offset | output_bytes << 32; }
  [[nodiscard]] std::uint64_t third() const { return inner_bytes << 8; }
};

class Hash {
 public:
  explicit Hash(const ParameterBlock& block) {
    state_ = initial;
    state_[0] ^= block.first();
    state_[1] ^= block.second();
    state_[2] ^= block.third();
  }

  void update(std::span<const std::byte> data) {
    while (!data.empty()) {
      // The last block is compressed with its flag, so a full one waits for more.
      if (filled_ == block_bytes) {
        total_ += block_bytes;
        compress(false);
        filled_ = 0;
      }
      const std::size_t count = std::min(block_bytes - filled_, data.size());
      std::copy_n(data.begin(), count, buffer_.begin() + static_cast<std::ptrdiff_t>(filled_));
      filled_ += count;
      data = data.subspan(count);
    }
  }

  void finish(std::span<std::byte> out) {
    total_ += filled_;
    std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.end(), std::byte{0});
    compress(true);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::byte>(state_[i / 8] >> (8 * (i % 8)) & 0xFF);
    }
  }

 private:
  void compress(bool last) {
    std::array<std::uint64_t, 16> message;
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = load_word(buffer_, i);
    std::array<std::uint64_t, 16> v;
    std::copy(state_.begin(), state_.end(), v.begin());
    std::copy(initial.begin(), initial.end(), v.begin() + 8);
    v[12] ^= total_;
    if (last) v[14] = ~v[14];
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto& order = schedule[round % schedule.size()];
      const auto mix = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::size_t pair) {
        v[a] += v[b] + message[order[2 * pair]];
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] += v[b] + message[order[2 * pair + 1]];
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
      };
      mix(0, 4, 8, 12, 0);
      mix(1, 5, 9, 13, 1);
      mix(2, 6, 10, 14, 2);
      mix(3, 7, 11, 15, 3);
      mix(0, 5, 10, 15, 4);
      mix(1, 6, 11, 12, 5);
      mix(2, 7, 8, 13, 6);
      mix(3, 4, 9, 14, 7);
    }
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  std::array<std::uint64_t, 8> state_{};
  std::array<std::byte, block_bytes> buffer_{};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;  // messages here are far shorter than 2^64 bytes
};

}  // namespace

void blake2b(std::span<std::byte> out, std::span<const std::byte> message) {
  Hash hash({.digest_bytes = out.size()});
  hash.update(message);
  hash.finish(out);
}

void blake2xb(std::span<std::byte> out, std::span<const std::byte> message, std::span<const std::byte> key) {
  Hash root({.digest_bytes = blake2b_bytes, .key_bytes = key.size(), .output_bytes = out.size()});
  if (!key.empty()) {
    std::array<std::byte, block_bytes> padded{};
    std::copy(key.begin(), key.end(), padded.begin());
    root.update(padded);
  }
  root.update(message);
  std::array<std::byte, blake2b_bytes> digest;
  root.finish(digest);
  for (std::uint64_t node = 0; node * blake2b_bytes < out.size(); ++node) {
    const auto part =
        out.subspan(node * blake2b_bytes).first(std::min(blake2b_bytes, out.size() - node * blake2b_bytes));
    Hash leaf({.digest_bytes = part.size(),
               .fanout = 0,
               .depth = 0,
               .leaf_bytes = blake2b_bytes,
               .node_offset = node,
               .output_bytes = out.size(),
               .inner_bytes = blake2b_bytes});
    leaf.update(digest);
    leaf.finish(part);
  }
}

}  // namespace hemera::interop::seal
