// Permutations for AVX-512: of the automorphism, one permuted vector load for each vector of the result; of
// slots, eight by eight words transposed in registers.
#include "poly/cpu/avx512/kernels_avx512.hpp"
#include "poly/cpu/avx512/transform52.hpp"
#include "poly/cpu/avx512/vectors.hpp"

namespace hemera::poly::cpu::avx512 {

void permute_groups(Word* out, const Word* in, const std::uint32_t* groups, const Word* lane_orders,
                    std::size_t count) {
  for (std::size_t k = 0; k < count / lanes; ++k) {
    const Vector order = load(lane_orders + lanes * (groups[k] & 7U));
    store(out + lanes * k, _mm512_permutexvar_epi64(order, load(in + (groups[k] & ~7U))));
  }
}

void place_groups(Word* out, const Word* in, std::size_t stride, const std::uint32_t* groups,
                  const Word* orders, std::size_t count) {
  for (std::size_t k = 0; k < count; k += lanes) {
    Vector v[8];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < 8; ++c) v[c] = load(in + k + stride * c);
    transpose(v);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      const Vector order = load(orders + lanes * (groups[k + i] % 32));
      store(out + lanes * (groups[k + i] / 32), _mm512_permutexvar_epi64(order, v[i]));
    }
  }
}

void collect_groups(Word* out, std::size_t stride, const Word* in, const std::uint32_t* groups,
                    const Word* orders, std::size_t count) {
  for (std::size_t k = 0; k < count; k += lanes) {
    Vector v[8];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      const Vector order = load(orders + lanes * (groups[k + i] % 32));
      v[i] = _mm512_permutexvar_epi64(order, load(in + lanes * (groups[k + i] / 32)));
    }
    transpose(v);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < 8; ++c) store(out + k + stride * c, v[c]);
  }
}

}  // namespace hemera::poly::cpu::avx512
