// The sections beside the residues: what an object's file says about it (docs/file-format.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/io/container.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::io {

inline constexpr Tag parameters_tag{"PARA"};
inline constexpr Tag message_tag{"META"};
inline constexpr Tag key_tag{"KEYM"};
inline constexpr Tag key_list_tag{"KEYS"};

// `read` checks what can be checked without a context; FormatError. Each reads its whole section.

/// Of a plaintext or ciphertext.
struct MessageFields {
  rlwe::Scheme scheme = rlwe::Scheme::ckks;
  rlwe::Metadata meta;
  std::optional<poly::RandomStream> seed;

  void write(runtime::ByteWriter& out) const;
  static MessageFields read(std::span<const std::byte> section);
  /// Against the parameters of the context that it is loaded into.
  void check(const rlwe::Parameters& parameters) const;
};

/// Of one key.
struct KeyFields {
  rlwe::Scheme scheme = rlwe::Scheme::ckks;
  /// Highest level that it works at; 0 for secret and public keys.
  std::size_t level = 0;
  std::optional<poly::RandomStream> seed;

  void write(runtime::ByteWriter& out) const;
  static KeyFields read(std::span<const std::byte> section);
  void check(const rlwe::Parameters& parameters) const;
};

/// Of a set of keys: which follow, in this order.
struct KeyList {
  bool public_key = false;
  bool relinearization = false;
  std::vector<std::uint64_t> galois;  // ascending

  [[nodiscard]] std::size_t size() const {
    return (public_key ? 1U : 0U) + (relinearization ? 1U : 0U) + galois.size();
  }
  void write(runtime::ByteWriter& out) const;
  static KeyList read(std::span<const std::byte> section);
  void check(const rlwe::Parameters& parameters) const;
};

/// Throws FormatError for a PARA section with more bytes or primes than the format allows.
void check_parameters_size(std::span<const std::byte> section);

/// The parameters of a PARA section; every problem is a FormatError.
rlwe::Parameters read_parameters(std::span<const std::byte> section);

}  // namespace hemera::io
