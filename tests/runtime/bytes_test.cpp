#include "hemera/runtime/bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "refusals.hpp"

namespace hemera::runtime {
namespace {

std::vector<std::byte> sample() {
  ByteWriter writer;
  writer.u8(0xA5);
  writer.u16(0x0102);
  writer.u32(0x03040506);
  writer.u64(0x0708090A0B0C0D0E);
  writer.i64(-2);
  writer.boolean(true);
  writer.f64(-0.0);
  writer.string("limb");
  writer.u32s(std::array<std::uint32_t, 2>{7, 0xFFFFFFFF});
  writer.u64s(std::array<std::uint64_t, 1>{~std::uint64_t{0}});
  return writer.take();
}

void read_sample(std::span<const std::byte> data) {
  ByteReader reader(data, "the sample");
  EXPECT_EQ(reader.u8(), 0xA5);
  EXPECT_EQ(reader.u16(), 0x0102);
  EXPECT_EQ(reader.u32(), 0x03040506U);
  EXPECT_EQ(reader.u64(), 0x0708090A0B0C0D0EU);
  EXPECT_EQ(reader.i64(), -2);
  EXPECT_TRUE(reader.boolean());
  const double zero = reader.f64();
  EXPECT_TRUE(zero == 0 && std::signbit(zero));
  EXPECT_EQ(reader.string(), "limb");
  EXPECT_EQ(reader.u32s(), (std::vector<std::uint32_t>{7, 0xFFFFFFFF}));
  EXPECT_EQ(reader.u64s(), (std::vector<std::uint64_t>{~std::uint64_t{0}}));
  reader.expect_end();
}

TEST(Bytes, RoundTripAndLittleEndian) {
  const auto data = sample();
  read_sample(data);
  EXPECT_EQ(data[1], std::byte{0x02});
  EXPECT_EQ(data[2], std::byte{0x01});
  EXPECT_EQ(data[3], std::byte{0x06});
  EXPECT_EQ(data[7], std::byte{0x0E});
  EXPECT_EQ(data.size(), 1U + 2 + 4 + 8 + 8 + 1 + 8 + (4 + 4) + (4 + 8) + (4 + 8));
}

TEST(Bytes, EveryTruncationIsAFormatError) {
  const auto data = sample();
  for (std::size_t size = 0; size < data.size(); ++size) {
    EXPECT_THROW(read_sample(std::span(data).first(size)), FormatError) << size;
  }
}

TEST(Bytes, LeftOverBytesAndBadValuesAreFormatErrors) {
  auto data = sample();
  data.push_back(std::byte{0});
  EXPECT_THROW(read_sample(data), FormatError);
  const std::array<std::byte, 1> two{std::byte{2}};
  EXPECT_THROW(static_cast<void>(ByteReader(two).boolean()), FormatError);
  // One byte more than there are.
  ByteReader part(std::span<const std::byte>(data).first(3), "a part");
  EXPECT_THROW(static_cast<void>(part.bytes(4)), FormatError);
  EXPECT_EQ(part.bytes(3).size(), 3U);
}

TEST(Bytes, AHugeLengthIsRefusedBeforeAllocation) {
  ByteWriter writer;
  writer.u32(0xFFFFFFFF);
  writer.u64(1);
  const auto data = writer.take();
  EXPECT_THROW(static_cast<void>(ByteReader(data).u64s()), FormatError);
  EXPECT_THROW(static_cast<void>(ByteReader(data).u32s()), FormatError);
  EXPECT_THROW(static_cast<void>(ByteReader(data).string()), FormatError);
  EXPECT_THROW(static_cast<void>(ByteReader(data).count(1)), FormatError);
  tests::expect_error<FormatError>(
      [&] {
        ByteReader reader(data, "the sample");
        static_cast<void>(reader.u64s());
      },
      {"the sample: a list of 4294967295 elements"});
}

TEST(Sha256, KnownAnswersOfFips180) {
  const auto hex = [](std::string_view text) { return to_hex(sha256(std::as_bytes(std::span(text)))); };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  // In pieces that end within a block and behind one, and none.
  const std::string million(1'000'000, 'a');
  Sha256 hash;
  for (std::size_t at = 0, size = 0; at < million.size(); at += size++) {
    hash.update(std::as_bytes(std::span(million)).subspan(at, std::min(size, million.size() - at)));
  }
  EXPECT_EQ(to_hex(hash.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hmac, KnownAnswers) {
  // RFC 4231, test cases 2 and 6 (a key longer than a block).
  const auto hmac = [](const std::string& key, const std::string& data) {
    std::array<std::uint8_t, 32> digest{};
    hmac_sha256(digest, std::as_bytes(std::span(key)), std::as_bytes(std::span(data)));
    return to_hex(digest);
  };
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace hemera::runtime
