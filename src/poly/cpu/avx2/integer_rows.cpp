// Rows of integers times packed residues for AVX2.
#include "poly/cpu/integer_rows.hpp"

#include "poly/cpu/avx2/kernels_avx2.hpp"
#include "poly/cpu/avx2/vectors.hpp"

namespace hemera::poly::cpu::avx2 {
namespace {

struct Integers {
  using Sum = Vector;
  using Half = Vector;
  using Weight = Vector;
  static constexpr std::size_t lanes = avx2::lanes;

  HEMERA_VECTOR_FUNCTION Half load_low(const Word* p) {
    return bit_and(load(p), avx2::broadcast(Word{0x7fffffff}));
  }
  HEMERA_VECTOR_FUNCTION Half load_high(const Word* p) { return shift_right<31>(load(p)); }
  HEMERA_VECTOR_FUNCTION Weight broadcast(std::int32_t w) { return _mm256_set1_epi32(w); }
  HEMERA_VECTOR_FUNCTION Sum add_product(Sum sum, Half half, Weight w) {
    return add(sum, _mm256_mul_epi32(half, w));
  }
  HEMERA_VECTOR_FUNCTION void store(std::int64_t* out, Sum sum) {
    avx2::store(reinterpret_cast<Word*>(out), sum);
  }
};

}  // namespace

void multiply_integers(Word* const* out, const PackedRows& in, const std::int32_t* weights, std::size_t rows,
                       bool adds, const arith::Modulus& q) {
  IntegerRows<Integers>::run(out, in, weights, rows, adds, q);
}

}  // namespace hemera::poly::cpu::avx2
