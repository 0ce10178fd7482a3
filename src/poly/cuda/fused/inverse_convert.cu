// Conversions from single limbs, from the rows of their inverse transform to the columns of the targets'
// transform in one pass: where targets are few it costs less to go through the columns of a source again for
// every few of them than a kernel of its own.
#include "poly/cuda/copies.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct InverseConversion {
  DeviceView out;
  ConstDeviceView in;
  unsigned components;
  const ColumnJob* jobs;
  LimbModuli limbs;  // of the sources
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* forward;
  const typename A::Twiddle* inverse;
  const typename A::Twiddle* roots;  // [source limb, 2]
  const std::uint64_t* shifts;       // [source limb]
};

// How a block shares a tile of 8 columns, and the contents of its shared memory.
template <class A, int log_rows>
struct InverseConvertShape {
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  static constexpr unsigned rows = 1U << log_rows;
  static constexpr unsigned radix = rows / 16;
  static constexpr unsigned warps = radix < 8 ? radix : 8;
  static constexpr unsigned threads = 32 * warps;
  static constexpr unsigned first_factors = 16;  // at least radix
  static constexpr unsigned factors = first_factors + 16 * radix;
  // The source's words are padded after 16 rows, the targets' values so that the four threads of a quad do
  // not meet in a bank.
  static constexpr unsigned words = job_columns * (rows + radix);
  static constexpr unsigned values = rows * job_columns + 4;

  static constexpr std::size_t bytes =
      (1 + job_targets) * factors * sizeof(Twiddle) + (words + job_targets * values) * sizeof(Value);
  static __device__ __forceinline__ unsigned word(unsigned row, unsigned column) {
    return job_columns * (row + row / 16) + column;
  }
};

template <class A, int log_rows>
struct InverseConvertAgent {
  using S = InverseConvertShape<A, log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  static constexpr unsigned radix = S::radix;
  static constexpr TableLayout layout{log_rows};

  const InverseConversion<A>& pass;
  const ColumnJob& job = pass.jobs[blockIdx.y];
  const unsigned batch = blockIdx.z / pass.components, component = blockIdx.z % pass.components;
  const std::uint32_t source = job.source[0];
  Twiddle* const inverse_factors = dynamic_shared<Twiddle>();
  Value* const words = reinterpret_cast<Value*>(inverse_factors + S::factors);  // canonical in the end
  Value* const values = words + S::words;                                       // [target, row, column]
  Twiddle* const forward_factors =
      reinterpret_cast<Twiddle*>(values + job_targets * S::values);  // [factor, target]

  // Begins to copy the columns' factors of the source.
  __device__ __forceinline__ void load_inverse_factors() const {
    const Twiddle* table = pass.inverse + std::size_t{pass.limbs.ring_index[source]} * layout.size();
    for (unsigned h = threadIdx.x; h < S::factors; h += S::threads) {
      copy_to_shared(inverse_factors + h, h < 2 ? pass.roots + 2 * source + h
                                          : h < S::first_factors
                                              ? table + h
                                              : table + (layout.second() + h - S::first_factors));
    }
  }
  // The same of the targets.
  __device__ __forceinline__ void load_forward_factors() const {
    for (unsigned i = threadIdx.x; i < job_targets * S::factors; i += S::threads) {
      const unsigned which = i / S::factors, h = i % S::factors;
      const Twiddle* table = pass.forward + std::size_t{job.target[which].ring_index} * layout.size();
      copy_to_shared(forward_factors + h * job_targets + which,
                     h < S::first_factors ? table + h : table + (layout.second() + h - S::first_factors));
    }
  }

  // The tile's columns of the source to scaled residues.
  __device__ __forceinline__ void inverse_columns() const {
    const unsigned index = pass.limbs.ring_index[source];
    const typename A::Modulus m = pass.moduli[index];
    const std::uint64_t* in = pass.in.limb(batch, component, source) + blockIdx.x * job_columns;
    const unsigned column = threadIdx.x % job_columns, first = threadIdx.x / job_columns;
    constexpr unsigned step = S::threads / job_columns;
    for (unsigned block = first; block < radix; block += step) {
      Value x[16];
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(in[(16 * block + k) * row_size + column]);
      const Twiddle* second = inverse_factors + S::first_factors + 16 * block;
      inverse_round<A, 4, false>(
          x, [&](int h) { return A::expand(second[h], m); }, m);
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) words[S::word(16 * block + k, column)] = x[k];
    }
    __syncthreads();
    const std::uint64_t difference = pass.shifts[source] - integer_modulus<A>(m);
    for (unsigned y = first; y < 16; y += step) {
      Value x[radix];
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) x[k] = words[S::word(y + 16 * k, column)];
      inverse_round<A, log_rows - 4, true>(
          x, [&](int h) { return A::expand(inverse_factors[h], m); }, m);
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) {
        const std::uint64_t shifted = A::finish_inverse(x[k], m) + difference;
        words[S::word(y + 16 * k, column)] =
            A::from_bits(shifted + (integer_modulus<A>(m) & (0 - (shifted >> 63))));
      }
    }
  }

  // Their conversion, and the columns of the targets. Thread g 4 + t of a warp has column g of target t.
  __device__ __forceinline__ void forward_columns() const {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const ColumnJob::Target target = job.target[t];
    const typename A::Modulus m = pass.moduli[target.ring_index];
    const arith::Modulus q = pass.ring_moduli[target.ring_index];
    const Twiddle* factors = forward_factors + t;
    Value* own = values + t * S::values + g;
#pragma unroll 1
    for (unsigned y = warp; y < 16; y += S::warps) {
      Value x[radix];
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) {
        const std::uint64_t word = A::to_bits(words[S::word(y + 16 * k, g)]);
        x[k] = reduce_word<A>(word + target.minus_shift, target.factor, q, m);
      }
      forward_round<A, log_rows - 4, true>(
          x, [&](int h) { return A::expand(factors[h * job_targets], m); }, m);
#pragma unroll
      for (unsigned k = 0; k < radix; ++k) own[(y + 16 * k) * job_columns] = x[k];
    }
    __syncthreads();
    std::uint64_t* out =
        pass.out.limb(batch, target.component + component, target.limb) + blockIdx.x * job_columns + g;
#pragma unroll 1
    for (unsigned block = warp; block < radix; block += S::warps) {
      Value x[16];
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = own[(16 * block + k) * job_columns];
      const Twiddle* second = factors + (S::first_factors + 16 * block) * job_targets;
      forward_round<A, 4, false>(
          x, [&](int h) { return A::expand(second[h * job_targets], m); }, m);
      if (target.stored != 0) {
        std::uint64_t* stored = out + 16 * block * row_size;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) stored[k * row_size] = A::to_bits(x[k]);
      }
    }
  }
};

// Grid [tile of 8 columns, job, polynomial].
template <class A, int log_rows>
__global__ void __launch_bounds__(InverseConvertShape<A, log_rows>::threads,
                                  512 / InverseConvertShape<A, log_rows>::threads)
    inverse_convert_kernel(const __grid_constant__ InverseConversion<A> pass) {
  const InverseConvertAgent<A, log_rows> agent{pass};
  agent.load_inverse_factors();
  agent.load_forward_factors();
  finish_copies();
  __syncthreads();
  begin_kernel();
  agent.inverse_columns();
  __syncthreads();
  agent.forward_columns();
}

}  // namespace

void inverse_convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                             const ConstPolyView& between, unsigned components, const RnsBase& sources,
                             const ScaledTables& scaled, const ColumnTables& columns) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_batch_part(between.shape, [&](const Part& part) {
      const InverseConversion<A> pass{
          .out = device_view(part.batches_of(out)),
          .in = device_view(part.batches_of(between)),
          .components = components,
          .jobs = columns.jobs.data(),
          .limbs = limb_moduli(sources, 0, sources.size()),
          .ring_moduli = launcher.tables->moduli(),
          .moduli = tables.moduli.data(),
          .forward = tables.forward.data(),
          .inverse = tables.inverse.data(),
          .roots = reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()),
          .shifts = scaled.shifts.data()};
      constexpr int most = largest_inverse_conversion - 8;
      with_log_rows<5, most>(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using S = InverseConvertShape<A, log_rows>;
        launch_as({.grid = {row_size / job_columns, columns.job_count,
                            static_cast<unsigned>(part.batches) * components},
                   .block = {S::threads},
                   .shared_bytes = S::bytes,
                   .carve_out = launcher.sizes->carve_out},
                  "convert and transform", launcher.stream, inverse_convert_kernel<A, log_rows>, pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
