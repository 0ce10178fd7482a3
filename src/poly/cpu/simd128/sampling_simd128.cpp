#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/sampling_kernels.hpp"
#include "poly/cpu/sampling_vector.hpp"
#include "poly/cpu/simd128/vectors.hpp"

namespace hemera::poly::cpu {
namespace {

struct Vector {
  using Type = v128_t;
  static constexpr std::size_t lanes = 2;

  static Type load(const std::uint64_t* p) { return wasm_v128_load(p); }
  static void store(std::uint64_t* p, Type x) { wasm_v128_store(p, x); }
  static Type broadcast(std::uint64_t a) { return simd128::broadcast(a); }
  static Type add(Type a, Type b) { return wasm_i64x2_add(a, b); }
  static Type subtract(Type a, Type b) { return wasm_i64x2_sub(a, b); }
  static Type bit_and(Type a, Type b) { return wasm_v128_and(a, b); }
  static Type exclusive_or(Type a, Type b) { return wasm_v128_xor(a, b); }
  template <int bits>
  static Type shift_right(Type a) {
    return wasm_u64x2_shr(a, bits);
  }

  static void load_wide(const std::uint64_t* wide, Type& low, Type& high) {
    low = load(wide);
    high = load(wide + lanes);
    simd128::transpose(low, high);
  }
  static void store_in_order(std::uint64_t* p, Type x) { store(p, x); }

  static Type multiply_32(Type a, Type b) {
    return wasm_u64x2_extmul_low_u32x4(wasm_i32x4_shuffle(a, a, 0, 2, 0, 2),
                                       wasm_i32x4_shuffle(b, b, 0, 2, 0, 2));
  }
  static Type multiply_low(Type a, Type b) { return simd128::multiply_low(a, b); }
  static Type sign_mask(Type a) { return wasm_i64x2_lt(a, simd128::zero()); }
  static Type subtract_unless_below(Type x, Type c) {
    const Type flips = broadcast(std::uint64_t{1} << 63);
    return subtract(x, wasm_v128_andnot(c, wasm_i64x2_lt(exclusive_or(x, flips), exclusive_or(c, flips))));
  }
  static Type decrement_where_below(Type n, Type x, Type c) { return add(n, wasm_i64x2_lt(x, c)); }
  static std::uint64_t sum(Type a) {
    return static_cast<std::uint64_t>(wasm_i64x2_extract_lane(a, 0)) +
           static_cast<std::uint64_t>(wasm_i64x2_extract_lane(a, 1));
  }
};

using Sampling = VectorSampling<Vector>;

}  // namespace

constinit const SamplingKernels simd128_sampling = {
    .name = "simd128",
    .chacha20_blocks = chacha20_blocks_simd128,
    .reduce_wide = Sampling::reduce_wide,
    .ternary_values = Sampling::ternary_values,
    .error_values = Sampling::error_values,
    .residues = Sampling::residues,
    .count_below = Sampling::count_below,
};

}  // namespace hemera::poly::cpu
