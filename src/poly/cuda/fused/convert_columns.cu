// Base conversion in the column pass of the targets' transform.
#include "poly/cuda/fused/byte_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;

template <class A>
struct Conversion {
  DeviceView out;
  ConstDeviceView in;
  unsigned components;
  Begin begin;
  const ColumnJob* jobs;
  const std::uint32_t* fragments;
  const std::uint32_t* links;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Fold* folds;
  const typename A::Twiddle* tables;
};

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

using arith::uint128;

// The conversion of a thread's target: what its sources are multiplied by. A quotient counts -(product of the
// sources) for each target.
template <class A, int steps, Quotient from>
struct Converter {
  using Value = typename A::Value;
  static constexpr bool computes = from == Quotient::computed || from == Quotient::chained;

  std::uint32_t weights[steps + 1][4][2];
  std::uint64_t quotient_factors[computes ? steps : 1];
  std::uint32_t quotient_shifts[computes ? steps : 1];
  // Of the first conversion, whose target t this thread has.
  ColumnJob::Link link;
  bool chained;
  typename A::Modulus link_modulus;
  typename A::Fold link_fold;
  std::uint32_t link_weights[4][2];

  __device__ __forceinline__ void load(const Conversion<A>& pass, const ColumnJob& job, unsigned job_index) {
    const unsigned lane = threadIdx.x % 32, t = lane % 4;
#pragma unroll
    for (int i = 0; i < steps * 8; ++i) {
      weights[i / 8][i / 2 % 4][i % 2] = __ldg(pass.fragments + (job_index * (steps * 8) + i) * 32 + lane);
    }
    if constexpr (computes) {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        quotient_factors[s] = job.quotient_factor[4 * s + t];
        quotient_shifts[s] = job.quotient_shift[4 * s + t];
      }
    }
    if constexpr (from == Quotient::chained) {
      link = job.link[t];
      chained = job.chained != 0;
      link_modulus = pass.moduli[link.ring_index];
      link_fold = pass.folds[link.ring_index];
#pragma unroll
      for (int i = 0; i < 8; ++i)
        link_weights[i / 2][i % 2] = __ldg(pass.links + (job_index * 8 + i) * 32 + lane);
    }
  }

  // Two values of the first conversion, of those of its sources.
  __device__ __forceinline__ ulonglong2 linked(const ulonglong2& halves, const ulonglong2& v,
                                               std::uint64_t factor, std::uint32_t shift) const {
    int link_sums[4][4] = {};
    add_products(link_sums, halves, link_weights);
    const std::uint64_t quotients_of_sources[2] = {rounded_over_quad(fraction(v.x, factor, shift)),
                                                   rounded_over_quad(fraction(v.y, factor, shift))};
    std::uint64_t converted[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ByteSums bytes = byte_sums(link_sums, i);
      add_quotient(bytes, quotients_of_sources[i], link.product);
      converted[i] = finish_fold<A>(A::fold_bytes(bytes, 0, link_fold, link_modulus), link_modulus);
    }
    return make_ulonglong2(converted[0], converted[1]);
  }

  // To x[0] and x[1] the values of two entries: those at `at` of each source, and of the stored quotients.
  __device__ __forceinline__ void convert(Value* x,
                                          const ulonglong2* const (&sources)[steps == 0 ? 1 : steps],
                                          const ulonglong2* quotients, std::size_t first_pair, unsigned at,
                                          const ColumnJob::Target& target, const typename A::Fold& fold,
                                          const typename A::Modulus& m) const {
    int sums[4][4] = {};
    [[maybe_unused]] uint128 fractions[2] = {};
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      ulonglong2 halves = (sources[s] + first_pair)[at];
      [[maybe_unused]] ulonglong2 v = paired(halves.x, halves.y);
      std::uint64_t factor = 0;
      std::uint32_t shift = 0;
      if constexpr (computes) {
        factor = quotient_factors[s];
        shift = quotient_shifts[s];
      }
      if constexpr (from == Quotient::chained) {
        if (chained) {
          v = linked(halves, v, factor, shift);
          halves = paired(v.x, v.y);
          factor = link.quotient_factor;
          shift = link.quotient_shift;
        }
      }
      if constexpr (computes) {
        fractions[0] += fraction(v.x, factor, shift);
        fractions[1] += fraction(v.y, factor, shift);
      }
      add_products(sums, halves, weights[s]);
    }
    ulonglong2 quotient = make_ulonglong2(0, 0);
    if constexpr (from == Quotient::stored) quotient = (quotients + first_pair)[at];
    if constexpr (computes) {
      quotient = make_ulonglong2(rounded_over_quad(fractions[0]), rounded_over_quad(fractions[1]));
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ByteSums bytes = byte_sums(sums, i);
      if constexpr (from != Quotient::none) {
        add_quotient(bytes, i == 0 ? quotient.x : quotient.y, target.minus_product);
      }
      x[i] = A::fold_bytes(bytes, target.minus_shift, fold, m);
    }
  }
};

// To x[0] and x[1] two entries of a single source, whose weight is 1. `close`: see ColumnTables.
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
template <class A, int log_rows, int steps, Quotient from, bool close = false>
__global__ void __launch_bounds__(threads, log_rows > 8                            ? 1
                                           : steps == 0 && !std::is_same_v<A, U64> ? 3
                                                                                   : 2)
    convert_columns_kernel(const __grid_constant__ Conversion<A> pass) {
  using S = Shared<A, log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  constexpr unsigned radix = S::radix;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned job_index = blockIdx.y, polynomial = blockIdx.z;
  const ColumnJob& job = pass.jobs[job_index];
  const ColumnJob::Target target = job.target[t];
  const typename A::Modulus m = pass.moduli[target.ring_index];
  [[maybe_unused]] const typename A::Fold fold = pass.folds[target.ring_index];
  [[maybe_unused]] const arith::Modulus q = pass.ring_moduli[target.ring_index];
  [[maybe_unused]] Converter<A, steps, from> converter;
  if constexpr (steps != 0) converter.load(pass, job, job_index);
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
                               .links = columns.links.data(),
                               .ring_moduli = launcher.tables->moduli(),
                               .moduli = tables.moduli.data(),
                               .folds = tables.folds.data(),
                               .tables = tables.forward.data()};
      with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        const auto choose = [&]<Quotient from>(std::integral_constant<Quotient, from>) {
          switch (columns.steps) {
            case 0:
              if constexpr (std::is_same_v<A, U64>) {
                if (columns.close) return convert_columns_kernel<A, log_rows, 0, Quotient::none, true>;
              }
              return convert_columns_kernel<A, log_rows, 0, Quotient::none>;
            case 1:
              return convert_columns_kernel<A, log_rows, 1, from>;
            case 2:
              return convert_columns_kernel<A, log_rows, 2, from>;
            case 3:
              return convert_columns_kernel<A, log_rows, 3, from>;
            default:
              return convert_columns_kernel<A, log_rows, 4, from>;
          }
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
