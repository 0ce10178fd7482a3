// For the sessions with all libraries: the sources of foreign objects, and the files of keys.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hemera::interop {

/// The bytes of a foreign object: those of the caller, who keeps them, or read from a file or a stream and
/// kept here. Bytes kept here are zeroed on release: they may be those of a secret key.
class Source {
 public:
  Source(std::span<const std::byte> bytes) : bytes_(bytes) {}     // NOLINT(google-explicit-constructor)
  Source(const std::vector<std::byte>& bytes) : bytes_(bytes) {}  // NOLINT(google-explicit-constructor)
  /// A whole file. Throws FileError when it can not be read, OutOfMemoryError when it is larger than memory.
  Source(const std::filesystem::path& path);  // NOLINT(google-explicit-constructor)
  /// A binary stream from where it stands to its end. Throws FileError when it can not be read.
  Source(std::istream& stream);  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  class Kept;

  std::shared_ptr<const Kept> kept_;
  std::span<const std::byte> bytes_;
};

/// Arguments of a session's `load_keys`: each is optional, each call adds.
struct KeySources {
  std::optional<Source> public_key = std::nullopt;
  std::optional<Source> relinearization = std::nullopt;
  std::optional<Source> galois = std::nullopt;
};

/// Results of a session's `dump_keys`: one file for each kind of key that is there.
struct KeyFiles {
  std::optional<std::vector<std::byte>> public_key = std::nullopt;
  std::optional<std::vector<std::byte>> relinearization = std::nullopt;
  std::optional<std::vector<std::byte>> galois = std::nullopt;

  [[nodiscard]] KeySources sources() const;
};

}  // namespace hemera::interop
