// One thread a coefficient, with integers of as many words as it takes.
#include "hemera/arith/big_integer.hpp"
#include "poly/cuda/embedding/centering.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/embedding_arithmetic.hpp"

namespace hemera::poly::cuda {
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

struct Centering::Base {
  DeviceArray<CenteringLimb> limbs;
  DeviceArray<std::uint64_t> weights;
  DeviceArray<CenteringWord> words;
  unsigned limb_count = 0;
  unsigned word_count = 0;

  [[nodiscard]] CenteringTables tables() const {
    return {limbs.data(), weights.data(), words.data(), limb_count, word_count};
  }
};

const Centering::Base& Centering::of(const RnsBase& base) const {
  const std::vector<std::uint32_t> key(base.indices().begin(), base.indices().end());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Base>& entry = bases_[key];
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

  auto made = std::make_unique<Base>();
  made->limb_count = static_cast<unsigned>(base.size());
  made->word_count = static_cast<unsigned>(word_count);
  made->limbs = {memory_, *streams_, limbs};
  made->weights = {memory_, *streams_, weights};
  made->words = {memory_, *streams_, words};
  entry = std::move(made);
  return *entry;
}

namespace {

constexpr unsigned threads = 128;

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

// For the transform, which comes next.
__device__ __forceinline__ void clear_largest(unsigned long long* largest, const Coefficient& coefficient) {
  if (largest != nullptr && coefficient.i == 0) largest[coefficient.batch] = 0;
}

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
                  int divisor_exponent, double divisor, unsigned long long* largest) {
  begin_kernel();
  const Coefficient coefficient(log_n);
  clear_largest(largest, coefficient);
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
                       unsigned long long* largest, std::uint64_t* scratch, std::size_t scratch_stride) {
  begin_kernel();
  const Coefficient coefficient(log_n);
  clear_largest(largest, coefficient);
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

// Calls run(std::integral_constant<unsigned, count>) for the smallest count of register_limbs that holds the
// limbs.
template <std::size_t index = 0, typename Run>
void with_register_limbs(std::size_t limbs, const Run& run) {
  if constexpr (index < std::size(register_limbs)) {
    if (limbs <= register_limbs[index]) return run(std::integral_constant<unsigned, register_limbs[index]>{});
    with_register_limbs<index + 1>(limbs, run);
  }
}

std::size_t scratch_words(std::size_t batch, std::size_t slots, std::size_t limbs) {
  return limbs > most_register_limbs ? limbs * 2 * slots * batch : 0;
}

}  // namespace

Centering::Centering(std::shared_ptr<runtime::Memory> memory,
                     std::shared_ptr<const runtime::cuda::Streams> streams)
    : memory_(std::move(memory)), streams_(std::move(streams)) {}

Centering::~Centering() = default;

void Centering::center(const Launcher& launcher, Complex* values, const ConstPolyView& in, std::size_t batch,
                       unsigned log_n, unsigned log_gap, const RnsBase& base, int divisor_exponent,
                       double divisor, unsigned long long* largest, Workspace& workspace) const {
  const std::size_t limbs = base.size(), coefficients = std::size_t{2} << log_n;
  const Workspace::Frame frame(workspace);
  auto* const scratch = reinterpret_cast<std::uint64_t*>(
      workspace.take(scratch_words(batch, coefficients / 2, limbs) * sizeof(std::uint64_t)));
  if (workspace.measures()) return;
  const CenteringTables tables = of(base).tables();
  for_each_batch(batch, [&](std::size_t first, unsigned count) {
    const ConstDeviceView source = device_view(in.shape.batch == 1 ? in : in.batches(first, count));
    const dim3 grid((static_cast<unsigned>(coefficients) + threads - 1) / threads, count);
    Complex* const to = values + (first << log_n);
    unsigned long long* const own = largest == nullptr ? nullptr : largest + first;
    if (limbs > most_register_limbs) {
      launch("unembed", launcher.stream, center_long_kernel, grid, {threads}, 0, to, source, log_n, log_gap,
             tables, static_cast<unsigned>(padded_limbs(limbs)), divisor_exponent, divisor, own,
             scratch + first * coefficients, batch * coefficients);
      return;
    }
    with_register_limbs(limbs, [&](auto registers) {
      launch("unembed", launcher.stream, center_kernel<decltype(registers)::value>, grid, {threads}, 0, to,
             source, log_n, log_gap, tables, divisor_exponent, divisor, own);
    });
  });
}

}  // namespace hemera::poly::cuda
