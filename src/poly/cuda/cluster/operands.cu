// Operands of BFV's product to scaled residues as the tensor cores' conversions take them.
#include <algorithm>

#include "poly/cuda/cluster/conversion.cuh"

namespace hemera::poly::cuda {
namespace {

constexpr int log_rows = cluster_operands_log_rows;
using Shape = ClusterShape<log_rows>;

template <class A>
struct OperandsPass {
  DeviceView out;
  ConstDeviceView first, second;
  unsigned second_from;  // limb of `out`
  unsigned components;
  std::uint16_t positions[limbs_per_launch];  // in the operand
  LimbModuli limbs;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const typename A::Twiddle* roots;  // [limb, 2]
};

// Factors, a polynomial, and scratch of the warps.
template <class A>
constexpr std::size_t shared_bytes = Shape::factors * sizeof(typename A::Twiddle) +
                                     (Shape::block_words + Shape::block_rows * Shape::scratch_words) *
                                         sizeof(typename A::Value);

// Grid [block of the cluster, polynomial, limb].
template <class A>
__global__ void __launch_bounds__(32 * Shape::block_rows)
    cluster_operands_kernel(const __grid_constant__ OperandsPass<A> pass) {
#if defined(HEMERA_HAS_CLUSTERS)
  using Ring = ClusterTransform<A, log_rows>;
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb], rank = cluster_rank();
  const unsigned part = threadIdx.x / 32, t = threadIdx.x % 16;
  const typename A::Modulus m = pass.moduli[index];
  auto* factors = dynamic_shared<typename A::Twiddle>();
  auto* columns_area = reinterpret_cast<Value*>(factors + Ring::factors);
  Value* scratch = columns_area + Ring::block_words + part * Ring::scratch_words;
  Ring::load_factors(factors, pass.tables + std::size_t{index} * TableLayout(log_rows).size(), rank,
                     pass.roots + 2 * limb);
  finish_copies();
  cluster_arrive();
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const std::uint64_t* in =
      (limb < pass.second_from ? pass.first : pass.second).limb(batch, component, pass.positions[limb]) +
      row_size * (Ring::block_rows * rank + part) + t;
  Value x[8];
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) x[i] = A::load(in[16 * Ring::Share::together(i)], m);
  cluster_wait();
  Ring::inverse_row(x, scratch, part, factors, m);
  Ring::give_columns(x, columns_area, rank, part);
  cluster_arrive();
  cluster_wait();
  scaled_columns_of<A, log_rows, true>(pass.out.limb(batch, component, limb), columns_area, scratch, factors,
                                       0, rank, part, m);
#endif
}

}  // namespace

void cluster_operands(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                      const ConstPolyView& first, const ConstPolyView& second,
                      std::span<const ScaledLimb> limbs, const ScaledTables& scaled) {
  with_arithmetic(arithmetic, [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape shape = out.shape;
    shape.limbs = limbs.size();
    for_each_launch(shape, [&](const Part& part) {
      OperandsPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.first = device_view(part.batches_of(first));
      pass.second = device_view(part.batches_of(second));
      pass.second_from = static_cast<unsigned>(std::max(limbs.size() / 2, part.first_limb) - part.first_limb);
      pass.components = static_cast<unsigned>(shape.components);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        pass.limbs.ring_index[i] = limbs[part.first_limb + i].ring_index;
        pass.positions[i] = limbs[part.first_limb + i].position;
      }
      pass.moduli = tables.moduli.data();
      pass.tables = tables.inverse.data();
      pass.roots = reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()) + 2 * part.first_limb;
      launch_clusters("scaled_product", launcher.stream, cluster_operands_kernel<A>,
                      {Shape::blocks, static_cast<unsigned>(part.batches * shape.components),
                       static_cast<unsigned>(part.limbs)},
                      {32 * Shape::block_rows}, Shape::blocks, shared_bytes<A>, pass);
    });
  });
}

}  // namespace hemera::poly::cuda
