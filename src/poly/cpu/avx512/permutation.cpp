// The automorphism's permutation for AVX-512: one permuted vector load for each vector of the result.
#include "poly/cpu/avx512/kernels_avx512.hpp"
#include "poly/cpu/avx512/vectors.hpp"

namespace hemera::poly::cpu::avx512 {

void permute_groups(Word* out, const Word* in, const std::uint32_t* groups, const Word* lane_orders,
                    std::size_t count) {
  for (std::size_t k = 0; k < count / lanes; ++k) {
    const Vector order = load(lane_orders + lanes * (groups[k] & 7U));
    store(out + lanes * k, _mm512_permutexvar_epi64(order, load(in + (groups[k] & ~7U))));
  }
}

}  // namespace hemera::poly::cpu::avx512
