// Files made from others and of changed fields, a file of every kind with what loads it, and the fixture of
// all schemes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hemera/interop/seal.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/container.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/vectors.hpp"

namespace hemera::interop::seal::test {

struct Sample {
  std::string name;
  std::vector<std::byte> file;
  /// Loads it and gives the content that is written of what was loaded.
  std::function<std::vector<std::byte>(std::span<const std::byte>)> reload;
};

/// Gives the header of a file the size that fits.
inline void reseal(std::vector<std::byte>& file) {
  for (std::size_t i = 0; i < 8 && 8 + i < file.size(); ++i) {
    file[8 + i] = static_cast<std::byte>(file.size() >> (8 * i) & 0xFF);
  }
}

/// The content of a file after its header, decompressed, as far as it goes. FormatError for a bad header.
inline std::vector<std::byte> content(std::span<const std::byte> file) {
  constexpr std::size_t part = 4096;
  Reader in(file, "a file");
  std::vector<std::byte> bytes;
  try {
    for (;;) {
      bytes.resize(bytes.size() + part);
      in.bytes(std::span(bytes).last(part));
    }
  } catch (const FormatError&) {
    bytes.resize(bytes.size() - part);
  }
  // The last part by single bytes.
  Reader again(file, "a file");
  again.bytes(bytes);
  try {
    for (;;) {
      std::byte next{};
      again.bytes(std::span(&next, 1));
      bytes.push_back(next);
    }
  } catch (const FormatError&) {
    return bytes;
  }
}

/// A file of parameters.
inline std::vector<std::byte> file_of(const EncryptionParameters& parameters,
                                      std::uint8_t minor_version = 4) {
  Writer out(minor_version);
  write_parameters(out, parameters);
  return out.finish(Compression::none);
}

/// Two primes for data and one for keys, of degree 4096.
inline const std::vector<std::uint64_t> primes{68719403009, 68719230977, 137438822401};

/// The vectors of a scheme, with the file of their parameters.
class OfEachScheme : public ::testing::TestWithParam<const char*> {
 protected:
  OfEachScheme() : vectors(GetParam()), parms(vectors.file(vectors.names("parms.").front())) {}

  [[nodiscard]] const Session& session() const { return vectors.session(); }
  [[nodiscard]] bool is(rlwe::Scheme scheme) const { return session().context()->scheme() == scheme; }
  [[nodiscard]] EncryptionParameters parameters() const { return read_parameters(Source(parms)).parameters; }

  Vectors vectors;
  std::vector<std::byte> parms;
};

/// A file of this content without compression.
inline std::vector<std::byte> stored(std::span<const std::byte> content) {
  Writer out(4);
  out.bytes(content);
  return out.finish(Compression::none);
}

}  // namespace hemera::interop::seal::test
