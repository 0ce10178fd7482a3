// Sums of tensor products, with a reduction after each product as the oracle; and what the interface gives a
// backend that does not override it.
#include "conformance/suite.hpp"
#include "hemera/arith/modulus.hpp"

namespace hemera::conformance {
namespace {

using poly::ConstPolyView;
using poly::RnsBase;

struct Extents {
  std::size_t batch, components;
};

Host expected_sum(const std::vector<Host>& a, const std::vector<Host>& b, std::size_t batch) {
  const std::size_t left = a[0].shape.components, right = b[0].shape.components;
  Host sum(a[0].base, batch, left + right - 1);
  const poly::PolyShape& shape = sum.shape;
  for (std::size_t term = 0; term < a.size(); ++term) {
    for (std::size_t i = 0; i < batch; ++i) {
      for (std::size_t j = 0; j < left; ++j) {
        for (std::size_t k = 0; k < right; ++k) {
          for (std::size_t l = 0; l < shape.limbs; ++l) {
            const std::uint64_t q = sum.base.modulus(l).value();
            for (std::size_t n = 0; n < shape.degree; ++n) {
              std::uint64_t& entry = sum.at(i, j + k, l, n);
              const auto product =
                  static_cast<arith::uint128>(a[term].at(i, j, l, n)) * b[term].at(i, k, l, n);
              entry = static_cast<std::uint64_t>((product + entry) % q);
            }
          }
        }
      }
    }
  }
  return sum;
}

// One residue a limb: random, or the largest.
std::vector<std::uint64_t> constant_of(Rig& rig, const RnsBase& base, bool largest) {
  const Host random = rig.random(base, 1, 1);
  std::vector<std::uint64_t> result;
  for (std::size_t l = 0; l < base.size(); ++l) {
    result.push_back(largest ? base.modulus(l).value() - 1 : random.at(0, 0, l, 0));
  }
  return result;
}

// Every other batch of the factors broadcasts; and a constant joins the first component.
void check_sum(Rig& rig, const RnsBase& base, std::size_t terms, const Extents& left, const Extents& right,
               bool largest) {
  const std::size_t batch = std::max(left.batch, right.batch);
  std::vector<Host> a, b;
  for (std::size_t term = 0; term < terms; ++term) {
    const bool broadcasts = term % 2 == 1;
    a.push_back(rig.random(base, broadcasts ? 1 : left.batch, left.components));
    b.push_back(rig.random(base, right.batch, right.components));
    for (Host* host : {&a.back(), &b.back()}) {
      for (std::size_t i = 0; largest && i < host->words.size(); ++i) {
        host->words[i] = base.modulus(i / host->shape.degree % base.size()).value() - 1;
      }
    }
  }
  const Host expected = expected_sum(a, b, batch);
  const std::vector<std::uint64_t> added = constant_of(rig, base, largest);
  Host moved = expected;
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t l = 0; l < base.size(); ++l) {
      for (std::size_t n = 0; n < moved.shape.degree; ++n)
        moved.at(i, 0, l, n) = (moved.at(i, 0, l, n) + added[l]) % base.modulus(l).value();
    }
  }
  std::vector<poly::Poly> held;
  std::vector<ConstPolyView> views_a, views_b;
  for (std::size_t term = 0; term < terms; ++term) {
    held.push_back(rig.upload(a[term]));
    views_a.push_back(std::as_const(held.back()).view());
    held.push_back(rig.upload(b[term]));
    views_b.push_back(std::as_const(held.back()).view());
  }
  const auto text = [&] {
    return std::to_string(terms) + " products of " + std::to_string(left.components) + " and " +
           std::to_string(right.components) + " components";
  };
  for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
    const char* by = backend == rig.backend.get() ? "" : ", by the interface";
    poly::Poly out = rig.output(base, batch, expected.shape.components);
    backend->inner_product(*rig.queue, out.view(), views_a, views_b, base);
    ASSERT_TRUE(same(rig.download(out), expected)) << text() << by;
    out = rig.output(base, batch, expected.shape.components);
    backend->inner_product(*rig.queue, out.view(), views_a, views_b, base, added);
    ASSERT_TRUE(same(rig.download(out), moved)) << text() << ", and a constant" << by;
  }
}

TEST_P(BackendTest, InnerProductSumsTensorProducts) {
  const std::vector<std::pair<Extents, Extents>> operands = {
      {{1, 1}, {1, 1}}, {{2, 2}, {2, 1}}, {{2, 2}, {1, 1}}, {{1, 1}, {3, 2}},
      {{2, 2}, {2, 2}}, {{1, 3}, {2, 1}}, {{2, 3}, {1, 2}}, {{1, 3}, {1, 3}},
  };
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, bits);
    const std::size_t few = GetParam().brief() ? 1 : 2;
    const RnsBase base = bits.size() < 6 ? rig.primes(0, few) : rig.all();
    for (const auto& [left, right] : operands) {
      for (const std::size_t terms : {1, 2, 5}) check_sum(rig, base, terms, left, right, false);
    }
  }
}

// More products than a 128-bit sum, or the parameters of a kernel, hold; all residues as large as can be.
TEST_P(BackendTest, InnerProductOfManyTerms) {
  for (const int bits : {30, 50, 61}) {
    Rig rig(GetParam(), 1024, {bits});
    const RnsBase base = rig.all();
    for (const std::size_t terms : {31, 33, 48, 49, 65}) check_sum(rig, base, terms, {1, 2}, {1, 2}, true);
    check_sum(rig, base, 65, {1, 1}, {1, 1}, true);
    check_sum(rig, base, 65, {1, 3}, {1, 2}, true);
    check_sum(rig, base, 130, {2, 2}, {1, 1}, false);
    check_sum(rig, base, 130, {1, 2}, {1, 2}, false);
  }
}

TEST_P(BackendTest, CombineSumsMultiples) {
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, bits);
    const RnsBase base = rig.all();
    for (const std::size_t terms : {1, 3, 6, 15}) {
      std::vector<Host> hosts;
      std::vector<poly::Poly> held;
      std::vector<ConstPolyView> views;
      std::vector<std::vector<std::uint64_t>> scalars;
      for (std::size_t i = 0; i < terms; ++i) {
        hosts.push_back(rig.random(base, i % 3 == 2 ? 1 : 2, 2));
        held.push_back(rig.upload(hosts.back()));
        scalars.push_back(constant_of(rig, base, i % 2 == 1));
      }
      for (const poly::Poly& poly : held) views.push_back(poly.view());
      for (const bool has_constant : {false, true}) {
        std::vector<std::uint64_t> added;
        if (has_constant) added = constant_of(rig, base, terms == 3);
        Host expected(base, 2, 2);
        for (std::size_t b = 0; b < 2; ++b) {
          for (std::size_t c = 0; c < 2; ++c) {
            for (std::size_t l = 0; l < base.size(); ++l) {
              const std::uint64_t q = base.modulus(l).value();
              for (std::size_t n = 0; n < 1024; ++n) {
                std::uint64_t sum = has_constant && c == 0 ? added[l] : 0;
                for (std::size_t i = 0; i < terms; ++i) {
                  const std::uint64_t entry = hosts[i].at(hosts[i].shape.batch == 1 ? 0 : b, c, l, n);
                  sum = static_cast<std::uint64_t>(
                      (static_cast<arith::uint128>(entry) * scalars[i][l] + sum) % q);
                }
                expected.at(b, c, l, n) = sum;
              }
            }
          }
        }
        for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
          poly::Poly out = rig.output(base, 2, 2);
          rig.with_scratch([&](runtime::Workspace& space) {
            backend->combine(*rig.queue, out.view(), views, scalars, added, base, space);
          });
          ASSERT_TRUE(same(rig.download(out), expected)) << terms;
          // In the place of the first term.
          poly::Poly first;
          std::vector<ConstPolyView> in_place = views;
          rig.with_scratch([&](runtime::Workspace& space) {
            first = rig.upload(hosts[0]);
            in_place[0] = std::as_const(first).view();
            backend->combine(*rig.queue, first.view(), in_place, scalars, added, base, space);
          });
          ASSERT_TRUE(same(rig.download(first), expected)) << terms << ", in place";
          // Where the operation measures its workspace itself, it computes only once.
          first = rig.upload(hosts[0]);
          in_place[0] = std::as_const(first).view();
          runtime::Workspace growing(backend->memory());
          backend->combine(*rig.queue, first.view(), in_place, scalars, added, base, growing);
          ASSERT_TRUE(same(rig.download(first), expected)) << terms << ", in place, measured within";
        }
      }
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
