// WebAssembly: without Zstandard. Servers compress no ciphertexts and keys, and parameters only if asked to.
#include "io/compression.hpp"

#include "hemera/runtime/error.hpp"

namespace hemera::io {
namespace {

[[noreturn]] void refuse() {
  throw FormatError("a compressed section, which this build does not read; save with compression_level=0");
}

}  // namespace

struct Decompressor::State {};

std::vector<std::byte> compress(std::span<const std::byte> /*data*/, int /*level*/,
                                std::uint64_t /*largest_ratio*/) {
  throw FileError("this build does not compress; save with compression_level 0");
}

std::vector<std::byte> decompress(std::span<const std::byte> /*data*/, std::size_t /*raw_bytes*/) {
  refuse();
}

Decompressor::Decompressor(std::span<const std::byte> /*data*/) { refuse(); }
Decompressor::~Decompressor() = default;
void Decompressor::read(std::span<std::byte> /*out*/) { refuse(); }
void Decompressor::expect_end() { refuse(); }

}  // namespace hemera::io
