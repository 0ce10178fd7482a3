// Transforms through shared memory in one or two passes. Between the passes values stand in their own order.
#include "poly/cuda/embedding/rounds.cuh"
#include "poly/cuda/embedding/slot_transforms.hpp"
#include "poly/cuda/launch.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned log_whole = 10;  // up to this many values one block does it all
constexpr unsigned log_row = 8;     // else n = R 256, and rows and columns take a pass each
constexpr unsigned most_log_rows = 8;
// Values of a block of a pass. Each is a chain of latencies, so small blocks on many multiprocessors win.
constexpr unsigned log_block = 9;
constexpr unsigned rows_per_block = 1U << (log_block - log_row);
constexpr unsigned values_per_thread = 4;
constexpr unsigned pass_threads = (1U << log_block) / values_per_thread;
constexpr std::size_t pass_bytes = sizeof(Complex) << log_block;
constexpr unsigned most_warps = 16;

__device__ __forceinline__ unsigned reversed(unsigned value, unsigned bits) {
  return bits == 0 ? 0 : __brev(value) >> (32 - bits);
}

struct WholeLayout {
  static constexpr unsigned sequences = 1;
  static constexpr bool interleaved = false;
  __device__ static unsigned address(unsigned, unsigned element) { return element ^ (element >> 3 & 7U); }
  __device__ static unsigned node(unsigned) { return 1; }
};

// Rows whose slots are neighbours: their numbers are reversals of neighbours.
struct RowsLayout {
  static constexpr unsigned sequences = rows_per_block;
  static constexpr bool interleaved = true;
  unsigned log_rows;
  unsigned tile;

  __device__ unsigned row(unsigned sequence) const {
    return reversed(rows_per_block * tile + sequence, log_rows);
  }
  __device__ static unsigned address(unsigned sequence, unsigned element) {
    return rows_per_block * element + sequence;
  }
  __device__ unsigned node(unsigned sequence) const { return (1U << log_rows) + row(sequence); }
};

struct ColumnsLayout {
  static constexpr bool interleaved = true;
  unsigned log_sequences;
  unsigned sequences = 1U << log_sequences;

  __device__ unsigned address(unsigned sequence, unsigned element) const {
    return (element << log_sequences) + sequence;
  }
  __device__ static unsigned node(unsigned) { return 1; }
};

// The largest pattern of |values| of the block, to thread 0. As an integer it orders like the magnitude.
__device__ unsigned long long block_largest(unsigned long long value) {
  __shared__ unsigned long long warps[most_warps];
#pragma unroll
  for (int lanes = 16; lanes != 0; lanes /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffU, value, lanes);
    value = value > other ? value : other;
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < (blockDim.x + 31) / 32; ++w) value = value > warps[w] ? value : warps[w];
  }
  return value;
}

__device__ __forceinline__ unsigned long long larger_pattern(unsigned long long largest,
                                                             const Complex& value) {
  constexpr unsigned long long magnitude = ~(1ULL << 63);
  const auto real = static_cast<unsigned long long>(__double_as_longlong(value.x)) & magnitude;
  const auto imaginary = static_cast<unsigned long long>(__double_as_longlong(value.y)) & magnitude;
  const unsigned long long larger = real > imaginary ? real : imaginary;
  return largest > larger ? largest : larger;
}

// Value i of 2^log_n.
__device__ __forceinline__ void store_rounded(const RoundedValues& rounded, const Complex& value, unsigned i,
                                              unsigned log_n) {
  if (rounded.data == nullptr) return;
  std::uint64_t* to = rounded.data + (std::size_t{blockIdx.y} << (log_n + 1)) + i;
  const auto word = [&](double part) {
    const ScaledInteger integer = scaled_integer(part, rounded.scale);
    return (bits_from(integer, 0) ^ integer.negative) - integer.negative;
  };
  to[0] = word(value.x);
  to[std::size_t{1} << log_n] = word(value.y);
}

// grid [1, batch].
__global__ void inverse_whole_kernel(Complex* values, const Complex* slots, unsigned log_n,
                                     const Complex* roots, unsigned long long* largest,
                                     const __grid_constant__ RoundedValues rounded) {
  const EmbeddingLevels<WholeLayout, log_whole> levels(WholeLayout(), log_n, roots);
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned n = 1U << log_n;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  for (unsigned j = threadIdx.x; j < n; j += blockDim.x) {
    shared[WholeLayout::address(0, reversed(j, log_n))] = slots[j];
  }
  __syncthreads();
  levels.run<false>(shared);
  unsigned long long own = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    const Complex value = shared[WholeLayout::address(0, i)];
    values[i] = value;
    own = larger_pattern(own, value);
    store_rounded(rounded, value, i, log_n);
  }
  own = block_largest(own);
  if (threadIdx.x == 0) largest[blockIdx.y] = own;
}

// grid [1, batch].
__global__ void forward_whole_kernel(Complex* slots, const Complex* values, unsigned log_n,
                                     const Complex* roots, unsigned long long* largest) {
  const EmbeddingLevels<WholeLayout, log_whole> levels(WholeLayout(), log_n, roots);
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned n = 1U << log_n;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  unsigned long long own = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    const Complex value = values[i];
    shared[WholeLayout::address(0, i)] = value;
    if (largest != nullptr) own = larger_pattern(own, value);
  }
  if (largest != nullptr) {
    own = block_largest(own);
    if (threadIdx.x == 0) largest[blockIdx.y] = own;
  }
  __syncthreads();
  levels.run<true>(shared);
  for (unsigned j = threadIdx.x; j < n; j += blockDim.x) {
    slots[j] = shared[WholeLayout::address(0, reversed(j, log_n))];
  }
}

// Copies the values of a block, which has values_per_thread a thread: all loads are on their way before the
// first one is stored.
template <typename Load, typename Store>
__device__ __forceinline__ void copy_values(const Load& load, const Store& store) {
  Complex x[values_per_thread];
#pragma unroll
  for (unsigned k = 0; k < values_per_thread; ++k) x[k] = load(threadIdx.x + k * blockDim.x);
#pragma unroll
  for (unsigned k = 0; k < values_per_thread; ++k) store(threadIdx.x + k * blockDim.x, x[k]);
}

// Element i of row b belongs to slot reverse(i) R + reverse(b). grid [tile, batch].
__global__ void __launch_bounds__(pass_threads)
    inverse_rows_kernel(Complex* values, const Complex* slots, unsigned log_rows, const Complex* roots,
                        unsigned long long* largest) {
  const RowsLayout layout{log_rows, blockIdx.x};
  const EmbeddingLevels<RowsLayout, log_row> levels(layout, log_row, roots);
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned log_n = log_rows + log_row;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  copy_values(
      [&](unsigned i) {
        return slots[(i / rows_per_block << log_rows) + rows_per_block * layout.tile + i % rows_per_block];
      },
      [&](unsigned i, const Complex& value) {
        shared[layout.address(i % rows_per_block, reversed(i / rows_per_block, log_row))] = value;
      });
  __syncthreads();
  levels.run<false>(shared);
  copy_values([&](unsigned i) { return shared[layout.address(i % rows_per_block, i / rows_per_block)]; },
              [&](unsigned i, const Complex& value) {
                values[(layout.row(i % rows_per_block) << log_row) + i / rows_per_block] = value;
              });
  // For the columns, which come next.
  if (blockIdx.x == 0 && threadIdx.x == 0) largest[blockIdx.y] = 0;
}

__global__ void __launch_bounds__(pass_threads)
    forward_rows_kernel(Complex* slots, const Complex* values, unsigned log_rows, const Complex* roots) {
  const RowsLayout layout{log_rows, blockIdx.x};
  const EmbeddingLevels<RowsLayout, log_row> levels(layout, log_row, roots);
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned log_n = log_rows + log_row;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  copy_values(
      [&](unsigned i) { return values[(layout.row(i % rows_per_block) << log_row) + i / rows_per_block]; },
      [&](unsigned i, const Complex& value) {
        shared[layout.address(i % rows_per_block, i / rows_per_block)] = value;
      });
  __syncthreads();
  levels.run<true>(shared);
  copy_values(
      [&](unsigned i) {
        return shared[layout.address(i % rows_per_block, reversed(i / rows_per_block, log_row))];
      },
      [&](unsigned i, const Complex& value) {
        slots[(i / rows_per_block << log_rows) + rows_per_block * layout.tile + i % rows_per_block] = value;
      });
}

// In place; where `largest` is not null, which is 0 then, it gets the largest pattern of the values, not of
// the slots. grid [tile of columns, batch].
template <bool forward>
__global__ void columns_kernel(Complex* values, unsigned log_rows, unsigned log_columns, const Complex* roots,
                               unsigned long long* largest, const __grid_constant__ RoundedValues rounded) {
  const ColumnsLayout layout{log_columns};
  const EmbeddingLevels<ColumnsLayout, most_log_rows> levels(layout, log_rows, roots);
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  unsigned long long own = 0;
  const unsigned first = blockIdx.x << log_columns;
  values += (std::size_t{blockIdx.y} << (log_rows + log_row)) + first;
  const auto place = [&](unsigned i) { return (i >> log_columns << log_row) + (i & (layout.sequences - 1)); };
  copy_values([&](unsigned i) { return values[place(i)]; },
              [&](unsigned i, const Complex& value) {
                shared[i] = value;
                if (forward && largest != nullptr) own = larger_pattern(own, value);
              });
  __syncthreads();
  levels.run<forward>(shared);
  copy_values([&](unsigned i) { return shared[i]; },
              [&](unsigned i, const Complex& value) {
                values[place(i)] = value;
                if constexpr (!forward) {
                  own = larger_pattern(own, value);
                  store_rounded(rounded, value, place(i) + first, log_rows + log_row);
                }
              });
  if (!forward || largest != nullptr) {
    own = block_largest(own);
    if (threadIdx.x == 0) atomicMax(largest + blockIdx.y, own);
  }
}

// How n > 2^log_whole values are shared by blocks.
struct Passes {
  unsigned log_rows;
  unsigned log_columns;  // of a block

  explicit Passes(unsigned log_n) : log_rows(log_n - log_row), log_columns(log_block - log_rows) {}
  [[nodiscard]] dim3 rows_grid(unsigned batch) const { return {(1U << log_rows) / rows_per_block, batch}; }
  [[nodiscard]] dim3 columns_grid(unsigned batch) const { return {(1U << log_row) >> log_columns, batch}; }
};

unsigned whole_threads(unsigned log_n) { return std::max(32U, (1U << log_n) / values_per_thread); }

}  // namespace

void slots_to_values(cudaStream_t stream, Complex* values, const SlotView& slots, const Complex* roots,
                     unsigned long long* largest, const RoundedValues& rounded) {
  const unsigned log_n = log2_exact(slots.slots);
  const auto* const in = reinterpret_cast<const Complex*>(slots.data);
  for_each_batch(slots.batch, [&](std::size_t first, unsigned batch) {
    Complex* const to = values + (first << log_n);
    const Complex* const from = in + (first << log_n);
    RoundedValues integers = rounded;
    if (integers.data != nullptr) integers.data += first << (log_n + 1);
    if (log_n <= log_whole) {
      launch("embed", stream, inverse_whole_kernel, {1, batch}, {whole_threads(log_n)},
             sizeof(Complex) << log_n, to, from, log_n, roots, largest + first, integers);
      return;
    }
    const Passes passes(log_n);
    launch("embed", stream, inverse_rows_kernel, passes.rows_grid(batch), {pass_threads}, pass_bytes, to,
           from, passes.log_rows, roots, largest + first);
    launch("embed", stream, columns_kernel<false>, passes.columns_grid(batch), {pass_threads}, pass_bytes, to,
           passes.log_rows, passes.log_columns, roots, largest + first, integers);
  });
}

void values_to_slots(cudaStream_t stream, const SlotView& slots, Complex* values, const Complex* roots,
                     unsigned long long* largest) {
  const unsigned log_n = log2_exact(slots.slots);
  auto* const out = reinterpret_cast<Complex*>(slots.data);
  for_each_batch(slots.batch, [&](std::size_t first, unsigned batch) {
    Complex* const from = values + (first << log_n);
    Complex* const to = out + (first << log_n);
    unsigned long long* const own = largest == nullptr ? nullptr : largest + first;
    if (log_n <= log_whole) {
      launch("unembed", stream, forward_whole_kernel, {1, batch}, {whole_threads(log_n)},
             sizeof(Complex) << log_n, to, from, log_n, roots, own);
      return;
    }
    const Passes passes(log_n);
    launch("unembed", stream, columns_kernel<true>, passes.columns_grid(batch), {pass_threads}, pass_bytes,
           from, passes.log_rows, passes.log_columns, roots, own, RoundedValues{});
    launch("unembed", stream, forward_rows_kernel, passes.rows_grid(batch), {pass_threads}, pass_bytes, to,
           from, passes.log_rows, roots);
  });
}

}  // namespace hemera::poly::cuda
