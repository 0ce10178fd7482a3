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

/// What follows never waits for a device: it orders the devices' streams. Sums of residues are exact, so
/// results have the same bits for any number of members, in any order. Members may be of one device, or of
/// one context. Throws MismatchError for other parameters, sizes, encodings, batches or gadgets, LevelError
/// for other levels, ScaleError for other scales or correction factors. An exception leaves terms as they
/// were.

/// a += b. On the CPU the addition reads b where it is; GPUs copy it first.
void add_from(Ciphertext& a, const Ciphertext& b);
void add_from(ExtendedCiphertext& a, const ExtendedCiphertext& b);

/// A copy in each target. From two other contexts on, the source sends a part to each of them, and they
/// exchange their parts: one link would take as many times longer.
std::vector<Ciphertext> broadcast(std::span<const std::shared_ptr<const Context>> targets,
                                  const Ciphertext& source, const ForMembers& each = in_turn);

/// Each term becomes the sum of all of them. Each member adds up its part of the limbs, then all parts go to
/// all members.
void all_reduce(std::span<Ciphertext> terms, const ForMembers& each = in_turn);
void all_reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each = in_turn);

/// The same for the first term; the others keep their values.
void reduce(std::span<Ciphertext> terms, const ForMembers& each = in_turn);
void reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each = in_turn);

}  // namespace hemera::rlwe
