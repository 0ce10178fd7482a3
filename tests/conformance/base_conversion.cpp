// Base conversion: its formula bit for bit, and the properties that callers rely on.
#include "conformance/oracle.hpp"

namespace hemera::conformance {
namespace {

using poly::BaseConversion;
using poly::Form;
using poly::RnsBase;

Host convert(Rig& rig, const Host& in, const BaseConversion& plan) {
  poly::Poly out = rig.output(plan.target(), in.shape.batch, in.shape.components, Form::coefficient);
  const poly::Poly device = rig.upload(in, Form::coefficient);
  rig.backend->convert(*rig.queue, out.view(), device.view(), plan);
  EXPECT_TRUE(same(rig.download(device), in)) << "the input changed";
  return rig.download(out);
}

struct Sizes {
  std::vector<int> bits;
  std::size_t sources;  // the first ones; the others are targets
};

const std::vector<Sizes>& conversions() {
  static const std::vector<Sizes> list = {
      {{30, 30, 30, 30, 30}, 3},     {{45, 45, 45, 45, 45}, 2},     {{50, 50, 50, 50, 50, 50}, 4},
      {{60, 60, 60, 60}, 1},         {{60, 60, 60, 60, 60}, 3},     {{61, 61, 61, 61}, 3},
      {{30, 61, 45, 50, 60, 55}, 4}, {{55, 61, 60, 30, 45, 50}, 3}, {{50, 50, 30, 61}, 2},
      {{61, 61, 30, 30}, 2},
  };
  return list;
}

TEST_P(BackendTest, ExactConversionIsItsFormulaAndTheCentredRepresentative) {
  for (const Sizes& sizes : conversions()) {
    Rig rig(GetParam(), 1024, sizes.bits, {2, 4096, 65537});
    const RnsBase source = rig.primes(0, sizes.sources);
    RnsBase target = rig.primes(sizes.sources, sizes.bits.size() - sizes.sources);
    for (std::size_t t = 0; t < 3; ++t) target = target.united(rig.plaintext(t));
    const ExactBase exact(source);
    const Host in = adversarial(rig, source, 1, 2);
    const Host out = convert(rig, in, {source, target, BaseConversion::Kind::exact});
    ASSERT_TRUE(same(out, map_coefficients(in, target, [&](const auto& x) { return exact.exact(x); })));
    // Where the quotient is certain (everywhere but at the adversarial half) the value is the centred one.
    std::size_t uncertain = 0;
    const Host centred = map_coefficients(in, target, [&](const auto& residues) {
      const BigInteger x = exact.combine(residues);
      if (!exact.quotient_is_certain(x)) ++uncertain;
      return exact.quotient_is_certain(x) ? centered(x, exact.product()) : exact.exact(residues);
    });
    ASSERT_TRUE(same(out, centred));
    EXPECT_LE(uncertain, 2 * 20U);
  }
}

TEST_P(BackendTest, ApproximateConversionIsItsFormulaWithABoundedMultiple) {
  for (const Sizes& sizes : conversions()) {
    Rig rig(GetParam(), 1024, sizes.bits);
    const RnsBase source = rig.primes(0, sizes.sources);
    const RnsBase target = rig.primes(sizes.sources, sizes.bits.size() - sizes.sources);
    const ExactBase exact(source);
    const Host in = adversarial(rig, source, 1, 2);
    const BaseConversion plan(source, target, BaseConversion::Kind::approximate);
    const Host out = convert(rig, in, plan);
    const Host expected = map_coefficients(in, target, [&](const auto& residues) {
      const BigInteger value = exact.approximate(residues);
      const BigInteger multiple = value - centered(exact.combine(residues), exact.product());
      EXPECT_EQ(multiple % exact.product(), 0);
      EXPECT_LE(abs(multiple), source.size() / 2 * exact.product());
      return value;
    });
    ASSERT_TRUE(same(out, expected));
    // Centred residues make it odd, so it commutes with the signs of automorphisms.
    Host negated = in;
    for (std::size_t i = 0; i < in.words.size(); ++i) {
      const std::uint64_t q = source.modulus(i / 1024 % source.size()).value();
      negated.words[i] = (q - in.words[i]) % q;
    }
    Host negated_out = out;
    for (std::size_t i = 0; i < out.words.size(); ++i) {
      const std::uint64_t q = target.modulus(i / 1024 % target.size()).value();
      negated_out.words[i] = (q - out.words[i]) % q;
    }
    ASSERT_TRUE(same(convert(rig, negated, plan), negated_out));
  }
}

TEST_P(BackendTest, PlaintextModuliConvertByTheirCentredResidue) {
  const std::vector<std::uint64_t> moduli = {
      2, 3, 4, 256, 65536, 65537, std::uint64_t{1} << 40, std::uint64_t{1} << 60};
  Rig rig(GetParam(), 1024, {30, 50, 61}, moduli);
  for (std::size_t t = 0; t < moduli.size(); ++t) {
    for (const auto kind : {BaseConversion::Kind::exact, BaseConversion::Kind::approximate}) {
      Host in = rig.random(rig.plaintext(t), 2, 1);
      in.words[0] = moduli[t] / 2;  // goes to + t / 2
      const Host out = convert(rig, in, {rig.plaintext(t), rig.all(), kind});
      ASSERT_EQ(out.at(0, 0, 2, 0), moduli[t] / 2 % rig.all().modulus(2).value());
      ASSERT_TRUE(same(
          out, map_coefficients(in, rig.all(), [&](const auto& x) { return centered(x[0], moduli[t]); })))
          << moduli[t];
    }
  }
}

TEST_P(BackendTest, ConversionOfManyLimbsAndLargeRings) {
  {
    Rig rig(GetParam(), 32768, {60, 30, 50, 61, 45, 55});
    const RnsBase source = rig.primes(0, 3);
    const RnsBase target = rig.primes(3, 3);
    const ExactBase exact(source);
    const Host in = adversarial(rig, source, 1, 1);
    EXPECT_TRUE(same(convert(rig, in, {source, target, BaseConversion::Kind::exact}),
                     map_coefficients(in, target, [&](const auto& x) { return exact.exact(x); })));
  }
  for (const int bits : {49, 61}) {
    // More terms than any lazy sum holds, and more scratch than a task's stack.
    Rig rig(GetParam(), 1024, std::vector<int>(300, bits));
    const RnsBase source = rig.primes(0, 298);
    const RnsBase target = rig.primes(298, 2);
    const ExactBase exact(source);
    const Host in = adversarial(rig, source, 1, 1);
    // The oracle is slow here: the adversarial coefficients and a few others will do.
    const Host out = convert(rig, in, {source, target, BaseConversion::Kind::exact});
    const Host approximate = convert(rig, in, {source, target, BaseConversion::Kind::approximate});
    for (std::size_t n = 0; n < 1024; n += n < 40 ? 1 : 61) {
      for (std::size_t j = 0; j < 2; ++j) {
        const std::uint64_t b = target.modulus(j).value();
        ASSERT_EQ(out.at(0, 0, j, n), arith::modulo(exact.exact(in.residues(0, 0, n)), b));
        ASSERT_EQ(approximate.at(0, 0, j, n), arith::modulo(exact.approximate(in.residues(0, 0, n)), b));
      }
    }
  }
}

TEST_P(BackendTest, ConversionBroadcastsTheBatch) {
  Rig rig(GetParam(), 1024, {50, 50, 60, 30});
  const RnsBase source = rig.primes(0, 2);
  const RnsBase target = rig.primes(2, 2);
  const ExactBase exact(source);
  const Host in = rig.random(source, 1, 2);
  poly::Poly out = rig.output(target, 3, 2, Form::coefficient);
  rig.backend->convert(*rig.queue, out.view(), rig.upload(in, Form::coefficient).view(),
                       {source, target, BaseConversion::Kind::exact});
  const Host actual = rig.download(out);
  const Host expected = map_coefficients(in, target, [&](const auto& x) { return exact.exact(x); });
  for (std::size_t i = 0; i < actual.words.size(); ++i) {
    ASSERT_EQ(actual.words[i], expected.words[i % expected.words.size()]);
  }
}

}  // namespace
}  // namespace hemera::conformance
