// The ends of row passes: factors of the limbs, and a division; and the correction that it may have.
#pragma once

#include <cstring>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda {

/// Factors of an arithmetic, one a limb.
struct LimbFactors {
  std::uint64_t words[2 * limbs_per_launch];  // as many a factor as the arithmetic has
};

template <class A>
__device__ __forceinline__ typename A::Twiddle factor_of(const LimbFactors& factors, unsigned limb) {
  typename A::Twiddle twiddle;
  constexpr unsigned words = sizeof twiddle / sizeof(std::uint64_t);
  std::uint64_t copied[words];
#pragma unroll
  for (unsigned i = 0; i < words; ++i) copied[i] = factors.words[words * limb + i];
  memcpy(&twiddle, copied, sizeof twiddle);
  return twiddle;
}

template <class A>
void set_factor(LimbFactors& factors, std::size_t limb, std::uint64_t value, const arith::Modulus& q) {
  const typename A::Twiddle twiddle = A::twiddle(value, q);
  std::memcpy(factors.words + sizeof twiddle / sizeof(std::uint64_t) * limb, &twiddle, sizeof twiddle);
}

/// For the limbs of a part: E / D, or 1 / D of a limb that the division adds.
template <class A>
void set_inverses(LimbFactors& inverses, const Division& plan, const Part& part) {
  for (std::size_t i = 0; i < part.limbs; ++i) {
    const std::size_t j = part.first_limb + i;
    const auto& values = plan.kept_positions()[j] >= 0 ? plan.scaled_inverse() : plan.inverse_dropped();
    set_factor<A>(inverses, i, values[j].operand, plan.target().modulus(j));
  }
}
/// The same apart: E, and 1 / D.
template <class A>
void set_multiples(LimbFactors& multiples, LimbFactors& inverses, const Division& plan, const Part& part) {
  for (std::size_t i = 0; i < part.limbs; ++i) {
    const std::size_t j = part.first_limb + i;
    const arith::Modulus& b = plan.target().modulus(j);
    const std::uint64_t multiple =
        b.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand);
    set_factor<A>(multiples, i, multiple, b);
    set_factor<A>(inverses, i, plan.inverse_dropped()[j].operand, b);
  }
}
inline void set_kept(std::int16_t (&kept)[limbs_per_launch], const Division& plan, const Part& part) {
  for (std::size_t i = 0; i < part.limbs; ++i) {
    kept[i] = static_cast<std::int16_t>(plan.kept_positions()[part.first_limb + i]);
  }
}

/// (x - delta) / D + addend for a lazy delta, x below 6q, and an addend that is canonical, or at most 1.3q in
/// F64.
template <class A>
__device__ __forceinline__ std::uint64_t end_division(typename A::Value x, typename A::Value delta,
                                                      const typename A::Twiddle& inverse,
                                                      typename A::Value addend,
                                                      const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    const double difference = F64::reduce(__dsub_rn(x, delta), m);
    const double quotient = F64::multiply(difference, F64::expand(inverse, m), m);
    return F64::canonical(F64::reduce(__dadd_rn(quotient, addend), m), m);
  } else {
    // delta is below 8q, so the difference is brought below that as well.
    const std::uint64_t lazy = reduce_once<2>(reduce_once<4>(delta, m.q), m.q);
    const std::uint64_t quotient = A::multiply(x + 2 * m.q - lazy, inverse, m);
    return reduce_once<1>(reduce_once<1>(quotient, m.q) + addend, m.q);
  }
}

/// Shifted to unsigned, from the scaled residues times their weights modulo t, and their quotient.
__device__ __forceinline__ std::uint64_t correction_of(const Correction& correction, arith::uint128 sum,
                                                       std::uint64_t quotient) {
  const arith::Modulus& t = correction.plain;
  const std::uint64_t delta = t.reduce(sum + correction.minus_shift +
                                       static_cast<arith::uint128>(quotient) * correction.minus_product);
  return t.add(t.multiply(delta, correction.negative_inverse), (t.value() - 1) / 2);
}

}  // namespace hemera::poly::cuda
