// Openings: ciphertexts of a group become messages, for all or for a receiver.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "hemera/multiparty/group.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::multiparty {

/// A member's answers for ciphertexts (c0, c1): of each piece d_T = c1 s_T + E_T (BGV: t E_T), and c0 + sum
/// of d_T is the phase with all floodings.
///
/// - E_T is a wide Gaussian of PRF(key of T, "opening", SHA-256 of moduli and c1, log2 of the deviation). So
///   a piece has one answer for a c1, whoever is active and however often it is asked.
/// - What is hashed is what is multiplied, in memory of its own, before and after; each answer is computed
///   twice and compared. A gap would leave one flooding for two products, whose difference is the piece.
/// - The bound on the noise is a claim of whoever evaluated unless the member has derived it from the program
///   itself, and so is that the ciphertext is the program's result: the caller makes sure of both. No
///   flooding helps against a ciphertext that was made to be opened.
/// - What an opening gives away: of BFV and BGV the result. A result of CKKS is approximate, and its error is
///   about the secret (B. Li, D. Micciancio, 2020/1533): who has all pieces but one learns the exact result
///   with the one flooding E_T that it does not know, and all openings together no more but for
///   Openings::bits (IND-CPA-D as in 2022/816; the liberal notion of 2025/395). That holds for a worst-case
///   bound alone: a typical or measured error as bound gives the secret away.
class Opening {
 public:
  /// Keeps the name of a polynomial that is opened, on disk when it returns, and gives the number of
  /// different names that it has, this one among them.
  using Note = std::function<std::size_t(const Sha256Digest& name)>;

  /// Throws MismatchError as KeyMessages does.
  Opening(rlwe::ContextPointer context, Group group, std::size_t member, std::vector<Piece> pieces,
          Note note);

  /// The share of a piece that the member holds, with its digest; the same bytes from any holder.
  /// - `noise_log2`: the bound, as Metadata::noise_log2; of CKKS as ckks::coefficient_noise_log2.
  /// Throws LevelError for a ciphertext of another size than 2; NoiseError if flooding that hides the noise
  /// has no room, or if the group's openings are used up; DeviceError if memory changed, or two computations
  /// differ: nothing has left then.
  std::vector<std::byte> share(const rlwe::Ciphertext& ciphertext, double noise_log2, std::size_t piece);
  /// The share under the key of a receiver, who alone reads what the sum of all is: (d_T + pk0 u + e, pk1 u +
  /// e'), u and e of PRF(key of T, "receiver", the names, the deviation, digest of the key). Throws
  /// MismatchError for a key that has a zero among its values.
  rlwe::Ciphertext share_for(const rlwe::Ciphertext& ciphertext, double noise_log2, std::size_t piece,
                             const rlwe::PublicKey& receiver);

 private:
  const Piece& held(std::size_t piece) const;
  void note(const rlwe::Ciphertext& ciphertext);

  rlwe::ContextPointer context_;
  Group group_;
  std::vector<Piece> pieces_;
  Note note_;
};

/// The number of the piece of a share that is whole and answers this ciphertext under this bound. Throws
/// FormatError and MismatchError otherwise.
std::size_t share_piece(const rlwe::ContextPointer& context, const Group& group,
                        const rlwe::Ciphertext& ciphertext, double noise_log2,
                        std::span<const std::byte> share);
/// The message, from a share of each piece at least; several of a piece are equal. Throws FormatError for a
/// damaged share; MismatchError for one of another group, ciphertext or deviation, if shares of a piece
/// differ and if pieces are missing; NoiseError if the margin does not hold. A false share that is whole is
/// not noticed, unless it changes the result to what reads as doubtful.
rlwe::Plaintext opened(const rlwe::ContextPointer& context, const Group& group,
                       const rlwe::Ciphertext& ciphertext, double noise_log2,
                       std::span<const std::span<const std::byte>> shares);
/// The ciphertext of the receiver, from a share of each piece: decrypt it with the receiver's key.
rlwe::Ciphertext opened_for(const rlwe::ContextPointer& context, const Group& group,
                            const rlwe::Ciphertext& ciphertext, double noise_log2,
                            std::span<const rlwe::Ciphertext* const> shares);

}  // namespace hemera::multiparty
