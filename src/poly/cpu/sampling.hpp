// Random polynomials on the CPU: the rule of hemera/poly/random.hpp, over threads.
//
// `kernels` is the `sampling` member of the instruction set's table (kernels.hpp).
// The result depends on the stream alone, not on the number of threads or the instruction set. All but
// the uniform distribution are of secrets: no branch and no address depends on them, and the copies of seed,
// random bits and coefficients that these functions make are zeroed (docs/randomness.md).
//
// Arguments are checked: the polynomials of `out`, [batch, component] row by row, are numbers
// stream.first_polynomial, first_polynomial + 1, ..., all below 2^32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/runtime/queue.hpp"
#include "hemera/runtime/thread_pool.hpp"
#include "poly/cpu/sampling_kernels.hpp"

namespace hemera::poly::cpu {

/// A fixed weight takes scratch for one polynomial. With a workspace that measures nothing is drawn.
void sample(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
            const RandomStream& stream, const Distribution& distribution, const RnsBase& base,
            runtime::Workspace& workspace);

/// The coefficients that `sample` draws of the ternary or the error's distribution, plus the distribution's
/// bound (1 or the errors'), as integers in an array of one limb, whose words they are. The array is secret.
void sample_integers(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                     const RandomStream& stream, const Distribution& distribution);

/// A part of it: `count` coefficients of polynomial [batch, component], row by row, from `first` on, both
/// multiples of sampled_range. The polynomials' numbers are not checked.
inline constexpr std::size_t sampled_range = 1024;
void sample_integers(const SamplingKernels& kernels, const PolyView& out, std::size_t polynomial,
                     std::size_t first, std::size_t count, const RandomStream& stream,
                     const Distribution& distribution);

/// Uniform residues modulo q, `count` of a limb of polynomial [batch, component], row by row, from `first`
/// on; both are multiples of 256.
void sample_uniform(const SamplingKernels& kernels, std::uint64_t* out, std::size_t polynomial,
                    std::size_t limb, std::size_t first, std::size_t count, const RandomStream& stream,
                    const arith::Modulus& q);

}  // namespace hemera::poly::cpu
