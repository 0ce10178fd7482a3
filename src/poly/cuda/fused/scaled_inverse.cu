// Values to scaled residues, and what exact conversions need beside them.
#include <algorithm>

#include "poly/cuda/cluster/cluster.cuh"
#include "poly/cuda/fused/byte_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"
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
  ConstDeviceView second;  // instead of `in` from limb second_from on
  unsigned second_from;
  unsigned components;
  LimbModuli limbs;
  Positions positions;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  const typename A::Twiddle* roots;  // [limb, 2]
  const std::uint64_t* shifts;       // [limb]
  const ConversionSource* sources;   // [limb], where a quotient is made
  unsigned limb_count;
};

// Instead of the pass's inputs those of several pairs, which are apart.
struct Pairs {
  ConstDeviceView first[pairs_per_launch];
  ConstDeviceView second[pairs_per_launch];
  unsigned batch;  // of a pair
};
struct NoPairs {};

// Grid [tile, polynomial, limb].
template <class A, int values, bool product, class Apart>
__global__ void __launch_bounds__(128, A::row_blocks)
    scaled_rows_kernel(const __grid_constant__ ScaledPass<A> pass, const __grid_constant__ Apart pairs,
                       int log_rows) {
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  using Share = RowShare<A, values>;
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / Share::threads;
  const unsigned row = blockIdx.x * (blockDim.x / Share::threads) + local_row;
  const unsigned from = pass.positions.limb[blockIdx.z], first = row_size * row + t;
  const bool second = blockIdx.z >= pass.second_from;
  const std::uint64_t* in;
  if constexpr (std::is_same_v<Apart, Pairs>) {
    const unsigned pair = batch / pairs.batch;
    const ConstDeviceView& view = second ? pairs.second[pair] : pairs.first[pair];
    in = view.limb(batch % pairs.batch, component, from) + first;
  } else {
    in = (second ? pass.second : pass.in).limb(batch, component, from) + first;
  }
  typename A::Value x[values];
  if constexpr (product) {
    const std::uint64_t* factor = pass.factor.limb(batch, component, from) + first;
    const arith::Modulus q = pass.ring_moduli[index];
#pragma unroll
    for (unsigned i = 0; i < values; ++i) {
      const unsigned entry = 16 * Share::together(i);
      x[i] = lazy_product<A>(in[entry], factor[entry], q, m);
    }
  } else {
#pragma unroll
    for (unsigned i = 0; i < values; ++i) x[i] = A::load(in[16 * Share::together(i)], m);
  }
  Share::inverse(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t,
                 pass.tables + std::size_t{index} * layout.size(), layout, m);
  std::uint64_t* out = pass.out.limb(batch, component, blockIdx.z) + row_size * row + t;
#pragma unroll
  for (unsigned i = 0; i < values; ++i) out[16 * Share::spread(i)] = A::to_bits(x[i]);
}

// In place: a block reads its tile of 16 columns before it writes that of another order, so the orders of
// reading and writing go to different arrays. Grid [tile, polynomial, limb]. With a quotient the limbs of a
// tile are a cluster, which sums their fractions: grid [limb, tile, polynomial].
template <class A, int log_rows, bool with_quotient>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads, A::inverse_column_blocks)
    scaled_columns_kernel(const __grid_constant__ ScaledPass<A> pass) {
  using Tile = ColumnTile<log_rows>;
  const unsigned limb = with_quotient ? blockIdx.x : blockIdx.z;
  const unsigned tile = with_quotient ? blockIdx.y : blockIdx.x;
  const unsigned polynomial = with_quotient ? blockIdx.z : blockIdx.y;
  const unsigned index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const std::uint64_t q = integer_modulus<A>(m);
  const std::uint64_t shift = pass.shifts[limb];
  std::uint64_t factor = 0;
  unsigned factor_shift = 0;
  if constexpr (with_quotient) {
    factor = pass.sources[limb].quotient_factor;
    factor_shift = pass.sources[limb].quotient_shift;
  }
  begin_kernel();
  const unsigned batch = polynomial / pass.components, component = polynomial % pass.components;
  const unsigned column = tile * Tile::columns + threadIdx.x % Tile::columns;
  const std::uint64_t* in = pass.in.limb(batch, component, pass.positions.limb[limb]) + column;
  auto* out = reinterpret_cast<ulonglong2*>(pass.out.limb(batch, component, limb));
  auto* fractions = dynamic_shared<std::uint64_t>() + threadIdx.x % Tile::columns;  // where values were
  const auto scaled = [&](typename A::Value x) {
    const std::uint64_t difference = A::finish_inverse(x, m) + shift - q;
    return difference + (q & (0 - (difference >> 63)));
  };
  inverse_columns<A, log_rows>([&](std::size_t row) { return A::from_bits(in[row_size * row]); },
                               [&](std::size_t row, unsigned i, typename A::Value x, typename A::Value y) {
                                 const std::uint64_t first = scaled(x), second = scaled(y);
                                 (out + first_pair<log_rows>(row, column))[8 * i] = paired(first, second);
                                 if constexpr (with_quotient) {
                                   std::uint64_t* at = fractions + (row + 32 * i) * Tile::columns;
                                   at[0] = fraction(first, factor, factor_shift);
                                   at[16 * Tile::columns] = fraction(second, factor, factor_shift);
                                 }
                               },
                               dynamic_shared<typename A::Value>(),
                               pass.tables + std::size_t{index} * TableLayout(log_rows).size(),
                               pass.roots + 2 * limb, m);
  if constexpr (with_quotient) {
    cluster_arrive();
    cluster_wait();
    auto* quotients = reinterpret_cast<ulonglong2*>(pass.out.limb(batch, component, pass.limb_count));
    // Each block of the cluster has its share of the pairs.
    constexpr unsigned pairs = Tile::rows / 2 * Tile::columns;
    for (unsigned unit = limb * Tile::threads + threadIdx.x; unit < pairs;
         unit += pass.limb_count * Tile::threads) {
      const unsigned row = unit / Tile::columns % 16, i = unit / Tile::columns / 16;
      std::uint64_t* at = fractions + (row + 32 * i) * Tile::columns;
      uint128 sums[2] = {std::uint64_t{1} << 63, std::uint64_t{1} << 63};
#pragma unroll 8
      for (unsigned other = 0; other < pass.limb_count; ++other) {
        const std::uint64_t* theirs = shared_of(at, other);
        sums[0] += theirs[0];
        sums[1] += theirs[16 * Tile::columns];
      }
      (quotients + first_pair<log_rows>(row, column))[8 * i] = make_ulonglong2(
          static_cast<std::uint64_t>(sums[0] >> 64), static_cast<std::uint64_t>(sums[1] >> 64));
    }
    cluster_arrive();
    cluster_wait();
  }
}

struct Extra {
  const ConversionSource* sources;
  const std::uint64_t* weights;
  unsigned source_count;
  bool quotient;
  bool has_correction;
  Correction correction;
};

constexpr unsigned extra_threads = 128;

// What the kernel knows of a source.
struct ExtraSource {
  std::uint64_t quotient_factor;
  std::uint64_t weight;
  unsigned quotient_shift;
};

// A pair of coefficients a thread, in whatever order: grid [tile, polynomial]. There is little to do, so it
// is a matter of waits: the sources' numbers come before that for the kernel before.
__global__ void __launch_bounds__(extra_threads)
    extra_rows_kernel(DeviceView scratch, unsigned components, const __grid_constant__ Extra extra) {
  auto* sources = dynamic_shared<ExtraSource>();
  for (unsigned i = threadIdx.x; i < extra.source_count; i += extra_threads) {
    const ConversionSource& source = extra.sources[i];
    sources[i] = {source.quotient_factor, extra.has_correction ? extra.weights[i] : 0, source.quotient_shift};
  }
  __syncthreads();
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const auto pairs_of = [&](unsigned limb) {
    return reinterpret_cast<ulonglong2*>(scratch.limb(batch, component, limb)) + blockIdx.x * extra_threads +
           threadIdx.x;
  };
  uint128 quotient[2] = {std::uint64_t{1} << 63, std::uint64_t{1} << 63};
  uint128 plain[2] = {};
  // Residues of this many limbs are on their way at a time.
  constexpr unsigned at_once = 16;
#pragma unroll 1
  for (unsigned first = 0; first < extra.source_count; first += at_once) {
    ulonglong2 halves[at_once] = {};
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (first + i < extra.source_count) halves[i] = *pairs_of(first + i);
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (first + i >= extra.source_count) break;
      const ulonglong2 pair = paired(halves[i].x, halves[i].y);
      const std::uint64_t y[2] = {pair.x, pair.y};
      const ExtraSource& source = sources[first + i];
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        if (extra.quotient) {
          quotient[k] += fraction(y[k], source.quotient_factor, source.quotient_shift);
        }
        if (extra.has_correction) plain[k] += static_cast<uint128>(y[k]) * source.weight;
      }
    }
  }
  std::uint64_t v[2] = {};
  if (extra.quotient) {
    v[0] = static_cast<std::uint64_t>(quotient[0] >> 64);
    v[1] = static_cast<std::uint64_t>(quotient[1] >> 64);
  }
  unsigned row = extra.source_count;
  if (extra.has_correction) {
    *pairs_of(row++) = paired(correction_of(extra.correction, plain[0], v[0]),
                              correction_of(extra.correction, plain[1], v[1]));
  }
  if (extra.quotient) *pairs_of(row) = make_ulonglong2(v[0], v[1]);
}

// Calls run(pass, polynomials, limbs) for parts of `out` and all limbs of the inputs: their positions are not
// the output's.
template <class A, typename Run>
void for_each_scaled(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const ConstPolyView& second, std::size_t first, std::span<const ScaledLimb> limbs,
                     const Run& run) {
  const TransformTables<A>& tables = launcher.tables->transforms<A>();
  PolyShape shape = out.shape;
  shape.limbs = limbs.size();
  for_each_launch(shape, [&](const Part& part) {
    ScaledPass<A> pass{};
    pass.out = device_view(part.of(out));
    pass.in = device_view(part.batches_of(in));
    pass.second = device_view(part.batches_of(second));
    pass.second_from = static_cast<unsigned>(std::max(first, part.first_limb) - part.first_limb);
    pass.components = static_cast<unsigned>(shape.components);
    for (std::size_t i = 0; i < part.limbs; ++i) {
      pass.limbs.ring_index[i] = limbs[part.first_limb + i].ring_index;
      pass.positions.limb[i] = limbs[part.first_limb + i].position;
    }
    pass.ring_moduli = launcher.tables->moduli();
    pass.moduli = tables.moduli.data();
    pass.tables = tables.inverse.data();
    run(pass, part, static_cast<unsigned>(part.batches * shape.components),
        static_cast<unsigned>(part.limbs));
  });
}

template <class A, class Apart>
void launch_rows(const Launcher& launcher, const ScaledPass<A>& pass, const Apart& pairs,
                 unsigned polynomials, unsigned limbs) {
  const unsigned rows = 1U << launcher.log_rows();
  const bool few = few_rows<A>(std::size_t{rows} * polynomials * limbs, *launcher.sizes);
  const unsigned rows_per_block = few ? 4 : 8;
  const auto choose = [&]<bool product>(std::bool_constant<product>) {
    return few ? scaled_rows_kernel<A, 8, product, Apart> : scaled_rows_kernel<A, 16, product, Apart>;
  };
  auto kernel = choose(std::false_type{});
  if constexpr (std::is_same_v<Apart, NoPairs>) {
    if (pass.factor.data != nullptr) kernel = choose(std::true_type{});
  }
  launch_as({.grid = {rows / rows_per_block, polynomials, limbs},
             .block = {128},
             .shared_bytes = rows_per_block * row_size * sizeof(typename A::Value),
             .carve_out = launcher.sizes->carve_out},
            "scaled inverse transform", launcher.stream, kernel, pass, pairs, launcher.log_rows());
}

}  // namespace

void scaled_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& second, std::size_t first,
                 const ConstPolyView& factor, std::span<const ScaledLimb> limbs) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_scaled<A>(launcher, out, in, second, first, limbs,
                       [&](ScaledPass<A> pass, const Part& part, unsigned polynomials, unsigned count) {
                         if (factor.data != nullptr) pass.factor = device_view(part.batches_of(factor));
                         launch_rows<A>(launcher, pass, NoPairs{}, polynomials, count);
                       });
  };
  with_arithmetic(arithmetic, run);
}

void scaled_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 std::span<const ConstPolyView> first, std::span<const ConstPolyView> second,
                 std::span<const ScaledLimb> limbs) {
  Pairs pairs{};
  for (std::size_t i = 0; i < first.size(); ++i) {
    pairs.first[i] = device_view(first[i]);
    pairs.second[i] = device_view(second[i]);
  }
  pairs.batch = static_cast<unsigned>(out.shape.batch / first.size());
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_scaled<A>(launcher, out, out, out, limbs.size() / 2, limbs,
                       [&](const ScaledPass<A>& pass, const Part&, unsigned polynomials, unsigned count) {
                         launch_rows<A>(launcher, pass, pairs, polynomials, count);
                       });
  };
  with_arithmetic(arithmetic, run);
}

void scaled_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& between, std::span<const ScaledLimb> limbs,
                    const ScaledTables& scaled, const ExtraTables* quotient) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    for_each_scaled<A>(
        launcher, out, between, between, limbs.size(), limbs,
        [&](ScaledPass<A> pass, const Part& part, unsigned polynomials, unsigned count) {
          pass.roots =
              reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()) + 2 * part.first_limb;
          pass.shifts = scaled.shifts.data() + part.first_limb;
          with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
            using Tile = ColumnTile<log_rows>;
            constexpr std::size_t shared_bytes = Tile::shared_words * sizeof(typename A::Value);
            if (quotient != nullptr) {
              pass.sources = quotient->sources.data();
              pass.limb_count = count;
              return launch_clusters(
                  "scaled inverse transform", launcher.stream, scaled_columns_kernel<A, log_rows, true>,
                  {count, row_size / Tile::columns, polynomials}, {Tile::threads}, count, shared_bytes, pass);
            }
            launch_as({.grid = {row_size / Tile::columns, polynomials, count},
                       .block = {Tile::threads},
                       .shared_bytes = shared_bytes,
                       .carve_out = launcher.sizes->carve_out},
                      "scaled inverse transform", launcher.stream, scaled_columns_kernel<A, log_rows, false>,
                      pass);
          });
        });
  };
  with_arithmetic(arithmetic, run);
}

std::vector<ScaledLimb> scaled_limbs(const RnsBase& base, std::span<const std::uint32_t> positions) {
  std::vector<ScaledLimb> limbs;
  for (std::size_t i = 0; i < base.size(); ++i) {
    limbs.push_back({static_cast<std::uint16_t>(base.index(i)),
                     static_cast<std::uint16_t>(positions.empty() ? i : positions[i])});
  }
  return limbs;
}

void scaled_inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                              const PolyView& between, const ConstPolyView& in, const ConstPolyView& factor,
                              std::span<const std::uint32_t> positions, const RnsBase& base,
                              const ScaledTables& scaled) {
  scaled_rows(launcher, arithmetic, between, in, in, base.size(), factor, scaled_limbs(base, positions));
  scaled_columns(launcher, arithmetic, out, between, scaled_limbs(base), scaled);
}

void extra_rows(const Launcher& launcher, const PolyView& scratch, const ExtraTables& tables) {
  if (!tables.quotient && !tables.has_correction) return;
  for_each_batch_part(scratch.shape, [&](const Part& part) {
    const auto components = static_cast<unsigned>(scratch.shape.components);
    launch("divide_and_round", launcher.stream, extra_rows_kernel,
           {launcher.degree() / (2 * extra_threads), static_cast<unsigned>(part.batches) * components},
           {extra_threads}, tables.source_count * sizeof(ExtraSource), device_view(part.batches_of(scratch)),
           components,
           Extra{tables.sources.data(), tables.weights.data(), tables.source_count, tables.quotient,
                 tables.has_correction, tables.correction});
  });
}

}  // namespace hemera::poly::cuda
