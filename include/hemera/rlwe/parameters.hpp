// Everything that two parties must agree on, validated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::rlwe {

enum class Scheme : std::uint8_t { bfv = 1, bgv = 2, ckks = 3 };

std::string name(Scheme scheme);

/// How BFV multiplies (docs/bfv.md); all give the same decrypted values.
enum class BfvMultiplication : std::uint8_t { none = 0, behz = 1, hps = 2, hps_over_q = 3 };

/// Who rescales and aligns CKKS and BGV operands: the evaluator, just before the next multiplication, or the
/// caller.
enum class Rescaling : std::uint8_t { automatic = 0, manual = 1 };

/// The literal from which Parameters are made: plain data, unchecked.
struct ParametersLiteral {
  Scheme scheme = Scheme::ckks;
  /// N, a power of two in [2^10, 2^17].
  std::size_t degree = 0;
  /// The primes of each level's base; levels[0] is the last and smallest. Going down drops some and may add
  /// others.
  std::vector<std::vector<std::uint64_t>> levels;
  /// Special primes P of key-switching; may be empty.
  std::vector<std::uint64_t> special_primes;
  /// Digits of the key-switching gadget: a partition of all primes of all levels. Empty: consecutive groups
  /// of as many primes as fit under P (one prime each if there are none special).
  std::vector<std::vector<std::uint64_t>> digits;
  /// Bits w of a base-2^w split of single-prime digits; 0: no split.
  int window_bits = 0;
  /// Primitive 2N-th roots of unity by modulus; the minimal root where there is no entry.
  std::map<std::uint64_t, std::uint64_t> roots;
  /// t of BFV and BGV, 2 <= t < 2^60 and coprime to every prime; 0 for CKKS. Slot encoding needs a prime t =
  /// 1 mod 2N.
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
  Rescaling rescaling = Rescaling::automatic;
  /// Bits of classical security to insist on: 128, 192 or 256; empty: any.
  std::optional<int> security = 128;
};

/// Immutable, validated parameters. Two contexts whose parameters have one fingerprint exchange objects.
class Parameters {
 public:
  /// Throws ParameterError that names what clashes, or SecurityError when the parameters are weaker than
  /// `literal.security`. Fills in what the literal leaves open (digits, roots, BFV's multiplication:
  /// hps_over_q).
  explicit Parameters(ParametersLiteral literal);

  [[nodiscard]] const ParametersLiteral& literal() const { return literal_; }
  [[nodiscard]] Scheme scheme() const { return literal_.scheme; }
  [[nodiscard]] std::size_t degree() const { return literal_.degree; }
  /// Number of levels; the top level is levels() - 1.
  [[nodiscard]] std::size_t levels() const { return literal_.levels.size(); }
  /// Largest number of slots: N for BFV and BGV (0 if t has no slots), N/2 for CKKS.
  [[nodiscard]] std::size_t max_slots() const;
  [[nodiscard]] bool has_slots() const { return max_slots() != 0; }
  [[nodiscard]] std::uint64_t plain_modulus() const { return literal_.plain_modulus; }
  [[nodiscard]] double scale() const { return literal_.scale; }
  /// log2 of the product of a level's primes, of all ciphertext primes U, of the special primes P.
  [[nodiscard]] double log_modulus(std::size_t level) const;
  [[nodiscard]] double log_union() const;
  [[nodiscard]] double log_special() const;
  [[nodiscard]] std::size_t digit_count() const { return literal_.digits.size(); }
  [[nodiscard]] Security security() const;

  /// SHA-256 of the canonical bytes of scheme, primes, roots, generator, gadget, secret and scale: neither
  /// device nor arithmetic nor policies that change no object (multiplication variant, rescaling, range,
  /// security asked for).
  [[nodiscard]] const std::array<std::uint8_t, 32>& fingerprint() const { return fingerprint_; }
  /// First eight hex digits of the fingerprint, for messages.
  [[nodiscard]] std::string short_fingerprint() const;

  /// All fields in their canonical byte encoding, and back. `read` throws FormatError on malformed bytes and
  /// ParameterError on invalid parameters; foreign or weak parameters always load (`security` is then empty).
  void write(runtime::ByteWriter& out) const;
  static Parameters read(runtime::ByteReader& in);

  /// Several lines for people: degree, primes, scale, security, sizes of ciphertexts and keys.
  [[nodiscard]] std::string describe() const;
  /// Bytes of a fresh ciphertext, and of one switching key.
  [[nodiscard]] std::size_t ciphertext_bytes() const;
  [[nodiscard]] std::size_t switching_key_bytes() const;

  friend bool operator==(const Parameters& a, const Parameters& b) {
    return a.fingerprint_ == b.fingerprint_;
  }

 private:
  ParametersLiteral literal_;
  std::array<std::uint8_t, 32> fingerprint_{};
};

}  // namespace hemera::rlwe
