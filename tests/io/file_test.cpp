#include "hemera/io/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "hemera/runtime/error.hpp"
#include "io/allocation_guard.hpp"
#include "refusals.hpp"

namespace hemera::io {
namespace {

std::vector<std::byte> file_of(std::size_t payload, std::byte value, Kind kind = Kind::ciphertext) {
  MemorySink sink;
  Writer writer(sink, first_format, kind, {}, 1);
  writer.section(Tag("META"), std::vector<std::byte>(payload, value));
  return sink.take();
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hemera-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  [[nodiscard]] static unsigned mode(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  std::filesystem::path folder_;
};

// Files larger than `bytes` can not be written while this lives: a disk that becomes full.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_), 0);
    const rlimit limit{bytes, old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &old_), 0);
    std::signal(SIGXFSZ, old_handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST_F(FileTest, RoundTripAndReplacement) {
  const auto path = folder_ / "a.hemera";
  for (const std::size_t size : {0, 100, 100000, 5, 9000000}) {
    const auto file = file_of(size, std::byte{7});
    save_file(path, file);
    EXPECT_EQ(load_file(path), file);
    EXPECT_EQ(entries(), 1U);
  }
}

TEST_F(FileTest, NamesAreAsLongAsTheSystemTakesThem) {
  const auto file = file_of(100, std::byte{3});
  for (const std::size_t length : {1, 234, 255}) {
    const auto path = folder_ / std::string(length, 'x');
    save_file(path, file);
    EXPECT_EQ(load_file(path), file);
  }
  EXPECT_THROW(save_file(folder_ / std::string(256, 'x'), file), FileError);
  EXPECT_EQ(entries(), 3U);
}

TEST_F(FileTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  const auto path = folder_ / "a.hemera";
  const auto good = file_of(1000, std::byte{1});
  save_file(path, good);
  const auto large = file_of(100000, std::byte{2});
  std::string message;
  {
    const SizeLimit limit(8192);
    message = tests::refusal<FileError>([&] { save_file(path, large); });
    EXPECT_EQ(
        tests::refusal<FileError>([&] { save_file(folder_ / "new.hemera", large); }).rfind("can not save", 0),
        0U);
  }
  EXPECT_TRUE(tests::says(message, "can not save " + path.string()));
  EXPECT_TRUE(tests::says(message, "after 8192 bytes"));
  EXPECT_TRUE(tests::says(message, "nothing was changed"));
  EXPECT_EQ(load_file(path), good);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, ADeviceIsWrittenToDirectlyAndReportsThatItIsFull) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "this system has no /dev/full";
  }
  const std::string message =
      tests::refusal<FileError>([] { save_file("/dev/full", file_of(100, std::byte{1})); });
  EXPECT_TRUE(tests::says(message, "/dev/full"));
  EXPECT_TRUE(tests::says(message, "free some space"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_NO_THROW(save_file("/dev/null", file_of(100, std::byte{1})));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(FileTest, NothingAppearsBeforeCommit) {
  const auto path = folder_ / "a.hemera";
  const auto file = file_of(100, std::byte{3});
  {
    AtomicFile out(path);
    out.write(file);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(entries(), 0U);
  AtomicFile out(path);
  out.write(std::span(file).first(10));
  out.write(std::span(file).subspan(10));
  out.commit();
  EXPECT_EQ(load_file(path), file);
  EXPECT_EQ(entries(), 1U);
  EXPECT_THROW(out.write(file), FileError);
  EXPECT_THROW(out.commit(), FileError);
  EXPECT_EQ(load_file(path), file);
}

TEST_F(FileTest, ASecretKeyIsForItsOwnerAlone) {
  const auto path = folder_ / "a.hemera";
  save_file(path, file_of(10, std::byte{1}, Kind::secret_key));
  EXPECT_EQ(mode(path), 0600U);
  // Not even where a file of more permissions was.
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  save_file(path, file_of(10, std::byte{2}, Kind::secret_key));
  EXPECT_EQ(mode(path), 0600U);
}

TEST_F(FileTest, PermissionsAndLinksStay) {
  const auto path = folder_ / "a.hemera";
  save_file(path, file_of(10, std::byte{1}));
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const auto link = folder_ / "link";
  std::filesystem::create_symlink("a.hemera", link);
  const auto file = file_of(10, std::byte{2});
  save_file(link, file);
  EXPECT_EQ(mode(path), 0640U);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(load_file(path), file);
  EXPECT_EQ(entries(), 2U);
}

TEST_F(FileTest, WhatALinkNamesIsMadeWhereThereIsNoneYet) {
  std::filesystem::create_directory(folder_ / "a");
  std::filesystem::create_directory(folder_ / "b");
  const auto link = folder_ / "a" / "link";
  std::filesystem::create_symlink("../b/further", link);
  std::filesystem::create_symlink(folder_ / "b" / "new.hemera", folder_ / "b" / "further");
  const auto file = file_of(10, std::byte{2});
  save_file(link, file);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "b" / "further"));
  EXPECT_EQ(load_file(folder_ / "b" / "new.hemera"), file);
  save_file(link, file_of(20, std::byte{3}));
  EXPECT_EQ(load_file(link), file_of(20, std::byte{3}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "b"), {}), 2);

  const auto lost = folder_ / "lost";
  std::filesystem::create_symlink("no/such", lost);
  tests::expect_error<FileError>([&] { save_file(lost, file); }, {"check that the folder exists"});
  EXPECT_TRUE(std::filesystem::is_symlink(lost));
  const auto circle = folder_ / "circle";
  std::filesystem::create_symlink("circle", circle);
  tests::expect_error<FileError>([&] { save_file(circle, file); }, {"symbolic links"});
  EXPECT_TRUE(std::filesystem::is_symlink(circle));
}

TEST_F(FileTest, APathWithANulIsRefused) {
  using namespace std::string_literals;
  const auto file = file_of(10, std::byte{1});
  const std::filesystem::path path = (folder_ / "a.hemera").string() + "\0.txt"s;
  tests::expect_error<FileError>([&] { save_file(path, file); }, {"NUL"});
  EXPECT_EQ(entries(), 0U);
  save_file(folder_ / "a.hemera", file);
  tests::expect_error<FileError>([&] { load_file(path); }, {"NUL"});
}

TEST_F(FileTest, ErrorsNameThePathAndTheReason) {
  const auto file = file_of(10, std::byte{1});
  const auto missing = folder_ / "no" / "a.hemera";
  tests::expect_error<FileError>([&] { save_file(missing, file); }, {"check that the folder exists"});
  tests::expect_error<FileError>([&] { save_file(folder_, file); }, {"a folder has this name"});
  tests::expect_error<FileError>([&] { load_file(missing); }, {missing.string()});
  tests::expect_error<FileError>([&] { load_file(folder_); }, {folder_.string()});
  EXPECT_EQ(entries(), 0U);
}

TEST_F(FileTest, OtherFilesAreRefusedBeforeTheirBytesAreRead) {
  const auto path = folder_ / "large";
  std::ofstream(path) << "no Hemera file";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 36);
  const test::AllocationGuard guard;
  EXPECT_THROW(load_file(path), FormatError);
  EXPECT_LT(guard.total(), 16384U);
  EXPECT_THROW(save_file(folder_ / "b", std::vector<std::byte>(100)), FormatError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b"));
}

TEST_F(FileTest, APipeLoads) {
  const auto path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto file = file_of(300000, std::byte{9});
  std::thread sender([&] { save_file(path, file); });
  EXPECT_EQ(load_file(path), file);
  sender.join();
}

}  // namespace
}  // namespace hemera::io
