// The rounds of a transform: butterflies of up to 32 values in registers, and the order of tables that feed
// them.
//
// N = R 256 coefficients stand as R rows of 256. Forward, a first pass transforms columns (length R), a
// second one rows; each is one or two rounds. A round at block B of level l (P. Longa and M. Naehrig,
// 2016/504: there are 2^l blocks) uses the factors of 1, 2, 4, ... blocks below B; numbered h = 2^s + g for
// the g-th of s levels below.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/schedule.hpp"

namespace hemera::poly::cuda {

/// A row: the coefficients of a second pass, and the unit of the evaluation order.
inline constexpr unsigned row_size = 256;
inline constexpr unsigned log_row_size = 8;

/// Position in a backend's array of the value that is entry i in standard order, and the reverse: within a
/// row the last round leaves value 16 t + k in register k of thread t, which is stored where the threads'
/// words are adjacent.
__host__ __device__ constexpr unsigned transposed(unsigned i) {
  return (i & ~255U) | (i & 15U) << 4 | (i >> 4 & 15U);
}

#if defined(__CUDACC__) || defined(HEMERA_CUDA_EMULATION)
/// The lowest `bits` bits in reverse order.
__device__ __forceinline__ unsigned reversed(unsigned value, unsigned bits) {
  return __brev(value) >> (32 - bits);
}

/// Position of the value for the exponent of the value at `position` times `element`, modulo 2N.
__device__ __forceinline__ unsigned permuted(unsigned position, unsigned element, unsigned log_degree) {
  const unsigned exponent = (2 * reversed(transposed(position), log_degree) + 1) * element;
  return transposed(reversed((exponent & ((2U << log_degree) - 1)) >> 1, log_degree));
}
#endif

/// Where the factors of a modulus stand in its table; counts of factors.
struct TableLayout {
  unsigned rows;           // R
  unsigned second_blocks;  // blocks of the columns' second round; 0: it has one round

  __host__ __device__ constexpr explicit TableLayout(int log_rows)
      : rows(1U << log_rows), second_blocks(log_rows > 4 ? 1U << (log_rows - 4) : 0) {}
  /// Columns: h < 32 of the first round; factor 0 of an inverse table is N^-1, and factor 1 has it as a
  /// factor.
  static constexpr unsigned first = 0;
  /// Columns, second round: [block, h < 16].
  __host__ __device__ constexpr unsigned second() const { return 32; }
  /// Rows, first round: [row, h < 16].
  __host__ __device__ constexpr unsigned third() const { return second() + 16 * second_blocks; }
  /// Rows, second round, block 16 row + t: [row, h < 16, t < 16].
  __host__ __device__ constexpr unsigned fourth() const { return third() + 16 * rows; }
  __host__ __device__ constexpr unsigned size() const { return fourth() + row_size * rows; }
};

template <typename Body, int... index>
__device__ __forceinline__ void unroll(const Body& body, std::integer_sequence<int, index...>) {
  (body(std::integral_constant<int, index>{}), ...);
}
/// body(0), ..., body(count - 1) with indices known when compiling.
template <int count, typename Body>
__device__ __forceinline__ void unroll(const Body& body) {
  unroll(body, std::make_integer_sequence<int, count>{});
}

/// `log_radix` stages of butterflies among x[0], x[1], ...; twiddle(h) gives the factors. `first`: x is
/// canonical, or below 2q.
template <class A, int log_radix, bool first, typename Load>
__device__ __forceinline__ void forward_round(typename A::Value* x, const Load& twiddle,
                                              const typename A::Modulus& m) {
  unroll<log_radix>([&](auto stage) {
    constexpr int s = decltype(stage)::value;
    constexpr int half = (1 << log_radix) >> (s + 1);
    unroll<(1 << s)>([&](auto group) {
      constexpr int g = decltype(group)::value;
      const auto w = twiddle((1 << s) + g);
      unroll<half>([&](auto j) {
        constexpr int a = 2 * half * g + decltype(j)::value;
        A::template forward_butterfly<first, s, log_radix>(x[a], x[a + half], w, m);
      });
    });
  });
}

/// The reverse. `last`: the sums of the last stage are multiplied by factor 0, and x is a product afterwards.
template <class A, int log_radix, bool last, typename Load>
__device__ __forceinline__ void inverse_round(typename A::Value* x, const Load& twiddle,
                                              const typename A::Modulus& m) {
  unroll<log_radix>([&](auto stage) {
    constexpr int s = decltype(stage)::value;
    constexpr int half = 1 << s;
    constexpr int groups = (1 << log_radix) >> (s + 1);
    constexpr bool root = last && groups == 1;
    unroll<groups>([&](auto group) {
      constexpr int g = decltype(group)::value;
      const auto w = twiddle(groups + g);
      const auto scale = twiddle(root ? 0 : groups + g);
      unroll<half>([&](auto j) {
        constexpr int index = decltype(j)::value;
        constexpr int a = 2 * half * g + index;
        A::template inverse_butterfly<s, index, root>(x[a], x[a + half], w, scale, m);
      });
    });
  });
  if constexpr (!last) {
    unroll<(1 << log_radix)>([&](auto k) {
      A::template end_inverse_round<log_radix, decltype(k)::value>(x[decltype(k)::value], m);
    });
  }
}

/// Brings the 128 bytes around a word of global memory into the first-level cache.
__device__ __forceinline__ void prefetch([[maybe_unused]] const void* word) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(word));
#endif
}

/// Where element e of a row stands in shared memory: no two of 16 threads that read a stride meet in a bank.
__device__ __forceinline__ unsigned swizzled(unsigned e) { return e ^ (e >> 4 & 15U); }

/// Both rounds of a row by 16 threads of a warp, which exchange values as `swizzled` has them: on entry x[k]
/// is element 16 k + t of the row, lazy, from the columns; on return the value 16 t + k. `shared`: 256 values
/// of these threads alone.
template <class A>
__device__ __forceinline__ void forward_row(typename A::Value (&x)[16], typename A::Value* shared,
                                            unsigned row, unsigned t, const typename A::Twiddle* table,
                                            const TableLayout& layout, const typename A::Modulus& m) {
  const auto* third = table + layout.third() + 16 * row;
  const auto* fourth = table + layout.fourth() + row_size * row + t;
  // In FP64 a round is soon done, and waits for the next one's factors: 2 KB, 128 bytes a thread.
  if constexpr (std::is_same_v<A, F64>) prefetch(fourth + 15 * t);
  forward_round<A, 4, false>(
      x, [&](int h) { return A::read(third + h, m); }, m);
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) (shared + (t ^ k))[16 * k] = x[k];
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = (shared + 16 * t)[t ^ k];
  forward_round<A, 4, false>(
      x, [&](int h) { return A::read(fourth + 16 * h, m); }, m);
}

/// The reverse: on entry x[k] is the canonical value 16 t + k, on return element 16 k + t, lazy.
template <class A>
__device__ __forceinline__ void inverse_row(typename A::Value (&x)[16], typename A::Value* shared,
                                            unsigned row, unsigned t, const typename A::Twiddle* table,
                                            const TableLayout& layout, const typename A::Modulus& m) {
  const auto* fourth = table + layout.fourth() + row_size * row + t;
  inverse_round<A, 4, false>(
      x, [&](int h) { return A::read(fourth + 16 * h, m); }, m);
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) (shared + 16 * t)[t ^ k] = x[k];
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = (shared + (t ^ k))[16 * k];
  const auto* third = table + layout.third() + 16 * row;
  inverse_round<A, 4, false>(
      x, [&](int h) { return A::read(third + h, m); }, m);
}

/// How the threads of a row share its elements. Either 16 threads of 16 values each, as above; or a warp,
/// thread t + 16 h having half of thread t's values: less to do one after the other, where a device has more
/// multiprocessors than the kernel has warps.
template <class A, int values>
struct RowShare {
  static_assert(values == 16 || values == 8);
  using Value = typename A::Value;
  static constexpr unsigned threads = row_size / values;
  static constexpr unsigned rows_per_warp = 32 / threads;

  /// Register i of thread t + 16 h is element 16 spread(i) + t of the row where a forward transform begins
  /// and an inverse one ends, and value 16 t + together(i), at position 16 together(i) + t, at their other
  /// ends.
  static __device__ __forceinline__ unsigned spread(unsigned i) {
    if constexpr (values == 16) return i;
    return 4 * half() + i % 4 + 8 * (i / 4);
  }
  static __device__ __forceinline__ unsigned together(unsigned i) {
    if constexpr (values == 16) return i;
    return 8 * half() + i;
  }

  static __device__ __forceinline__ void forward(Value (&x)[values], Value* shared, unsigned row, unsigned t,
                                                 const typename A::Twiddle* table, const TableLayout& layout,
                                                 const typename A::Modulus& m) {
    if constexpr (values == 16) {
      forward_row<A>(x, shared, row, t, table, layout, m);
    } else {
      const auto* third = table + layout.third() + 16 * row;
      forward_half(
          x, [&](unsigned h) { return A::read(third + h, m); }, m);
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) shared[swizzled(16 * together(i) + t)] = x[i];
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) x[i] = shared[swizzled(16 * t + spread(i))];
      const auto* fourth = table + layout.fourth() + row_size * row + t;
      forward_half(
          x, [&](unsigned h) { return A::read(fourth + 16 * h, m); }, m);
    }
  }

  static __device__ __forceinline__ void inverse(Value (&x)[values], Value* shared, unsigned row, unsigned t,
                                                 const typename A::Twiddle* table, const TableLayout& layout,
                                                 const typename A::Modulus& m) {
    if constexpr (values == 16) {
      inverse_row<A>(x, shared, row, t, table, layout, m);
    } else {
      const auto* fourth = table + layout.fourth() + row_size * row + t;
      inverse_half(
          x, [&](unsigned h) { return A::read(fourth + 16 * h, m); }, m);
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) shared[swizzled(16 * t + spread(i))] = x[i];
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) x[i] = shared[swizzled(16 * together(i) + t)];
      const auto* third = table + layout.third() + 16 * row;
      inverse_half(
          x, [&](unsigned h) { return A::read(third + h, m); }, m);
    }
  }

 private:
  static __device__ __forceinline__ unsigned half() { return threadIdx.x / 16 % 2; }

  // Between the orders: each thread gives four values and gets four.
  static __device__ __forceinline__ void exchange(Value* x) {
    const bool upper = half() != 0;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const Value other = __shfl_xor_sync(0xffffffffU, upper ? x[j] : x[4 + j], 16);
      x[j] = upper ? other : x[j];
      x[4 + j] = upper ? x[4 + j] : other;
    }
  }

 public:
  /// A round of radix 16 of 8 values a thread: a stage, the exchange, three stages.
  template <typename Load>
  static __device__ __forceinline__ void forward_half(Value* x, const Load& twiddle,
                                                      const typename A::Modulus& m) {
    const auto root = twiddle(1U);
    unroll<4>([&](auto j) {
      constexpr int a = decltype(j)::value;
      A::template forward_butterfly<false, 0, 4>(x[a], x[a + 4], root, m);
    });
    exchange(x);
    unroll<3>([&](auto stage) {
      constexpr int s = decltype(stage)::value + 1;
      constexpr int distance = 8 >> s;
      unroll<(1 << (s - 1))>([&](auto group) {
        constexpr int g = decltype(group)::value;
        const auto w = twiddle((1U << s) + (half() << (s - 1)) + g);
        unroll<distance>([&](auto j) {
          constexpr int a = 2 * distance * g + decltype(j)::value;
          A::template forward_butterfly<false, s, 4>(x[a], x[a + distance], w, m);
        });
      });
    });
  }
  /// The reverse. Bounds of a register are those of the lower half, which are the larger ones.
  template <typename Load>
  static __device__ __forceinline__ void inverse_half(Value* x, const Load& twiddle,
                                                      const typename A::Modulus& m) {
    unroll<3>([&](auto stage) {
      constexpr int s = decltype(stage)::value;
      constexpr int distance = 1 << s;
      constexpr int groups = 4 >> s;
      unroll<groups>([&](auto group) {
        constexpr int g = decltype(group)::value;
        const auto w = twiddle(2U * groups + half() * groups + g);
        unroll<distance>([&](auto j) {
          constexpr int index = decltype(j)::value;
          constexpr int a = 2 * distance * g + index;
          A::template inverse_butterfly<s, index, false>(x[a], x[a + distance], w, w, m);
        });
      });
    });
    exchange(x);
    const auto root = twiddle(1U);
    unroll<4>([&](auto j) {
      constexpr int index = decltype(j)::value;
      A::template inverse_butterfly<3, index, false>(x[index], x[index + 4], root, root, m);
      A::template end_inverse_round<4, index>(x[index], m);
      A::template end_inverse_round<4, index + 8>(x[index + 4], m);
    });
  }
};

/// Whether this many rows are few: then each may have a warp where it would have half of one.
template <class A>
constexpr bool few_rows(std::size_t rows, const LaunchSizes& sizes) {
  return rows < sizes.few_rows && !std::is_same_v<A, F64>;
}

/// Scaled residues stand in tiles of 8 columns and in pairs of rows that are 16 apart: [tile, row % 16,
/// row / 32, column % 8]. A pair has the lower halves of both words, then the upper ones: a thread of the
/// tensor cores' layout finds its registers of an instruction in 16 bytes, and eight threads in 128. Here the
/// place of the first pair of a row below 16; the others follow at distances of 8.
template <int log_rows>
__host__ __device__ constexpr std::size_t first_pair(std::size_t row, std::size_t column) {
  return (column / 8 * 16 + row) * ((1U << log_rows) / 32) * 8 + column % 8;
}

/// Two words as a pair, and back.
__device__ __forceinline__ ulonglong2 paired(std::uint64_t x, std::uint64_t y) {
  return make_ulonglong2(static_cast<std::uint32_t>(x) | y << 32, x >> 32 | (y >> 32) << 32);
}

/// How a block of threads shares a tile of 16 columns of length 2^log_rows.
template <int log_rows>
struct ColumnTile {
  static constexpr unsigned columns = 16;
  static constexpr unsigned rows = 1U << log_rows;
  static constexpr bool two_rounds = log_rows > 4;
  static constexpr int log_first = two_rounds ? log_rows - 4 : log_rows;
  static constexpr unsigned first_radix = 1U << log_first;
  /// Values of a thread.
  static constexpr unsigned per_thread = two_rounds && first_radix < 16 ? 16 : first_radix;
  static constexpr unsigned threads = rows * columns / per_thread;
  static constexpr unsigned step = threads / columns;  // threads of a column
  static constexpr std::size_t shared_words = two_rounds ? rows * columns : 0;
};

/// The columns' rounds: load(row) -> value for this thread's column (canonical), store(row, value) lazy.
/// `shared`: the tile's shared words.
template <class A, int log_rows, typename Load, typename Store>
__device__ __forceinline__ void forward_columns(const Load& load, const Store& store,
                                                typename A::Value* shared, const typename A::Twiddle* table,
                                                const typename A::Modulus& m) {
  using Tile = ColumnTile<log_rows>;
  // Numbers of 64 bits, so that known distances go into the instructions.
  const std::size_t column = threadIdx.x % Tile::columns, y = threadIdx.x / Tile::columns;
  typename A::Value x[Tile::per_thread];
  if constexpr (!Tile::two_rounds) {
#pragma unroll
    for (unsigned k = 0; k < Tile::rows; ++k) x[k] = load(k);
    forward_round<A, log_rows, true>(
        x, [&](int h) { return A::read(table + h, m); }, m);
#pragma unroll
    for (unsigned k = 0; k < Tile::rows; ++k) store(k, x[k]);
  } else {
    constexpr unsigned radix = Tile::first_radix;
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) x[j * radix + k] = load(y + j * Tile::step + 16 * k);
    }
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
      forward_round<A, Tile::log_first, true>(
          x + j * radix, [&](int h) { return A::read(table + h, m); }, m);
    }
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) {
        shared[(y + j * Tile::step + 16 * k) * Tile::columns + column] = x[j * radix + k];
      }
    }
    __syncthreads();
    const auto* second = table + TableLayout(log_rows).second();
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / 16; ++j) {
      const std::size_t block = y + j * Tile::step;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = shared[(16 * block + k) * Tile::columns + column];
      forward_round<A, 4, false>(
          x, [&](int h) { return A::read(second + 16 * block + h, m); }, m);
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) store(16 * block + k, x[k]);
    }
  }
}

/// The reverse: load(row) lazy, store(row, value) a product by N^-1 (before finish_inverse); or store(row, i,
/// value, value) for rows row + 32 i, row below 16, and the one 16 below. `roots`: factors 0 and 1, which may
/// have a further factor.
template <class A, int log_rows, typename Load, typename Store>
__device__ __forceinline__ void inverse_columns(const Load& load, const Store& store,
                                                typename A::Value* shared, const typename A::Twiddle* table,
                                                const typename A::Twiddle* roots,
                                                const typename A::Modulus& m) {
  const auto first = [&](int h) { return A::read((h < 2 ? roots : table) + h, m); };
  using Tile = ColumnTile<log_rows>;
  // Numbers of 64 bits, so that known distances go into the instructions.
  const std::size_t column = threadIdx.x % Tile::columns, y = threadIdx.x / Tile::columns;
  typename A::Value x[Tile::per_thread];
  if constexpr (!Tile::two_rounds) {
#pragma unroll
    for (unsigned k = 0; k < Tile::rows; ++k) x[k] = load(k);
    inverse_round<A, log_rows, true>(x, first, m);
#pragma unroll
    for (unsigned k = 0; k < Tile::rows; ++k) store(k, x[k]);
  } else {
    constexpr unsigned radix = Tile::first_radix;
    const auto* second = table + TableLayout(log_rows).second();
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / 16; ++j) {
      const std::size_t block = y + j * Tile::step;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = load(16 * block + k);
      inverse_round<A, 4, false>(
          x, [&](int h) { return A::read(second + 16 * block + h, m); }, m);
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) shared[(16 * block + k) * Tile::columns + column] = x[k];
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) {
        x[j * radix + k] = shared[(y + j * Tile::step + 16 * k) * Tile::columns + column];
      }
    }
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
      inverse_round<A, Tile::log_first, true>(x + j * radix, first, m);
    }
#pragma unroll
    for (unsigned j = 0; j < Tile::per_thread / radix; ++j) {
      if constexpr (std::is_invocable_v<Store, std::size_t, unsigned, typename A::Value, typename A::Value>) {
#pragma unroll
        for (unsigned k = 0; k < radix; k += 2) {
          store(y + j * Tile::step, k / 2, x[j * radix + k], x[j * radix + k + 1]);
        }
      } else {
#pragma unroll
        for (unsigned k = 0; k < radix; ++k) store(y + j * Tile::step + 16 * k, x[j * radix + k]);
      }
    }
  }
}

}  // namespace hemera::poly::cuda
