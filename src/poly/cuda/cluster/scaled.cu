// Small rings: values to scaled residues, and scaled residues to the end of a division.
#include <algorithm>

#include "poly/cuda/cluster/conversion.cuh"

namespace hemera::poly::cuda {
namespace {

// The limbs that become scaled residues.
enum class ScaledFrom : std::uint8_t {
  values,
  product,   // of the values of two inputs
  operands,  // the values of one input, then those of the other, uncentred and in paired order
};

template <class A>
struct ClusterScaledPass {
  DeviceView out;
  ConstDeviceView in, other;
  unsigned other_from;  // limb of `out`: the operands' second half
  unsigned components;
  std::uint16_t positions[limbs_per_launch];  // in the inputs
  LimbModuli limbs;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const typename A::Twiddle* roots;  // [limb, 2]
  const std::uint64_t* shifts;       // [limb]
};

// Grid [block of the cluster, polynomial, limb].
template <class A, int log_rows, ScaledFrom from>
__global__ void __launch_bounds__(32 * ClusterShape<log_rows>::block_rows)
    cluster_scaled_kernel(const __grid_constant__ ClusterScaledPass<A> pass) {
#if defined(HEMERA_HAS_CLUSTERS)
  using Ring = ClusterTransform<A, log_rows>;
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb], rank = cluster_rank();
  const unsigned part = threadIdx.x / 32, t = threadIdx.x % 16;
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  constexpr bool operands = from == ScaledFrom::operands;
  const std::uint64_t shift = operands ? 0 : pass.shifts[limb];
  auto* factors = dynamic_shared<typename A::Twiddle>();
  auto* columns_area = reinterpret_cast<Value*>(factors + Ring::factors);
  Value* scratch = columns_area + Ring::block_words + part * Ring::scratch_words;
  Ring::load_factors(factors, pass.tables + std::size_t{index} * TableLayout(log_rows).size(), rank,
                     pass.roots + 2 * limb);
  finish_copies();
  cluster_arrive();
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned first = row_size * (Ring::block_rows * rank + part) + t;
  const std::uint64_t* in = (operands && limb >= pass.other_from ? pass.other : pass.in)
                                .limb(batch, component, pass.positions[limb]) +
                            first;
  Value x[8];
  if constexpr (from == ScaledFrom::product) {
    const std::uint64_t* factor = pass.other.limb(batch, component, pass.positions[limb]) + first;
    std::uint64_t words[2][8];
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
      words[0][i] = in[16 * Ring::Share::together(i)];
      words[1][i] = factor[16 * Ring::Share::together(i)];
    }
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) x[i] = lazy_product<A>(words[0][i], words[1][i], q, m);
  } else {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) x[i] = A::load(in[16 * Ring::Share::together(i)], m);
  }
  cluster_wait();
  Ring::inverse_row(x, scratch, part, factors, m);
  Ring::give_columns(x, columns_area, rank, part);
  cluster_arrive();
  cluster_wait();
  scaled_columns_of<A, log_rows, operands>(pass.out.limb(batch, component, limb), columns_area, scratch,
                                           factors, shift, rank, part, m);
#endif
}

template <class A>
struct ClusterDividePass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView remainders;
  unsigned components;
  std::int16_t kept[limbs_per_launch];
  LimbModuli limbs;
  LimbFactors inverses;
  Correction correction;
  const LimbConversion* conversions;  // [limb]
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Grid [block of the cluster, polynomial, limb].
template <class A, int log_rows>
__global__ void __launch_bounds__(32 * ClusterShape<log_rows>::block_rows)
    cluster_divide_kernel(const __grid_constant__ ClusterDividePass<A> pass) {
#if defined(HEMERA_HAS_CLUSTERS)
  using Ring = ClusterTransform<A, log_rows>;
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb], rank = cluster_rank();
  const unsigned part = threadIdx.x / 32, t = threadIdx.x % 16;
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  auto* conversion = dynamic_shared<LimbConversion>();
  auto* factors = reinterpret_cast<typename A::Twiddle*>(conversion + 1);
  auto* rows_area = reinterpret_cast<Value*>(factors + Ring::factors);
  Value* scratch = rows_area + Ring::block_words + part * Ring::scratch_words;
  const typename A::Twiddle* table = pass.tables + std::size_t{index} * TableLayout(log_rows).size();
  Ring::load_factors(factors, table, rank, table);
  load_table(conversion, pass.conversions + limb, 1);
  finish_copies();
  cluster_arrive();
  cluster_wait();
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  Value x[8];
  const ScaledSource remainders{pass.remainders.limb(batch, component, 0), pass.remainders.limb_stride, 1, 0};
  convert_columns_of<A, log_rows>(x, *conversion, pass.correction, remainders, Ring::first_column(rank, part),
                                  q, m);
  Ring::forward_columns(x, scratch, factors, m);
  Ring::give_rows(x, rows_area, rank, part);
  cluster_arrive();
  const unsigned first = row_size * (Ring::block_rows * rank + part) + t;
  std::uint64_t minuend[8] = {};
  if (pass.kept[limb] >= 0) {
    const std::uint64_t* in = pass.in.limb(batch, component, static_cast<unsigned>(pass.kept[limb])) + first;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) minuend[i] = in[16 * Ring::Share::together(i)];
  }
  cluster_wait();
  Ring::take_row(x, rows_area + row_size * part);
  Ring::forward_row(x, scratch, part, factors, m);
  std::uint64_t* out = pass.out.limb(batch, component, limb) + first;
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    out[16 * Ring::Share::together(i)] = end_division<A>(A::load(minuend[i], m), x[i], inverse, Value{}, m);
  }
#endif
}

template <ScaledFrom from>
void launch_scaled(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                   const ConstPolyView& in, const ConstPolyView& other, std::span<const ScaledLimb> limbs,
                   const ScaledTables& scaled) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape shape = out.shape;
    shape.limbs = limbs.size();
    for_each_launch(shape, [&](const Part& part) {
      ClusterScaledPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.in = device_view(part.batches_of(in));
      pass.other = device_view(part.batches_of(other));
      pass.other_from = static_cast<unsigned>(std::max(limbs.size() / 2, part.first_limb) - part.first_limb);
      pass.components = static_cast<unsigned>(shape.components);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        pass.limbs.ring_index[i] = limbs[part.first_limb + i].ring_index;
        pass.positions[i] = limbs[part.first_limb + i].position;
      }
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.inverse.data();
      pass.roots = reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()) + 2 * part.first_limb;
      pass.shifts = scaled.shifts.data() + part.first_limb;
      const auto launch_rows = [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using Shape = ClusterShape<log_rows>;
        launch_clusters("scaled inverse transform", launcher.stream, cluster_scaled_kernel<A, log_rows, from>,
                        {Shape::blocks, static_cast<unsigned>(part.batches * shape.components),
                         static_cast<unsigned>(part.limbs)},
                        {32 * Shape::block_rows}, Shape::blocks, cluster_transform_bytes<A, log_rows>(),
                        pass);
      };
      if constexpr (from == ScaledFrom::operands) {
        launch_rows(std::integral_constant<int, cluster_operands_log_rows>());
      } else {
        with_cluster_rows(launcher.log_rows(), launch_rows);
      }
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace

void cluster_scaled(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& in, const ConstPolyView& factor, std::span<const ScaledLimb> limbs,
                    const ScaledTables& scaled) {
  if (factor.data == nullptr) {
    return launch_scaled<ScaledFrom::values>(launcher, arithmetic, out, in, in, limbs, scaled);
  }
  launch_scaled<ScaledFrom::product>(launcher, arithmetic, out, in, factor, limbs, scaled);
}

void cluster_operands(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                      const ConstPolyView& first, const ConstPolyView& second,
                      std::span<const ScaledLimb> limbs, const ScaledTables& scaled) {
  launch_scaled<ScaledFrom::operands>(launcher, arithmetic, out, first, second, limbs, scaled);
}

void cluster_divide(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& in, const ConstPolyView& remainders, const Division& plan,
                    const ClusterDivision& division) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      ClusterDividePass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.in = device_view(part.batches_of(in));
      pass.remainders = device_view(part.batches_of(remainders));
      pass.components = static_cast<unsigned>(out.shape.components);
      pass.limbs = limb_moduli(plan.target(), part.first_limb, part.limbs);
      set_kept(pass.kept, plan, part);
      set_inverses<A>(pass.inverses, plan, part);
      pass.correction = division.correction;
      pass.conversions = division.conversions.data() + part.first_limb;
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      with_cluster_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using Shape = ClusterShape<log_rows>;
        launch_clusters("divide_and_round", launcher.stream, cluster_divide_kernel<A, log_rows>,
                        {Shape::blocks, static_cast<unsigned>(part.batches * out.shape.components),
                         static_cast<unsigned>(part.limbs)},
                        {32 * Shape::block_rows}, Shape::blocks,
                        sizeof(LimbConversion) + cluster_transform_bytes<A, log_rows>(), pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
