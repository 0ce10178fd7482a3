// BFV's products where row passes end: the transforms of both operands, the tensor product, and what follows
// it.
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::uint128;

// Two neighbours of a row.
template <typename Value>
struct alignas(2 * sizeof(Value)) Pair {
  Value x, y;
};

// A value of a tensor product's operand: below 2q, or about q / 2 in size (F64).
template <class A>
__device__ __forceinline__ typename A::Value finish_operand(typename A::Value x,
                                                            const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::reduce(x, m);
  } else {
    return reduce_once<2>(reduce_once<4>(x, m.q), m.q);
  }
}

// A sum of products x y, less a value delta, times a constant w. Integers are summed in 128 bits, at most
// 8 q^2 + 2q < 2^125, and multiplied by w and 2^62 w in two parts.
template <class A>
struct Products {
  uint128 sum = 0;

  __device__ __forceinline__ void add(std::uint64_t x, std::uint64_t y, const typename A::Modulus&) {
    sum += static_cast<uint128>(x) * y;
  }
  /// Below 2q.
  __device__ __forceinline__ std::uint64_t scaled(std::uint64_t delta,
                                                  const typename A::Twiddle (&factors)[2],
                                                  const typename A::Modulus& m) const {
    const uint128 difference = sum + (2 * m.q - delta);
    const auto low = static_cast<std::uint64_t>(difference) & ((std::uint64_t{1} << 62) - 1);
    const auto high = static_cast<std::uint64_t>(difference >> 62);
    return reduce_once<2>(A::multiply(low, factors[0], m) + A::multiply(high, factors[1], m), m.q);
  }
  static __device__ __forceinline__ std::uint64_t canonical(std::uint64_t x, const typename A::Modulus& m) {
    return reduce_once<1>(x, m.q);
  }
};

// x and delta at most q in size, y about q / 2; no constant but w.
template <>
struct Products<F64> {
  double sum = 0;

  __device__ __forceinline__ void add(double x, double y, const F64::Modulus& m) {
    sum = __dadd_rn(sum, F64::multiply(x, F64::expand({y}, m), m));
  }
  __device__ __forceinline__ double scaled(double delta, const F64::Twiddle (&factors)[2],
                                           const F64::Modulus& m) const {
    return F64::multiply(__dsub_rn(sum, delta), F64::expand(factors[0], m), m);
  }
  static __device__ __forceinline__ std::uint64_t canonical(double x, const F64::Modulus& m) {
    return F64::canonical(x, m);
  }
};

// The three components of a tensor product.
template <class A>
struct Tensor {
  Products<A> components[3];

  __device__ __forceinline__ Tensor(typename A::Value a0, typename A::Value a1, typename A::Value b0,
                                    typename A::Value b1, const typename A::Modulus& m) {
    components[0].add(a0, b0, m);
    components[1].add(a0, b1, m);
    components[1].add(a1, b0, m);
    components[2].add(a1, b1, m);
  }
};

template <class A>
struct ProductPass {
  DeviceView out;
  ConstDeviceView lifted;  // lazy
  unsigned a_first;        // limb of `lifted`
  unsigned b_first;
  LimbModuli limbs;
  const typename A::Twiddle* factors;  // [limb, 2]
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const typename A::Twiddle* inverse_tables;
};

// Grid [rows of a warp, batch, limb]. A warp takes rows of one component: a0, a1, b0, b1; then the block
// takes the products, and a warp the rows of one of their components.
template <class A, int values>
__global__ void __launch_bounds__(256)
    rows_product_kernel(const __grid_constant__ ProductPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  using Share = RowShare<A, values>;
  constexpr unsigned rows_per_block = Share::rows_per_warp, block_words = rows_per_block * row_size;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle factors[2] = {pass.factors[2 * limb], pass.factors[2 * limb + 1]};
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned warp = threadIdx.x / 32, t = threadIdx.x % 16, local_row = threadIdx.x % 32 / Share::threads;
  const unsigned row = blockIdx.x * rows_per_block + local_row, first = row_size * row + t;
  auto* shared = dynamic_shared<Value>();  // [a0, a1, b0, b1; row, entry], then the product's components
  Value* own = shared + warp * block_words + local_row * row_size;
  Value x[values];
  if (warp < 4) {
    const std::uint64_t* lazy =
        pass.lifted.limb(blockIdx.y, warp % 2, (warp < 2 ? pass.a_first : pass.b_first) + limb) + first;
#pragma unroll
    for (unsigned i = 0; i < values; ++i) x[i] = A::from_bits(lazy[16 * Share::spread(i)]);
    Share::forward(x, own, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < values; ++i) own[16 * Share::together(i) + t] = finish_operand<A>(x[i], m);
  }
  __syncthreads();
  for (unsigned entry = threadIdx.x; entry < block_words; entry += blockDim.x) {
    Value* at = shared + entry;
    const Tensor<A> tensor(at[0], at[block_words], at[2 * block_words], at[3 * block_words], m);
#pragma unroll
    for (unsigned c = 0; c < 3; ++c) at[c * block_words] = tensor.components[c].scaled(0, factors, m);
  }
  __syncthreads();
  if (warp >= 3) return;
#pragma unroll
  for (unsigned i = 0; i < values; ++i) x[i] = own[16 * Share::together(i) + t];
  __syncwarp();
  Share::inverse(x, own, row, t, pass.inverse_tables + std::size_t{index} * layout.size(), layout, m);
  std::uint64_t* out = pass.out.limb(blockIdx.y, warp, limb) + first;
#pragma unroll
  for (unsigned i = 0; i < values; ++i) out[16 * Share::spread(i)] = A::to_bits(x[i]);
}

template <class A>
struct EndPass {
  DeviceView out;
  ConstDeviceView a;
  ConstDeviceView lifted;  // lazy
  ConstDeviceView delta;   // lazy
  unsigned b_first;
  LimbModuli limbs;
  const typename A::Twiddle* factors;  // [limb, 2]
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Grid [rows of a warp, batch, limb]. A warp takes rows of b0, b1, or a component of delta; then the block
// takes the products.
template <class A, int values>
__global__ void __launch_bounds__(256)
    rows_end_product_kernel(const __grid_constant__ EndPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  using Share = RowShare<A, values>;
  constexpr unsigned rows_per_block = Share::rows_per_warp, block_words = rows_per_block * row_size;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle factors[2] = {pass.factors[2 * limb], pass.factors[2 * limb + 1]};
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned warp = threadIdx.x / 32, t = threadIdx.x % 16, local_row = threadIdx.x % 32 / Share::threads;
  const unsigned row = blockIdx.x * rows_per_block + local_row, first = row_size * row + t;
  auto* shared = dynamic_shared<Value>();  // [b0, b1, delta 0, 1, 2; row, entry]
  if (warp < 5) {
    const std::uint64_t* lazy = (warp < 2 ? pass.lifted.limb(blockIdx.y, warp, pass.b_first + limb)
                                          : pass.delta.limb(blockIdx.y, warp - 2, limb)) +
                                first;
    Value* own = shared + warp * block_words + local_row * row_size;
    Value x[values];
#pragma unroll
    for (unsigned i = 0; i < values; ++i) x[i] = A::from_bits(lazy[16 * Share::spread(i)]);
    Share::forward(x, own, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < values; ++i) own[16 * Share::together(i) + t] = finish_operand<A>(x[i], m);
  }
  __syncthreads();
  for (unsigned entry = 2 * threadIdx.x; entry < block_words; entry += 2 * blockDim.x) {
    const unsigned position = blockIdx.x * block_words + entry;
    const auto operand = [&](unsigned component) {
      return *reinterpret_cast<const ulonglong2*>(pass.a.limb(blockIdx.y, component, limb) + position);
    };
    const auto pair = [&](unsigned group) {
      return *reinterpret_cast<const Pair<Value>*>(shared + group * block_words + entry);
    };
    const ulonglong2 a0 = operand(0), a1 = operand(1);
    const Pair<Value> b0 = pair(0), b1 = pair(1);
    const Tensor<A> left(A::load(a0.x, m), A::load(a1.x, m), b0.x, b1.x, m);
    const Tensor<A> right(A::load(a0.y, m), A::load(a1.y, m), b0.y, b1.y, m);
#pragma unroll
    for (unsigned c = 0; c < 3; ++c) {
      const Pair<Value> delta = pair(2 + c);
      *reinterpret_cast<ulonglong2*>(pass.out.limb(blockIdx.y, c, limb) + position) =
          make_ulonglong2(Products<A>::canonical(left.components[c].scaled(delta.x, factors, m), m),
                          Products<A>::canonical(right.components[c].scaled(delta.y, factors, m), m));
    }
  }
}

// How a launch shares the rows. Where the grid is small, more warps than have rows share the products.
template <class A>
struct Shares {
  bool few;
  unsigned rows_per_block;
  unsigned threads;

  Shares(const Launcher& launcher, const Part& part, unsigned warps_with_rows) {
    const std::size_t rows = (part.batches * part.limbs * warps_with_rows) << launcher.log_rows();
    few = few_rows<A>(rows, *launcher.sizes);
    rows_per_block = few ? 1 : 2;
    threads = rows < 4096 ? 256 : 32 * warps_with_rows;
  }

  [[nodiscard]] dim3 grid(const Launcher& launcher, const Part& part) const {
    return {(1U << launcher.log_rows()) / rows_per_block, static_cast<unsigned>(part.batches),
            static_cast<unsigned>(part.limbs)};
  }
};

template <class A>
const typename A::Twiddle* factors_of(const DeviceArray<std::uint64_t>& words, std::size_t first_limb) {
  return reinterpret_cast<const typename A::Twiddle*>(words.data()) + 2 * first_limb;
}

}  // namespace

void rows_product(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& lifted, const ScaledProduct& plan, const FusedProduct& fused) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    const auto added = static_cast<unsigned>(plan.auxiliary().size());
    for_each_launch(out.shape, [&](const Part& part) {
      const auto first = static_cast<unsigned>(part.first_limb);
      const Shares<A> shares(launcher, part, 4);
      launch("scaled_product", launcher.stream,
             shares.few ? rows_product_kernel<A, 8> : rows_product_kernel<A, 16>, shares.grid(launcher, part),
             {shares.threads}, 4 * shares.rows_per_block * row_size * sizeof(typename A::Value),
             ProductPass<A>{.out = device_view(part.of(out)),
                            .lifted = device_view(part.batches_of(lifted)),
                            .a_first = first,
                            .b_first = added + static_cast<unsigned>(plan.base().size()) + first,
                            .limbs = limb_moduli(plan.auxiliary(), part.first_limb, part.limbs),
                            .factors = factors_of<A>(fused.sum_factors, first),
                            .moduli = tables.moduli.data(),
                            .tables = tables.forward.data(),
                            .inverse_tables = tables.inverse.data()},
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

void rows_end_product(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                      const ConstPolyView& a, const ConstPolyView& lifted, const ConstPolyView& delta,
                      const ScaledProduct& plan, const FusedProduct& fused) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      const Shares<A> shares(launcher, part, 5);
      launch("scaled_product", launcher.stream,
             shares.few ? rows_end_product_kernel<A, 8> : rows_end_product_kernel<A, 16>,
             shares.grid(launcher, part), {shares.threads},
             5 * shares.rows_per_block * row_size * sizeof(typename A::Value),
             EndPass<A>{.out = device_view(part.of(out)),
                        .a = device_view(part.of(a)),
                        .lifted = device_view(part.batches_of(lifted)),
                        .delta = device_view(part.of(delta)),
                        .b_first = static_cast<unsigned>(plan.auxiliary().size() + part.first_limb),
                        .limbs = limb_moduli(plan.base(), part.first_limb, part.limbs),
                        .factors = factors_of<A>(fused.end_factors, part.first_limb),
                        .moduli = tables.moduli.data(),
                        .tables = tables.forward.data()},
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
