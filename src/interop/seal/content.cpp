#include "interop/seal/content.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "hemera/runtime/error.hpp"
#include "io/compression.hpp"

namespace hemera::interop::seal {
namespace {

// Residues are random but for their unused bits: SEAL's level 3 saves 4 % more, and takes five times as long.
constexpr int zstd_level = 1;

class StoredContent final : public Reader::Content {
 public:
  explicit StoredContent(std::span<const std::byte> stored) : stored_(stored) {}

  void read(std::span<std::byte> out) override {
    if (out.size() > stored_.size()) throw FormatError("the content ends too early");
    std::copy_n(stored_.begin(), out.size(), out.begin());
    stored_ = stored_.subspan(out.size());
  }
  void expect_end() override {
    if (!stored_.empty()) throw FormatError("bytes follow the content");
  }

 private:
  std::span<const std::byte> stored_;
};

class ZstdContent final : public Reader::Content {
 public:
  explicit ZstdContent(std::span<const std::byte> stored) : decompressor_(stored) {}

  void read(std::span<std::byte> out) override { decompressor_.read(out); }
  void expect_end() override { decompressor_.expect_end(); }

 private:
  io::Decompressor decompressor_;
};

class ZlibContent final : public Reader::Content {
 public:
  explicit ZlibContent(std::span<const std::byte> stored) : stored_(stored) {
    if (inflateInit(&stream_) != Z_OK) throw OutOfMemoryError("zlib has no memory to decompress");
  }
  ~ZlibContent() override { inflateEnd(&stream_); }

  void read(std::span<std::byte> out) override {
    while (!out.empty()) {
      const std::size_t count = fill(out);
      if (count == 0) throw FormatError("the zlib stream ends too early");
      out = out.subspan(count);
    }
  }
  void expect_end() override {
    // Its checksum is compared when the end of the stream is asked for.
    std::byte more{};
    if (fill(std::span(&more, 1)) != 0 || !stored_.empty() || stream_.avail_in != 0) {
      throw FormatError("the zlib stream does not end with the object");
    }
  }

 private:
  static constexpr std::size_t part_bytes = std::size_t{1} << 30;  // zlib counts in 32 bits

  // The number of bytes that were written to `out`; none at the end alone.
  std::size_t fill(std::span<std::byte> out) {
    out = out.first(std::min(out.size(), part_bytes));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (!ended_ && stream_.avail_out == out.size()) {
      if (stream_.avail_in == 0) {
        const std::size_t count = std::min(stored_.size(), part_bytes);
        // zlib does not write to its input.
        stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored_.data()));
        stream_.avail_in = static_cast<uInt>(count);
        stored_ = stored_.subspan(count);
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw OutOfMemoryError("zlib has no memory to decompress");
      ended_ = result == Z_STREAM_END;
      if (result != Z_OK && !ended_) {
        throw FormatError(std::string("the zlib stream is malformed: ") +
                          (stream_.msg == nullptr ? "it ends too early" : stream_.msg));
      }
    }
    return out.size() - stream_.avail_out;
  }

  std::span<const std::byte> stored_;
  z_stream stream_{};
  bool ended_ = false;
};

std::vector<std::byte> deflated(std::span<const std::byte> content) {
  uLongf size = compressBound(content.size());
  std::vector<std::byte> out(size);
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
                content.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw OutOfMemoryError("zlib has no memory to compress");
  }
  out.resize(size);
  return out;
}

}  // namespace

std::unique_ptr<Reader::Content> make_content(std::span<const std::byte> stored, Compression compression) {
  switch (compression) {
    case Compression::none:
      return std::make_unique<StoredContent>(stored);
    case Compression::zlib:
      return std::make_unique<ZlibContent>(stored);
    case Compression::zstd:
      return std::make_unique<ZstdContent>(stored);
  }
  throw ParameterError("unknown compression " + std::to_string(static_cast<int>(compression)));
}

std::vector<std::byte> compress(std::span<const std::byte> content, Compression compression) {
  if (compression == Compression::zlib) return deflated(content);
  return io::compress(content, zstd_level, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace hemera::interop::seal
