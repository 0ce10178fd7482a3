// The conversions that convert_columns.cu runs, by kind of product: two entries of a thread's target, of its
// sources' scaled residues.
#pragma once

#include "poly/cuda/fused/byte_products.cuh"
#include "poly/cuda/fused/half_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {

/// The conversions of a launch.
template <class A>
struct Conversion {
  DeviceView out;
  ConstDeviceView in;
  unsigned components;
  Begin begin;
  const ColumnJob* jobs;
  const std::uint32_t* fragments;
  const double* halves;
  const std::uint32_t* links;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Fold* folds;
  const typename A::Twiddle* tables;
};

/// The conversion of a thread's target by products of bytes: what its sources are multiplied by. A quotient
/// counts -(product of the sources) for each target.
template <class A, int steps, Quotient from>
struct ByteConverter {
  using Value = typename A::Value;
  static constexpr bool computes = from == Quotient::computed || from == Quotient::chained;

  std::uint32_t weights[steps + 1][4][2];
  std::uint64_t quotient_factors[computes ? steps : 1];
  std::uint32_t quotient_shifts[computes ? steps : 1];
  // Fields of the first conversion, whose target t this thread has.
  ColumnJob::Link link;
  bool chained;
  typename A::Modulus link_modulus;
  typename A::Fold link_fold;
  std::uint32_t link_weights[4][2];

  __device__ __forceinline__ void load(const Conversion<A>& pass, const ColumnJob& job, unsigned job_index,
                                       const typename A::Modulus&) {
    const unsigned lane = threadIdx.x % 32, t = lane % 4;
#pragma unroll
    for (int i = 0; i < steps * 8; ++i) {
      weights[i / 8][i / 2 % 4][i % 2] = __ldg(pass.fragments + (job_index * (steps * 8) + i) * 32 + lane);
    }
    if constexpr (computes) {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        quotient_factors[s] = job.quotient_factor[4 * s + t];
        quotient_shifts[s] = job.quotient_shift[4 * s + t];
      }
    }
    if constexpr (from == Quotient::chained) {
      link = job.link[t];
      chained = job.chained != 0;
      link_modulus = pass.moduli[link.ring_index];
      link_fold = pass.folds[link.ring_index];
#pragma unroll
      for (int i = 0; i < 8; ++i)
        link_weights[i / 2][i % 2] = __ldg(pass.links + (job_index * 8 + i) * 32 + lane);
    }
  }

  // Two values of the first conversion, of those of its sources.
  __device__ __forceinline__ ulonglong2 linked(const ulonglong2& halves, const ulonglong2& v,
                                               std::uint64_t factor, std::uint32_t shift) const {
    int link_sums[4][4] = {};
    add_products(link_sums, halves, link_weights);
    const std::uint64_t quotients_of_sources[2] = {rounded_over_quad(fraction(v.x, factor, shift)),
                                                   rounded_over_quad(fraction(v.y, factor, shift))};
    std::uint64_t converted[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ByteSums bytes = byte_sums(link_sums, i);
      add_quotient(bytes, quotients_of_sources[i], link.product);
      converted[i] = finish_fold<A>(A::fold_bytes(bytes, 0, link_fold, link_modulus), link_modulus);
    }
    return make_ulonglong2(converted[0], converted[1]);
  }

  // Writes to x[0], x[1] the values of two entries: at `at` of each source, and of the stored quotients.
  __device__ __forceinline__ void convert(Value* x,
                                          const ulonglong2* const (&sources)[steps == 0 ? 1 : steps],
                                          const ulonglong2* quotients, std::size_t first_pair, unsigned at,
                                          const ColumnJob::Target& target, const typename A::Fold& fold,
                                          const typename A::Modulus& m) const {
    int sums[4][4] = {};
    [[maybe_unused]] arith::uint128 fractions[2] = {};
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      ulonglong2 halves = (sources[s] + first_pair)[at];
      [[maybe_unused]] ulonglong2 v = paired(halves.x, halves.y);
      std::uint64_t factor = 0;
      std::uint32_t shift = 0;
      if constexpr (computes) {
        factor = quotient_factors[s];
        shift = quotient_shifts[s];
      }
      if constexpr (from == Quotient::chained) {
        if (chained) {
          v = linked(halves, v, factor, shift);
          halves = paired(v.x, v.y);
          factor = link.quotient_factor;
          shift = link.quotient_shift;
        }
      }
      if constexpr (computes) {
        fractions[0] += fraction(v.x, factor, shift);
        fractions[1] += fraction(v.y, factor, shift);
      }
      add_products(sums, halves, weights[s]);
    }
    ulonglong2 quotient = make_ulonglong2(0, 0);
    if constexpr (from == Quotient::stored) quotient = (quotients + first_pair)[at];
    if constexpr (computes) {
      quotient = make_ulonglong2(rounded_over_quad(fractions[0]), rounded_over_quad(fractions[1]));
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ByteSums bytes = byte_sums(sums, i);
      if constexpr (from != Quotient::none) {
        add_quotient(bytes, i == 0 ? quotient.x : quotient.y, target.minus_product);
      }
      x[i] = A::fold_bytes(bytes, target.minus_shift, fold, m);
    }
  }
};

/// The same by products of halves. No quotient, or a stored one.
template <int steps, Quotient from>
struct HalfConverter {
  static_assert(from == Quotient::none || from == Quotient::stored);

  double weights[2 * steps];
  Parts addend, product;  // product: what a unit of the quotient counts

  __device__ __forceinline__ void load(const Conversion<F64>& pass, const ColumnJob& job, unsigned job_index,
                                       const F64::Modulus& m) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2 * steps; ++i) {
      weights[i] = __ldg(pass.halves + (job_index * (2 * steps) + i) * 32 + lane);
    }
    const ColumnJob::Target& target = job.target[lane % 4];
    addend = parts_of(F64::centered(target.minus_shift, m));
    product = parts_of(F64::centered(target.minus_product, m));
  }

  __device__ __forceinline__ void convert(double* x, const ulonglong2* const (&sources)[steps],
                                          const ulonglong2* quotients, std::size_t first_pair, unsigned at,
                                          const ColumnJob::Target&, const F64::Fold&,
                                          const F64::Modulus& m) const {
    double sums[4] = {addend.low, addend.high, addend.low, addend.high};
    if constexpr (from == Quotient::stored) {
      const ulonglong2 quotient = (quotients + first_pair)[at];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const double times = F64::load(i == 0 ? quotient.x : quotient.y, m);
        sums[2 * i] = __fma_rn(times, product.low, sums[2 * i]);
        sums[2 * i + 1] = __fma_rn(times, product.high, sums[2 * i + 1]);
      }
    }
    double halves[4 * steps];
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const ulonglong2 words = (sources[s] + first_pair)[at];
      const ulonglong2 v = paired(words.x, words.y);
      split(v.x, halves[4 * s], halves[4 * s + 2]);
      split(v.y, halves[4 * s + 1], halves[4 * s + 3]);
    }
#pragma unroll
    for (int s = 0; s + 2 <= steps; s += 2) {
      multiply_halves(sums, reinterpret_cast<const double(&)[8]>(halves[4 * s]),
                      reinterpret_cast<const double(&)[4]>(weights[2 * s]));
    }
    if constexpr (steps % 2 == 1) {
      multiply_halves(sums, reinterpret_cast<const double(&)[4]>(halves[4 * (steps - 1)]),
                      reinterpret_cast<const double(&)[2]>(weights[2 * (steps - 1)]));
    }
    x[0] = fold_parts({sums[0], sums[1]}, m);
    x[1] = fold_parts({sums[2], sums[3]}, m);
  }
};

}  // namespace hemera::poly::cuda
