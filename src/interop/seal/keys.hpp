// Keys of a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hemera/rlwe/keys.hpp"
#include "interop/seal/client.hpp"

namespace hemera::interop::seal {

class Keys {
 public:
  Keys(const Client& client, rlwe::ContextPointer context) : client_(client), context_(std::move(context)) {}

  [[nodiscard]] rlwe::SecretKey load_secret_key(std::span<const std::byte> file) const;
  [[nodiscard]] rlwe::PublicKey load_public_key(std::span<const std::byte> file) const;
  /// Puts the keys into `keys`.
  void load_relinearization(std::span<const std::byte> file, rlwe::EvaluationKeys& keys) const;
  void load_galois(std::span<const std::byte> file, rlwe::EvaluationKeys& keys) const;

  /// Keys of SEAL's memory.
  void take_relinearization(const KeyPlaces& places, rlwe::EvaluationKeys& keys) const;
  void take_galois(const KeyPlaces& places, rlwe::EvaluationKeys& keys) const;

  [[nodiscard]] std::vector<std::byte> dump(const rlwe::SecretKey& key, Compression compression) const;
  [[nodiscard]] std::vector<std::byte> dump(const rlwe::PublicKey& key, Compression compression) const;
  /// MismatchError for keys of roles that SEAL has no place for, which its files would lose.
  static void require_places(const rlwe::EvaluationKeys& keys);
  /// Empty where there is none.
  [[nodiscard]] std::optional<std::vector<std::byte>> dump_relinearization(const rlwe::EvaluationKeys& keys,
                                                                           Compression compression) const;
  [[nodiscard]] std::optional<std::vector<std::byte>> dump_galois(const rlwe::EvaluationKeys& keys,
                                                                  Compression compression) const;

 private:
  void require_id(const ParmsId& id, const char* what) const;
  void require_pair(const CiphertextFields& fields, const char* what) const;
  /// A key in its place of relinearization or Galois keys, into `keys`.
  void add_relinearization(std::uint64_t place, poly::Poly key, rlwe::EvaluationKeys& keys) const;
  void add_galois(std::uint64_t place, const poly::Poly& key, rlwe::EvaluationKeys& keys) const;
  /// Room for a key of `digits` digits; FormatError unless SEAL's keys have as many.
  [[nodiscard]] poly::Poly make_key(std::uint64_t digits, const char* what) const;
  [[nodiscard]] poly::Poly take_key(const std::vector<CiphertextView>& digits, const char* what) const;
  /// The fields of a pair of polynomials at the level of keys.
  [[nodiscard]] CiphertextFields pair_fields() const;
  void read_pair(Reader& in, const poly::PolyView& out, const char* what) const;
  void write_pair(Writer& out, const poly::ConstPolyView& in) const;
  [[nodiscard]] rlwe::GadgetPointer gadget() const;
  /// FormatError for more places than there are Galois elements.
  void require_length(std::uint64_t length, const char* what) const;
  /// Gives the keys of a file one after the other to `take`, with their places; FormatError for a place
  /// without a key unless it may be empty.
  void load_places(std::span<const std::byte> file, const char* what, bool may_be_empty,
                   const std::function<void(std::uint64_t place, poly::Poly key)>& take) const;
  /// A key in its place, written under X -> X^element.
  struct Place {
    std::uint64_t number;
    const rlwe::SwitchingKey* key;
    std::uint64_t element = 1;
  };
  [[nodiscard]] std::vector<std::byte> dump_places(std::span<const Place> places, std::uint64_t length,
                                                   Compression compression) const;
  /// The key of a role with the one gadget that SEAL has. MismatchError for another.
  [[nodiscard]] const rlwe::SwitchingKey& find(const rlwe::EvaluationKeys& keys,
                                               const rlwe::KeyRole& role) const;
  /// Both halves under X -> X^element.
  [[nodiscard]] poly::Poly turned(const poly::Poly& key, std::uint64_t element) const;
  /// 1 / element modulo 2N.
  [[nodiscard]] std::uint64_t inverse(std::uint64_t element) const;

  const Client& client_;
  rlwe::ContextPointer context_;
};

}  // namespace hemera::interop::seal
