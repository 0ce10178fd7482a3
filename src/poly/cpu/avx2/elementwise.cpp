// Element-wise kernels for AVX2.
#include "poly/cpu/avx2/arithmetic50.hpp"
#include "poly/cpu/vector/elementwise50.hpp"

namespace hemera::poly::cpu::avx2 {

bool all_within(const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  const std::size_t whole = count - count % lanes;
  const bool within = vectors_within(values, whole, bound, [](std::size_t, Vector) {});
  return scalar_kernels().all_within(values + whole, count - whole, bound) && within;
}

}  // namespace hemera::poly::cpu::avx2
