// Integers modulo t to the columns of their transforms over a base: BFV's and BGV's messages.
#include <algorithm>
#include <type_traits>

#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/fused/lift.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

// Most inputs of one launch, which have its batches together.
constexpr std::size_t inputs_per_launch = 16;
constexpr std::size_t batches_together = 1 << 14;

template <class A>
struct LiftPass {
  DeviceView out;
  ConstDeviceView in[inputs_per_launch];
  unsigned batch;  // of each input
  LiftedIntegers lifted;
  LimbModuli limbs;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Grid [tile, batch, limb].
template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads)
    lift_columns_kernel(const __grid_constant__ LiftPass<A> pass) {
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const typename A::Twiddle scalar = factor_of<A>(pass.lifted.scalars, blockIdx.z);
  begin_kernel();
  const unsigned first = blockIdx.x * 16 + threadIdx.x % 16;
  const std::uint64_t* in = pass.in[blockIdx.y / pass.batch].limb(blockIdx.y % pass.batch, 0, 0) + first;
  std::uint64_t* out = pass.out.limb(blockIdx.y, 0, blockIdx.z) + first;
  forward_columns<A, log_rows>(
      [&](std::size_t row) { return lifted_integer<A>(pass.lifted, in[row_size * row], scalar, q, m); },
      [&](std::size_t row, typename A::Value x) { out[row_size * row] = A::to_bits(x); },
      dynamic_shared<typename A::Value>(), pass.tables + std::size_t{index} * TableLayout(log_rows).size(),
      m);
}

// The room of one launch: several inputs whole, or a part of one.
template <typename Run>
void for_each_inputs(const PolyView& out, std::span<const ConstPolyView> in, const Run& run) {
  const std::size_t batch = in.front().shape.batch;
  const std::size_t together = std::clamp<std::size_t>(batches_together / batch, 1, inputs_per_launch);
  for (std::size_t first = 0; first < in.size(); first += together) {
    const auto inputs = in.subspan(first, std::min(together, in.size() - first));
    const PolyView to = out.batches(first * batch, inputs.size() * batch);
    for_each_launch(to.shape, [&](const Part& part) { run(to, inputs, part); });
  }
}

}  // namespace

void lift_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  std::span<const ConstPolyView> in, const arith::Modulus& plain, std::uint64_t factor,
                  std::span<const std::uint64_t> scalars, const RnsBase& base) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_inputs(
        out, in, [&](const PolyView& to, std::span<const ConstPolyView> inputs, const Part& part) {
          LiftPass<A> pass{};
          pass.out = device_view(part.of(to));
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            pass.in[i] = device_view(inputs.size() == 1 ? part.batches_of(inputs[i]) : inputs[i]);
          }
          pass.batch = static_cast<unsigned>(part.batches / inputs.size());
          set_lifted<A>(pass.lifted, plain, factor, scalars, base, part);
          pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
          pass.ring_moduli = launcher.tables->moduli();
          pass.moduli = tables.moduli.data();
          pass.tables = tables.forward.data();
          with_log_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
            using Tile = ColumnTile<log_rows>;
            launch("lift_integers", launcher.stream, lift_columns_kernel<A, log_rows>,
                   {row_size / Tile::columns, static_cast<unsigned>(part.batches),
                    static_cast<unsigned>(part.limbs)},
                   {Tile::threads}, Tile::shared_words * sizeof(typename A::Value), pass);
          });
        });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
