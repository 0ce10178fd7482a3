// Every file is read to its last byte and written back; damage is told.
#include <gtest/gtest.h>

#include <random>
#include <type_traits>
#include <variant>

#include "hemera/runtime/error.hpp"
#include "interop/openfhe/binary_archive.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "io/allocation_guard.hpp"
#include "io/corruption.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<std::string> all_folders() {
  std::vector<std::string> result = test::folders;
  result.emplace_back("ckks-bootstrap-context");
  return result;
}

bool is_json(const std::string& name) { return name.ends_with(".json"); }

Bytes rewrite(AnyFile& file, Format format) {
  return std::visit([&](auto& object) { return write_file(object, format); }, file);
}

// Reads a file as the kind that `like` is.
Bytes reread(const AnyFile& like, std::span<const std::byte> file, Format format) {
  return std::visit(
      [&](const auto& sample) {
        auto object = read_file<std::decay_t<decltype(sample)>>(file);
        return write_file(object, format);
      },
      like);
}

std::size_t kind_of(const std::string& name) {
  if (name.starts_with("cryptocontext")) return 0;
  if (name.starts_with("public_key")) return 2;
  if (name.starts_with("secret_key")) return 3;
  if (name.starts_with("eval_mult_key")) return 4;
  if (name.starts_with("eval_automorphism_keys")) return 5;
  return 1;
}

TEST(OpenFheArchive, EveryFileIsReadAndWrittenBack) {
  std::size_t files = 0;
  for (const std::string& folder : all_folders()) {
    for (const std::string& name : test::names(folder)) {
      SCOPED_TRACE(folder + "/" + name);
      const Bytes original = test::get(folder, name);
      AnyFile file = read_any_file(original);
      EXPECT_EQ(file.index(), kind_of(name));
      const Bytes binary = rewrite(file, Format::binary);
      // OpenFHE does not promise it, but its writer refers back as this one does.
      EXPECT_TRUE(is_json(name) || binary == original);
      EXPECT_TRUE(reread(file, binary, Format::binary) == binary);
      EXPECT_TRUE(reread(file, rewrite(file, Format::json), Format::binary) == binary);
      ++files;
    }
  }
  EXPECT_GE(files, 30U);
}

TEST(OpenFheArchive, JsonHoldsTheSameObject) {
  std::size_t files = 0;
  for (const std::string& folder : all_folders()) {
    for (const std::string& name : test::names(folder)) {
      if (!is_json(name)) continue;
      const auto binary = test::find(folder, name.substr(0, name.size() - 5) + ".bin");
      if (!binary) continue;
      AnyFile file = read_any_file(test::get(folder, name));
      EXPECT_TRUE(rewrite(file, Format::binary) == *binary) << folder << "/" << name;
      ++files;
    }
  }
  EXPECT_GE(files, 4U);
}

TEST(OpenFheArchive, JsonFieldsStandInAnyOrder) {
  const Bytes original = test::get("bfv", "cryptocontext.json");
  const auto* const text = reinterpret_cast<const char*>(original.data());
  // Sorted by name, and 64-bit integers stay exact.
  const std::string sorted = nlohmann::json::parse(text, text + original.size()).dump();
  AnyFile file = read_any_file(std::as_bytes(std::span(sorted)));
  EXPECT_TRUE(rewrite(file, Format::binary) == test::get("bfv", "cryptocontext.bin"));
}

TEST(OpenFheArchive, JsonRefusesWhatOpenFheDoesNotWrite) {
  const Bytes original = test::get("bfv", "cryptocontext.json");
  const std::string text(reinterpret_cast<const char*>(original.data()), original.size());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  for (const std::string& wrong : {
           with("1152921504606830593", "18446744073709551616"),  // 2^64
           with("1152921504606830593", "1152921504606830593.0"),
           with("1152921504606830593", "-1"),
           with("\"co\"", "\"other\""),
           with("\"dp\"", "\"extra\": 1, \"dp\""),
           with("\"cm\": {", "\"cm\": ["),
           std::string("{"),
           std::string("{}"),
           text + "x",
           std::string(100, '{'),
           "{\"value0\": " + std::string(100, '['),
       }) {
    EXPECT_THROW(static_cast<void>(read_any_file(std::as_bytes(std::span(wrong)))), FormatError)
        << wrong.substr(0, 40);
  }
}

TEST(OpenFheArchive, EveryTruncationIsAFormatError) {
  for (const std::string& folder : all_folders()) {
    for (const std::string& name : test::names(folder)) {
      const Bytes original = test::get(folder, name);
      const AnyFile sample = read_any_file(original);
      const auto check = [&](std::size_t size) {
        const auto part = std::span(original).first(size);
        ASSERT_THROW(static_cast<void>(read_any_file(part)), FormatError)
            << folder << "/" << name << " " << size;
        ASSERT_THROW(static_cast<void>(reread(sample, part, Format::binary)), FormatError)
            << folder << "/" << name << " " << size;
      };
      const std::size_t step = is_json(name) ? original.size() / 50 + 1 : 24001;
      for (std::size_t size = 0; size < original.size(); size += size < 1000 && !is_json(name) ? 1 : step)
        check(size);
      for (std::size_t size = original.size() - std::min<std::size_t>(original.size(), 80);
           size < original.size(); size += is_json(name) ? 17 : 1) {
        check(size);
      }
    }
  }
}

// Whatever is wrong: an error that says so, or an object of that kind; and no more memory than the file's
// size explains.
TEST(OpenFheArchive, CorruptionIsAFormatErrorOrAnotherObject) {
  std::mt19937_64 random(1);
  for (const std::string& folder : all_folders()) {
    for (const std::string& name : test::names(folder)) {
      const Bytes original = test::get(folder, name);
      const int rounds = original.size() < 100000 ? 400 : is_json(name) ? 20 : 60;
      for (int round = 0; round < rounds; ++round) {
        Bytes file = original;
        // Most of a file is residues: structure is at both ends.
        const std::string what = io::test::corrupt(file, random);
        const io::test::AllocationGuard guard;
        try {
          static_cast<void>(read_any_file(file));
        } catch (const FormatError&) {
        }
        // `total` counts all six kinds that are tried.
        ASSERT_LT(guard.largest(), 3 * file.size() + (std::size_t{1} << 20))
            << folder << "/" << name << ": " << what;
      }
    }
  }
}

TEST(OpenFheArchive, MemoryFollowsTheFile) {
  for (const std::string& folder : all_folders()) {
    for (const std::string& name : test::names(folder)) {
      const Bytes file = test::get(folder, name);
      const io::test::AllocationGuard guard;
      static_cast<void>(read_any_file(file));
      // `total` counts what was freed on the way, too.
      EXPECT_LT(guard.total(), 2 * file.size() + (std::size_t{1} << 18)) << folder << "/" << name;
    }
  }
  // Numbers of a digit each would take four times their text.
  std::string numbers = "{\"value0\": [0";
  while (numbers.size() < (std::size_t{16} << 20)) numbers += ",0";
  numbers += "]}";
  const io::test::AllocationGuard guard;
  EXPECT_THROW(static_cast<void>(read_any_file(std::as_bytes(std::span(numbers)))), FormatError);
  EXPECT_LT(guard.largest(), (std::size_t{64} << 20) + 2 * numbers.size());
}

// A ciphertext of as many components as make it 100 MB of text.
TEST(OpenFheArchive, LargeJsonTakesLittleBesideItself) {
  auto object = read_file<std::shared_ptr<CiphertextObject>>(test::get("bfv", "ct_a.bin"));
  const std::size_t once = write_file(object, Format::json).size();
  const std::vector<DcrtPolynomial> components = object->components;
  for (std::size_t size = once; size < 106'000'000; size += once) {
    object->components.insert(object->components.end(), components.begin(), components.end());
  }
  const Bytes file = write_file(object, Format::json);
  const std::size_t count = object->components.size();
  object.reset();
  ASSERT_GT(file.size(), 100'000'000U);
  const io::test::AllocationGuard guard;
  const auto loaded = read_file<std::shared_ptr<CiphertextObject>>(file);
  EXPECT_LT(guard.total(), (std::size_t{64} << 20) + 3 * file.size());
  EXPECT_EQ(loaded->components.size(), count);
  EXPECT_EQ(loaded->components.back().limbs.back().words, components.back().limbs.back().words);
}

TEST(OpenFheArchive, CountsAreCheckedBeforeMemoryIsTaken) {
  Bytes file = test::get("bfv", "ct_a.bin");
  // Every place where a count could stand is made huge.
  for (std::size_t at = 1; at < 2000; ++at) {
    Bytes changed = file;
    for (std::size_t i = 0; i < 8; ++i) changed[at + i] = std::byte{0x7F};
    const io::test::AllocationGuard guard;
    try {
      static_cast<void>(read_file<std::shared_ptr<CiphertextObject>>(changed));
    } catch (const FormatError&) {
    }
    ASSERT_LT(guard.total(), 3 * file.size()) << at;
  }
}

TEST(OpenFheArchive, ResiduesAreBelowTheirModuli) {
  Bytes file = test::get("bfv", "ct_a.bin");
  AnyFile any = read_any_file(file);
  auto& object = *std::get<std::shared_ptr<CiphertextObject>>(any);
  NativePolynomial& limb = object.components[1].limbs[2];
  limb.words[4095] = limb.modulus;
  EXPECT_THROW(static_cast<void>(read_any_file(rewrite(any, Format::binary))), FormatError);
  EXPECT_THROW(static_cast<void>(read_any_file(rewrite(any, Format::json))), FormatError);
  limb.words[4095] = limb.modulus - 1;
  EXPECT_NO_THROW(static_cast<void>(read_any_file(rewrite(any, Format::binary))));
}

TEST(OpenFheArchive, BytesOfNeitherKindAreRefused) {
  EXPECT_THROW(static_cast<void>(read_any_file({})), FormatError);
  EXPECT_THROW(static_cast<void>(read_any_file(Bytes{std::byte{2}})), FormatError);
  const Bytes null(5, std::byte{0});
  EXPECT_THROW(static_cast<void>(read_any_file(null)), FormatError);
}

// The first byte tells the byte order of all numbers after it.
TEST(OpenFheArchive, BigEndianNumbersAreRead) {
  const Bytes bytes = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0},
                       std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                       std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                       std::byte{0}, std::byte{0}, std::byte{9}};
  BinaryReader reader(bytes);
  std::uint32_t number = 0;
  reader.value("", number);
  EXPECT_EQ(number, 0x102U);
  std::vector<std::uint64_t> words;
  reader.words("", words);
  EXPECT_EQ(words, (std::vector<std::uint64_t>{9}));
  reader.expect_end();
}

}  // namespace
}  // namespace hemera::interop::openfhe
