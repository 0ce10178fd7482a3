// Operations entry by entry, copies included: each reads and writes memory once.
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 256;
constexpr unsigned words_per_thread = 2;  // 16 bytes
constexpr unsigned words_per_block = threads * words_per_thread;
static_assert(min_degree % words_per_block == 0);

struct Pair {
  std::uint64_t x, y;
};

__device__ __forceinline__ Pair read(const std::uint64_t* words) {
  const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(words);
  return {pair.x, pair.y};
}
__device__ __forceinline__ void write(std::uint64_t* words, std::uint64_t x, std::uint64_t y) {
  *reinterpret_cast<ulonglong2*>(words) = make_ulonglong2(x, y);
}

// The two words of this thread: grid [tile, polynomial, limb].
struct Place {
  unsigned batch, component, limb, entry;

  __device__ explicit Place(unsigned components)
      : batch(blockIdx.y / components),
        component(blockIdx.y % components),
        limb(blockIdx.z),
        entry((blockIdx.x * threads + threadIdx.x) * words_per_thread) {}

  template <typename W>
  __device__ W* in(const BasicDeviceView<W>& view) const {
    return view.limb(batch, component, limb) + entry;
  }
};

dim3 grid(const Launcher& launcher, const PolyShape& shape, const Part& part) {
  return {launcher.degree() / words_per_block, static_cast<unsigned>(part.batches * shape.components),
          static_cast<unsigned>(part.limbs)};
}

template <Binary operation>
__device__ __forceinline__ std::uint64_t apply(std::uint64_t out, std::uint64_t a, std::uint64_t b,
                                               const Modulus& q) {
  if constexpr (operation == Binary::add) return q.add(a, b);
  if constexpr (operation == Binary::subtract) return q.subtract(a, b);
  if constexpr (operation == Binary::multiply) return q.multiply(a, b);
  return q.reduce(static_cast<uint128>(a) * b + out);
}

template <Binary operation>
__global__ void __launch_bounds__(threads)
    binary_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned components,
                  const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  std::uint64_t* to = place.in(out);
  const Pair x = read(place.in(a)), y = read(place.in(b));
  Pair old{0, 0};
  if constexpr (operation == Binary::multiply_add) old = read(to);
  write(to, apply<operation>(old.x, x.x, y.x, q), apply<operation>(old.y, x.y, y.y, q));
}

__global__ void __launch_bounds__(threads)
    negate_kernel(DeviceView out, ConstDeviceView a, unsigned components,
                  const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  const Pair x = read(place.in(a));
  write(place.in(out), q.negate(x.x), q.negate(x.y));
}

__global__ void __launch_bounds__(threads)
    multiply_scalar_kernel(DeviceView out, ConstDeviceView a, unsigned components,
                           const __grid_constant__ LimbModuli limbs,
                           const __grid_constant__ LimbWords scalars, const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  const std::uint64_t scalar = scalars.word[place.limb];
  begin_kernel();
  const Pair x = read(place.in(a));
  write(place.in(out), q.multiply(x.x, scalar), q.multiply(x.y, scalar));
}

__global__ void __launch_bounds__(threads)
    add_scalar_kernel(DeviceView out, ConstDeviceView a, unsigned components, bool every_entry,
                      const __grid_constant__ LimbModuli limbs, const __grid_constant__ LimbWords scalars,
                      const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  const std::uint64_t scalar = scalars.word[place.limb];
  begin_kernel();
  const Pair x = read(place.in(a));
  write(place.in(out), every_entry || place.entry == 0 ? q.add(x.x, scalar) : x.x,
        every_entry ? q.add(x.y, scalar) : x.y);
}

__global__ void __launch_bounds__(threads)
    copy_kernel(DeviceView out, ConstDeviceView in, unsigned components) {
  const Place place(components);
  begin_kernel();
  const Pair x = read(place.in(in));
  write(place.in(out), x.x, x.y);
}

__global__ void __launch_bounds__(threads) fill_zero_kernel(DeviceView out, unsigned components) {
  const Place place(components);
  begin_kernel();
  write(place.in(out), 0, 0);
}

__global__ void __launch_bounds__(threads)
    reorder_kernel(DeviceView out, ConstDeviceView in, unsigned components) {
  const Place place(components);
  begin_kernel();
  const std::uint64_t* from = place.in(in)-place.entry;
  write(place.in(out), from[transposed(place.entry)], from[transposed(place.entry + 1)]);
}

// (a0 + a1 s) (b0 + b1 s): grid [tile, batch, limb].
__global__ void __launch_bounds__(threads)
    tensor_2x2_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b,
                      const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const Place place(1);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  const Pair a0 = read(place.in(a)), a1 = read(place.in(a) + a.component_stride);
  const Pair b0 = read(place.in(b)), b1 = read(place.in(b) + b.component_stride);
  const auto cross = [&](std::uint64_t x0, std::uint64_t x1, std::uint64_t y0, std::uint64_t y1) {
    return q.reduce(static_cast<uint128>(x0) * y1 + static_cast<uint128>(x1) * y0);
  };
  std::uint64_t* to = place.in(out);
  write(to, q.multiply(a0.x, b0.x), q.multiply(a0.y, b0.y));
  write(to + out.component_stride, cross(a0.x, a1.x, b0.x, b1.x), cross(a0.y, a1.y, b0.y, b1.y));
  write(to + 2 * out.component_stride, q.multiply(a1.x, b1.x), q.multiply(a1.y, b1.y));
}

// Any numbers of components: grid [tile, batch * component of out, limb].
__global__ void __launch_bounds__(threads)
    tensor_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned a_components,
                  unsigned b_components, const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const Place place(a_components + b_components - 1);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  Pair sum{0, 0};
  const unsigned first = place.component < b_components ? 0 : place.component - (b_components - 1);
  for (unsigned i = first; i < a_components && i <= place.component; ++i) {
    const Pair x = read(a.limb(place.batch, i, place.limb) + place.entry);
    const Pair y = read(b.limb(place.batch, place.component - i, place.limb) + place.entry);
    sum = {q.reduce(static_cast<uint128>(x.x) * y.x + sum.x),
           q.reduce(static_cast<uint128>(x.y) * y.y + sum.y)};
  }
  write(place.in(out), sum.x, sum.y);
}

}  // namespace

LimbModuli limb_moduli(const RnsBase& base, std::size_t first, std::size_t count) {
  LimbModuli result{};
  for (std::size_t i = 0; i < count; ++i)
    result.ring_index[i] = static_cast<std::uint16_t>(base.index(first + i));
  return result;
}

LimbWords limb_words(std::span<const std::uint64_t> words, std::size_t first, std::size_t count) {
  LimbWords result{};
  for (std::size_t i = 0; i < count; ++i) result.word[i] = words[first + i];
  return result;
}

void binary(const Launcher& launcher, Binary operation, const PolyView& out, const ConstPolyView& a,
            const ConstPolyView& b, const RnsBase& base) {
  const auto run = [&](const char* name, auto kernel) {
    for_each_launch(out.shape, [&](const Part& part) {
      launch(name, launcher.stream, kernel, grid(launcher, out.shape, part), {threads}, 0,
             device_view(part.of(out)), device_view(part.of(a)), device_view(part.of(b)),
             static_cast<unsigned>(out.shape.components), limb_moduli(base, part.first_limb, part.limbs),
             launcher.tables->moduli());
    });
  };
  switch (operation) {
    case Binary::add:
      return run("add", binary_kernel<Binary::add>);
    case Binary::subtract:
      return run("subtract", binary_kernel<Binary::subtract>);
    case Binary::multiply:
      return run("multiply", binary_kernel<Binary::multiply>);
    case Binary::multiply_add:
      return run("multiply_add", binary_kernel<Binary::multiply_add>);
  }
}

void negate(const Launcher& launcher, const PolyView& out, const ConstPolyView& a, const RnsBase& base) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("negate", launcher.stream, negate_kernel, grid(launcher, out.shape, part), {threads}, 0,
           device_view(part.of(out)), device_view(part.of(a)), static_cast<unsigned>(out.shape.components),
           limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

void multiply_scalar(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                     std::span<const std::uint64_t> scalars, const RnsBase& base) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("multiply_scalar", launcher.stream, multiply_scalar_kernel, grid(launcher, out.shape, part),
           {threads}, 0, device_view(part.of(out)), device_view(part.of(a)),
           static_cast<unsigned>(out.shape.components), limb_moduli(base, part.first_limb, part.limbs),
           limb_words(scalars, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

void add_scalar(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                std::span<const std::uint64_t> scalars, bool every_entry, const RnsBase& base) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("add_scalar", launcher.stream, add_scalar_kernel, grid(launcher, out.shape, part), {threads}, 0,
           device_view(part.of(out)), device_view(part.of(a)), static_cast<unsigned>(out.shape.components),
           every_entry, limb_moduli(base, part.first_limb, part.limbs),
           limb_words(scalars, part.first_limb, part.limbs), launcher.tables->moduli());
  });
}

void tensor_product(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                    const ConstPolyView& b, const RnsBase& base) {
  const auto a_components = static_cast<unsigned>(a.shape.components);
  const auto b_components = static_cast<unsigned>(b.shape.components);
  for_each_launch(out.shape, [&](const Part& part) {
    const LimbModuli limbs = limb_moduli(base, part.first_limb, part.limbs);
    if (a_components == 2 && b_components == 2) {
      PolyShape one = out.shape;
      one.components = 1;
      launch("tensor_product", launcher.stream, tensor_2x2_kernel, grid(launcher, one, part), {threads}, 0,
             device_view(part.of(out)), device_view(part.of(a)), device_view(part.of(b)), limbs,
             launcher.tables->moduli());
    } else {
      launch("tensor_product", launcher.stream, tensor_kernel, grid(launcher, out.shape, part), {threads}, 0,
             device_view(part.of(out)), device_view(part.of(a)), device_view(part.of(b)), a_components,
             b_components, limbs, launcher.tables->moduli());
    }
  });
}

void copy(const Launcher& launcher, const PolyView& out, const ConstPolyView& in) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("copy", launcher.stream, copy_kernel, grid(launcher, out.shape, part), {threads}, 0,
           device_view(part.of(out)), device_view(part.of(in)), static_cast<unsigned>(out.shape.components));
  });
}

void fill_zero(const Launcher& launcher, const PolyView& out) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("fill_zero", launcher.stream, fill_zero_kernel, grid(launcher, out.shape, part), {threads}, 0,
           device_view(part.of(out)), static_cast<unsigned>(out.shape.components));
  });
}

void reorder(const Launcher& launcher, const PolyView& out, const ConstPolyView& in) {
  for_each_launch(out.shape, [&](const Part& part) {
    launch("reorder", launcher.stream, reorder_kernel, grid(launcher, out.shape, part), {threads}, 0,
           device_view(part.of(out)), device_view(part.of(in)), static_cast<unsigned>(out.shape.components));
  });
}

}  // namespace hemera::poly::cuda
