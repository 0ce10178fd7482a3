// Collective keys: what the members of a group agree on.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/multiparty/access.hpp"
#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/rlwe/flooding.hpp"

namespace hemera::multiparty {

/// The members share a secret s = sum of s_T, s_T ternary for each piece T: PRF(key of T, "ternary"). All
/// that a piece's holders send is a function of its key and the transcript; nothing else draws randomness.
///
/// PRF(key, x, y, ...) is HMAC-SHA-256 of the fields with '|' between them: texts and decimal numbers, and
/// digests of 32 bytes as they are. The first field, a text, says which fields follow.
struct Group {
  Access access;
  /// Flooding and how much of it: `pieces` is that of `access`.
  rlwe::Openings openings;
  /// A digest of all that members agree on, names, numbers and a nonce among it.
  Sha256Digest id{};

  /// Throws MismatchError unless `openings` counts the pieces, and the context's secret has a term for each.
  void require(const rlwe::Context& context) const;
  /// The pieces whose messages a member sends while keys are made, when all are there: some of those that it
  /// holds, about equally many for each member.
  [[nodiscard]] std::vector<std::size_t> sent_by(std::size_t member) const;
  /// What holders of a piece may compare in public.
  [[nodiscard]] Sha256Digest commitment(const Piece& piece) const;
};

}  // namespace hemera::multiparty
