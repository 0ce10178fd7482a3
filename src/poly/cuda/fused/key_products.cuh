// Inner products with keys, and tensor products where key switches end.
#pragma once

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/stored_words.cuh"

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
  /// The operand of end_division; 2^-64 of the sum in M64.
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

/// A transformed value as products with key words and the end of a division take it.
template <class A>
__device__ __forceinline__ typename A::Value row_value(typename A::Value x, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::reduce(x, m);
  } else {
    return x;
  }
}

/// Digits whose products are added at a time: their key words are on their way together.
inline constexpr unsigned digits_at_once = 4;

/// Key words of digits first, first + 1, ... below `digits`: read(digit) gives those of two neighbours of a
/// row.
template <typename Pair, typename Read>
__device__ __forceinline__ void read_key(Pair (&words)[digits_at_once], unsigned first, unsigned digits,
                                         const Read& read) {
#pragma unroll
  for (unsigned i = 0; i < digits_at_once; ++i) {
    if (first + i < digits) words[i] = read(first + i);
  }
}

/// Adds their products with the digits, for first = 0, digits_at_once, ...; `values`: digit 0 at the two
/// neighbours, the others digit_words apart.
template <class A, typename Pair>
__device__ __forceinline__ void add_products(Sum<A> (&sums)[2], const Pair (&words)[digits_at_once],
                                             const typename A::Value* values, unsigned digit_words,
                                             unsigned first, unsigned digits, const arith::Modulus& q,
                                             const typename A::Modulus& m) {
  static_assert(Sum<A>::terms % digits_at_once == 0);
  if (first != 0 && first % Sum<A>::terms == 0) {
    sums[0].reduce(q, m);
    sums[1].reduce(q, m);
  }
#pragma unroll
  for (unsigned i = 0; i < digits_at_once; ++i) {
    if (first + i < digits) {
      const typename A::Value* x = values + (first + i) * digit_words;
      sums[0].add(x[0], first_of(words[i]), m);
      sums[1].add(x[1], second_of(words[i]), m);
    }
  }
}

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

}  // namespace hemera::poly::cuda
