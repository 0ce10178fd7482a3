#include "hemera/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/in_threads.hpp"

namespace hemera::io {
namespace {

// The system's text for an error number, from a function that is safe in threads.
std::string reason(int error) { return std::generic_category().message(error); }

std::string way_out(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or save elsewhere";
    case EFBIG:
      return "; the system's limit on the size of a file was reached";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; save to a folder that you may write to";
    case ENOENT:
    case ENOTDIR:
      return "; check that the folder exists";
    default:
      return "";
  }
}

// ".0123456789abcdef.part": no longer than names can be, whatever the file's own.
std::string random_name() {
  std::random_device device;
  std::array<std::uint8_t, 8> bytes{};
  std::generate(bytes.begin(), bytes.end(), [&device] { return static_cast<std::uint8_t>(device() & 0xFF); });
  std::string name(1, '.');
  name += runtime::to_hex(bytes);
  name += ".part";
  return name;
}

// Closes on leaving the scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// The path behind symbolic links; what the last of them names need not exist yet. Nothing if they go in
// circles.
std::optional<std::filesystem::path> resolve(std::filesystem::path path) {
  constexpr int most_links = 40;  // as the system
  for (int links = 0; links <= most_links; ++links) {
    std::error_code error;
    if (!std::filesystem::is_symlink(path, error)) return path;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = path.parent_path() / target;
  }
  return {};
}

// The system would end the path at the NUL, and take another file.
void refuse_nul(const char* action, const std::filesystem::path& path) {
  if (path.native().find('\0') == std::string::npos) return;
  throw FileError(std::string("can not ") + action + " " + path.c_str() +
                  "...: the path goes on after a NUL character; give one without");
}

// An open file that is read from its beginning to its end.
class Source {
 public:
  explicit Source(const std::filesystem::path& path)
      : path_((refuse_nul("load", path), path)), descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (descriptor_.value < 0) fail("opening it", errno);
    if (::fstat(descriptor_.value, &status_) != 0) fail("asking for its size", errno);
    if (S_ISDIR(status_.st_mode)) fail("opening it", EISDIR);
  }

  [[nodiscard]] bool is_regular() const { return S_ISREG(status_.st_mode); }
  [[nodiscard]] std::string name() const { return path_.string(); }

  // The size when it was opened. A hint: pipes have none, and a file may grow or shrink meanwhile.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::max<off_t>(status_.st_size, 0));
  }

  // Reads the bytes after `read` before until `data` is full or the file ends, and returns their number.
  std::size_t next(std::size_t read, std::span<std::byte> data) const {
    if (!is_regular()) return serial(read, data);
    // Several threads read: most of the time goes to memory that is new.
    constexpr std::size_t piece_bytes = std::size_t{1} << 22;
    std::vector<std::size_t> counts((data.size() + piece_bytes - 1) / piece_bytes);
    runtime::in_threads(counts.size(), 2, [&](std::size_t i) {
      const std::size_t begin = i * piece_bytes;
      counts[i] = serial(read + begin, data.subspan(begin, std::min(piece_bytes, data.size() - begin)));
    });
    // Where a piece is short, the file has ended.
    std::size_t size = 0;
    for (const std::size_t count : counts) {
      size += count;
      if (count < piece_bytes) break;
    }
    return size;
  }

 private:
  [[noreturn]] void fail(const char* action, int error) const {
    throw FileError("can not load " + path_.string() + ": " + std::string(action) + ": " + reason(error));
  }

  std::size_t serial(std::size_t place, std::span<std::byte> data) const {
    std::size_t size = 0;
    while (size < data.size()) {
      const std::span<std::byte> rest = data.subspan(size);
      const ssize_t count = is_regular() ? ::pread(descriptor_.value, rest.data(), rest.size(),
                                                   static_cast<off_t>(place + size))
                                         : ::read(descriptor_.value, rest.data(), rest.size());
      if (count == 0) break;
      if (count > 0) {
        size += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        fail("reading it", errno);
      }
    }
    return size;
  }

  std::filesystem::path path_;
  Descriptor descriptor_;
  struct stat status_ {};
};

class FileContent final : public Content {
 public:
  explicit FileContent(const std::filesystem::path& path) : file_(path) {}
  [[nodiscard]] const Source& source() const { return file_; }
  [[nodiscard]] std::uint64_t size() const override { return file_.size(); }
  void read(std::uint64_t begin, std::span<std::byte> data) const override {
    if (file_.next(static_cast<std::size_t>(begin), data) == data.size()) return;
    throw FormatError(file_.name() + " became shorter while it was read; load it again when it is written");
  }

 private:
  Source file_;
};

}  // namespace

std::unique_ptr<Content> open_content(const std::filesystem::path& path) {
  auto content = std::make_unique<FileContent>(path);
  if (!content->source().is_regular()) return nullptr;
  return content;
}

void AtomicFile::fail(const char* action, int error) {
  std::string message =
      "can not save " + path_.string() + ": " + std::string(action) + ": " + reason(error) + way_out(error);
  if (written_ > 0) message += " (after " + std::to_string(written_) + " bytes)";
  if (!temporary_.empty()) {
    message += "; nothing was changed";
  }
  discard();
  throw FileError(message);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    temporary_.clear();
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path, Access access) : path_(path) {
  refuse_nul("save", path);
  const auto target = resolve(path);
  if (!target) fail("following its symbolic links", ELOOP);
  target_ = *target;
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("a folder has this name", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("opening it for writing", errno);
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail("the file there is protected from writing", errno);
  constexpr int attempts = 16;
  mode_t mode = access == Access::owner_only ? 0600 : 0666;
  if (exists) mode &= status.st_mode;
  for (int attempt = 0; attempt < attempts && descriptor_ < 0; ++attempt) {
    const std::filesystem::path candidate = target_.parent_path() / random_name();
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ >= 0) {
      temporary_ = candidate;
    } else if (errno != EEXIST) {
      fail("making a new file next to it", errno);
    }
  }
  if (descriptor_ < 0) fail("making a new file next to it", EEXIST);
  if (exists && access == Access::usual) {
    // Restores the permissions that the umask took away; a file system without permissions may refuse.
    static_cast<void>(::fchmod(descriptor_, status.st_mode & 0777));
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> data) {
  if (descriptor_ < 0) fail("writing after the end", EBADF);
  while (!data.empty()) {
    const ssize_t count = ::write(descriptor_, data.data(), data.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("writing", errno);
    }
    data = data.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  if (descriptor_ < 0) fail("committing twice", EBADF);
  if (temporary_.empty()) {
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    if (result != 0) fail("closing", errno);
    return;
  }
  if (::fsync(descriptor_) != 0) fail("bringing it to the disk", errno);
  const int result = ::close(descriptor_);
  descriptor_ = -1;
  if (result != 0) fail("closing", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming the finished file", errno);
  temporary_.clear();
  // The rename is on the disk once the folder is. The file is complete either way, so it is no error where a
  // file system (some network ones) can not write folders out.
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.value >= 0) static_cast<void>(::fsync(opened.value));
}

void save_file(const std::filesystem::path& path, std::span<const std::byte> file) {
  const bool secret = read_header(file).kind == Kind::secret_key;
  AtomicFile out(path, secret ? Access::owner_only : Access::usual);
  out.write(file);
  out.commit();
}

FileBytes load_file(const std::filesystem::path& path, const std::function<void(const Header&)>& accept) {
  const Source file(path);
  std::array<std::byte, Header::bytes> begin{};
  std::size_t size = file.next(0, begin);
  // Checked before memory is allocated: a large file may be something else.
  const Header header = read_header(std::span(begin).first(size));
  if (accept) accept(header);
  const auto memory = runtime::make_host_memory(0);
  const auto secrecy = header.kind == Kind::secret_key ? runtime::Secrecy::secret : runtime::Secrecy::open;
  try {
    constexpr std::size_t least_step = std::size_t{1} << 16;
    runtime::Buffer data(memory, std::max(file.size(), size) + 1, secrecy);
    std::memcpy(data.data(), begin.data(), size);
    while (size += file.next(size, std::span(data.data(), data.size()).subspan(size)), size == data.size()) {
      runtime::Buffer larger(memory, size + std::max(size / 2, least_step), secrecy);
      std::memcpy(larger.data(), data.data(), size);
      data = std::move(larger);
    }
    return {std::move(data), size};
  } catch (const OutOfMemoryError&) {
    throw OutOfMemoryError("no memory for " + path.string() + ", a file of " + std::to_string(file.size()) +
                           " bytes; load it on a machine with more");
  }
}

}  // namespace hemera::io
