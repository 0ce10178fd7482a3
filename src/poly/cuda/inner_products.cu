// Sums of products, entry by entry.
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/pairs.cuh"
#include "poly/cuda/places.cuh"
#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;

// Factors of one launch. Kernels take 4 KiB of parameters on every device.
constexpr unsigned factors_per_launch = 48;
template <unsigned most>
struct Factors {
  ConstDeviceView a[most];
  ConstDeviceView b[most];
  LimbWords added;  // to the first component
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
  sums[0].x += factors.added.word[place.limb];
  sums[0].y += factors.added.word[place.limb];
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
  if (place.component == 0) {
    sum.x += factors.added.word[place.limb];
    sum.y += factors.added.word[place.limb];
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
  LimbWords added;  // to the first component
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
    if (place.component == 0) {
      found[r].x += factors.added.word[place.limb];
      found[r].y += factors.added.word[place.limb];
    }
    const Pair reduced = found[r].reduced(q);
    write(place.in(factors.out[r]), reduced.x, reduced.y);
  }
}

}  // namespace

namespace {

// run(factors, their number, whether they add to `out`, part) for each launch.
template <unsigned most, typename Run>
void for_each_factors(const PolyShape& shape, std::span<const ConstPolyView> a,
                      std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                      const Run& run) {
  for_each_launch(shape, [&](const Part& part) {
    for (std::size_t first = 0; first < a.size(); first += most) {
      Factors<most> factors{};
      if (first == 0 && !added.empty()) factors.added = limb_words(added, part.first_limb, part.limbs);
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
                      std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                      const RnsBase& base) {
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
  if (a.size() == 1) return for_each_factors<1>(shape, a, b, added, run);
  for_each_factors<factors_per_launch>(shape, a, b, added, run);
}

}  // namespace

void inner_product(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
                   std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                   const RnsBase& base) {
  const auto left = static_cast<unsigned>(a.front().shape.components);
  const auto right = static_cast<unsigned>(b.front().shape.components);
  if (left < right) return inner_product(launcher, out, b, a, added, base);
  if (left == 1) return inner_product_of<1, 1>(launcher, out, a, b, added, base);
  if (left == 2 && right == 1) return inner_product_of<2, 1>(launcher, out, a, b, added, base);
  if (left == 2) return inner_product_of<2, 2>(launcher, out, a, b, added, base);
  for_each_factors<factors_per_launch>(
      out.shape, a, b, added,
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
                          std::span<const std::uint64_t> added, const RnsBase& base) {
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
      if (first == 0 && !added.empty()) factors.added = limb_words(added, part.first_limb, part.limbs);
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
                       std::span<const std::uint64_t> added, const RnsBase& base) {
  if (out.empty()) return;
  const auto take = [&]<unsigned sums>(std::integral_constant<unsigned, sums>) {
    repeated_products_of<sums>(launcher, out.first(sums), a, b.first(sums * a.size()), added, base);
    repeated_products(launcher, out.subspan(sums), a, b.subspan(sums * a.size()), added, base);
  };
  if (out.size() >= 8) return take(std::integral_constant<unsigned, 8>());
  if (out.size() >= 4) return take(std::integral_constant<unsigned, 4>());
  if (out.size() >= 2) return take(std::integral_constant<unsigned, 2>());
  take(std::integral_constant<unsigned, 1>());
}

}  // namespace hemera::poly::cuda
