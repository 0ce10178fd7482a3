// Parameters of SEAL's files, to change.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "interop/seal/client.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"

namespace hemera::interop::seal::test::differences {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;

class SealDifferences : public ::testing::TestWithParam<const char*> {
 protected:
  SealDifferences() : vectors(GetParam()), parms(vectors.file(vectors.names("parms.").front())) {}

  [[nodiscard]] const Session& session() const { return vectors.session(); }
  [[nodiscard]] bool is(rlwe::Scheme scheme) const { return session().context()->scheme() == scheme; }
  [[nodiscard]] EncryptionParameters parameters() const { return read_parameters(Source(parms)).parameters; }

  Vectors vectors;
  Bytes parms;
};

inline Bytes file_of(const EncryptionParameters& parameters) {
  Writer out(4);
  write_parameters(out, parameters);
  return out.finish(Compression::none);
}

// A file of its fields and words, whether they fit or not.
inline Bytes file_of(const CiphertextFields& fields, std::span<const std::uint64_t> words) {
  Writer out(4);
  write_ciphertext(out, fields);
  out.words(words);
  return out.finish(Compression::none);
}

inline const std::vector<std::uint64_t> primes{68719403009, 68719230977, 137438822401};

}  // namespace hemera::interop::seal::test::differences
