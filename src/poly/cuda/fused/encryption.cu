// The columns of small integers' transforms, and rows that end in the product with a public or secret key.
#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/sampling/chacha20.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::uint128;

template <class A>
struct ColumnsPass {
  DeviceView out;
  ConstDeviceView integers;
  unsigned components;
  bool has_mask;
  bool scales;  // the errors
  LimbModuli limbs;
  LimbFactors factors;  // of the errors
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

template <class A>
struct RowsPass {
  DeviceView out;
  ConstDeviceView columns;
  ConstDeviceView key;
  ConstDeviceView addend;
  ConstDeviceView delta;
  bool adds;
  LimbModuli limbs;
  LimbFactors inverses;  // of the division
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// 2^64, in M64.
template <class A>
__device__ __forceinline__ typename A::Twiddle raising(const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, M64>) {
    return {m.square};
  } else {
    return {};
  }
}

// Grid [tile, component and batch, limb]. In M64 u is multiplied by 2^64, see masked.
template <class A, int log_rows>
__global__ void __launch_bounds__(ColumnTile<log_rows>::threads)
    small_columns_kernel(const __grid_constant__ ColumnsPass<A> pass) {
  const unsigned index = pass.limbs.ring_index[blockIdx.z];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle factor = factor_of<A>(pass.factors, blockIdx.z);
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned first = blockIdx.x * 16 + threadIdx.x % 16;
  const std::uint64_t* integers = pass.integers.limb(batch, component, 0) + first;
  std::uint64_t* out = pass.out.limb(batch, component, blockIdx.z) + first;
  const bool is_mask = component == 0 && pass.has_mask;
  const auto transform = [&](const auto& scaled) {
    forward_columns<A, log_rows>(
        [&](std::size_t row) { return scaled(load_integer<A>(integers[row_size * row], m)); },
        [&](std::size_t row, typename A::Value x) { out[row_size * row] = A::to_bits(x); },
        dynamic_shared<typename A::Value>(), pass.tables + std::size_t{index} * TableLayout(log_rows).size(),
        m);
  };
  // Branches stand before the loads: between them each load would wait for the one before.
  if (is_mask ? std::is_same_v<A, M64> : pass.scales) {
    const auto by = A::expand(is_mask ? raising<A>(m) : factor, m);
    transform([&](typename A::Value x) { return A::multiply(x, by, m); });
  } else {
    transform([](typename A::Value x) { return x; });
  }
}

// u key + e for lazy u and e, as end_division takes it.
template <class A>
__device__ __forceinline__ typename A::Value masked(typename A::Value u, std::uint64_t key,
                                                    typename A::Value e, const arith::Modulus& q,
                                                    const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return __dadd_rn(F64::multiply(u, F64::expand({F64::load(key, m)}, m), m), e);
  } else if constexpr (std::is_same_v<A, M64>) {
    return M64::lower(static_cast<uint128>(u) * key, m) + reduce_once<4>(e, m.q);  // below 1.6 q and 4 q
  } else {
    return q.reduce(static_cast<uint128>(u) * key + e);
  }
}

// The difference of two lazy values, for the rows' rounds.
template <class A>
__device__ __forceinline__ typename A::Value lazy_difference(typename A::Value a, typename A::Value b,
                                                             const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    return F64::reduce(__dsub_rn(a, b), m);
  } else {
    return reduce_once<4>(a, m.q) + 4 * m.q - reduce_once<4>(b, m.q);
  }
}

constexpr unsigned components = 3;  // u and the two errors
constexpr unsigned rows_per_block = 4;
constexpr unsigned block_words = rows_per_block * row_size;
constexpr unsigned rows_threads = 16 * components * rows_per_block;

// A warp takes two rows of u or of an error, from which delta has been subtracted; then the block takes the
// products: grid [tile, batch, limb].
template <class A, bool ends>
__global__ void __launch_bounds__(rows_threads, 4)
    mask_rows_kernel(const __grid_constant__ RowsPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, batch = blockIdx.y, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  begin_kernel();
  auto* shared = dynamic_shared<Value>();  // [component, row, entry]
  {
    const unsigned t = threadIdx.x % 16, unit = threadIdx.x / 16;
    const unsigned component = unit / rows_per_block, local_row = unit % rows_per_block;
    const unsigned row = blockIdx.x * rows_per_block + local_row, first = row_size * row + t;
    const std::uint64_t* columns = pass.columns.limb(batch, component, limb) + first;
    Value x[16];
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(columns[16 * k]);
    if (ends && component != 0) {
      const std::uint64_t* delta = pass.delta.limb(batch, component - 1, limb) + first;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = lazy_difference<A>(x[k], A::from_bits(delta[16 * k]), m);
    }
    Value* values = shared + component * block_words + local_row * row_size;
    forward_row<A>(x, values, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) {
      if constexpr (std::is_same_v<A, F64>) {
        values[16 * k + t] = F64::reduce(x[k], m);
      } else {
        values[16 * k + t] = x[k];
      }
    }
  }
  __syncthreads();
  for (unsigned unit = threadIdx.x; unit < block_words; unit += rows_threads) {
    const unsigned c = unit / (block_words / 2), entry = unit % (block_words / 2) * 2;
    const unsigned position = blockIdx.x * block_words + entry;
    const auto pair = [&](const std::uint64_t* words) {
      return *reinterpret_cast<const ulonglong2*>(words + position);
    };
    const ulonglong2 key = pair(pass.key.limb(0, c, limb));
    Value added[2] = {};
    if (pass.adds && c == 0) {
      const ulonglong2 words = pair(pass.addend.limb(batch, 0, limb));
      added[0] = A::load(words.x, m);
      added[1] = A::load(words.y, m);
    }
    const Value* u = shared + entry;
    const Value* e = shared + (1 + c) * block_words + entry;
    const auto result = [&](unsigned i, std::uint64_t word) {
      const Value value = masked<A>(u[i], word, e[i], q, m);
      return ends ? end_division<A>(value, Value{}, inverse, added[i], m)
                  : A::finish_forward(value + added[i], m);
    };
    *reinterpret_cast<ulonglong2*>(pass.out.limb(batch, c, limb) + position) =
        make_ulonglong2(result(0, key.x), result(1, key.y));
  }
}

template <class A>
struct SamplePass {
  DeviceView out;
  StreamKey uniform;
  unsigned first_limb;
  ConstDeviceView secret;
  ConstDeviceView addend;
  bool adds_all;
  std::uint16_t target[limbs_per_launch];  // the polynomial that a limb of the addend is added to
  LimbModuli limbs;
  LimbWords factors;  // of the addend
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// Samples modulo a prime: the uniform residue of random bits, and b = e - a s + factor addend.
template <class A>
class Sampler {
 public:
  __device__ __forceinline__ Sampler(const arith::Modulus& q, const typename A::Modulus&,
                                     std::uint64_t factor)
      : q_(q), factor_(factor) {}

  __device__ __forceinline__ std::uint64_t uniform(uint128 random) const { return reduce(random); }
  // e lazy, the others canonical; with a pointer to the addend if there is one.
  template <bool adds>
  __device__ __forceinline__ std::uint64_t sample(std::uint64_t a, std::uint64_t s, std::uint64_t e,
                                                  const std::uint64_t* addend) const {
    uint128 sum = static_cast<uint128>(a) * (q_.value() - s) + e;
    if (adds) sum += static_cast<uint128>(*addend) * factor_;
    return reduce(sum);
  }

 private:
  // Barrett's quotient but for what the lowest words add to it: at most three too small.
  __device__ __forceinline__ std::uint64_t reduce(uint128 x) const {
    const auto low = static_cast<std::uint64_t>(x), high = static_cast<std::uint64_t>(x >> 64);
    const std::uint64_t quotient = high * q_.ratio_high() + arith::multiply_high(high, q_.ratio_low()) +
                                   arith::multiply_high(low, q_.ratio_high());
    return reduce_once<1>(reduce_once<2>(low - quotient * q_.value(), q_.value()), q_.value());
  }

  const arith::Modulus& q_;
  std::uint64_t factor_;
};

// Samples by Montgomery's steps.
template <>
class Sampler<M64> {
 public:
  __device__ __forceinline__ Sampler(const arith::Modulus&, const M64::Modulus& m, std::uint64_t factor)
      : m_(m), multiple_(m.q << (30 - m.shift)), raised_(reduce_once<1>(M64::raise(factor, m), m.q)) {}

  // The upper word is brought below 2^64 - 2^62: that leaves room for both steps, and for the product.
  __device__ __forceinline__ std::uint64_t uniform(uint128 random) const {
    auto upper = static_cast<std::uint64_t>(random >> 64);
    if (upper >> 63 != 0) upper -= multiple_;
    const std::uint64_t lowered =
        M64::lower(static_cast<uint128>(upper) << 64 | static_cast<std::uint64_t>(random), m_);
    return reduce_once<1>(M64::raise(lowered, m_), m_.q);
  }
  template <bool adds>
  __device__ __forceinline__ std::uint64_t sample(std::uint64_t a, std::uint64_t s, std::uint64_t e,
                                                  const std::uint64_t* addend) const {
    std::uint64_t sum = e + M64::multiply(M64::raise(m_.q - s, m_), {a}, m_);  // at most 6 q and 2 q
    if (adds) sum += M64::multiply(*addend, {raised_}, m_);
    return M64::finish_forward(sum, m_);
  }

 private:
  const M64::Modulus& m_;
  std::uint64_t multiple_;  // of q, from 2^62 to 2^63
  std::uint64_t raised_;    // 2^64 times the factor
};

// On the FP64 units, which the stream leaves idle: words of 32 bits by Horner's rule.
template <>
class Sampler<F64> {
 public:
  __device__ __forceinline__ Sampler(const arith::Modulus& q, const F64::Modulus& m, std::uint64_t factor)
      : m_(m),
        word_(F64::expand({F64::centered(q.reduce(std::uint64_t{1} << 32), m)}, m)),
        factor_(F64::expand({F64::centered(factor, m)}, m)) {}

  __device__ __forceinline__ std::uint64_t uniform(uint128 random) const {
    double x = word<3>(random);
    x = __dadd_rn(F64::multiply_wide(x, word_, m_), word<2>(random));
    x = __dadd_rn(F64::multiply_wide(x, word_, m_), word<1>(random));
    x = __dadd_rn(F64::multiply_wide(x, word_, m_), word<0>(random));
    return F64::canonical(F64::reduce(x, m_), m_);
  }
  template <bool adds>
  __device__ __forceinline__ std::uint64_t sample(std::uint64_t a, std::uint64_t s, double e,
                                                  const std::uint64_t* addend) const {
    double sum = __dsub_rn(e, F64::multiply(F64::load(a, m_), F64::expand({F64::centered(s, m_)}, m_), m_));
    if (adds) sum = __dadd_rn(sum, F64::multiply(F64::load(*addend, m_), factor_, m_));
    return F64::finish_forward(sum, m_);
  }

 private:
  template <int index>
  __device__ __forceinline__ double word(uint128 random) const {
    return F64::load(static_cast<std::uint32_t>(random >> (32 * index)), m_);
  }

  const F64::Modulus& m_;
  F64::Factor word_, factor_;  // word_: 2^32
};

constexpr std::uint16_t no_target = 0xffff;
constexpr unsigned sample_rows_per_block = 8;
constexpr unsigned sample_threads = 16 * sample_rows_per_block;

// 16 threads take a row: grid [rows, batch, limb]. Thread t has entries 16 t + k of a row, which come from
// blocks 4 t, ..., 4 t + 3 of the stream: what draws them keeps other units busy than the transforms do, in
// 64 registers.
template <class A>
__global__ void __launch_bounds__(sample_threads, std::is_same_v<A, U64> ? A::row_blocks : 8)
    sample_rows_kernel(const __grid_constant__ SamplePass<A> pass, int log_rows) {
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, batch = blockIdx.y, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const std::uint64_t factor = pass.factors.word[limb];
  const bool adds = pass.adds_all || pass.target[limb] == batch;
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * sample_rows_per_block + local_row, first = row_size * row + t;
  std::uint64_t* const b = pass.out.limb(batch, 0, limb) + first;
  std::uint64_t* const a = pass.out.limb(batch, 1, limb) + first;
  const std::uint64_t* const s = pass.secret.limb(0, 0, limb) + first;
  Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(b[16 * k]);
  Value* const values = dynamic_shared<Value>() + local_row * row_size;
  forward_row<A>(x, values, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
  // Through shared memory to a loop: unrolled, its instructions would not fit their cache.
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) values[16 * k + t] = x[k];
  const std::uint64_t* const addend = adds ? pass.addend.limb(batch, 0, limb) + first : nullptr;
  constexpr unsigned drawn = 4;  // entries of a block of the stream
  const Sampler<A> sampler(q, m, factor);
  const RandomLimb stream(pass.uniform, batch, pass.first_limb + limb);
  const auto draw = [&]<bool has_addend>(std::bool_constant<has_addend>) {
#pragma unroll 1
    for (unsigned g = 0; g < 16 / drawn; ++g) {
      const RandomBlock random = stream.block(row_size / drawn * row + 16 / drawn * t + g);
#pragma unroll
      for (unsigned k = 0; k < drawn; ++k) {
        const unsigned entry = 16 * (drawn * g + k);
        const std::uint64_t word = sampler.uniform(random.r[k]);
        a[entry] = word;
        b[entry] = sampler.template sample<has_addend>(word, s[entry], values[entry + t],
                                                       has_addend ? addend + entry : nullptr);
      }
    }
  };
  if (adds) {
    draw(std::true_type{});
  } else {
    draw(std::false_type{});
  }
}

}  // namespace

void small_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                   const ConstPolyView& integers, bool has_mask, std::uint64_t factor, const RnsBase& base) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      ColumnsPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.integers = device_view(part.batches_of(integers));
      pass.components = static_cast<unsigned>(out.shape.components);
      pass.has_mask = has_mask;
      pass.scales = factor != 1;
      pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        const arith::Modulus& q = base.modulus(part.first_limb + i);
        set_factor<A>(pass.factors, i, q.reduce(factor), q);
      }
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      with_fused_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
        using Tile = ColumnTile<log_rows>;
        launch("encrypt_zero", launcher.stream, small_columns_kernel<A, log_rows>,
               {row_size / Tile::columns, static_cast<unsigned>(part.batches) * pass.components,
                static_cast<unsigned>(part.limbs)},
               {Tile::threads}, Tile::shared_words * sizeof(typename A::Value), pass);
      });
    });
  };
  with_arithmetic(arithmetic, run);
}

void mask_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
               const ConstPolyView& columns, const ConstPolyView& key, const ConstPolyView& addend,
               const RnsBase& base, const MaskEnd* end) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(columns.shape, [&](const Part& part) {
      RowsPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.columns = device_view(part.of(columns));
      pass.key = device_view(key.limbs(part.first_limb, part.limbs));
      pass.adds = addend.data != nullptr;
      if (pass.adds) pass.addend = device_view(part.of(addend));
      pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
      if (end != nullptr) {
        pass.delta = device_view(part.of(end->delta));
        set_inverses<A>(pass.inverses, *end->plan, part);
      }
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      launch("encrypt_zero", launcher.stream,
             end != nullptr ? mask_rows_kernel<A, true> : mask_rows_kernel<A, false>,
             {(1U << launcher.log_rows()) / rows_per_block, static_cast<unsigned>(part.batches),
              static_cast<unsigned>(part.limbs)},
             {rows_threads}, components * block_words * sizeof(typename A::Value), pass, launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

void sample_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& secret, const RandomStream& uniform, const ConstPolyView& addend,
                 std::span<const GadgetTerm> terms, const RnsBase& base) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      SamplePass<A> pass{};
      pass.out = device_view(part.of(out));
      // The seed is public.
      pass.uniform = stream_key(uniform, Purpose::uniform, part.first_batch);
      pass.first_limb = static_cast<unsigned>(part.first_limb);
      pass.secret = device_view(secret.limbs(part.first_limb, part.limbs));
      if (addend.data != nullptr) pass.addend = device_view(part.of(addend));
      pass.adds_all = addend.data != nullptr && terms.empty();
      for (std::size_t i = 0; i < part.limbs; ++i) {
        pass.target[i] = no_target;
        pass.factors.word[i] = 1;
      }
      for (const GadgetTerm& term : terms) {
        const std::size_t batch = term.batch - part.first_batch, limb = term.limb - part.first_limb;
        if (batch >= part.batches || limb >= part.limbs) continue;  // so are differences below 0
        pass.target[limb] = static_cast<std::uint16_t>(batch);
        pass.factors.word[limb] = term.factor;
      }
      pass.limbs = limb_moduli(base, part.first_limb, part.limbs);
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      launch("sample_rlwe", launcher.stream, sample_rows_kernel<A>,
             {(1U << launcher.log_rows()) / sample_rows_per_block, static_cast<unsigned>(part.batches),
              static_cast<unsigned>(part.limbs)},
             {sample_threads}, sample_rows_per_block * row_size * sizeof(typename A::Value), pass,
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
