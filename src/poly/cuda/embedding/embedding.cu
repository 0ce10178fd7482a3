// Encoding and decoding: transforms, and between doubles and residues one thread a coefficient.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "poly/cuda/embedding/embedding.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/embedding_arithmetic.hpp"
#include "poly/embedding_checks.hpp"
#include "poly/embedding_tables.hpp"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;
using runtime::Workspace;

constexpr unsigned threads = 128;
constexpr unsigned limbs_per_block = 8;

// `words`: of the largest magnitude of the polynomial.
__device__ __forceinline__ std::uint64_t residue(const ScaledInteger& value, int words, const Modulus& q) {
  std::uint64_t result;
  if (words == 1) {
    result = q.reduce(bits_from(value, 0));
  } else {
    // Horner's rule from the two highest words down.
    const std::uint64_t top = bits_from(value, 64 * (words - 1));
    result = q.reduce(static_cast<uint128>(top) << 64 | bits_from(value, 64 * (words - 2)));
    for (int w = words - 3; w >= 0; --w) {
      result = q.reduce(static_cast<uint128>(result) << 64 | bits_from(value, 64 * w));
    }
  }
  return (q.negate(result) & value.negative) | (result & ~value.negative);
}

// The coefficients of X^p and X^(p + N/2) by one thread: grid [tile, batch, group of limbs]. Only multiples
// of the gap N / 2n have any.
__global__ void __launch_bounds__(threads)
    round_kernel(DeviceView out, const Complex* values, std::size_t values_stride, unsigned log_gap,
                 unsigned half, unsigned limbs, Scale scale, const unsigned long long* largest,
                 unsigned largest_stride, const __grid_constant__ LimbModuli moduli_of,
                 const Modulus* moduli) {
  begin_kernel();
  const unsigned p = blockIdx.x * threads + threadIdx.x;
  const int words = magnitude_bits(largest[blockIdx.y * largest_stride], scale) / 64 + 1;
  Complex value{0, 0};
  if (p % (1U << log_gap) == 0) value = values[blockIdx.y * values_stride + (p >> log_gap)];
  const ScaledInteger real = scaled_integer(value.x, scale);
  const ScaledInteger imaginary = scaled_integer(value.y, scale);
  const unsigned first = blockIdx.z * limbs_per_block;
  const unsigned end = first + limbs_per_block < limbs ? first + limbs_per_block : limbs;
  std::uint64_t* limb = out.limb(blockIdx.y, 0, first) + p;
  for (unsigned l = first; l < end; ++l, limb += out.limb_stride) {
    const Modulus q = moduli[moduli_of.ring_index[l]];
    limb[0] = residue(real, words, q);
    limb[half] = residue(imaginary, words, q);
  }
}

template <class A>
struct EmbedPass {
  DeviceView out;
  const Complex* values;          // [batch, n]
  const std::uint64_t* integers;  // [batch, 2n], modulo 2^64
  const unsigned long long* largest;
  unsigned batch_stride;  // 0: the values of one batch for all
  unsigned log_n;
  unsigned log_gap;
  Scale scale;
  LimbModuli limbs;
  const Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Integers to the columns of their transform: grid [tile, batch, limb].
template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads)
    embed_columns_kernel(const __grid_constant__ EmbedPass<A> pass) {
  using Tile = ColumnTile<log_rows>;
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const Modulus q = pass.ring_moduli[index];
  begin_kernel();
  const std::size_t source = std::size_t{blockIdx.y} * pass.batch_stride;
  const int bits = magnitude_bits(pass.largest[source], pass.scale);
  const bool one_word = bits < 63;
  const unsigned first = blockIdx.x * Tile::columns;
  std::uint64_t* out = pass.out.limb(blockIdx.y, 0, blockIdx.z) + first;
  const std::uint64_t* in = pass.integers + (source << (pass.log_n + 1));
  if (one_word && pass.log_gap == 0) {
    in += first;
  } else {
    // Coefficients that are 0 in between, or take several words: the tile's go first to where its columns
    // will.
    const Complex* values = pass.values + (source << pass.log_n);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < Tile::rows * Tile::columns; i += Tile::threads) {
      const unsigned entry = row_size * (i / Tile::columns) + i % Tile::columns, p = first + entry;
      std::uint64_t word = 0;
      if (p % (1U << pass.log_gap) == 0) {
        const unsigned n = p >> pass.log_gap;
        if (one_word) {
          word = in[n];
        } else {
          const Complex value = values[n & ((1U << pass.log_n) - 1)];
          word =
              residue(scaled_integer(n >> pass.log_n == 0 ? value.x : value.y, pass.scale), bits / 64 + 1, q);
        }
      }
      out[entry] = word;
    }
    __syncthreads();
    in = out;
  }
  const unsigned column = threadIdx.x % Tile::columns;
  const auto transform = [&](const auto& word_of) {
    forward_columns<A, log_rows>(
        [&](std::size_t row) { return load_integer<A>(word_of((in + column)[row_size * row]), m); },
        [&](std::size_t row, typename A::Value x) { (out + column)[row_size * row] = A::to_bits(x); },
        dynamic_shared<typename A::Value>(), pass.tables + std::size_t{index} * TableLayout(log_rows).size(),
        m);
  };
  // No branch between the loads, which would wait for one another.
  if (one_word && bits >= q.bits()) {
    transform([&](std::uint64_t word) { return q.reduce_signed(static_cast<std::int64_t>(word)); });
  } else {
    transform([](std::uint64_t word) { return word; });
  }
}

template <typename T>
T* take(Workspace& workspace, std::size_t count) {
  return reinterpret_cast<T*>(workspace.take(count * sizeof(T)));
}

std::vector<Complex> roots_of(std::size_t degree) {
  check_embedding_degree(degree);
  std::vector<Complex> result;
  for (const std::complex<double>& root : embedding_roots(degree))
    result.push_back({root.real(), root.imag()});
  return result;
}

}  // namespace

Embedding::Embedding(std::size_t degree, std::shared_ptr<runtime::Memory> memory,
                     std::shared_ptr<const runtime::cuda::Streams> streams)
    : degree_(degree),
      roots_(memory, *streams, roots_of(degree)),
      centering_(std::move(memory), std::move(streams)) {}

void Embedding::embed(const Launcher& launcher, const PolyView& out, const SlotView& slots, double scale,
                      const RnsBase& base, Workspace& workspace) const {
  const std::size_t n = slots.slots;
  const unsigned log_gap = log2_exact(degree_ / (2 * n));
  const Workspace::Frame frame(workspace);
  auto* const values = take<Complex>(workspace, n * slots.batch);
  auto* const largest = take<unsigned long long>(workspace, slots.batch);
  if (workspace.measures()) return;
  slots_to_values(launcher.stream, values, slots, roots_.data(), largest, {});

  const Scale scale_over_n = divided_scale(scale, n);
  const bool broadcast = slots.batch == 1;
  for_each_launch(out.shape, [&](const Part& part) {
    const auto limbs = static_cast<unsigned>(part.limbs);
    launch("embed", launcher.stream, round_kernel,
           {launcher.degree() / 2 / threads, static_cast<unsigned>(part.batches),
            (limbs + limbs_per_block - 1) / limbs_per_block},
           {threads}, 0, device_view(part.of(out)), values + (broadcast ? 0 : part.first_batch * n),
           broadcast ? 0 : n, log_gap, launcher.degree() / 2, limbs, scale_over_n,
           largest + (broadcast ? 0 : part.first_batch), broadcast ? 0U : 1U,
           limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

void Embedding::embed_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                              const SlotView& slots, double scale, const RnsBase& base,
                              Workspace& workspace) const {
  const std::size_t n = slots.slots;
  const Workspace::Frame frame(workspace);
  auto* const values = take<Complex>(workspace, n * slots.batch);
  auto* const integers = take<std::uint64_t>(workspace, 2 * n * slots.batch);
  auto* const largest = take<unsigned long long>(workspace, slots.batch);
  if (workspace.measures()) return;
  const Scale scale_over_n = divided_scale(scale, n);
  slots_to_values(launcher.stream, values, slots, roots_.data(), largest, {integers, scale_over_n});

  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      const std::size_t first = slots.batch == 1 ? 0 : part.first_batch;
      const EmbedPass<A> pass{.out = device_view(part.of(out)),
                              .values = values + first * n,
                              .integers = integers + first * 2 * n,
                              .largest = largest + first,
                              .batch_stride = slots.batch == 1 ? 0U : 1U,
                              .log_n = log2_exact(n),
                              .log_gap = log2_exact(degree_ / (2 * n)),
                              .scale = scale_over_n,
                              .limbs = limb_moduli(base, part.first_limb, part.limbs),
                              .ring_moduli = launcher.tables->moduli(),
                              .moduli = tables.moduli.data(),
                              .tables = tables.forward.data()};
      with_log_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using Tile = ColumnTile<log_rows>;
        launch("embed", launcher.stream, embed_columns_kernel<A, log_rows>,
               {row_size / Tile::columns, static_cast<unsigned>(part.batches),
                static_cast<unsigned>(part.limbs)},
               {Tile::threads}, Tile::shared_words * sizeof(typename A::Value), pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

void Embedding::unembed(const Launcher& launcher, const SlotView& slots, const ConstPolyView& in,
                        double scale, const RnsBase& base, Workspace& workspace, double* largest) const {
  const std::size_t n = slots.slots;
  int exponent = 0;
  const double divisor = 2 * std::frexp(scale, &exponent);
  const Workspace::Frame frame(workspace);
  auto* const values = take<Complex>(workspace, n * slots.batch);
  // Doubles without a sign order like their bit patterns.
  auto* const patterns = reinterpret_cast<unsigned long long*>(largest);
  if (workspace.measures()) return;
  centering_.center(launcher, values, in, slots.batch, log2_exact(n), log2_exact(degree_ / (2 * n)), base,
                    exponent - 1, divisor, patterns);
  values_to_slots(launcher.stream, slots, values, roots_.data(), patterns);
}

}  // namespace hemera::poly::cuda
