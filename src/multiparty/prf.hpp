// The seeds of a group's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hemera/multiparty/group.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::multiparty {

/// Fields of a PRF, with '|' between them (Group).
class Fields {
 public:
  explicit Fields(std::string_view label);
  Fields& text(std::string_view value);
  Fields& number(std::uint64_t value);
  Fields& digest(const Sha256Digest& value);
  Fields& digests(std::span<const Sha256Digest> values);
  /// All fields of another.
  Fields& fields(const Fields& values);

  [[nodiscard]] std::span<const std::byte> view() const { return bytes_; }

 private:
  void append(std::span<const std::byte> value);

  std::vector<std::byte> bytes_;
};

/// HMAC-SHA-256 under a piece's key, or under a public digest for the reference string.
poly::Seed prf(const poly::Seed& key, const Fields& fields);
poly::Seed prf(const Sha256Digest& key, const Fields& fields);

/// A secret polynomial of a seed in evaluation form; [1, 1, limb, N] over `base`.
poly::Poly drawn(const rlwe::Context& context, const poly::Seed& seed, const poly::Distribution& from,
                 const poly::RnsBase& base);
/// A ternary polynomial of a seed in evaluation form; [1, 1, limb, N] over `base`.
poly::Poly ternary_of(const rlwe::Context& context, const poly::Seed& seed, const poly::RnsBase& base);
/// A piece's summand of the secret, PRF(key, "ternary").
poly::Poly secret_of(const rlwe::Context& context, const Piece& piece, const poly::RnsBase& base);

/// Throws MismatchError unless these are the pieces that the member holds, in their order.
void require_held(const Access& access, std::size_t member, const std::vector<Piece>& pieces);

}  // namespace hemera::multiparty
