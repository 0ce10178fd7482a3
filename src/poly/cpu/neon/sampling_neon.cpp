#include <arm_neon.h>

#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/sampling_kernels.hpp"
#include "poly/cpu/sampling_vector.hpp"

namespace hemera::poly::cpu {
namespace {

// Without what `reduce_wide` and `residues` take: words are multiplied by the scalar kernels, and compilers
// make vectors of the residues.
struct Vector {
  using Type = uint64x2_t;
  static constexpr std::size_t lanes = 2;

  static Type load(const std::uint64_t* p) { return vld1q_u64(p); }
  static void store(std::uint64_t* p, Type x) { vst1q_u64(p, x); }
  static Type broadcast(std::uint64_t a) { return vdupq_n_u64(a); }
  static Type add(Type a, Type b) { return vaddq_u64(a, b); }
  static Type subtract(Type a, Type b) { return vsubq_u64(a, b); }
  static Type bit_and(Type a, Type b) { return vandq_u64(a, b); }
  static Type exclusive_or(Type a, Type b) { return veorq_u64(a, b); }

  static void load_wide(const std::uint64_t* wide, Type& low, Type& high) {
    const uint64x2x2_t words = vld2q_u64(wide);
    low = words.val[0];
    high = words.val[1];
  }
  static void store_in_order(std::uint64_t* p, Type x) { store(p, x); }

  static Type sign_mask(Type a) { return vcltzq_s64(vreinterpretq_s64_u64(a)); }
  static Type decrement_where_below(Type n, Type x, Type c) {
    return add(n, vcltq_s64(vreinterpretq_s64_u64(x), vreinterpretq_s64_u64(c)));
  }
  static std::uint64_t sum(Type a) { return vaddvq_u64(a); }
};

using Sampling = VectorSampling<Vector>;

void reduce_wide(std::uint64_t* out, const std::uint64_t* wide, std::size_t count, const arith::Modulus& q) {
  scalar_sampling.reduce_wide(out, wide, count, q);
}
void residues(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t q) {
  scalar_sampling.residues(out, values, count, q);
}

}  // namespace

constinit const SamplingKernels neon_sampling = {
    .name = "neon",
    .chacha20_blocks = chacha20_blocks_neon,
    .reduce_wide = reduce_wide,
    .ternary_values = Sampling::ternary_values,
    .error_values = Sampling::error_values,
    .residues = residues,
    .count_below = Sampling::count_below,
};

}  // namespace hemera::poly::cpu
