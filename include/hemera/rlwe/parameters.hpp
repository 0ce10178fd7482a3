// Everything that two parties must agree on, validated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hemera/rlwe/gadget.hpp"
#include "hemera/rlwe/rescaling_policy.hpp"
#include "hemera/rlwe/scheme.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::rlwe {

/// How BFV multiplies (docs/bfv.md); all give the same decrypted values.
enum class BfvMultiplication : std::uint8_t { none = 0, behz = 1, hps = 2, hps_over_q = 3 };

/// The owner of a level of the chain: the user, or a circuit.
enum class LevelPurpose : std::uint8_t {
  user = 0,
  // Levels of circuits, which automatic rescaling and alignment leave alone.
  slots_to_coefficients = 1,
  eval_mod = 2,
  coefficients_to_slots = 3,
  other_circuit = 4,
};

/// The literal from which Parameters are made: plain data, unchecked.
struct ParametersLiteral {
  Scheme scheme = Scheme::ckks;
  /// N, a power of two in [2^10, 2^17].
  std::size_t degree = 0;
  /// The primes of each level's base; levels[0] is the last and smallest. Going down drops and may add some.
  std::vector<std::vector<std::uint64_t>> levels;
  /// The purpose of each level, in their order; the user's levels lie together. Empty: all are the user's.
  std::vector<LevelPurpose> purposes;
  /// The default gadget, of keys for the user's levels: special primes P of key-switching; may be empty.
  std::vector<std::uint64_t> special_primes;
  /// Its digits: a partition of all primes of all levels. Empty: consecutive groups of as many primes as fit
  /// under P (one prime each if there are none special).
  std::vector<std::vector<std::uint64_t>> digits;
  /// Bits w of a base-2^w split of single-prime digits; 0: no split.
  int window_bits = 0;
  /// Further primes, neither of a level nor special, which gadgets of single keys may take for their P.
  std::vector<std::uint64_t> key_primes;
  /// Primitive 2N-th roots of unity by modulus; the minimal root where there is no entry.
  std::map<std::uint64_t, std::uint64_t> roots;
  /// t of BFV and BGV, 2 <= t < 2^60 and coprime to every prime; 0 for CKKS. integer_slots gives the number
  /// of its slots.
  std::uint64_t plain_modulus = 0;
  /// CKKS: the scale of fresh encodings at the top level.
  double scale = 0;
  /// CKKS: bits of integer range that the last base leaves above the scale.
  int range_bits = 10;
  /// CKKS: the largest magnitude of values that is declared, at most 2^(range_bits - 1); 0: none. Encoding
  /// refuses larger ones, and ciphertexts carry bounds that follow from it (Metadata::largest).
  double largest = 0;
  /// 5 (Hemera's own and OpenFHE's) or 3 (SEAL's).
  std::uint64_t galois_generator = 5;
  SecretDistribution secret;
  double sigma = 3.19;
  BfvMultiplication bfv_multiplication = BfvMultiplication::none;
  /// Empty: RescalingPolicy::automatic.
  std::optional<RescalingPolicy> rescaling;
  /// Bits of classical security to insist on, of the default gadget and the public key: 128, 192 or 256;
  /// empty: any.
  std::optional<int> security = 128;
};

/// The slots of a plaintext modulus t: for a prime the largest power of two n <= N with t = 1 mod 2n. They
/// are all of Z_t[X]/(X^N + 1) where n = N, and those of its polynomials in X^(N/n) otherwise. 0: none, where
/// t is no prime or n is 1.
std::size_t integer_slots(std::size_t degree, std::uint64_t t);

/// Immutable, validated parameters. Two contexts whose parameters have one fingerprint exchange objects.
class Parameters {
 public:
  /// Throws ParameterError, which names the clash, or SecurityError if the parameters are weaker than
  /// `literal.security`. Fills in fields that the literal leaves open (digits, roots, BFV's multiplication:
  /// hps_over_q).
  explicit Parameters(ParametersLiteral literal);

  [[nodiscard]] const ParametersLiteral& literal() const { return literal_; }
  [[nodiscard]] Scheme scheme() const { return literal_.scheme; }
  [[nodiscard]] std::size_t degree() const { return literal_.degree; }
  /// Number of levels; the top level is levels() - 1.
  [[nodiscard]] std::size_t levels() const { return literal_.levels.size(); }
  /// Largest number of slots: N/2 for CKKS, integer_slots for BFV and BGV.
  [[nodiscard]] std::size_t max_slots() const { return max_slots_; }
  [[nodiscard]] bool has_slots() const { return max_slots() != 0; }
  /// Whether they are of polynomials in X^(N/n), n < N, alone, which other libraries do not have.
  [[nodiscard]] bool has_fewer_slots() const {
    return scheme() != Scheme::ckks && has_slots() && max_slots() < degree();
  }
  [[nodiscard]] std::uint64_t plain_modulus() const { return literal_.plain_modulus; }
  [[nodiscard]] double scale() const { return literal_.scale; }
  [[nodiscard]] LevelPurpose purpose(std::size_t level) const;
  /// The levels of the user: where fresh encryptions start, and where automatic rescaling ends.
  [[nodiscard]] std::size_t highest_user_level() const { return highest_user_level_; }
  [[nodiscard]] std::size_t lowest_user_level() const { return lowest_user_level_; }
  /// Whether levels of a circuit lie around the user's (CKKS, BFV and BGV: those of a bootstrap).
  [[nodiscard]] bool has_circuit_levels() const { return !literal_.purposes.empty(); }
  /// Whether they are of BFV or BGV and have circuit().
  [[nodiscard]] bool has_circuit() const;
  /// BFV and BGV with circuit levels: the CKKS parameters over the same primes by which the circuit computes,
  /// with the scales of the literal's policy. Throws ParameterError for others.
  [[nodiscard]] Parameters circuit() const;
  /// The policy with its tables filled in (CKKS: scales of every level; otherwise without the circuit's).
  [[nodiscard]] const RescalingPolicy& rescaling() const { return rescaling_; }
  /// Primes that the levels up to `level` have: the top level's first, then what each lower one adds.
  [[nodiscard]] std::vector<std::uint64_t> primes_up_to(std::size_t level) const;
  /// The default gadget of a key for levels up to `level`.
  [[nodiscard]] GadgetPrimes default_gadget(std::size_t level) const;
  /// The base of public keys: the primes of the user's levels and, if there are special primes, the first of
  /// them. Encryption divides by that prime, and little more than rounding noise remains.
  [[nodiscard]] std::vector<std::uint64_t> public_key_primes() const;
  /// Galois element of a rotation of the slots to the left by `steps` (any sign; CKKS: modulo N/2, BFV and
  /// BGV: modulo the row length, half of the slots).
  [[nodiscard]] std::uint64_t galois_element(std::int64_t steps) const;
  /// Galois element 2N - 1: complex conjugation of CKKS, exchange of the two rows of BFV and BGV.
  [[nodiscard]] std::uint64_t conjugation_element() const { return 2 * degree() - 1; }
  /// The quotient of the moduli of `level` > 0 and the next lower level.
  [[nodiscard]] double ratio(std::size_t level) const;
  /// log2 of the product of a level's primes, of the primes U of the user's levels and below, of the special
  /// primes P.
  [[nodiscard]] double log_modulus(std::size_t level) const;
  [[nodiscard]] double log_union() const;
  [[nodiscard]] double log_special() const;
  [[nodiscard]] std::size_t digit_count() const { return literal_.digits.size(); }
  /// The security of the weaker of the public key and a key with the default gadget at the user's top level.
  [[nodiscard]] Security security() const;
  /// The security of a key with this gadget, under a secret of the parameters or of another distribution.
  [[nodiscard]] Security security(const GadgetPrimes& gadget) const {
    return security(gadget, literal_.secret);
  }
  [[nodiscard]] Security security(const GadgetPrimes& gadget, const SecretDistribution& secret) const;

  /// SHA-256 of the canonical bytes of scheme, primes, roots, generator, gadget, secret and scale: neither
  /// device nor arithmetic nor policies that change no object (multiplication variant, rescaling, purposes,
  /// range, security asked for).
  [[nodiscard]] const std::array<std::uint8_t, 32>& fingerprint() const { return fingerprint_; }
  /// First eight hex digits of the fingerprint, for messages.
  [[nodiscard]] std::string short_fingerprint() const;

  /// The first version of the file format that can express them: 1, 2, 5 or 7.
  [[nodiscard]] std::uint16_t format_version() const;
  /// All fields in their canonical byte encoding of that version, and back. `read` throws FormatError on
  /// malformed bytes and ParameterError on invalid parameters; foreign or weak parameters always load
  /// (`security` is then empty).
  void write(runtime::ByteWriter& out) const;
  static Parameters read(runtime::ByteReader& in, std::uint16_t version);

  /// Several lines for people: degree, primes, scale, security, sizes of ciphertexts and keys.
  [[nodiscard]] std::string describe() const;
  /// Bytes of a fresh ciphertext, and of one switching key.
  [[nodiscard]] std::size_t ciphertext_bytes() const;
  [[nodiscard]] std::size_t switching_key_bytes() const;

  friend bool operator==(const Parameters& a, const Parameters& b) {
    return a.fingerprint_ == b.fingerprint_;
  }

 private:
  void fill_purposes();
  void fill_rescaling();
  void check_scales() const;

  ParametersLiteral literal_;
  RescalingPolicy rescaling_;
  std::size_t highest_user_level_ = 0;
  std::size_t lowest_user_level_ = 0;
  std::size_t max_slots_ = 0;
  std::array<std::uint8_t, 32> fingerprint_{};
};

}  // namespace hemera::rlwe
