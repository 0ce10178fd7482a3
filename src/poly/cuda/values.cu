// A thread a value. Where it goes is worked out from its index, without tables: an exponent modulo 2N is a
// product of at most 16 constants.
#include <algorithm>
#include <bit>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/values.hpp"
#include "poly/exponential_arithmetic.hpp"

namespace hemera::poly::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned most_slot_bits = 16;
static_assert(max_degree / 2 <= 1U << most_slot_bits && min_degree / 2 % threads == 0);

/// g^(2^k), modulo 2^32.
struct GeneratorPowers {
  std::uint32_t power[most_slot_bits];
};

GeneratorPowers powers_of(std::uint64_t generator) {
  GeneratorPowers result{};
  auto power = static_cast<std::uint32_t>(generator);
  for (std::uint32_t& entry : result.power) {
    entry = power;
    power *= power;
  }
  return result;
}

/// g^index modulo 2^32, and so modulo 2N.
__device__ __forceinline__ unsigned power_of(const GeneratorPowers& powers, unsigned index, unsigned bits) {
  unsigned result = 1;
  for (unsigned k = 0; k < bits; ++k) result *= (index >> k & 1U) != 0 ? powers.power[k] : 1U;
  return result;
}

/// Rows of N/2 places, of which the first `length` have values.
struct Rows {
  unsigned length;
  unsigned log_degree;

  /// The value of a place, or the given number of values or more where there is none.
  [[nodiscard]] __device__ __forceinline__ unsigned value_of(unsigned place) const {
    const unsigned row = place >> (log_degree - 1), column = place & ((1U << (log_degree - 1)) - 1);
    return column < length ? row * length + column : 2 * length;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned place_of(unsigned value) const {
    return value < length ? value : value - length + (1U << (log_degree - 1));
  }
};

/// Where value `index` of place_integers stands: in rows of N/2 slots, or as coefficient.
__device__ __forceinline__ unsigned position_of(unsigned index, bool in_slots, const GeneratorPowers& powers,
                                                unsigned log_degree) {
  if (!in_slots) return index;
  const unsigned row = 1U << (log_degree - 1);
  const unsigned power = power_of(powers, index & (row - 1), log_degree - 1);
  const unsigned exponent = (index & row) != 0 ? 0 - power : power;
  return transposed(reversed((exponent & ((2U << log_degree) - 1)) >> 1, log_degree));
}

// Grid [tile of values, polynomial]; all N places are written.
__global__ void __launch_bounds__(threads)
    place_integers_kernel(DeviceView out, const std::int64_t* values, std::uint64_t row_stride,
                          unsigned count, bool in_slots, const __grid_constant__ GeneratorPowers powers,
                          Rows rows, const arith::Modulus* modulus) {
  const arith::Modulus t = *modulus;
  const unsigned index = blockIdx.x * threads + threadIdx.x;
  const unsigned position = position_of(index, in_slots, powers, rows.log_degree);
  const unsigned value = rows.value_of(index);
  begin_kernel();
  out.limb(blockIdx.y, 0, 0)[position] =
      value < count ? t.reduce_signed(values[blockIdx.y * row_stride + value]) : 0;
}

// Numbers that a collecting kernel takes along.
struct Along {
  const std::int64_t* numbers;
  std::uint64_t count;
  std::uint64_t part_size;
  std::int64_t* any;  // or null
};

// The block of a row that takes numbers along.
__device__ __forceinline__ void take_along(const Along& along, unsigned row) {
  const std::uint64_t first = row * along.part_size;
  const std::uint64_t end = min(along.count, first + along.part_size);
  __shared__ std::int64_t found[threads / 32];
  std::int64_t any = 0;
  for (std::uint64_t i = first + threadIdx.x; i < end; i += threads) any |= along.numbers[i];
#pragma unroll
  for (int lanes = 16; lanes != 0; lanes /= 2) any |= __shfl_xor_sync(0xffffffffU, any, lanes);
  if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = any;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (unsigned warp = 1; warp < threads / 32; ++warp) any |= found[warp];
  along.any[row] = any;
}

// Grid [tile of values, polynomial]; with numbers that are taken along, one tile more.
__global__ void __launch_bounds__(threads)
    collect_integers_kernel(std::int64_t* values, ConstDeviceView in, unsigned count, bool in_slots,
                            bool is_signed, const __grid_constant__ GeneratorPowers powers, Rows rows,
                            const arith::Modulus* modulus, Along along) {
  const arith::Modulus t = *modulus;
  const unsigned index = blockIdx.x * threads + threadIdx.x;
  const unsigned position = position_of(rows.place_of(index), in_slots, powers, rows.log_degree);
  begin_kernel();
  if (along.any != nullptr && blockIdx.x == gridDim.x - 1) return take_along(along, blockIdx.y);
  if (index >= count) return;
  const std::uint64_t residue = in.limb(blockIdx.y, 0, 0)[position];
  values[std::uint64_t{blockIdx.y} * count + index] =
      is_signed ? t.centered(residue) : static_cast<std::int64_t>(residue);
}

// Grid [tile of slots, row]. `rows`: of an element of the batch, before which others have been.
__global__ void __launch_bounds__(threads)
    exponentials_kernel(double2* out, ConstDeviceView in, const __grid_constant__ ExponentialLayout layout,
                        unsigned slots, unsigned degree, unsigned first_row, const arith::Modulus* modulus) {
  const unsigned slot = blockIdx.x * threads + threadIdx.x, row = first_row + blockIdx.y;
  const std::uint64_t q = modulus->value();
  begin_kernel();
  if (slot >= slots) return;
  const auto rows = static_cast<unsigned>(layout.rows());
  const auto values = static_cast<unsigned>(layout.values), blocks = static_cast<unsigned>(layout.blocks);
  const unsigned j = slot & (values - 1), group = slot / values;
  const unsigned k = group & (blocks - 1), v = group / blocks;
  double2 result = make_double2(0, 0);
  if (v < layout.places) {
    const std::size_t position = exponential_position(layout, j, degree);
    const std::size_t shift = layout.stride * (k * layout.length + row % rows * layout.places + v);
    std::uint64_t t = shifted_coefficient(in.limb(row / rows, 1, 0), shift, position, degree, q);
    if (k == 0) t += in.limb(row / rows, 0, 0)[position];
    const UnitNumber number = exponential(t < q ? t : t - q, q);
    result = make_double2(number.real, number.imaginary);
  }
  out[std::size_t{blockIdx.y} * slots + slot] = result;
}

// Grid [tile of slots, row].
__global__ void __launch_bounds__(threads)
    place_slots_kernel(double2* out, const double* values, unsigned slots, unsigned count, bool is_complex) {
  const unsigned index = blockIdx.x * threads + threadIdx.x;
  begin_kernel();
  if (index >= slots) return;
  double2 value = make_double2(0, 0);
  if (index < count) {
    const double* from = values + (std::size_t{blockIdx.y} * count + index) * (is_complex ? 2 : 1);
    value = make_double2(from[0], is_complex ? from[1] : 0);
  }
  out[std::size_t{blockIdx.y} * slots + index] = value;
}

__global__ void __launch_bounds__(threads)
    collect_slots_kernel(double* values, const double2* in, unsigned slots, unsigned count, bool is_complex) {
  const unsigned index = blockIdx.x * threads + threadIdx.x;
  begin_kernel();
  if (index >= count) return;
  const double2 value = in[std::size_t{blockIdx.y} * slots + index];
  double* to = values + (std::size_t{blockIdx.y} * count + index) * (is_complex ? 2 : 1);
  to[0] = value.x;
  if (is_complex) to[1] = value.y;
}

struct OrderedSlot {
  unsigned slot;
  bool conjugated;
};

/// Slot j by the powers of the generator is this slot by the powers of 5, or its conjugate. The logarithm to
/// base 5 bit by bit: 5^(2^b) is 1 + 2^(b+2) modulo 2^(b+3).
__device__ __forceinline__ OrderedSlot ordered(unsigned j, const GeneratorPowers& powers,
                                               const GeneratorPowers& inverse_fives, unsigned bits) {
  unsigned exponent = power_of(powers, j, bits);
  const bool conjugated = (exponent & 3U) == 3U;
  if (conjugated) exponent = 0 - exponent;
  unsigned slot = 0;
  for (unsigned b = 0; b < bits; ++b) {
    if ((exponent & ((8U << b) - 1)) != 1) {
      slot |= 1U << b;
      exponent *= inverse_fives.power[b];
    }
  }
  return {slot, conjugated};
}

__device__ __forceinline__ double2 conjugated_if(bool conjugated, double2 value) {
  return conjugated ? make_double2(value.x, -value.y) : value;
}

// Grid [tile of slots, row].
__global__ void __launch_bounds__(threads)
    slots_to_embedding_kernel(double2* out, const double2* in, unsigned slots,
                              const __grid_constant__ GeneratorPowers powers,
                              const __grid_constant__ GeneratorPowers inverse_fives, unsigned bits) {
  const unsigned j = blockIdx.x * threads + threadIdx.x;
  const OrderedSlot to = ordered(j, powers, inverse_fives, bits);
  begin_kernel();
  out[(std::size_t{blockIdx.y} << bits) + to.slot] =
      conjugated_if(to.conjugated, in[std::size_t{blockIdx.y} * slots + (j & (slots - 1))]);
}

__global__ void __launch_bounds__(threads)
    slots_from_embedding_kernel(double2* out, const double2* in, unsigned slots,
                                const __grid_constant__ GeneratorPowers powers,
                                const __grid_constant__ GeneratorPowers inverse_fives, unsigned bits) {
  const unsigned j = blockIdx.x * threads + threadIdx.x;
  const OrderedSlot from = ordered(j, powers, inverse_fives, bits);
  begin_kernel();
  if (j >= slots) return;
  out[std::size_t{blockIdx.y} * slots + j] =
      conjugated_if(from.conjugated, in[(std::size_t{blockIdx.y} << bits) + from.slot]);
}

/// 5^-1 modulo 2^32.
constexpr std::uint32_t inverse_five = 0xCCCCCCCDU;
static_assert(inverse_five * 5U == 1U);

unsigned tiles(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

Rows rows_of(const Launcher& launcher, Form form, const RnsBase& base) {
  const std::size_t degree = launcher.degree();
  const std::size_t values =
      form == Form::evaluation ? (*base.ring())[base.index(0)].values_in(degree) : degree;
  return {.length = static_cast<unsigned>(values / 2), .log_degree = launcher.log_degree};
}

}  // namespace

void place_integers(const Launcher& launcher, const PolyView& out, const IntegerView& values, Form form,
                    std::uint64_t generator, const RnsBase& base) {
  const std::size_t row_stride = values.batch == 1 ? 0 : values.count;
  for_each_launch(out.shape, [&](const Part& part) {
    launch("place_integers", launcher.stream, place_integers_kernel,
           {tiles(launcher.degree()), static_cast<unsigned>(part.batches)}, {threads}, 0,
           device_view(part.of(out)), values.data + part.first_batch * row_stride, row_stride,
           static_cast<unsigned>(values.count), form == Form::evaluation, powers_of(generator),
           rows_of(launcher, form, base), launcher.tables->moduli() + base.index(0));
  });
}

void collect_integers(const Launcher& launcher, const IntegerView& values, const ConstPolyView& in, Form form,
                      std::uint64_t generator, bool is_signed, const RnsBase& base, const TakenAlong& along) {
  PolyShape shape = in.shape;
  shape.batch = values.batch;
  const std::size_t part_size = along.part_size(values.batch);
  for_each_launch(shape, [&](const Part& part) {
    const std::size_t before = std::min(along.numbers.size(), part.first_batch * part_size);
    const Along numbers{.numbers = along.numbers.data() + before,
                        .count = along.numbers.size() - before,
                        .part_size = part_size,
                        .any = along.any == nullptr ? nullptr : along.any + part.first_batch};
    launch("collect_integers", launcher.stream, collect_integers_kernel,
           {tiles(values.count) + (along.any == nullptr ? 0 : 1), static_cast<unsigned>(part.batches)},
           {threads}, 0, values.data + part.first_batch * values.count, device_view(part.of(in)),
           static_cast<unsigned>(values.count), form == Form::evaluation, is_signed, powers_of(generator),
           rows_of(launcher, form, base), launcher.tables->moduli() + base.index(0), numbers);
  });
}

void exponentials(const Launcher& launcher, const SlotView& out, const ConstPolyView& in,
                  const ExponentialLayout& layout, const RnsBase& base) {
  for_each_launch(PolyShape{.batch = out.batch}, [&](const Part& part) {
    launch("exponentials", launcher.stream, exponentials_kernel,
           {tiles(out.slots), static_cast<unsigned>(part.batches)}, {threads}, 0,
           reinterpret_cast<double2*>(out.data) + part.first_batch * out.slots, device_view(in), layout,
           static_cast<unsigned>(out.slots), static_cast<unsigned>(in.shape.degree),
           static_cast<unsigned>(part.first_batch), launcher.tables->moduli() + base.index(0));
  });
}

void place_slots(const Launcher& launcher, const SlotView& out, const NumberView& values) {
  const std::size_t row_stride = values.count * (values.is_complex ? 2 : 1);
  for_each_launch(PolyShape{.batch = out.batch}, [&](const Part& part) {
    launch("place_slots", launcher.stream, place_slots_kernel,
           {tiles(out.slots), static_cast<unsigned>(part.batches)}, {threads}, 0,
           reinterpret_cast<double2*>(out.data) + part.first_batch * out.slots,
           values.data + part.first_batch * row_stride, static_cast<unsigned>(out.slots),
           static_cast<unsigned>(values.count), values.is_complex);
  });
}

void collect_slots(const Launcher& launcher, const NumberView& values, const SlotView& in) {
  const std::size_t row_stride = values.count * (values.is_complex ? 2 : 1);
  for_each_launch(PolyShape{.batch = in.batch}, [&](const Part& part) {
    launch("collect_slots", launcher.stream, collect_slots_kernel,
           {tiles(values.count), static_cast<unsigned>(part.batches)}, {threads}, 0,
           values.data + part.first_batch * row_stride,
           reinterpret_cast<const double2*>(in.data) + part.first_batch * in.slots,
           static_cast<unsigned>(in.slots), static_cast<unsigned>(values.count), values.is_complex);
  });
}

namespace {

template <typename Kernel>
void order_slots(const char* operation, const Launcher& launcher, Kernel kernel, const SlotView& out,
                 const SlotView& in, std::size_t slots, std::uint64_t generator) {
  const PolyShape rows{.batch = out.batch};
  for_each_launch(rows, [&](const Part& part) {
    launch(operation, launcher.stream, kernel, {tiles(out.slots), static_cast<unsigned>(part.batches)},
           {threads}, 0, reinterpret_cast<double2*>(out.data) + part.first_batch * out.slots,
           reinterpret_cast<const double2*>(in.data) + part.first_batch * in.slots,
           static_cast<unsigned>(slots), powers_of(generator), powers_of(inverse_five),
           launcher.log_degree - 1);
  });
}

}  // namespace

void slots_to_embedding(const Launcher& launcher, const SlotView& out, const SlotView& in,
                        std::uint64_t generator) {
  order_slots("slots_to_embedding", launcher, slots_to_embedding_kernel, out, in, in.slots, generator);
}

void slots_from_embedding(const Launcher& launcher, const SlotView& out, const SlotView& in,
                          std::uint64_t generator) {
  order_slots("slots_from_embedding", launcher, slots_from_embedding_kernel, out, in, out.slots, generator);
}

}  // namespace hemera::poly::cuda
