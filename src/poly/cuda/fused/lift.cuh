// How kernels read integers modulo t and bring them into the ring of a limb.
#pragma once

#include "poly/cuda/fused/row_ends.cuh"
#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// The centred representative of factor * in, modulo t, times the limb's scalar.
struct LiftedIntegers {
  arith::Modulus plain;
  ShoupTwiddle factor;  // modulo t
  bool scales_plain;
  bool reduces;  // integers may be above half of a limb's modulus
  bool scales;
  LimbFactors scalars;
};

template <class A>
void set_lifted(LiftedIntegers& lifted, const arith::Modulus& plain, std::uint64_t factor,
                std::span<const std::uint64_t> scalars, const RnsBase& base, const Part& part) {
  lifted.plain = plain;
  lifted.factor = U64::twiddle(factor, plain);
  lifted.scales_plain = factor != 1;
  lifted.scales = !scalars.empty();
  for (std::size_t i = 0; i < part.limbs; ++i) {
    const std::size_t j = part.first_limb + i;
    lifted.reduces |= plain.value() > base.modulus(j).value();
    if (lifted.scales) set_factor<A>(lifted.scalars, i, scalars[j], base.modulus(j));
  }
}

/// As a first round takes it. `scalar`: the limb's.
template <class A>
__device__ __forceinline__ typename A::Value lifted_integer(const LiftedIntegers& lifted, std::uint64_t word,
                                                            const typename A::Twiddle& scalar,
                                                            const arith::Modulus& q,
                                                            const typename A::Modulus& m) {
  if (lifted.scales_plain) {
    const std::uint64_t t = lifted.plain.value();
    word = reduce_once<1>(
        word * lifted.factor.operand - arith::multiply_high(word, lifted.factor.quotient) * t, t);
  }
  const std::int64_t integer = lifted.plain.centered(word);
  const typename A::Value x = lifted.reduces ? A::load(q.reduce_signed(integer), m)
                                             : load_integer<A>(static_cast<std::uint64_t>(integer), m);
  return lifted.scales ? A::multiply(x, A::expand(scalar, m), m) : x;
}

}  // namespace hemera::poly::cuda
