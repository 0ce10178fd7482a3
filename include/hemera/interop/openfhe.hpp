// OpenFHE 1.4 to 1.6 as a client: its files in, its files out (docs/clients.md).
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

/// What OpenFHE stores with a ciphertext.
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
  /// Not of BFV's products that were not relinearized.
  bool is_evaluation = true;
};

/// A prime with the 2N-th root of unity that its transform is by.
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

/// Hemera's parameters that reproduce the crypto context in any file of OpenFHE. The rescaling policy is the
/// scaling technique, roots are those of the file, special primes those of the file's key or, without one, by
/// OpenFHE's rule. FormatError for other bytes, and for contexts with composite scaling, for several parties
/// or for scheme switching.
rlwe::Parameters load_parameters(const Source& source);

/// Primes that the keys of a context have, and its own file does not tell.
struct FurtherPrimes {
  /// P of HYBRID.
  std::vector<RootedPrime> special = {};
  /// Those of the key to an encapsulated secret that are not in P; OpenFHE has them since 1.6.1.
  std::vector<RootedPrime> auxiliary = {};
};

/// OpenFHE's context and the tag of the key pair.
struct Client;
struct KeyPrimes;
struct Opening;

/// One client: its context and one key pair. What it loads are ordinary objects of its context. Loading
/// throws FormatError for damaged bytes or another kind of object, MismatchError for objects of another
/// context or key pair; a call that throws leaves the session as it was. Any number of threads may use a
/// session, but for load_keys.
///
/// Rotations are OpenFHE's (rlwe::LongRotations::openfhe). A crypto context does not tell the special primes,
/// and OpenFHE's rule for them differs by version: they stay open until the first switching key or the first
/// ciphertext or secret key. A key that tells others gives the session another context and moves the keys
/// that it has there; afterwards such a key is a MismatchError.
class Session {
 public:
  /// `source`: a crypto context, or any object, whose key pair is then the session's. Throws what
  /// load_parameters and Context::make throw.
  explicit Session(const Source& source, runtime::Device device = {}, rlwe::ContextOptions options = {});
  /// For a key pair that a crypto context does not tell: its tag, and the primes of its keys. Special ones
  /// follow from the context if there are none.
  Session(const Source& crypto_context, const std::string& key_tag, const FurtherPrimes& primes,
          runtime::Device device = {}, rlwe::ContextOptions options = {});
  /// In contexts that the caller makes of parameters: one now, and another one if keys ask for it. They have
  /// rlwe::LongRotations::openfhe (MismatchError).
  using ContextMaker = std::function<std::shared_ptr<const rlwe::Context>(const rlwe::Parameters&)>;
  Session(const Source& source, ContextMaker make_context);
  /// In a context of load_parameters(source), and no other; MismatchError for one of other parameters.
  Session(const Source& source, std::shared_ptr<const rlwe::Context> context);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const rlwe::Parameters& params() const { return context_->parameters(); }
  /// Another one after load_keys if the keys asked for it.
  [[nodiscard]] const std::shared_ptr<const rlwe::Context>& context() const { return context_; }
  /// All keys loaded so far, and an evaluator with them.
  [[nodiscard]] const rlwe::EvaluationKeys& keys() const { return keys_; }
  [[nodiscard]] std::shared_ptr<const rlwe::Evaluator> evaluator() const;

  /// Adds keys: a public key, and maps as SerializeEvalMultKey and SerializeEvalAutomorphismKey write them.
  /// An evaluator that was taken before keeps its own. All of them are added, or none.
  const rlwe::EvaluationKeys& load_keys(const KeySources& sources);
  /// The noise of BFV and BGV is unknown (rlwe::unknown_noise).
  [[nodiscard]] rlwe::Ciphertext load_ciphertext(const Source& source) const;
  /// A batch of shape [sources]; MismatchError where sizes, levels, degrees or scaling factors differ.
  [[nodiscard]] rlwe::Ciphertext load_ciphertexts(std::span<const Source> sources) const;
  /// FormatError for coefficients above 127 in magnitude, too, which no distribution of OpenFHE has.
  [[nodiscard]] rlwe::SecretKey load_secret_key(const Source& source) const;

  /// OpenFHE's EvalBootstrap with the client's keys and the settings that its context has
  /// for the ciphertext's number of slots: the level and degree of the result are OpenFHE's. MissingKeyError
  /// without EvalBootstrapKeyGen's keys, ParameterError for contexts that were not set up for it and for
  /// settings that Hemera does not have, LevelError for a ciphertext at the last level, or, with SlotToCoeff
  /// first, without the levels of its budget.
  /// With two iterations the error, magnified by 2^precision (from 1 to 30: the bits that one iteration has),
  /// is bootstrapped and subtracted, for one level more.
  [[nodiscard]] rlwe::Ciphertext bootstrap(const rlwe::Ciphertext& ciphertext, int iterations = 1,
                                           int precision = 0) const;
  /// The lowest level of ciphertexts that wait for no rescale, at which bootstrap still takes them: 1, or,
  /// with SlotToCoeff first, the levels of its budget. For each number of slots that the context was set up
  /// for.
  [[nodiscard]] std::map<std::size_t, std::size_t> bootstrap_input_levels() const;

  /// Objects as OpenFHE's files. MismatchError for objects of other contexts or that OpenFHE can not hold,
  /// and without a key tag: OpenFHE finds keys by it, and a session has one when it has loaded an object with
  /// one. JSON has no tag that is not UTF-8.
  [[nodiscard]] std::vector<std::byte> dump_context(Format format = Format::binary) const;
  [[nodiscard]] KeyFiles dump_keys(const rlwe::EvaluationKeys& keys, Format format = Format::binary) const;
  /// A ciphertext alone; of a batch, each by itself, row by row.
  [[nodiscard]] std::vector<std::byte> dump_ciphertext(const rlwe::Ciphertext& ciphertext,
                                                       Format format = Format::binary) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> dump_ciphertexts(const rlwe::Ciphertext& batch,
                                                                     Format format = Format::binary) const;
  /// One of a batch, row by row, to where the caller wants it: once, for a sink with room.
  void dump_ciphertext(io::Sink& sink, const rlwe::Ciphertext& batch, std::size_t element = 0,
                       Format format = Format::binary) const;
  /// Secret: keep the bytes from others, and zero them (runtime::secure_zero) after use.
  [[nodiscard]] std::vector<std::byte> dump_secret_key(const rlwe::SecretKey& key,
                                                       Format format = Format::binary) const;

  /// From and to OpenFHE's memory without a file, for programs that are compiled with OpenFHE
  /// (hemera/adapters/openfhe.hpp). Checked as files are, with the same errors. The words may change when a
  /// call returns.
  [[nodiscard]] rlwe::Ciphertext import_ciphertext(const CiphertextView& view) const;
  /// Keys of s^2, s^3, ..., as GetEvalMultKeyVector has them.
  void import_relinearization(std::span<const SwitchingKeyView> powers);
  /// By automorphism index, as GetEvalAutomorphismKeyMap has them.
  void import_galois(const std::map<std::uint32_t, SwitchingKeyView>& keys);
  /// The residues that go with `metadata`, a span of N words for each limb of each component; MismatchError
  /// for other numbers of them.
  void export_ciphertext(const rlwe::Ciphertext& ciphertext,
                         std::span<const std::span<std::uint64_t>> limbs) const;

  /// What dump_ciphertext writes beside residues.
  [[nodiscard]] Metadata metadata(const rlwe::Ciphertext& ciphertext) const;

 private:
  void open(Opening opening);
  /// The primes of keys so far with those that these tell, unless objects are bound to the context as it is.
  [[nodiscard]] KeyPrimes with_primes_of(const KeyPrimes& told) const;
  /// The keys loaded so far, in this context.
  [[nodiscard]] rlwe::EvaluationKeys keys_in(const std::shared_ptr<const rlwe::Context>& context) const;

  ContextMaker make_context_;
  std::shared_ptr<const rlwe::Context> context_;
  std::unique_ptr<Client> client_;
  rlwe::EvaluationKeys keys_;
};

/// What a file of OpenFHE holds.
struct Description {
  /// "crypto context", "ciphertext", "secret key", "public key", "relinearization keys", "Galois keys".
  std::string kind;
  /// "binary" or "JSON".
  std::string format;
  /// Names and values, as hemera::io::Description has them.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Empty for bytes that do not begin like a file of OpenFHE. FormatError for damaged ones.
std::optional<Description> describe(const Source& source);

}  // namespace hemera::interop::openfhe
