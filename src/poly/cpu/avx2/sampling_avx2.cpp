#include <immintrin.h>

#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/sampling_kernels.hpp"
#include "poly/cpu/sampling_vector.hpp"

namespace hemera::poly::cpu {
namespace {

struct Vector {
  using Type = __m256i;
  static constexpr std::size_t lanes = 4;

  static Type load(const std::uint64_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Type*>(p)); }
  static void store(std::uint64_t* p, Type x) { _mm256_storeu_si256(reinterpret_cast<Type*>(p), x); }
  static Type broadcast(std::uint64_t a) { return _mm256_set1_epi64x(static_cast<long long>(a)); }
  static Type add(Type a, Type b) { return _mm256_add_epi64(a, b); }
  static Type subtract(Type a, Type b) { return _mm256_sub_epi64(a, b); }
  static Type bit_and(Type a, Type b) { return _mm256_and_si256(a, b); }
  static Type exclusive_or(Type a, Type b) { return _mm256_xor_si256(a, b); }
  template <int bits>
  static Type shift_right(Type a) {
    return _mm256_srli_epi64(a, bits);
  }

  static void load_wide(const std::uint64_t* wide, Type& low, Type& high) {
    const Type first = load(wide);
    const Type second = load(wide + lanes);
    low = _mm256_unpacklo_epi64(first, second);  // integers 0, 2, 1, 3
    high = _mm256_unpackhi_epi64(first, second);
  }
  static void store_in_order(std::uint64_t* p, Type x) {
    store(p, _mm256_permute4x64_epi64(x, _MM_SHUFFLE(3, 1, 2, 0)));
  }

  static Type multiply_32(Type a, Type b) { return _mm256_mul_epu32(a, b); }
  static Type multiply_low(Type a, Type b) {
    const Type middle = add(multiply_32(shift_right<32>(a), b), multiply_32(a, shift_right<32>(b)));
    return add(multiply_32(a, b), _mm256_slli_epi64(middle, 32));
  }
  static Type sign_mask(Type a) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), a); }
  static Type subtract_unless_below(Type x, Type c) {
    const Type flip = broadcast(std::uint64_t{1} << 63);
    const Type below = _mm256_cmpgt_epi64(exclusive_or(c, flip), exclusive_or(x, flip));
    return subtract(x, _mm256_andnot_si256(below, c));
  }
  static Type decrement_where_below(Type n, Type x, Type c) { return add(n, _mm256_cmpgt_epi64(c, x)); }
  static std::uint64_t sum(Type a) {
    alignas(32) std::uint64_t lane[lanes];
    store(lane, a);
    return lane[0] + lane[1] + lane[2] + lane[3];
  }
};

using Sampling = VectorSampling<Vector>;

}  // namespace

constinit const SamplingKernels avx2_sampling = {
    .name = "avx2",
    .chacha20_blocks = chacha20_blocks_avx2,
    .reduce_wide = Sampling::reduce_wide,
    .ternary_values = Sampling::ternary_values,
    .error_values = Sampling::error_values,
    .residues = Sampling::residues,
    .count_below = Sampling::count_below,
};

}  // namespace hemera::poly::cpu
