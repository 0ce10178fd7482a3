// Operations entry by entry, copies included: each reads and writes memory once.
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/pairs.cuh"
#include "poly/cuda/places.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/stored_words.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

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

// The same, with a `b` that is stored by one of each 2^log_run entries in standard order.
template <Binary operation>
__global__ void __launch_bounds__(threads)
    repeated_binary_kernel(DeviceView out, ConstDeviceView a, ConstDeviceView b, unsigned components,
                           unsigned log_run, const __grid_constant__ LimbModuli limbs,
                           const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  std::uint64_t* to = place.in(out);
  const Pair x = read(place.in(a));
  const std::uint64_t* stored = place.limb_of(b);
  const std::uint64_t first = stored[transposed(place.entry) >> log_run];
  const std::uint64_t second = stored[transposed(place.entry + 1) >> log_run];
  Pair old{0, 0};
  if constexpr (operation == Binary::multiply_add) old = read(to);
  write(to, apply<operation>(old.x, x.x, first, q), apply<operation>(old.y, x.y, second, q));
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

template <class To, class From>
__global__ void __launch_bounds__(threads)
    copy_kernel(DeviceView out, ConstDeviceView in, unsigned components) {
  const Place place(components);
  begin_kernel();
  const auto pair = From::pair(From::place(in.data, place.word_of(in)));
  To::set_pair(out.data, place.word_of(out), first_of(pair), second_of(pair));
}

__global__ void __launch_bounds__(threads) fill_zero_kernel(DeviceView out, unsigned components) {
  const Place place(components);
  begin_kernel();
  write(place.in(out), 0, 0);
}

template <class To, class From>
__global__ void __launch_bounds__(threads)
    reorder_kernel(DeviceView out, ConstDeviceView in, unsigned components) {
  const Place place(components);
  begin_kernel();
  const std::size_t limb = in.word(place.batch, place.component, place.limb);
  const auto from = [&](unsigned entry) {
    return From::word(From::place(in.data, limb + transposed(entry)));
  };
  To::set_pair(out.data, place.word_of(out), from(place.entry), from(place.entry + 1));
}

// Expands entries that are stored one of each 2^log_run, in standard order.
__global__ void __launch_bounds__(threads)
    repeat_kernel(DeviceView out, ConstDeviceView in, unsigned components, unsigned log_run) {
  const Place place(components);
  begin_kernel();
  const std::uint64_t* from = place.limb_of(in);
  write(place.in(out), from[transposed(place.entry) >> log_run],
        from[transposed(place.entry + 1) >> log_run]);
}

// Keeps such entries, from all or (log_run 0) from entries that are stored so already. Grid [tile,
// polynomial, limb].
__global__ void __launch_bounds__(threads)
    shorten_kernel(DeviceView out, ConstDeviceView in, unsigned components, unsigned entries,
                   unsigned log_run) {
  const unsigned entry = blockIdx.x * threads + threadIdx.x;
  begin_kernel();
  if (entry >= entries) return;
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned from = log_run == 0 ? entry : transposed(entry << log_run);
  out.limb(batch, component, blockIdx.z)[entry] = in.limb(batch, component, blockIdx.z)[from];
}

// Terms of one launch.
constexpr unsigned multiples_per_launch = 6;
struct Multiples {
  ConstDeviceView a[multiples_per_launch];
  LimbWords scalars[multiples_per_launch];
  LimbWords added;
  LimbModuli limbs;
  unsigned count;
  bool adds;  // to what `out` has
};
static_assert(sizeof(Multiples) + 64 <= 4096);

__global__ void __launch_bounds__(threads)
    combine_kernel(DeviceView out, unsigned components, const __grid_constant__ Multiples terms,
                   const Modulus* moduli) {
  const Place place(components);
  const Modulus q = moduli[terms.limbs.ring_index[place.limb]];
  begin_kernel();
  std::uint64_t* to = place.in(out);
  PairSum sum;
  if (terms.adds) {
    const Pair old = read(to);
    sum = {old.x, old.y};
  }
#pragma unroll 3
  for (unsigned i = 0; i < terms.count; ++i) {
    const std::uint64_t scalar = terms.scalars[i].word[place.limb];
    sum.add_product(read(place.in(terms.a[i])), {scalar, scalar});
  }
  if (place.component == 0) {
    sum.x += terms.added.word[place.limb];
    sum.y += terms.added.word[place.limb];
  }
  const Pair reduced = sum.reduced(q);
  write(to, reduced.x, reduced.y);
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
  const unsigned log_run = log_run_of(b.shape, out.shape);
  const auto run = [&](const char* name, auto kernel, auto repeated_kernel) {
    for_each_launch(out.shape, [&](const Part& part) {
      const dim3 blocks = grid(launcher, out.shape, part);
      const DeviceView to = device_view(part.of(out));
      const ConstDeviceView left = device_view(part.of(a)), right = device_view(part.of(b));
      const auto components = static_cast<unsigned>(out.shape.components);
      const LimbModuli limbs = limb_moduli(base, part.first_limb, part.limbs);
      const Modulus* moduli = launcher.tables->moduli();
      if (log_run == 0) {
        launch(name, launcher.stream, kernel, blocks, {threads}, 0, to, left, right, components, limbs,
               moduli);
      } else {
        launch(name, launcher.stream, repeated_kernel, blocks, {threads}, 0, to, left, right, components,
               log_run, limbs, moduli);
      }
    });
  };
  switch (operation) {
    case Binary::add:
      return run("add", binary_kernel<Binary::add>, repeated_binary_kernel<Binary::add>);
    case Binary::subtract:
      return run("subtract", binary_kernel<Binary::subtract>, repeated_binary_kernel<Binary::subtract>);
    case Binary::multiply:
      return run("multiply", binary_kernel<Binary::multiply>, repeated_binary_kernel<Binary::multiply>);
    case Binary::multiply_add:
      return run("multiply_add", binary_kernel<Binary::multiply_add>,
                 repeated_binary_kernel<Binary::multiply_add>);
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

void combine(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
             std::span<const std::vector<std::uint64_t>> scalars, std::span<const std::uint64_t> added,
             const RnsBase& base) {
  for_each_launch(out.shape, [&](const Part& part) {
    for (std::size_t first = 0; first < a.size(); first += multiples_per_launch) {
      Multiples terms{};
      terms.count = static_cast<unsigned>(std::min<std::size_t>(multiples_per_launch, a.size() - first));
      for (unsigned i = 0; i < terms.count; ++i) {
        terms.a[i] = device_view(part.of(a[first + i]));
        terms.scalars[i] = limb_words(scalars[first + i], part.first_limb, part.limbs);
      }
      if (first == 0 && !added.empty()) terms.added = limb_words(added, part.first_limb, part.limbs);
      terms.limbs = limb_moduli(base, part.first_limb, part.limbs);
      terms.adds = first != 0;
      launch("combine", launcher.stream, combine_kernel, grid(launcher, out.shape, part), {threads}, 0,
             device_view(part.of(out)), static_cast<unsigned>(out.shape.components), terms,
             launcher.tables->moduli());
    }
  });
}

namespace {

template <typename Run>
void with_storages(Word to, Word from, const Run& run) {
  with_storage(to, [&](auto out) { with_storage(from, [&](auto in) { run(out, in); }); });
}

}  // namespace

void copy(const Launcher& launcher, const PolyView& out, const ConstPolyView& in) {
  const auto components = static_cast<unsigned>(out.shape.components);
  const auto entries = static_cast<unsigned>(out.shape.degree);
  for_each_launch(out.shape, [&](const Part& part) {
    dim3 blocks = grid(launcher, out.shape, part);
    const DeviceView to = device_view(part.of(out));
    const ConstDeviceView from = device_view(part.of(in));
    if (entries < launcher.degree()) {
      blocks.x = (entries + threads - 1) / threads;
      launch("copy", launcher.stream, shorten_kernel, blocks, {threads}, 0, to, from, components, entries,
             log_run_of(out.shape, in.shape));
    } else if (in.shape.degree < out.shape.degree) {
      launch("copy", launcher.stream, repeat_kernel, blocks, {threads}, 0, to, from, components,
             log_run_of(in.shape, out.shape));
    } else {
      with_storages(out.word, in.word, [&]<class To, class From>(To, From) {
        launch("copy", launcher.stream, copy_kernel<To, From>, blocks, {threads}, 0, to, from, components);
      });
    }
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
    with_storages(out.word, in.word, [&]<class To, class From>(To, From) {
      launch("reorder", launcher.stream, reorder_kernel<To, From>, grid(launcher, out.shape, part), {threads},
             0, device_view(part.of(out)), device_view(part.of(in)),
             static_cast<unsigned>(out.shape.components));
    });
  });
}

}  // namespace hemera::poly::cuda
