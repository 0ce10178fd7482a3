#include "io/compression.hpp"

#include <zstd.h>

#include <string>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::io {
namespace {

constexpr std::uint32_t skippable_magic = 0x184D2A50;
constexpr std::size_t skippable_header_bytes = 8;

}  // namespace

std::vector<std::byte> compress(std::span<const std::byte> data, int level, std::uint64_t largest_ratio) {
  if (level < 1 || level > 19) {
    throw ParameterError("compression level " + std::to_string(level) +
                         " is outside 0 (none) and 1 (fastest) to 19 (smallest)");
  }
  std::vector<std::byte> out(ZSTD_compressBound(data.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), level);
  if (ZSTD_isError(size) != 0U) {
    throw FileError(std::string("zstd can not compress: ") + ZSTD_getErrorName(size) +
                    "; save without compression");
  }
  out.resize(size);
  const std::size_t least = data.size() / largest_ratio + 1;
  if (out.size() < least) {
    const std::size_t fill = least - out.size() > skippable_header_bytes
                                 ? least - out.size() - skippable_header_bytes
                                 : std::size_t{0};
    runtime::ByteWriter frame;
    frame.u32(skippable_magic);
    frame.u32(static_cast<std::uint32_t>(fill));
    out.insert(out.end(), frame.view().begin(), frame.view().end());
    out.resize(out.size() + fill);
  }
  return out;
}

std::vector<std::byte> decompress(std::span<const std::byte> data, std::size_t raw_bytes) {
  std::vector<std::byte> out(raw_bytes);
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), data.data(), data.size());
  if (ZSTD_isError(size) != 0U) {
    throw FormatError(std::string("a compressed section is malformed: ") + ZSTD_getErrorName(size));
  }
  if (size != raw_bytes) {
    throw FormatError("a compressed section holds " + std::to_string(size) + " bytes where its header says " +
                      std::to_string(raw_bytes));
  }
  return out;
}

}  // namespace hemera::io
