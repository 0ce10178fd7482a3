// Base conversion in the column pass of the targets' transform.
//
// A sum of residues times weights is a product of byte matrices: the bytes of a coefficient's residues (its
// row) times, for each byte of a residue and each byte of the sum, a byte of weight 2^(8 i) mod q. Sums of up
// to 96 products of bytes stay below 2^23 and are put together exactly.
#include "poly/cuda/fused.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/tensor_core.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;
constexpr unsigned tile_columns = 8;
constexpr unsigned targets = 4;

template <class A>
struct Conversion {
  DeviceView out;
  ConstDeviceView in;
  unsigned components;
  unsigned quotient_limb;
  const ColumnJob* jobs;
  const std::uint32_t* fragments;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Fold* folds;
  const typename A::Twiddle* tables;
};

template <class A, int log_rows>
struct Shared {
  static constexpr unsigned rows = 1U << log_rows;
  static constexpr unsigned radix = rows / 16;
  static constexpr unsigned first_factors = 16;  // at least radix
  static constexpr unsigned factors = first_factors + 16 * radix;
  // The target's values are padded, so that the four threads of a quad do not meet in a bank.
  static constexpr unsigned values = rows * tile_columns + 4;
  static constexpr std::size_t bytes =
      targets * (values * sizeof(typename A::Value) + factors * sizeof(typename A::Twiddle));
};

// Grid [tile of 8 columns, polynomial, job]. Thread g 4 + t of a warp has column g of target t. No steps: a
// single source, whose weight is 1. With a quotient, its row counts -(product of the sources) for each
// target.
template <class A, int log_rows, int steps, bool has_quotient>
__global__ void __launch_bounds__(threads, 2)
    convert_columns_kernel(const __grid_constant__ Conversion<A> pass) {
  using S = Shared<A, log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  constexpr unsigned radix = S::radix;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const ColumnJob& job = pass.jobs[blockIdx.z];
  const ColumnJob::Target target = job.target[t];
  const typename A::Modulus m = pass.moduli[target.ring_index];
  const typename A::Fold fold = pass.folds[target.ring_index];
  const arith::Modulus q = pass.ring_moduli[target.ring_index];
  std::uint32_t weights[steps + 1][4][2];
#pragma unroll
  for (int i = 0; i < steps * 8; ++i) {
    weights[i / 8][i / 2 % 4][i % 2] = __ldg(pass.fragments + (blockIdx.z * (steps * 8) + i) * 32 + lane);
  }
  auto* values = dynamic_shared<Value>() + t * S::values;
  auto* factors =
      reinterpret_cast<Twiddle*>(dynamic_shared<Value>() + targets * S::values);  // [factor, target]
  constexpr TableLayout layout(log_rows);
  for (unsigned i = threadIdx.x; i < targets * S::factors; i += threads) {
    const unsigned which = i / S::factors, h = i % S::factors;
    const Twiddle* table = pass.tables + std::size_t{job.target[which].ring_index} * layout.size();
    factors[h * targets + which] = table[h < S::first_factors ? h : layout.second() + h - S::first_factors];
  }
  __syncthreads();
  begin_kernel();

  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const ulonglong2* sources[steps == 0 ? 1 : steps];
#pragma unroll
  for (int s = 0; s < (steps == 0 ? 1 : steps); ++s) {
    const std::uint32_t limb = job.source[steps == 0 ? 0 : 4 * s + t];
    sources[s] = reinterpret_cast<const ulonglong2*>(pass.in.limb(batch, component, limb)) +
                 blockIdx.x * (tile_columns * S::rows / 2) + g;
  }
  const ulonglong2* quotients = nullptr;
  if constexpr (has_quotient) {
    quotients = reinterpret_cast<const ulonglong2*>(pass.in.limb(batch, component, pass.quotient_limb)) +
                blockIdx.x * (tile_columns * S::rows / 2) + g;
  }
#pragma unroll 1
  for (unsigned y = warp; y < 16; y += warps) {
    Value x[radix];
#pragma unroll
    for (unsigned pair = 0; pair < radix / 2; ++pair) {
      if constexpr (steps == 0) {
        const ulonglong2 v = sources[0][(y * (radix / 2) + pair) * tile_columns];
        x[2 * pair] = reduce_word<A>(v.x + target.minus_shift, target.factor, q, m);
        x[2 * pair + 1] = reduce_word<A>(v.y + target.minus_shift, target.factor, q, m);
        continue;
      }
      int sums[4][4] = {};
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        const ulonglong2 v = sources[s][(y * (radix / 2) + pair) * tile_columns];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          multiply_bytes(sums[n], static_cast<std::uint32_t>(v.x), static_cast<std::uint32_t>(v.y),
                         static_cast<std::uint32_t>(v.x >> 32), static_cast<std::uint32_t>(v.y >> 32),
                         weights[s][n][0], weights[s][n][1]);
        }
      }
      ulonglong2 quotient = make_ulonglong2(0, 0);
      if constexpr (has_quotient) quotient = quotients[(y * (radix / 2) + pair) * tile_columns];
      const auto together = [&](int i, std::uint64_t v) -> Value {
        // Sums below 2^23 of bytes n, n + 1, n + 2, n + 3.
        const auto half = [&](int n) {
          const auto low =
              static_cast<std::uint32_t>(sums[n][i]) + (static_cast<std::uint32_t>(sums[n][i + 1]) << 8);
          const auto high = static_cast<std::uint32_t>(sums[n + 1][i]) +
                            (static_cast<std::uint32_t>(sums[n + 1][i + 1]) << 8);
          return static_cast<std::uint64_t>(high) * 65536U + low;
        };
        ByteSums bytes{half(0), half(2)};
        if constexpr (has_quotient) {
          // A quotient is at most the number of sources, so the sums grow by less than 2^36.
          bytes.low += v * static_cast<std::uint32_t>(target.minus_product);
          bytes.high += v * (target.minus_product >> 32);
        }
        return A::fold_bytes(bytes, target.minus_shift, fold, m);
      };
      x[2 * pair] = together(0, quotient.x);
      x[2 * pair + 1] = together(2, quotient.y);
    }
    forward_round<A, log_rows - 4, true>(
        x, [&](int h) { return A::expand(factors[h * targets + t], m); }, m);
#pragma unroll
    for (unsigned k = 0; k < radix; ++k) values[(y + 16 * k) * tile_columns + g] = x[k];
  }
  __syncthreads();
  std::uint64_t* out =
      pass.out.limb(batch, job.component + component, target.limb) + blockIdx.x * tile_columns + g;
#pragma unroll 1
  for (unsigned block = warp; block < radix; block += warps) {
    Value x[16];
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) x[k] = values[(16 * block + k) * tile_columns + g];
    const Twiddle* second = factors + (S::first_factors + 16 * block) * targets + t;
    forward_round<A, 4, false>(
        x, [&](int h) { return A::expand(second[h * targets], m); }, m);
    if (target.stored != 0) {
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) out[(16 * block + k) * row_size] = A::to_bits(x[k]);
    }
  }
}

}  // namespace

void convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                     const ConstPolyView& scratch, unsigned components, const ColumnTables& columns) {
  if (columns.job_count == 0) return;
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape one_limb = scratch.shape;
    one_limb.limbs = 1;
    for_each_launch(one_limb, [&](const Part& part) {
      const auto of = [&](const auto& view) {
        return view.shape.batch == 1 ? view : view.batches(part.first_batch, part.batches);
      };
      const Conversion<A> pass{.out = device_view(of(out)),
                               .in = device_view(of(scratch)),
                               .components = components,
                               .quotient_limb = columns.quotient_limb,
                               .jobs = columns.jobs.data(),
                               .fragments = columns.fragments.data(),
                               .ring_moduli = launcher.tables->moduli(),
                               .moduli = tables.moduli.data(),
                               .folds = tables.folds.data(),
                               .tables = tables.forward.data()};
      with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        const auto choose = [&]<bool has_quotient>(std::bool_constant<has_quotient>) {
          switch (columns.steps) {
            case 0:
              return convert_columns_kernel<A, log_rows, 0, false>;
            case 1:
              return convert_columns_kernel<A, log_rows, 1, has_quotient>;
            case 2:
              return convert_columns_kernel<A, log_rows, 2, has_quotient>;
            default:
              return convert_columns_kernel<A, log_rows, 3, has_quotient>;
          }
        };
        const auto kernel = columns.has_quotient ? choose(std::true_type{}) : choose(std::false_type{});
        launch("convert and transform", launcher.stream, kernel,
               {row_size / tile_columns, static_cast<unsigned>(part.batches) * components, columns.job_count},
               {threads}, Shared<A, log_rows>::bytes, pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
