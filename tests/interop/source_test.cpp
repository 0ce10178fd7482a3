#include "hemera/interop/source.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"

namespace hemera::interop {
namespace {

std::string text_of(const Source& source) {
  const auto bytes = source.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(InteropSource, ReadsBytesFilesAndStreams) {
  // Longer than the parts that streams are read by.
  std::string text(3'000'000, 'x');
  text.back() = 'y';
  const auto view = std::as_bytes(std::span(text.data(), text.size()));
  EXPECT_EQ(Source(view).bytes().data(), view.data());
  EXPECT_EQ(text_of(std::vector<std::byte>(view.begin(), view.end())), text);

  const auto path = std::filesystem::temp_directory_path() / "hemera_source_test.bin";
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text_of(path), text);
  std::filesystem::remove(path);

  std::istringstream stream("head" + text);
  stream.ignore(4);
  const Source read(stream);
  const Source copy = read;
  EXPECT_EQ(text_of(copy), text);
}

TEST(InteropSource, SaysWhatItCanNotRead) {
  EXPECT_THROW(Source(std::filesystem::path("/no/such/file")), FileError);
  EXPECT_THROW(Source{std::filesystem::temp_directory_path()}, FileError);
}

// Files that do not tell their size have content all the same: pipes, and the kernel's.
TEST(InteropSource, ReadsFilesWithoutASize) {
  const std::filesystem::path status = "/proc/self/status";
  if (!std::filesystem::exists(status)) GTEST_SKIP() << "this system has no /proc";
  ASSERT_EQ(std::filesystem::file_size(status), 0U);
  EXPECT_EQ(text_of(status).substr(0, 5), "Name:");
}

TEST(InteropSource, FilesOfKeysAreSources) {
  KeyFiles files;
  files.galois = std::vector<std::byte>(3);
  const KeySources sources = files.sources();
  EXPECT_FALSE(sources.public_key || sources.relinearization);
  EXPECT_EQ(sources.galois->bytes().size(), 3U);
}

}  // namespace
}  // namespace hemera::interop
