// A product of matrices of residues for each entry: a warp has 32 entries, and sums of up to 4 rows and 4
// columns in each thread, which reads each factor once for them. Where there are few rows, warps of a block
// share the terms.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/pairs.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned warp = 32, warps = 8;
constexpr unsigned most_columns = 4;
constexpr unsigned at_once = 4;  // terms
static_assert(min_degree % warp == 0);

// Rows of a thread, whose sums are in registers.
constexpr unsigned rows_of_thread(unsigned columns) { return columns <= 2 ? 4 : 2; }

// A sum of products of residues below 2^61.
struct WideSum {
  using Factor = std::uint64_t;
  static constexpr unsigned most_terms = products_per_sum;
  uint128 sum = 0;

  static __device__ __forceinline__ Factor factor(std::uint64_t a) { return a; }
  template <unsigned terms>
  __device__ __forceinline__ void add_products(const Factor (&a)[terms], const Factor (&b)[terms]) {
#pragma unroll
    for (unsigned j = 0; j < terms; ++j) sum += static_cast<uint128>(a[j]) * b[j];
  }
  __device__ __forceinline__ std::uint64_t reduced(const Modulus& q) const { return q.reduce(sum); }
  __device__ __forceinline__ void fold(const Modulus& q) { sum = reduced(q); }
};

__device__ __forceinline__ void add_wide(std::uint64_t& sum, std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(sum) : "r"(a), "r"(b));
#else
  sum += static_cast<std::uint64_t>(a) * b;
#endif
}

// A sum of products of residues below 2^50, by halves of 25 bits: four multiplications of 32 bits without a
// carry, where products of 64 bits take some twenty instructions.
struct HalvesSum {
  static constexpr unsigned bits = 25;
  struct Factor {
    std::uint32_t low, high;
  };
  static constexpr unsigned most_terms = 4096;  // the sum in the middle takes two products of each
  std::uint64_t low = 0, middle = 0, high = 0;

  static __device__ __forceinline__ Factor factor(std::uint64_t a) {
    return {static_cast<std::uint32_t>(a) & ((1U << bits) - 1), static_cast<std::uint32_t>(a >> bits)};
  }
  // Products of several terms are added to each other before they are added to the sum, in which no compiler
  // keeps them where a multiplication could add to them.
  template <unsigned terms>
  __device__ __forceinline__ void add_products(const Factor (&a)[terms], const Factor (&b)[terms]) {
    std::uint64_t l = 0, m = 0, h = 0;
#pragma unroll
    for (unsigned j = 0; j < terms; ++j) {
      add_wide(l, a[j].low, b[j].low);
      add_wide(m, a[j].low, b[j].high);
      add_wide(m, a[j].high, b[j].low);
      add_wide(h, a[j].high, b[j].high);
    }
    low += l;
    middle += m;
    high += h;
  }
  __device__ __forceinline__ std::uint64_t reduced(const Modulus& q) const {
    return q.reduce(low + (static_cast<uint128>(middle) << bits) + (static_cast<uint128>(high) << 2 * bits));
  }
  __device__ __forceinline__ void fold(const Modulus& q) { *this = HalvesSum{.low = reduced(q)}; }
};

// How a block's warps share rows and terms.
struct Shares {
  unsigned rows, terms;  // both powers of two
};

// Grid [rows of a block, 32 entries, limb]: blocks that read the same of b are neighbours. `log_run`: a is
// stored by one of each 2^log_run entries.
template <class Sum, unsigned columns, bool stored>
__global__ void __launch_bounds__(warp* warps)
    elements_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned rows, unsigned terms,
                    Shares shares, unsigned log_run, const __grid_constant__ LimbModuli limbs,
                    const Modulus* moduli) {
  constexpr unsigned own_rows = rows_of_thread(columns), count = own_rows * columns;
  const unsigned lane = threadIdx.x % warp, group = threadIdx.x / warp;
  const unsigned own_share = group / shares.rows, limb = blockIdx.z;
  const unsigned first = (blockIdx.x * shares.rows + group % shares.rows) * own_rows;
  const unsigned entry = blockIdx.y * warp + lane;
  const unsigned place = stored ? transposed(entry) >> log_run : entry;
  const Modulus q = moduli[limbs.ring_index[limb]];
  begin_kernel();
  // Rows beyond the last are that one again, so that no load waits for a condition; they are not written.
  const std::uint64_t* left[own_rows];
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
    left[r] = a.limb(min(first + r, rows - 1), own_share, limb) + place;
  }
  const std::uint64_t* right = b.limb(own_share, 0, limb) + entry;
  const std::uint64_t left_step = shares.terms * a.component_stride,
                      right_step = shares.terms * b.batch_stride;
  Sum sums[own_rows][columns];
  unsigned j = own_share;
  for (;;) {
    // One term less than a sum holds, for what is folded.
    const unsigned stop = min(terms, j + (Sum::most_terms - 1) * shares.terms);
    const auto take = [&]<unsigned count>(std::integral_constant<unsigned, count>) {
      typename Sum::Factor factors[columns][count];
#pragma unroll
      for (unsigned i = 0; i < count; ++i) {
#pragma unroll
        for (unsigned c = 0; c < columns; ++c) {
          factors[c][i] = Sum::factor(right[i * right_step + c * b.component_stride]);
        }
      }
      right += count * right_step;
#pragma unroll
      for (unsigned r = 0; r < own_rows; ++r) {
        typename Sum::Factor own[count];
#pragma unroll
        for (unsigned i = 0; i < count; ++i) own[i] = Sum::factor(left[r][i * left_step]);
        left[r] += count * left_step;
#pragma unroll
        for (unsigned c = 0; c < columns; ++c) sums[r][c].add_products(own, factors[c]);
      }
      j += count * shares.terms;
    };
    while (j + (at_once - 1) * shares.terms < stop) take(std::integral_constant<unsigned, at_once>{});
    while (j < stop) take(std::integral_constant<unsigned, 1>{});
    if (j >= terms) break;
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) sums[r][c].fold(q);
    }
  }
  std::uint64_t found[own_rows][columns];
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) found[r][c] = sums[r][c].reduced(q);
  }
  if (shares.terms > 1) {
    __shared__ std::uint64_t parts[warps][count][warp];
#pragma unroll
    for (unsigned i = 0; i < count; ++i) parts[group][i][lane] = found[i / columns][i % columns];
    __syncthreads();
    if (own_share > 0) return;
    for (unsigned share = 1; share < shares.terms; ++share) {
#pragma unroll
      for (unsigned i = 0; i < count; ++i) {
        found[i / columns][i % columns] += parts[share * shares.rows + group][i][lane];
      }
    }
#pragma unroll
    for (unsigned i = 0; i < count; ++i) {
      found[i / columns][i % columns] = q.reduce(found[i / columns][i % columns]);
    }
  }
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
    if (first + r >= rows) break;
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) out.limb(first + r, c, limb)[entry] = found[r][c];
  }
}

template <class Sum, unsigned columns, bool stored>
void multiply_columns(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                      const ConstPolyView& b, const RnsBase& base) {
  constexpr unsigned own_rows = rows_of_thread(columns);
  const auto rows = static_cast<unsigned>(out.shape.batch), terms = static_cast<unsigned>(b.shape.batch);
  const auto log_run = static_cast<unsigned>(std::countr_zero(out.shape.degree / a.shape.degree));
  const unsigned groups = std::min(std::bit_ceil((rows + own_rows - 1) / own_rows), warps);
  const Shares shares{groups, warps / groups};
  const unsigned rows_of_block = groups * own_rows;
  for (std::size_t limb = 0; limb < out.shape.limbs; limb += limbs_per_launch) {
    const std::size_t limbs = std::min<std::size_t>(limbs_per_launch, out.shape.limbs - limb);
    launch(
        "multiply_elements", launcher.stream, elements_kernel<Sum, columns, stored>,
        {(rows + rows_of_block - 1) / rows_of_block, launcher.degree() / warp, static_cast<unsigned>(limbs)},
        {warp * warps}, 0, device_view(out.limbs(limb, limbs)), device_view(a.limbs(limb, limbs)),
        device_view(b.limbs(limb, limbs)), rows, terms, shares, log_run, limb_moduli(base, limb, limbs),
        launcher.tables->moduli());
  }
}

template <class Sum, bool stored>
void multiply(const Launcher& launcher, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
              const RnsBase& base) {
  for (std::size_t first = 0; first < out.shape.components; first += most_columns) {
    const std::size_t columns = std::min<std::size_t>(most_columns, out.shape.components - first);
    const PolyView to = out.components(first, columns);
    const ConstPolyView from = b.components(first, columns);
    switch (columns) {
      case 1:
        multiply_columns<Sum, 1, stored>(launcher, to, a, from, base);
        break;
      case 2:
        multiply_columns<Sum, 2, stored>(launcher, to, a, from, base);
        break;
      case 3:
        multiply_columns<Sum, 3, stored>(launcher, to, a, from, base);
        break;
      default:
        multiply_columns<Sum, 4, stored>(launcher, to, a, from, base);
    }
  }
}

}  // namespace

void multiply_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                       const ConstPolyView& b, const RnsBase& base) {
  bool halves = true;
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    halves = halves && base.modulus(limb).value() >> 2 * HalvesSum::bits == 0;
  }
  const bool stored = a.shape.degree != out.shape.degree;
  const auto run = halves   ? stored ? multiply<HalvesSum, true> : multiply<HalvesSum, false>
                     : stored ? multiply<WideSum, true>
                            : multiply<WideSum, false>;
  run(launcher, out, a, b, base);
}

}  // namespace hemera::poly::cuda
