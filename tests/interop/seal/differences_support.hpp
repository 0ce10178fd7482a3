// Parameters of SEAL's files, to change.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"

namespace hemera::interop::seal::test::differences {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;
using test::file_of;

class SealDifferences : public OfEachScheme {};

// A file of its fields and words, whether they fit or not.
inline Bytes file_of(const CiphertextFields& fields, std::span<const std::uint64_t> words) {
  Writer out(4);
  write_ciphertext(out, fields);
  out.words(words);
  return out.finish(Compression::none);
}

}  // namespace hemera::interop::seal::test::differences
