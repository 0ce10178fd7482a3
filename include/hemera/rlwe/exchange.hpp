// Sums and copies of ciphertexts that lie on several devices, in contexts of the same parameters.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/hoisting.hpp"

namespace hemera::rlwe {

/// Runs work(member) once for each member below `count`, in threads of its choice. It returns when all calls
/// have ended, and throws what one of them threw.
using ForMembers =
    std::function<void(std::size_t count, const std::function<void(std::size_t member)>& work)>;

/// A ForMembers: all calls in the calling thread, in order. Members on GPUs compute at the same time
/// nevertheless, as a call ends when the device has been given its work.
void in_turn(std::size_t count, const std::function<void(std::size_t member)>& work);

/// The functions below never wait for a device: they order the devices' streams. Sums of residues are exact,
/// so results have the same bits for any number of members, in any order. Members may be of one device, or of
/// one context. Throws MismatchError for other parameters, sizes, encodings, batches or gadgets, LevelError
/// for other levels, ScaleError for other scales or correction factors. An exception leaves terms as they
/// were.

/// a += b. The addition reads b where it is, on the CPU and on GPUs that read each other's memory; others
/// copy it first.
void add_from(Ciphertext& a, const Ciphertext& b);
void add_from(ExtendedCiphertext& a, const ExtendedCiphertext& b);

/// A copy in each target. From two other contexts on, the source sends a part to each of them, and they
/// exchange their parts: one link would take as many times longer.
std::vector<Ciphertext> broadcast(std::span<const std::shared_ptr<const Context>> targets,
                                  const Ciphertext& source, const ForMembers& each = in_turn);

/// Each term becomes the sum of all of them. Each of two members adds the other's array to its own; of more,
/// each adds up its part of the limbs, then all parts go to all members.
void all_reduce(std::span<Ciphertext> terms, const ForMembers& each = in_turn);
void all_reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each = in_turn);

/// The same for the first term; the others keep their values.
void reduce(std::span<Ciphertext> terms, const ForMembers& each = in_turn);
void reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each = in_turn);

// --- The same in steps, so that members go on in the call in which they exchange. ---

/// Members of these contexts may read `made` from now on, without waiting for what the calling thread gives
/// later. Called by the thread that made it.
void offer(const Ciphertext& made, std::span<const std::shared_ptr<const Context>> readers);
void offer(const ExtendedCiphertext& made, std::span<const std::shared_ptr<const Context>> readers);

/// A copy in each target, which its member takes itself.
class Broadcast {
 public:
  /// From two other contexts on, one call of `each`. `held`: the first targets, which need no copy.
  /// `source`: outlives this. Throws as `broadcast`.
  Broadcast(std::span<const std::shared_ptr<const Context>> targets, const Ciphertext& source,
            const ForMembers& each = in_turn, std::size_t held = 0);
  /// For calls in a later ForMembers.
  [[nodiscard]] Ciphertext on(std::size_t target) const;

 private:
  /// Among the others; their number if the target is none of them.
  [[nodiscard]] std::size_t number_of(std::size_t target) const;

  std::vector<std::shared_ptr<const Context>> targets_;
  const Ciphertext* source_;
  std::vector<std::size_t> others_;     // targets, apart from the source and those that are held
  std::vector<runtime::Buffer> parts_;  // of each of the others, if there are several
};

/// The sum of terms, a Ciphertext or an ExtendedCiphertext of each member, on whichever of them asks for it.
template <typename Term>
class MemberSum {
 public:
  /// `terms`: at least one, which were offered to all members; they outlive this. From three on, one call of
  /// `each`. Throws as `all_reduce`, with the name of the operation.
  MemberSum(std::span<Term> terms, const ForMembers& each, const char* operation);
  /// For calls in a later ForMembers. For one term the term itself.
  [[nodiscard]] Term on(std::size_t member);

 private:
  std::span<Term> terms_;
  Metadata meta_;
  std::vector<runtime::Buffer> parts_;  // of each member's rows, from three members on
};

}  // namespace hemera::rlwe
