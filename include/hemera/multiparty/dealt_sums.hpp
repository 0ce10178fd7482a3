// Sums of contributors' values by dealt secrets: nobody's message is read with a secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/multiparty/federation.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::multiparty {

/// One piece's key, 32 bytes, zeroed on destruction. All that its holders send is a function of it and the
/// transcript.
///
/// - Dealt secret: z_(i,T) = ternary(PRF(PRF(key of T, contributor i), digest of the list)).
/// - Upload: b_i = -rho z_i + Delta m_i + e_i, z_i the sum over all pieces, rho the list's public
/// polynomials; its low bits left out.
/// - Share: d_T = rho sum_i w_i z_(i,T) + E_T, E_T = flooding(PRF(key of T, digest, number, deviation, rho));
/// low bits left out.
/// - Sum: sum_i w_i b_i + sum_T d_T = Delta sum_i w_i m_i + noise modulo Q.
/// - With Method::masks, uniform masks u_(i,T) of the same seeds: b_i = m_i + sum_T u_(i,T), and d_T = -sum_i
///   w_i u_(i,T), modulo Q, without noise.
///
/// No share depends on an upload, and whatever an upload is, its sender knows its phase: a malformed one
/// spoils a sum and tells nothing.
class Piece {
 public:
  /// With 32 fresh bytes from the operating system.
  static Piece fresh(std::size_t number);
  Piece(std::size_t number, const poly::Seed& key) : number_(number), key_(key) {}

  /// Access numbers the pieces.
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] const poly::Seed& key() const { return key_; }
  /// What holders of a piece may compare in public.
  [[nodiscard]] Sha256Digest commitment(const Description& description) const;
  /// The part of this piece in a contributor's secrets, which goes to that contributor alone.
  [[nodiscard]] poly::Seed dealt(const Description& description, const std::string& contributor) const;

 private:
  std::size_t number_;
  poly::Seed key_;
};

/// A contributor's message: b alone, Plan::upload_bits() a value.
/// - `dealt`: its parts, in the order of the pieces.
/// - `values`: as many as the plan has, magnitudes below 2^(value_bits - 1).
/// - `out`: of `upload_bytes`.
/// Errors are fresh from the operating system. Send one message for a list: two with different values tell
/// their difference. Throws MismatchError for other numbers of parts, values or bytes, a context of other
/// parameters, or a name that is not on the list; RangeError for larger values.
void upload(const rlwe::ContextPointer& context, const Description& description, const Transcript& transcript,
            const std::string& name, std::span<const poly::Seed> dealt, std::span<const std::int64_t> values,
            std::span<std::byte> out);
std::size_t upload_bytes(const Description& description, const std::string& name);

/// Where a member keeps which list of a round it has answered, for longer than its memory.
struct Ledger {
  /// The digest of the list that was answered.
  std::function<std::optional<Sha256Digest>(std::uint64_t round)> answered;
  /// On disk when it returns: a share leaves afterwards.
  std::function<void(std::uint64_t round, const Sha256Digest& digest)> note;
};

/// A member's side. May be used from several threads.
class Member {
 public:
  /// Throws MismatchError unless `pieces` are those that the member holds, in their order, and the context
  /// has the plan's parameters.
  Member(rlwe::ContextPointer context, const Description& description, std::size_t number,
         std::vector<Piece> pieces, Ledger ledger);

  /// The share of a piece: the same bytes whenever it is asked, from whichever holder. It is computed twice,
  /// and compared. Throws MismatchError for a second list of a round (answered before, by memory or ledger),
  /// ParameterError for a piece that the member lacks, DeviceError if memory changed or two computations
  /// differ. `out`: of `share_bytes`.
  void share(const Transcript& transcript, std::size_t piece, std::span<std::byte> out);
  [[nodiscard]] std::size_t share_bytes() const;
  std::vector<std::byte> share(const Transcript& transcript, std::size_t piece) {
    std::vector<std::byte> out(share_bytes());
    share(transcript, piece, out);
    return out;
  }

 private:
  void answer_once(const Transcript& transcript);

  rlwe::ContextPointer context_;
  Description description_;
  std::vector<Piece> pieces_;
  Ledger ledger_;
  std::mutex mutex_;
  std::map<std::uint64_t, Sha256Digest> answered_;
};

/// The sum of a list's uploads; needs no secret.
class UploadSum {
 public:
  UploadSum(const Description& description, const Transcript& transcript);

  /// Adds messages, and returns their senders' names in this order. Threads, at most 16, read a piece of all
  /// messages once, for their digests and for the sum; so the messages must stay as they are until the call
  /// returns. Throws FormatError for a damaged message, MismatchError for one of another federation or list,
  /// or of somebody who is not on the list or was added, in this call or before: the sum is then unchanged.
  std::vector<std::string> add(std::span<const std::span<const std::byte>> messages);
  /// Names on the list that were not added.
  [[nodiscard]] std::vector<std::string> missing() const;

  /// The sums of weighted values, exact for what the contributors sent.
  /// - `shares`: one of each piece at least; several of a piece are equal.
  /// Throws FormatError for a damaged share; MismatchError for one of another federation, list or plan, if
  /// shares of a piece differ, or if uploads or pieces are missing; NoiseError if the plan's margin does not
  /// hold, or if what comes out is no sum of values in their range: then a contributor or a member sent
  /// something else than it should.
  [[nodiscard]] std::vector<std::int64_t> open(std::span<const std::span<const std::byte>> shares) const;

 private:
  Description description_;
  Transcript transcript_;
  std::set<std::string> added_;
  /// The second where a word has no room for the list's largest sum. Nothing is in them before the first
  /// message: threads write their pages when they add it.
  std::variant<std::unique_ptr<std::uint64_t[]>, std::unique_ptr<arith::uint128[]>> sums_;
};

/// The name in an upload, and the number of the piece of a share, of messages that are whole and of this
/// list. Throw as above.
std::string upload_sender(const Description& description, const Transcript& transcript,
                          std::span<const std::byte> message);
std::size_t share_piece(const Description& description, const Transcript& transcript,
                        std::span<const std::byte> message);

}  // namespace hemera::multiparty
