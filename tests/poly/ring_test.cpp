#include "hemera/poly/ring.hpp"

#include <gtest/gtest.h>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/modulus_chain.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/ring_support.hpp"

namespace hemera::poly {
namespace {

TEST(Ring, ChecksItsParameters) {
  const RingModulus good = ntt_modulus(1024, 50);
  EXPECT_EQ(Ring::make(1024, {good})->log_degree(), 10);
  for (const std::size_t degree : {0, 1, 512, 1000, 1 << 18}) {
    EXPECT_THROW(Ring::make(degree, {good}), ParameterError);
    EXPECT_THROW(Ring::make(degree, {{arith::Modulus(65536), 0}}), ParameterError) << "of itself";
  }
  EXPECT_THROW(Ring::make(1024, {good, good}), ParameterError);
  EXPECT_THROW(Ring::make(1024, {{arith::Modulus(std::uint64_t{1} << 61), 0}}), ParameterError);
  EXPECT_THROW(Ring::make(2048, {good}), ParameterError) << "a root of order 2048 in a ring that needs 4096";
  EXPECT_THROW(Ring::make(1024, {{good.modulus, good.root + 1}}), ParameterError);
  EXPECT_NO_THROW(Ring::make(1024, {{arith::Modulus(65536), 0}}));
}

TEST(Ring, FindsModuliByValue) {
  const auto ring = make_ring(1024, {50, 60, 30});
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(ring->index_of((*ring)[i].modulus.value()), i);
  EXPECT_THROW(static_cast<void>(ring->index_of(17)), ParameterError);
}

TEST(RnsBase, IsAnOrderedChoiceOfModuli) {
  const auto ring = make_ring(1024, {50, 60, 30, 45});
  const RnsBase base(ring, {2, 0, 3});
  EXPECT_EQ(base.size(), 3U);
  EXPECT_EQ(base.values(), (std::vector<std::uint64_t>{(*ring)[2].modulus.value(), (*ring)[0].modulus.value(),
                                                       (*ring)[3].modulus.value()}));
  EXPECT_NEAR(base.log2(), 30 + 50 + 45, 1e-3);
  EXPECT_TRUE(base.contains(3));
  EXPECT_FALSE(base.contains(1));
  EXPECT_EQ(base.position(0), 1U);
  EXPECT_THROW(static_cast<void>(base.position(1)), MismatchError);
  EXPECT_THROW(RnsBase(ring, {0, 4}), ParameterError);
  EXPECT_THROW(RnsBase(ring, {0, 1, 0}), ParameterError);
  EXPECT_TRUE(RnsBase().empty());
}

TEST(RnsBase, SetOperationsKeepTheOrder) {
  const auto ring = make_ring(1024, {50, 60, 30, 45, 55});
  const RnsBase a(ring, {4, 1, 0});
  const RnsBase b(ring, {2, 0, 4});
  EXPECT_EQ(a.united(b), RnsBase(ring, {4, 1, 0, 2}));
  EXPECT_EQ(a.without(b), RnsBase(ring, {1}));
  EXPECT_EQ(a.intersected(b), RnsBase(ring, {4, 0}));
  EXPECT_EQ(a.united(RnsBase()), a);
  EXPECT_EQ(RnsBase().united(a), a);
  EXPECT_EQ(a.without(RnsBase()), a);
  EXPECT_EQ(a.positions(RnsBase(ring, {0, 4})), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_THROW(static_cast<void>(a.positions(b)), MismatchError);
  const auto other = make_ring(1024, {50, 60, 30, 45, 55});
  EXPECT_THROW(static_cast<void>(a.united(RnsBase(other, {0}))), MismatchError);
  EXPECT_THROW(static_cast<void>(a.positions(RnsBase(other, {0}))), MismatchError);
}

TEST(ModulusChain, RatiosAndUnion) {
  const auto ring = make_ring(1024, {50, 50, 50, 30, 61});
  const RnsBase low(ring, {0}), middle(ring, {0, 3}), high(ring, {0, 1, 2});
  const ModulusChain chain({low, middle, high});
  EXPECT_EQ(chain.levels(), 3U);
  EXPECT_EQ(chain.top(), 2U);
  EXPECT_EQ(chain.base(1), middle);
  EXPECT_EQ(chain.all(), RnsBase(ring, {0, 1, 2, 3}));
  const auto value = [&](std::uint32_t i) { return static_cast<double>((*ring)[i].modulus.value()); };
  EXPECT_DOUBLE_EQ(chain.ratio(2), value(1) * value(2) / value(3));
  EXPECT_DOUBLE_EQ(chain.ratio(1), value(3));
  // Each level may have primes of its own, the lowest, too.
  EXPECT_EQ(ModulusChain({RnsBase(ring, {3}), RnsBase(ring, {0, 1})}).all(), RnsBase(ring, {0, 1, 3}));
  EXPECT_THROW(ModulusChain(std::vector<RnsBase>{}), ParameterError);
  const auto other = make_ring(1024, {50, 50, 50, 30, 61});
  EXPECT_THROW(ModulusChain({low, RnsBase(other, {0, 3})}), ParameterError);
  EXPECT_THROW(ModulusChain({low, low}), ParameterError);
  EXPECT_THROW(ModulusChain({high, low}), ParameterError);
  EXPECT_THROW(ModulusChain({RnsBase(), low}), ParameterError);
}

TEST(Poly, OwnsAContiguousArray) {
  const auto memory = runtime::make_host_memory();
  const RnsBase base(make_ring(1024, {50, 60, 30}), {0, 2});
  Poly poly(memory, 4, 3, base, Form::evaluation, runtime::Secrecy::secret);
  EXPECT_EQ(poly.shape(), (PolyShape{.batch = 4, .components = 3, .limbs = 2, .degree = 1024}));
  EXPECT_EQ(poly.bytes(), 4U * 3 * 2 * 1024 * 8);
  EXPECT_EQ(poly.form(), Form::evaluation);
  EXPECT_EQ(poly.secrecy(), runtime::Secrecy::secret);
  const PolyView view = poly.view();
  const std::uint64_t* first = view.limb<std::uint64_t>(0, 0, 0);
  EXPECT_EQ(view.limb<std::uint64_t>(2, 1, 1) - first, ((2 * 3 + 1) * 2 + 1) * 1024);
  const ConstPolyView part = std::as_const(poly).view().batches(2, 1).components(1, 1).limbs(1, 1);
  EXPECT_EQ(part.limb<std::uint64_t>(0, 0, 0), view.limb<std::uint64_t>(2, 1, 1));
  EXPECT_EQ(part.limb<std::uint64_t>(7, 5, 0), view.limb<std::uint64_t>(2, 1, 1))
      << "an extent of 1 broadcasts";
}

TEST(Poly, RefusesWhatDoesNotFit) {
  const auto memory = runtime::make_host_memory();
  const RnsBase base(make_ring(1024, {50}), {0});
  EXPECT_THROW(Poly(memory, std::size_t{1} << 51, 1, base, Form::coefficient), OutOfMemoryError);
  EXPECT_THROW(Poly(memory, std::size_t{1} << 40, std::size_t{1} << 40, base, Form::coefficient),
               OutOfMemoryError);
  EXPECT_THROW(Poly(memory, 1, 1, RnsBase(), Form::coefficient), ParameterError);
  // Values that repeat are stored once; coefficients do not.
  EXPECT_EQ(Poly(memory, 1, 1, base, Form::evaluation, runtime::Secrecy::open, 64).bytes(), 64U * 8);
  for (const auto& [form, entries] :
       {std::pair{Form::coefficient, std::size_t{64}}, {Form::evaluation, std::size_t{100}}}) {
    EXPECT_THROW(Poly(memory, 1, 1, base, form, runtime::Secrecy::open, entries), ParameterError);
  }
}

}  // namespace
}  // namespace hemera::poly
