// Files on disk: a save replaces a file as a whole or not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "hemera/io/container.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::io {

/// Who may read a new file: whoever the process's umask lets, or the owner alone (secret keys).
enum class Access { usual, owner_only };

/// A file that appears under its name only when it is complete. Bytes go to a new file in the same folder;
/// `commit` writes them to the disk (fsync) and renames the file. Destruction without `commit` removes it. A
/// replaced file keeps its permissions, except that Access::owner_only takes away those of others; a symbolic
/// link stays and its target is replaced, or made where there is none yet. A path that is no regular file (a
/// device, a pipe) is written to directly.
class AtomicFile final : public Sink {
 public:
  /// Throws FileError, as `write` and `commit` do, with the path and the system's reason.
  explicit AtomicFile(const std::filesystem::path& path, Access access = Access::usual);
  ~AtomicFile() override;

  void write(std::span<const std::byte> data) override;
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int error);
  void discard() noexcept;

  std::filesystem::path path_;       // as given, for messages
  std::filesystem::path target_;     // with symbolic links followed
  std::filesystem::path temporary_;  // empty: written to directly
  std::size_t written_ = 0;
  int descriptor_ = -1;
};

/// Writes the bytes of an object by an AtomicFile; a secret key becomes readable by its owner alone. Throws
/// FileError, and FormatError for bytes that do not begin with a Hemera header.
void save_file(const std::filesystem::path& path, std::span<const std::byte> file);

/// The bytes of a file. Those of a secret key are zeroed at the end, and stay out of core dumps.
class FileBytes {
 public:
  FileBytes(runtime::Buffer data, std::size_t size) : data_(std::move(data)), size_(size) {}

  operator std::span<const std::byte>() const {  // NOLINT(google-explicit-constructor)
    return {data_.data(), size_};
  }
  friend bool operator==(const FileBytes& one, std::span<const std::byte> other) {
    const std::span<const std::byte> own = one;
    return std::equal(own.begin(), own.end(), other.begin(), other.end());
  }

 private:
  runtime::Buffer data_;
  std::size_t size_;
};

/// All bytes of a file. Throws FileError if it can not be read; FormatError, before memory is taken, if it
/// has no Hemera header; OutOfMemoryError if it is larger than memory. `accept` sees the header before more
/// than its 64 bytes are read, and may refuse the file by throwing.
FileBytes load_file(const std::filesystem::path& path, const std::function<void(const Header&)>& accept = {});

/// A file that is read piece by piece; nothing for a pipe or a device, which have no places to read from.
/// Throws FileError if it can not be opened.
std::unique_ptr<Content> open_content(const std::filesystem::path& path);

}  // namespace hemera::io
