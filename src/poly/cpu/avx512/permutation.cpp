// Permutations for AVX-512: of the automorphism, one permuted vector load for each vector of the result; of
// slots, eight by eight words transposed in registers.
#include "poly/cpu/avx512/transform52.hpp"
#include "poly/cpu/avx512/vectors.hpp"
#include "poly/cpu/avx512/within_bound.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::avx512 {

void permute_groups(Word* out, const Word* in, const std::uint32_t* groups, const Word* lane_orders,
                    std::size_t count) {
  for (std::size_t k = 0; k < count / lanes; ++k) {
    const Vector order = load(lane_orders + lanes * (groups[k] & 7U));
    store(out + lanes * k, _mm512_permutexvar_epi64(order, load(in + (groups[k] & ~7U))));
  }
}

bool place_groups(Word* out, const std::int64_t* in, std::size_t stride, const std::uint32_t* groups,
                  const Word* orders, std::size_t count, std::uint64_t bound) {
  WithinBound values(bound);
  for (std::size_t k = 0; k < count; k += lanes) {
    Vector v[8];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < 8; ++c) v[c] = values.residues(_mm512_loadu_si512(in + k + stride * c));
    transpose(v);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      const Vector order = load(orders + lanes * (groups[k + i] % 32));
      store(out + lanes * (groups[k + i] / 32), _mm512_permutexvar_epi64(order, v[i]));
    }
  }
  return values.all_within();
}

void collect_groups(std::int64_t* out, std::size_t stride, const Word* in, const std::uint32_t* groups,
                    const Word* orders, std::size_t count, std::uint64_t most, std::uint64_t q) {
  const Vector largest = broadcast(most);
  const Vector modulus = broadcast(q);
  for (std::size_t k = 0; k < count; k += lanes) {
    Vector v[8];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      const Vector order = load(orders + lanes * (groups[k + i] % 32));
      v[i] = _mm512_permutexvar_epi64(order, load(in + lanes * (groups[k + i] / 32)));
    }
    transpose(v);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < 8; ++c) {
      const __mmask8 above = _mm512_cmpgt_epu64_mask(v[c], largest);
      _mm512_storeu_si512(out + k + stride * c, _mm512_mask_sub_epi64(v[c], above, v[c], modulus));
    }
  }
}

}  // namespace hemera::poly::cpu::avx512
