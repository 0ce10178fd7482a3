// Coefficients from residues: a product of byte matrices on the tensor cores, then a thread a coefficient.
//
// The sum S of scaled residues times Q / q, an integer of as many words as it takes, is the product of the
// residues' bytes and those of the weights, whose sums are put together exactly. What is left is S - v Q, its
// sign, and its double.
#include <algorithm>
#include <bit>
#include <iterator>

#include "hemera/arith/big_integer.hpp"
#include "poly/cuda/embedding/centering.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/tensor_core.cuh"
#include "poly/embedding_arithmetic.hpp"

namespace hemera::poly::cuda {
namespace {

using arith::BigInteger;
using arith::Modulus;
using arith::uint128;

/// One limb: y = x (Q / q)^-1 mod q. Limbs that fill up the last step have factors 0.
struct CenteringLimb {
  arith::ShoupFactor inverse;
  std::uint64_t modulus;
};

/// A word of Q and of floor(Q / 2).
struct alignas(16) CenteringWord {
  std::uint64_t product;
  std::uint64_t half;
};

/// The part of it that kernels get.
struct CenteringTables {
  const CenteringLimb* limbs;  // [limb]
  const uint4* fragments;      // bytes of Q / q, [chunk, step, 2, lane]: of two column tiles each
  const CenteringWord* words;  // [word]; the words that fill up are 0
  unsigned limb_count;
  unsigned steps;     // of four limbs
  unsigned range;     // words of a lane of a quad, which is how many chunks there are
  unsigned top_word;  // of Q, the highest one
  // S / Q is at least floor(S 2^-64 top_word 2^(128 - top_shift)) reciprocal 2^-(64 + reciprocal_shift).
  unsigned top_shift;
  unsigned reciprocal_shift;
  std::uint64_t reciprocal;
};

// Scaled residues of up to this many steps of four limbs stay in registers; those of more are made for each
// chunk of words again.
constexpr unsigned register_steps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16};
constexpr unsigned quad = 4;

unsigned padded_steps(std::size_t limbs) {
  const auto steps = static_cast<unsigned>((limbs + quad - 1) / quad);
  for (const unsigned count : register_steps) {
    if (steps <= count) return count;
  }
  return steps;
}

std::uint64_t word_of(const BigInteger& value, std::size_t index) {
  return static_cast<std::uint64_t>((value >> static_cast<unsigned>(64 * index)) & ~std::uint64_t{0});
}

std::vector<std::uint64_t> words_of(const BigInteger& value, std::size_t count) {
  std::vector<std::uint64_t> words;
  for (std::size_t w = 0; w < count; ++w) words.push_back(word_of(value, w));
  return words;
}

}  // namespace

struct Centering::Base {
  DeviceArray<CenteringLimb> limbs;
  DeviceArray<uint4> fragments;
  DeviceArray<CenteringWord> words;
  CenteringTables constants{};  // the arrays apart

  /// The tables for one use: asking for an array orders the calling thread's stream behind its upload.
  [[nodiscard]] CenteringTables tables() const {
    CenteringTables result = constants;
    result.limbs = limbs.data();
    result.fragments = fragments.data();
    result.words = words.data();
    return result;
  }
};

const Centering::Base& Centering::of(const RnsBase& base) const {
  const std::vector<std::uint32_t> key(base.indices().begin(), base.indices().end());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Base>& entry = bases_[key];
  if (entry) return *entry;

  const BigInteger product = arith::product(base.values());
  const unsigned bits = static_cast<unsigned>(msb(product)) + 1;
  const unsigned word_count = (bits - 1) / 64 + 1, range = (word_count + quad - 1) / quad;
  const unsigned steps = padded_steps(base.size());
  std::vector<CenteringLimb> limbs;
  std::vector<std::vector<std::uint64_t>> weights;  // [limb, word]
  for (std::size_t i = 0; i < base.size(); ++i) {
    const Modulus& q = base.modulus(i);
    const BigInteger weight = product / q.value();
    const std::uint64_t inverse =
        base.size() == 1 ? 1 : arith::inverse(arith::modulo(weight, q.value()), q.value());
    limbs.push_back({arith::ShoupFactor(inverse, q), q.value()});
    weights.push_back(words_of(weight, quad * range));
  }
  limbs.resize(quad * steps, {arith::ShoupFactor(), base.modulus(0).value()});

  // Lane 4 g + t has the bytes of limb t of a step that column g of a tile takes. Columns 2 u and 2 u + 1 of
  // tile n are bytes 2 n and 2 n + 1 of the word that lane u of a quad has in this chunk. Byte a of a residue
  // counts 2^(8 a).
  const auto byte_of = [&](std::size_t limb, unsigned byte, unsigned a) -> std::uint32_t {
    if (limb >= base.size() || byte < a) return 0;
    return weights[limb][(byte - a) / 8] >> (8 * ((byte - a) % 8)) & 0xffU;
  };
  std::vector<uint4> fragments;
  for (unsigned chunk = 0; chunk < range; ++chunk) {
    for (unsigned step = 0; step < steps; ++step) {
      for (unsigned pair = 0; pair < 2; ++pair) {
        for (unsigned lane = 0; lane < 32; ++lane) {
          const unsigned g = lane / quad, word = g / 2 * range + chunk;
          std::uint32_t registers[4] = {};
          for (unsigned r = 0; r < 4; ++r) {
            const unsigned tile = 2 * pair + r / 2;
            for (unsigned k = 0; k < 4; ++k) {
              registers[r] |= byte_of(quad * step + lane % quad, 8 * word + 2 * tile + g % 2, 4 * (r % 2) + k)
                              << (8 * k);
            }
          }
          fragments.push_back({registers[0], registers[1], registers[2], registers[3]});
        }
      }
    }
  }
  const std::vector<std::uint64_t> products = words_of(product, quad * range);
  const std::vector<std::uint64_t> halves = words_of(product / 2, quad * range);
  std::vector<CenteringWord> words;
  for (std::size_t w = 0; w < products.size(); ++w) words.push_back({products[w], halves[w]});

  auto made = std::make_unique<Base>();
  made->limbs = {memory_, *streams_, limbs};
  made->fragments = {memory_, *streams_, fragments};
  made->words = {memory_, *streams_, words};
  CenteringTables& tables = made->constants;
  tables.limb_count = static_cast<unsigned>(base.size());
  tables.steps = steps;
  tables.range = range;
  tables.top_word = word_count - 1;
  // The sum is below 2^(bits + limb_bits): its part from 2^lowest on is a word.
  const auto limb_bits = static_cast<unsigned>(std::bit_width(base.size()));
  const unsigned lowest = bits + limb_bits > 64 ? bits + limb_bits - 64 : 0;
  tables.top_shift = lowest + 128 - 64 * word_count;
  tables.reciprocal_shift = bits - 1 - lowest;
  const BigInteger reciprocal = (BigInteger(1) << (64 + bits - 1)) / product;
  tables.reciprocal = reciprocal >> 64 != 0 ? ~std::uint64_t{0} : word_of(reciprocal, 0);
  entry = std::move(made);
  return *entry;
}

namespace {

constexpr unsigned lanes = 32;
constexpr unsigned most_warps = 4;
// Words stand in shared memory as [word, coefficient of the warp]: rows are as far apart as a quad's lanes
// need to meet in no bank, where their number a lane is odd.
constexpr unsigned word_row = lanes + 4;
constexpr std::size_t most_shared_bytes = 96 * 1024;

// Clears for the transform, which comes next.
__device__ __forceinline__ void clear_largest(unsigned long long* largest, unsigned batch, unsigned i) {
  if (largest != nullptr && i == 0) largest[batch] = 0;
}

// The sums of residues times Q / q: words [4 range] of each coefficient, and what each range of a quad's lane
// carries to the next one. Sums of up to 2^16 products of bytes.
template <unsigned steps>
__device__ __forceinline__ void sum_words(std::uint64_t* words, const std::uint64_t* source,
                                          std::size_t limb_stride, unsigned first, unsigned count,
                                          unsigned log_gap, const CenteringTables& c) {
  // Rows of 16 coefficients at once.
  constexpr unsigned tiles = steps >= 1 && steps <= 9 ? 2 : 1;
  constexpr unsigned kept = steps == 0 ? 1 : steps;
  const unsigned lane = threadIdx.x % lanes, g = lane / quad, t = lane % quad;
  const auto residues = [&](unsigned step, unsigned row, std::uint32_t(&a)[4]) {
    const CenteringLimb limb = c.limbs[quad * step + t];
    // No branch, so that loads overlap: what fills up reads limb 0 and multiplies it by 0.
    const std::uint64_t* in = source + (quad * step + t < c.limb_count ? quad * step + t : 0) * limb_stride;
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      const unsigned i = first + row + 8 * h + g;
      const std::uint64_t y =
          arith::multiply(in[std::size_t{i < count ? i : 0} << log_gap], limb.inverse, limb.modulus);
      a[h] = static_cast<std::uint32_t>(y);
      a[2 + h] = static_cast<std::uint32_t>(y >> 32);
    }
  };
#pragma unroll 1
  for (unsigned row = 0; row < lanes; row += 16 * tiles) {
    std::uint32_t a[kept][tiles][4];
    if constexpr (steps != 0) {
#pragma unroll
      for (unsigned step = 0; step < steps; ++step) {
#pragma unroll
        for (unsigned tile = 0; tile < tiles; ++tile) residues(step, row + 16 * tile, a[step][tile]);
      }
    }
    std::uint64_t carries[tiles][2] = {};
    std::uint64_t* out = words + std::size_t{t} * c.range * word_row + row + g;
    const uint4* fragments = c.fragments + lane;
#pragma unroll 1
    for (unsigned chunk = 0; chunk < c.range; ++chunk) {
      int sums[tiles][4][4] = {};
      const auto add_step = [&](unsigned step, const std::uint32_t(&bytes)[tiles][4]) {
        const uint4 low = __ldg(fragments + (2 * step) * lanes),
                    high = __ldg(fragments + (2 * step + 1) * lanes);
#pragma unroll
        for (unsigned tile = 0; tile < tiles; ++tile) {
          const std::uint32_t(&b)[4] = bytes[tile];
          multiply_bytes(sums[tile][0], b[0], b[1], b[2], b[3], low.x, low.y);
          multiply_bytes(sums[tile][1], b[0], b[1], b[2], b[3], low.z, low.w);
          multiply_bytes(sums[tile][2], b[0], b[1], b[2], b[3], high.x, high.y);
          multiply_bytes(sums[tile][3], b[0], b[1], b[2], b[3], high.z, high.w);
        }
      };
      if constexpr (steps == 0) {
        for (unsigned step = 0; step < c.steps; ++step) {
          residues(step, row, a[0][0]);
          add_step(step, a[0]);
        }
      } else {
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) add_step(step, a[step]);
      }
      fragments += std::size_t{2} * c.steps * lanes;
#pragma unroll
      for (unsigned tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (unsigned h = 0; h < 2; ++h) {
          const auto half = [&](unsigned n) {
            const auto two = [&](unsigned m) {
              return static_cast<std::uint32_t>(sums[tile][m][2 * h]) +
                     (std::uint64_t{static_cast<std::uint32_t>(sums[tile][m][2 * h + 1])} << 8);
            };
            return two(n) + (two(n + 1) << 16);
          };
          const uint128 sum = (static_cast<uint128>(half(2)) << 32) + half(0) + carries[tile][h];
          out[16 * tile + 8 * h] = static_cast<std::uint64_t>(sum);
          carries[tile][h] = static_cast<std::uint64_t>(sum >> 64);
        }
      }
      out += word_row;
    }
    std::uint64_t* carried = words + std::size_t{quad * c.range + t} * word_row + row + g;
#pragma unroll
    for (unsigned tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (unsigned h = 0; h < 2; ++h) carried[16 * tile + 8 * h] = carries[tile][h];
    }
  }
}

// a - b and a borrow, which is 0 or all ones before and after.
__device__ __forceinline__ std::uint64_t subtract(std::uint64_t a, std::uint64_t b, std::uint32_t& borrow) {
#if defined(__CUDA_ARCH__)
  std::uint32_t low, high;
  asm("{\n\t"
      ".reg .u32 t;\n\t"
      "sub.cc.u32 t, 0, %2;\n\t"
      "subc.cc.u32 %0, %3, %5;\n\t"
      "subc.cc.u32 %1, %4, %6;\n\t"
      "subc.u32 %2, 0, 0;\n\t"
      "}"
      : "=&r"(low), "=&r"(high), "+r"(borrow)
      : "r"(static_cast<std::uint32_t>(a)), "r"(static_cast<std::uint32_t>(a >> 32)),
        "r"(static_cast<std::uint32_t>(b)), "r"(static_cast<std::uint32_t>(b >> 32)));
  return static_cast<std::uint64_t>(high) << 32 | low;
#else
  const uint128 difference = static_cast<uint128>(a) - b - (borrow & 1);
  borrow = static_cast<std::uint32_t>(difference >> 64);
  return static_cast<std::uint64_t>(difference);
#endif
}

// a + b and a carry, which is 0 or 1 before and after.
__device__ __forceinline__ std::uint64_t add(std::uint64_t a, std::uint64_t b, std::uint32_t& carry) {
#if defined(__CUDA_ARCH__)
  std::uint32_t low, high;
  asm("{\n\t"
      ".reg .u32 t;\n\t"
      "add.cc.u32 t, %2, 0xffffffff;\n\t"
      "addc.cc.u32 %0, %3, %5;\n\t"
      "addc.cc.u32 %1, %4, %6;\n\t"
      "addc.u32 %2, 0, 0;\n\t"
      "}"
      : "=&r"(low), "=&r"(high), "+r"(carry)
      : "r"(static_cast<std::uint32_t>(a)), "r"(static_cast<std::uint32_t>(a >> 32)),
        "r"(static_cast<std::uint32_t>(b)), "r"(static_cast<std::uint32_t>(b >> 32)));
  return static_cast<std::uint64_t>(high) << 32 | low;
#else
  const uint128 sum = static_cast<uint128>(a) + b + carry;
  carry = static_cast<std::uint32_t>(sum >> 64);
  return static_cast<std::uint64_t>(sum);
#endif
}

// x = S - v Q in [-Q/2, Q/2 + 2^-50 Q], of the sums in this lane's column of `words`: to the double, centred.
__device__ __forceinline__ double centered_quotient(std::uint64_t* words, const CenteringTables& c,
                                                    int divisor_exponent, double divisor) {
  const unsigned count = quad * c.range;
  // Word w of S, but for what the words below carry to it.
  const auto word_at = [&](unsigned w) {
    uint128 word = w < count ? words[w * word_row] : 0;
    if (w != 0 && w % c.range == 0) word += words[(count + w / c.range - 1) * word_row];
    return word;
  };
  const uint128 lower = c.top_word == 0 ? 0 : word_at(c.top_word - 1);
  const uint128 upper = word_at(c.top_word) + static_cast<std::uint64_t>(lower >> 64);
  const uint128 over = word_at(c.top_word + 1) + static_cast<std::uint64_t>(upper >> 64);
  const auto joined = [](uint128 high, uint128 low) { return high << 64 | static_cast<std::uint64_t>(low); };
  const auto top = static_cast<std::uint64_t>(c.top_shift < 64 ? joined(upper, lower) >> c.top_shift
                                                               : joined(over, upper) >> (c.top_shift - 64));
  // A lower bound of S / Q in units of 2^-64, to the nearest integer; halves go down, so that x = Q/2 of an
  // even Q stays positive.
  constexpr std::uint64_t almost_half = (std::uint64_t{1} << 63) - 1;
  const uint128 fractions = (static_cast<uint128>(top) * c.reciprocal) >> c.reciprocal_shift;
  const auto v = static_cast<std::uint32_t>((fractions + almost_half) >> 64);

  // The number that is still to be taken from the words above: `owed`, a small number, and `borrow`.
  std::int32_t owed = 0;
  std::uint32_t borrow = 0, half_borrow = 0;
  std::uint64_t* word = words;
  const CenteringWord* constants = c.words;
  for (unsigned lane = 0; lane < quad; ++lane) {
    for (unsigned i = 0; i < c.range; ++i, word += word_row, ++constants) {
      const ulonglong2 of_q = __ldg(reinterpret_cast<const ulonglong2*>(constants));
      const auto low =
          static_cast<std::int64_t>(std::uint64_t{v} * static_cast<std::uint32_t>(of_q.x)) + owed;
      const auto high =
          static_cast<std::int64_t>(std::uint64_t{v} * static_cast<std::uint32_t>(of_q.x >> 32)) +
          (low >> 32);
      owed = static_cast<std::int32_t>(high >> 32);
      const std::uint64_t x =
          subtract(*word, static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low), borrow);
      *word = x;
      subtract(of_q.y, x, half_borrow);
    }
    owed -= static_cast<std::int32_t>(words[(count + lane) * word_row]);
  }
  // The magnitude is x, -x, or Q - x if x > Q/2: the complement of x and one, and Q.
  const std::uint64_t below_zero =
      0 - static_cast<std::uint64_t>(owed + static_cast<std::int32_t>(borrow & 1) > 0);
  const std::uint64_t above_half = (0 - static_cast<std::uint64_t>(half_borrow & 1)) & ~below_zero;
  const std::uint64_t negative = below_zero | above_half;
  LeadingWords magnitude;
  auto carry = static_cast<std::uint32_t>(negative & 1);
  for (unsigned w = 0; w < count; ++w) {
    magnitude.push(add(words[w * word_row] ^ negative, __ldg(&c.words[w].product) & above_half, carry),
                   static_cast<int>(w));
  }
  return magnitude.divided(negative, -divisor_exponent, divisor);
}

// A warp takes 32 coefficients of polynomial blockIdx.y: grid [tile, batch].
template <unsigned steps>
__global__ void __launch_bounds__(most_warps* lanes, 4)
    center_kernel(Complex* values, ConstDeviceView in, unsigned log_n, unsigned log_gap, CenteringTables c,
                  int divisor_exponent, double divisor, unsigned long long* largest) {
  begin_kernel();
  const unsigned count = 2U << log_n, i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  clear_largest(largest, blockIdx.y, i);
  auto* const words =
      dynamic_shared<std::uint64_t>() + std::size_t{warp} * (quad * c.range + quad) * word_row;
  sum_words<steps>(words, in.limb(blockIdx.y, 0, 0), in.limb_stride, i - lane, count, log_gap, c);
  __syncwarp();
  const double value = centered_quotient(words + lane, c, divisor_exponent, divisor);
  if (i >= count) return;
  // Real parts are the lower half of the coefficients.
  Complex* const to = values + (std::size_t{blockIdx.y} << log_n) + (i & ((1U << log_n) - 1));
  reinterpret_cast<double*>(to)[i >> log_n] = value;
}

// Calls run(std::integral_constant<unsigned, steps>).
template <std::size_t index = 0, typename Run>
void with_register_steps(unsigned steps, const Run& run) {
  if constexpr (index < std::size(register_steps)) {
    if (steps == register_steps[index]) {
      return run(std::integral_constant<unsigned, register_steps[index]>{});
    }
    with_register_steps<index + 1>(steps, run);
  } else {
    run(std::integral_constant<unsigned, 0>{});
  }
}

}  // namespace

Centering::Centering(std::shared_ptr<runtime::Memory> memory,
                     std::shared_ptr<const runtime::cuda::Streams> streams)
    : memory_(std::move(memory)), streams_(std::move(streams)) {}

Centering::~Centering() = default;

void Centering::center(const Launcher& launcher, Complex* values, const ConstPolyView& in, std::size_t batch,
                       unsigned log_n, unsigned log_gap, const RnsBase& base, int divisor_exponent,
                       double divisor, unsigned long long* largest) const {
  const CenteringTables tables = of(base).tables();
  const std::size_t coefficients = std::size_t{2} << log_n;
  const std::size_t warp_bytes = std::size_t{quad * tables.range + quad} * word_row * sizeof(std::uint64_t);
  const auto warps =
      static_cast<unsigned>(std::clamp<std::size_t>(most_shared_bytes / warp_bytes, 1, most_warps));
  const unsigned threads = warps * lanes;
  for_each_batch(batch, [&](std::size_t first, unsigned count) {
    const ConstDeviceView source = device_view(in.shape.batch == 1 ? in : in.batches(first, count));
    const dim3 grid((static_cast<unsigned>(coefficients) + threads - 1) / threads, count);
    with_register_steps(tables.steps, [&](auto steps) {
      launch("unembed", launcher.stream, center_kernel<decltype(steps)::value>, grid, {threads},
             warps * warp_bytes, values + (first << log_n), source, log_n, log_gap, tables, divisor_exponent,
             divisor, largest == nullptr ? nullptr : largest + first);
    });
  });
}

}  // namespace hemera::poly::cuda
