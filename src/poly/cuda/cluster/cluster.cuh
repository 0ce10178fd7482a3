// Transforms of a whole ring in one kernel: a cluster of thread blocks holds a polynomial in its shared
// memory.
//
// Each block has some columns of the matrix (rounds.cuh) when columns are transformed, and some rows when
// rows are; between the two each value is stored into the shared memory of the block that goes on with it. A
// warp takes 256 values at a time, whole columns or a row, 8 a thread, so within columns and rows it waits
// for itself alone.
#pragma once

#include "poly/cuda/copies.cuh"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {

#if defined(HEMERA_CUDA_EMULATION) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HEMERA_HAS_CLUSTERS 1
#endif

#if defined(HEMERA_HAS_CLUSTERS) && (defined(__CUDA_ARCH__) || defined(HEMERA_CUDA_EMULATION))
__device__ __forceinline__ unsigned cluster_rank() { return __clusterRelativeBlockRank(); }
/// The two halves of a barrier of all threads of the cluster, which orders their accesses to shared memory.
__device__ __forceinline__ void cluster_arrive() { __cluster_barrier_arrive(); }
__device__ __forceinline__ void cluster_wait() { __cluster_barrier_wait(); }
/// Where block `rank` has what this block has at `own`, in its shared memory.
template <typename T>
__device__ __forceinline__ T* shared_of(T* own, unsigned rank) {
  return static_cast<T*>(__cluster_map_shared_rank(own, rank));
}
#else
__device__ __forceinline__ unsigned cluster_rank() { return 0; }
__device__ __forceinline__ void cluster_arrive() {}
__device__ __forceinline__ void cluster_wait() {}
template <typename T>
__device__ __forceinline__ T* shared_of(T* own, unsigned) {
  return own;
}
#endif

/// How a cluster shares a polynomial of 2^log_rows rows.
template <int log_rows>
struct ClusterShape {
  static constexpr unsigned rows = 1U << log_rows;
  static constexpr unsigned blocks = rows / 4 < 8 ? rows / 4 : 8;
  static constexpr unsigned block_rows = rows / blocks;
  static constexpr unsigned block_columns = row_size / blocks;
  static constexpr unsigned block_words = row_size * block_rows;
  static constexpr unsigned warp_columns = row_size / rows;  // that a warp takes at a time
  /// Rounds of columns: 8 values, or what there is, then the rest.
  static constexpr int log_first = log_rows < 3 ? log_rows : 3;
  static constexpr int log_second = log_rows - log_first;
  static constexpr unsigned second_radix = 1U << log_second;
  /// Scratch of a warp: a row, or columns between their two rounds, padded so that no two of 16 threads meet
  /// in a bank.
  static constexpr unsigned scratch_words = row_size + (log_second == 0 ? 0 : 8 * warp_columns);
  /// Factors of a block: of the columns in the order of levels and blocks, of its rows as in TableLayout.
  static constexpr unsigned third = rows;
  static constexpr unsigned fourth = third + 16 * block_rows;
  static constexpr unsigned factors = fourth + row_size * block_rows;
};

/// A warp's work with 256 values of a polynomial: part 0, 1, ... block_rows - 1 of its block's values.
template <class A, int log_rows>
struct ClusterTransform : ClusterShape<log_rows> {
  using Shape = ClusterShape<log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  using Modulus = typename A::Modulus;
  using Share = RowShare<A, 8>;
  static_assert(log_rows >= 2 && log_rows <= 6);

  /// Begins to copy a block's factors of a modulus to shared memory, by all its threads. `roots`: factors 0
  /// and 1.
  static __device__ __forceinline__ void load_factors(Twiddle* factors, const Twiddle* table, unsigned rank,
                                                      const Twiddle* roots) {
    constexpr TableLayout layout(log_rows);
    constexpr int first_levels = log_rows > 4 ? log_rows - 4 : log_rows;  // of the table's first round
    for (unsigned i = threadIdx.x; i < Shape::factors; i += blockDim.x) {
      unsigned from;
      if (i >= Shape::fourth) {
        from = layout.fourth() + Shape::block_words * rank + i - Shape::fourth;
      } else if (i >= Shape::third) {
        from = layout.third() + 16 * Shape::block_rows * rank + i - Shape::third;
      } else if (i >> first_levels == 0) {
        from = i;
      } else {
        const int level = 31 - __clz(static_cast<int>(i)), s = level - first_levels;
        const unsigned block = i - (1U << level);
        from = layout.second() + 16 * (block >> s) + (1U << s) + (block & ((1U << s) - 1));
      }
      copy_to_shared(factors + i, i < 2 ? roots + i : table + from);
    }
  }

  /// Rows and columns of the values of a thread where a transform of columns begins; columns count from the
  /// warp's first one.
  static __device__ __forceinline__ unsigned begin_row(unsigned k) {
    if constexpr (log_rows == 2) return k % 4;
    return lane() / Shape::warp_columns + Shape::rows / 8 * k;
  }
  static __device__ __forceinline__ unsigned column(unsigned k) {
    if constexpr (log_rows == 2) return lane() + 32 * (k / 4);
    return lane() % Shape::warp_columns;
  }
  /// The same where it ends.
  static __device__ __forceinline__ unsigned end_row(unsigned k) {
    if constexpr (Shape::log_second == 0) return begin_row(k);
    return Shape::second_radix * second_block(k) + k % Shape::second_radix;
  }
  /// First column of a part.
  static __device__ __forceinline__ unsigned first_column(unsigned rank, unsigned part) {
    return rank * Shape::block_columns + part * Shape::warp_columns;
  }

  /// x[k] is the value at begin_row(k), canonical or below 2q; on return that at end_row(k), lazy.
  static __device__ __forceinline__ void forward_columns(Value (&x)[8], Value* scratch,
                                                         const Twiddle* factors, const Modulus& m) {
    const auto root = [&](int h) { return A::expand(factors[h], m); };
    if constexpr (log_rows == 2) {
      forward_round<A, 2, true>(x, root, m);
      forward_round<A, 2, true>(x + 4, root, m);
    } else {
      forward_round<A, 3, true>(x, root, m);
    }
    if constexpr (Shape::log_second > 0) {
      exchange(
          x, scratch, [](unsigned k) { return begin_row(k); }, [](unsigned k) { return end_row(k); });
      unroll<8 / Shape::second_radix>([&](auto group) {
        constexpr unsigned k = decltype(group)::value * Shape::second_radix;
        forward_round<A, Shape::log_second, false>(
            x + k, [&](int h) { return A::expand(factors[second_factor(k, h)], m); }, m);
      });
    }
  }
  /// The reverse: x is a product by factor 0 or 1 on return.
  static __device__ __forceinline__ void inverse_columns(Value (&x)[8], Value* scratch,
                                                         const Twiddle* factors, const Modulus& m) {
    if constexpr (Shape::log_second > 0) {
      unroll<8 / Shape::second_radix>([&](auto group) {
        constexpr unsigned k = decltype(group)::value * Shape::second_radix;
        inverse_round<A, Shape::log_second, false>(
            x + k, [&](int h) { return A::expand(factors[second_factor(k, h)], m); }, m);
      });
      exchange(
          x, scratch, [](unsigned k) { return end_row(k); }, [](unsigned k) { return begin_row(k); });
    }
    const auto root = [&](int h) { return A::expand(factors[h], m); };
    if constexpr (log_rows == 2) {
      inverse_round<A, 2, true>(x, root, m);
      inverse_round<A, 2, true>(x + 4, root, m);
    } else {
      inverse_round<A, 3, true>(x, root, m);
    }
  }

  /// The rows' rounds, of the block's row `part`, with 256 values of scratch. Elements and values of a thread
  /// as in RowShare. Both rounds run the same instructions: fetching them takes longer than running them
  /// once.
  static __device__ __forceinline__ void forward_row(Value (&x)[8], Value* scratch, unsigned part,
                                                     const Twiddle* factors, const Modulus& m) {
    const unsigned t = lane() % 16;
#pragma unroll 1
    for (unsigned round = 0; round < 2; ++round) {
      const RowFactors row(factors, part, round);
      Share::forward_half(
          x, [&](unsigned h) { return A::expand(row[h], m); }, m);
      if (round == 1) break;
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) scratch[swizzled(16 * Share::together(i) + t)] = x[i];
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) x[i] = scratch[swizzled(16 * t + Share::spread(i))];
    }
  }
  static __device__ __forceinline__ void inverse_row(Value (&x)[8], Value* scratch, unsigned part,
                                                     const Twiddle* factors, const Modulus& m) {
    const unsigned t = lane() % 16;
#pragma unroll 1
    for (unsigned round = 0; round < 2; ++round) {
      const RowFactors row(factors, part, 1 - round);
      Share::inverse_half(
          x, [&](unsigned h) { return A::expand(row[h], m); }, m);
      if (round == 1) break;
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) scratch[swizzled(16 * t + Share::spread(i))] = x[i];
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) x[i] = scratch[swizzled(16 * Share::together(i) + t)];
    }
  }

  /// Stores the ends of columns where rows begin: `rows_area` is the polynomial's place in each block, [row,
  /// column].
  static __device__ __forceinline__ void give_rows(const Value (&x)[8], Value* rows_area, unsigned rank,
                                                   unsigned part) {
    const unsigned first = first_column(rank, part);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned row = end_row(k);
      shared_of(rows_area,
                row / Shape::block_rows)[row_size * (row % Shape::block_rows) + first + column(k)] = x[k];
    }
  }
  /// Loads what stands in the block's shared memory, [row, column of the block], where forward_columns
  /// begins.
  static __device__ __forceinline__ void take_block_columns(Value (&x)[8], const Value* columns_area,
                                                            unsigned part) {
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      x[k] = columns_area[Shape::block_columns * begin_row(k) + Shape::warp_columns * part + column(k)];
    }
  }
  /// Loads a row that give_rows stored, where forward_row begins.
  static __device__ __forceinline__ void take_row(Value (&x)[8], const Value* row) {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) x[i] = row[16 * Share::spread(i) + lane() % 16];
  }
  /// The same for values, where inverse_row begins.
  static __device__ __forceinline__ void take_values(Value (&x)[8], const Value* row) {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) x[i] = row[16 * Share::together(i) + lane() % 16];
  }
  /// Stores the ends of row `part` where columns begin, [row, column of the block].
  static __device__ __forceinline__ void give_columns(const Value (&x)[8], Value* columns_area, unsigned rank,
                                                      unsigned part) {
    const unsigned row = Shape::block_rows * rank + part;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned element = 16 * Share::spread(i) + lane() % 16;
      shared_of(columns_area, element / Shape::block_columns)[place(row, element % Shape::block_columns)] =
          x[i];
    }
  }
  /// Loads what give_columns stored, where inverse_columns begins.
  static __device__ __forceinline__ void take_columns(Value (&x)[8], const Value* columns_area,
                                                      unsigned part) {
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      x[k] = columns_area[place(end_row(k), part * Shape::warp_columns + column(k))];
    }
  }

 private:
  static __device__ __forceinline__ unsigned lane() { return threadIdx.x % 32; }
  // The block of the second round that register k belongs to, and its factors.
  static __device__ __forceinline__ unsigned second_block(unsigned k) {
    return lane() / Shape::warp_columns + Shape::rows / 8 * (k / Shape::second_radix);
  }
  static __device__ __forceinline__ unsigned second_factor(unsigned k, int h) {
    const int s = 31 - __clz(h);
    return ((8 + second_block(k)) << s) + static_cast<unsigned>(h) - (1U << s);
  }
  // Factors of the first or the second round of a row.
  struct RowFactors {
    const Twiddle* first;
    unsigned stride;

    __device__ __forceinline__ RowFactors(const Twiddle* factors, unsigned part, unsigned round)
        : first(factors +
                (round == 0 ? Shape::third + 16 * part : Shape::fourth + row_size * part + lane() % 16)),
          stride(round == 0 ? 1 : 16) {}
    __device__ __forceinline__ const Twiddle& operator[](unsigned h) const { return first[stride * h]; }
  };
  // Columns that 16 threads read in several rows are in different banks.
  static __device__ __forceinline__ unsigned place(unsigned row, unsigned column) {
    if constexpr (Shape::warp_columns < 16) {
      column ^= Shape::warp_columns * ((row >> Shape::log_second) % (16 / Shape::warp_columns));
    }
    return Shape::block_columns * row + column;
  }
  template <typename From, typename To>
  static __device__ __forceinline__ void exchange(Value (&x)[8], Value* scratch, const From& from,
                                                  const To& to) {
    const auto at = [&](unsigned k, unsigned row) {
      return Shape::warp_columns * (row + (row >> Shape::log_second)) + column(k);
    };
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) scratch[at(k, from(k))] = x[k];
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) x[k] = scratch[at(k, to(k))];
  }
};

/// Shared memory of a block: its factors, its part of a polynomial, and scratch of the warps.
template <class A, int log_rows>
constexpr std::size_t cluster_transform_bytes() {
  using Shape = ClusterShape<log_rows>;
  return Shape::factors * sizeof(typename A::Twiddle) +
         (Shape::block_words + Shape::block_rows * Shape::scratch_words) * sizeof(typename A::Value);
}

/// with_log_rows for a ring that clusters take.
template <typename Run>
void with_cluster_rows(int log_rows, const Run& run) {
  with_log_rows<2, 5>(log_rows, run);
}

}  // namespace hemera::poly::cuda
