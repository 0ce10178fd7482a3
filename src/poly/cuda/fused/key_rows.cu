// Row passes that end in what is done with the values: the inner product with a key, the end of a division,
// or both.
#include "poly/cuda/copies.cuh"
#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"
#include "poly/cuda/fused/switch_pass.cuh"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct FinishPass {
  DeviceView out;
  ConstDeviceView in;
  ConstDeviceView delta;
  unsigned components;
  unsigned together;  // components that share a block
  LimbModuli limbs;
  std::int16_t kept[limbs_per_launch];
  LimbFactors inverses;
  LimbFactors multiples;  // E, where rows multiply
  const typename A::Modulus* moduli;
  const typename A::Twiddle* tables;
  // Where a ModUp follows: its digits, the one that has each limb, and the tables of the inverse transform.
  DeviceView digits;
  const std::uint32_t* own_digits;
  const typename A::Twiddle* inverse_tables;
};

// What a division's rows end in: quotients, those of a multiple of the dividend, or the rows of their inverse
// transform, when the quotients go to their own digits.
enum class Finish : std::uint8_t { plain, multiple, inverted };

// The dividend is on its way to shared memory while the kernel waits and the remainder is transformed:
// registers have no room for it. A warp has two rows, of two components the same one, whose factors it then
// reads once. Grid [tile, polynomials that share a block, limb].
template <class A, Finish finish>
__global__ void __launch_bounds__(128, A::row_blocks)
    finish_rows_kernel(const __grid_constant__ FinishPass<A> pass, int log_rows) {
  const unsigned limb = blockIdx.z, index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  [[maybe_unused]] const typename A::Twiddle multiple = factor_of<A>(pass.multiples, limb);
  const TableLayout layout(log_rows);
  const int kept = pass.kept[limb];
  const unsigned t = threadIdx.x % 16, local_row = threadIdx.x / 16, rows = blockDim.x / 16;
  const unsigned polynomial = blockIdx.y * pass.together + local_row % pass.together;
  const unsigned batch = polynomial / pass.components, component = polynomial % pass.components;
  const unsigned row = blockIdx.x * (rows / pass.together) + local_row / pass.together;
  const unsigned first = row_size * row + t;
  auto* minuend = dynamic_shared<std::uint64_t>() + row_size * (rows + local_row);
  if (kept >= 0) {
    const std::uint64_t* in = pass.in.limb(batch, component, static_cast<unsigned>(kept)) + row_size * row;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned pair = 16 * k + t;
      copy_past_first_level(reinterpret_cast<ulonglong2*>(minuend) + pair,
                            reinterpret_cast<const ulonglong2*>(in) + pair);
    }
  }
  begin_kernel();
  const std::uint64_t* delta = pass.delta.limb(batch, component, limb) + first;
  typename A::Value x[16];
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(delta[16 * k]);
  auto* shared = dynamic_shared<typename A::Value>() + row_size * local_row;
  const std::size_t table = std::size_t{index} * layout.size();
  forward_row<A>(x, shared, row, t, pass.tables + table, layout, m);
  finish_copies();
  __syncwarp();
  std::uint64_t* out = pass.out.limb(batch, component, limb) + first;
  std::uint64_t* quotients = out;
  if constexpr (finish == Finish::inverted) {
    quotients = pass.digits.limb(batch, pass.own_digits[limb], limb) + first;
  }
#pragma unroll
  for (unsigned k = 0; k < 16; ++k) {
    typename A::Value divided = A::load(kept >= 0 ? minuend[16 * k + t] : 0, m);
    if constexpr (finish == Finish::multiple) divided = A::multiply(divided, A::expand(multiple, m), m);
    const std::uint64_t quotient = end_division<A>(divided, x[k], inverse, typename A::Value{}, m);
    quotients[16 * k] = quotient;
    if constexpr (finish == Finish::inverted) x[k] = A::load(quotient, m);
  }
  if constexpr (finish == Finish::inverted) {
    inverse_row<A>(x, shared, row, t, pass.inverse_tables + table, layout, m);
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) out[16 * k] = A::to_bits(x[k]);
  }
}

template <class A>
struct RowsProductPass : SwitchPass<A> {
  const typename A::Twiddle* inverse;
  ConstDeviceView digits;  // lazy, [batch, digit, limb of the extended base]
  unsigned log_degree;
  std::int16_t positions[limbs_per_launch];  // of the limbs in the extended base; below 0: nowhere
  LimbFactors special;                       // P, of the limbs where it multiplies what is added
  std::uint64_t added[limbs_per_launch];     // to the first component of a product that ends
};

constexpr unsigned rows_per_block = 2;
constexpr unsigned block_words = rows_per_block * row_size;
constexpr unsigned first_factors = 16 * rows_per_block, block_factors = first_factors + block_words;
static_assert(block_words * sizeof(std::uint64_t) == row_group_bytes &&
              block_factors * sizeof(F64::Twiddle) == row_factor_bytes);

// Two neighbours of one component of a key's sum.
struct Unit {
  unsigned key;
  unsigned component;
  unsigned entry;     // in the block's rows
  unsigned position;  // in the limb

  __device__ __forceinline__ explicit Unit(unsigned number)
      : key(number / block_words),
        component(number / (block_words / 2) % 2),
        entry(number % (block_words / 2) * 2),
        position(blockIdx.y * block_words + entry) {}
};

// A block with two rows of a limb: it transforms those of all digits, then takes their products with the
// keys.
template <class A, SwitchEnd end, bool of_product, class Stored, bool shares>
struct RowsProductAgent {
  using Value = typename A::Value;
  using Pair = typename Stored::Pair;
  static constexpr bool ends = end == SwitchEnd::divided || end == SwitchEnd::lowered;
  static constexpr bool inverts = end == SwitchEnd::inverted;
  static constexpr bool adds = end != SwitchEnd::sums && !inverts;
  static constexpr bool adds_before = end == SwitchEnd::extended || end == SwitchEnd::lowered;

  const RowsProductPass<A>& pass;
  const TableLayout layout;
  const unsigned batch = blockIdx.x;
  const unsigned limb = blockIdx.z;                    // of the output
  const unsigned index = pass.limbs.ring_index[limb];  // of its modulus in the ring
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  // The same of the extended base, and no digits where that does not have it.
  const bool has_sums = end != SwitchEnd::lowered || pass.positions[limb] >= 0;
  const unsigned extended_limb = has_sums ? static_cast<unsigned>(pass.positions[limb]) : 0;
  const unsigned digit_count = has_sums ? pass.digit_count : 0;
  // The digit that has the limb, or no_digit.
  const std::uint32_t own = has_sums ? pass.own_digits[extended_limb] : no_digit;
  const unsigned key_limb = pass.key_limbs[extended_limb];
  const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
  const unsigned units = pass.key_count * block_words;
  // Factors of the block's rows in both rounds, where all groups share them; [digit or delta, row, entry].
  typename A::Twiddle* const factors = dynamic_shared<typename A::Twiddle>();
  Value* const shared = reinterpret_cast<Value*>(factors + (shares ? block_factors : 0));

  // Begins to copy them to shared memory.
  __device__ __forceinline__ void load_factors() const {
    const typename A::Twiddle* table = pass.forward + std::size_t{index} * layout.size();
    for (unsigned i = threadIdx.x; i < block_factors; i += blockDim.x) {
      copy_to_shared(factors + i, i < first_factors ? table + layout.third() + first_factors * blockIdx.y + i
                                                    : table + layout.fourth() + block_words * blockIdx.y + i -
                                                          first_factors);
    }
  }

  // The block's rows of all digits, and of the deltas where the switch ends, to shared memory. A warp takes
  // those of one at a time; the digit that is not transformed comes last. Factors that are shared are waited
  // for when a warp's first row is on its way.
  __device__ __forceinline__ void rows_to_shared() const {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 16, local_row = lane / 16;
    const unsigned row = blockIdx.y * rows_per_block + local_row, first = row_size * row + t;
    const unsigned groups = digit_count + (ends ? 2 * pass.key_count : 0);
    bool has_factors = false;
    for (unsigned number = warp; number < groups; number += blockDim.x / 32) {
      const unsigned other = number + (number >= own ? 1 : 0);
      const unsigned group = own != no_digit && number + 1 == groups ? own : other;
      Value* values = shared + group * block_words + local_row * row_size;
      Value x[16];
      if (group == own) {
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) {
          const auto word = [&](const ConstDeviceView& view, unsigned component) {
            return (view.limb(batch, component, extended_limb) + first)[16 * k];
          };
          x[k] = own_digit<A, of_product>(pass, word, q, m);
        }
      } else {
        const std::uint64_t* lazy = lazy_limb(group) + first;
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) x[k] = A::from_bits(lazy[16 * k]);
        if (shares && !has_factors) wait_for_factors();
        has_factors = true;
        transform_row(x, values, row, t);
        __syncwarp();
      }
      values += t;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) values[16 * k] = row_value<A>(x[k], m);
    }
    if (shares && !has_factors) wait_for_factors();
  }

  // The sums of the digits' products with the keys. A thread takes a unit at a time; its next key words are
  // on their way while others are multiplied.
  __device__ __forceinline__ void multiply_keys() const {
    Pair words[digits_at_once] = {};
    read_words(words, threadIdx.x, 0);
    __syncthreads();
    for (unsigned number = threadIdx.x; number < units; number += blockDim.x) {
      const Unit unit(number);
      Added<A, of_product> added;
      if (adds && has_sums) {
        added.read(pass, unit.component, extended_limb,
                   [&](const ConstDeviceView& view, unsigned component, unsigned of_limb) {
                     return *reinterpret_cast<const ulonglong2*>(view.limb(batch, component, of_limb) +
                                                                 unit.position);
                   });
      }
      Sum<A> sums[2];
      for (unsigned first = 0; first < digit_count; first += digits_at_once) {
        Pair next[digits_at_once] = {};
        const bool more = first + digits_at_once < digit_count;
        read_words(next, more ? number : number + blockDim.x, more ? first + digits_at_once : 0);
        add_products<A>(sums, words, shared + unit.entry, block_words, first, digit_count, q, m);
#pragma unroll
        for (unsigned i = 0; i < digits_at_once; ++i) words[i] = next[i];
      }
      end_unit(unit, sums, added);
    }
  }

  // Sums in shared memory to the rows of their inverse transform: a warp takes those of one at a time.
  __device__ __forceinline__ void invert_rows() const {
    __syncthreads();
    const unsigned warp = threadIdx.x / 32, t = threadIdx.x % 16, local_row = threadIdx.x % 32 / 16;
    const unsigned row = blockIdx.y * rows_per_block + local_row;
    for (unsigned number = warp; number < 2 * pass.key_count; number += blockDim.x / 32) {
      Value* values = shared + (digit_count + number) * block_words + local_row * row_size;
      Value x[16];
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = values[16 * k + t];
      __syncwarp();
      inverse_row<A>(x, values, row, t, pass.inverse + std::size_t{index} * layout.size(), layout, m);
      std::uint64_t* out = pass.keys[number / 2].out.limb(batch, number % 2, limb) + row_size * row + t;
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) out[16 * k] = A::to_bits(x[k]);
    }
  }

  // A unit's sums, with their delta and what is added where the switch ends, to the output.
  __device__ __forceinline__ void end_unit(const Unit& unit, const Sum<A> (&sums)[2],
                                           const Added<A, of_product>& added) const {
    const KeyPart& part = pass.keys[unit.key];
    Value sum[2] = {sums[0].lazy(q, m), sums[1].lazy(q, m)};
    Value addend[2] = {};
    if constexpr (adds) added.values(addend, unit.component, q, m);
    if constexpr (adds_before) {
      const auto special = A::expand(factor_of<A>(pass.special, limb), m);
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        sum[i] += A::multiply(addend[i], special, m);
        addend[i] = Value{};
      }
    }
    if constexpr (inverts) {
      Value* to = shared + (digit_count + 2 * unit.key + unit.component) * block_words + unit.entry;
      to[0] = A::load(canonical<A>(sum[0], m), m);
      to[1] = A::load(canonical<A>(sum[1], m), m);
      return;
    }
    ulonglong2 result;
    if constexpr (ends) {
      const Value* delta = shared + (digit_count + 2 * unit.key + unit.component) * block_words + unit.entry;
      result = make_ulonglong2(end_division<A>(sum[0], delta[0], inverse, addend[0], m),
                               end_division<A>(sum[1], delta[1], inverse, addend[1], m));
      if (of_product && unit.component == 0) {
        result = make_ulonglong2(q.add(result.x, pass.added[limb]), q.add(result.y, pass.added[limb]));
      }
    } else if constexpr (adds_before) {
      result = make_ulonglong2(A::finish_forward(sum[0], m), A::finish_forward(sum[1], m));
    } else {
      result = make_ulonglong2(canonical<A>(sum[0], m), canonical<A>(sum[1], m));
    }
    std::uint64_t* out = part.out.limb(batch, unit.component, limb);
    if (ends && part.inverse_element != 1) {
      // Rows go to rows.
      out[permuted(unit.position, part.inverse_element, pass.log_degree)] = result.x;
      out[permuted(unit.position + 1, part.inverse_element, pass.log_degree)] = result.y;
    } else {
      *reinterpret_cast<ulonglong2*>(out + unit.position) = result;
    }
  }

 private:
  static __device__ __forceinline__ void wait_for_factors() {
    finish_copies();
    __syncthreads();
  }

  // As forward_row.
  __device__ __forceinline__ void transform_row(Value (&x)[16], Value* values, unsigned row,
                                                unsigned t) const {
    if constexpr (!shares) {
      forward_row<A>(x, values, row, t, pass.forward + std::size_t{index} * layout.size(), layout, m);
    } else {
      const unsigned local_row = row % rows_per_block;
      const auto* third = factors + 16 * local_row;
      const auto* fourth = factors + first_factors + row_size * local_row + t;
      forward_round<A, 4, false>(
          x, [&](int h) { return A::expand(third[h], m); }, m);
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) (values + (t ^ k))[16 * k] = x[k];
      __syncwarp();
#pragma unroll
      for (unsigned k = 0; k < 16; ++k) x[k] = (values + 16 * t)[t ^ k];
      forward_round<A, 4, false>(
          x, [&](int h) { return A::expand(fourth[16 * h], m); }, m);
    }
  }

  // The limb of a digit or a delta between the passes of its transform.
  __device__ __forceinline__ const std::uint64_t* lazy_limb(unsigned group) const {
    if (!ends || group < digit_count) return pass.digits.limb(batch, group, extended_limb);
    const unsigned delta = group - digit_count;
    return pass.keys[delta / 2].delta.limb(batch, delta % 2, limb);
  }

  // The key's words of a unit, if there is one of that number.
  __device__ __forceinline__ void read_words(Pair (&words)[digits_at_once], unsigned number,
                                             unsigned first_digit) const {
    if (number >= units) return;
    const Unit unit(number);
    const ConstDeviceView& view = pass.keys[unit.key].key;
    const auto key = Stored::place(
        view.data, view.word(0, unit.component, key_limb) + blockIdx.y * block_words + unit.entry);
    read_key(words, first_digit, digit_count, [&](unsigned digit) {
      return Stored::stream_pair(key, pass.key_digits[digit] * view.batch_stride);
    });
  }
};

// Grid [batch, pair of rows, limb]: polynomials of a batch are neighbours, so they find the key in the cache.
template <class A, SwitchEnd end, bool product, class Stored, int blocks = 3, bool shares = false>
__global__ void __launch_bounds__(256, blocks)
    rows_inner_product_kernel(const __grid_constant__ RowsProductPass<A> pass, int log_rows) {
  const RowsProductAgent<A, end, product, Stored, shares> agent{pass, TableLayout(log_rows)};
  if constexpr (shares) agent.load_factors();
  begin_kernel();
  agent.rows_to_shared();
  agent.multiply_keys();
  if constexpr (end == SwitchEnd::inverted) agent.invert_rows();
}

}  // namespace

void finish_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& delta, const Division& plan, bool multiplies,
                 const OwnDigits& own) {
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
      if (multiplies) {
        set_multiples<A>(pass.multiples, pass.inverses, plan, part);
      } else {
        set_inverses<A>(pass.inverses, plan, part);
      }
      pass.moduli = tables.moduli.data();
      pass.tables = tables.forward.data();
      auto* kernel =
          multiplies ? finish_rows_kernel<A, Finish::multiple> : finish_rows_kernel<A, Finish::plain>;
      if (own.of_limbs != nullptr) {
        kernel = finish_rows_kernel<A, Finish::inverted>;
        pass.digits = device_view(part.of(own.digits));
        pass.own_digits = own.of_limbs + part.first_limb;
        pass.inverse_tables = tables.inverse.data();
      }
      constexpr unsigned rows = 8;
      pass.together = pass.components == 2 ? 2 : 1;
      launch_as({.grid = {(pass.together << launcher.log_rows()) / rows,
                          static_cast<unsigned>(part.batches * out.shape.components) / pass.together,
                          static_cast<unsigned>(part.limbs)},
                 .block = {16 * rows},
                 .shared_bytes = rows * row_size * (sizeof(typename A::Value) + sizeof(std::uint64_t)),
                 .carve_out = launcher.sizes->carve_out},
                "divide_and_round", launcher.stream, kernel, pass, launcher.log_rows());
    });
  };
  with_arithmetic(arithmetic, run);
}

void rows_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& digits,
                        const SwitchInput& input, std::span<const SwitchRows> switches, SwitchEnd end,
                        const SwitchLimbs& limbs, const ModUp& up, const FusedModUp& tables,
                        const Division* down) {
  const auto run = [&]<class A, class Stored>(std::type_identity<A>, Stored) {
    PolyShape shape = switches.front().out.shape;
    shape.components = 1;
    for_each_launch(shape, [&](const Part& part) {
      RowsProductPass<A> pass{};
      set_switches<A>(pass, launcher, part, input, switches, tables, down);
      pass.limbs = limb_moduli(limbs.base, part.first_limb, part.limbs);
      for (std::size_t i = 0; i < part.limbs; ++i) {
        const std::int32_t position = limbs.positions[part.first_limb + i];
        pass.positions[i] = static_cast<std::int16_t>(position);
        if (position < 0 || static_cast<std::size_t>(position) >= up.base().size()) continue;
        const auto of_base = static_cast<std::size_t>(position);
        set_factor<A>(pass.special, i, up.special_residues()[of_base], up.base().modulus(of_base));
      }
      pass.inverse = launcher.tables->transforms<A>().inverse.data();
      pass.digits = device_view(part.batches_of(digits));
      pass.log_degree = launcher.log_degree;
      if (down != nullptr) {
        for (std::size_t i = 0; i < switches.size(); ++i) {
          pass.keys[i].delta = device_view(part.of(switches[i].delta));
        }
        if (!input.added.empty()) {
          std::copy_n(input.added.begin() + static_cast<std::ptrdiff_t>(part.first_limb), part.limbs,
                      pass.added);
        }
      }
      const unsigned groups = pass.digit_count + (down != nullptr ? 2 * pass.key_count : 0);
      const std::size_t inverted = end == SwitchEnd::inverted ? 2 * pass.key_count : 0;
      const unsigned warps = std::min(groups, 8U);
      const std::size_t row_pairs = (std::size_t{1} << launcher.log_rows()) / rows_per_block;
      // Where rounds are many, a fourth block at a time is worth its registers.
      constexpr int most_blocks = std::is_same_v<A, M64> ? 3 : 4;
      const bool crowd = part.batches * part.limbs * row_pairs >= launcher.sizes->least_blocks_of_four;
      std::size_t factors = 0;
      const auto choose = [&]<SwitchEnd ends>(std::integral_constant<SwitchEnd, ends>) {
        return input.is_product() ? rows_inner_product_kernel<A, ends, true, Stored>
                                  : rows_inner_product_kernel<A, ends, false, Stored>;
      };
      const auto kernel = [&] {
        switch (end) {
          case SwitchEnd::extended:
            return choose(std::integral_constant<SwitchEnd, SwitchEnd::extended>{});
          case SwitchEnd::divided:
            if (!crowd || input.is_product()) {
              return choose(std::integral_constant<SwitchEnd, SwitchEnd::divided>{});
            } else {
              constexpr bool shares = std::is_same_v<A, F64>;
              if (shares) factors = block_factors;
              return rows_inner_product_kernel<A, SwitchEnd::divided, false, Stored, most_blocks, shares>;
            }
          case SwitchEnd::lowered:
            return choose(std::integral_constant<SwitchEnd, SwitchEnd::lowered>{});
          case SwitchEnd::inverted:
            if constexpr (std::is_same_v<A, F64>) {
              return rows_inner_product_kernel<A, SwitchEnd::inverted, false, Stored>;
            }
            [[fallthrough]];
          default:
            return rows_inner_product_kernel<A, SwitchEnd::sums, false, Stored>;
        }
      }();
      launch_as({.grid = {static_cast<unsigned>(part.batches), static_cast<unsigned>(row_pairs),
                          static_cast<unsigned>(part.limbs)},
                 .block = {32 * warps},
                 .shared_bytes = (groups + inverted) * block_words * sizeof(typename A::Value) +
                                 factors * sizeof(typename A::Twiddle),
                 .carve_out = launcher.sizes->carve_out},
                "key_inner_product", launcher.stream, kernel, pass, launcher.log_rows());
    });
  };
  with_storage(switches.front().key.word,
               [&](auto stored) { with_arithmetic(arithmetic, [&](auto chosen) { run(chosen, stored); }); });
}

}  // namespace hemera::poly::cuda
