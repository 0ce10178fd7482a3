// Small rings: integers modulo t to evaluation form, and their sum with a ciphertext's component.
#include <type_traits>

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/fused/lift.cuh"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct ClusterLiftPass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView addend;  // no data: nothing is added
  LiftedIntegers lifted;
  LimbModuli limbs;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Grid [block of the cluster, batch, limb].
template <class A, int log_rows>
__global__ void __launch_bounds__(32 * ClusterShape<log_rows>::block_rows)
    cluster_lift_kernel(const __grid_constant__ ClusterLiftPass<A> pass) {
#if defined(HEMERA_HAS_CLUSTERS)
  using Ring = ClusterTransform<A, log_rows>;
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb], rank = cluster_rank();
  const unsigned part = threadIdx.x / 32, t = threadIdx.x % 16;
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const typename A::Twiddle scalar = factor_of<A>(pass.lifted.scalars, limb);
  auto* factors = dynamic_shared<typename A::Twiddle>();
  auto* rows_area = reinterpret_cast<Value*>(factors + Ring::factors);
  Value* scratch = rows_area + Ring::block_words + part * Ring::scratch_words;
  const typename A::Twiddle* table = pass.tables + std::size_t{index} * TableLayout(log_rows).size();
  Ring::load_factors(factors, table, rank, table);
  begin_kernel();
  // All that is read is asked for at once: this kernel is often alone.
  const std::uint64_t* in = pass.in.limb(blockIdx.y, 0, 0) + Ring::first_column(rank, part);
  std::uint64_t words[8], added[8] = {};
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) words[k] = in[row_size * Ring::begin_row(k) + Ring::column(k)];
  const unsigned first = row_size * (Ring::block_rows * rank + part) + t;
  if (pass.addend.data != nullptr) {
    const std::uint64_t* addend = pass.addend.limb(blockIdx.y, 0, limb) + first;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) added[i] = addend[16 * Ring::Share::together(i)];
  }
  finish_copies();
  cluster_arrive();
  Value x[8];
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) x[k] = lifted_integer<A>(pass.lifted, words[k], scalar, q, m);
  cluster_wait();
  Ring::forward_columns(x, scratch, factors, m);
  Ring::give_rows(x, rows_area, rank, part);
  cluster_arrive();
  cluster_wait();
  Ring::take_row(x, rows_area + row_size * part);
  Ring::forward_row(x, scratch, part, factors, m);
  std::uint64_t* out = pass.out.limb(blockIdx.y, 0, limb) + first;
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    out[16 * Ring::Share::together(i)] =
        reduce_once<1>(A::finish_forward(x[i], m) + added[i], integer_modulus<A>(m));
  }
#endif
}

}  // namespace

void cluster_lift(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& in, const arith::Modulus& plain, std::uint64_t factor,
                  std::span<const std::uint64_t> scalars, const ConstPolyView& addend, const RnsBase& base) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      ClusterLiftPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.in = device_view(part.batches_of(in));
      if (addend.data != nullptr) pass.addend = device_view(part.of(addend));
      set_lifted<A>(pass.lifted, plain, factor, scalars, base, part);
      pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      with_log_rows<2, cluster_lift_log_rows>(
          launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
            using Shape = ClusterShape<log_rows>;
            launch_clusters(
                "lift_integers", launcher.stream, cluster_lift_kernel<A, log_rows>,
                {Shape::blocks, static_cast<unsigned>(part.batches), static_cast<unsigned>(part.limbs)},
                {32 * Shape::block_rows}, Shape::blocks, cluster_transform_bytes<A, log_rows>(), pass);
          });
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
