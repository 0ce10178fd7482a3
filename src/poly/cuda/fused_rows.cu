// Row passes that end in what is done with the values: the inner product with a key, the end of a division,
// or both.
#include <cstring>

#include "poly/cuda/fused.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::uint128;

// (x - delta) / D + addend for a lazy delta.
template <class A>
__device__ __forceinline__ std::uint64_t end_division(std::uint64_t x, typename A::Value delta,
                                                      const typename A::Twiddle& inverse,
                                                      std::uint64_t addend, const typename A::Modulus& m) {
  if constexpr (std::is_same_v<A, F64>) {
    const double difference = F64::reduce(__dsub_rn(F64::load(x, m), delta), m);
    const double quotient = F64::multiply(difference, F64::expand(inverse, m), m);
    return F64::canonical(F64::reduce(__dadd_rn(quotient, F64::load(addend, m)), m), m);
  } else {
    // delta is below 8q, so the difference is brought below that as well.
    const std::uint64_t lazy = reduce_once<2>(reduce_once<4>(delta, m.q), m.q);
    const std::uint64_t quotient = A::multiply(x + 2 * m.q - lazy, inverse, m);
    return reduce_once<1>(reduce_once<1>(quotient, m.q) + addend, m.q);
  }
}

struct Inverses {
  std::uint64_t words[2 * limbs_per_launch];  // factors of the arithmetic, [limb]
};

template <class A>
struct FinishPass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView delta;
  unsigned components;
  LimbModuli limbs;
  std::int16_t kept[limbs_per_launch];
  Inverses inverses;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

template <class A>
__device__ __forceinline__ typename A::Twiddle inverse_of(const Inverses& inverses, unsigned limb) {
  typename A::Twiddle twiddle;
  constexpr unsigned words = sizeof twiddle / sizeof(std::uint64_t);
  std::uint64_t copied[words];
#pragma unroll
  for (unsigned i = 0; i < words; ++i) copied[i] = inverses.words[words * limb + i];
  memcpy(&twiddle, copied, sizeof twiddle);
  return twiddle;
}

template <class A>
void set_inverse(Inverses& inverses, std::size_t limb, std::uint64_t value, const arith::Modulus& q) {
  const typename A::Twiddle twiddle = A::twiddle(value, q);
  std::memcpy(inverses.words + sizeof twiddle / sizeof(std::uint64_t) * limb, &twiddle, sizeof twiddle);
}

// Grid [tile, polynomial, limb].
template <class A>
__global__ void __launch_bounds__(128, A::row_blocks)
    finish_rows_kernel(const __grid_constant__ FinishPass<A> pass, int log_rows) {
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle inverse = inverse_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  const int kept = pass.kept[limb];
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * (blockDim.x / 16) + local_row, first = row_size * row + t;
  const std::uint64_t* delta = pass.delta.limb(batch, component, limb) + first;
  typename A::Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(delta[16 * k]);
  std::uint64_t minuend[16] = {};
  if (kept >= 0) {
    const std::uint64_t* in = pass.in.limb(batch, component, static_cast<unsigned>(kept)) + first;
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) minuend[k] = in[16 * k];
  }
  forward_row<A>(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t,
                 pass.tables + std::size_t{index} * layout.size(), layout, m);
  std::uint64_t* out = pass.out.limb(batch, component, limb) + first;
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) out[16 * k] = end_division<A>(minuend[k], x[k], inverse, 0, m);
}

// Sums of products of lazy values and canonical key words.
template <class A>
struct Sum {
  uint128 value = 0;
  // Values below 8q < 2^64 times words below 2^61 (U64), or below 2^63 times 2^60 (M64).
  static constexpr unsigned terms =
      std::is_same_v<A, U64> ? 4 : 28;  // multiples of four, with room for a rest

  __device__ __forceinline__ void add(std::uint64_t x, std::uint64_t key, const typename A::Modulus&) {
    value += static_cast<uint128>(x) * key;
  }
  __device__ __forceinline__ void reduce(const arith::Modulus& q, const typename A::Modulus&) {
    value = q.reduce(value);
  }
  __device__ __forceinline__ std::uint64_t canonical(const arith::Modulus& q,
                                                     const typename A::Modulus&) const {
    return q.reduce(value);
  }
};

template <>
struct Sum<F64> {
  double value = 0;
  static constexpr unsigned terms = 4;  // of at most 0.65 q, on top of a reduced sum

  // x at most 0.51 q.
  __device__ __forceinline__ void add(double x, std::uint64_t key, const F64::Modulus& m) {
    value = __dadd_rn(value, F64::multiply(x, F64::expand({F64::load(key, m)}, m), m));
  }
  __device__ __forceinline__ void reduce(const arith::Modulus&, const F64::Modulus& m) {
    value = F64::reduce(value, m);
  }
  __device__ __forceinline__ std::uint64_t canonical(const arith::Modulus&, const F64::Modulus& m) const {
    return F64::canonical(F64::reduce(value, m), m);
  }
};

template <class A>
struct ProductPass {
  DeviceView out;
  ConstDeviceView digits;  // lazy, [batch, digit, limb of the extended base]
  ConstDeviceView in;
  ConstDeviceView key;
  ConstDeviceView delta;
  ConstDeviceView addend;
  unsigned digit_count;
  unsigned first;  // limb of the extended base that is limb 0 of the output
  unsigned addend_components;
  unsigned log_degree;
  unsigned inverse_element;  // of the automorphism's Galois element, modulo 2N; 1: none
  std::uint16_t key_digits[max_fused_digits];
  const std::uint32_t* key_limbs;
  const std::uint32_t* own_digits;
  LimbModuli limbs;
  Inverses inverses;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

constexpr unsigned rows_per_block = 2;
constexpr unsigned block_words = rows_per_block * row_size;

// Grid [batch, pair of rows, limb]: polynomials of a batch are neighbours, so they find the key in the cache.
// A warp takes one digit's two rows at a time, or one component of delta's; then the block takes the
// products.
template <class A, bool ends>
__global__ void __launch_bounds__(256, 3)
    rows_inner_product_kernel(const __grid_constant__ ProductPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, extended_limb = pass.first + limb, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const std::uint32_t own = pass.own_digits[extended_limb];
  const unsigned key_limb = pass.key_limbs[extended_limb];
  const typename A::Twiddle inverse = inverse_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned batch = blockIdx.x;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 16, local_row = lane / 16;
  const unsigned row = blockIdx.y * rows_per_block + local_row, first = row_size * row + t;
  const unsigned groups = pass.digit_count + (ends ? 2 : 0);
  auto* shared = dynamic_shared<Value>();  // [group, row, entry]
  for (unsigned group = warp; group < groups; group += blockDim.x / 32) {
    Value x[16];
    Value* values = shared + group * block_words + local_row * row_size;
    if (group == own) {
      const std::uint64_t* in = pass.in.limb(batch, 0, extended_limb) + first;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = A::load(in[16 * k], m);
    } else {
      const std::uint64_t* lazy =
          (group < pass.digit_count ? pass.digits.limb(batch, group, extended_limb)
                                    : pass.delta.limb(batch, group - pass.digit_count, limb)) +
          first;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(lazy[16 * k]);
      forward_row<A>(x, values, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
      __syncwarp();
    }
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
  for (unsigned unit = threadIdx.x; unit < block_words; unit += blockDim.x) {
    const unsigned component = unit / (block_words / 2), entry = unit % (block_words / 2) * 2;
    const unsigned position = blockIdx.y * block_words + entry;
    Sum<A> sums[2];
    const auto* key = pass.key.limb(0, component, key_limb) + position;
    // Four key words are on their way at a time.
    for (unsigned first_digit = 0; first_digit < pass.digit_count; first_digit += 4) {
      ulonglong2 words[4];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned d = min(first_digit + i, pass.digit_count - 1);
        words[i] = __ldcs(reinterpret_cast<const ulonglong2*>(key + std::size_t{pass.key_digits[d]} *
                                                                        pass.key.batch_stride));
      }
      if (first_digit != 0 && first_digit % Sum<A>::terms == 0) {
        sums[0].reduce(q, m);
        sums[1].reduce(q, m);
      }
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        if (first_digit + i < pass.digit_count) {
          const Value* x = shared + (first_digit + i) * block_words + entry;
          sums[0].add(x[0], words[i].x, m);
          sums[1].add(x[1], words[i].y, m);
        }
      }
    }
    ulonglong2 result = make_ulonglong2(sums[0].canonical(q, m), sums[1].canonical(q, m));
    if constexpr (ends) {
      ulonglong2 added = make_ulonglong2(0, 0);
      if (component < pass.addend_components) {
        added = *reinterpret_cast<const ulonglong2*>(pass.addend.limb(batch, component, limb) + position);
      }
      const Value* delta = shared + (pass.digit_count + component) * block_words + entry;
      result = make_ulonglong2(end_division<A>(result.x, delta[0], inverse, added.x, m),
                               end_division<A>(result.y, delta[1], inverse, added.y, m));
    }
    std::uint64_t* out = pass.out.limb(batch, component, limb);
    if (ends && pass.inverse_element != 1) {
      // Rows go to rows.
      out[permuted(position, pass.inverse_element, pass.log_degree)] = result.x;
      out[permuted(position + 1, pass.inverse_element, pass.log_degree)] = result.y;
    } else {
      *reinterpret_cast<ulonglong2*>(out + position) = result;
    }
  }
}

}  // namespace

void finish_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& delta, const Division& plan) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    for_each_launch(out.shape, [&](const Part& part) {
      FinishPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.in = device_view(in.shape.batch == 1 ? in : in.batches(part.first_batch, part.batches));
      pass.delta = device_view(part.of(delta));
      pass.components = static_cast<unsigned>(out.shape.components);
      pass.limbs = limb_moduli(plan.target(), part.first_limb, part.limbs);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        const std::size_t j = part.first_limb + i;
        pass.kept[i] = static_cast<std::int16_t>(plan.kept_positions()[j]);
        set_inverse<A>(pass.inverses, i, plan.inverse_dropped()[j].operand, plan.target().modulus(j));
      }
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      constexpr unsigned rows = 8;
      launch("divide_and_round", launcher.stream, finish_rows_kernel<A>,
             {(1U << launcher.log_rows()) / rows, static_cast<unsigned>(part.batches * out.shape.components),
              static_cast<unsigned>(part.limbs)},
             {16 * rows}, rows * row_size * sizeof(typename A::Value), pass, launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

void rows_inner_product(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                        const ConstPolyView& digits, const ConstPolyView& in, const ConstPolyView& key,
                        const FusedModUp& plan, const RnsBase& extended, std::size_t first,
                        const SwitchEnd* end) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape shape = out.shape;
    shape.components = 1;
    for_each_launch(shape, [&](const Part& part) {
      const auto whole = [&](const auto& view) {
        return view.shape.batch == 1 ? view : view.batches(part.first_batch, part.batches);
      };
      ProductPass<A> pass{};
      pass.out = device_view(part.of(out));
      pass.digits = device_view(whole(digits));
      pass.in = device_view(whole(in));
      pass.key = device_view(key);
      pass.digit_count = static_cast<unsigned>(digits.shape.components);
      pass.first = static_cast<unsigned>(first + part.first_limb);
      std::copy(plan.key_digits.begin(), plan.key_digits.end(), pass.key_digits);
      pass.key_limbs = plan.key_limbs.data();
      pass.own_digits = plan.own_digits.data();
      pass.limbs = limb_moduli(extended, first + part.first_limb, part.limbs);
      pass.log_degree = launcher.log_degree;
      pass.inverse_element = 1;
      if (end != nullptr) {
        pass.inverse_element =
            static_cast<unsigned>(arith::inverse(end->galois_element, 2 * std::uint64_t{launcher.degree()}));
        pass.delta = device_view(part.of(end->delta));
        pass.addend_components =
            static_cast<unsigned>(end->addend.data == nullptr ? 0 : end->addend.shape.components);
        if (pass.addend_components != 0) pass.addend = device_view(part.of(end->addend));
        for (std::size_t i = 0; i < part.limbs; ++i) {
          const std::size_t j = part.first_limb + i;
          set_inverse<A>(pass.inverses, i, end->plan->inverse_dropped()[j].operand,
                         end->plan->target().modulus(j));
        }
      }
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      const unsigned groups = pass.digit_count + (end != nullptr ? 2 : 0);
      const unsigned warps = std::min(groups, 8U);
      const auto kernel =
          end != nullptr ? rows_inner_product_kernel<A, true> : rows_inner_product_kernel<A, false>;
      launch("key_inner_product", launcher.stream, kernel,
             {static_cast<unsigned>(part.batches), (1U << launcher.log_rows()) / rows_per_block,
              static_cast<unsigned>(part.limbs)},
             {32 * warps}, std::size_t{groups} * block_words * sizeof(typename A::Value), pass,
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
