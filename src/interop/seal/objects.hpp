// SEAL's objects as plain structs, to and from the fields of their files. Words of residues are not in the
// structs: they are read into and written from their place, after `read_...` and before `end_...`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "interop/seal/container.hpp"
#include "interop/seal/generator.hpp"

namespace hemera::interop::seal {

/// SEAL's numbers of the schemes.
enum class SchemeNumber : std::uint8_t { bfv = 1, ckks = 2, bgv = 3 };

/// Limits of SEAL.
inline constexpr std::uint64_t most_components = 16;
inline constexpr std::uint64_t most_moduli = 256;
inline constexpr std::uint64_t largest_degree = std::uint64_t{1} << 17;

/// SEAL's identification of a level.
using ParmsId = std::array<std::byte, 32>;

struct EncryptionParameters {
  SchemeNumber scheme = SchemeNumber::bfv;
  std::uint64_t degree = 0;
  /// All primes; the last one is for keys alone.
  std::vector<std::uint64_t> moduli;
  std::uint64_t plain_modulus = 0;

  /// The id of the level that has the first `count` moduli.
  [[nodiscard]] ParmsId id(std::size_t count) const;
};

struct PlaintextFields {
  ParmsId id{};
  std::uint64_t count = 0;  // of the words that follow
  double scale = 1;

  [[nodiscard]] bool is_evaluation() const { return id != ParmsId{}; }
};

struct CiphertextFields {
  ParmsId id{};
  bool is_evaluation = false;
  std::uint64_t size = 0;
  std::uint64_t degree = 0;
  std::uint64_t moduli = 0;
  double scale = 1;
  std::uint64_t correction = 1;
  /// Whether words of one component alone follow, and then a seed.
  bool is_seeded = false;
};

/// FormatError where fields are out of SEAL's limits or do not fit each other.
EncryptionParameters read_parameters(Reader& in);
void write_parameters(Writer& out, const EncryptionParameters& parameters);

/// `words`: where the words stand; `end_words` after them.
PlaintextFields read_plaintext(Reader& in, Reader::Nested& words);
void write_plaintext(Writer& out, const PlaintextFields& fields);

CiphertextFields read_ciphertext(Reader& in, Reader::Nested& words);
/// After the words: the seed, if there is one.
std::optional<Seed> end_ciphertext(Reader& in, const CiphertextFields& fields, const Reader::Nested& words);
/// Not seeded.
void write_ciphertext(Writer& out, const CiphertextFields& fields);
/// Bytes of a ciphertext that is not seeded, its header included.
std::uint64_t ciphertext_bytes(const CiphertextFields& fields);

}  // namespace hemera::interop::seal
