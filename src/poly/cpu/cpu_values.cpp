// Values in the order of a Galois generator: integers to residues and back, and slots for the embedding.
// Positions are public; every value is treated alike.
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <mutex>
#include <span>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/exponential_arithmetic.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// Slots stand in two rows of N/2, for the powers of the generator and their negatives. Slots that are N/16
// places apart in a row belong to eight neighbouring entries: the powers' lower bits are the same.
constexpr std::size_t rows = 16;  // eight of each row of N/2

// Groups of entries of a task, and its values.
constexpr std::size_t groups_per_task = 64;
constexpr std::size_t block = 2 * 8 * groups_per_task;
static_assert(min_degree % block == 0);

// base^exponent modulo 2^64, and so modulo 2N.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

// Slot j by the powers of a generator is `slot` by the powers of 5, or its conjugate.
struct OrderedSlot {
  std::uint32_t slot;
  bool conjugated;

  [[nodiscard]] std::complex<double> of(const std::complex<double>& value) const {
    return conjugated ? std::conj(value) : value;
  }
};

std::vector<OrderedSlot> order_of(std::uint64_t generator, std::size_t degree, std::size_t count) {
  const std::size_t mask = 2 * degree - 1;
  std::vector<std::uint32_t> logarithm(2 * degree);
  for (std::size_t k = 0, exponent = 1; k < degree / 2; ++k, exponent = exponent * 5 & mask) {
    logarithm[exponent] = static_cast<std::uint32_t>(k);
  }
  std::vector<OrderedSlot> order(count);
  std::size_t exponent = 1;
  for (OrderedSlot& entry : order) {
    entry.conjugated = exponent % 4 == 3;  // the powers of 5 are 1 modulo 4
    entry.slot = logarithm[entry.conjugated ? 2 * degree - exponent : exponent];
    exponent = static_cast<std::size_t>(exponent * generator & mask);
  }
  return order;
}

// Orders of a group, for Kernels::place_groups and collect_groups. The entry of exponent e = 2 k + 1 is the
// reversal of k. A slot N/16 places on has the exponent e g^(N/16), and g^(N/16) is 1 + u N/4: of k only the
// top three bits change, by u e modulo 8. So the order follows from these bits, which are the last three of
// the entry, and from u e modulo 8, which is odd.
struct GroupOrders {
  alignas(64) std::array<std::uint64_t, std::size_t{8} * 32> slots_of_entries{};
  alignas(64) std::array<std::uint64_t, std::size_t{8} * 32> entries_of_slots{};

  static constexpr std::size_t number(std::size_t entry, std::size_t odd) {
    return 8 * (odd / 2) + entry % 8;
  }

  constexpr GroupOrders() {
    for (std::size_t entry = 0; entry < 8; ++entry) {
      for (std::size_t odd = 1; odd < 8; odd += 2) {
        const std::size_t start = 8 * number(entry, odd);
        for (std::size_t c = 0; c < 8; ++c) {
          const std::size_t lane = arith::reverse_bits((arith::reverse_bits(entry, 3) + c * odd) % 8, 3);
          entries_of_slots[start + c] = lane;
          slots_of_entries[start + lane] = c;
        }
      }
    }
  }
};
constexpr GroupOrders group_orders;

// The groups of slots k < N/16 of one row of N/2, then of the other, for a generator.
std::vector<std::uint32_t> find_groups_of_slots(std::size_t degree, std::uint64_t generator,
                                                std::span<const std::uint32_t> reversal) {
  // u e modulo 8, by the first two bits of the entry of e, which are the last ones of k.
  std::array<std::size_t, 4> odd;
  const std::uint64_t u = power(generator, degree / 16) / (degree / 4) % 8;
  for (std::size_t bits = 0; bits < odd.size(); ++bits) {
    odd[bits] = u * (2 * arith::reverse_bits(bits, 2) + 1) % 8;
  }
  const int shift = std::countr_zero(degree) - 2;
  const auto group = [&](std::size_t entry) {
    return static_cast<std::uint32_t>(32 * (entry / 8) + GroupOrders::number(entry, odd[entry >> shift]));
  };
  const std::size_t count = degree / rows;
  std::vector<std::uint32_t> groups(2 * count);
  std::uint64_t exponent = 1;
  for (std::size_t k = 0; k < count; ++k, exponent *= generator) {
    const std::size_t entry = reversal[(exponent >> 1) & (degree - 1)];
    groups[k] = group(entry);
    groups[count + k] = group(degree - 1 - entry);
  }
  return groups;
}

// The given values modulo t, and zeros after them up to `count`. Encoders give values of magnitude below t,
// which need no product; whether all of them are, no more, shows in the time.
void reduce(const Kernels& kernels, std::uint64_t* out, std::span<const std::int64_t> values,
            std::size_t count, const arith::Modulus& t) {
  if (!kernels.residues_within(out, values.data(), values.size(), t.value())) {
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = t.reduce_signed(values[i]);
  }
  std::fill(out + values.size(), out + count, 0);
}

// Residues as integers, centred if they are signed.
void to_integers(std::int64_t* out, const std::uint64_t* residues, std::size_t count, bool is_signed,
                 const arith::Modulus& t) {
  if (is_signed) {
    for (std::size_t i = 0; i < count; ++i) out[i] = t.centered(residues[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(residues[i]);
  }
}

}  // namespace

bool CpuBackend::all_within(std::span<const std::int64_t> values, std::uint64_t bound) const {
  return kernels_.all_within(values.data(), values.size(), bound);
}

const std::vector<std::uint32_t>& CpuBackend::groups_of_slots(std::uint64_t generator) const {
  const std::lock_guard lock(groups_of_slots_mutex_);
  std::vector<std::uint32_t>& groups = groups_of_slots_[generator];
  if (groups.empty()) groups = find_groups_of_slots(ring()->degree(), generator, reversal_);
  return groups;
}

// Entries of values in rows of a length below N/2, which are few: one by one.
template <typename Work>
void CpuBackend::for_entries_of_rows(std::size_t length, std::uint64_t generator, const Work& work) const {
  const std::size_t degree = ring()->degree();
  std::uint64_t exponent = 1;
  for (std::size_t i = 0; i < length; ++i, exponent *= generator) {
    const std::size_t entry = reversal_[(exponent >> 1) & (degree - 1)];
    work(i, entry);
    work(length + i, degree - 1 - entry);
  }
}

void CpuBackend::do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                   std::uint64_t generator, const RnsBase& base) const {
  const arith::Modulus& t = base.modulus(0);
  const std::size_t degree = ring()->degree();
  const auto from = [&](std::size_t b, std::size_t first, std::size_t count) {
    const std::size_t given = std::clamp(values.count, first, first + count) - first;
    return std::span(values.data + (values.batch == 1 ? 0 : b) * values.count + (given == 0 ? 0 : first),
                     given);
  };
  if (form == Form::coefficient) {
    parallel_for(queue, out.shape.batch * (degree / block), out.shape.words() * tuning::value_weight,
                 [&](std::size_t task) {
                   const std::size_t b = task / (degree / block), first = task % (degree / block) * block;
                   reduce(kernels_, out.limb<Limb>(b, 0, 0) + first, from(b, first, block), block, t);
                 });
    return;
  }
  if (const std::size_t held = (*base.ring())[base.index(0)].values_in(degree); held < degree) {
    parallel_for(queue, out.shape.batch, out.shape.words() * tuning::value_weight, [&](std::size_t b) {
      const std::span<const std::int64_t> given = from(b, 0, values.count);
      Limb* entries = out.limb<Limb>(b, 0, 0);
      std::fill_n(entries, degree, 0);
      for_entries_of_rows(held / 2, generator, [&](std::size_t value, std::size_t entry) {
        if (value < given.size()) entries[entry] = t.reduce_signed(given[value]);
      });
    });
    return;
  }
  const std::vector<std::uint32_t>& groups = groups_of_slots(generator);
  parallel_for(queue, degree / block, out.shape.words() * tuning::value_weight, [&](std::size_t task) {
    const std::size_t first = task * groups_per_task;
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      const auto place = [&](const std::int64_t* slots, std::size_t stride) {
        bool within = true;
        for (std::size_t half = 0; half < 2; ++half) {
          within &= kernels_.place_groups(out.limb<Limb>(b, 0, 0), slots + half * 8 * stride, stride,
                                          groups.data() + half * (degree / rows) + first,
                                          group_orders.slots_of_entries.data(), groups_per_task, t.value());
        }
        return within;
      };
      if (values.count == degree && place(from(b, 0, degree).data() + first, degree / rows)) continue;
      // Some are missing, or need a product.
      alignas(64) std::array<std::uint64_t, block> residues;
      for (std::size_t row = 0; row < rows; ++row) {
        reduce(kernels_, residues.data() + row * groups_per_task,
               from(b, row * (degree / rows) + first, groups_per_task), groups_per_task, t);
      }
      place(reinterpret_cast<const std::int64_t*>(residues.data()), groups_per_task);
      runtime::secure_zero(residues.data(), sizeof residues);  // of a plaintext
    }
  });
}

void CpuBackend::do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                     Form form, std::uint64_t generator, bool is_signed, const RnsBase& base,
                                     const TakenAlong& along) const {
  const arith::Modulus& t = base.modulus(0);
  const std::size_t degree = ring()->degree();
  for (std::size_t b = 0; along.any != nullptr && b < values.batch; ++b) {
    const std::size_t size = along.part_size(values.batch);
    const std::size_t first = std::min(along.numbers.size(), b * size);
    along.any[b] = 0;
    for (const std::int64_t number :
         along.numbers.subspan(first, std::min(along.numbers.size() - first, size))) {
      along.any[b] |= number;
    }
  }
  const auto wanted = [&](std::size_t first, std::size_t count) {
    return std::clamp(values.count, first, first + count) - first;
  };
  if (form == Form::coefficient) {
    parallel_for(queue, values.batch * (degree / block), in.shape.words() * tuning::value_weight,
                 [&](std::size_t task) {
                   const std::size_t b = task / (degree / block), first = task % (degree / block) * block;
                   if (first >= values.count) return;
                   to_integers(values.data + b * values.count + first, in.limb<Limb>(b, 0, 0) + first,
                               wanted(first, block), is_signed, t);
                 });
    return;
  }
  if (const std::size_t held = (*base.ring())[base.index(0)].values_in(degree); held < degree) {
    parallel_for(queue, values.batch, in.shape.words() * tuning::value_weight, [&](std::size_t b) {
      const Limb* entries = in.limb<Limb>(b, 0, 0);
      std::int64_t* found = values.data + b * values.count;
      for_entries_of_rows(held / 2, generator, [&](std::size_t value, std::size_t entry) {
        if (value < values.count) to_integers(found + value, entries + entry, 1, is_signed, t);
      });
    });
    return;
  }
  const std::vector<std::uint32_t>& groups = groups_of_slots(generator);
  parallel_for(queue, degree / block, in.shape.words() * tuning::value_weight, [&](std::size_t task) {
    const std::size_t first = task * groups_per_task;
    if (first >= values.count) return;
    // Values go through a buffer: writing to the rows, which stand at multiples of a page, took a fiftieth
    // longer on a Xeon.
    alignas(64) std::array<std::int64_t, block> slots;
    for (std::size_t b = 0; b < values.batch; ++b) {
      for (std::size_t half = 0; half < 2; ++half) {
        kernels_.collect_groups(slots.data() + half * (block / 2), groups_per_task, in.limb<Limb>(b, 0, 0),
                                groups.data() + half * (degree / rows) + first,
                                group_orders.entries_of_slots.data(), groups_per_task,
                                is_signed ? t.value() / 2 : t.value(), t.value());
      }
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t start = row * (degree / rows) + first;
        const std::size_t count = wanted(start, groups_per_task);
        if (count == 0) break;
        std::copy_n(slots.data() + row * groups_per_task, count, values.data + b * values.count + start);
      }
    }
    runtime::secure_zero(slots.data(), sizeof slots);  // of a plaintext
  });
}

void CpuBackend::do_exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                                 const ExponentialLayout& layout, const RnsBase& base) const {
  const std::size_t degree = in.shape.degree, own_rows = layout.rows();
  const std::uint64_t q = base.modulus(0).value();
  std::vector<std::size_t> positions;
  for (std::size_t j = 0; j < layout.values; ++j)
    positions.push_back(exponential_position(layout, j, degree));
  const std::size_t used = layout.values * layout.blocks * layout.places;
  parallel_for(queue, out.batch, out.batch * used * tuning::exponential_weight, [&](std::size_t row) {
    const Limb *b = in.limb<Limb>(row / own_rows, 0, 0), *a = in.limb<Limb>(row / own_rows, 1, 0);
    std::complex<double>* to = out.data + row * out.slots;
    std::fill(to + used, to + out.slots, 0.0);
    for (std::size_t group = 0; group < used / layout.values; ++group) {
      const std::size_t k = group % layout.blocks, v = group / layout.blocks;
      const std::size_t shift = layout.stride * (k * layout.length + row % own_rows * layout.places + v);
      for (std::size_t j = 0; j < layout.values; ++j) {
        const std::uint64_t t = shifted_coefficient(a, shift, positions[j], degree, q);
        const std::uint64_t sum = k == 0 ? t + b[positions[j]] : t;
        const UnitNumber number = exponential(sum < q ? sum : sum - q, q);
        *to++ = {number.real, number.imaginary};
      }
    }
  });
}

void CpuBackend::do_place_slots(Queue& queue, const SlotView& slots, const NumberView& values,
                                Placement placement) const {
  parallel_for(queue, slots.batch, slots.batch * slots.slots * tuning::value_weight, [&](std::size_t b) {
    double* numbers = values.data + b * values.count * (values.is_complex ? 2 : 1);
    std::complex<double>* row = slots.data + b * slots.slots;
    if (placement == Placement::collect) {
      for (std::size_t i = 0; i < values.count; ++i) {
        *numbers++ = row[i].real();
        if (values.is_complex) *numbers++ = row[i].imag();
      }
      return;
    }
    for (std::size_t i = 0; i < values.count; ++i) {
      row[i] = values.is_complex ? std::complex<double>(numbers[2 * i], numbers[2 * i + 1]) : numbers[i];
    }
    std::fill(row + values.count, row + slots.slots, 0.0);
  });
}

void CpuBackend::slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                    std::uint64_t generator) const {
  const auto order = order_of(generator, ring()->degree(), out.slots);
  parallel_for(queue, out.batch, out.batch * out.slots * tuning::value_weight, [&](std::size_t b) {
    for (std::size_t j = 0; j < out.slots; ++j) {
      out.data[b * out.slots + order[j].slot] = order[j].of(in.data[b * in.slots + j % in.slots]);
    }
  });
}

void CpuBackend::slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                      std::uint64_t generator) const {
  const auto order = order_of(generator, ring()->degree(), out.slots);
  parallel_for(queue, out.batch, out.batch * out.slots * tuning::value_weight, [&](std::size_t b) {
    for (std::size_t j = 0; j < out.slots; ++j) {
      out.data[b * out.slots + j] = order[j].of(in.data[b * in.slots + order[j].slot]);
    }
  });
}

}  // namespace hemera::poly::cpu
