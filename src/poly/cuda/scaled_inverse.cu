// Values to scaled residues, and what exact conversions need beside them.
#include "poly/cuda/fused.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::uint128;

struct Positions {
  std::uint16_t limb[limbs_per_launch];  // of the input
};

template <class A>
struct ScaledPass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView factor;
  unsigned components;
  LimbModuli limbs;
  Positions positions;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const typename A::Twiddle* roots;  // [limb, 2]
  const std::uint64_t* shifts;       // [limb]
};

// Grid [tile, polynomial, limb].
template <class A, bool product>
__global__ void __launch_bounds__(128, A::row_blocks)
    scaled_rows_kernel(const __grid_constant__ ScaledPass<A> pass, int log_rows) {
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * (blockDim.x / 16) + local_row;
  const unsigned from = pass.positions.limb[blockIdx.z], first = row_size * row + t;
  const std::uint64_t* in = pass.in.limb(batch, component, from) + first;
  typename A::Value x[16];
  if constexpr (product) {
    const std::uint64_t* factor = pass.factor.limb(batch, component, from) + first;
    const arith::Modulus q = pass.ring_moduli[index];
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) x[k] = lazy_product<A>(in[16 * k], factor[16 * k], q, m);
  } else {
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) x[k] = A::load(in[16 * k], m);
  }
  inverse_row<A>(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t,
                 pass.tables + std::size_t{index} * layout.size(), layout, m);
  std::uint64_t* out = pass.out.limb(batch, component, blockIdx.z) + row_size * row + t;
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) out[16 * k] = A::to_bits(x[k]);
}

// In place: a block reads its tile of 16 columns before it writes that of another order, so the orders of
// reading and writing go to different arrays.
template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads)
    scaled_columns_kernel(const __grid_constant__ ScaledPass<A> pass) {
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const std::uint64_t q = integer_modulus<A>(m);
  const std::uint64_t shift = pass.shifts[blockIdx.z];
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned column = blockIdx.x * 16 + threadIdx.x % 16;
  const std::uint64_t* in = pass.in.limb(batch, component, blockIdx.z);
  std::uint64_t* out = pass.out.limb(batch, component, blockIdx.z);
  inverse_columns<A, log_rows>(
      [&](unsigned row) { return A::from_bits(in[row_size * row + column]); },
      [&](unsigned row, typename A::Value x) {
        const std::uint64_t difference = A::finish_inverse(x, m) + shift - q;
        out[paired_index<log_rows>(row, column)] = difference + (q & (0 - (difference >> 63)));
      },
      dynamic_shared<typename A::Value>(), pass.tables + std::size_t{index} * TableLayout(log_rows).size(),
      pass.roots + 2 * blockIdx.z, m);
}

struct Extra {
  const ConversionSource* sources;
  const std::uint64_t* weights;
  unsigned source_count;
  bool quotient;
  bool correction;
  arith::Modulus plain;
  std::uint64_t minus_product;
  std::uint64_t minus_shift;
  std::uint64_t negative_inverse;
};

// Coefficient by coefficient, in whatever order: grid [tile, polynomial].
__global__ void __launch_bounds__(256)
    extra_rows_kernel(DeviceView scratch, unsigned components, const __grid_constant__ Extra extra) {
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned n = blockIdx.x * 256 + threadIdx.x;
  const std::uint64_t* rows = scratch.limb(batch, component, 0) + n;
  uint128 quotient = std::uint64_t{1} << 63;
  uint128 plain = extra.minus_shift;
  for (unsigned i = 0; i < extra.source_count; ++i) {
    const std::uint64_t y = rows[i * scratch.limb_stride];
    if (extra.quotient) {
      quotient += static_cast<std::uint64_t>((static_cast<uint128>(y) * extra.sources[i].quotient_factor) >>
                                             extra.sources[i].quotient_shift);
    }
    if (extra.correction) plain += static_cast<uint128>(y) * extra.weights[i];
  }
  const std::uint64_t v = extra.quotient ? static_cast<std::uint64_t>(quotient >> 64) : 0;
  unsigned row = extra.source_count;
  if (extra.correction) {
    const arith::Modulus& t = extra.plain;
    const std::uint64_t delta = t.reduce(plain + static_cast<uint128>(v) * extra.minus_product);
    // The centred [-delta D^-1]_t, shifted to unsigned.
    scratch.limb(batch, component, row++)[n] =
        t.add(t.multiply(delta, extra.negative_inverse), (t.value() - 1) / 2);
  }
  if (extra.quotient) scratch.limb(batch, component, row)[n] = v;
}

}  // namespace

void scaled_inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                              const PolyView& between, const ConstPolyView& in, const ConstPolyView& factor,
                              const std::vector<std::uint32_t>& positions, const RnsBase& base,
                              const ScaledTables& scaled) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape shape = out.shape;
    shape.limbs = base.size();
    for_each_launch(shape, [&](const Part& part) {
      ScaledPass<A> pass{};
      pass.out = device_view(part.of(between));
      // All limbs of the input: its positions are not the output's.
      const auto of = [&](const ConstPolyView& view) {
        return device_view(view.shape.batch == 1 ? view : view.batches(part.first_batch, part.batches));
      };
      pass.in = of(in);
      const bool product = factor.data != nullptr;
      if (product) pass.factor = of(factor);
      pass.ring_moduli = launcher.tables->moduli();
      pass.components = static_cast<unsigned>(shape.components);
      pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        pass.positions.limb[i] = static_cast<std::uint16_t>(positions[part.first_limb + i]);
      }
      pass.moduli = tables.moduli.data();
      pass.tables = tables.inverse.data();
      pass.roots = reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()) + 2 * part.first_limb;
      pass.shifts = scaled.shifts.data() + part.first_limb;
      const auto polynomials = static_cast<unsigned>(part.batches * shape.components);
      const auto limbs = static_cast<unsigned>(part.limbs);
      constexpr unsigned rows_per_block = 8;
      launch("scaled inverse transform", launcher.stream,
             product ? scaled_rows_kernel<A, true> : scaled_rows_kernel<A, false>,
             {(1U << launcher.log_rows()) / rows_per_block, polynomials, limbs}, {16 * rows_per_block},
             rows_per_block * row_size * sizeof(typename A::Value), pass, launcher.log_rows());
      pass.in = device_view(ConstPolyView(part.of(between)));
      pass.out = device_view(part.of(out));
      with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using Tile = ColumnTile<log_rows>;
        launch("scaled inverse transform", launcher.stream, scaled_columns_kernel<A, log_rows>,
               {row_size / Tile::columns, polynomials, limbs}, {Tile::threads},
               Tile::shared_words * sizeof(typename A::Value), pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

void extra_rows(const Launcher& launcher, const PolyView& scratch, const ExtraTables& tables) {
  if (!tables.quotient && !tables.correction) return;
  PolyShape one_limb = scratch.shape;
  one_limb.limbs = 1;
  for_each_launch(one_limb, [&](const Part& part) {
    const PolyView view =
        scratch.shape.batch == 1 ? scratch : scratch.batches(part.first_batch, part.batches);
    const auto components = static_cast<unsigned>(scratch.shape.components);
    launch("divide_and_round", launcher.stream, extra_rows_kernel,
           {launcher.degree() / 256, static_cast<unsigned>(part.batches) * components}, {256}, 0,
           device_view(view), components,
           Extra{tables.sources.data(), tables.weights.data(), tables.source_count, tables.quotient,
                 tables.correction, tables.plain, tables.minus_product, tables.minus_shift,
                 tables.negative_inverse});
  });
}

}  // namespace hemera::poly::cuda
