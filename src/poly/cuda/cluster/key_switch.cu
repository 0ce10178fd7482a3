// Small rings: key switches from scaled residues. One kernel makes the sums over the special limbs and takes
// them to scaled residues again; the other one the sums over the base, and the end of the switch.
#include <algorithm>

#include "poly/cuda/cluster/conversion.cuh"
#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/fused/switch_pass.cuh"

namespace hemera::poly::cuda {
namespace {

template <class A>
struct ClusterSwitchPass : SwitchPass<A> {
  ConstDeviceView residues;
  unsigned first;            // limb of the extended base that is limb 0 of the output
  unsigned results;          // components of all keys
  unsigned cluster_results;  // at most this many of a cluster
  unsigned cluster_digits;   // the same of digits; else all
  unsigned keys_in_shared;   // whether a cluster's words of the keys fit its shared memory
  unsigned parts;            // of the remainders that are divided by
  std::uint64_t part_stride;
  const LimbConversion* digit_conversions;     // [limb of the extended base, digit]
  const LimbConversion* division_conversions;  // [limb]
  LimbFactors products;
  Correction correction;
  const typename A::Twiddle* inverse;
  const typename A::Twiddle* roots;  // [limb, 2], of the inverse transform
  const std::uint64_t* shifts;       // [limb]
};

enum class End : std::uint8_t {
  remainders,  // scaled residues of the sums
  sums,
  division,
  product,  // a division, and the tensor product's other components
};

// Warps of a block: enough for the products, and for some transforms at a time.
constexpr unsigned switch_warps = 16;

// The shared memory of a block: conversions, factors, scratch of the warps, and polynomials, [row, entry].
template <class A, int log_rows, End end>
struct SwitchMemory {
  using Shape = ClusterShape<log_rows>;
  using Value = typename A::Value;
  using Twiddle = typename A::Twiddle;
  static constexpr bool divides = end == End::division || end == End::product;

  unsigned digits;
  unsigned results;

  // Digits, sums, deltas or words of keys. The sums' or the deltas' columns come where the digits were.
  __host__ __device__ unsigned sums() const { return end == End::sums ? digits : max(digits, results); }
  __host__ __device__ unsigned others() const { return sums() + (end == End::sums ? 0 : results); }
  __host__ unsigned polynomials(bool keys) const {
    return others() + (divides ? results : keys ? digits * results : 0);
  }
  __host__ __device__ unsigned conversions() const { return digits + (divides ? 1 : 0); }
  static constexpr unsigned factor_sets = end == End::remainders ? 2 : 1;
  __host__ std::size_t bytes(bool keys) const {
    return conversions() * sizeof(LimbConversion) + factor_sets * Shape::factors * sizeof(Twiddle) +
           (switch_warps * Shape::scratch_words + polynomials(keys) * Shape::block_words) * sizeof(Value);
  }

  __device__ __forceinline__ LimbConversion* conversion() const { return dynamic_shared<LimbConversion>(); }
  __device__ __forceinline__ Twiddle* forward() const {
    return reinterpret_cast<Twiddle*>(conversion() + conversions());
  }
  __device__ __forceinline__ Twiddle* inverse() const { return forward() + Shape::factors; }
  __device__ __forceinline__ Value* scratch(unsigned warp) const {
    return reinterpret_cast<Value*>(forward() + factor_sets * Shape::factors) + warp * Shape::scratch_words;
  }
  __device__ __forceinline__ Value* polynomial(unsigned number) const {
    return scratch(switch_warps) + number * Shape::block_words;
  }
};

// A warp's part of columns or rows of the polynomials first, first + 1, ...: run(polynomial, part).
template <int log_rows, typename Run>
__device__ __forceinline__ void for_each_part(unsigned first, unsigned count, unsigned left_out,
                                              const Run& run) {
  constexpr unsigned parts = ClusterShape<log_rows>::block_rows;
  const bool leaves_out = left_out - first < count;
  for (unsigned task = threadIdx.x / 32; task < (count - (leaves_out ? 1 : 0)) * parts;
       task += blockDim.x / 32) {
    const unsigned number = first + task / parts;
    run(leaves_out && number >= left_out ? number + 1 : number, task % parts);
  }
}

// A cluster's block with its part of a limb: it transforms the digits, takes their products with the keys for
// some results (a result is a component of a key's switch), and ends these.
template <class A, int log_rows, End end>
struct ClusterSwitchAgent {
  using Ring = ClusterTransform<A, log_rows>;
  using Memory = SwitchMemory<A, log_rows, end>;
  using Value = typename A::Value;
  static constexpr bool divides = Memory::divides, of_product = end == End::product;
  static constexpr unsigned block_words = Ring::block_words, pairs = block_words / 2;

  const ClusterSwitchPass<A>& pass;
  const unsigned batch = blockIdx.y;
  const unsigned limb = blockIdx.z;                  // of the output
  const unsigned extended_limb = pass.first + limb;  // the same of the extended base
  const unsigned rank = cluster_rank();
  // In blockIdx.x the groups of results are counted within those of digits.
  const unsigned result_groups = (pass.results + pass.cluster_results - 1) / pass.cluster_results;
  const unsigned group = blockIdx.x / Ring::blocks;
  const unsigned digit_group = group / result_groups;
  const unsigned first_result = group % result_groups * pass.cluster_results;
  const unsigned first_digit = digit_group * pass.cluster_digits;
  const unsigned digits = min(pass.cluster_digits, pass.digit_count - first_digit);
  const unsigned results = min(pass.cluster_results, pass.results - first_result);
  const unsigned index = pass.limbs.ring_index[limb];
  const typename A::Modulus m = pass.moduli[index];
  const arith::Modulus q = pass.ring_moduli[index];
  const unsigned key_limb = pass.key_limbs[extended_limb];
  const std::uint32_t own = end == End::remainders ? no_digit : pass.own_digits[extended_limb];
  const Memory memory{digits, results};
  Value* const scratch = memory.scratch(threadIdx.x / 32);

  // Begins to copy factors and conversions to shared memory, and the keys' words where they fit it.
  __device__ __forceinline__ void load_tables() const {
    const std::size_t table = std::size_t{index} * TableLayout(log_rows).size();
    Ring::load_factors(memory.forward(), pass.forward + table, rank, pass.forward + table);
    if constexpr (end == End::remainders) {
      Ring::load_factors(memory.inverse(), pass.inverse + table, rank, pass.roots + 2 * limb);
    }
    load_table(memory.conversion(),
               pass.digit_conversions + std::size_t{extended_limb} * pass.digit_count + first_digit, digits);
    if constexpr (divides) {
      load_table(memory.conversion() + digits, pass.division_conversions + limb, 1);
    }
    if (end == End::remainders && pass.keys_in_shared != 0) load_keys();
  }

  // The digit that has the limb as it stands. What is read before begin_kernel was there before the scaled
  // residues were made; it is read past the first-level cache, which may have words of before.
  __device__ __forceinline__ void copy_own_digit() const {
    if (own == no_digit) return;
    Value* values = memory.polynomial(own);
    for (unsigned i = threadIdx.x; i < block_words; i += blockDim.x) {
      const auto word = [&](const ConstDeviceView& view, unsigned component) {
        return __ldcg(view.limb(batch, component, extended_limb) + block_words * rank + i);
      };
      values[i] = row_value<A>(own_digit<A, of_product>(pass, word, q, m), m);
    }
  }

  // Waits until all blocks of the cluster have their copies.
  __device__ __forceinline__ void finish_loads() const {
    finish_copies();
    cluster_arrive();
    cluster_wait();
  }

  // The products, then the rows of the deltas where the switch ends. Digits and deltas run the same code, so
  // that the second pass finds its instructions in the cache.
  __device__ __forceinline__ void transform_and_multiply() const {
    const ScaledSource residues{pass.residues.limb(batch, 0, 0), pass.residues.limb_stride, 1, 0};
#pragma unroll 1
    for (unsigned phase = 0; phase < (divides ? 2 : 1); ++phase) {
      transform(phase, residues);
      if (phase == 1) break;
      make_products();
    }
  }

  // Sums and deltas in shared memory to the output.
  __device__ __forceinline__ void end_switch() const {
    const typename A::Twiddle inverse = factor_of<A>(pass.inverses, limb);
    for (unsigned unit = threadIdx.x; unit < results * block_words; unit += blockDim.x) {
      const unsigned result = first_result + unit / block_words;
      const unsigned position = block_words * rank + unit % block_words;
      const KeyPart& part = pass.keys[result / 2];
      // Rows go to rows.
      const unsigned to = part.inverse_element == 1
                              ? position
                              : permuted(position, part.inverse_element, log_rows + log_row_size);
      part.out.limb(batch, result % 2, limb)[to] =
          end_division<A>(memory.polynomial(memory.sums())[unit], memory.polynomial(memory.others())[unit],
                          inverse, Value{}, m);
    }
  }

  // Sums in shared memory to scaled residues in the output.
  __device__ __forceinline__ void scale_sums() const {
    // The digits are not needed any more: when all blocks say so, the columns take their place.
    cluster_arrive();
    __syncthreads();
    bool waited = false;
    Value x[8];
    for_each_part<log_rows>(0, results, no_digit, [&](unsigned number, unsigned part) {
      Value* row = memory.polynomial(memory.sums() + number) + row_size * part;
      Ring::take_values(x, row);
      __syncwarp();
      Ring::inverse_row(x, row, part, memory.inverse(), m);
      if (!waited) cluster_wait();
      waited = true;
      Ring::give_columns(x, memory.polynomial(number), rank, part);
    });
    if (!waited) cluster_wait();
    cluster_arrive();
    cluster_wait();
    // The centre is shifted once.
    const std::uint64_t shift = digit_group == 0 ? pass.shifts[limb] : 0;
    for_each_part<log_rows>(0, results, no_digit, [&](unsigned number, unsigned part) {
      const unsigned result = first_result + number;
      std::uint64_t* out =
          pass.keys[result / 2].out.limb(batch, result % 2, limb) + digit_group * pass.part_stride;
      scaled_columns_of<A, log_rows>(out, memory.polynomial(number), scratch, memory.inverse(), shift, rank,
                                     part, m);
    });
  }

 private:
  // The words of a key that the block's rows of a digit are multiplied by.
  __device__ __forceinline__ const std::uint64_t* key_words(unsigned number, unsigned digit) const {
    const unsigned result = first_result + number;
    const ConstDeviceView& key = pass.keys[result / 2].key;
    return key.limb(pass.key_digits[first_digit + digit], result % 2, key_limb) + block_words * rank;
  }

  // Begins to copy them to shared memory: [result, digit, entry].
  __device__ __forceinline__ void load_keys() const {
    for (unsigned i = threadIdx.x; i < digits * results * pairs; i += blockDim.x) {
      const unsigned number = i / pairs, entry = i % pairs * 2;
      copy_to_shared(
          reinterpret_cast<ulonglong2*>(memory.polynomial(memory.others()) + 2 * i),
          reinterpret_cast<const ulonglong2*>(key_words(number / digits, number % digits) + entry));
    }
  }

  // Columns of the deltas to shared memory. All threads take part.
  __device__ __forceinline__ void convert_deltas() const {
    __syncthreads();
    begin_kernel();
#pragma unroll 1
    for (unsigned number = 0; number < results; ++number) {
      const unsigned result = first_result + number;
      const ConstDeviceView& delta = pass.keys[result / 2].delta;
      convert_block<A, log_rows>(
          memory.polynomial(number), memory.conversion()[digits], pass.correction,
          {delta.limb(batch, result % 2, 0), delta.limb_stride, pass.parts, pass.part_stride}, rank, q, m);
    }
    __syncthreads();
  }

  // Rows of the digits (phase 0) or of the deltas to shared memory.
  __device__ __forceinline__ void transform(unsigned phase, const ScaledSource& residues) const {
    const unsigned first = phase == 0 ? 0 : memory.others(), count = phase == 0 ? digits : results;
    const unsigned left_out = phase == 0 ? own : no_digit;
    if (divides && phase == 1) convert_deltas();
    for_each_part<log_rows>(first, count, left_out, [&](unsigned number, unsigned part) {
      Value x[8];
      if (phase == 0) {
        convert_columns_of<A, log_rows>(x, memory.conversion()[number], pass.correction, residues,
                                        Ring::first_column(rank, part), q, m);
      } else {
        Ring::take_block_columns(x, memory.polynomial(number - first), part);
      }
      Ring::forward_columns(x, scratch, memory.forward(), m);
      Ring::give_rows(x, memory.polynomial(number), rank, part);
    });
    cluster_arrive();
    cluster_wait();
    for_each_part<log_rows>(first, count, left_out, [&](unsigned number, unsigned part) {
      Value* row = memory.polynomial(number) + row_size * part;
      Value x[8];
      Ring::take_row(x, row);
      __syncwarp();
      Ring::forward_row(x, row, part, memory.forward(), m);
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
        row[16 * Ring::Share::together(i) + threadIdx.x % 16] = row_value<A>(x[i], m);
      }
    });
    __syncthreads();
  }

  // The digits' products with the keys, two neighbours at a time.
  __device__ __forceinline__ void make_products() const {
    for (unsigned unit = threadIdx.x; unit < results * pairs; unit += blockDim.x) {
      const unsigned number = unit / pairs, entry = unit % pairs * 2;
      const auto word = [&](unsigned digit) {
        const bool copied = end == End::remainders && pass.keys_in_shared != 0;
        return copied ? *reinterpret_cast<const ulonglong2*>(
                            memory.polynomial(memory.others() + number * digits + digit) + entry)
                      : *reinterpret_cast<const ulonglong2*>(key_words(number, digit) + entry);
      };
      Sum<A> sums[2];
      for (unsigned first = 0; first < digits; first += digits_at_once) {
        ulonglong2 words[digits_at_once] = {};
        read_key(words, first, digits, word);
        add_products<A>(sums, words, memory.polynomial(0) + entry, block_words, first, digits, q, m);
      }
      end_unit(number, entry, sums);
    }
  }

  // Sums of two neighbours to the output, or to shared memory with what is added where the switch ends.
  __device__ __forceinline__ void end_unit(unsigned number, unsigned entry, const Sum<A> (&sums)[2]) const {
    const unsigned result = first_result + number, component = result % 2;
    const unsigned position = block_words * rank + entry;
    const Value sum[2] = {sums[0].lazy(q, m), sums[1].lazy(q, m)};
    Value* to = memory.polynomial(memory.sums() + number) + entry;
    if constexpr (end == End::sums) {
      std::uint64_t* out = pass.keys[result / 2].out.limb(batch, component, limb) + position;
      *reinterpret_cast<ulonglong2*>(out) = make_ulonglong2(canonical<A>(sum[0], m), canonical<A>(sum[1], m));
    } else if constexpr (end == End::remainders) {
      to[0] = A::load(canonical<A>(sum[0], m), m);
      to[1] = A::load(canonical<A>(sum[1], m), m);
    } else {
      // The addend after the division is added times D before.
      Added<A, of_product> added;
      added.read(pass, component, extended_limb,
                 [&](const ConstDeviceView& view, unsigned of_component, unsigned of_limb) {
                   return __ldcg(reinterpret_cast<const ulonglong2*>(view.limb(batch, of_component, of_limb) +
                                                                     position));
                 });
      Value addend[2];
      added.values(addend, component, q, m);
      const auto product = A::expand(factor_of<A>(pass.products, limb), m);
      to[0] = sum[0] + A::multiply(addend[0], product, m);
      to[1] = sum[1] + A::multiply(addend[1], product, m);
    }
  }
};

// Grid [block of the cluster and group of results and of digits, batch, limb].
template <class A, int log_rows, End end>
__global__ void __launch_bounds__(32 * switch_warps, 1)
    cluster_switch_kernel(const __grid_constant__ ClusterSwitchPass<A> pass) {
#if defined(HEMERA_HAS_CLUSTERS)
  using Agent = ClusterSwitchAgent<A, log_rows, end>;
  const Agent agent{pass};
  agent.load_tables();
  agent.copy_own_digit();
  agent.finish_loads();
  // A division's digits need the scaled residues alone, which the kernel before that of the remainders has
  // made.
  if constexpr (!Agent::divides) begin_kernel();
  agent.transform_and_multiply();
  if constexpr (Agent::divides) agent.end_switch();
  if constexpr (end == End::remainders) agent.scale_sums();
#endif
}

unsigned groups_of(unsigned count, unsigned together) { return (count + together - 1) / together; }

// The fields of all launches.
template <class A>
ClusterSwitchPass<A> make_pass(const Launcher& launcher, const Part& part, const ConstPolyView& residues,
                               const SwitchInput& input, std::span<const SwitchRows> switches,
                               const ClusterModUp& up, const RnsBase& extended, std::size_t first,
                               const Division* down) {
  ClusterSwitchPass<A> pass{};
  set_switches<A>(pass, launcher, part, input, switches, up, down);
  pass.first = static_cast<unsigned>(first + part.first_limb);
  pass.limbs = limb_moduli(extended, first + part.first_limb, part.limbs);
  pass.residues = device_view(part.batches_of(residues));
  pass.results = static_cast<unsigned>(2 * switches.size());
  pass.cluster_digits = pass.digit_count;
  pass.parts = 1;
  pass.digit_conversions = up.conversions.data();
  pass.inverse = launcher.tables->transforms<A>().inverse.data();
  return pass;
}

template <class A, End end>
void launch_switch(const char* operation, const Launcher& launcher, const Part& part,
                   ClusterSwitchPass<A> pass) {
  with_cluster_rows(launcher.log_rows(), [&]<int log_rows>(std::integral_constant<int, log_rows>) {
    using Shape = ClusterShape<log_rows>;
    const unsigned digit_groups = groups_of(pass.digit_count, pass.cluster_digits);
    pass.cluster_results = results_of_cluster(pass.results, part.batches * part.limbs * digit_groups,
                                              Shape::blocks, *launcher.sizes);
    const SwitchMemory<A, log_rows, end> memory{pass.cluster_digits, pass.cluster_results};
    pass.keys_in_shared =
        std::size_t{memory.digits} * memory.results * Shape::block_words * sizeof(std::uint64_t) <=
                launcher.sizes->most_cluster_key_bytes
            ? 1
            : 0;
    const unsigned groups = groups_of(pass.results, pass.cluster_results) * digit_groups;
    launch_clusters(
        operation, launcher.stream, cluster_switch_kernel<A, log_rows, end>,
        {Shape::blocks * groups, static_cast<unsigned>(part.batches), static_cast<unsigned>(part.limbs)},
        {32 * switch_warps}, Shape::blocks, memory.bytes(pass.keys_in_shared != 0), pass);
  });
}

PolyShape one_component(PolyShape shape) {
  shape.components = 1;
  return shape;
}

}  // namespace

std::size_t cluster_switch_bytes(int log_rows, std::size_t digits, const LaunchSizes& sizes) {
  std::size_t most = 0;
  with_cluster_rows(log_rows, [&]<int rows>(std::integral_constant<int, rows>) {
    const auto count = static_cast<unsigned>(digits),
               results = static_cast<unsigned>(sizes.most_cluster_results);
    const SwitchMemory<U64, rows, End::remainders> remainders{count, results};
    const SwitchMemory<U64, rows, End::division> division{count, results};
    most = std::max(remainders.bytes(false) + sizes.most_cluster_key_bytes, division.bytes(false));
  });
  return most;
}

unsigned cluster_parts(const Launcher& launcher, std::size_t digits, std::size_t polynomials) {
  unsigned parts = 1;
  with_cluster_rows(launcher.log_rows(), [&]<int rows>(std::integral_constant<int, rows>) {
    parts = parts_of_remainders(digits, polynomials, ClusterShape<rows>::blocks, *launcher.sizes);
  });
  return parts;
}

void cluster_remainders(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& residues,
                        std::span<const SwitchRows> switches, unsigned parts, std::size_t part_stride,
                        const ClusterModUp& up, const RnsBase& extended, std::size_t first,
                        const ScaledTables& scaled) {
  with_arithmetic(arithmetic, [&]<class A>(std::type_identity<A>) {
    for_each_launch(one_component(switches.front().out.shape), [&](const Part& part) {
      ClusterSwitchPass<A> pass =
          make_pass<A>(launcher, part, residues, {}, switches, up, extended, first, nullptr);
      pass.cluster_digits = groups_of(pass.digit_count, parts);
      pass.part_stride = part_stride;
      pass.roots = reinterpret_cast<const typename A::Twiddle*>(scaled.roots.data()) + 2 * part.first_limb;
      pass.shifts = scaled.shifts.data() + part.first_limb;
      launch_switch<A, End::remainders>("key_inner_product", launcher, part, pass);
    });
  });
}

void cluster_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& residues,
                           const SwitchInput& input, std::span<const SwitchRows> switches,
                           const ClusterModUp& up, const RnsBase& extended, std::size_t first,
                           const ClusterRemainders* down) {
  with_arithmetic(arithmetic, [&]<class A>(std::type_identity<A>) {
    for_each_launch(one_component(switches.front().out.shape), [&](const Part& part) {
      ClusterSwitchPass<A> pass = make_pass<A>(launcher, part, residues, input, switches, up, extended, first,
                                               down == nullptr ? nullptr : down->plan);
      if (down == nullptr) return launch_switch<A, End::sums>("key_inner_product", launcher, part, pass);
      for (std::size_t i = 0; i < switches.size(); ++i) {
        pass.keys[i].delta = device_view(part.batches_of(switches[i].delta));
      }
      for (std::size_t i = 0; i < part.limbs; ++i) {
        const std::size_t j = part.first_limb + i;
        set_factor<A>(pass.products, i, down->plan->dropped_product()[j].operand,
                      down->plan->target().modulus(j));
      }
      pass.parts = down->parts;
      pass.part_stride = down->part_stride;
      pass.division_conversions = down->tables->conversions.data() + part.first_limb;
      pass.correction = down->tables->correction;
      if (input.is_product()) {
        launch_switch<A, End::product>("switch_key", launcher, part, pass);
      } else {
        launch_switch<A, End::division>("switch_key", launcher, part, pass);
      }
    });
  });
}

}  // namespace hemera::poly::cuda
