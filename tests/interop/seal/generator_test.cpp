#include "interop/seal/generator.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "interop/seal/blake2b.hpp"

namespace hemera::interop::seal {
namespace {

std::vector<std::byte> hash(const std::string& message, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  blake2b(out, std::as_bytes(std::span(message.data(), message.size())));
  return out;
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// RFC 7693, appendix A, and the lengths around a block (the digests of Python's hashlib).
TEST(SealBlake2b, DigestsAreKnown) {
  EXPECT_EQ(hex(hash("abc", 64)),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  EXPECT_EQ(hex(hash("", 32)), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hex(hash(std::string(128, 'x'), 32)),
            "164ffb7089bae6f5a62fb0795e751dc9e88eac92e1a5b2fafe93a25abf2d9c3b");
  EXPECT_EQ(hex(hash(std::string(129, 'x'), 32)),
            "03b0758fa71d249c846c2304a2b9996e6ae66ffa7e5528f9e612e089a360fc8d");
}

// SHAKE-256 with a modulus that refuses a ninth of all words, and one that refuses hardly any; from an
// independent program. (Blake2xb: the vectors hold seeds beside what SEAL made of them.)
TEST(SealSeeds, WordsThatAreNotUniformAreReplaced) {
  Seed seed{.kind = GeneratorKind::shake256};
  for (std::size_t i = 0; i < seed.bytes.size(); ++i) seed.bytes[i] = static_cast<std::byte>(i);
  const std::vector<std::uint64_t> moduli{2049638230412172402, 65537};
  std::vector<std::uint64_t> words(1200);
  expand(seed, moduli, words);
  EXPECT_EQ(words[0], 0x14f57a747a59da32U);
  EXPECT_EQ(words[599], 0x961ecc003498517U);
  EXPECT_EQ(words[600], 0xd9bbU);
  EXPECT_EQ(words[1199], 0x9d79U);
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::uint64_t{0}), 0xdfcd331cf8cd786eU);
}

}  // namespace
}  // namespace hemera::interop::seal
