#include "io/compression.hpp"

#include <zstd.h>

#include <new>
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

struct Decompressor::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_inBuffer in{};
  bool between_frames = true;

  // The number of bytes that were written to `out`; less than its size at the end alone.
  std::size_t fill(std::span<std::byte> out) {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size) {
      const std::size_t before = to.pos + in.pos;
      const std::size_t result = ZSTD_decompressStream(context, &to, &in);
      if (ZSTD_isError(result) != 0U) {
        throw FormatError(std::string("a compressed section is malformed: ") + ZSTD_getErrorName(result));
      }
      if (to.pos + in.pos == before) {
        if (!between_frames) {
          throw FormatError("a compressed section is malformed: its last frame is not complete");
        }
        break;
      }
      between_frames = result == 0;
    }
    return to.pos;
  }
};

Decompressor::Decompressor(std::span<const std::byte> data) : state_(std::make_unique<State>()) {
  constexpr int largest_window = 25;  // compress() uses 2^23 at most
  if (state_->context == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax, largest_window);
  state_->in = {data.data(), data.size(), 0};
}

Decompressor::~Decompressor() { ZSTD_freeDCtx(state_->context); }

void Decompressor::read(std::span<std::byte> out) {
  if (state_->fill(out) != out.size()) {
    throw FormatError("a compressed section holds fewer bytes than its header says");
  }
}

void Decompressor::expect_end() {
  std::byte more{};
  if (state_->fill(std::span(&more, 1)) != 0) {
    throw FormatError("a compressed section holds more bytes than its header says");
  }
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
