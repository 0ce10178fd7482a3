// Rings and plans: what is refused, and the constants whose meaning their users rely on. Effects are tested
// in conformance/.
#include "hemera/poly/ring.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hemera/poly/modulus_chain.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/ring_support.hpp"

namespace hemera::poly {
namespace {

using Kind = BaseConversion::Kind;

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

class Plans : public ::testing::Test {
 protected:
  [[nodiscard]] RnsBase base(std::vector<std::uint32_t> indices) const { return {ring_, std::move(indices)}; }

  // 0 ... 4: primes; 5: 65536, 6: 65537, 7: 9.
  std::shared_ptr<const Ring> ring_ = make_ring(1024, {50, 60, 30, 61, 45}, {65536, 65537, 9});
};

TEST_F(Plans, ConversionRefusesEvenModuliInCompany) {
  EXPECT_NO_THROW(BaseConversion(base({5}), base({0}), Kind::exact));
  EXPECT_THROW(BaseConversion(base({5, 0}), base({1}), Kind::exact), ParameterError);
  EXPECT_THROW(BaseConversion(base({0, 5}), base({1}), Kind::approximate), ParameterError);
  const auto common =
      Ring::make(1024, {{arith::Modulus(9), 0}, {arith::Modulus(15), 0}, {arith::Modulus(7), 0}});
  EXPECT_THROW(BaseConversion(RnsBase(common, {0, 1}), RnsBase(common, {2}), Kind::exact), ParameterError);
}

TEST_F(Plans, ConversionConstantsAreConsistent) {
  const RnsBase source = base({0, 1, 2});
  const RnsBase target = base({3, 4, 6});
  const BaseConversion plan(source, target, Kind::exact);
  for (std::size_t j = 0; j < target.size(); ++j) {
    const arith::Modulus& b = target.modulus(j);
    std::uint64_t shift = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
      EXPECT_EQ(b.multiply(plan.punctured()[j][i], b.reduce(source.modulus(i).value())), plan.product()[j]);
      shift = b.add(shift, b.multiply(plan.punctured()[j][i], b.reduce((source.modulus(i).value() - 1) / 2)));
    }
    EXPECT_EQ(plan.center_shift()[j], shift);
  }
  // A_i^-1 A_i = 1, seen through a conversion back to the source.
  const BaseConversion back(source, source, Kind::exact);
  for (std::size_t i = 0; i < source.size(); ++i) {
    EXPECT_EQ(source.modulus(i).multiply(back.punctured()[i][i], back.inverse_punctured()[i].operand), 1U);
  }
}

TEST_F(Plans, DivisionDropsAndAdds) {
  const Division plan(base({0, 1, 2, 3}), base({2, 4, 0}), base({6}));
  EXPECT_EQ(plan.dropped(), base({1, 3}));
  EXPECT_EQ(plan.dropped_positions(), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(plan.kept_positions(), (std::vector<std::int32_t>{2, -1, 0}));
  EXPECT_TRUE(plan.multiplies());
  EXPECT_EQ(plan.conversion().target(), base({2, 4, 0, 6}));
  EXPECT_EQ(plan.scaled_inverse()[1].operand, 0U);
  EXPECT_FALSE(Division(base({0, 1}), base({0})).multiplies());
}

TEST_F(Plans, DivisionOfAMultiple) {
  const Division plain(base({0, 1, 2, 3}), base({2, 4, 0})),
      multiple(base({0, 1, 2, 3}), base({2, 4, 0}), {}, 0x1p70);
  EXPECT_TRUE(Division(base({0, 1}), base({0}), {}, 3).multiplies());
  const auto power = [](const arith::Modulus& q) { return q.power(2, 70); };
  for (std::size_t i = 0; i < plain.dropped().size(); ++i) {
    const arith::Modulus& d = plain.dropped().modulus(i);
    EXPECT_EQ(multiple.multiple_dropped()[i].operand,
              d.multiply(plain.multiple_dropped()[i].operand, power(d)));
  }
  for (std::size_t j = 0; j < plain.target().size(); ++j) {
    const arith::Modulus& b = plain.target().modulus(j);
    EXPECT_EQ(multiple.inverse_dropped()[j].operand, plain.inverse_dropped()[j].operand);
    EXPECT_EQ(multiple.scaled_inverse()[j].operand, b.multiply(plain.scaled_inverse()[j].operand, power(b)));
  }
}

TEST_F(Plans, DivisionRefusesWhatItCanNotDo) {
  for (const double factor : {0.0, -1.0, 1.5, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW(Division(base({0, 1}), base({0}), {}, factor), ParameterError) << factor;
  }
  const auto q = static_cast<double>(base({0}).modulus(0).value());
  EXPECT_THROW(Division(base({0, 1}), base({0}), {}, q), ParameterError) << "0 modulo the target";
  EXPECT_THROW(Division(base({0, 1}), base({1, 0})), ParameterError) << "nothing dropped";
  EXPECT_THROW(Division(base({0}), base({0, 1})), ParameterError) << "nothing dropped, one added";
  EXPECT_THROW(Division(base({0, 1}), base({0}), base({6, 5})), ParameterError) << "two plaintext moduli";
  EXPECT_THROW(Division(base({0, 1}), base({0}), base({0})), ParameterError) << "t in the target";
  EXPECT_THROW(Division(base({0, 6}), base({0}), base({6})), ParameterError) << "t divides D";
}

TEST_F(Plans, ScaleAndRoundRefusesWhatItCanNotDo) {
  EXPECT_NO_THROW(ScaleAndRound(base({0, 1}), base({0}), 65537, base({1})));
  EXPECT_NO_THROW(ScaleAndRound(base({0, 1}), base({0, 1}), 65537, base({6})));
  EXPECT_THROW(ScaleAndRound(base({0, 1}), RnsBase(), 65537, base({1})), ParameterError);
  EXPECT_THROW(ScaleAndRound(base({0, 1}), base({0}), 0, base({1})), ParameterError);
  EXPECT_THROW(ScaleAndRound(base({0, 1}), base({0}), 65537, base({0})), ParameterError)
      << "a target divided by";
  EXPECT_THROW(ScaleAndRound(base({0, 1}), base({0}), 65537, base({6})), ParameterError) << "B is not empty";
  EXPECT_THROW(ScaleAndRound(base({0, 1}), base({0, 1}), 65536, base({6})), ParameterError)
      << "t no multiple";
  EXPECT_THROW(ScaleAndRound(base({0, 1}), base({2}), 65537, base({0})), MismatchError) << "D no part of A";
}

TEST_F(Plans, ModUpPositionsCoverTheExtendedBase) {
  const ModUp plan(base({0, 1, 4}), base({3}),
                   {{.key_digit = 1, .moduli = base({0, 4})}, {.key_digit = 0, .moduli = base({1})}},
                   base({4, 3, 2, 1, 0}));
  EXPECT_EQ(plan.extended(), base({0, 1, 4, 3}));
  EXPECT_EQ(plan.key_positions(), (std::vector<std::uint32_t>{4, 3, 0, 1}));
  EXPECT_EQ(plan.own_positions()[0], (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(plan.other_positions()[0], (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(plan.conversions()[0].target(), base({1, 3}));
  EXPECT_EQ(plan.conversions()[1].source(), base({1}));
}

TEST_F(Plans, ModUpRefusesWhatDoesNotFit) {
  const RnsBase key = base({0, 1, 2, 3});
  const GadgetDigit digit{.key_digit = 0, .moduli = base({0})};
  EXPECT_NO_THROW(ModUp(base({0, 1}), base({3}), {digit}, key));
  EXPECT_THROW(ModUp(base({0, 1}), base({3}), {}, key), ParameterError) << "no digits";
  EXPECT_THROW(ModUp(base({0, 1}), base({1}), {digit}, key), ParameterError) << "a special prime of the base";
  EXPECT_THROW(ModUp(base({0, 4}), base({3}), {digit}, key), MismatchError) << "the key lacks a prime";
  EXPECT_THROW(ModUp(base({1}), base({3}), {digit}, key), ParameterError) << "a digit outside the base";
  EXPECT_THROW(ModUp(base({0}), base({3}), {GadgetDigit{}}, key), ParameterError) << "a digit of no moduli";
  const GadgetDigit both{.key_digit = 0, .moduli = base({0, 1})};
  EXPECT_NO_THROW(ModUp(base({0, 1}), base({3}), {both}, key, {base({3}), {base({3})}}));
  EXPECT_THROW(ModUp(base({0, 1}), base({3}), {both}, key, {base({2}), {}}), ParameterError)
      << "lent, and not special";
  EXPECT_THROW(ModUp(base({0, 1}), base({2, 3}), {both}, key, {base({3}), {base({2})}}), ParameterError)
      << "a digit's, and not lent";
  EXPECT_THROW(ModUp(base({0, 1}), base({3}), {digit}, key, {base({3}), {base({3})}}), ParameterError)
      << "a single modulus that is a multiple of another";
  for (const auto& [shift, width] : {std::pair{50, 1}, {-1, 5}, {0, -1}}) {
    EXPECT_THROW(ModUp(base({0}), base({3}),
                       {{.key_digit = 0, .moduli = base({0}), .shift = shift, .width = width}}, key),
                 ParameterError)
        << shift << " " << width;
  }
  EXPECT_THROW(
      ModUp(base({0, 1}), base({3}), {{.key_digit = 0, .moduli = base({0, 1}), .shift = 0, .width = 5}}, key),
      ParameterError)
      << "a window of two moduli";
}

}  // namespace
}  // namespace hemera::poly
