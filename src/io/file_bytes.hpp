// The bytes of a file while an object is read out of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "hemera/io/file.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::io {

/// load_file's bytes, zeroed at the end: they may be those of a secret key.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path, const std::function<void(const Header&)>& accept = {})
      : data_(load_file(path, accept)) {}
  ~FileBytes() { runtime::secure_zero(data_.data(), data_.size()); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  [[nodiscard]] std::span<const std::byte> view() const { return data_; }

 private:
  std::vector<std::byte> data_;
};

}  // namespace hemera::io
