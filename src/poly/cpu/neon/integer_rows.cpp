// Rows of integers times packed residues for Advanced SIMD.
#include "poly/cpu/integer_rows.hpp"

#include "poly/cpu/neon/vectors.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::neon {
namespace {

struct Integers {
  using Sum = int64x2_t;
  using Half = int32x2_t;
  using Weight = int32x2_t;
  static constexpr std::size_t lanes = neon::lanes;

  HEMERA_VECTOR_FUNCTION Half load_low(const Word* p) {
    return vreinterpret_s32_u32(vand_u32(vmovn_u64(load(p)), vdup_n_u32(0x7fffffff)));
  }
  HEMERA_VECTOR_FUNCTION Half load_high(const Word* p) {
    return vreinterpret_s32_u32(vmovn_u64(vshrq_n_u64(load(p), 31)));
  }
  HEMERA_VECTOR_FUNCTION Weight broadcast(std::int32_t w) { return vdup_n_s32(w); }
  HEMERA_VECTOR_FUNCTION Sum add_product(Sum sum, Half half, Weight w) { return vmlal_s32(sum, half, w); }
  HEMERA_VECTOR_FUNCTION void store(std::int64_t* out, Sum sum) { vst1q_s64(out, sum); }
};

}  // namespace

void multiply_integers(Word* const* out, const PackedRows& in, const std::int32_t* weights, std::size_t rows,
                       bool adds, const arith::Modulus& q) {
  IntegerRows<Integers>::run(out, in, weights, rows, adds, q);
}

}  // namespace hemera::poly::cpu::neon
