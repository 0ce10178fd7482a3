// Row passes that end in what is done with the values: the inner product with a key, the end of a division,
// or both.
#include "poly/cuda/copies.cuh"
#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/tuning.hpp"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct FinishPass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView delta;
  unsigned components;
  LimbModuli limbs;
  std::int16_t kept[limbs_per_launch];
  LimbFactors inverses;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

// What is divided is on its way to shared memory while the remainder is transformed: registers have no room
// for it. Grid [tile, polynomial, limb].
template <class A>
__global__ void __launch_bounds__(128, A::row_blocks)
    finish_rows_kernel(const __grid_constant__ FinishPass<A> pass, int log_rows) {
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  const int kept = pass.kept[limb];
  begin_kernel();
  const unsigned batch = blockIdx.y / pass.components, component = blockIdx.y % pass.components;
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16;
  const unsigned row = blockIdx.x * (blockDim.x / 16) + local_row, first = row_size * row + t;
  const unsigned rows = blockDim.x / 16;
  auto* minuend = dynamic_shared<std::uint64_t>() + row_size * (rows + local_row);
  if (kept >= 0) {
    const std::uint64_t* in = pass.in.limb(batch, component, static_cast<unsigned>(kept)) + row_size * row;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned pair = 16 * k + t;
      copy_to_shared(reinterpret_cast<ulonglong2*>(minuend) + pair,
                     reinterpret_cast<const ulonglong2*>(in) + pair);
    }
  }
  const std::uint64_t* delta = pass.delta.limb(batch, component, limb) + first;
  typename A::Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(delta[16 * k]);
  forward_row<A>(x, dynamic_shared<typename A::Value>() + row_size * local_row, row, t,
                 pass.tables + std::size_t{index} * layout.size(), layout, m);
  finish_copies();
  __syncwarp();
  std::uint64_t* out = pass.out.limb(batch, component, limb) + first;
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) {
    const std::uint64_t word = kept >= 0 ? minuend[16 * k + t] : 0;
    out[16 * k] = end_division<A>(A::load(word, m), x[k], inverse, typename A::Value{}, m);
  }
}

// One key, and what belongs to it.
struct KeyPart {
  DeviceView out;
  ConstDeviceView key;
  ConstDeviceView delta;
  unsigned inverse_element;  // of the automorphism's Galois element, modulo 2N; 1: none
};

template <class A>
struct ProductPass {
  ConstDeviceView digits;  // lazy, [batch, digit, limb of the extended base]
  ConstDeviceView in;
  ConstDeviceView addend;
  ConstDeviceView left;
  ConstDeviceView right;
  KeyPart keys[keys_per_launch];
  unsigned key_count;
  unsigned digit_count;
  unsigned first;  // limb of the extended base that is limb 0 of the output
  unsigned addend_components;
  unsigned log_degree;
  std::uint16_t key_digits[max_fused_digits];
  const std::uint32_t* key_limbs;
  const std::uint32_t* own_digits;
  LimbModuli limbs;
  LimbFactors inverses;
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
};

constexpr unsigned rows_per_block = 2;
constexpr unsigned block_words = rows_per_block * row_size;

enum class End : std::uint8_t { sums, division, product };

// Grid [batch, pair of rows, limb]: polynomials of a batch are neighbours, so they find the key in the cache.
// A warp takes one digit's two rows at a time, or those of a component of a key's delta; the digit that is
// not transformed comes last. Then the block takes the products.
template <class A, End end, int blocks = 3>
__global__ void __launch_bounds__(256, blocks)
    rows_inner_product_kernel(const __grid_constant__ ProductPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  constexpr bool ends = end != End::sums;
  const unsigned limb = blockIdx.z, extended_limb = pass.first + limb, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const std::uint32_t own = pass.own_digits[extended_limb];
  const unsigned key_limb = pass.key_limbs[extended_limb];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  begin_kernel();
  const unsigned batch = blockIdx.x;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 16, local_row = lane / 16;
  const unsigned row = blockIdx.y * rows_per_block + local_row, first = row_size * row + t;
  const unsigned groups = pass.digit_count + (ends ? 2 * pass.key_count : 0);
  auto* shared = dynamic_shared<Value>();  // [group, row, entry]
  for (unsigned number = warp; number < groups; number += blockDim.x / 32) {
    const unsigned other = number + (number >= own ? 1 : 0);
    const unsigned group = own != no_digit && number + 1 == groups ? own : other;
    Value* values = shared + group * block_words + local_row * row_size;
    Value x[16];
    if (group == own) {
      if constexpr (end == End::product) {
        const std::uint64_t* left = pass.left.limb(batch, 1, extended_limb) + first;
        const std::uint64_t* right = pass.right.limb(batch, 1, extended_limb) + first;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) x[k] = own_digit<A>(left[16 * k], right[16 * k], q, m);
      } else {
        const std::uint64_t* in = pass.in.limb(batch, 0, extended_limb) + first;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) x[k] = own_digit<A>(in[16 * k], m);
      }
    } else {
      const std::uint64_t* lazy;
      if (!ends || group < pass.digit_count) {
        lazy = pass.digits.limb(batch, group, extended_limb) + first;
      } else {
        const unsigned delta = group - pass.digit_count;
        lazy = pass.keys[delta / 2].delta.limb(batch, delta % 2, limb) + first;
      }
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(lazy[16 * k]);
      forward_row<A>(x, values, row, t, pass.tables + std::size_t{index} * layout.size(), layout, m);
      __syncwarp();
    }
    values += t;
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) {
      if constexpr (std::is_same_v<A, F64>) {
        values[16 * k] = F64::reduce(x[k], m);
      } else {
        values[16 * k] = x[k];
      }
    }
  }

  // A thread takes two neighbours in one component of a sum. The next four key words are on their way while
  // four are multiplied.
  const unsigned units = pass.key_count * block_words;
  const auto load_key = [&](ulonglong2(&words)[4], unsigned unit, unsigned first_digit) {
    if (unit >= units) return;
    const ConstDeviceView& view = pass.keys[unit / block_words].key;
    const std::uint64_t* key = view.limb(0, unit / (block_words / 2) % 2, key_limb) +
                               blockIdx.y * block_words + unit % (block_words / 2) * 2;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (first_digit + i < pass.digit_count) {
        const std::size_t digit = pass.key_digits[first_digit + i];
        words[i] = __ldcs(reinterpret_cast<const ulonglong2*>(key + digit * view.batch_stride));
      }
    }
  };
  ulonglong2 words[4] = {};
  load_key(words, threadIdx.x, 0);
  __syncthreads();
  for (unsigned unit = threadIdx.x; unit < units; unit += blockDim.x) {
    const unsigned number = unit / block_words, component = unit / (block_words / 2) % 2;
    const unsigned entry = unit % (block_words / 2) * 2, position = blockIdx.y * block_words + entry;
    const KeyPart& part = pass.keys[number];
    const auto pair = [&](const ConstDeviceView& view, unsigned c, unsigned of_limb) {
      return *reinterpret_cast<const ulonglong2*>(view.limb(batch, c, of_limb) + position);
    };
    [[maybe_unused]] ulonglong2 a0{}, a1{}, b0{}, b1{};  // factors of what is added, or that itself
    if constexpr (end == End::product) {
      a0 = pair(pass.left, 0, extended_limb);
      b0 = pair(pass.right, 0, extended_limb);
      if (component != 0) {
        a1 = pair(pass.left, 1, extended_limb);
        b1 = pair(pass.right, 1, extended_limb);
      }
    } else if (ends && component < pass.addend_components) {
      a0 = pair(pass.addend, component, limb);
    }
    Sum<A> sums[2];
    for (unsigned first_digit = 0; first_digit < pass.digit_count; first_digit += 4) {
      ulonglong2 next[4] = {};
      const bool more = first_digit + 4 < pass.digit_count;
      load_key(next, more ? unit : unit + blockDim.x, more ? first_digit + 4 : 0);
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
        words[i] = next[i];
      }
    }
    const Value sum[2] = {sums[0].lazy(q, m), sums[1].lazy(q, m)};
    ulonglong2 result;
    if constexpr (ends) {
      Value added[2];
      if constexpr (end == End::product) {
        added[0] = product_component<A>(component, a0.x, a1.x, b0.x, b1.x, q, m);
        added[1] = product_component<A>(component, a0.y, a1.y, b0.y, b1.y, q, m);
      } else {
        added[0] = A::load(a0.x, m);
        added[1] = A::load(a0.y, m);
      }
      const Value* delta = shared + (pass.digit_count + 2 * number + component) * block_words + entry;
      result = make_ulonglong2(end_division<A>(sum[0], delta[0], inverse, added[0], m),
                               end_division<A>(sum[1], delta[1], inverse, added[1], m));
    } else {
      result = make_ulonglong2(canonical<A>(sum[0], m), canonical<A>(sum[1], m));
    }
    std::uint64_t* out = part.out.limb(batch, component, limb);
    if (ends && part.inverse_element != 1) {
      // Rows go to rows.
      out[permuted(position, part.inverse_element, pass.log_degree)] = result.x;
      out[permuted(position + 1, part.inverse_element, pass.log_degree)] = result.y;
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
      pass.in = device_view(part.batches_of(in));
      pass.delta = device_view(part.of(delta));
      pass.components = static_cast<unsigned>(out.shape.components);
      pass.limbs = limb_moduli(plan.target(), part.first_limb, part.limbs);
      set_kept(pass.kept, plan, part);
      set_inverses<A>(pass.inverses, plan, part);
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      constexpr unsigned rows = 8;
      launch("divide_and_round", launcher.stream, finish_rows_kernel<A>,
             {(1U << launcher.log_rows()) / rows, static_cast<unsigned>(part.batches * out.shape.components),
              static_cast<unsigned>(part.limbs)},
             {16 * rows}, rows * row_size * (sizeof(typename A::Value) + sizeof(std::uint64_t)), pass,
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

void rows_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& digits,
                        const SwitchInput& input, std::span<const SwitchRows> switches,
                        const FusedModUp& plan, const RnsBase& extended, std::size_t first,
                        const Division* down) {
  const auto run = [&]<class A>(std::type_identity<A>) {
    const TransformTables<A>& tables = launcher.tables->transforms<A>();
    PolyShape shape = switches.front().out.shape;
    shape.components = 1;
    for_each_launch(shape, [&](const Part& part) {
      ProductPass<A> pass{};
      pass.digits = device_view(part.batches_of(digits));
      if (input.is_product()) {
        pass.left = device_view(part.batches_of(input.left));
        pass.right = device_view(part.batches_of(input.right));
      } else {
        pass.in = device_view(part.batches_of(input.in));
      }
      pass.key_count = static_cast<unsigned>(switches.size());
      pass.digit_count = static_cast<unsigned>(digits.shape.components);
      pass.first = static_cast<unsigned>(first + part.first_limb);
      std::copy(plan.key_digits.begin(), plan.key_digits.end(), pass.key_digits);
      pass.key_limbs = plan.key_limbs.data();
      pass.own_digits = plan.own_digits.data();
      pass.limbs = limb_moduli(extended, first + part.first_limb, part.limbs);
      pass.log_degree = launcher.log_degree;
      for (std::size_t i = 0; i < switches.size(); ++i) {
        const SwitchRows& given = switches[i];
        KeyPart& key = pass.keys[i];
        key.out = device_view(part.of(given.out));
        key.key = device_view(given.key);
        key.inverse_element =
            static_cast<unsigned>(arith::inverse(given.galois_element, 2 * std::uint64_t{launcher.degree()}));
        if (down != nullptr) key.delta = device_view(part.of(given.delta));
      }
      if (down != nullptr) {
        pass.addend_components =
            static_cast<unsigned>(input.addend.data == nullptr ? 0 : input.addend.shape.components);
        if (pass.addend_components != 0) pass.addend = device_view(part.of(input.addend));
        set_inverses<A>(pass.inverses, *down, part);
      }
      pass.ring_moduli = launcher.tables->moduli();
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      const unsigned groups = pass.digit_count + (down != nullptr ? 2 * pass.key_count : 0);
      const unsigned warps = std::min(groups, 8U);
      const std::size_t row_pairs = (std::size_t{1} << launcher.log_rows()) / rows_per_block;
      // Where rounds are many, a fourth block at a time is worth its registers.
      constexpr int most_blocks = std::is_same_v<A, M64> ? 3 : 4;
      const bool crowd = part.batches * part.limbs * row_pairs >= tuning::least_blocks_of_four;
      const auto kernel = down == nullptr      ? rows_inner_product_kernel<A, End::sums>
                          : input.is_product() ? rows_inner_product_kernel<A, End::product>
                          : crowd              ? rows_inner_product_kernel<A, End::division, most_blocks>
                                               : rows_inner_product_kernel<A, End::division>;
      launch("key_inner_product", launcher.stream, kernel,
             {static_cast<unsigned>(part.batches), static_cast<unsigned>(row_pairs),
              static_cast<unsigned>(part.limbs)},
             {32 * warps}, std::size_t{groups} * block_words * sizeof(typename A::Value), pass,
             launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

}  // namespace hemera::poly::cuda
