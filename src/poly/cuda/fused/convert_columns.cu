// Base conversion in the column pass of the targets' transform.
#include "poly/cuda/fused/converters.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;

template <class A, int log_rows>
struct Shared {
  static constexpr unsigned rows = 1U << log_rows;
  static constexpr unsigned radix = rows / 16;
  static constexpr unsigned first_factors = radix < 16 ? 16 : radix;
  static constexpr unsigned factors = first_factors + 16 * radix;
  // The target's values are padded, so that the four threads of a quad do not meet in a bank.
  static constexpr unsigned values = rows * job_columns + 4;
  static constexpr std::size_t bytes =
      job_targets * (values * sizeof(typename A::Value) + factors * sizeof(typename A::Twiddle));
};

static_assert(Shared<U64, 9>::bytes == conversion_bytes_of_largest_ring);

// Writes to x[0] and x[1] two entries of a single source, whose weight is 1. `close`: see ColumnTables.
template <class A, bool close>
__device__ __forceinline__ void reduce_pair(typename A::Value* x, const ulonglong2& halves,
                                            const ColumnJob::Target& target, const arith::Modulus& q,
                                            const typename A::Modulus& m) {
  const ulonglong2 v = paired(halves.x, halves.y);
  if constexpr (close) {
    x[0] = reduce_once<2>(v.x + target.minus_shift, m.q);
    x[1] = reduce_once<2>(v.y + target.minus_shift, m.q);
  } else {
    x[0] = reduce_word<A>(v.x + target.minus_shift, target.factor, q, m);
    x[1] = reduce_word<A>(v.y + target.minus_shift, target.factor, q, m);
  }
}

// The transform's factors of the job's targets, [factor, target].
template <class A, int log_rows>
__device__ __forceinline__ void load_factors(typename A::Twiddle* factors, const Conversion<A>& pass,
                                             const ColumnJob& job) {
  using S = Shared<A, log_rows>;
  constexpr TableLayout layout(log_rows);
  for (unsigned i = threadIdx.x; i < job_targets * S::factors; i += threads) {
    const unsigned which = i / S::factors, h = i % S::factors;
    const typename A::Twiddle* table =
        pass.tables + std::size_t{job.target[which].ring_index} * layout.size();
    factors[h * job_targets + which] =
        table[h < S::first_factors ? h : layout.second() + h - S::first_factors];
  }
}

// Grid [tile of 8 columns, job, polynomial]: the jobs of a polynomial find its sources in the cache, in a
// batch too. Thread g 4 + t of a warp has column g of target t. No steps: a single source, whose weight is 1.
// `close`: see ColumnTables. With 512 rows a multiprocessor's shared memory has room for one block.
template <class A, int log_rows, int steps, Quotient from, bool close = false,
          Products products = Products::bytes>
__global__ void __launch_bounds__(threads, log_rows > 8                            ? 1
                                           : steps == 0 && !std::is_same_v<A, U64> ? 3
                                                                                   : 2)
    convert_columns_kernel(const __grid_constant__ Conversion<A> pass) {
  using S = Shared<A, log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  using Converter = std::conditional_t<products == Products::halves, HalfConverter<steps, from>,
                                       ByteConverter<A, steps, from>>;
  constexpr unsigned radix = S::radix;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned job_index = blockIdx.y, polynomial = blockIdx.z;
  const ColumnJob& job = pass.jobs[job_index];
  const ColumnJob::Target target = job.target[t];
  const typename A::Modulus m = pass.moduli[target.ring_index];
  [[maybe_unused]] const typename A::Fold fold = pass.folds[target.ring_index];
  [[maybe_unused]] const arith::Modulus q = pass.ring_moduli[target.ring_index];
  [[maybe_unused]] Converter converter;
  if constexpr (steps != 0) converter.load(pass, job, job_index, m);
  auto* values = dynamic_shared<Value>() + t * S::values;
  auto* factors =
      reinterpret_cast<Twiddle*>(dynamic_shared<Value>() + job_targets * S::values);  // [factor, target]
  load_factors<A, log_rows>(factors, pass, job);
  __syncthreads();
  if (pass.begin == Begin::after) {
    begin_kernel();
  } else {
    begin_kernel_beside();
  }

  const unsigned batch = polynomial / pass.components, component = polynomial % pass.components;
  const ulonglong2* sources[steps == 0 ? 1 : steps];
#pragma unroll
  for (int s = 0; s < (steps == 0 ? 1 : steps); ++s) {
    const std::uint32_t limb = job.source[4 * s + t];
    sources[s] = reinterpret_cast<const ulonglong2*>(pass.in.limb(batch, component, limb)) +
                 blockIdx.x * (job_columns * S::rows / 2) + g;
  }
  [[maybe_unused]] const ulonglong2* quotients = nullptr;
  if constexpr (from == Quotient::stored) {
    quotients = reinterpret_cast<const ulonglong2*>(pass.in.limb(batch, component, job.quotient_limb)) +
                blockIdx.x * (job_columns * S::rows / 2) + g;
  }
#pragma unroll 1
  for (unsigned y = warp; y < 16; y += warps) {
    Value x[radix];
    const std::size_t first_pair = std::size_t{y} * (radix / 2 * job_columns);
#pragma unroll
    for (unsigned pair = 0; pair < radix / 2; ++pair) {
      if constexpr (steps == 0) {
        reduce_pair<A, close>(x + 2 * pair, (sources[0] + first_pair)[pair * job_columns], target, q, m);
      } else {
        converter.convert(x + 2 * pair, sources, quotients, first_pair, pair * job_columns, target, fold, m);
      }
    }
    forward_round<A, log_rows - 4, true>(
        x, [&](int h) { return A::expand(factors[h * job_targets + t], m); }, m);
    Value* column = values + y * job_columns + g;
#pragma unroll
    for (unsigned k = 0; k < radix; ++k) column[16 * k * job_columns] = x[k];
  }
  __syncthreads();
  std::uint64_t* out =
      pass.out.limb(batch, target.component + component, target.limb) + blockIdx.x * job_columns + g;
#pragma unroll 1
  for (unsigned block = warp; block < radix; block += warps) {
    Value x[16];
    const Value* column = values + 16 * block * job_columns + g;
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) x[k] = column[k * job_columns];
    const Twiddle* second = factors + (S::first_factors + 16 * block) * job_targets + t;
    forward_round<A, 4, false>(
        x, [&](int h) { return A::expand(second[h * job_targets], m); }, m);
    if (target.stored != 0) {
      std::uint64_t* stored = out + 16 * block * row_size;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) stored[k * row_size] = A::to_bits(x[k]);
    }
  }
  if (pass.begin == Begin::beside) end_kernel_beside();
}

}  // namespace

void convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                     const ConstPolyView& scratch, unsigned components, const ColumnTables& columns,
                     Begin begin) {
  if (columns.job_count == 0) return;
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_batch_part(scratch.shape, [&](const Part& part) {
      const Conversion<A> pass{.out = device_view(part.batches_of(out)),
                               .in = device_view(part.batches_of(scratch)),
                               .components = components,
                               .begin = begin,
                               .jobs = columns.jobs.data(),
                               .fragments = columns.fragments.data(),
                               .halves = columns.halves.data(),
                               .links = columns.links.data(),
                               .ring_moduli = launcher.tables->moduli(),
                               .moduli = tables.moduli.data(),
                               .folds = tables.folds.data(),
                               .tables = tables.forward.data()};
      with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        const auto choose = [&]<Quotient from>(std::integral_constant<Quotient, from>) {
          const auto by = [&]<Products products>(std::integral_constant<Products, products>) {
            switch (columns.steps) {
              case 0:
                if constexpr (std::is_same_v<A, U64>) {
                  if (columns.close) return convert_columns_kernel<A, log_rows, 0, Quotient::none, true>;
                }
                return convert_columns_kernel<A, log_rows, 0, Quotient::none>;
              case 1:
                return convert_columns_kernel<A, log_rows, 1, from>;
              case 2:
                return convert_columns_kernel<A, log_rows, 2, from, false, products>;
              case 3:
                return convert_columns_kernel<A, log_rows, 3, from, false, products>;
              default:
                return convert_columns_kernel<A, log_rows, 4, from, false, products>;
            }
          };
          if constexpr (std::is_same_v<A, F64>) {
            if (columns.products == Products::halves) {
              return by(std::integral_constant<Products, Products::halves>{});
            }
          }
          return by(std::integral_constant<Products, Products::bytes>{});
        };
        const auto kernel = [&] {
          switch (columns.steps == 0 ? Quotient::none : columns.quotient) {
            case Quotient::stored:
              return choose(std::integral_constant<Quotient, Quotient::stored>{});
            case Quotient::computed:
              return columns.steps == 1 ? convert_columns_kernel<A, log_rows, 1, Quotient::computed>
                                        : convert_columns_kernel<A, log_rows, 2, Quotient::computed>;
            case Quotient::chained:
              return convert_columns_kernel<A, log_rows, 1, Quotient::chained>;
            default:
              return choose(std::integral_constant<Quotient, Quotient::none>{});
          }
        }();
        launch_as({.grid = {row_size / job_columns, columns.job_count,
                            static_cast<unsigned>(part.batches) * components},
                   .block = {threads},
                   .shared_bytes = Shared<A, log_rows>::bytes,
                   .carve_out = launcher.sizes->conversion_carve_out},
                  "convert and transform", launcher.stream, kernel, pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
