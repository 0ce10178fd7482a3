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

/// A block of threads transforms `sequences` sequences of 2^log_length values in shared memory, four values a
/// thread (or fewer threads have anything to do). A layout has `sequences`, a power of two; `interleaved`,
/// whether neighbouring threads work on neighbouring sequences; address(sequence, element), in shared memory;
/// and node(sequence), its block as entry of the table of roots.
template <class Layout, unsigned most_log_length>
class EmbeddingLevels {
 public:
  /// Loads the roots of all levels, constants for which no kernel has to wait.
  __device__ __forceinline__ EmbeddingLevels(const Layout& layout, unsigned log_length, const Complex* roots)
      : layout_(layout), log_length_(log_length) {
    if (odd() != 0) first_ = __ldg(roots + layout_.node(sequence_of<1>(threadIdx.x)));
#pragma unroll
    for (unsigned round = 0; round < rounds; ++round) {
      const unsigned depth = odd() + 2 * round;
      if (depth >= log_length_ || threadIdx.x >= groups<2>()) continue;
      const unsigned node =
          (layout_.node(sequence_of<2>(threadIdx.x)) << depth) + block_of(threadIdx.x, depth);
      roots_[round][0] = __ldg(roots + node);
      roots_[round][1] = __ldg(roots + 2 * node);
      roots_[round][2] = __ldg(roots + 2 * node + 1);
    }
  }

  /// All levels. The caller synchronises the block before.
  template <bool forward>
  __device__ __forceinline__ void run(Complex* shared) const {
    if (forward && odd() != 0) single<true>(shared);
#pragma unroll
    for (unsigned i = 0; i < rounds; ++i) {
      const unsigned round = forward ? i : rounds - 1 - i;
      if (odd() + 2 * round < log_length_) pair<forward>(shared, odd() + 2 * round, roots_[round]);
    }
    if (!forward && odd() != 0) single<false>(shared);
  }

 private:
  static constexpr unsigned rounds = most_log_length / 2;

  __device__ __forceinline__ unsigned odd() const { return log_length_ % 2; }
  // Groups of 2^levels values each.
  template <unsigned levels>
  __device__ __forceinline__ unsigned groups() const {
    return layout_.sequences << (log_length_ - levels);
  }
  template <unsigned levels>
  __device__ __forceinline__ unsigned sequence_of(unsigned i) const {
    return layout_.interleaved ? i % layout_.sequences : i >> (log_length_ - levels);
  }
  template <unsigned levels>
  __device__ __forceinline__ unsigned group_of(unsigned i) const {
    return layout_.interleaved ? i / layout_.sequences : i & ((1U << (log_length_ - levels)) - 1);
  }
  __device__ __forceinline__ unsigned block_of(unsigned i, unsigned depth) const {
    return group_of<2>(i) >> (log_length_ - depth - 2);
  }

  // The first level alone.
  template <bool forward>
  __device__ __forceinline__ void single(Complex* shared) const {
    for (unsigned i = threadIdx.x; i < groups<1>(); i += blockDim.x) {
      Complex& a = shared[layout_.address(sequence_of<1>(i), group_of<1>(i))];
      Complex& b = shared[layout_.address(sequence_of<1>(i), group_of<1>(i) + (1U << (log_length_ - 1)))];
      Complex x[2] = {a, b};
      if constexpr (forward) {
        forward_butterfly(x[0], x[1], first_);
      } else {
        inverse_butterfly(x[0], x[1], first_);
      }
      a = x[0];
      b = x[1];
    }
    __syncthreads();
  }

  // Levels depth and depth + 1.
  template <bool forward>
  __device__ __forceinline__ void pair(Complex* shared, unsigned depth, const Complex (&roots)[3]) const {
    if (threadIdx.x < groups<2>()) {
      const unsigned log_step = log_length_ - depth - 2;
      const unsigned sequence = sequence_of<2>(threadIdx.x), group = group_of<2>(threadIdx.x);
      const unsigned first = (group >> log_step << (log_step + 2)) + (group & ((1U << log_step) - 1));
      Complex x[4];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) x[k] = shared[layout_.address(sequence, first + (k << log_step))];
      if constexpr (forward) {
        forward_butterfly(x[0], x[2], roots[0]);
        forward_butterfly(x[1], x[3], roots[0]);
        forward_butterfly(x[0], x[1], roots[1]);
        forward_butterfly(x[2], x[3], roots[2]);
      } else {
        inverse_butterfly(x[0], x[1], roots[1]);
        inverse_butterfly(x[2], x[3], roots[2]);
        inverse_butterfly(x[0], x[2], roots[0]);
        inverse_butterfly(x[1], x[3], roots[0]);
      }
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) shared[layout_.address(sequence, first + (k << log_step))] = x[k];
    }
    __syncthreads();
  }

  Layout layout_;
  unsigned log_length_;
  Complex first_;
  Complex roots_[rounds][3];
};

}  // namespace hemera::poly::cuda
