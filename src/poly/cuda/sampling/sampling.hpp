// Random polynomials on the device: the rule of hemera/poly/random.hpp.
//
// A thread works out one ChaCha20 block and the four coefficients that it gives. All but the uniform
// distribution are of secrets: no branch and no address depends on them. Seeds travel in kernel parameters;
// what is zeroed, and what can not be, is in docs/randomness.md.
//
// Arguments are checked.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/poly/random.hpp"
#include "hemera/runtime/queue.hpp"
#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// `streams`: one, or one for each of the batch. In evaluation form, uniform ones, position p gets the
/// stream's coefficient transposed(p).
void sample(const Launcher& launcher, const PolyView& out, std::span<const RandomStream> streams,
            const Distribution& distribution, const RnsBase& base);
/// The integers of the ternary distribution and of errors themselves, as signed words: out has one limb.
void sample_ternary_integers(const Launcher& launcher, const PolyView& out, const RandomStream& stream);
void sample_error_integers(const Launcher& launcher, const PolyView& out, const RandomStream& stream,
                           const ErrorDistribution& distribution);
/// The middle step of a fixed weight, in the first limb of all polynomials: entries 2 key + sign (key < 2^62)
/// become words 1 - 2 sign where the key is among the `weight` lowest, of equal keys those that come first,
/// and 0 elsewhere.
void choose_lowest(const Launcher& launcher, const PolyView& entries, std::size_t weight);

}  // namespace hemera::poly::cuda
