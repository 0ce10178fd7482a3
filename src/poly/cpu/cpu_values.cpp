// Values in the order of a Galois generator: integers to residues and back, and slots for the embedding.
// Positions are public; every value is treated alike.
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <numeric>
#include <span>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"

namespace hemera::poly::cpu {
namespace {

// Values of a task: within one of the two rows of N/2 slots.
constexpr std::size_t block = 512;
static_assert(min_degree / 2 % block == 0);

// What a value costs in additions of words (parallel.hpp).
constexpr std::size_t value_weight = 8;

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
  const std::uint64_t mask = 2 * degree - 1;
  std::vector<std::uint32_t> logarithm(2 * degree);
  for (std::uint64_t k = 0, exponent = 1; k < degree / 2; ++k, exponent = exponent * 5 & mask) {
    logarithm[exponent] = static_cast<std::uint32_t>(k);
  }
  std::vector<OrderedSlot> order(count);
  std::uint64_t exponent = 1;
  for (OrderedSlot& entry : order) {
    entry.conjugated = exponent % 4 == 3;  // the powers of 5 are 1 modulo 4
    entry.slot = logarithm[entry.conjugated ? 2 * degree - exponent : exponent];
    exponent = exponent * generator & mask;
  }
  return order;
}

// Values modulo t. Encoders give values of magnitude below t, which need no product; whether all of a block
// are, no more, shows in the time.
void reduce(std::array<std::uint64_t, block>& out, std::span<const std::int64_t> values,
            const arith::Modulus& t) {
  const std::uint64_t modulus = t.value();
  const auto limit = static_cast<std::int64_t>(modulus);
  bool small = true;
  for (const std::int64_t value : values) small &= value < limit && value > -limit;
  if (small) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto word = static_cast<std::uint64_t>(values[i]);
      out[i] = word + (modulus & (0 - (word >> 63)));
    }
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = t.reduce_signed(values[i]);
  }
}

}  // namespace

void CpuBackend::find_positions(std::span<std::uint32_t> positions, std::size_t first, Form form,
                                std::uint64_t generator) const {
  if (form == Form::coefficient) {
    std::iota(positions.begin(), positions.end(), static_cast<std::uint32_t>(first));
    return;
  }
  // Standard order: the entry for the exponent e = 2 rev(i) + 1 is i.
  const std::size_t row = ring()->degree() / 2;
  const std::uint64_t mask = 2 * ring()->degree() - 1;
  std::uint64_t exponent = power(generator, first % row);
  if (first >= row) exponent = 0 - exponent;
  // Every eighth one follows from another, so that products need not wait for each other.
  std::array<std::uint64_t, 8> exponents;
  for (std::uint64_t& entry : exponents) {
    entry = exponent;
    exponent *= generator;
  }
  const std::uint64_t step = power(generator, exponents.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::uint64_t& entry = exponents[i % exponents.size()];
    positions[i] = reversal_[(entry & mask) >> 1];
    entry *= step;
  }
}

void CpuBackend::do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                   std::uint64_t generator, const RnsBase& base) const {
  const arith::Modulus& t = base.modulus(0);
  parallel_for(queue, ring()->degree() / block, out.shape.words() * value_weight, [&](std::size_t task) {
    const std::size_t first = task * block;
    const std::size_t given = std::clamp(values.count, first, first + block) - first;
    std::array<std::uint32_t, block> positions;
    std::array<std::uint64_t, block> residues;
    find_positions(positions, first, form, generator);
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      std::uint64_t* to = out.limb<std::uint64_t>(b, 0, 0);
      const std::int64_t* from = values.data + (values.batch == 1 ? 0 : b) * values.count;
      reduce(residues, std::span(from + first, given), t);
      for (std::size_t i = 0; i < given; ++i) to[positions[i]] = residues[i];
      for (std::size_t i = given; i < block; ++i) to[positions[i]] = 0;
    }
    runtime::secure_zero(residues.data(), sizeof residues);  // of a plaintext
  });
}

void CpuBackend::do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                     Form form, std::uint64_t generator, bool is_signed, const RnsBase& base,
                                     const TakenAlong& along) const {
  const arith::Modulus& t = base.modulus(0);
  for (std::size_t b = 0; along.any != nullptr && b < values.batch; ++b) {
    const std::size_t size = along.part_size(values.batch);
    const std::size_t first = std::min(along.numbers.size(), b * size);
    along.any[b] = 0;
    for (const std::int64_t number :
         along.numbers.subspan(first, std::min(along.numbers.size() - first, size))) {
      along.any[b] |= number;
    }
  }
  const std::size_t tasks = (values.count + block - 1) / block;
  parallel_for(queue, tasks, values.batch * values.count * value_weight, [&](std::size_t task) {
    const std::size_t first = task * block;
    const std::size_t wanted = std::min(values.count - first, block);
    std::array<std::uint32_t, block> positions;
    find_positions(std::span(positions).first(wanted), first, form, generator);
    for (std::size_t b = 0; b < values.batch; ++b) {
      const std::uint64_t* from = in.limb<std::uint64_t>(b, 0, 0);
      std::int64_t* to = values.data + b * values.count + first;
      for (std::size_t i = 0; i < wanted; ++i) {
        const std::uint64_t residue = from[positions[i]];
        to[i] = is_signed ? t.centered(residue) : static_cast<std::int64_t>(residue);
      }
    }
  });
}

void CpuBackend::do_place_slots(Queue& queue, const SlotView& out, const NumberView& values) const {
  parallel_for(queue, out.batch, out.batch * out.slots * value_weight, [&](std::size_t b) {
    const double* from = values.data + b * values.count * (values.is_complex ? 2 : 1);
    std::complex<double>* to = out.data + b * out.slots;
    for (std::size_t i = 0; i < values.count; ++i) {
      to[i] = values.is_complex ? std::complex<double>(from[2 * i], from[2 * i + 1]) : from[i];
    }
    std::fill(to + values.count, to + out.slots, 0.0);
  });
}

void CpuBackend::do_collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const {
  parallel_for(queue, in.batch, in.batch * in.slots * value_weight, [&](std::size_t b) {
    const std::complex<double>* from = in.data + b * in.slots;
    double* to = values.data + b * values.count * (values.is_complex ? 2 : 1);
    for (std::size_t i = 0; i < values.count; ++i) {
      *to++ = from[i].real();
      if (values.is_complex) *to++ = from[i].imag();
    }
  });
}

void CpuBackend::slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                    std::uint64_t generator) const {
  const auto order = order_of(generator, ring()->degree(), out.slots);
  parallel_for(queue, out.batch, out.batch * out.slots * value_weight, [&](std::size_t b) {
    for (std::size_t j = 0; j < out.slots; ++j) {
      out.data[b * out.slots + order[j].slot] = order[j].of(in.data[b * in.slots + j % in.slots]);
    }
  });
}

void CpuBackend::slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                      std::uint64_t generator) const {
  const auto order = order_of(generator, ring()->degree(), out.slots);
  parallel_for(queue, out.batch, out.batch * out.slots * value_weight, [&](std::size_t b) {
    for (std::size_t j = 0; j < out.slots; ++j) {
      out.data[b * out.slots + j] = order[j].of(in.data[b * in.slots + order[j].slot]);
    }
  });
}

}  // namespace hemera::poly::cpu
