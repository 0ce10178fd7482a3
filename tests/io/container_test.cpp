#include "hemera/io/container.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "io/allocation_guard.hpp"
#include "io/compression.hpp"
#include "io/corruption.hpp"
#include "io/reseal.hpp"
#include "refusals.hpp"

namespace hemera::io {
namespace {

constexpr Tag first_tag("META");
constexpr Tag second_tag("RESI");

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed, int mask = 0xFF) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> out(size);
  std::generate(out.begin(), out.end(),
                [&] { return static_cast<std::byte>(random() & static_cast<unsigned>(mask)); });
  return out;
}

Fingerprint a_fingerprint() {
  Fingerprint fingerprint{};
  std::iota(fingerprint.begin(), fingerprint.end(), std::uint8_t{0xC0});
  return fingerprint;
}

std::vector<std::byte> make_file(const std::vector<std::byte>& first, const std::vector<std::byte>& second,
                                 int level) {
  MemorySink sink;
  Writer writer(sink, first_format, Kind::ciphertext, a_fingerprint(), 2);
  writer.section(first_tag, first);
  writer.section(second_tag, second, level);
  writer.finish();
  return sink.take();
}

// All bytes of all sections, as a loader would ask for them.
std::vector<std::byte> read_all(std::span<const std::byte> file) {
  Reader reader(file);
  reader.header().expect_kind(Kind::ciphertext);
  std::vector<std::byte> out;
  for (const Section& section : reader.sections()) {
    const Payload payload = section.payload();
    out.insert(out.end(), payload.bytes().begin(), payload.bytes().end());
  }
  return out;
}

// Bytes that are read piece by piece, as those of a file on a disk.
class Pieces final : public Content {
 public:
  explicit Pieces(std::span<const std::byte> file) : file_(file) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.size(); }
  void read(std::uint64_t begin, std::span<std::byte> data) const override {
    const auto piece = file_.subspan(static_cast<std::size_t>(begin), data.size());
    std::copy(piece.begin(), piece.end(), data.begin());
    largest_ = std::max(largest_, data.size());
  }
  [[nodiscard]] std::size_t largest() const { return largest_; }

 private:
  std::span<const std::byte> file_;
  mutable std::size_t largest_ = 0;
};

std::vector<std::byte> read_in_pieces(const Content& file) {
  Reader reader(file);
  reader.header().expect_kind(Kind::ciphertext);
  std::vector<std::byte> out;
  for (const Tag tag : {first_tag, second_tag}) {
    const Payload payload = reader.next(tag).payload();
    out.insert(out.end(), payload.bytes().begin(), payload.bytes().end());
  }
  reader.expect_end();
  return out;
}

// One section is in memory at a time, and what is refused in memory is refused piece by piece.
TEST(Container, PiecesOfAFileAreCheckedAsAWholeOneIs) {
  for (const int level : {0, 3}) {
    const auto file = make_file(random_bytes(70, 1), random_bytes(5000, 2, 0x0F), level);
    const Pieces pieces(file);
    EXPECT_EQ(read_in_pieces(pieces), read_all(file));
    EXPECT_LT(pieces.largest(), file.size() - 70);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Pieces truncated{std::span(file).first(size)};
      ASSERT_THROW(static_cast<void>(read_in_pieces(truncated)), FormatError) << size;
    }
    for (std::size_t at = 0; at < file.size(); ++at) {
      auto damaged = file;
      damaged[at] ^= std::byte{0x10};
      ASSERT_THROW(static_cast<void>(read_in_pieces(Pieces(damaged))), FormatError) << at;
    }
    auto longer = file;
    longer.push_back(std::byte{0});
    EXPECT_THROW(static_cast<void>(read_in_pieces(Pieces(longer))), FormatError);
    EXPECT_THROW(Reader(pieces).expect_end(), FormatError);
  }
}

std::string message_of(std::span<const std::byte> file) {
  return tests::refusal<FormatError>([&] { return read_all(file); });
}

TEST(Container, RoundTripOfSectionsOfAnySize) {
  for (const std::size_t size : {0, 1, 31, 32, 1000, 100000}) {
    for (const int level : {0, 1, 3, 19}) {
      const auto first = random_bytes(size / 3, 1);
      const auto second = random_bytes(size, 2, 0x0F);
      const auto file = make_file(first, second, level);
      Reader reader(file);
      EXPECT_EQ(reader.header().version, first_format);
      EXPECT_EQ(reader.header().kind, Kind::ciphertext);
      EXPECT_EQ(reader.header().fingerprint, a_fingerprint());
      EXPECT_EQ(reader.sections_left(), 2U);
      EXPECT_TRUE(std::ranges::equal(reader.next(first_tag).payload().bytes(), first));
      const Section& section = reader.next(second_tag);
      EXPECT_EQ(section.raw_bytes, size);
      EXPECT_EQ(section.compressed, level > 0 && size >= 1000) << size << " " << level;
      EXPECT_TRUE(std::ranges::equal(section.payload().bytes(), second));
      EXPECT_NO_THROW(reader.expect_end());
      EXPECT_EQ(file.size(),
                Header::bytes + 2 * Section::header_bytes + first.size() + section.stored.size());
    }
  }
}

TEST(Container, AFileIsTheSameBytesEveryTime) {
  const auto payload = random_bytes(5000, 3, 0x0F);
  EXPECT_EQ(make_file(payload, payload, 3), make_file(payload, payload, 3));
}

TEST(Container, ConstantBytesCompressToTheLimitAndLoad) {
  for (const std::size_t size : {1000, 4096, 100000, 1000000}) {
    const std::vector<std::byte> zeros(size);
    const auto file = make_file({}, zeros, 3);
    EXPECT_LE(file.size(), Header::bytes + 2 * Section::header_bytes + size / Reader::expansion_limit + 64);
    EXPECT_EQ(read_all(file), zeros);
  }
}

TEST(Container, EveryTruncationIsAFormatError) {
  const auto file = make_file(random_bytes(40, 4), random_bytes(3000, 5, 0x0F), 3);
  ASSERT_EQ(message_of(file), "");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_THROW(static_cast<void>(read_all(std::span(file).first(size))), FormatError) << size;
  }
}

TEST(Container, EveryBitFlipIsAFormatError) {
  auto file = make_file(random_bytes(40, 4), random_bytes(500, 5, 0x0F), 3);
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    file[bit / 8] ^= mask;
    EXPECT_THROW(static_cast<void>(read_all(file)), FormatError) << bit;
    file[bit / 8] ^= mask;
  }
}

TEST(Container, EveryRandomCorruptionIsAFormatErrorWithoutLargeAllocations) {
  std::mt19937_64 random(6);
  for (const int level : {0, 3}) {
    const auto good = make_file(random_bytes(40, 7), random_bytes(2000, 8, 0x0F), level);
    for (int round = 0; round < 10000; ++round) {
      auto file = good;
      const std::string what = test::corrupt(file, random);
      const test::AllocationGuard guard;
      EXPECT_THROW(static_cast<void>(read_all(file)), FormatError) << what;
      EXPECT_LT(guard.total(), 4 * file.size() + 4096) << what;
    }
  }
}

TEST(Container, CorruptionWithFittingChecksumsIsAnErrorOrLoadsWithinBounds) {
  std::mt19937_64 random(9);
  int refused = 0;
  for (const int level : {0, 3}) {
    const auto good = make_file(random_bytes(40, 7), random_bytes(2000, 8, 0x0F), level);
    for (int round = 0; round < 10000; ++round) {
      auto file = good;
      const std::string what = test::corrupt(file, random);
      test::reseal(file);
      const test::AllocationGuard guard;
      try {
        static_cast<void>(read_all(file));
      } catch (const FormatError&) {
        ++refused;
      } catch (const MismatchError&) {  // another kind
        ++refused;
      }
      EXPECT_LT(guard.total(), 4 * (Reader::expansion_limit + 1) * file.size() + 4096) << what;
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST(Container, ACompressedSectionMayNotExpandBeyondTheLimit) {
  // One gigabyte of zeros in a few kilobytes, with fitting checksums: refused by its header alone.
  auto file = make_file({}, std::vector<std::byte>(1 << 20), 3);
  const std::size_t section = Header::bytes + Section::header_bytes;
  for (const std::uint64_t raw : {std::uint64_t{1} << 30, ~std::uint64_t{0}}) {
    for (unsigned i = 0; i < 8; ++i) file[section + 16 + i] = static_cast<std::byte>((raw >> (8 * i)) & 0xFF);
    test::reseal(file);
    const test::AllocationGuard guard;
    EXPECT_TRUE(tests::says(message_of(file), "claims " + std::to_string(raw)));
    EXPECT_LT(guard.largest(), 4096U);
  }
}

TEST(Container, ACompressedSectionThatHoldsMoreOrLessThanItClaimsIsAFormatError) {
  const auto data = random_bytes(5000, 10, 0x0F);
  const auto packed = compress(data, 3, Reader::expansion_limit);
  EXPECT_EQ(decompress(packed, data.size()), data);
  EXPECT_THROW(static_cast<void>(decompress(packed, data.size() + 1)), FormatError);
  EXPECT_THROW(static_cast<void>(decompress(packed, data.size() - 1)), FormatError);
  EXPECT_THROW(static_cast<void>(decompress(data, data.size())), FormatError);
}

TEST(Container, SectionsOfOtherFilesAndPlacesDoNotPass) {
  const auto a = random_bytes(100, 11);
  const auto b = random_bytes(100, 12);
  const std::size_t step = Section::header_bytes + 100;
  // Two sections of one file exchanged, tags and all.
  auto file = make_file(a, b, 0);
  std::swap_ranges(file.begin() + Header::bytes,
                   file.begin() + static_cast<std::ptrdiff_t>(Header::bytes + step),
                   file.begin() + static_cast<std::ptrdiff_t>(Header::bytes + step));
  EXPECT_TRUE(tests::says(message_of(file), "checksum"));
  // The same section in a file of other parameters.
  MemorySink sink;
  Fingerprint other = a_fingerprint();
  other[5] ^= 1;
  Writer writer(sink, first_format, Kind::ciphertext, other, 2);
  writer.section(first_tag, a);
  writer.section(second_tag, b);
  auto foreign = sink.take();
  const auto mine = make_file(a, b, 0);
  std::copy(mine.begin() + Header::bytes, mine.end(), foreign.begin() + Header::bytes);
  EXPECT_TRUE(tests::says(message_of(foreign), "checksum"));
}

TEST(Container, MessagesTellWhatIsWrong) {
  const auto file = make_file(random_bytes(40, 13), random_bytes(50, 14), 0);
  const auto with = [&](std::size_t at, unsigned value, bool seal) {
    auto copy = file;
    copy[at] = static_cast<std::byte>(value);
    if (seal) test::reseal(copy);
    return message_of(copy);
  };
  EXPECT_EQ(message_of({}), "not a Hemera file: it is empty");
  EXPECT_TRUE(tests::says(message_of(std::span(file).first(8)), "truncated"));
  EXPECT_TRUE(
      tests::says(message_of(std::span(file).first(file.size() - 1)), "section 1 (RESI) is truncated"));
  EXPECT_TRUE(tests::says(with(0, 'P', false), "not a Hemera file"));
  EXPECT_TRUE(tests::says(with(20, 0x55, false), "header is damaged"));
  const std::string newer = with(8, newest_format + 1, true);
  EXPECT_TRUE(tests::says(newer, "format version " + std::to_string(newest_format + 1)));
  EXPECT_TRUE(tests::says(newer, "newer Hemera"));
  EXPECT_TRUE(tests::says(with(8, 0, true), "format version 0"));
  EXPECT_TRUE(tests::says(with(10, 99, true), "unknown kind of object, 99"));
  const auto next_kind = static_cast<unsigned>(last_kind) + 1;
  EXPECT_TRUE(tests::says(with(10, next_kind, true), "unknown kind of object, " + std::to_string(next_kind)));
  EXPECT_TRUE(tests::says(with(10, 0, true), "unknown kind of object, 0"));
  EXPECT_TRUE(tests::says(with(12, 1, true), "flags"));
  EXPECT_TRUE(tests::says(with(52, 1, true), "flags"));
  EXPECT_TRUE(tests::says(with(Header::bytes + 4, 2, true), "section 0 (META) uses flags"));
  EXPECT_TRUE(
      tests::says(with(Header::bytes + Section::header_bytes, 0x55, false), "section 0 (META) is damaged"));
  auto longer = file;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(tests::says(message_of(longer), "1 bytes follow the last section"));
  // Line ends changed by a text-mode transfer.
  auto text = file;
  text.erase(text.begin() + 4);
  EXPECT_TRUE(tests::says(message_of(text), "binary mode"));
}

TEST(Container, KindFingerprintAndSectionsAreChecked) {
  const auto file = make_file({}, {}, 0);
  Reader reader(file);
  EXPECT_NO_THROW(reader.header().expect_fingerprint(a_fingerprint()));
  tests::expect_error<MismatchError>([&] { reader.header().expect_fingerprint(Fingerprint{}); },
                                     {"c0c1c2c3", "00000000", "load it in a context made from"});
  EXPECT_EQ(tests::refusal<MismatchError>([&] { reader.header().expect_kind(Kind::secret_key); }),
            "the file holds a ciphertext where a secret key was expected");
  EXPECT_THROW(reader.next(second_tag), FormatError);
  reader.next(first_tag);
  EXPECT_THROW(reader.expect_end(), FormatError);
  reader.next(second_tag);
  EXPECT_THROW(reader.next(second_tag), FormatError);
  EXPECT_NO_THROW(reader.expect_end());
}

TEST(Container, TheWriterCountsItsSections) {
  MemorySink sink;
  Writer writer(sink, first_format, Kind::parameters, {}, 1);
  EXPECT_THROW(writer.finish(), ParameterError);
  EXPECT_THROW(writer.section(first_tag, {}, 20), ParameterError);
  EXPECT_THROW(writer.section(first_tag, {}, -1), ParameterError);
  writer.section(first_tag, {});
  EXPECT_NO_THROW(writer.finish());
  EXPECT_THROW(writer.section(first_tag, {}), ParameterError);
}

TEST(Container, TheFirstBytesOfVersionOneAreFixed) {
  const auto file = make_file({}, {}, 0);
  const std::array<std::uint8_t, 16> expected = {0x89, 'H', 'E', 'M', '\r', '\n', 0x1A, '\n',
                                                 1,    0,   3,   0,   0,    0,    0,    0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(file[i], std::byte{expected[i]}) << i;
  }
  EXPECT_EQ(file[16], std::byte{0xC0});
  EXPECT_EQ(file[48], std::byte{2});
}

TEST(Container, TagsPrint) {
  EXPECT_EQ(Tag("RESI").text(), "RESI");
  EXPECT_EQ(Tag(0x0041FF0AU).text(), "??A?");
}

}  // namespace
}  // namespace hemera::io
