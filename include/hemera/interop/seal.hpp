// Microsoft SEAL 4 as a client: its files in, its files out (docs/clients-seal.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/source.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::interop::seal {

/// How SEAL compresses an object, by its own numbers.
enum class Compression : std::uint8_t { none = 0, zlib = 1, zstd = 2 };

/// Settings that SEAL's parameters do not have.
struct Options {
  /// CKKS: the default scale of numbers and encodings; required. BFV and BGV: unused.
  double scale = 0;
  /// BFV and BGV: the encoding of plaintexts and ciphertexts; empty: slots if there are N of them.
  std::optional<rlwe::Encoding> encoding = std::nullopt;
};

/// The metadata that SEAL stores with a ciphertext.
struct Metadata {
  /// Hexadecimal digits of the bytes in the file, 64 of them.
  std::string parms_id;
  std::size_t size = 0;
  bool is_ntt_form = false;
  std::size_t coeff_modulus_count = 0;
  double scale = 1;
  std::uint64_t correction_factor = 1;
};

/// A ciphertext, or half of a key, in SEAL's memory, by its accessors.
struct CiphertextView {
  std::array<std::byte, 32> parms_id{};
  bool is_ntt_form = false;
  std::size_t size = 0;
  std::size_t coeff_modulus_count = 0;
  double scale = 1;
  std::uint64_t correction_factor = 1;
  /// Residues [size, coeff_modulus_count, N].
  std::span<const std::uint64_t> words;
};

/// A plaintext in SEAL's memory; a parms_id of zeros: coefficients modulo the plain modulus.
struct PlaintextView {
  std::array<std::byte, 32> parms_id{};
  double scale = 1;
  std::span<const std::uint64_t> words;
};

/// Relinearization or Galois keys in SEAL's memory: at each place the digits of a key, or none.
using KeyPlaces = std::vector<std::vector<CiphertextView>>;

/// Hemera's parameters that reproduce SEAL's encryption parameters:
/// - the data primes from the last to the first are the levels' last ones, the last prime is the special one,
/// - digits are single primes, roots are minimal, rotations are those of the generator 3,
/// - the caller rescales.
///
/// Throws FormatError for other bytes, ParameterError for parameters that Hemera does not have, or without a
/// scale for CKKS.
rlwe::Parameters load_parameters(const Source& parms, const Options& options = {});

/// SEAL's parameters and levels.
struct Client;

/// One client: its parameters and one key pair. Loaded objects are ordinary objects of its context. Loading
/// throws FormatError for damaged bytes or another kind of object, MismatchError for objects of other
/// parameters. Any number of threads may use a session at once, except load_keys.
class Session {
 public:
  /// `parms`: SEAL's encryption parameters. Throws the errors of load_parameters and Context::make.
  explicit Session(const Source& parms, runtime::Device device = {}, const Options& options = {},
                   rlwe::ContextOptions context_options = {});
  /// A session in a context of load_parameters(parms, options); throws MismatchError for other parameters.
  Session(const Source& parms, rlwe::ContextPointer context, const Options& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const rlwe::Parameters& params() const { return context_->parameters(); }
  [[nodiscard]] const rlwe::ContextPointer& context() const { return context_; }
  /// All keys loaded so far, and an evaluator with them.
  [[nodiscard]] const rlwe::EvaluationKeys& keys() const { return keys_; }
  [[nodiscard]] std::shared_ptr<const rlwe::Evaluator> evaluator() const;

  /// Adds keys. Earlier evaluators keep theirs.
  const rlwe::EvaluationKeys& load_keys(const KeySources& sources);
  /// Seeds are expanded. The noise of BFV and BGV is unknown (rlwe::unknown_noise).
  [[nodiscard]] rlwe::Ciphertext load_ciphertext(const Source& source) const;
  /// A batch of shape [sources]; throws MismatchError if sizes, levels, scales or correction factors differ.
  [[nodiscard]] rlwe::Ciphertext load_ciphertexts(std::span<const Source> sources) const;
  [[nodiscard]] rlwe::Plaintext load_plaintext(const Source& source) const;
  [[nodiscard]] rlwe::SecretKey load_secret_key(const Source& source) const;

  /// Objects as SEAL's files, in the version of the session's parameters: SEAL loads files of its own minor
  /// version and older. Throws MismatchError for objects of other contexts or that SEAL can not hold.
  [[nodiscard]] std::vector<std::byte> dump_context(Compression compression = Compression::zstd) const;
  [[nodiscard]] KeyFiles dump_keys(const rlwe::EvaluationKeys& keys,
                                   Compression compression = Compression::zstd) const;
  /// A single ciphertext or plaintext, or each of a batch, row by row.
  [[nodiscard]] std::vector<std::byte> dump_ciphertext(const rlwe::Ciphertext& ciphertext,
                                                       Compression compression = Compression::zstd) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> dump_ciphertexts(
      const rlwe::Ciphertext& batch, Compression compression = Compression::zstd) const;
  [[nodiscard]] std::vector<std::byte> dump_plaintext(const rlwe::Plaintext& plaintext,
                                                      Compression compression = Compression::zstd) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> dump_plaintexts(
      const rlwe::Plaintext& batch, Compression compression = Compression::zstd) const;
  /// Secret: keep the bytes from others, and zero them (runtime::secure_zero) after use.
  [[nodiscard]] std::vector<std::byte> dump_secret_key(const rlwe::SecretKey& key,
                                                       Compression compression = Compression::zstd) const;

  /// From and to SEAL's memory without a file, for programs that are compiled with SEAL
  /// (hemera/adapters/seal.hpp). Checked as files are, with the same errors. The words may change after a
  /// call returns. Ciphertexts, and plaintexts of BFV and BGV, come in either form. `level`, BFV and BGV: the
  /// plaintext is prepared for products there (rlwe::Plaintext::lifted); throws MismatchError for CKKS,
  /// LevelError.
  [[nodiscard]] rlwe::Ciphertext import_ciphertext(const CiphertextView& view) const;
  [[nodiscard]] rlwe::Plaintext import_plaintext(const PlaintextView& view,
                                                 std::optional<std::size_t> level = std::nullopt) const;
  void import_relinearization(const KeyPlaces& places);
  void import_galois(const KeyPlaces& places);
  /// The residues that go with `metadata`, [size, coeff_modulus_count, N], or those of the other form; throws
  /// MismatchError for another number of words.
  void export_ciphertext(const rlwe::Ciphertext& ciphertext, std::span<std::uint64_t> words,
                         std::optional<bool> is_ntt_form = std::nullopt) const;

  /// SEAL's mod_reduce_to: the residues modulo the primes of a lower level, not divided by those that are
  /// dropped. The noise stays as it is. Throws MismatchError for BFV, LevelError.
  [[nodiscard]] rlwe::Ciphertext reduced(const rlwe::Ciphertext& ciphertext, std::size_t level) const;

  /// The metadata that dump_ciphertext writes.
  [[nodiscard]] Metadata metadata(const rlwe::Ciphertext& ciphertext) const;

 private:
  rlwe::ContextPointer context_;
  std::unique_ptr<const Client> client_;
  rlwe::EvaluationKeys keys_;
};

/// The description of a file of SEAL.
struct Description {
  /// "encryption parameters", "ciphertext", "plaintext", "secret key", "public key", "relinearization keys",
  /// "Galois keys"; a file does not say whether a ciphertext is a public key or a plaintext a secret key:
  /// with the parameters it is known.
  std::string kind;
  /// "4.4".
  std::string version;
  /// Names and values, as hemera::io::Description has them.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Empty for bytes that do not begin like a SEAL object. Throws FormatError for damaged ones, MismatchError
/// for objects of other parameters than `parms`.
std::optional<Description> describe(const Source& source, const std::optional<Source>& parms = std::nullopt);

}  // namespace hemera::interop::seal
