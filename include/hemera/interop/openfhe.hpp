// OpenFHE 1.4 to 1.6 as a client: its files in, its files out (docs/clients-openfhe.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/source.hpp"
#include "hemera/io/container.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::interop::openfhe {

/// OpenFHE's SerType::BINARY and SerType::JSON.
enum class Format : std::uint8_t { binary, json };

/// The metadata that OpenFHE stores with a ciphertext.
struct Metadata {
  /// Moduli that were dropped: 0 is the top.
  std::size_t level = 0;
  int noise_scale_degree = 1;
  /// CKKS; 1 otherwise.
  double scaling_factor = 1;
  /// BGV: modulo t; 1 otherwise.
  std::uint64_t scaling_factor_int = 1;
  /// CKKS; 0 otherwise.
  std::size_t slots = 0;
  std::size_t components = 0;
  std::size_t limbs = 0;
  /// False for BFV's products that were not relinearized.
  bool is_evaluation = true;
};

/// A prime with the 2N-th root of unity of its transform.
struct RootedPrime {
  std::uint64_t prime = 0;
  std::uint64_t root = 0;
};

/// A limb in OpenFHE's memory: N residues.
struct LimbView {
  std::uint64_t modulus = 0;
  std::uint64_t root = 0;
  std::span<const std::uint64_t> words;
};

/// A DCRTPoly in OpenFHE's memory.
struct PolynomialView {
  bool is_evaluation = true;
  std::vector<LimbView> limbs;
};

/// A ciphertext in OpenFHE's memory.
struct CiphertextView {
  std::string key_tag;
  std::size_t noise_scale_degree = 1;
  double scaling_factor = 1;
  std::uint64_t scaling_factor_int = 1;
  std::size_t slots = 0;
  /// A number of OpenFHE's PlaintextEncodings.
  std::int32_t encoding = 0;
  std::vector<PolynomialView> components;
};

/// An EvalKey in OpenFHE's memory: one polynomial a digit in each half.
struct SwitchingKeyView {
  std::vector<PolynomialView> a, b;
};

/// Hemera's parameters that reproduce the crypto context in any file of OpenFHE. The rescaling policy follows
/// the scaling technique, roots are the file's, special primes those of the file's key or, without a key, by
/// OpenFHE's rule. Throws FormatError for other bytes, and for contexts with composite scaling, for several
/// parties or for scheme switching.
rlwe::Parameters load_parameters(const Source& source);

/// Primes of the keys of a context that the context's own file does not have.
struct FurtherPrimes {
  /// P of HYBRID.
  std::vector<RootedPrime> special = {};
  /// Primes of the key to an encapsulated secret that are not in P; OpenFHE has them since 1.6.1.
  std::vector<RootedPrime> auxiliary = {};
};

/// OpenFHE's context and the tag of the key pair.
struct Client;
struct KeyPrimes;
struct Opening;

/// One client: its context and one key pair. Loaded objects are ordinary objects of its context. Loading
/// throws FormatError for damaged bytes or another kind of object, MismatchError for objects of another
/// context or key pair; a call that throws leaves the session unchanged. Any number of threads may use a
/// session at once, except load_keys.
///
/// Rotations are OpenFHE's (rlwe::LongRotations::openfhe). A crypto context does not have the special primes,
/// and OpenFHE's rule for them differs by version: they stay open until the first switching key, ciphertext
/// or secret key. A key with other special primes gives the session another context, and moves the session's
/// keys there; later, such a key is a MismatchError.
class Session {
 public:
  /// `source`: a crypto context, or any object, whose key pair is then the session's. Throws the errors of
  /// load_parameters and Context::make.
  explicit Session(const Source& source, runtime::Device device = {}, rlwe::ContextOptions options = {});
  /// A session for a key pair that is not in a crypto context: its tag, and the primes of its keys. Without
  /// special primes, they follow from the context.
  Session(const Source& crypto_context, const std::string& key_tag, const FurtherPrimes& primes,
          runtime::Device device = {}, rlwe::ContextOptions options = {});
  /// A session in contexts that the caller makes of parameters: one now, and another one if keys need it.
  /// Throws MismatchError unless they have rlwe::LongRotations::openfhe.
  using ContextMaker = std::function<rlwe::ContextPointer(const rlwe::Parameters&)>;
  Session(const Source& source, ContextMaker make_context);
  /// A session in a context of load_parameters(source) alone; throws MismatchError for other parameters.
  Session(const Source& source, rlwe::ContextPointer context);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const rlwe::Parameters& params() const { return context_->parameters(); }
  /// May change in load_keys, if keys need another one.
  [[nodiscard]] const rlwe::ContextPointer& context() const { return context_; }
  /// All keys loaded so far, and an evaluator with them.
  [[nodiscard]] const rlwe::EvaluationKeys& keys() const { return keys_; }
  [[nodiscard]] std::shared_ptr<const rlwe::Evaluator> evaluator() const;

  /// Adds keys: a public key, and maps as SerializeEvalMultKey and SerializeEvalAutomorphismKey write them.
  /// Earlier evaluators keep their keys. Either all keys are added, or none.
  const rlwe::EvaluationKeys& load_keys(const KeySources& sources);
  /// The noise of BFV and BGV is unknown (rlwe::unknown_noise).
  [[nodiscard]] rlwe::Ciphertext load_ciphertext(const Source& source) const;
  /// A batch of shape [sources]; throws MismatchError where sizes, levels, degrees or scaling factors differ.
  [[nodiscard]] rlwe::Ciphertext load_ciphertexts(std::span<const Source> sources) const;
  /// Also throws FormatError for coefficients above 127 in magnitude, which no distribution of OpenFHE has.
  [[nodiscard]] rlwe::SecretKey load_secret_key(const Source& source) const;

  /// OpenFHE's EvalBootstrap with the client's keys and the settings that its context has for the
  /// ciphertext's number of slots: the level and degree of the result are OpenFHE's. With two iterations the
  /// error, magnified by 2^precision (from 1 to 30: the bits that one iteration has), is bootstrapped and
  /// subtracted, for one level more. `counts`: an evaluator whose count includes it
  /// (ckks::Evaluator::bootstraps). Throws
  /// - MissingKeyError without EvalBootstrapKeyGen's keys,
  /// - ParameterError for a context that was not set up for it, or settings that Hemera does not have,
  /// - LevelError for a ciphertext at the last level, or, with SlotToCoeff first, without the levels of its
  ///   budget.
  [[nodiscard]] rlwe::Ciphertext bootstrap(const rlwe::Ciphertext& ciphertext, int iterations = 1,
                                           int precision = 0, const rlwe::Evaluator* counts = nullptr) const;
  /// For each number of slots that the context was set up for: the lowest level at which bootstrap accepts a
  /// ciphertext that waits for no rescale. That is 1, or, with SlotToCoeff first, the levels of its budget.
  [[nodiscard]] std::map<std::size_t, std::size_t> bootstrap_input_levels() const;

  /// Objects as OpenFHE's files. Throws MismatchError for objects of other contexts or that OpenFHE can not
  /// hold, and if the session has no key tag, by which OpenFHE finds keys: load an object with a tag first.
  /// Tags in JSON must be UTF-8.
  [[nodiscard]] std::vector<std::byte> dump_context(Format format = Format::binary) const;
  [[nodiscard]] KeyFiles dump_keys(const rlwe::EvaluationKeys& keys, Format format = Format::binary) const;
  /// A single ciphertext, or each of a batch, row by row.
  [[nodiscard]] std::vector<std::byte> dump_ciphertext(const rlwe::Ciphertext& ciphertext,
                                                       Format format = Format::binary) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> dump_ciphertexts(const rlwe::Ciphertext& batch,
                                                                     Format format = Format::binary) const;
  /// One ciphertext of a batch (counted row by row) to a sink; without an intermediate copy if the sink has
  /// room().
  void dump_ciphertext(io::Sink& sink, const rlwe::Ciphertext& batch, std::size_t element = 0,
                       Format format = Format::binary) const;
  /// Secret: keep the bytes from others, and zero them (runtime::secure_zero) after use.
  [[nodiscard]] std::vector<std::byte> dump_secret_key(const rlwe::SecretKey& key,
                                                       Format format = Format::binary) const;

  /// From and to OpenFHE's memory without a file, for programs that are compiled with OpenFHE
  /// (hemera/adapters/openfhe.hpp). Checked as files are, with the same errors. The words may change after a
  /// call returns.
  [[nodiscard]] rlwe::Ciphertext import_ciphertext(const CiphertextView& view) const;
  /// Keys of s^2, s^3, ..., as GetEvalMultKeyVector has them.
  void import_relinearization(std::span<const SwitchingKeyView> powers);
  /// Galois keys by automorphism index, as GetEvalAutomorphismKeyMap has them.
  void import_galois(const std::map<std::uint32_t, SwitchingKeyView>& keys);
  /// The residues that go with `metadata`, a span of N words for each limb of each component; throws
  /// MismatchError for other numbers of them.
  void export_ciphertext(const rlwe::Ciphertext& ciphertext,
                         std::span<const std::span<std::uint64_t>> limbs) const;

  /// The metadata that dump_ciphertext writes.
  [[nodiscard]] Metadata metadata(const rlwe::Ciphertext& ciphertext) const;

 private:
  void open(Opening opening);
  /// The primes of the keys so far, with those of `told`, unless objects are bound to the present context.
  [[nodiscard]] KeyPrimes with_primes_of(const KeyPrimes& told) const;
  /// The keys loaded so far, in this context.
  [[nodiscard]] rlwe::EvaluationKeys keys_in(const rlwe::ContextPointer& context) const;

  ContextMaker make_context_;
  rlwe::ContextPointer context_;
  std::unique_ptr<Client> client_;
  rlwe::EvaluationKeys keys_;
};

/// The description of a file of OpenFHE.
struct Description {
  /// "crypto context", "ciphertext", "secret key", "public key", "relinearization keys", "Galois keys".
  std::string kind;
  /// "binary" or "JSON".
  std::string format;
  /// Names and values, as hemera::io::Description has them.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Empty for bytes that do not begin like a file of OpenFHE. Throws FormatError for damaged ones.
std::optional<Description> describe(const Source& source);

}  // namespace hemera::interop::openfhe
