#include "hemera/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

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
    if (value >= 0) {
      ::close(value);
    }
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

}  // namespace

void AtomicFile::fail(const char* action, int error) {
  std::string message =
      "can not save " + path_.string() + ": " + std::string(action) + ": " + reason(error) + way_out(error);
  if (written_ > 0) {
    message += " (after " + std::to_string(written_) + " bytes)";
  }
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
  if (exists && S_ISDIR(status.st_mode)) {
    fail("a folder has this name", EISDIR);
  }
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      fail("opening it for writing", errno);
    }
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) {
    fail("the file there is protected from writing", errno);
  }
  constexpr int attempts = 16;
  mode_t mode = access == Access::owner_only ? 0600 : 0666;
  if (exists) {
    mode &= status.st_mode;
  }
  for (int attempt = 0; attempt < attempts && descriptor_ < 0; ++attempt) {
    const std::filesystem::path candidate = target_.parent_path() / random_name();
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ >= 0) {
      temporary_ = candidate;
    } else if (errno != EEXIST) {
      fail("making a new file next to it", errno);
    }
  }
  if (descriptor_ < 0) {
    fail("making a new file next to it", EEXIST);
  }
  if (exists && access == Access::usual) {
    // Restores the permissions that the umask took away; a file system without permissions may refuse.
    static_cast<void>(::fchmod(descriptor_, status.st_mode & 0777));
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> data) {
  if (descriptor_ < 0) {
    fail("writing after the end", EBADF);
  }
  while (!data.empty()) {
    const ssize_t count = ::write(descriptor_, data.data(), data.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail("writing", errno);
    }
    data = data.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  if (descriptor_ < 0) {
    fail("committing twice", EBADF);
  }
  if (temporary_.empty()) {
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    if (result != 0) {
      fail("closing", errno);
    }
    return;
  }
  if (::fsync(descriptor_) != 0) {
    fail("bringing it to the disk", errno);
  }
  const int result = ::close(descriptor_);
  descriptor_ = -1;
  if (result != 0) {
    fail("closing", errno);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("renaming the finished file", errno);
  }
  temporary_.clear();
  // The rename is on the disk once the folder is. The file is complete either way, so it is no error where a
  // file system (some network ones) can not write folders out.
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.value >= 0) {
    static_cast<void>(::fsync(opened.value));
  }
}

void save_file(const std::filesystem::path& path, std::span<const std::byte> file) {
  const bool secret = read_header(file).kind == Kind::secret_key;
  AtomicFile out(path, secret ? Access::owner_only : Access::usual);
  out.write(file);
  out.commit();
}

std::vector<std::byte> load_file(const std::filesystem::path& path,
                                 const std::function<void(const Header&)>& accept) {
  refuse_nul("load", path);
  const auto fail = [&path](const char* action, int error) {
    throw FileError("can not load " + path.string() + ": " + std::string(action) + ": " + reason(error));
  };
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) {
    fail("opening it", errno);
  }
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    fail("asking for its size", errno);
  }
  if (S_ISDIR(status.st_mode)) {
    fail("opening it", EISDIR);
  }
  std::vector<std::byte> data(Header::bytes);
  std::size_t size = 0;
  // Reads until `data` is full; false at the end of the file.
  const auto fill = [&] {
    while (size < data.size()) {
      const ssize_t count = ::read(file.value, data.data() + size, data.size() - size);
      if (count == 0) {
        return false;
      }
      if (count < 0) {
        if (errno != EINTR) {
          fail("reading it", errno);
        }
        continue;
      }
      size += static_cast<std::size_t>(count);
    }
    return true;
  };
  bool more = fill();
  // Checked before memory is allocated: a large file may be something else.
  const Header header = read_header(std::span(data).first(size));
  if (accept) {
    accept(header);
  }
  try {
    // The size is a hint: pipes have none, and a file may grow or shrink meanwhile.
    constexpr std::size_t least_step = std::size_t{1} << 16;
    const auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    while (more) {
      data.resize(expected > size ? expected + 1 : size + std::max(size / 2, least_step));
      more = fill();
    }
    data.resize(size);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("no memory for " + path.string() + ", a file of " +
                           std::to_string(status.st_size) + " bytes; load it on a machine with more");
  } catch (const std::length_error&) {
    throw OutOfMemoryError("no memory for " + path.string() + ", a file of " +
                           std::to_string(status.st_size) + " bytes; load it on a machine with more");
  }
  return data;
}

}  // namespace hemera::io
