// Products of BFV: both operands' lifts against exact integers, and the product against its parts, in rings
// where a backend may fuse them.
#include "conformance/defaults.hpp"
#include "conformance/oracle.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::RnsBase;
using poly::ScaledProduct;

struct Product {
  const char* name;
  std::size_t degree;
  std::vector<int> bits;  // of the base, then of the auxiliary one
  std::size_t base;       // limbs
  std::uint64_t factor;
  std::size_t batch_a, batch_b;
};

std::vector<int> times(std::size_t count, int bits, std::size_t more, int other_bits) {
  std::vector<int> list(count, bits);
  list.insert(list.end(), more, other_bits);
  return list;
}

const std::vector<Product>& products() {
  static const std::vector<Product> list = {
      {"a small ring", 1024, times(2, 45, 2, 49), 2, 65537, 2, 2},
      {"one prime", 8192, times(1, 50, 2, 49), 1, 65537, 1, 1},
      {"one auxiliary prime", 8192, times(2, 30, 1, 61), 2, 3, 1, 1},
      {"primes of 54 and 60 bits", 8192, times(3, 54, 3, 60), 3, 65537, 2, 2},
      {"the first operand broadcasts", 8192, times(2, 61, 2, 61), 2, std::uint64_t{1} << 59, 1, 2},
      {"the second operand broadcasts", 8192, times(3, 40, 2, 50), 3, 2, 2, 1},
      {"primes that are 1 modulo 2^32", 8192, times(3, -60, 4, -60), 3, 65537, 1, 2},
      {"primes of all sizes", 8192, {60, 30, 50, 45, 61, 55, 59}, 4, 1000003, 1, 1},
      {"eight sources", 8192, times(8, 36, 6, 49), 8, 65537, 1, 1},
      {"sixteen sources", 8192, times(16, 36, 12, 49), 16, 65537, 1, 1},
      {"fifteen large sources", 8192, times(15, 55, 14, 60), 15, 65537, 1, 1},
      {"more sources than the tensor cores take", 8192, times(17, 36, 13, 49), 17, 65537, 1, 1},
      {"a larger ring", 32768, times(5, 50, 5, 50), 5, 65537, 1, 1},
  };
  return list;
}

struct Setting {
  Setting(const BackendCase& backend_case, const Product& given)
      : emulated(backend_case.emulated),
        rig(backend_case, given.degree, given.bits),
        base(rig.primes(0, given.base)),
        plan(base, rig.primes(given.base, given.bits.size() - given.base), given.factor) {}

  poly::Poly product(const poly::Poly& a, const poly::Poly& b, bool use_default) {
    const poly::Backend& backend = use_default ? *rig.defaults : *rig.backend;
    poly::Poly out = rig.output(base, std::max(a.shape().batch, b.shape().batch), 3);
    rig.with_scratch([&](runtime::Workspace& space) {
      backend.scaled_product(*rig.queue, out.view(), a.view(), b.view(), plan, space);
    });
    return out;
  }

  // The product by its parts: those of the CPU in place of emulated ones, which take longer than all that
  // they are compared with.
  Host by_parts(const poly::Poly& a, const poly::Poly& b) {
    if (!emulated) return rig.download(product(a, b, true));
    const std::shared_ptr<const poly::Backend> cpu = poly::make_cpu_backend(rig.ring, 1);
    const Defaults parts(cpu);
    const auto cpu_queue = cpu->make_queue();
    const auto copy = [&](const poly::Poly& from) {
      const poly::PolyShape& shape = from.shape();
      poly::Poly to(cpu->memory(), shape.batch, shape.components, from.base(), Form::evaluation);
      cpu->upload(*cpu_queue, to.view(), rig.download(from).words, Form::evaluation);
      return to;
    };
    const poly::Poly own_a = copy(a), own_b = copy(b);
    Host result(base, std::max(a.shape().batch, b.shape().batch), 3);
    poly::Poly out(cpu->memory(), result.shape.batch, 3, base, Form::evaluation);
    runtime::Workspace space(cpu->memory());
    parts.scaled_product(*cpu_queue, out.view(), own_a.view(), own_b.view(), plan, space);
    cpu->download(*cpu_queue, result.words, std::as_const(out).view(), Form::evaluation);
    return result;
  }

  bool emulated;
  Rig rig;
  RnsBase base;
  ScaledProduct plan;
};

// So many pairs of operands, and what they are lifted to.
struct Lift {
  Lift(Setting& setting, const Product& given, std::size_t pairs)
      : plan(setting.plan), batch(std::max(given.batch_a, given.batch_b)) {
    Rig& rig = setting.rig;
    const auto add = [&](std::vector<Host>& residues, std::vector<poly::Poly>& operands, std::size_t count) {
      residues.push_back(adversarial(rig, plan.base(), count, 2));
      operands.push_back(rig.upload(rig.transformed(residues.back(), Form::coefficient, Form::evaluation)));
    };
    for (std::size_t i = 0; i < pairs; ++i) {
      add(x, a, given.batch_a);
      add(y, b, given.batch_b);
    }
    a_lifted = rig.output(plan.auxiliary(), pairs * batch, 2);
    b_lifted = rig.output(plan.all(), pairs * batch, 2);
  }

  void run(Rig& rig) {
    std::vector<poly::ConstPolyView> left, right;
    for (std::size_t i = 0; i < a.size(); ++i) {
      left.push_back(std::as_const(a[i]).view());
      right.push_back(std::as_const(b[i]).view());
    }
    rig.with_scratch([&](runtime::Workspace& space) {
      rig.backend->lift_operands(*rig.queue, a_lifted.view(), b_lifted.view(), left, right, plan, space);
    });
  }

  const ScaledProduct& plan;
  std::size_t batch;
  std::vector<Host> x, y;
  std::vector<poly::Poly> a, b;
  poly::Poly a_lifted, b_lifted;
};

// Products of a batch, whose operand may have fewer.
Host repeated(const Host& one, std::size_t batch) {
  if (one.shape.batch == batch) return one;
  Host all(one.base, batch, one.shape.components);
  for (std::size_t i = 0; i < batch; ++i) {
    std::copy(one.words.begin(), one.words.end(),
              all.words.begin() + static_cast<std::ptrdiff_t>(i * one.words.size()));
  }
  return all;
}

TEST_P(BackendTest, OperandsAreLiftedExactly) {
  for (const Product& given : products()) {
    if (GetParam().emulated && given.bits.size() > 8) continue;
    if (GetParam().brief() && given.degree > 8192) continue;
    SCOPED_TRACE(given.name);
    Setting setting(GetParam(), given);
    Rig& rig = setting.rig;
    const ScaledProduct& plan = setting.plan;
    const ExactBase q(plan.base()), p(plan.auxiliary());
    for (const std::size_t pairs : {1, 3}) {
      // These sets show how several pairs are read.
      if (pairs > 1 && given.batch_b != 2) continue;
      SCOPED_TRACE(pairs);
      Lift lift(setting, given, pairs);
      lift.run(rig);
      const Host of_a = rig.transformed(rig.download(lift.a_lifted), Form::evaluation, Form::coefficient);
      const Host of_b = rig.transformed(rig.download(lift.b_lifted), Form::evaluation, Form::coefficient);
      const auto part = [&](const Host& lifted, std::size_t pair) {
        Host one(lifted.base, lift.batch, 2);
        const auto size = static_cast<std::ptrdiff_t>(one.words.size());
        const auto first = lifted.words.begin() + static_cast<std::ptrdiff_t>(pair) * size;
        std::copy(first, first + size, one.words.begin());
        return one;
      };
      for (std::size_t i = 0; i < pairs; ++i) {
        const Host expected_a = map_coefficients(lift.x[i], plan.auxiliary(),
                                                 [&](const auto& residues) { return q.exact(residues); });
        ASSERT_TRUE(same(part(of_a, i), repeated(expected_a, lift.batch))) << "pair " << i;
        const Host expected_b = map_coefficients(lift.y[i], plan.all(), [&](const auto& residues) {
          const BigInteger scaled = p.product() * q.combine(residues);
          const BigInteger remainder = q.exact(q.residues(scaled));
          return BigInteger(p.exact(p.residues((scaled - remainder) / q.product())) * given.factor);
        });
        ASSERT_TRUE(same(part(of_b, i), repeated(expected_b, lift.batch))) << "pair " << i;
      }
    }
  }
}

// More than one launch takes, which read their operands by pair.
TEST_P(BackendTest, ManyOperandsAreLifted) {
  Setting setting(GetParam(), {"", 8192, times(2, 50, 2, 50), 2, 65537, 1, 1});
  Rig& rig = setting.rig;
  constexpr std::size_t pairs = 17;
  Lift lift(setting, {"", 8192, {}, 2, 65537, 1, 1}, 2);
  // The same two pairs in turn.
  std::vector<poly::ConstPolyView> a, b;
  for (std::size_t i = 0; i < pairs; ++i) {
    a.push_back(std::as_const(lift.a[i % 2]).view());
    b.push_back(std::as_const(lift.b[i / 2 % 2]).view());
  }
  poly::Poly a_lifted = rig.output(setting.plan.auxiliary(), pairs, 2);
  poly::Poly b_lifted = rig.output(setting.plan.all(), pairs, 2);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->lift_operands(*rig.queue, a_lifted.view(), b_lifted.view(), a, b, setting.plan, space);
  });
  lift.run(rig);
  const Host many_a = rig.download(a_lifted), many_b = rig.download(b_lifted);
  const Host two_a = rig.download(lift.a_lifted), two_b = rig.download(lift.b_lifted);
  const auto is_part = [](const Host& many, std::size_t i, const Host& two, std::size_t j) {
    const std::size_t size = two.words.size() / 2;
    const auto at = [&](const Host& of, std::size_t k) {
      return of.words.begin() + static_cast<std::ptrdiff_t>(k * size);
    };
    return std::equal(at(two, j), at(two, j + 1), at(many, i));
  };
  for (std::size_t i = 0; i < pairs; ++i) {
    EXPECT_TRUE(is_part(many_a, i, two_a, i % 2)) << i;
    EXPECT_TRUE(is_part(many_b, i, two_b, i / 2 % 2)) << i;
  }
}

TEST_P(BackendTest, ScaledProductIsItsParts) {
  for (const Product& given : products()) {
    if (GetParam().emulated && given.bits.size() > 28) continue;
    SCOPED_TRACE(given.name);
    Setting setting(GetParam(), given);
    Rig& rig = setting.rig;
    const auto operand = [&](std::size_t batch) {
      const Host residues = adversarial(rig, setting.base, batch, 2);
      return rig.upload(rig.transformed(residues, Form::coefficient, Form::evaluation));
    };
    const poly::Poly a = operand(given.batch_a);
    const poly::Poly b = operand(given.batch_b);
    const Host before = rig.download(b);
    ASSERT_TRUE(same(rig.download(setting.product(a, b, false)), setting.by_parts(a, b)));
    ASSERT_TRUE(same(rig.download(b), before)) << "the input changed";
    if (GetParam().emulated && given.bits.size() > 8) continue;
    // A square, and the same ciphertext in two places.
    const poly::Poly copy = rig.upload(before);
    const Host square = rig.download(setting.product(b, b, false));
    ASSERT_TRUE(same(square, setting.by_parts(b, copy))) << "square";
    if (!GetParam().brief()) {
      ASSERT_TRUE(same(square, rig.download(setting.product(b, copy, false)))) << "copy";
      ASSERT_TRUE(same(square, rig.download(setting.product(b, b, true)))) << "square by default";
    }
  }
}

// All residues as large as they can be, where lazy sums are largest.
TEST_P(BackendTest, ScaledProductTakesExtremeResidues) {
  for (const Product& given : products()) {
    if (given.degree != 8192 || (GetParam().emulated && given.bits.size() > 8)) continue;
    SCOPED_TRACE(given.name);
    Setting setting(GetParam(), given);
    Rig& rig = setting.rig;
    Host values(setting.base, 1, 2);
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t l = 0; l < setting.base.size(); ++l) {
        for (std::size_t n = 0; n < given.degree; ++n) {
          values.at(0, c, l, n) = setting.base.modulus(l).value() - 1;
        }
      }
    }
    const poly::Poly a = rig.upload(values);
    const poly::Poly b = rig.upload(rig.transformed(values, Form::coefficient, Form::evaluation));
    ASSERT_TRUE(same(rig.download(setting.product(a, b, false)), setting.by_parts(a, b)));
  }
}

TEST_P(BackendTest, ScaledProductsAreRecorded) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 13}) {
    Setting setting(GetParam(), {"", degree, times(3, 54, 3, 60), 3, 65537, 1, 1});
    Rig& rig = setting.rig;
    const poly::Backend& backend = *rig.backend;
    if (!backend.records()) return;
    poly::Poly a = rig.upload(rig.random(setting.base, 1, 2));
    poly::Poly b = rig.upload(rig.random(setting.base, 1, 2));
    poly::Poly out = rig.output(setting.base, 1, 3);
    const auto operations = [&] {
      runtime::Workspace space(backend.memory());
      backend.scaled_product(*rig.queue, out.view(), std::as_const(a).view(), std::as_const(b).view(),
                             setting.plan, space);
    };
    operations();  // makes the tables
    const auto recording = backend.record(*rig.queue, operations);
    for (int round = 0; round < 2; ++round) {
      backend.upload(*rig.queue, a.view(), rig.random(setting.base, 1, 2).words, Form::evaluation);
      backend.upload(*rig.queue, b.view(), rig.random(setting.base, 1, 2).words, Form::evaluation);
      const Host expected = setting.by_parts(a, b);
      recording->replay(*rig.queue);
      ASSERT_TRUE(same(rig.download(out), expected)) << degree << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
