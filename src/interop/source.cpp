#include "hemera/interop/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <new>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::interop {

class Source::Kept {
 public:
  explicit Kept(std::vector<std::byte> data) : data_(std::move(data)) {}
  ~Kept() { runtime::secure_zero(data_.data(), data_.size()); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  [[nodiscard]] std::span<const std::byte> view() const { return data_; }

 private:
  std::vector<std::byte> data_;
};

namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 20;

// Grows by parts of its own, so that the memory that it leaves is zeroed.
std::vector<std::byte> read_all(std::istream& stream) {
  std::vector<std::byte> data;
  std::size_t size = 0;
  while (stream) {
    if (size == data.size()) {
      std::vector<std::byte> larger(std::max(part_bytes, 2 * size));
      std::copy(data.begin(), data.end(), larger.begin());
      runtime::secure_zero(data.data(), data.size());
      data = std::move(larger);
    }
    stream.read(reinterpret_cast<char*>(data.data() + size),
                static_cast<std::streamsize>(data.size() - size));
    size += static_cast<std::size_t>(stream.gcount());
  }
  if (stream.bad()) throw FileError("a stream with a foreign object can not be read");
  data.resize(size);
  return data;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& reason) {
    throw FileError("cannot read " + path.string() + ": " + reason);
  };
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) fail("it is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(std::strerror(errno));
  const auto size =
      std::filesystem::is_regular_file(path, status) ? std::filesystem::file_size(path, status) : 0;
  if (status || size == 0) return read_all(stream);
  std::vector<std::byte> data;
  try {
    data.resize(size);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(path.string() + " has " + std::to_string(size) + " bytes, more than memory has");
  }
  stream.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(stream.gcount()) != size) fail("it became shorter while it was read");
  return data;
}

}  // namespace

Source::Source(const std::filesystem::path& path)
    : kept_(std::make_shared<const Kept>(read_file(path))), bytes_(kept_->view()) {}

Source::Source(std::istream& stream)
    : kept_(std::make_shared<const Kept>(read_all(stream))), bytes_(kept_->view()) {}

KeySources KeyFiles::sources() const {
  KeySources result;
  if (public_key) result.public_key = Source(*public_key);
  if (relinearization) result.relinearization = Source(*relinearization);
  if (galois) result.galois = Source(*galois);
  return result;
}

}  // namespace hemera::interop
