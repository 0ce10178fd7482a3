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

// Where a block of threads works.
struct Place {
  unsigned batch;
  unsigned limb;           // of the output
  unsigned extended_limb;  // the same of the extended base
  unsigned index;          // of its modulus in the ring
  std::uint32_t own;       // the digit that has the limb as it stands, or no_digit
};

// The block's rows of all digits, and of the deltas where the switch ends, to shared memory: [group, row,
// entry]. A warp takes one group at a time; the digit that is not transformed comes last.
template <class A, End end>
__device__ __forceinline__ void rows_to_shared(const ProductPass<A>& pass, typename A::Value* shared,
                                               const Place& place, const TableLayout& layout,
                                               const arith::Modulus& q, const typename A::Modulus& m) {
  using Value = typename A::Value;
  constexpr bool ends = end != End::sums;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 16, local_row = lane / 16;
  const unsigned row = blockIdx.y * rows_per_block + local_row, first = row_size * row + t;
  const unsigned groups = pass.digit_count + (ends ? 2 * pass.key_count : 0);
  for (unsigned number = warp; number < groups; number += blockDim.x / 32) {
    const unsigned other = number + (number >= place.own ? 1 : 0);
    const unsigned group = place.own != no_digit && number + 1 == groups ? place.own : other;
    Value* values = shared + group * block_words + local_row * row_size;
    Value x[16];
    if (group == place.own) {
      if constexpr (end == End::product) {
        const std::uint64_t* left = pass.left.limb(place.batch, 1, place.extended_limb) + first;
        const std::uint64_t* right = pass.right.limb(place.batch, 1, place.extended_limb) + first;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) x[k] = own_digit<A>(left[16 * k], right[16 * k], q, m);
      } else {
        const std::uint64_t* in = pass.in.limb(place.batch, 0, place.extended_limb) + first;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) x[k] = own_digit<A>(in[16 * k], m);
      }
    } else {
      const std::uint64_t* lazy;
      if (!ends || group < pass.digit_count) {
        lazy = pass.digits.limb(place.batch, group, place.extended_limb) + first;
      } else {
        const unsigned delta = group - pass.digit_count;
        lazy = pass.keys[delta / 2].delta.limb(place.batch, delta % 2, place.limb) + first;
      }
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(lazy[16 * k]);
      forward_row<A>(x, values, row, t, pass.tables + std::size_t{place.index} * layout.size(), layout, m);
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
}

// Two neighbours of one component of a key's sum.
struct Unit {
  unsigned number;  // of the key
  unsigned component;
  unsigned entry;     // in the block's rows
  unsigned position;  // in the limb
};

// What is added to a unit: the factors of the tensor product's component, or the words themselves.
struct Added {
  ulonglong2 a0{}, a1{}, b0{}, b1{};
};

template <class A, End end>
__device__ __forceinline__ Added read_added(const ProductPass<A>& pass, const Place& place,
                                            const Unit& unit) {
  const auto pair = [&](const ConstDeviceView& view, unsigned c, unsigned of_limb) {
    return *reinterpret_cast<const ulonglong2*>(view.limb(place.batch, c, of_limb) + unit.position);
  };
  Added added;
  if constexpr (end == End::product) {
    added.a0 = pair(pass.left, 0, place.extended_limb);
    added.b0 = pair(pass.right, 0, place.extended_limb);
    if (unit.component != 0) {
      added.a1 = pair(pass.left, 1, place.extended_limb);
      added.b1 = pair(pass.right, 1, place.extended_limb);
    }
  } else if (end == End::division && unit.component < pass.addend_components) {
    added.a0 = pair(pass.addend, unit.component, place.limb);
  }
  return added;
}

// A unit's sums, with their delta and what is added where the switch ends, to the output.
template <class A, End end>
__device__ __forceinline__ void end_unit(const ProductPass<A>& pass, const typename A::Value* shared,
                                         const Place& place, const Unit& unit, const Sum<A> (&sums)[2],
                                         const Added& given, const typename A::Twiddle& inverse,
                                         const arith::Modulus& q, const typename A::Modulus& m) {
  using Value = typename A::Value;
  constexpr bool ends = end != End::sums;
  const KeyPart& part = pass.keys[unit.number];
  const Value sum[2] = {sums[0].lazy(q, m), sums[1].lazy(q, m)};
  ulonglong2 result;
  if constexpr (ends) {
    Value added[2];
    if constexpr (end == End::product) {
      added[0] = product_component<A>(unit.component, given.a0.x, given.a1.x, given.b0.x, given.b1.x, q, m);
      added[1] = product_component<A>(unit.component, given.a0.y, given.a1.y, given.b0.y, given.b1.y, q, m);
    } else {
      added[0] = A::load(given.a0.x, m);
      added[1] = A::load(given.a0.y, m);
    }
    const Value* delta =
        shared + (pass.digit_count + 2 * unit.number + unit.component) * block_words + unit.entry;
    result = make_ulonglong2(end_division<A>(sum[0], delta[0], inverse, added[0], m),
                             end_division<A>(sum[1], delta[1], inverse, added[1], m));
  } else {
    result = make_ulonglong2(canonical<A>(sum[0], m), canonical<A>(sum[1], m));
  }
  std::uint64_t* out = part.out.limb(place.batch, unit.component, place.limb);
  if (ends && part.inverse_element != 1) {
    // Rows go to rows.
    out[permuted(unit.position, part.inverse_element, pass.log_degree)] = result.x;
    out[permuted(unit.position + 1, part.inverse_element, pass.log_degree)] = result.y;
  } else {
    *reinterpret_cast<ulonglong2*>(out + unit.position) = result;
  }
}

// Grid [batch, pair of rows, limb]: polynomials of a batch are neighbours, so they find the key in the cache.
// The block transforms its rows, then takes the products.
template <class A, End end, int blocks = 3>
__global__ void __launch_bounds__(256, blocks)
    rows_inner_product_kernel(const __grid_constant__ ProductPass<A> pass, int log_rows) {
  using Value = typename A::Value;
  const unsigned limb = blockIdx.z, extended_limb = pass.first + limb, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const Place place{blockIdx.x, limb, extended_limb, index, pass.own_digits[extended_limb]};
  const unsigned key_limb = pass.key_limbs[extended_limb];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  const TableLayout layout(log_rows);
  begin_kernel();
  auto* shared = dynamic_shared<Value>();
  rows_to_shared<A, end>(pass, shared, place, layout, q, m);

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
  for (unsigned number = threadIdx.x; number < units; number += blockDim.x) {
    const unsigned entry = number % (block_words / 2) * 2;
    const Unit unit{number / block_words, number / (block_words / 2) % 2, entry,
                    blockIdx.y * block_words + entry};
    const Added added = read_added<A, end>(pass, place, unit);
    Sum<A> sums[2];
    for (unsigned first_digit = 0; first_digit < pass.digit_count; first_digit += 4) {
      ulonglong2 next[4] = {};
      const bool more = first_digit + 4 < pass.digit_count;
      load_key(next, more ? number : number + blockDim.x, more ? first_digit + 4 : 0);
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
    end_unit<A, end>(pass, shared, place, unit, sums, added, inverse, q, m);
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
