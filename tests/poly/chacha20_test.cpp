// ChaCha20 against the known answers of RFC 8439, and the vector versions against the scalar one.
#include "poly/cpu/chacha20.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "poly/sampling_support.hpp"

namespace hemera::poly::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') digits.push_back(c);
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Bytes zeros_but(std::size_t size, std::size_t index, std::uint8_t value) {
  Bytes bytes(size, 0);
  bytes[index] = value;
  return bytes;
}

Bytes counting_key() {
  Bytes key(32);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

Bytes blocks_of(const cpu::SamplingKernels& kernels, const Bytes& key, std::uint32_t counter,
                const Bytes& nonce, std::size_t blocks) {
  std::uint32_t key_words[8];
  std::uint32_t nonce_words[3];
  std::memcpy(key_words, key.data(), sizeof key_words);
  std::memcpy(nonce_words, nonce.data(), sizeof nonce_words);
  Bytes out(blocks * cpu::chacha20_block_bytes + 1, 0xa5);
  kernels.chacha20_blocks(out.data(), key_words, counter, nonce_words, blocks);
  EXPECT_EQ(out.back(), 0xa5) << "wrote past the last block";
  out.pop_back();
  return out;
}

class ChaCha20 : public ::testing::TestWithParam<const cpu::SamplingKernels*> {};

TEST_P(ChaCha20, BlockFunctionOfSection232) {
  const Bytes nonce = from_hex("00 00 00 09 00 00 00 4a 00 00 00 00");
  EXPECT_EQ(
      blocks_of(*GetParam(), counting_key(), 1, nonce, 1),
      from_hex(
          "10 f1 e7 e4 d1 3b 59 15 50 0f dd 1f a3 20 71 c4 c7 d1 f4 c7 33 c0 68 03 04 22 aa 9a c3 d4 6c 4e"
          "d2 82 64 46 07 9f aa 09 14 c2 d7 05 d9 8b 02 a2 b5 12 9c d1 de 16 4e b9 cb d0 83 e8 a2 50 3c 4e"));
}

TEST_P(ChaCha20, EncryptionOfSection242) {
  const std::string text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
      "would "
      "be it.";
  const Bytes nonce = from_hex("00 00 00 00 00 00 00 4a 00 00 00 00");
  Bytes cipher = blocks_of(*GetParam(), counting_key(), 1, nonce, 2);
  cipher.resize(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) cipher[i] ^= static_cast<std::uint8_t>(text[i]);
  EXPECT_EQ(
      cipher,
      from_hex(
          "6e 2e 35 9a 25 68 f9 80 41 ba 07 28 dd 0d 69 81 e9 7e 7a ec 1d 43 60 c2 0a 27 af cc fd 9f ae 0b"
          "f9 1b 65 c5 52 47 33 ab 8f 59 3d ab cd 62 b3 57 16 39 d6 24 e6 51 52 ab 8f 53 0c 35 9f 08 61 d8"
          "07 ca 0d bf 50 0d 6a 61 56 a3 8e 08 8a 22 b6 5e 52 bc 51 4d 16 cc f8 06 81 8c e9 1a b7 79 37 36"
          "5a f9 0b bf 74 a3 5b e6 b4 0b 8e ed f2 78 5e 42 87 4d"));
}

TEST_P(ChaCha20, KeystreamsOfAppendixA1) {
  struct Answer {
    Bytes key;
    Bytes nonce;
    std::uint32_t counter;
    const char* block;
  };
  const Bytes zero_key(32, 0);
  const Bytes zero_nonce(12, 0);
  const Answer answers[] = {
      {zero_key, zero_nonce, 0,
       "76 b8 e0 ad a0 f1 3d 90 40 5d 6a e5 53 86 bd 28 bd d2 19 b8 a0 8d ed 1a a8 36 ef cc 8b 77 0d c7"
       "da 41 59 7c 51 57 48 8d 77 24 e0 3f b8 d8 4a 37 6a 43 b8 f4 15 18 a1 1c c3 87 b6 69 b2 ee 65 86"},
      {zero_key, zero_nonce, 1,
       "9f 07 e7 be 55 51 38 7a 98 ba 97 7c 73 2d 08 0d cb 0f 29 a0 48 e3 65 69 12 c6 53 3e 32 ee 7a ed"
       "29 b7 21 76 9c e6 4e 43 d5 71 33 b0 74 d8 39 d5 31 ed 1f 28 51 0a fb 45 ac e1 0a 1f 4b 79 4d 6f"},
      {zeros_but(32, 31, 0x01), zero_nonce, 1,
       "3a eb 52 24 ec f8 49 92 9b 9d 82 8d b1 ce d4 dd 83 20 25 e8 01 8b 81 60 b8 22 84 f3 c9 49 aa 5a"
       "8e ca 00 bb b4 a7 3b da d1 92 b5 c4 2f 73 f2 fd 4e 27 36 44 c8 b3 61 25 a6 4a dd eb 00 6c 13 a0"},
      {zeros_but(32, 1, 0xff), zero_nonce, 2,
       "72 d5 4d fb f1 2e c4 4b 36 26 92 df 94 13 7f 32 8f ea 8d a7 39 90 26 5e c1 bb be a1 ae 9a f0 ca"
       "13 b2 5a a2 6c b4 a6 48 cb 9b 9d 1b e6 5b 2c 09 24 a6 6c 54 d5 45 ec 1b 73 74 f4 87 2e 99 f0 96"},
      {zero_key, zeros_but(12, 11, 0x02), 0,
       "c2 c6 4d 37 8c d5 36 37 4a e2 04 b9 ef 93 3f cd 1a 8b 22 88 b3 df a4 96 72 ab 76 5b 54 ee 27 c7"
       "8a 97 0e 0e 95 5c 14 f3 a8 8e 74 1b 97 c2 86 f7 5f 8f c2 99 e8 14 83 62 fa 19 8a 39 53 1b ed 6d"}};
  for (const Answer& answer : answers) {
    EXPECT_EQ(blocks_of(*GetParam(), answer.key, answer.counter, answer.nonce, 1), from_hex(answer.block));
  }
}

// Each block of a call is the block of its counter, for every number of blocks around the vector lengths and
// for counters that wrap around.
TEST_P(ChaCha20, ManyBlocksAreSingleBlocks) {
  const Bytes key = counting_key();
  const Bytes nonce = from_hex("01 02 03 04 05 06 07 08 09 0a 0b 0c");
  for (const std::uint32_t counter : {0U, 1U, 0x7fffU, 0x7ffffffeU, 0xfffffff0U, 0xffffffffU}) {
    for (std::size_t blocks = 0; blocks <= 50; ++blocks) {
      const Bytes together = blocks_of(*GetParam(), key, counter, nonce, blocks);
      Bytes single;
      for (std::size_t i = 0; i < blocks; ++i) {
        const Bytes block =
            blocks_of(cpu::scalar_sampling, key, counter + static_cast<std::uint32_t>(i), nonce, 1);
        single.insert(single.end(), block.begin(), block.end());
      }
      ASSERT_EQ(together, single) << "counter " << counter << ", blocks " << blocks;
    }
  }
}

// Every bit of key, counter and nonce reaches the block.
TEST_P(ChaCha20, EveryInputBitMatters) {
  const Bytes key = counting_key();
  const Bytes nonce(12, 0x3c);
  const Bytes block = blocks_of(*GetParam(), key, 77, nonce, 1);
  for (std::size_t bit = 0; bit < 256; ++bit) {
    Bytes other = key;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(blocks_of(*GetParam(), other, 77, nonce, 1), block) << "key bit " << bit;
  }
  for (std::size_t bit = 0; bit < 96; ++bit) {
    Bytes other = nonce;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(blocks_of(*GetParam(), key, 77, other, 1), block) << "nonce bit " << bit;
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    EXPECT_NE(blocks_of(*GetParam(), key, 77U ^ (1U << bit), nonce, 1), block) << "counter bit " << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, ChaCha20, ::testing::ValuesIn(available_sampling_kernels()),
                         instruction_set_name);

}  // namespace
}  // namespace hemera::poly::testing
