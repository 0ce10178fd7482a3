// Fitting checksums for damaged files, so that the checks behind the checksums get to see the damage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/io/container.hpp"
#include "hemera/runtime/checksum.hpp"

namespace hemera::io::test {

/// A little-endian number of `bytes` bytes.
inline std::uint64_t load(std::span<const std::byte> file, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(file[at + i]) << (8 * i);
  return value;
}

/// As far as the file goes.
inline void store(std::span<std::byte> file, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && at + i < file.size(); ++i) {
    file[at + i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
  }
}

/// Makes every checksum fit, as far as header and section lengths go; lengths beyond the end are cut.
inline void reseal(std::span<std::byte> file) {
  if (file.size() < Header::bytes) return;
  const std::span<const std::byte> view(file);
  const std::uint64_t header_checksum = runtime::checksum(0, view.first(Header::bytes - 8));
  store(file, Header::bytes - 8, header_checksum, 8);
  std::size_t at = Header::bytes;
  for (std::uint64_t index = 0; file.size() - at >= Section::header_bytes; ++index) {
    const std::size_t payload = at + Section::header_bytes;
    const std::uint64_t stored = std::min<std::uint64_t>(load(file, at + 8, 8), file.size() - payload);
    store(file, at + 8, stored, 8);
    store(file, at + 24,
          runtime::checksum(header_checksum + index, view.subspan(at, 24), view.subspan(payload, stored)), 8);
    at = payload + static_cast<std::size_t>(stored);
  }
}

}  // namespace hemera::io::test
