// Random polynomials on the CPU: the rule of hemera/poly/random.hpp, over threads.
//
// `kernels` is the `sampling` member of the instruction set's table (kernels.hpp).
// The result depends on the stream alone, not on the number of threads or the instruction set. All but
// sample_uniform handle secrets: no branch and no address depends on them, and the copies of seed, random
// bits and coefficients that these functions make are zeroed (docs/randomness.md).
//
// `out` has the limbs and the degree of `base` (MismatchError otherwise); its polynomials, [batch, component]
// row by row, are numbers stream.first_polynomial, first_polynomial + 1, ..., all below 2^32 (ParameterError
// otherwise).
#pragma once

#include <cstddef>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/runtime/queue.hpp"
#include "hemera/runtime/thread_pool.hpp"
#include "poly/cpu/sampling_kernels.hpp"

namespace hemera::poly::cpu {

void sample_uniform(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                    const RandomStream& stream, const RnsBase& base);

void sample_ternary(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                    const RandomStream& stream, const RnsBase& base);

/// 1 <= weight <= N; ParameterError otherwise.
void sample_fixed_weight(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                         const RandomStream& stream, std::size_t weight, const RnsBase& base,
                         runtime::Workspace& workspace);
/// Bytes of workspace that sample_fixed_weight needs, for any number of polynomials.
std::size_t sample_fixed_weight_workspace(std::size_t degree);

void sample_error(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                  const RandomStream& stream, const ErrorDistribution& distribution, const RnsBase& base);

/// 1 <= bits <= 120; ParameterError otherwise.
void sample_flooding(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                     const RandomStream& stream, int bits, const RnsBase& base);

}  // namespace hemera::poly::cpu
