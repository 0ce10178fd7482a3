// The range of CKKS values: what parameters leave for it, declared bounds, and the net under decryption.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

CircuitRequest circuit(std::size_t depth, std::optional<int> range_bits = std::nullopt, double largest = 0) {
  return {.depth = depth,
          .slots = 4,
          .range_bits = range_bits,
          .largest = largest,
          .degree = 1024,
          .security = std::nullopt};
}

// Primes of one size in the last base may hold up to a bit more than asked for.
void expect_bits_above_scale(const rlwe::Parameters& parameters, double bits) {
  const double found = parameters.log_modulus(0) - std::log2(parameters.scale());
  EXPECT_GE(found, bits - 0.01);
  EXPECT_LE(found, bits + 1);
}

TEST(CkksRange, TheLastBaseHasTheRangeAndTwoBitsToSpare) {
  const auto parameters = parameters_for(circuit(1));
  EXPECT_EQ(parameters.literal().range_bits, 20);
  EXPECT_EQ(parameters.literal().largest, 0);
  expect_bits_above_scale(parameters, 22);
  EXPECT_EQ(parameters.literal().levels.front().size(), 2U);
  EXPECT_TRUE(checks_range(parameters));
  // Small on purpose: as it is.
  for (const int bits : {1, 10, 11}) {
    const auto small = parameters_for(circuit(1, bits));
    expect_bits_above_scale(small, bits);
    EXPECT_FALSE(checks_range(small)) << bits;
  }
  EXPECT_EQ(parameters_for(circuit(1, 10)).literal().levels.front().size(), 1U);
  const auto spared = parameters_for(circuit(1, 12));
  expect_bits_above_scale(spared, 14);
  EXPECT_TRUE(checks_range(spared));
  for (const auto& [largest, bits] : {std::pair{0.25, 1}, {1.0, 1}, {1000.0, 11}, {1024.0, 11}, {1e6, 21}}) {
    const auto declared = parameters_for(circuit(1, std::nullopt, largest));
    EXPECT_EQ(declared.literal().range_bits, bits) << largest;
    EXPECT_EQ(declared.literal().largest, largest);
    expect_bits_above_scale(declared, bits + 2);
    EXPECT_TRUE(checks_range(declared));
  }
}

TEST(CkksRange, EveryScaleGetsPrimesBelow2To50) {
  for (const int scale_bits : {20, 21, 28, 33, 40, 45, 48, 49}) {
    const auto parameters = parameters_for({.depth = 3, .scale_bits = scale_bits, .slots = 4096});
    EXPECT_GE(parameters.security(), rlwe::Security::at_least_128);
    double widest = 0;
    for (const auto& digit : parameters.literal().digits) {
      double bits = 0;
      for (const std::uint64_t prime : digit) bits += std::log2(prime);
      widest = std::max(widest, bits);
    }
    EXPECT_GE(parameters.log_special(), widest) << scale_bits;
    for (const auto& level : parameters.literal().levels) {
      for (const std::uint64_t prime : level) EXPECT_LT(prime, std::uint64_t{1} << 50) << scale_bits;
    }
    for (const std::uint64_t prime : parameters.literal().special_primes) {
      EXPECT_LT(prime, std::uint64_t{1} << 50) << scale_bits;
    }
  }
}

TEST(CkksRange, MistakesAreNamed) {
  tests::expect_error<ParameterError>([] { parameters_for(circuit(1, 20, 100)); }, {"one of them"});
  tests::expect_error<ParameterError>([] { parameters_for(circuit(1, 0)); }, {"range_bits"});
  for (const double largest : {-1.0, 0x1p60, infinite, std::nan("")}) {
    tests::expect_error<ParameterError>([&] { parameters_for(circuit(1, std::nullopt, largest)); },
                                        {"largest"});
  }
  auto literal = parameters_for(circuit(1)).literal();
  literal.largest = 0x1p20;
  tests::expect_error<ParameterError>([&] { rlwe::Parameters{literal}; }, {"range_bits"});
  literal.largest = 0x1p19;
  EXPECT_EQ(rlwe::Parameters(literal), parameters_for(circuit(1)));  // no part of the fingerprint
}

TEST(CkksRange, FilesKeepTheirMeaning) {
  // Ten bits and nothing to spare, as in parameters that were written before there was a check.
  const rlwe::ParametersLiteral written;
  EXPECT_EQ(written.range_bits, 10);
  EXPECT_EQ(written.largest, 0);
  const Session session(parameters_for(circuit(1, 10)));
  const Values values = {400, -511, 500, 509};
  EXPECT_LT(session.error(session.evaluator->shrink(session.encrypt(values)), values), 1e-4);
  auto foreign = parameters_for(circuit(1)).literal();
  foreign.galois_generator = 3;
  EXPECT_FALSE(checks_range(rlwe::Parameters(foreign)));
}

TEST(CkksRange, WrappedValuesAreNoticed) {
  const Session session(parameters_for(circuit(2)));
  const Evaluator& evaluator = *session.evaluator;
  // A constant has one coefficient that is not small; at the last level it may be a quarter of 2^22.
  // Messages may not be as large, so the level is given.
  const std::size_t top = session.context->parameters().highest_user_level();
  const auto at_top = [&](double value) {
    return encrypt(session.encoder->encode(Values(4, value), {}, top), *session.keys.public_key);
  };
  const auto at_last_level = [&](double value) {
    Ciphertext x = at_top(value);
    evaluator.adjust_to_level_inplace(x, 0);
    return x;
  };
  for (const double value : {524288.0, 1000000.0, -1040000.0}) {
    EXPECT_LT(session.error(at_last_level(value), Values(4, value)), 0.01);
  }
  for (const double value : {1060000.0, -1060000.0, 2000000.0, 2200000.0, 3000000.0}) {
    tests::expect_error<NoiseError>([&] { return session.decrypt(at_last_level(value)); }, {"(largest)"});
    // A level higher there is room.
    EXPECT_LT(session.error(at_top(value), Values(4, value)), 0.01);
  }
  for (const double value : {2200000.0, -1e30}) {
    tests::expect_error<ParameterError>([&] { return session.encrypt({1, value, 2, 3}); }, {"does not fit"});
  }
  // One element of a batch is enough, and one of a product not rescaled yet.
  Values batch(12, 1);
  for (std::size_t i = 4; i < 8; ++i) batch[i] = 1500000;
  Ciphertext x = session.encrypt(batch, {3});
  evaluator.adjust_to_level_inplace(x, 0);
  tests::expect_error<NoiseError>([&] { return session.decrypt(x); }, {"quarter"});
  EXPECT_NO_THROW(static_cast<void>(session.decrypt(rlwe::take(x, 2))));
  Ciphertext y = session.encrypt(Values(4, 1100));
  evaluator.adjust_to_level_inplace(y, 1);
  tests::expect_error<NoiseError>([&] { return session.decrypt(evaluator.square(y)); }, {"level 1"});
  // What was encoded and not decrypted is no decryption.
  EXPECT_NO_THROW(
      static_cast<void>(session.encoder->decode(session.encoder->encode(Values(4, 1060000.0), {}, 0))));
  // Small on purpose: nothing is checked.
  const Session small(parameters_for(circuit(1, 10)));
  Ciphertext z = small.encrypt(Values(4, 300));
  small.evaluator->adjust_to_level_inplace(z, 0);
  EXPECT_LT(small.error(z, Values(4, 300)), 0.01);
}

TEST(CkksRange, BoundsFollowTheCircuit) {
  const Session session(parameters_for(circuit(6, std::nullopt, 8)));
  const Evaluator& evaluator = *session.evaluator;
  const auto x = session.encrypt({1, -2, 3, 8});
  const auto y = session.encrypt({4, 5, -6, 7});
  const auto plain = session.encoder->encode(Values(4, 0.5), {});
  EXPECT_EQ(x.meta.largest, 8);
  EXPECT_EQ(plain.meta.largest, 8);  // what is declared, not what is there
  EXPECT_EQ(session.encoder->encode(Values(4, 0.5), {}, {}, {}, 1.0).meta.largest, 1);
  // Sums, products and rotations: schemes/second_operand_test.cpp.
  const auto product = evaluator.multiply(x, y);
  EXPECT_EQ(evaluator.rescale(product).meta.largest, 64);
  EXPECT_EQ(evaluator.power(x, 5).meta.largest, 32768);
  const auto changed = [&](const auto& operation) {
    Ciphertext copy = x.clone();
    operation(copy);
    return copy.meta.largest;
  };
  EXPECT_EQ(changed([&](auto& a) { evaluator.add_scalar_inplace(a, {3, 4}); }), 13);
  EXPECT_EQ(changed([&](auto& a) { evaluator.multiply_scalar_inplace(a, -3); }), 24);
  EXPECT_EQ(changed([&](auto& a) { evaluator.multiply_scalar_inplace(a, {30, -40}); }), 400);
  Ciphertext other = product.clone();
  other.meta.largest = 100;
  EXPECT_EQ(rlwe::stack({&product, &other}).meta.largest, 100);

  // Sums that stay over the extended base have the same bounds.
  const std::size_t level = x.meta.level;
  const auto gadget = session.context->gadget(level);
  const auto over = session.encoder->encode_over(gadget->mod_up(level).extended(), Values(4, 0.5), {}, level,
                                                 session.context->scales().level_scale(level), Stored::whole);
  EXPECT_EQ(over.meta.largest, 8);
  const auto extended = rlwe::extend(x, gadget);
  rlwe::ExtendedCiphertext sum = rlwe::multiply_plain(extended, over);
  EXPECT_EQ(sum.meta.largest, 64);
  rlwe::multiply_plain_add(sum, extended, over);
  EXPECT_EQ(sum.meta.largest, 128);
  rlwe::add_inplace(sum, rlwe::multiply_plain(extended, over));
  EXPECT_EQ(sum.meta.largest, 192);
  EXPECT_EQ(rlwe::mod_down_rescaled(sum).meta.largest, 192);

  const Session without(parameters_for(circuit(2)));
  const auto z = without.encrypt({1, 2, 3, 4});
  EXPECT_EQ(z.meta.largest, infinite);
  EXPECT_EQ(without.evaluator->square(z).meta.largest, infinite);
  Ciphertext zero = without.evaluator->multiply_scalar(z, 0);
  EXPECT_EQ(zero.meta.largest, 0);
}

TEST(CkksRange, EncodingRefusesValuesAboveTheBound) {
  const Session session(parameters_for(circuit(1, std::nullopt, 100)));
  EXPECT_NO_THROW(static_cast<void>(session.encrypt({100, -100, Complex(0, 100), Complex(60, -80)})));
  for (const Complex value :
       {Complex(100.001), Complex(-100.001), Complex(60, -80.01), Complex(90, 90), Complex(0, 1e300)}) {
    tests::expect_error<ParameterError>([&] { return session.encrypt({1, 2, value, 3}); }, {"bound 100;"});
  }
  tests::expect_error<ParameterError>([&] { return session.encoder->encode(Values(4, 2), {}, {}, {}, 1.0); },
                                      {"larger bound"});
  // Scalars are no values of the data: they have their own bound.
  Ciphertext x = session.encrypt({1, 2, 3, 4});
  session.evaluator->multiply_scalar_inplace(x, {0, 100});
  EXPECT_EQ(x.meta.largest, 10000);
}

// The largest number that fits is named, and fits; the next power of two above it does not.
TEST(CkksRange, NumbersTooLargeForTheModulusAreRefused) {
  const Session session(parameters_for(circuit(2)));
  const auto& evaluator = *session.evaluator;
  const Ciphertext top = session.encrypt({1, 2, 3, 4});
  const auto refuse = [&](const Ciphertext& from, std::size_t level, const auto& operation) {
    Ciphertext x = from.clone();
    tests::expect_error<ParameterError>(
        [&] { operation(x); }, {"does not fit level " + std::to_string(level) + ", whose largest is"});
    // It is as it was.
    EXPECT_EQ(x.meta.level, from.meta.level);
    EXPECT_EQ(x.meta.noise_scale_degree, from.meta.noise_scale_degree);
    EXPECT_EQ(x.meta.largest, from.meta.largest);
    EXPECT_LT(session.error(x, session.decrypt(from)), tolerance);
  };
  // 142 bits: a sum may have 1e30, a product not.
  Ciphertext sum = evaluator.add_scalar(top, 1e30);
  EXPECT_NEAR(session.decrypt(sum)[0].real() / 1e30, 1, 1e-9);
  for (const Complex& number : {Complex(1e40), Complex(-1e40), Complex(1e200)}) {
    refuse(top, 2, [&](Ciphertext& x) { evaluator.add_scalar_inplace(x, number); });
  }
  for (const Complex& number : {Complex(1e30), Complex(-1e30), Complex(0, 1e30), Complex(1e200)}) {
    refuse(top, 2, [&](Ciphertext& x) { evaluator.multiply_scalar_inplace(x, number); });
    refuse(top, 2, [&](Ciphertext& x) {
      evaluator.multiply_scalar_inplace(x, number, session.context->parameters().scale());
    });
  }
  // An integer costs no level, and has its own limit at the last one.
  Ciphertext last = evaluator.lower_to_level(top, 0);
  refuse(last, 0, [&](Ciphertext& x) { evaluator.multiply_scalar_inplace(x, 0x1p40); });
  refuse(last, 0, [&](Ciphertext& x) { evaluator.add_scalar_inplace(x, 1e30); });
  const double room = session.context->base(0).log2() - 1 - std::log2(last.meta.scale);
  const double most = std::exp2(std::floor(room));
  Ciphertext fits = evaluator.add_scalar(last, most / 4);
  EXPECT_NEAR(session.decrypt(fits)[0].real(), 1 + most / 4, 0.01);
  for (const double sign : {1.0, -1.0}) {
    fits = last.clone();
    EXPECT_NO_THROW(evaluator.add_scalar_inplace(fits, sign * most));
    refuse(last, 0, [&](Ciphertext& x) { evaluator.add_scalar_inplace(x, sign * 2 * most); });
    fits = last.clone();
    EXPECT_NO_THROW(evaluator.multiply_scalar_inplace(fits, sign * most));
    refuse(last, 0, [&](Ciphertext& x) { evaluator.multiply_scalar_inplace(x, sign * 2 * most); });
  }
  // A product that waits for its rescale is not rescaled before the refusal.
  const Ciphertext waiting = evaluator.square(top);
  ASSERT_EQ(waiting.meta.noise_scale_degree, 2);
  refuse(waiting, 1, [&](Ciphertext& x) { evaluator.multiply_scalar_inplace(x, 1.5e30); });
  // Larger multiples fit of values that are declared small: at the last level, too.
  const Session small(parameters_for(circuit(1, std::nullopt, 0x1p-20)));
  const Ciphertext tiny = small.encrypt(Values(4, 0x1p-21));
  for (const std::size_t level : {1, 0}) {
    Ciphertext x = small.evaluator->lower_to_level(tiny, level);
    small.evaluator->multiply_scalar_inplace(x, 0x1p19);
    EXPECT_NEAR(small.decrypt(x)[0].real(), 0.25, 0.01);
  }
}

// A factor below one would be rounded to nothing.
TEST(CkksRange, TargetScalesOfTooSmallAFactorAreRefused) {
  const Session session(parameters_for(circuit(2)));
  const Ciphertext x = session.encrypt({1, 2, 3, 4});
  const double one = x.meta.scale / session.context->scales().policy().scales[x.meta.level].divisor;
  for (const double factor : {0.75, 0x1p-10, 0.0, -1.0, std::nan("")}) {
    Ciphertext y = x.clone();
    tests::expect_error<ScaleError>([&] { session.evaluator->multiply_scalar_inplace(y, 0.5, factor * one); },
                                    {"larger scale"});
    EXPECT_EQ(y.meta.scale, x.meta.scale);
  }
  Ciphertext y = x.clone();
  EXPECT_NO_THROW(session.evaluator->multiply_scalar_inplace(y, 0.5, 1.01 * one));
}

// Primes of 42 and 50 bits for a scale of 2^40. To a base of other primes there is no way without noise.
TEST(CkksRange, ShrinkGoesToPartsOfTheBase) {
  rlwe::ParametersLiteral literal;
  literal.degree = 1024;
  literal.scale = 0x1p40;
  literal.range_bits = 1;
  literal.security.reset();
  const auto large = arith::primes_below(std::uint64_t{1} << 50, 2048, 4);
  const auto small = arith::primes_below(std::uint64_t{1} << 42, 2048, 1).front();
  literal.special_primes = {large[3]};
  const auto level_of = [&](double largest) {
    const Session session{rlwe::Parameters(literal)};
    Ciphertext x = session.encrypt(Values(4, 0x1p-30));
    x.meta.largest = largest;
    return session.evaluator->shrink(x).meta.level;
  };
  literal.levels = {{large[0]}, {large[1], large[2]}, {large[0], large[1], large[2]}};
  EXPECT_EQ(level_of(1), 0U);
  literal.levels = {{large[0]}, {large[1], large[2]}, {small, large[1], large[2]}};
  EXPECT_EQ(level_of(1), 1U);
  // Values below one need the room of one: their errors are no smaller.
  literal.levels = {{small}, {small, large[0]}, {small, large[0], large[1]}};
  EXPECT_EQ(level_of(1), 1U);
  EXPECT_EQ(level_of(0x1p-20), 1U);
}

TEST(CkksRange, ShrinkLeavesTwoBitsToSpare) {
  // A sum of 4096 values of 702 is right at the top and not at the last level.
  const Session session(parameters_for(circuit(2, std::nullopt, 1000)));
  Ciphertext sum = session.encrypt(Values(4, 702));
  for (int i = 0; i < 12; ++i) session.evaluator->add_inplace(sum, sum);
  const Values expected(4, 4096 * 702);
  EXPECT_EQ(sum.meta.largest, 4096000);
  const auto small = session.evaluator->shrink(sum);
  EXPECT_EQ(small.meta.level, 1U);
  EXPECT_LT(session.error(small, expected), 0.1);
  // Undeclared, the range decides; then decryption notices what wrapped.
  sum.meta.largest = infinite;
  const auto wrong = session.evaluator->shrink(sum);
  EXPECT_EQ(wrong.meta.level, 0U);
  EXPECT_THROW(static_cast<void>(session.decrypt(wrong)), NoiseError);
  // Within the bound the last level it is.
  EXPECT_EQ(session.evaluator->shrink(session.encrypt(Values(4, 1000))).meta.level, 0U);
  Ciphertext zero = session.encrypt(Values(4, 1000));
  session.evaluator->multiply_scalar_inplace(zero, 0);
  EXPECT_EQ(session.evaluator->shrink(zero).meta.level, 0U);
}

}  // namespace
}  // namespace hemera::ckks
