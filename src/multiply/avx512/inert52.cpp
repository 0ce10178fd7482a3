// The kernels of integer products with AVX-512 IFMA.
#include "multiply/inert52.hpp"

#include "poly/cpu/avx512/transform52.hpp"

namespace hemera::multiply {
namespace {

namespace avx512 = poly::cpu::avx512;

#define HEMERA_OP [[gnu::always_inline]] static inline
struct Avx512Ops {
  using Word = std::uint64_t;
  using Vector = avx512::Vector;

  HEMERA_OP Vector load(const Word* p) { return avx512::load(p); }
  HEMERA_OP void store(Word* p, Vector x) { avx512::store(p, x); }
  HEMERA_OP Vector broadcast(Word a) { return avx512::broadcast(a); }
  HEMERA_OP Vector zero() { return avx512::zero(); }
  HEMERA_OP Vector add(Vector a, Vector b) { return avx512::add(a, b); }
  HEMERA_OP Vector subtract(Vector a, Vector b) { return avx512::subtract(a, b); }
  HEMERA_OP Vector bit_and(Vector a, Vector b) { return avx512::bit_and(a, b); }
  template <unsigned bits>
  HEMERA_OP Vector shift_right(Vector a) {
    return avx512::shift_right<bits>(a);
  }
  HEMERA_OP Vector add_low52(Vector sum, Vector a, Vector b) { return avx512::add_low52(sum, a, b); }
  HEMERA_OP Vector add_high52(Vector sum, Vector a, Vector b) { return avx512::add_high52(sum, a, b); }
  HEMERA_OP Vector fold(Vector x, Vector bound) { return avx512::fold(x, bound); }
  /// 1 where a >= b.
  HEMERA_OP Vector at_least(Vector a, Vector b) {
    return _mm512_maskz_set1_epi64(_mm512_cmpge_epu64_mask(a, b), 1);
  }
  HEMERA_OP void transpose(Vector* v) { avx512::transpose(v); }
  /// The same pointer, but unknown to the optimizer: see avx512::reloaded.
  HEMERA_OP const Word* reloaded(const Word* p) {
    asm volatile("" : "+r"(p));
    return p;
  }
};

}  // namespace

const InertKernels& avx512_inert_kernels() {
  static constexpr InertKernels table = InertPasses<Inert52<Avx512Ops>>::table("avx512");
  return table;
}

}  // namespace hemera::multiply
