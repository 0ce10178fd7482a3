// A group's public key, Galois keys and relinearization keys, by messages in two rounds.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hemera/multiparty/group.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::multiparty {

/// One attempt of a member to make keys (C. Mouchet and others, 2020/304). With a from the reference string,
/// w = P g_d the gadget's elements and e fresh errors, each of a PRF's stream of its own:
///
/// - Round 1, of a piece: the public key -a s_T + e; Galois keys of g, of each digit, -a phi(s_T) + e + w
///   s_T, phi of 1/g; keys to an ephemeral secret -a f_T + e + w s_T and back -a s_T + e + w f_T, f_T of
///   fixed weight, of the piece and the attempt; relinearization (-a u_T + w s_T + e0, a s_T + e1), u_T
///   ternary.
/// - Round 2, on the sums h of round 1: h0 s_T + h1 (u_T - s_T) + e2, whose sum with h1 is the key, not
///   seeded. Its error is s E0 + u E1 + E2.
///
/// A member that speaks last must not choose what it says by what others said: it could take every input, or
/// by round 2 a piece (python/tests/multiparty/test_group_attacks.py, attacks C and D). So in each round the
/// digests of all messages come before the first message, and each member adds round 1 itself.
///
/// The attempt is a digest of fresh nonces of all members, each kept in its member's memory alone: a process
/// that starts again takes part in another attempt, with other polynomials. For one thread.
///
/// Bootstraps go through the sum of the f_T: their sines cover the integers of as many ephemeral secrets as
/// the context's secret has terms (circuits::integer_bootstrap_preset). Each key is as secure as that of one
/// owner, since who lacks a piece faces its f_T, of the weight of one.
class KeyMessages {
 public:
  /// - `pieces`: those that the member holds, in their order.
  /// - `needs`: switching keys, each once: of relinearization, of Galois elements, and to an ephemeral secret
  ///   and back, which come together; of the ciphertexts, and of a circuit (rlwe::circuit_role).
  /// Throws MismatchError for other pieces or a context of another group; ParameterError for other roles, and
  /// for needs that come twice or without their other one; SecurityError for weak keys.
  KeyMessages(rlwe::ContextPointer context, Group group, const Sha256Digest& attempt, std::size_t member,
              std::vector<Piece> pieces, std::vector<rlwe::KeyNeed> needs);
  ~KeyMessages();

  /// 1, or 2 with relinearization keys.
  [[nodiscard]] int rounds() const;
  /// The digest of a message that this member sends (Group::sent_by). Throws MismatchError in round 2 until
  /// all messages of round 1 were accepted.
  Sha256Digest digest(int round, std::size_t piece);
  /// Throws MismatchError where the piece had another one in this round: somebody said two things.
  void accept_digest(int round, std::size_t piece, const Sha256Digest& digest);
  /// The message of that digest. Throws MismatchError unless the digests of all pieces were accepted.
  [[nodiscard]] const std::vector<std::byte>& message(int round, std::size_t piece);
  /// Adds another member's message. Throws MismatchError unless it has the digest that was accepted, is of
  /// this group and attempt and was not added before, and all digests of the round are there; FormatError for
  /// a damaged one. Nothing is added then.
  void accept(int round, std::size_t piece, std::span<const std::byte> message);
  /// The pieces that this member holds, that another one sends, and whose accepted digest is not that of
  /// their message. Throws MismatchError before all digests of the round, and all messages of an earlier one.
  [[nodiscard]] std::vector<std::size_t> false_digests(int round) const;
  /// Ordinary keys. Throws MismatchError until all messages of all rounds were accepted.
  [[nodiscard]] rlwe::EvaluationKeys keys() const;

 private:
  struct Sums;
  using At = std::pair<int, std::size_t>;  // round, piece

  const Piece& own(std::size_t piece) const;
  void require_round(int round) const;
  [[nodiscard]] bool has_all(const std::map<At, Sha256Digest>& of, int round) const;
  std::vector<std::byte> computed(int round, const Piece& piece) const;
  void add(int round, std::size_t piece, std::span<const std::byte> message);

  rlwe::ContextPointer context_;
  Group group_;
  Sha256Digest attempt_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> sends_;
  std::unique_ptr<Sums> sums_;
  std::map<At, Sha256Digest> digests_;  // committed
  std::map<At, Sha256Digest> added_;
  std::map<At, std::vector<std::byte>> messages_;  // own
};

}  // namespace hemera::multiparty
