// Operations entry by entry, copies included: each reads and writes memory once.
#include <bit>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/pairs.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/stored_words.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 256;
constexpr unsigned words_per_thread = 2;  // 16 bytes
constexpr unsigned words_per_block = threads * words_per_thread;
static_assert(min_degree % words_per_block == 0);

// The two words of this thread: grid [tile, polynomial, limb].
struct Place {
  unsigned batch, component, limb, entry;

  __device__ explicit Place(unsigned components)
      : batch(blockIdx.y / components),
        component(blockIdx.y % components),
        limb(blockIdx.z),
        entry((blockIdx.x * threads + threadIdx.x) * words_per_thread) {}

  template <typename W>
  __device__ W* limb_of(const BasicDeviceView<W>& view) const {
    return view.limb(batch, component, limb);
  }
  template <typename W>
  __device__ W* in(const BasicDeviceView<W>& view) const {
    return limb_of(view) + entry;
  }
  /// The number of a view's first word, in any storage.
  template <typename W>
  __device__ std::size_t word_of(const BasicDeviceView<W>& view) const {
    return view.word(batch, component, limb) + entry;
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

// Factors of one launch. Kernels take 4 KiB of parameters on every device.
constexpr unsigned factors_per_launch = 56;
template <unsigned most>
struct Factors {
  ConstDeviceView a[most];
  ConstDeviceView b[most];
};
static_assert(sizeof(Factors<factors_per_launch>) + sizeof(LimbModuli) + 128 <= 4096);

// Factors of `left` and `right` components, each read once: grid [tile, batch, limb]. `adds`: to what `out`
// has. For most = 1 the loops are gone.
template <unsigned left, unsigned right, unsigned most>
__global__ void __launch_bounds__(threads)
    inner_product_kernel(DeviceView out, const __grid_constant__ Factors<most> factors, unsigned count,
                         bool adds, const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  constexpr unsigned terms_per_sum = products_per_sum / (left < right ? left : right) - 1;
  const Place place(1);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  std::uint64_t* to = place.in(out);
  PairSum sums[left + right - 1];
  if (most > 1 && adds) {
#pragma unroll
    for (unsigned c = 0; c < left + right - 1; ++c) {
      const Pair old = read(to + c * out.component_stride);
      sums[c] = {old.x, old.y};
    }
  }
  const unsigned terms = most == 1 ? 1 : count;
#pragma unroll 2
  for (unsigned i = 0; i < terms; ++i) {
    Pair a[left], b[right];
#pragma unroll
    for (unsigned j = 0; j < left; ++j)
      a[j] = read(place.in(factors.a[i]) + j * factors.a[i].component_stride);
#pragma unroll
    for (unsigned k = 0; k < right; ++k)
      b[k] = read(place.in(factors.b[i]) + k * factors.b[i].component_stride);
#pragma unroll
    for (unsigned j = 0; j < left; ++j) {
#pragma unroll
      for (unsigned k = 0; k < right; ++k) sums[j + k].add_product(a[j], b[k]);
    }
    if (most > terms_per_sum && i % terms_per_sum == terms_per_sum - 1) {
#pragma unroll
      for (unsigned c = 0; c < left + right - 1; ++c) sums[c].fold(q);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < left + right - 1; ++c) {
    const Pair sum = sums[c].reduced(q);
    write(to + c * out.component_stride, sum.x, sum.y);
  }
}

// Any numbers of components: grid [tile, batch * component of out, limb].
__global__ void __launch_bounds__(threads)
    any_inner_product_kernel(DeviceView out, const __grid_constant__ Factors<factors_per_launch> factors,
                             unsigned count, bool adds, unsigned left, unsigned right,
                             const __grid_constant__ LimbModuli limbs, const Modulus* moduli) {
  const Place place(left + right - 1);
  const Modulus q = moduli[limbs.ring_index[place.limb]];
  begin_kernel();
  std::uint64_t* to = place.in(out);
  PairSum sum;
  if (adds) {
    const Pair old = read(to);
    sum = {old.x, old.y};
  }
  const unsigned first = place.component < right ? 0 : place.component - (right - 1);
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned j = first; j < left && j <= place.component; ++j) {
      sum.add_product(read(factors.a[i].limb(place.batch, j, place.limb) + place.entry),
                      read(factors.b[i].limb(place.batch, place.component - j, place.limb) + place.entry));
      sum.fold(q);
    }
  }
  write(to, static_cast<std::uint64_t>(sum.x), static_cast<std::uint64_t>(sum.y));
}

// Terms and sums of one launch that reads factors stored by fewer entries.
constexpr unsigned repeated_terms = 16, repeated_sums = 8;
struct RepeatedFactors {
  ConstDeviceView a[repeated_terms];
  DeviceView out[repeated_sums];
  const std::uint64_t* b[repeated_sums][repeated_terms];  // [sum][term], each [limb, entry]
  std::uint64_t b_stride;                                 // of limbs
  LimbModuli limbs;
  unsigned count, components, log_run;
  bool adds;  // to what the outputs have
};
static_assert(sizeof(RepeatedFactors) + 64 <= 4096 && repeated_terms < products_per_sum);

// Several sums of the same left factors, each read once: grid [tile, batch * component, limb].
template <unsigned sums>
__global__ void __launch_bounds__(threads)
    repeated_products_kernel(const __grid_constant__ RepeatedFactors factors, const Modulus* moduli) {
  const Place place(factors.components);
  const Modulus q = moduli[factors.limbs.ring_index[place.limb]];
  const std::size_t row = place.limb * factors.b_stride;
  const std::size_t first = row + (transposed(place.entry) >> factors.log_run);
  const std::size_t second = row + (transposed(place.entry + 1) >> factors.log_run);
  begin_kernel();
  PairSum found[sums];
  if (factors.adds) {
#pragma unroll
    for (unsigned r = 0; r < sums; ++r) {
      const Pair old = read(place.in(factors.out[r]));
      found[r] = {old.x, old.y};
    }
  }
#pragma unroll 2
  for (unsigned i = 0; i < factors.count; ++i) {
    const Pair a = read(place.in(factors.a[i]));
#pragma unroll
    for (unsigned r = 0; r < sums; ++r) {
      const std::uint64_t* b = factors.b[r][i];
      found[r].add_product(a, {b[first], b[second]});
    }
  }
#pragma unroll
  for (unsigned r = 0; r < sums; ++r) {
    const Pair reduced = found[r].reduced(q);
    write(place.in(factors.out[r]), reduced.x, reduced.y);
  }
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

namespace {

// log2 of how many entries one of `stored` stands for in `whole`.
unsigned log_run_of(const PolyShape& stored, const PolyShape& whole) {
  return static_cast<unsigned>(std::countr_zero(whole.degree / stored.degree));
}

}  // namespace

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

// run(factors, their number, whether they add to `out`, part) for each launch.
template <unsigned most, typename Run>
void for_each_factors(const PolyShape& shape, std::span<const ConstPolyView> a,
                      std::span<const ConstPolyView> b, const Run& run) {
  for_each_launch(shape, [&](const Part& part) {
    for (std::size_t first = 0; first < a.size(); first += most) {
      Factors<most> factors{};
      const auto count = static_cast<unsigned>(std::min<std::size_t>(most, a.size() - first));
      for (unsigned i = 0; i < count; ++i) {
        factors.a[i] = device_view(part.of(a[first + i]));
        factors.b[i] = device_view(part.of(b[first + i]));
      }
      run(factors, count, first != 0, part);
    }
  });
}

template <unsigned left, unsigned right>
void inner_product_of(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
                      std::span<const ConstPolyView> b, const RnsBase& base) {
  PolyShape shape = out.shape;
  shape.components = 1;
  const auto run = [&]<unsigned most>(const Factors<most>& factors, unsigned count, bool adds,
                                      const Part& part) {
    launch_as({.grid = grid(launcher, shape, part),
               .block = {threads},
               .shared_bytes = 0,
               .carve_out = launcher.sizes->carve_out},
              "inner_product", launcher.stream, inner_product_kernel<left, right, most>,
              device_view(part.of(out)), factors, count, adds, limb_moduli(base, part.first_limb, part.limbs),
              launcher.tables->moduli());
  };
  if (a.size() == 1) return for_each_factors<1>(shape, a, b, run);
  for_each_factors<factors_per_launch>(shape, a, b, run);
}

}  // namespace

void inner_product(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
                   std::span<const ConstPolyView> b, const RnsBase& base) {
  const auto left = static_cast<unsigned>(a.front().shape.components);
  const auto right = static_cast<unsigned>(b.front().shape.components);
  if (left < right) return inner_product(launcher, out, b, a, base);
  if (left == 1) return inner_product_of<1, 1>(launcher, out, a, b, base);
  if (left == 2 && right == 1) return inner_product_of<2, 1>(launcher, out, a, b, base);
  if (left == 2) return inner_product_of<2, 2>(launcher, out, a, b, base);
  for_each_factors<factors_per_launch>(
      out.shape, a, b,
      [&](const Factors<factors_per_launch>& factors, unsigned count, bool adds, const Part& part) {
        launch("inner_product", launcher.stream, any_inner_product_kernel, grid(launcher, out.shape, part),
               {threads}, 0, device_view(part.of(out)), factors, count, adds, left, right,
               limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
      });
}

namespace {

template <unsigned sums>
void repeated_products_of(const Launcher& launcher, std::span<const PolyView> out,
                          std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                          const RnsBase& base) {
  const PolyShape& shape = out.front().shape;
  for_each_launch(shape, [&](const Part& part) {
    for (std::size_t first = 0; first < a.size(); first += repeated_terms) {
      RepeatedFactors factors{};
      factors.count = static_cast<unsigned>(std::min<std::size_t>(repeated_terms, a.size() - first));
      for (unsigned i = 0; i < factors.count; ++i) factors.a[i] = device_view(part.of(a[first + i]));
      for (unsigned r = 0; r < sums; ++r) {
        factors.out[r] = device_view(part.of(out[r]));
        for (unsigned i = 0; i < factors.count; ++i) {
          factors.b[r][i] = device_view(part.of(b[r * a.size() + first + i])).data;
        }
      }
      factors.b_stride = b.front().limb_stride;
      factors.limbs = limb_moduli(base, part.first_limb, part.limbs);
      factors.components = static_cast<unsigned>(shape.components);
      factors.log_run = log_run_of(b.front().shape, shape);
      factors.adds = first != 0;
      launch("inner_products", launcher.stream, repeated_products_kernel<sums>, grid(launcher, shape, part),
             {threads}, 0, factors, launcher.tables->moduli());
    }
  });
}

}  // namespace

void repeated_products(const Launcher& launcher, std::span<const PolyView> out,
                       std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                       const RnsBase& base) {
  if (out.empty()) return;
  const auto take = [&]<unsigned sums>(std::integral_constant<unsigned, sums>) {
    repeated_products_of<sums>(launcher, out.first(sums), a, b.first(sums * a.size()), base);
    repeated_products(launcher, out.subspan(sums), a, b.subspan(sums * a.size()), base);
  };
  if (out.size() >= 8) return take(std::integral_constant<unsigned, 8>());
  if (out.size() >= 4) return take(std::integral_constant<unsigned, 4>());
  if (out.size() >= 2) return take(std::integral_constant<unsigned, 2>());
  take(std::integral_constant<unsigned, 1>());
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
