// Encoding and decoding: transforms through shared memory in one or two passes, and between doubles and
// residues one thread a coefficient, with integers of as many words as it takes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "hemera/arith/big_integer.hpp"
#include "poly/cuda/embedding.hpp"
#include "poly/cuda/embedding_rounds.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/embedding_arithmetic.hpp"
#include "poly/embedding_checks.hpp"
#include "poly/embedding_tables.hpp"

namespace hemera::poly::cuda {

// --- Centring: constants of a base ---

namespace {

using arith::BigInteger;
using arith::Modulus;
using arith::uint128;
using runtime::Workspace;

/// One limb: y = x (Q / q)^-1 mod q, and y / q with 64 fractional bits. Rows are padded with factors 0.
struct CenteringLimb {
  arith::ShoupFactor inverse;
  Modulus modulus;
};

/// A word of Q and of floor(Q / 2).
struct CenteringWord {
  std::uint64_t product;
  std::uint64_t half;
};

/// What the kernels get of it.
struct CenteringTables {
  const CenteringLimb* limbs;    // [limb]
  const std::uint64_t* weights;  // Q / q, [word, limb]; rows padded with zeros
  const CenteringWord* words;    // [word]
  unsigned limb_count;
  unsigned word_count;
};

// Scaled residues of up to so many limbs stay in registers. Up to 32 limbs a multiprocessor has room for 512
// threads.
constexpr unsigned register_limbs[] = {1,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                       22, 24, 26, 28, 30, 32, 40, 48, 56, 64};
constexpr unsigned most_register_limbs = register_limbs[std::size(register_limbs) - 1];
// Limbs of a row of weights are a multiple of this beyond them.
constexpr unsigned limb_group = 8;

std::size_t padded_limbs(std::size_t limbs) {
  for (const unsigned count : register_limbs) {
    if (limbs <= count) return count;
  }
  return (limbs + limb_group - 1) / limb_group * limb_group;
}

std::uint64_t word_of(const BigInteger& value, std::size_t index) {
  return static_cast<std::uint64_t>((value >> static_cast<unsigned>(64 * index)) & ~std::uint64_t{0});
}

}  // namespace

struct Embedding::Centering {
  DeviceArray<CenteringLimb> limbs;
  DeviceArray<std::uint64_t> weights;
  DeviceArray<CenteringWord> words;
  unsigned limb_count = 0;
  unsigned word_count = 0;

  [[nodiscard]] CenteringTables tables() const {
    return {limbs.data(), weights.data(), words.data(), limb_count, word_count};
  }
};

const Embedding::Centering& Embedding::centering(const RnsBase& base) const {
  const std::vector<std::uint32_t> key(base.indices().begin(), base.indices().end());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Centering>& entry = centerings_[key];
  if (entry) return *entry;

  const BigInteger product = arith::product(base.values());
  const BigInteger half = product / 2;
  const std::size_t word_count = msb(product) / 64 + 1;
  const std::size_t row = padded_limbs(base.size());
  std::vector<CenteringLimb> limbs;
  std::vector<std::uint64_t> weights(word_count * row, 0);
  for (std::size_t i = 0; i < base.size(); ++i) {
    const Modulus& q = base.modulus(i);
    const BigInteger weight = product / q.value();
    const std::uint64_t inverse =
        base.size() == 1 ? 1 : arith::inverse(arith::modulo(weight, q.value()), q.value());
    limbs.push_back({arith::ShoupFactor(inverse, q), q});
    for (std::size_t w = 0; w < word_count; ++w) weights[w * row + i] = word_of(weight, w);
  }
  limbs.resize(row, {arith::ShoupFactor(), base.modulus(0)});
  std::vector<CenteringWord> words;
  for (std::size_t w = 0; w < word_count; ++w) words.push_back({word_of(product, w), word_of(half, w)});

  auto made = std::make_unique<Centering>();
  made->limb_count = static_cast<unsigned>(base.size());
  made->word_count = static_cast<unsigned>(word_count);
  made->limbs = {memory_, *streams_, limbs};
  made->weights = {memory_, *streams_, weights};
  made->words = {memory_, *streams_, words};
  entry = std::move(made);
  return *entry;
}

namespace {

// --- Transforms. Values stand as w_i = m_i + i m_(i + n), [batch, n], between the passes in their own order.
// ---

constexpr unsigned log_whole = 10;  // up to so many values one block does it all
constexpr unsigned log_row = 8;     // else n = R 256, and rows and columns take a pass each
constexpr unsigned rows_per_block = 4;
constexpr unsigned values_per_thread = 4;
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
  unsigned sequences;

  __device__ unsigned address(unsigned sequence, unsigned element) const {
    return sequences * element + sequence;
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

// grid [1, batch].
__global__ void inverse_whole_kernel(Complex* values, const Complex* slots, unsigned log_n,
                                     const Complex* roots, unsigned long long* largest) {
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned n = 1U << log_n;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  for (unsigned j = threadIdx.x; j < n; j += blockDim.x) {
    shared[WholeLayout::address(0, reversed(j, log_n))] = slots[j];
  }
  __syncthreads();
  embedding_levels<false>(shared, WholeLayout(), log_n, roots);
  unsigned long long own = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    values[i] = shared[WholeLayout::address(0, i)];
    own = larger_pattern(own, values[i]);
  }
  own = block_largest(own);
  if (threadIdx.x == 0) largest[blockIdx.y] = own;
}

// grid [1, batch].
__global__ void forward_whole_kernel(Complex* slots, const Complex* values, unsigned log_n,
                                     const Complex* roots) {
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const unsigned n = 1U << log_n;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) shared[WholeLayout::address(0, i)] = values[i];
  __syncthreads();
  embedding_levels<true>(shared, WholeLayout(), log_n, roots);
  for (unsigned j = threadIdx.x; j < n; j += blockDim.x) {
    slots[j] = shared[WholeLayout::address(0, reversed(j, log_n))];
  }
}

// Element i of row b belongs to slot reverse(i) R + reverse(b). grid [tile, batch].
__global__ void __launch_bounds__((rows_per_block << log_row) / values_per_thread)
    inverse_rows_kernel(Complex* values, const Complex* slots, unsigned log_rows, const Complex* roots,
                        unsigned long long* largest) {
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const RowsLayout layout{log_rows, blockIdx.x};
  const unsigned log_n = log_rows + log_row;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  for (unsigned i = threadIdx.x; i < rows_per_block << log_row; i += blockDim.x) {
    const unsigned sequence = i % rows_per_block, position = i / rows_per_block;
    shared[layout.address(sequence, reversed(position, log_row))] =
        slots[(position << log_rows) + rows_per_block * layout.tile + sequence];
  }
  __syncthreads();
  embedding_levels<false>(shared, layout, log_row, roots);
  for (unsigned i = threadIdx.x; i < rows_per_block << log_row; i += blockDim.x) {
    const unsigned sequence = i % rows_per_block, element = i / rows_per_block;
    values[(layout.row(sequence) << log_row) + element] = shared[layout.address(sequence, element)];
  }
  // For the columns, which come next.
  if (blockIdx.x == 0 && threadIdx.x == 0) largest[blockIdx.y] = 0;
}

__global__ void __launch_bounds__((rows_per_block << log_row) / values_per_thread)
    forward_rows_kernel(Complex* slots, const Complex* values, unsigned log_rows, const Complex* roots) {
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const RowsLayout layout{log_rows, blockIdx.x};
  const unsigned log_n = log_rows + log_row;
  slots += std::size_t{blockIdx.y} << log_n;
  values += std::size_t{blockIdx.y} << log_n;
  for (unsigned i = threadIdx.x; i < rows_per_block << log_row; i += blockDim.x) {
    const unsigned sequence = i % rows_per_block, element = i / rows_per_block;
    shared[layout.address(sequence, element)] = values[(layout.row(sequence) << log_row) + element];
  }
  __syncthreads();
  embedding_levels<true>(shared, layout, log_row, roots);
  for (unsigned i = threadIdx.x; i < rows_per_block << log_row; i += blockDim.x) {
    const unsigned sequence = i % rows_per_block, position = i / rows_per_block;
    slots[(position << log_rows) + rows_per_block * layout.tile + sequence] =
        shared[layout.address(sequence, reversed(position, log_row))];
  }
}

// In place; the inverse finds the largest value as well. grid [tile of columns, batch].
template <bool forward>
__global__ void columns_kernel(Complex* values, unsigned log_rows, unsigned columns, const Complex* roots,
                               unsigned long long* largest) {
  begin_kernel();
  auto* const shared = dynamic_shared<Complex>();
  const ColumnsLayout layout{columns};
  const unsigned count = columns << log_rows;
  values += (std::size_t{blockIdx.y} << (log_rows + log_row)) + blockIdx.x * columns;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    const unsigned sequence = i % columns, element = i / columns;
    shared[layout.address(sequence, element)] = values[(element << log_row) + sequence];
  }
  __syncthreads();
  embedding_levels<forward>(shared, layout, log_rows, roots);
  unsigned long long own = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    const unsigned sequence = i % columns, element = i / columns;
    const Complex value = shared[layout.address(sequence, element)];
    values[(element << log_row) + sequence] = value;
    if constexpr (!forward) own = larger_pattern(own, value);
  }
  if constexpr (!forward) {
    own = block_largest(own);
    if (threadIdx.x == 0) atomicMax(largest + blockIdx.y, own);
  }
}

// --- Residues of rounded coefficients ---

constexpr unsigned threads = 128;
constexpr unsigned limbs_per_block = 8;

// `words`: of the largest magnitude of the polynomial.
__device__ __forceinline__ std::uint64_t residue(const ScaledInteger& value, int words, const Modulus& q) {
  std::uint64_t result;
  if (words == 1) {
    result = q.reduce(bits_from(value, 0));
  } else {
    // Horner's rule from the two highest words down.
    const std::uint64_t top = bits_from(value, 64 * (words - 1));
    result = q.reduce(static_cast<uint128>(top) << 64 | bits_from(value, 64 * (words - 2)));
    for (int w = words - 3; w >= 0; --w) {
      result = q.reduce(static_cast<uint128>(result) << 64 | bits_from(value, 64 * w));
    }
  }
  return (q.negate(result) & value.negative) | (result & ~value.negative);
}

// The coefficients of X^p and X^(p + N/2) by one thread: grid [tile, batch, group of limbs]. Only multiples
// of the gap N / 2n have any.
__global__ void __launch_bounds__(threads)
    round_kernel(DeviceView out, const Complex* values, std::size_t values_stride, unsigned log_gap,
                 unsigned half, unsigned limbs, Scale scale, const unsigned long long* largest,
                 unsigned largest_stride, const __grid_constant__ LimbModuli moduli_of,
                 const Modulus* moduli) {
  begin_kernel();
  const unsigned p = blockIdx.x * threads + threadIdx.x;
  const int words = magnitude_bits(largest[blockIdx.y * largest_stride], scale) / 64 + 1;
  Complex value{0, 0};
  if (p % (1U << log_gap) == 0) value = values[blockIdx.y * values_stride + (p >> log_gap)];
  const ScaledInteger real = scaled_integer(value.x, scale);
  const ScaledInteger imaginary = scaled_integer(value.y, scale);
  const unsigned first = blockIdx.z * limbs_per_block;
  const unsigned end = first + limbs_per_block < limbs ? first + limbs_per_block : limbs;
  std::uint64_t* limb = out.limb(blockIdx.y, 0, first) + p;
  for (unsigned l = first; l < end; ++l, limb += out.limb_stride) {
    const Modulus q = moduli[moduli_of.ring_index[l]];
    limb[0] = residue(real, words, q);
    limb[half] = residue(imaginary, words, q);
  }
}

// --- Centring ---

// A word of a sum with its carry, as a signed number of 192 bits.
struct Sum {
  uint128 low = 0;
  std::int64_t high = 0;

  __device__ __forceinline__ void add(uint128 a) {
    low += a;
    high += static_cast<std::int64_t>(low < a);
  }
  __device__ __forceinline__ void subtract(uint128 a) {
    high -= static_cast<std::int64_t>(low < a);
    low -= a;
  }
  // The lowest word; the rest stays.
  __device__ __forceinline__ std::uint64_t take() {
    const auto word = static_cast<std::uint64_t>(low);
    low = low >> 64 | static_cast<uint128>(static_cast<std::uint64_t>(high)) << 64;
    high >>= 63;
    return word;
  }
};

// x = sum of y_i Q / q_i - v Q, from its words w = 0, 1, ... (each by word_sum(w, sum)), in (-Q/2, Q/2 + (2k
// + 2) 2^-64 Q]: to the double, centred. `fractions`: the sum of lower bounds of y_i / q_i, each less than 2
// below, times 2^64.
template <typename AddWord>
__device__ __forceinline__ double centered_quotient(uint128 fractions, const CenteringTables& c,
                                                    int divisor_exponent, double divisor,
                                                    const AddWord& add_word) {
  // The nearest integer; halves go down, so that x = Q/2 of an even Q stays positive.
  constexpr std::uint64_t almost_half = (std::uint64_t{1} << 63) - 1;
  const auto v = static_cast<std::uint64_t>((fractions + almost_half) >> 64);
  Sum sum;
  // The magnitude of x if x is not negative, if it is, and of x - Q if x > Q/2.
  LeadingWords plain, negated, complement;
  std::uint64_t carry = 1, half_borrow = 0, complement_borrow = 0;
  for (unsigned w = 0; w < c.word_count; ++w) {
    add_word(w, sum);
    const std::uint64_t product = c.words[w].product, half = c.words[w].half;
    sum.subtract(static_cast<uint128>(v) * product);
    const std::uint64_t word = sum.take();
    plain.push(word, static_cast<int>(w));
    const std::uint64_t opposite = ~word + carry;
    carry &= static_cast<std::uint64_t>(word == 0);
    negated.push(opposite, static_cast<int>(w));
    const uint128 left = static_cast<uint128>(product) - word - complement_borrow;
    complement_borrow = static_cast<std::uint64_t>(left >> 64) & 1;
    complement.push(static_cast<std::uint64_t>(left), static_cast<int>(w));
    const uint128 to_half = static_cast<uint128>(half) - word - half_borrow;
    half_borrow = static_cast<std::uint64_t>(to_half >> 64) & 1;
  }
  const std::uint64_t below_zero = 0 - (static_cast<std::uint64_t>(sum.low) >> 63);
  const std::uint64_t above_half = (0 - half_borrow) & ~below_zero;
  plain.replace(below_zero, negated);
  plain.replace(above_half, complement);
  return plain.divided(below_zero | above_half, -divisor_exponent, divisor);
}

// The place of this thread's coefficient: coefficient i of polynomial `batch`.
struct Coefficient {
  unsigned i, batch;
  bool exists;

  __device__ explicit Coefficient(unsigned log_n)
      : i(blockIdx.x * threads + threadIdx.x), batch(blockIdx.y), exists(i < 2U << log_n) {}
  // Real parts are the lower half of the coefficients.
  __device__ double& in(Complex* values, unsigned log_n) const {
    const std::size_t index = (std::size_t{batch} << log_n) + (i & ((1U << log_n) - 1));
    return reinterpret_cast<double*>(values)[2 * index + (i >> log_n)];
  }
};

__device__ __forceinline__ std::uint64_t scaled_residue(std::uint64_t x, const CenteringLimb& limb,
                                                        uint128& fractions) {
  const std::uint64_t y = arith::multiply(x, limb.inverse, limb.modulus.value());
  fractions += y * limb.modulus.ratio_high() + arith::multiply_high(y, limb.modulus.ratio_low());
  return y;
}

// grid [tile, batch]. `limbs`: limb_count rounded up, the limbs of a row of weights.
template <unsigned limbs>
__global__ void __launch_bounds__(threads, limbs <= 32 ? 4 : 2)
    center_kernel(Complex* values, ConstDeviceView in, unsigned log_n, unsigned log_gap, CenteringTables c,
                  int divisor_exponent, double divisor) {
  begin_kernel();
  const Coefficient coefficient(log_n);
  if (!coefficient.exists) return;
  const std::uint64_t* source = in.limb(coefficient.batch, 0, 0) + (coefficient.i << log_gap);
  uint128 fractions = 0;
  std::uint64_t y[limbs];
#pragma unroll
  for (unsigned i = 0; i < limbs; ++i) {
    // No branch, so that the loads overlap: padding reads limb 0 and multiplies it by 0.
    y[i] = scaled_residue(source[(i < c.limb_count ? i : 0) * in.limb_stride], c.limbs[i], fractions);
  }
  coefficient.in(values, log_n) =
      centered_quotient(fractions, c, divisor_exponent, divisor, [&](unsigned w, Sum& sum) {
        const std::uint64_t* weights = c.weights + w * limbs;
#pragma unroll
        for (unsigned first = 0; first < limbs; first += 8) {
          // Eight products of 61 and 64 bits fit 128 bits.
          uint128 part = 0;
#pragma unroll
          for (unsigned i = first; i < limbs && i < first + 8; ++i) {
            part += static_cast<uint128>(y[i]) * __ldg(weights + i);
          }
          sum.add(part);
        }
      });
}

// The same for any number of limbs: scaled residues go to scratch, [limb, coefficient of all polynomials].
__global__ void __launch_bounds__(threads)
    center_long_kernel(Complex* values, ConstDeviceView in, unsigned log_n, unsigned log_gap,
                       CenteringTables c, unsigned weights_row, int divisor_exponent, double divisor,
                       std::uint64_t* scratch, std::size_t scratch_stride) {
  begin_kernel();
  const Coefficient coefficient(log_n);
  if (!coefficient.exists) return;
  const std::uint64_t* source = in.limb(coefficient.batch, 0, 0) + (coefficient.i << log_gap);
  scratch += (std::size_t{coefficient.batch} << (log_n + 1)) + coefficient.i;
  uint128 fractions = 0;
  for (unsigned i = 0; i < c.limb_count; ++i) {
    scratch[i * scratch_stride] = scaled_residue(source[i * in.limb_stride], c.limbs[i], fractions);
  }
  coefficient.in(values, log_n) =
      centered_quotient(fractions, c, divisor_exponent, divisor, [&](unsigned w, Sum& sum) {
        const std::uint64_t* weights = c.weights + std::size_t{w} * weights_row;
        for (unsigned first = 0; first < c.limb_count; first += limb_group) {
          const unsigned end = first + limb_group < c.limb_count ? first + limb_group : c.limb_count;
          uint128 part = 0;
          for (unsigned i = first; i < end; ++i) {
            part += static_cast<uint128>(scratch[i * scratch_stride]) * __ldg(weights + i);
          }
          sum.add(part);
        }
      });
}

// --- Host ---

unsigned log2_exact(std::size_t n) { return static_cast<unsigned>(std::countr_zero(n)); }

template <typename T>
T* take(Workspace& workspace, std::size_t count) {
  return reinterpret_cast<T*>(workspace.take(count * sizeof(T)));
}

std::size_t scratch_words(std::size_t batch, std::size_t slots, std::size_t limbs) {
  return limbs > most_register_limbs ? limbs * 2 * slots * batch : 0;
}

// Calls body(first, count) for as many polynomials as a grid has room for.
template <typename Body>
void for_each_batch(std::size_t batch, const Body& body) {
  constexpr std::size_t most = 65535;
  for (std::size_t first = 0; first < batch; first += most) {
    body(first, static_cast<unsigned>(std::min(most, batch - first)));
  }
}

// How n > 2^log_whole values are shared by blocks.
struct Passes {
  unsigned log_rows;
  unsigned columns;  // of a block

  explicit Passes(unsigned log_n)
      : log_rows(log_n - log_row), columns(std::max(8U, (1U << log_whole) >> log_rows)) {}
  [[nodiscard]] dim3 rows_grid(unsigned batch) const { return {(1U << log_rows) / rows_per_block, batch}; }
  [[nodiscard]] dim3 columns_grid(unsigned batch) const { return {(1U << log_row) / columns, batch}; }
  [[nodiscard]] unsigned columns_threads() const { return (columns << log_rows) / values_per_thread; }
  [[nodiscard]] std::size_t columns_bytes() const {
    return (std::size_t{columns} << log_rows) * sizeof(Complex);
  }
  static constexpr unsigned rows_threads = (rows_per_block << log_row) / values_per_thread;
  static constexpr std::size_t rows_bytes = (rows_per_block << log_row) * sizeof(Complex);
};

unsigned whole_threads(unsigned log_n) { return std::max(32U, (1U << log_n) / values_per_thread); }

// Slots to n times the values, and the largest pattern of each batch.
void inverse(cudaStream_t stream, Complex* values, const SlotView& slots, const Complex* roots,
             unsigned long long* largest) {
  const unsigned log_n = log2_exact(slots.slots);
  const auto* const in = reinterpret_cast<const Complex*>(slots.data);
  for_each_batch(slots.batch, [&](std::size_t first, unsigned batch) {
    Complex* const to = values + (first << log_n);
    const Complex* const from = in + (first << log_n);
    if (log_n <= log_whole) {
      launch("embed", stream, inverse_whole_kernel, {1, batch}, {whole_threads(log_n)},
             sizeof(Complex) << log_n, to, from, log_n, roots, largest + first);
      return;
    }
    const Passes passes(log_n);
    launch("embed", stream, inverse_rows_kernel, passes.rows_grid(batch), {Passes::rows_threads},
           Passes::rows_bytes, to, from, passes.log_rows, roots, largest + first);
    launch("embed", stream, columns_kernel<false>, passes.columns_grid(batch), {passes.columns_threads()},
           passes.columns_bytes(), to, passes.log_rows, passes.columns, roots, largest + first);
  });
}

void forward(cudaStream_t stream, const SlotView& slots, Complex* values, const Complex* roots) {
  const unsigned log_n = log2_exact(slots.slots);
  auto* const out = reinterpret_cast<Complex*>(slots.data);
  for_each_batch(slots.batch, [&](std::size_t first, unsigned batch) {
    Complex* const from = values + (first << log_n);
    Complex* const to = out + (first << log_n);
    if (log_n <= log_whole) {
      launch("unembed", stream, forward_whole_kernel, {1, batch}, {whole_threads(log_n)},
             sizeof(Complex) << log_n, to, from, log_n, roots);
      return;
    }
    const Passes passes(log_n);
    launch("unembed", stream, columns_kernel<true>, passes.columns_grid(batch), {passes.columns_threads()},
           passes.columns_bytes(), from, passes.log_rows, passes.columns, roots, nullptr);
    launch("unembed", stream, forward_rows_kernel, passes.rows_grid(batch), {Passes::rows_threads},
           Passes::rows_bytes, to, from, passes.log_rows, roots);
  });
}

// Calls run(std::integral_constant<unsigned, count>) for the smallest count of register_limbs that holds the
// limbs.
template <std::size_t index = 0, typename Run>
void with_register_limbs(std::size_t limbs, const Run& run) {
  if constexpr (index < std::size(register_limbs)) {
    if (limbs <= register_limbs[index]) return run(std::integral_constant<unsigned, register_limbs[index]>{});
    with_register_limbs<index + 1>(limbs, run);
  }
}

std::vector<Complex> roots_of(std::size_t degree) {
  check_embedding_degree(degree);
  std::vector<Complex> result;
  for (const std::complex<double>& root : embedding_roots(degree))
    result.push_back({root.real(), root.imag()});
  return result;
}

}  // namespace

Embedding::Embedding(std::size_t degree, std::shared_ptr<runtime::Memory> memory,
                     std::shared_ptr<const runtime::cuda::Streams> streams)
    : degree_(degree),
      memory_(std::move(memory)),
      streams_(std::move(streams)),
      roots_(memory_, *streams_, roots_of(degree)) {}

Embedding::~Embedding() = default;

void Embedding::embed(const Launcher& launcher, const PolyView& out, const SlotView& slots, double scale,
                      const RnsBase& base, Workspace& workspace) const {
  check_embed(degree_, out.shape, slots, scale, base);
  const std::size_t n = slots.slots;
  const unsigned log_gap = log2_exact(degree_ / (2 * n));
  const Workspace::Frame frame(workspace);
  auto* const values = take<Complex>(workspace, n * slots.batch);
  auto* const largest = take<unsigned long long>(workspace, slots.batch);
  inverse(launcher.stream, values, slots, roots_.data(), largest);

  const Scale scale_over_n = divided_scale(scale, n);
  const bool broadcast = slots.batch == 1;
  for_each_launch(out.shape, [&](const Part& part) {
    const auto limbs = static_cast<unsigned>(part.limbs);
    launch("embed", launcher.stream, round_kernel,
           {launcher.degree() / 2 / threads, static_cast<unsigned>(part.batches),
            (limbs + limbs_per_block - 1) / limbs_per_block},
           {threads}, 0, device_view(part.of(out)), values + (broadcast ? 0 : part.first_batch * n),
           broadcast ? 0 : n, log_gap, launcher.degree() / 2, limbs, scale_over_n,
           largest + (broadcast ? 0 : part.first_batch), broadcast ? 0U : 1U,
           limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

void Embedding::unembed(const Launcher& launcher, const SlotView& slots, const ConstPolyView& in,
                        double scale, const RnsBase& base, Workspace& workspace) const {
  check_unembed(degree_, slots, in.shape, scale, base);
  const std::size_t n = slots.slots;
  const std::size_t limbs = base.size();
  const unsigned log_n = log2_exact(n), log_gap = log2_exact(degree_ / (2 * n));
  const CenteringTables tables = centering(base).tables();
  int exponent = 0;
  const double divisor = 2 * std::frexp(scale, &exponent);
  --exponent;
  const Workspace::Frame frame(workspace);
  auto* const values = take<Complex>(workspace, n * slots.batch);
  const std::size_t scratch_size = scratch_words(slots.batch, n, limbs);
  auto* const scratch = take<std::uint64_t>(workspace, scratch_size);

  for_each_batch(slots.batch, [&](std::size_t first, unsigned batch) {
    const ConstDeviceView source = device_view(in.shape.batch == 1 ? in : in.batches(first, batch));
    const dim3 grid((static_cast<unsigned>(2 * n) + threads - 1) / threads, batch);
    Complex* const to = values + first * n;
    if (limbs > most_register_limbs) {
      launch("unembed", launcher.stream, center_long_kernel, grid, {threads}, 0, to, source, log_n, log_gap,
             tables, static_cast<unsigned>(padded_limbs(limbs)), exponent, divisor, scratch + first * 2 * n,
             scratch_size / limbs);
      return;
    }
    with_register_limbs(limbs, [&](auto count) {
      launch("unembed", launcher.stream, center_kernel<decltype(count)::value>, grid, {threads}, 0, to,
             source, log_n, log_gap, tables, exponent, divisor);
    });
  });
  forward(launcher.stream, slots, values, roots_.data());
}

std::size_t Embedding::workspace(std::size_t batch, std::size_t slots, const RnsBase& base) const {
  const std::size_t values = Workspace::aligned(batch * slots * sizeof(Complex));
  return values +
         std::max(Workspace::aligned(batch * sizeof(unsigned long long)),
                  Workspace::aligned(scratch_words(batch, slots, base.size()) * sizeof(std::uint64_t)));
}

}  // namespace hemera::poly::cuda
