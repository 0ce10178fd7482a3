// Base conversion where a cluster's columns begin: 128-bit sums of products.
#pragma once

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"

namespace hemera::poly::cuda {

/// Begins to copy tables to shared memory, by all threads of a block.
template <typename T>
__device__ __forceinline__ void load_table(T* shared, const T* table, unsigned count) {
  static_assert(sizeof(T) % sizeof(ulonglong2) == 0);
  const auto* from = reinterpret_cast<const ulonglong2*>(table);
  auto* to = reinterpret_cast<ulonglong2*>(shared);
  for (unsigned i = threadIdx.x; i < count * (sizeof(T) / sizeof(ulonglong2)); i += blockDim.x) {
    copy_to_shared(to + i, from + i);
  }
}

/// The residue of a sum below 2^126, as the first round of columns takes it; in M64 2^-64 of it, for at most
/// eight products of residues below 2^61 and some words.
template <class A>
__device__ __forceinline__ typename A::Value reduce_sum(arith::uint128 sum, const arith::Modulus& q,
                                                        const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, M64>) {
    return reduce_once<2>(M64::lower(sum, m), m.q);
  } else {
    return A::load(q.reduce(sum), m);
  }
}

/// Scaled residues that are sums of several parts, each canonical.
struct ScaledSource {
  const std::uint64_t* data;  // limb 0 of the first part
  std::uint64_t limb_stride;
  unsigned parts;  // at most max_parts
  std::uint64_t part_stride;

  // Words at this many positions, past the first-level cache, which may have words of before.
  template <unsigned count>
  __device__ __forceinline__ void read(std::uint64_t (&words)[count], const LimbConversion::Source& source,
                                       unsigned first, unsigned step) const {
    const std::uint64_t* from = data + source.limb * limb_stride + first;
#pragma unroll
    for (unsigned k = 0; k < count; ++k) words[k] = __ldcg(from + step * k);
    if (parts == 1) return;
#pragma unroll
    for (unsigned part = 1; part < max_parts; ++part) {
      if (part >= parts) break;
      from += part_stride;
#pragma unroll
      for (unsigned k = 0; k < count; ++k) words[k] += __ldcg(from + step * k);
    }
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      words[k] = reduce_once<1>(reduce_once<2>(words[k], source.modulus), source.modulus);
    }
  }
};

/// This many values that are converted, `step` apart, from a single source and without a correction.
template <class A, unsigned count>
__device__ __forceinline__ void convert_single(typename A::Value* x, const LimbConversion& conversion,
                                               const ScaledSource& in, unsigned first, unsigned step,
                                               const arith::Modulus& q, const typename A::Modulus& m) {
  std::uint64_t words[count];
  in.read(words, conversion.source[0], first, step);
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    x[k] = reduce_word<A>(words[k] + conversion.minus_shift, conversion.factor, q, m);
  }
}

/// The same of several sources, or with a correction.
template <class A, unsigned count>
__device__ __forceinline__ void convert_sources(typename A::Value (&x)[count],
                                                const LimbConversion& conversion,
                                                const Correction& correction, const ScaledSource& in,
                                                unsigned first, unsigned step, const arith::Modulus& q,
                                                const typename A::Modulus& m) {
  arith::uint128 sum[count], plain[count] = {}, quotient[count];
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    sum[k] = conversion.minus_shift;
    quotient[k] = std::uint64_t{1} << 63;
  }
  // Words of two sources are on their way at a time.
  constexpr unsigned at_once = 2;
#pragma unroll 1
  for (unsigned group = 0; group < conversion.sources; group += at_once) {
    std::uint64_t words[at_once][count] = {};
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (group + i < conversion.sources) in.read(words[i], conversion.source[group + i], first, step);
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (group + i >= conversion.sources) break;
      const LimbConversion::Source& source = conversion.source[group + i];
#pragma unroll
      for (unsigned k = 0; k < count; ++k) {
        sum[k] += static_cast<arith::uint128>(words[i][k]) * source.weight;
        if (conversion.has_quotient != 0) {
          quotient[k] += static_cast<std::uint64_t>(
              (static_cast<arith::uint128>(words[i][k]) * source.quotient_factor) >> source.quotient_shift);
        }
        if (conversion.has_correction != 0) {
          plain[k] += static_cast<arith::uint128>(words[i][k]) * source.plain_weight;
        }
      }
    }
  }
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    const auto v = static_cast<std::uint64_t>(quotient[k] >> 64);
    if (conversion.has_quotient != 0) sum[k] += static_cast<arith::uint128>(v) * conversion.minus_product;
    if (conversion.has_correction != 0) {
      sum[k] +=
          static_cast<arith::uint128>(correction_of(correction, plain[k], v)) * conversion.correction_weight;
    }
    x[k] = reduce_sum<A>(sum[k], q, m);
  }
}

/// The converted residues at the rows where a part of columns begins.
template <class A, int log_rows>
__device__ __forceinline__ void convert_columns_of(typename A::Value (&x)[8],
                                                   const LimbConversion& conversion,
                                                   const Correction& correction, const ScaledSource& in,
                                                   unsigned first_column, const arith::Modulus& q,
                                                   const typename A::Modulus& m) {
  using Ring = ClusterTransform<A, log_rows>;
  // Four positions are a step apart.
  const auto position = [&](unsigned k) {
    return row_size * Ring::begin_row(k) + first_column + Ring::column(k);
  };
  const unsigned step = position(1) - position(0);
  if (conversion.single != 0) {
    convert_single<A, 4>(x, conversion, in, position(0), step, q, m);
    convert_single<A, 4>(x + 4, conversion, in, position(4), step, q, m);
    return;
  }
  // Twice the same instructions: there are many.
  typename A::Value lower[4] = {}, upper[4] = {};
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) lower[k] = upper[k];
    convert_sources<A>(upper, conversion, correction, in, position(4 * half), step, q, m);
  }
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    x[k] = lower[k];
    x[4 + k] = upper[k];
  }
}

/// The same by all threads of a block, for all of its columns, to shared memory: [row, column].
template <class A, int log_rows>
__device__ __forceinline__ void convert_block(typename A::Value* to, const LimbConversion& conversion,
                                              const Correction& correction, const ScaledSource& in,
                                              unsigned rank, const arith::Modulus& q,
                                              const typename A::Modulus& m) {
  using Shape = ClusterShape<log_rows>;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < Shape::block_words; i += blockDim.x) {
    const unsigned row = i / Shape::block_columns, column = i % Shape::block_columns;
    const unsigned position = row_size * row + Shape::block_columns * rank + column;
    typename A::Value x[1];
    if (conversion.single != 0) {
      convert_single<A, 1>(x, conversion, in, position, 0, q, m);
    } else {
      convert_sources<A>(x, conversion, correction, in, position, 0, q, m);
    }
    to[i] = x[0];
  }
}

/// A residue of coefficients, less (a - 1) / 2 where it is centred (`shift`), as a word.
template <class A>
__device__ __forceinline__ std::uint64_t shifted_residue(typename A::Value product, std::uint64_t shift,
                                                         const typename A::Modulus& m) {
  const std::uint64_t q = integer_modulus<A>(m);
  const std::uint64_t difference = A::finish_inverse(product, m) + shift - q;
  return difference + (q & (0 - (difference >> 63)));
}

/// The columns of part `part`, which give_columns has brought, to scaled residues: in order, or in pairs
/// (first_pair).
template <class A, int log_rows, bool in_pairs = false>
__device__ __forceinline__ void scaled_columns_of(std::uint64_t* out, const typename A::Value* columns_area,
                                                  typename A::Value* scratch,
                                                  const typename A::Twiddle* factors, std::uint64_t shift,
                                                  unsigned rank, unsigned part,
                                                  const typename A::Modulus& m) {
  using Ring = ClusterTransform<A, log_rows>;
  typename A::Value x[8];
  Ring::take_columns(x, columns_area, part);
  Ring::inverse_columns(x, scratch, factors, m);
  const unsigned first = Ring::first_column(rank, part);
  if constexpr (in_pairs) {
    static_assert(log_rows == 5, "rows 16 apart are four registers apart");
    auto* pairs = reinterpret_cast<ulonglong2*>(out);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      pairs[first_pair<log_rows>(Ring::begin_row(k), first + Ring::column(k))] =
          paired(shifted_residue<A>(x[k], shift, m), shifted_residue<A>(x[k + 4], shift, m));
    }
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) {
    out[row_size * Ring::begin_row(k) + first + Ring::column(k)] = shifted_residue<A>(x[k], shift, m);
  }
}

}  // namespace hemera::poly::cuda
