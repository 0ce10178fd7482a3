// Places of kernels that go entry by entry, two words in each thread.
#pragma once

#include <bit>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda {

inline constexpr unsigned threads = 256;
inline constexpr unsigned words_per_thread = 2;  // 16 bytes
inline constexpr unsigned words_per_block = threads * words_per_thread;
static_assert(min_degree % words_per_block == 0);

// The two words of this thread: grid [tile, polynomial, limb].
struct Place {
  unsigned batch, component, limb, entry;

  __device__ explicit Place(unsigned components)
      : batch(blockIdx.y / components),
        component(blockIdx.y % components),
        limb(blockIdx.z),
        entry((blockIdx.x * threads + threadIdx.x) * words_per_thread) {}

  template <typename W>
  __device__ W* limb_of(const BasicDeviceView<W>& view) const {
    return view.limb(batch, component, limb);
  }
  template <typename W>
  __device__ W* in(const BasicDeviceView<W>& view) const {
    return limb_of(view) + entry;
  }
  /// The number of a view's first word, in any storage.
  template <typename W>
  __device__ std::size_t word_of(const BasicDeviceView<W>& view) const {
    return view.word(batch, component, limb) + entry;
  }
};

inline dim3 grid(const Launcher& launcher, const PolyShape& shape, const Part& part) {
  return {launcher.degree() / words_per_block, static_cast<unsigned>(part.batches * shape.components),
          static_cast<unsigned>(part.limbs)};
}

// log2 of how many entries one of `stored` stands for in `whole`.
inline unsigned log_run_of(const PolyShape& stored, const PolyShape& whole) {
  return static_cast<unsigned>(std::countr_zero(whole.degree / stored.degree));
}

}  // namespace hemera::poly::cuda
