// The sections other than the residues: a file's description of its object (docs/file-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/io/container.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::io {

inline constexpr Tag parameters_tag{"PARA"};
inline constexpr Tag message_tag{"META"};
inline constexpr Tag key_tag{"KEYM"};
inline constexpr Tag key_list_tag{"KEYS"};

// `version` is the first version of the format that can express the fields, and the one to write. `read`
// checks what can be checked without a context; FormatError. Each reads its whole section.

/// The fields of a plaintext or ciphertext.
struct MessageFields {
  rlwe::Scheme scheme = rlwe::Scheme::ckks;
  rlwe::Metadata meta;
  std::optional<poly::RandomStream> seed;

  /// The version of these fields alone: a plaintext's residues may need more.
  [[nodiscard]] std::uint16_t version() const;
  void write(runtime::ByteWriter& out, std::uint16_t version) const;
  static MessageFields read(std::span<const std::byte> section, std::uint16_t version);
  /// Against the parameters of the context that it is loaded into. BFV and BGV: the file leaves out how many
  /// slots are filled, which follows from the number of values.
  void check(const rlwe::Parameters& parameters) const;
};

/// The fields of one key.
struct KeyFields {
  rlwe::Scheme scheme = rlwe::Scheme::ckks;
  /// Version 1: the level of the default gadget that it has; 0 for secret and public keys.
  std::size_t level = 0;
  /// Version 2: its gadget. Public keys have a base only, secret keys nothing.
  rlwe::GadgetPrimes gadget = {};
  std::optional<poly::RandomStream> seed;

  void write(runtime::ByteWriter& out, std::uint16_t version) const;
  static KeyFields read(std::span<const std::byte> section, std::uint16_t version);
  void check(const rlwe::Parameters& parameters) const;
};

/// The keys of a set, in this order: the public key, then switching keys by ascending role and gadget.
struct KeyList {
  bool public_key = false;
  /// The role of each switching key.
  std::vector<rlwe::KeyRole> roles = {};

  [[nodiscard]] std::size_t size() const { return (public_key ? 1U : 0U) + roles.size(); }
  /// The version of these fields alone: keys may need more.
  [[nodiscard]] std::uint16_t version() const;
  void write(runtime::ByteWriter& out, std::uint16_t version) const;
  static KeyList read(std::span<const std::byte> section, std::uint16_t version);
  void check(const rlwe::Parameters& parameters) const;
};

/// More than any parameters within the format's degrees have: twice what is 128 bits secure at the largest
/// degree, in primes of 30 bits. It bounds the time that loading may take (each prime is tested and its root
/// searched), and what a context of the parameters takes.
inline constexpr std::size_t most_primes = 256;

/// The bytes of a section of fields. FormatError, before memory is taken, for more than the format allows.
Payload read_fields(const Section& section);
/// Throws FormatError for that many bytes in such a section.
void check_fields_size(Tag tag, std::uint64_t bytes);
/// Throws FormatError for more primes than the format allows.
void check_primes(const rlwe::Parameters& parameters);

/// The parameters of a PARA section; every problem is a FormatError.
rlwe::Parameters read_parameters(std::span<const std::byte> section, std::uint16_t version);

}  // namespace hemera::io
