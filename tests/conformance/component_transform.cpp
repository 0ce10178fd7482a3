// Fourier transforms over components by their sums.
#include <bit>
#include <vector>

#include "conformance/defaults.hpp"
#include "conformance/suite.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::ComponentOrder;
using poly::RnsBase;

// Another root of order d for each entry.
Host powers(const RnsBase& base, std::size_t size) {
  Host roots(base, 1, size / 2);
  for (std::size_t l = 0; l < base.size(); ++l) {
    const arith::Modulus& q = base.modulus(l);
    const std::uint64_t root = arith::minimal_primitive_root(size, q);
    for (std::size_t n = 0; n < roots.shape.degree; ++n) {
      const std::uint64_t z = q.power(root, 2 * n + 1);
      std::uint64_t power = 1;
      for (std::size_t k = 0; k < size / 2; ++k) {
        roots.at(0, k, l, n) = power;
        power = q.multiply(power, z);
      }
    }
  }
  return roots;
}

std::size_t place(std::size_t number, std::size_t size, bool is_reversed) {
  return is_reversed ? arith::reverse_bits(number, std::countr_zero(size)) : number;
}

// Sums of powers, one by one.
Host transformed(const Host& in, const Host& roots, const Host* factors, ComponentOrder order) {
  Host out(in.base, in.shape.batch, in.shape.components);
  const std::size_t size = in.shape.components;
  const bool from_natural = order == ComponentOrder::natural;
  for (std::size_t l = 0; l < in.shape.limbs; ++l) {
    const arith::Modulus& q = in.base.modulus(l);
    for (std::size_t n = 0; n < in.shape.degree; ++n) {
      for (std::size_t b = 0; b < in.shape.batch; ++b) {
        for (std::size_t i = 0; i < size; ++i) {
          std::uint64_t sum = 0;
          for (std::size_t u = 0; u < size; ++u) {
            std::uint64_t term = in.at(b, place(u, size, !from_natural), l, n);
            if (factors != nullptr && from_natural) term = q.multiply(term, factors->at(0, u, l, n));
            const std::size_t exponent = i * u % size;
            term = q.multiply(term, roots.at(0, exponent % (size / 2), l, n));
            sum = exponent < size / 2 ? q.add(sum, term) : q.subtract(sum, term);
          }
          if (factors != nullptr && !from_natural) sum = q.multiply(sum, factors->at(0, i, l, n));
          out.at(b, place(i, size, from_natural), l, n) = sum;
        }
      }
    }
  }
  return out;
}

void check(Rig& rig, std::size_t size, std::size_t batch) {
  const RnsBase base = rig.all();
  const Host in = rig.random(base, batch, size), factors = rig.random(base, 1, size);
  const Host roots = powers(base, size);
  const poly::Poly held_roots = rig.upload(roots), held_factors = rig.upload(factors);
  const Defaults defaults(rig.backend);
  for (const ComponentOrder order : {ComponentOrder::natural, ComponentOrder::reversed}) {
    for (const bool multiplies : {false, true}) {
      const Host expected = transformed(in, roots, multiplies ? &factors : nullptr, order);
      for (const poly::Backend* backend : {rig.backend.get(), static_cast<const poly::Backend*>(&defaults)}) {
        poly::Poly values = rig.upload(in);
        rig.with_scratch([&](runtime::Workspace& space) {
          backend->transform_components(*rig.queue, values.view(), held_roots.view(),
                                        multiplies ? held_factors.view() : poly::ConstPolyView(), order, base,
                                        space);
        });
        ASSERT_TRUE(same(rig.download(values), expected))
            << size << " components, batch " << batch << (multiplies ? ", factors" : "")
            << (order == ComponentOrder::natural ? ", natural" : ", reversed")
            << (backend == &defaults ? ", default" : "");
      }
    }
  }
}

TEST_P(BackendTest, ComponentsAreTransformed) {
  for (const std::vector<int>& bits : {std::vector{20, 30, 49}, {50, 61}}) {
    Rig rig(GetParam(), 1024, bits);
    for (const std::size_t size : {2, 4, 8}) check(rig, size, 3);
    check(rig, 16, 1);
  }
  // Two launches, of as many stages and of one less.
  Rig rig(GetParam(), 1024, {49});
  check(rig, 32, 2);
  if (!GetParam().brief()) check(rig, 64, 1);
}

// Components that lie apart, and some limbs of them.
TEST_P(BackendTest, ComponentsOfArraysAreTransformed) {
  Rig rig(GetParam(), 1024, {48, 50, 60});
  const RnsBase all = rig.all(), base = rig.choose({1, 2});
  const Host in = rig.random(all, 8, 3), roots = powers(base, 8);
  poly::Poly values = rig.upload(in);
  const poly::Poly held_roots = rig.upload(roots);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->transform_components(*rig.queue, values.view().transposed().batches(1, 2).limbs(1, 2),
                                      held_roots.view(), {}, ComponentOrder::natural, base, space);
  });
  Host part(base, 2, 8), expected = in;
  const auto at = [&](Host& whole, std::size_t b, std::size_t c, std::size_t l,
                      std::size_t n) -> std::uint64_t& { return whole.at(c, b + 1, l + 1, n); };
  for (const bool back : {false, true}) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t c = 0; c < 8; ++c) {
        for (std::size_t l = 0; l < 2; ++l) {
          for (std::size_t n = 0; n < 1024; ++n) {
            std::uint64_t& whole = at(expected, b, c, l, n);
            (back ? whole : part.at(b, c, l, n)) = back ? part.at(b, c, l, n) : whole;
          }
        }
      }
    }
    if (!back) part = transformed(part, roots, nullptr, ComponentOrder::natural);
  }
  EXPECT_TRUE(same(rig.download(values), expected));
}

TEST_P(BackendTest, TransformsOfComponentsThatDoNotFitAreRefused) {
  Rig rig(GetParam(), 1024, {50});
  const RnsBase base = rig.all();
  const poly::Poly roots = rig.output(base, 1, 2), factors = rig.output(base, 1, 4);
  const auto transform = [&](std::size_t size, const poly::ConstPolyView& own_roots,
                             const poly::ConstPolyView& own_factors) {
    poly::Poly values = rig.output(base, 1, size);
    rig.with_scratch([&](runtime::Workspace& space) {
      rig.backend->transform_components(*rig.queue, values.view(), own_roots, own_factors,
                                        ComponentOrder::natural, base, space);
    });
  };
  transform(4, roots.view(), factors.view());
  EXPECT_THROW(transform(2, roots.view(), {}), MismatchError);
  EXPECT_THROW(transform(3, roots.view(), {}), MismatchError);
  EXPECT_THROW(transform(1, roots.view().components(0, 1), {}), MismatchError);
  EXPECT_THROW(transform(4, roots.view(), factors.view().components(0, 3)), MismatchError);
}

}  // namespace
}  // namespace hemera::conformance
