// The negacyclic transform in two passes over memory: columns and rows, all limbs of all polynomials in one
// launch each.
#include <type_traits>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct Pass {
  DeviceView out;
  ConstDeviceView in;
  unsigned components;
  LimbModuli limbs;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const std::uint32_t* left_out;  // the component that a limb leaves out; may be null
  ConstDeviceView addend;         // of rows that add
};

template <class A>
__device__ __forceinline__ bool left_out(const Pass<A>& pass) {
  return pass.left_out != nullptr && pass.left_out[blockIdx.z] == blockIdx.y % pass.components;
}

// One limb of one polynomial: grid [tile, polynomial, limb].
template <class A>
struct Limb {
  std::uint64_t* out;
  const std::uint64_t* in;
  typename A::Modulus modulus;
  const typename A::Twiddle* table;

  __device__ Limb(const Pass<A>& pass, int log_rows) {
    const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
    const unsigned modulus_index = pass.limbs.ring_index[blockIdx.z];
    out = pass.out.limb(batch, component, blockIdx.z);
    in = pass.in.limb(batch, component, blockIdx.z);
    modulus = pass.moduli[modulus_index];
    table = pass.tables + std::size_t{modulus_index} * TableLayout(log_rows).size();
  }
};

template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads, A::forward_column_blocks)
    forward_columns_kernel(const __grid_constant__ Pass<A> pass) {
  const Limb<A> limb(pass, log_rows);
  begin_kernel();
  if (left_out(pass)) return;
  const unsigned first = blockIdx.x * 16 + threadIdx.x % 16;
  const std::uint64_t* in = limb.in + first;
  std::uint64_t* out = limb.out + first;
  forward_columns<A, log_rows>(
      [&](std::size_t row) { return A::load(in[row_size * row], limb.modulus); },
      [&](std::size_t row, typename A::Value x) { out[row_size * row] = A::to_bits(x); },
      dynamic_shared<typename A::Value>(), limb.table, limb.modulus);
}

template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads, A::inverse_column_blocks)
    inverse_columns_kernel(const __grid_constant__ Pass<A> pass) {
  const Limb<A> limb(pass, log_rows);
  begin_kernel();
  const unsigned first = blockIdx.x * 16 + threadIdx.x % 16;
  const std::uint64_t* in = limb.in + first;
  std::uint64_t* out = limb.out + first;
  inverse_columns<A, log_rows>(
      [&](std::size_t row) { return A::from_bits(in[row_size * row]); },
      [&](std::size_t row, typename A::Value x) { out[row_size * row] = A::finish_inverse(x, limb.modulus); },
      dynamic_shared<typename A::Value>(), limb.table, limb.table, limb.modulus);
}

// An addend takes registers: 4 blocks have them.
template <class A, bool adds>
__global__ void __launch_bounds__(128, adds ? 4 : A::row_blocks)
    forward_rows_kernel(const __grid_constant__ Pass<A> pass, int log_rows) {
  const Limb<A> limb(pass, log_rows);
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * (blockDim.x / 16) + local_row;
  const unsigned first = row_size * row + t;
  std::uint64_t added[16] = {};
  if constexpr (adds) {
    // The columns' kernel does not write it: what does has finished. All loads come before the first store,
    // which may be to the same place: between stores each load would wait for the one before.
    const std::uint64_t* addend =
        pass.addend.limb(blockIdx.y / pass.components, blockIdx.y % pass.components, blockIdx.z) + first;
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) added[k] = addend[16 * k];
  }
  begin_kernel();
  if (left_out(pass)) return;
  const std::uint64_t* in = limb.in + first;
  std::uint64_t* out = limb.out + first;
  typename A::Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(in[16 * k]);
  forward_row<A>(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t, limb.table,
                 TableLayout(log_rows), limb.modulus);
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) {
    std::uint64_t value = A::finish_forward(x[k], limb.modulus);
    if constexpr (adds) value = reduce_once<1>(value + added[k], integer_modulus<A>(limb.modulus));
    out[16 * k] = value;
  }
}

template <class A>
__global__ void __launch_bounds__(128, A::row_blocks)
    inverse_rows_kernel(const __grid_constant__ Pass<A> pass, int log_rows) {
  const Limb<A> limb(pass, log_rows);
  begin_kernel();
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * (blockDim.x / 16) + local_row;
  const unsigned first = row_size * row + t;
  const std::uint64_t* in = limb.in + first;
  std::uint64_t* out = limb.out + first;
  typename A::Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::load(in[16 * k], limb.modulus);
  inverse_row<A>(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t, limb.table,
                 TableLayout(log_rows), limb.modulus);
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) out[16 * k] = A::to_bits(x[k]);
}

template <class A>
void launch_columns(const char* operation, const Launcher& launcher, bool forward, const Pass<A>& pass,
                    unsigned polynomials, unsigned limbs) {
  with_log_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
    using Tile = ColumnTile<log_rows>;
    const auto kernel = forward ? forward_columns_kernel<A, log_rows> : inverse_columns_kernel<A, log_rows>;
    launch(operation, launcher.stream, kernel, {row_size / Tile::columns, polynomials, limbs},
           {Tile::threads}, Tile::shared_words * sizeof(typename A::Value), pass);
  });
}

template <class A>
void launch_rows(const char* operation, const Launcher& launcher, bool forward, const Pass<A>& pass,
                 unsigned polynomials, unsigned limbs) {
  const unsigned rows = 1U << launcher.log_rows();
  const unsigned rows_per_block = rows < 8 ? rows : 8;
  const auto kernel = !forward                      ? inverse_rows_kernel<A>
                      : pass.addend.data == nullptr ? forward_rows_kernel<A, false>
                                                    : forward_rows_kernel<A, true>;
  launch(operation, launcher.stream, kernel, {rows / rows_per_block, polynomials, limbs},
         {16 * rows_per_block}, rows_per_block * row_size * sizeof(typename A::Value), pass,
         launcher.log_rows());
}

// run(pass, polynomials, limbs) for each launch.
template <class A, typename Run>
void for_each_pass(const Launcher& launcher, bool forward, const PolyView& out, const ConstPolyView& in,
                   const RnsBase& base, const std::uint32_t* left_out, const ConstPolyView& addend,
                   const Run& run) {
  const TransformTables<A>& tables = launcher.tables->transforms<A>();
  for_each_launch(out.shape, [&](const Part& part) {
    Pass<A> pass{device_view(part.of(out)),
                 device_view(part.of(in)),
                 static_cast<unsigned>(out.shape.components),
                 limb_moduli(base, part.first_limb, part.limbs),
                 tables.moduli.data(),
                 forward ? tables.forward.data() : tables.inverse.data(),
                 left_out == nullptr ? nullptr : left_out + part.first_limb,
                 addend.data == nullptr ? ConstDeviceView() : device_view(part.of(addend))};
    run(pass, device_view(ConstPolyView(part.of(out))),
        static_cast<unsigned>(part.batches * out.shape.components), static_cast<unsigned>(part.limbs));
  });
}

}  // namespace

void forward_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                       const ConstPolyView& in, const RnsBase& base, const std::uint32_t* left_out) {
  constexpr const char* name = "forward_transform";
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_pass<A>(
        launcher, true, out, in, base, left_out, {},
        [&](Pass<A>& pass, const ConstDeviceView& between, unsigned polynomials, unsigned limbs) {
          launch_columns(name, launcher, true, pass, polynomials, limbs);
          pass.in = between;
          launch_rows(name, launcher, true, pass, polynomials, limbs);
        });
  };
  with_arithmetic(arithmetic, run);
}

void forward_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& in, const RnsBase& base, const std::uint32_t* left_out,
                  const ConstPolyView& addend) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_pass<A>(launcher, true, out, in, base, left_out, addend,
                     [&](Pass<A>& pass, const ConstDeviceView&, unsigned polynomials, unsigned limbs) {
                       launch_rows("forward_transform", launcher, true, pass, polynomials, limbs);
                     });
  };
  with_arithmetic(arithmetic, run);
}

void inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                       const ConstPolyView& in, const RnsBase& base) {
  constexpr const char* name = "inverse_transform";
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_pass<A>(
        launcher, false, out, in, base, nullptr, {},
        [&](Pass<A>& pass, const ConstDeviceView& between, unsigned polynomials, unsigned limbs) {
          launch_rows(name, launcher, false, pass, polynomials, limbs);
          pass.in = between;
          launch_columns(name, launcher, false, pass, polynomials, limbs);
        });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
