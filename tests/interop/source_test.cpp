#include "hemera/interop/source.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
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

// Streams are read by parts of 1, 2, 4, ... MiB: none is lost or moved where one ends.
TEST(InteropSource, StreamsOfEverySizeAreWhole) {
  constexpr std::size_t part = std::size_t{1} << 20;
  std::string all(4 * part + 1, ' ');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>((i * 2654435761U) >> 13 & 0x7F);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, part - 1, part, part + 1, 2 * part - 1,
                                 2 * part, 2 * part + 1, 4 * part, 4 * part + 1}) {
    std::istringstream stream(all.substr(0, size));
    EXPECT_TRUE(text_of(stream) == all.substr(0, size)) << size;
  }
}

TEST(InteropSource, StreamsThatBreakAreErrors) {
  struct Broken : std::stringbuf {
    std::streamsize xsgetn(char*, std::streamsize) override { throw std::runtime_error("no disk"); }
  } buffer;
  std::istream stream(&buffer);
  EXPECT_THROW(static_cast<void>(Source(stream)), FileError);
}

// Each kind by itself and with the others: what is there, and nothing else.
TEST(InteropSource, FilesOfKeysAreSources) {
  for (std::size_t given = 0; given < 8; ++given) {
    KeyFiles files;
    if ((given & 1) != 0) files.public_key = std::vector<std::byte>(1);
    if ((given & 2) != 0) files.relinearization = std::vector<std::byte>(2);
    if ((given & 4) != 0) files.galois = std::vector<std::byte>(3);
    const KeySources sources = files.sources();
    EXPECT_EQ(sources.public_key ? sources.public_key->bytes().size() : 0, given & 1);
    EXPECT_EQ(sources.relinearization ? sources.relinearization->bytes().size() : 0, given & 2);
    EXPECT_EQ(sources.galois ? sources.galois->bytes().size() : 0, (given & 4) != 0 ? 3U : 0U);
    if (files.galois) {
      EXPECT_EQ(sources.galois->bytes().data(), files.galois->data());
    }
  }
}

}  // namespace
}  // namespace hemera::interop
