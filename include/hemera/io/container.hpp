// The container of every Hemera file: a header, then checksummed sections (docs/file-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/sha256.hpp"

namespace hemera::io {

/// Versions of the format. All load; an object is written in the first that can express it.
inline constexpr std::uint16_t first_format = 1;
inline constexpr std::uint16_t second_format = 2;
inline constexpr std::uint16_t third_format = 3;
inline constexpr std::uint16_t fourth_format = 4;
inline constexpr std::uint16_t fifth_format = 5;
inline constexpr std::uint16_t sixth_format = 6;
inline constexpr std::uint16_t seventh_format = 7;
inline constexpr std::uint16_t eighth_format = 8;
inline constexpr std::uint16_t newest_format = eighth_format;

/// The kind of a file's object. Values are part of the format.
enum class Kind : std::uint16_t {
  parameters = 1,
  plaintext = 2,
  ciphertext = 3,
  secret_key = 4,
  public_key = 5,
  switching_key = 6,
  evaluation_keys = 7,
  needed_keys = 8,
};
inline constexpr Kind last_kind = Kind::needed_keys;

/// "ciphertext", "secret key", ...
std::string_view name(Kind kind);

/// SHA-256 of the canonical bytes of the parameters that an object belongs to.
using Fingerprint = runtime::Sha256Digest;

/// Four ASCII characters that name a section.
struct Tag {
  std::uint32_t value = 0;

  constexpr Tag() = default;
  constexpr explicit Tag(std::uint32_t number) : value(number) {}
  constexpr explicit Tag(const char (&text)[5]) {
    for (unsigned i = 0; i < 4; ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
  }
  /// The text for messages; characters that do not print become '?'.
  [[nodiscard]] std::string text() const;
  friend constexpr bool operator==(const Tag&, const Tag&) = default;
};

struct Header {
  static constexpr std::size_t bytes = 64;

  std::uint16_t version = first_format;
  Kind kind = Kind::parameters;
  Fingerprint fingerprint{};
  std::uint32_t sections = 0;
  std::uint64_t checksum = 0;

  /// Throws MismatchError that names both kinds.
  void expect_kind(Kind expected) const;
  /// Throws MismatchError that names both fingerprints.
  void expect_fingerprint(const Fingerprint& expected) const;
};

/// The header at the beginning of a file's bytes. Throws FormatError, whose message distinguishes damage,
/// other files and newer versions.
Header read_header(std::span<const std::byte> file);

/// A destination of bytes.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  /// The place of the next `bytes` bytes, for the caller to fill; they count as written. Empty if the sink
  /// has no such place (and `bytes` is not 0): then call `write` with them.
  virtual std::span<std::byte> room(std::size_t bytes) {
    static_cast<void>(bytes);
    return {};
  }
  /// A hint that about `bytes` bytes will follow, so that the sink may reserve memory.
  virtual void expect(std::size_t bytes) { static_cast<void>(bytes); }
};

/// Collects bytes in memory.
class MemorySink final : public Sink {
 public:
  void write(std::span<const std::byte> data) override {
    data_.insert(data_.end(), data.begin(), data.end());
  }
  std::span<std::byte> room(std::size_t bytes) override {
    data_.resize(data_.size() + bytes);
    return std::span(data_).last(bytes);
  }
  void expect(std::size_t bytes) override { data_.reserve(data_.size() + bytes); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(data_); }

 private:
  std::vector<std::byte> data_;
};

/// Writes one file: the header on construction, then one section after the other, then `finish`.
class Writer {
 public:
  /// `sections`: the number of sections that follow.
  Writer(Sink& sink, std::uint16_t version, Kind kind, const Fingerprint& fingerprint,
         std::uint32_t sections);

  [[nodiscard]] std::uint16_t version() const { return header_.version; }

  /// With compression_level 0 the payload is stored as it is; 1 to 19: with zstd at that level, if that is
  /// smaller. Throws ParameterError for other levels and for more sections than announced.
  void section(Tag tag, std::span<const std::byte> payload, int compression_level = 0);

  /// A payload of `bytes` bytes that `fill` writes into its place. Secret bytes are left nowhere else.
  void section(Tag tag, std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill);

  /// A hint that the largest such payload has `bytes` bytes, so that one block of memory serves for all.
  void expect_payload(std::size_t bytes) { largest_ = bytes; }

  /// A payload of `raw_bytes` bytes that is compressed already.
  void compressed_section(Tag tag, std::span<const std::byte> frames, std::size_t raw_bytes);

  /// Throws ParameterError when sections are missing.
  void finish() const;

 private:
  void emit(Tag tag, std::uint32_t flags, std::span<const std::byte> stored, std::size_t raw_bytes);
  [[nodiscard]] runtime::ByteWriter begin_section(Tag tag, std::uint32_t flags, std::size_t stored_bytes,
                                                  std::size_t raw_bytes) const;

  Sink& sink_;
  Header header_;
  std::uint32_t written_ = 0;
  std::size_t largest_ = 0;
  runtime::Buffer payload_;  // of sections that have no place in the sink, one after the other
};

/// Bytes of a section after decompression: a view of the file's bytes, or owned.
class Payload {
 public:
  explicit Payload(std::span<const std::byte> view) : view_(view) {}
  explicit Payload(std::vector<std::byte> owned) : owned_(std::move(owned)), view_(owned_) {}
  Payload(Payload&&) = default;  // a moved vector keeps its storage, so the view stays valid
  Payload& operator=(Payload&&) = default;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  ~Payload() = default;

  [[nodiscard]] std::span<const std::byte> bytes() const { return view_; }

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> view_;
};

/// The bytes of a file that are not all in memory.
class Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `data` with the bytes from number `begin` on. Throws FormatError where the file has become shorter
  /// than `size`, and FileError.
  virtual void read(std::uint64_t begin, std::span<std::byte> data) const = 0;
};

struct Section {
  static constexpr std::size_t header_bytes = 32;

  Tag tag;
  bool compressed = false;
  std::uint64_t raw_bytes = 0;
  std::uint64_t checksum = 0;
  std::span<const std::byte> stored;

  /// Throws FormatError when the compressed bytes are malformed.
  [[nodiscard]] Payload payload() const;
};

/// The sections of a file, one after the other, each checked: its length, its checksum, and no byte left
/// over.
class Reader {
 public:
  /// A compressed section may hold at most this many times the bytes that it takes in the file.
  static constexpr std::uint64_t expansion_limit = 64;

  /// Checks the whole file before it returns any section. Does not own the bytes; allocates at most 64 bytes
  /// a section, twice the section's header. Throws FormatError, which names the fault and its place.
  explicit Reader(std::span<const std::byte> file);
  /// Reads each section into memory when it is taken, where the next one replaces it. The content must
  /// outlive the reader.
  explicit Reader(const Content& content);

  [[nodiscard]] const Header& header() const { return header_; }
  /// All sections of a file in memory.
  [[nodiscard]] std::span<const Section> sections() const { return sections_; }

  /// The next section, which must have this tag: throws FormatError otherwise, and as the constructor of a
  /// file in memory does. It is valid until the next one is taken.
  const Section& next(Tag tag);
  [[nodiscard]] std::size_t sections_left() const { return header_.sections - position_; }
  /// Throws FormatError unless every section was taken, or where bytes follow the last one.
  void expect_end() const;

 private:
  const Section& read_section();

  Header header_;
  std::vector<Section> sections_;  // all, or the last that was read
  std::size_t position_ = 0;
  const Content* content_ = nullptr;
  std::uint64_t begin_ = Header::bytes;  // of the next section in the content
  runtime::Buffer room_;
};

}  // namespace hemera::io
