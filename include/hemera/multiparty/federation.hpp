// What all parties of a federation agree on: its description, and the list of a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemera/multiparty/access.hpp"
#include "hemera/multiparty/plan.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/runtime/sha256.hpp"

namespace hemera::multiparty {

using runtime::Sha256Digest;

/// The version of uploads and shares that new federations have (docs/multiparty.md, "Messages").
inline constexpr int newest_messages = 2;

/// Immutable. Two federations that differ in anything have two ids, which every derived secret and every
/// message carries.
class Description {
 public:
  /// - `members`: distinct names, in the order of their numbers; as many as `access` has.
  /// - `layout`: a digest of what the values stand for.
  /// - `nonce`: of whoever makes the federation, so that it is not another one by chance.
  /// - `messages`: their version, from 1.
  /// Throws ParameterError for names that are empty, too long or not distinct, and for a newer version;
  /// MismatchError unless the plan counts the pieces of `access`.
  Description(const Access& access, const Plan& plan, std::vector<std::string> members,
              const Sha256Digest& layout, const Sha256Digest& nonce, int messages = newest_messages);

  [[nodiscard]] const Access& access() const { return access_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<std::string>& members() const { return members_; }
  [[nodiscard]] int messages() const { return messages_; }
  /// SHA-256 of the canonical bytes of all of it, the parameters' fingerprint included.
  [[nodiscard]] const Sha256Digest& id() const { return id_; }

 private:
  Access access_;
  Plan plan_;
  std::vector<std::string> members_;
  int messages_;
  Sha256Digest id_;
};

/// A contributor of a list. Its nonce is fresh for each announcement and kept in memory alone: it uploads for
/// no list without it, so a process that starts again never sends two messages under one polynomial.
struct Contribution {
  std::string name;
  std::uint64_t weight = 1;
  Sha256Digest nonce{};

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

/// The closed list of a round with its weights; all that is secret in the round is bound to its digest.
class Transcript {
 public:
  /// `list`: ascending by name. Throws ParameterError for a round that the plan does not have, a list that is
  /// empty, too long, out of order or names somebody twice, and weights outside of 1 to the plan's largest.
  Transcript(const Description& description, std::uint64_t round, std::uint32_t attempt,
             std::vector<Contribution> list);
  /// From `bytes()`. Throws FormatError for damaged bytes, MismatchError for those of another federation.
  static Transcript read(const Description& description, std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t round() const { return round_; }
  [[nodiscard]] std::uint32_t attempt() const { return attempt_; }
  [[nodiscard]] const std::vector<Contribution>& list() const { return list_; }
  /// Null for a name that is not on the list.
  [[nodiscard]] const Contribution* find(const std::string& name) const;
  [[nodiscard]] std::uint64_t weight_sum() const;
  /// Canonical.
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] const Sha256Digest& digest() const { return digest_; }
  /// The public stream of the round's polynomials: nobody's choice, a hash of the digest.
  [[nodiscard]] poly::Seed public_seed() const;

 private:
  std::uint64_t round_;
  std::uint32_t attempt_;
  std::vector<Contribution> list_;
  std::vector<std::byte> bytes_;
  Sha256Digest digest_;
};

}  // namespace hemera::multiparty
