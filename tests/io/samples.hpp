// Small objects of every kind and scheme.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hemera/io/objects.hpp"
#include "io/small_parameters.hpp"

namespace hemera::io::test {

/// Residues in standard order, all of an array.
std::vector<std::uint64_t> words(const rlwe::Context& context, const poly::Poly& poly);

/// One object of each kind; residues of messages are uniform.
struct Samples {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  rlwe::PublicKey public_key;
  rlwe::SwitchingKey switching;
  rlwe::EvaluationKeys keys;
  rlwe::Plaintext plaintext;    // batch (2,)
  rlwe::Ciphertext ciphertext;  // single
  rlwe::Ciphertext seeded;      // batch (2, 1), level 0
};
Samples make_samples(const std::shared_ptr<const rlwe::Context>& context);

/// A file of each kind of object: its name, its bytes, and the loader of its kind. Loaders return what they
/// loaded as bytes again, saved with default options.
struct SampleFile {
  std::string name;
  std::vector<std::byte> file;
  std::function<std::vector<std::byte>(std::span<const std::byte>)> reload;
};
std::vector<SampleFile> sample_files(const Samples& samples, const SaveOptions& options = {});

}  // namespace hemera::io::test
