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
/// Objects that only version 2 of the format can express, of a context of second_format_parameters.
Samples make_second_format_samples(const std::shared_ptr<const rlwe::Context>& context);

/// The same with messages that only version 3 can express: filled slots, padding and type.
Samples make_third_format_samples(const std::shared_ptr<const rlwe::Context>& context);
/// The same with ciphertexts that only version 4 can express: of spent noise budgets, BFV and BGV.
Samples make_fourth_format_samples(const std::shared_ptr<const rlwe::Context>& context);

/// A scheme, and the version of the format that its samples need.
struct FormatCase {
  rlwe::Scheme scheme;
  std::uint16_t version;
};
/// Every scheme in every version that it has, and their names: "BFV", "BFVInVersion2", ...
std::vector<FormatCase> format_cases();
std::string name(const FormatCase& tested);
/// The version that the file of this sample has: version 3 is of messages alone, version 4 of ciphertexts.
std::uint16_t version_of(const FormatCase& tested, const std::string& sample);
/// A new context with primes of `bits` bits, and its samples.
std::shared_ptr<const rlwe::Context> context_of(const FormatCase& tested, int bits);
Samples make_samples(const FormatCase& tested, int bits);

/// A file of each kind of object: its name, its bytes, and the loader of its kind. Loaders return what they
/// loaded as bytes again, saved with default options.
struct SampleFile {
  std::string name;
  std::vector<std::byte> file;
  std::function<std::vector<std::byte>(std::span<const std::byte>)> reload;
};
std::vector<SampleFile> sample_files(const Samples& samples, const SaveOptions& options = {});

}  // namespace hemera::io::test
