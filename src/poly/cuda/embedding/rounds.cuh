// The butterflies of the CKKS embedding in shared memory: the graph of docs/arithmetic-embedding.md, two
// levels a round.
#pragma once

#include "poly/cuda/embedding/slot_transforms.hpp"

namespace hemera::poly::cuda {

/// (a, b) <- (a + b psi, a - b psi), every operation rounded: no fused ones.
__device__ __forceinline__ void forward_butterfly(Complex& a, Complex& b, const Complex& root) {
  const double real = __dsub_rn(__dmul_rn(b.x, root.x), __dmul_rn(b.y, root.y));
  const double imaginary = __dadd_rn(__dmul_rn(b.x, root.y), __dmul_rn(b.y, root.x));
  b = {__dsub_rn(a.x, real), __dsub_rn(a.y, imaginary)};
  a = {__dadd_rn(a.x, real), __dadd_rn(a.y, imaginary)};
}

/// (a, b) <- (a + b, (a - b) conj(psi)).
__device__ __forceinline__ void inverse_butterfly(Complex& a, Complex& b, const Complex& root) {
  const double real = __dsub_rn(a.x, b.x), imaginary = __dsub_rn(a.y, b.y);
  a = {__dadd_rn(a.x, b.x), __dadd_rn(a.y, b.y)};
  b = {__dadd_rn(__dmul_rn(real, root.x), __dmul_rn(imaginary, root.y)),
       __dsub_rn(__dmul_rn(imaginary, root.x), __dmul_rn(real, root.y))};
}

/// A block of threads transforms `sequences` sequences of 2^log_length values in shared memory. A layout has
/// `sequences`, a power of two; `interleaved`, whether neighbouring threads work on neighbouring sequences;
/// address(sequence, element), in shared memory; and node(sequence), its block as entry of the table of
/// roots.
template <int levels, bool forward, class Layout>
__device__ __forceinline__ void embedding_round(Complex* shared, const Layout& layout, unsigned log_length,
                                                unsigned depth, const Complex* roots) {
  constexpr unsigned points = 1U << levels;
  const unsigned step = 1U << (log_length - depth - levels);
  const unsigned per_sequence = 1U << (log_length - levels);
  for (unsigned i = threadIdx.x; i < layout.sequences * per_sequence; i += blockDim.x) {
    const unsigned sequence = layout.interleaved ? i % layout.sequences : i / per_sequence;
    const unsigned group = layout.interleaved ? i / layout.sequences : i % per_sequence;
    const unsigned block = group / step;
    const unsigned first = block * points * step + group % step;
    const unsigned node = (layout.node(sequence) << depth) + block;
    const Complex root = __ldg(roots + node);
    Complex x[points];
#pragma unroll
    for (unsigned k = 0; k < points; ++k) x[k] = shared[layout.address(sequence, first + k * step)];
    if constexpr (levels == 2) {
      const Complex left = __ldg(roots + 2 * node), right = __ldg(roots + 2 * node + 1);
      if constexpr (forward) {
        forward_butterfly(x[0], x[2], root);
        forward_butterfly(x[1], x[3], root);
        forward_butterfly(x[0], x[1], left);
        forward_butterfly(x[2], x[3], right);
      } else {
        inverse_butterfly(x[0], x[1], left);
        inverse_butterfly(x[2], x[3], right);
        inverse_butterfly(x[0], x[2], root);
        inverse_butterfly(x[1], x[3], root);
      }
    } else if constexpr (forward) {
      forward_butterfly(x[0], x[1], root);
    } else {
      inverse_butterfly(x[0], x[1], root);
    }
#pragma unroll
    for (unsigned k = 0; k < points; ++k) shared[layout.address(sequence, first + k * step)] = x[k];
  }
  __syncthreads();
}

/// All levels of the sequences. The caller synchronises the block before.
template <bool forward, class Layout>
__device__ __forceinline__ void embedding_levels(Complex* shared, const Layout& layout, unsigned log_length,
                                                 const Complex* roots) {
  const unsigned odd = log_length % 2;
  if constexpr (forward) {
    if (odd != 0) embedding_round<1, true>(shared, layout, log_length, 0, roots);
    for (unsigned depth = odd; depth < log_length; depth += 2) {
      embedding_round<2, true>(shared, layout, log_length, depth, roots);
    }
  } else {
    for (unsigned depth = log_length; depth > odd; depth -= 2) {
      embedding_round<2, false>(shared, layout, log_length, depth - 2, roots);
    }
    if (odd != 0) embedding_round<1, false>(shared, layout, log_length, 0, roots);
  }
}

}  // namespace hemera::poly::cuda
