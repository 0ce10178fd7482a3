// The sums of hoisted products.
#pragma once

#include <type_traits>

#include "poly/cuda/arithmetic.cuh"

namespace hemera::poly::cuda::hoisted {

/// A sum of products, to be reduced after `most`.
///
/// In doubles it is two: `high` is 1.5 2^103 plus a multiple of 2^51, to which fused operations round each
/// product, and `low` the exact sum of their rests, at most 2^50 each: four operations a product, where
/// F64::multiply and its sum take eight. With q < 2^50, |high| has to stay below 2^102 >= 4 q^2: up to four
/// products of words, or six of a word and a small value. `reduced` leaves 1.75 q at most, as it rounds the
/// quotient (below 2^52) to even integers; `low` holds that and 6 2^50, below 2^53.
template <class A>
struct Accumulator {
  static constexpr unsigned most = 20;  // of a residue and a reduced sum, see Modulus::reduce_sum_lazily
  arith::uint128 sum;

  __device__ __forceinline__ void start(typename A::Value from) { sum = from; }
  __device__ __forceinline__ void add(typename A::Value a, typename A::Value w, const typename A::Modulus&) {
    sum += static_cast<arith::uint128>(a) * w;
  }
  __device__ __forceinline__ void add_value(typename A::Value a) { sum += a; }
  /// Below 3q.
  __device__ __forceinline__ typename A::Value reduced(const arith::Modulus& q,
                                                       const typename A::Modulus&) const {
    return q.reduce_sum_lazily(sum);
  }
};

template <>
struct Accumulator<F64> {
  static constexpr unsigned most = 6;
  double high, low;

  __device__ __forceinline__ void start(double from) {
    high = 0x1.8p103;
    low = from;
  }
  __device__ __forceinline__ void add(double a, double w, const F64::Modulus&) {
    const double next = __fma_rn(a, w, high);
    const double rest = __fma_rn(a, w, __dsub_rn(high, next));
    high = next;
    low = __dadd_rn(low, rest);
  }
  __device__ __forceinline__ void add_value(double a) { low = __dadd_rn(low, a); }
  __device__ __forceinline__ double reduced(const arith::Modulus&, const F64::Modulus& m) const {
    constexpr double round = 0x1.8p53;
    const double h = __dadd_rn(high, -0x1.8p103);
    const double multiple = __dadd_rn(__fma_rn(__dadd_rn(h, low), m.inverse, round), -round);
    return __dadd_rn(__fma_rn(-multiple, m.q, h), low);
  }
};

/// Below q / 2 in size in doubles, from a canonical word; and of a reduced sum, at most 0.51 q.
template <class A>
__device__ __forceinline__ typename A::Value small(std::uint64_t word, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::centered(word, m);
  } else {
    return word;
  }
}
template <class A>
__device__ __forceinline__ typename A::Value made_small(typename A::Value value,
                                                        const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::reduce(value, m);
  } else {
    return value;
  }
}

}  // namespace hemera::poly::cuda::hoisted
