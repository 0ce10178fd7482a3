// Inner products with keys, and tensor products where key switches end.
#pragma once

#include "poly/cuda/arithmetic.cuh"

namespace hemera::poly::cuda {

/// Sums of products of lazy values and residues.
template <class A>
struct Sum {
  arith::uint128 value = 0;
  // Multiples of four, with room for a rest: see M64::lower; values below 2^64 times words below 2^61 (U64).
  static constexpr unsigned terms = std::is_same_v<A, M64> ? 12 : 4;

  __device__ __forceinline__ void add(std::uint64_t x, std::uint64_t word, const typename A::Modulus&) {
    value += static_cast<arith::uint128>(x) * word;
  }
  __device__ __forceinline__ void reduce(const arith::Modulus& q, const typename A::Modulus&) {
    value = q.reduce(value);
  }
  /// What end_division takes; 2^-64 of the sum in M64.
  __device__ __forceinline__ std::uint64_t lazy(const arith::Modulus& q, const typename A::Modulus& m) const {
    if constexpr (std::is_same_v<A, M64>) {
      return reduce_once<4>(M64::lower(value, m), m.q);
    } else {
      return q.reduce(value);
    }
  }
};

template <>
struct Sum<F64> {
  double value = 0;
  static constexpr unsigned terms = 4;  // of at most 0.65 q, on top of a reduced sum

  // x at most 0.51 q.
  __device__ __forceinline__ void add(double x, std::uint64_t word, const F64::Modulus& m) {
    value = __dadd_rn(value, F64::multiply(x, F64::expand({F64::load(word, m)}, m), m));
  }
  __device__ __forceinline__ void reduce(const arith::Modulus&, const F64::Modulus& m) {
    value = F64::reduce(value, m);
  }
  __device__ __forceinline__ double lazy(const arith::Modulus&, const F64::Modulus&) const { return value; }
};

template <class A>
__device__ __forceinline__ std::uint64_t canonical(typename A::Value lazy, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::canonical(F64::reduce(lazy, m), m);
  } else if constexpr (std::is_same_v<A, M64>) {
    return reduce_once<1>(reduce_once<2>(lazy, m.q), m.q);
  } else {
    return lazy;
  }
}

/// Components 0 and 1 of the product of (a0, a1) and (b0, b1) at one position, as end_division takes them.
template <class A>
__device__ __forceinline__ typename A::Value product_component(unsigned component, std::uint64_t a0,
                                                               std::uint64_t a1, std::uint64_t b0,
                                                               std::uint64_t b1, const arith::Modulus& q,
                                                               const typename A::Modulus& m) {
  const auto factor = [&](std::uint64_t word) {
    if constexpr (std::is_same_v<A, F64>) {
      return F64::centered(word, m);
    } else {
      return word;
    }
  };
  Sum<A> sum;
  sum.add(factor(a0), component == 0 ? b0 : b1, m);
  if (component != 0) sum.add(factor(a1), b0, m);
  if constexpr (std::is_same_v<A, M64>) {
    return reduce_once<1>(M64::raise(M64::lower(sum.value, m), m), m.q);
  } else {
    return sum.lazy(q, m);
  }
}

/// A word of the input where it is a digit's own: 2^64 of it in M64.
template <class A>
__device__ __forceinline__ typename A::Value own_digit(std::uint64_t word, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, M64>) {
    return M64::raise(word, m);
  } else {
    return A::load(word, m);
  }
}
/// The same for a product.
template <class A>
__device__ __forceinline__ typename A::Value own_digit(std::uint64_t a, std::uint64_t b,
                                                       const arith::Modulus& q,
                                                       const typename A::Modulus& m) {
  const typename A::Value product = lazy_product<A>(a, b, q, m);
  if constexpr (std::is_same_v<A, M64>) {
    return M64::raise(M64::raise(product, m), m);
  } else {
    return product;
  }
}

}  // namespace hemera::poly::cuda
