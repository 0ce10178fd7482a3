#include "interop/openfhe/binary_archive.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {
namespace {

// Names are 32 or fewer characters in all files of OpenFHE but those of types, which have up to 60.
constexpr std::size_t longest_string = 1024;

}  // namespace

BinaryReader::BinaryReader(std::span<const std::byte> file, bool has_all_fields)
    : file_(file), has_all_fields_(has_all_fields) {
  std::uint8_t is_little_endian = 0;
  value(nullptr, is_little_endian);
  if (is_little_endian > 1) {
    fail("the first byte is " + std::to_string(is_little_endian) + ", but 0 or 1 in a binary archive");
  }
  is_big_endian_ = is_little_endian == 0;
}

void BinaryReader::fail(const std::string& problem) const {
  throw FormatError("OpenFHE archive: " + problem + " (at byte " + std::to_string(position_) + ")" +
                    (is_big_endian_ ? "; its first byte says that its numbers are big-endian" : ""));
}

void BinaryReader::expect_end() const {
  if (position_ != file_.size()) {
    fail(std::to_string(file_.size() - position_) + " bytes are left over after the object");
  }
}

std::span<const std::byte> BinaryReader::take(std::size_t count) {
  if (count > file_.size() - position_) fail("the file ends in the middle of an object");
  const auto part = file_.subspan(position_, count);
  position_ += count;
  return part;
}

template <typename T>
T BinaryReader::number() {
  const auto part = take(sizeof(T));
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t place = is_big_endian_ ? sizeof(T) - 1 - i : i;
    value |= static_cast<T>(std::to_integer<T>(part[i]) << (8 * place));
  }
  return value;
}

std::size_t BinaryReader::count(std::size_t least_bytes) {
  const auto count = number<std::uint64_t>();
  if (count > (file_.size() - position_) / least_bytes) {
    fail("a list of " + std::to_string(count) + " elements, which the file has no room for");
  }
  return static_cast<std::size_t>(count);
}

void BinaryReader::value(const char* /*name*/, bool& value) {
  const auto byte = number<std::uint8_t>();
  if (byte > 1) fail("a truth value of " + std::to_string(byte));
  value = byte != 0;
}
void BinaryReader::value(const char* /*name*/, std::uint8_t& value) { value = number<std::uint8_t>(); }
void BinaryReader::value(const char* /*name*/, std::uint32_t& value) { value = number<std::uint32_t>(); }
void BinaryReader::value(const char* /*name*/, std::int32_t& value) {
  value = static_cast<std::int32_t>(number<std::uint32_t>());
}
void BinaryReader::value(const char* /*name*/, std::uint64_t& value) { value = number<std::uint64_t>(); }
void BinaryReader::value(const char* /*name*/, float& value) {
  value = std::bit_cast<float>(number<std::uint32_t>());
}
void BinaryReader::value(const char* /*name*/, double& value) {
  value = std::bit_cast<double>(number<std::uint64_t>());
}

void BinaryReader::value(const char* /*name*/, std::string& value) {
  const std::size_t size = count(1);
  if (size > longest_string) fail("a name of " + std::to_string(size) + " characters");
  const auto part = take(size);
  value.assign(reinterpret_cast<const char*>(part.data()), part.size());
}

void BinaryReader::words(const char* /*name*/, std::vector<std::uint64_t>& values) {
  values.resize(count(sizeof(std::uint64_t)));
  if (std::endian::native == std::endian::little && !is_big_endian_) {
    const auto part = take(values.size() * sizeof(std::uint64_t));
    if (!part.empty()) std::memcpy(values.data(), part.data(), part.size());
  } else {
    for (std::uint64_t& value : values) value = number<std::uint64_t>();
  }
}

std::size_t BinaryReader::begin_list(const char* /*name*/, std::size_t /*count*/, std::size_t least_bytes) {
  return count(least_bytes);
}

BinaryWriter::BinaryWriter() { out_.u8(1); }

void BinaryWriter::fail(const std::string& problem) const {
  throw MismatchError("OpenFHE archive: " + problem);
}

void BinaryWriter::value(const char* /*name*/, float& value) {
  out_.u32(std::bit_cast<std::uint32_t>(value));
}

void BinaryWriter::value(const char* /*name*/, std::string& value) {
  out_.u64(value.size());
  out_.bytes(std::as_bytes(std::span(value)));
}

void BinaryWriter::words(const char* /*name*/, std::vector<std::uint64_t>& values) {
  add_list(values.size(), values.data());
}

void BinaryWriter::words_later(const char* /*name*/, std::size_t count) { add_list(count, nullptr); }

void BinaryWriter::add_list(std::size_t count, const std::uint64_t* words) {
  out_.u64(count);
  if (count == 0) return;
  lists_.push_back({.position = out_.size(), .count = count, .words = words});
  listed_ += count * sizeof(std::uint64_t);
}

std::vector<std::span<std::byte>> BinaryWriter::write_to(std::span<std::byte> file) const {
  std::vector<std::span<std::byte>> later;
  std::size_t written = 0;
  const auto write_until = [&](std::size_t position) {
    const auto part = out_.view().subspan(written, position - written);
    std::copy(part.begin(), part.end(), file.begin());
    file = file.subspan(part.size());
    written = position;
  };
  for (const List& list : lists_) {
    write_until(list.position);
    const auto place = file.first(list.count * sizeof(std::uint64_t));
    file = file.subspan(place.size());
    if (list.words != nullptr) {
      store_words(place, {list.words, list.count});
    } else {
      later.push_back(place);
    }
  }
  write_until(out_.size());
  return later;
}

void store_words(std::span<std::byte> to, std::span<const std::uint64_t> words) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to.data(), words.data(), words.size_bytes());
  } else {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<std::byte>((words[i / 8] >> (8 * (i % 8))) & 0xFF);
    }
  }
}

std::size_t BinaryWriter::begin_list(const char* /*name*/, std::size_t count, std::size_t /*least_bytes*/) {
  out_.u64(count);
  return count;
}

}  // namespace hemera::interop::openfhe
