// CKKS beyond defaults: manual rescaling, chains that add primes, SEAL's generator, large rings, edge values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

rlwe::Parameters changed(const rlwe::Parameters& parameters, void (*change)(rlwe::ParametersLiteral&)) {
  rlwe::ParametersLiteral literal = parameters.literal();
  change(literal);
  return rlwe::Parameters(std::move(literal));
}

TEST(CkksManual, RescalesOnlyWhenAsked) {
  const Session session(
      changed(small_parameters(3), [](auto& l) { l.rescaling = rlwe::RescalingPolicy::manual(l.scheme); }));
  const Values a = random_values(512, 1);
  const auto x = session.encrypt(a);
  const Evaluator& ev = *session.evaluator;
  auto square = ev.square(x);
  EXPECT_EQ(square.meta.level, x.meta.level);
  EXPECT_DOUBLE_EQ(square.meta.scale, x.meta.scale * x.meta.scale);
  EXPECT_THROW(static_cast<void>(ev.add(square, x)), ScaleError);
  ev.rescale_inplace(square);
  EXPECT_EQ(square.meta.level, x.meta.level - 1);
  EXPECT_THROW(static_cast<void>(ev.add(square, x)), MismatchError);
  EXPECT_THROW(static_cast<void>(ev.multiply(square, x)), MismatchError);
  auto lower = x.clone();
  ev.drop_to_level_inplace(lower, square.meta.level);
  const auto cube = ev.multiply(square, lower);
  const Values expected = map2(a, a, [](auto u, auto) { return u * u * u; });
  EXPECT_LT(session.error(cube, expected), tolerance);
}

// Levels of about 40 bits out of 50-bit primes: going down drops two primes and adds one of 60 bits.
rlwe::Parameters rational_chain() {
  constexpr std::size_t degree = 1024;
  const auto wide = arith::primes_below(std::uint64_t{1} << 50, 2 * degree, 5);
  const auto narrow = arith::primes_below(std::uint64_t{1} << 30, 2 * degree, 2);
  rlwe::ParametersLiteral literal;
  literal.scheme = rlwe::Scheme::ckks;
  literal.degree = degree;
  literal.scale = 0x1p40;
  literal.special_primes = arith::primes_below(std::uint64_t{1} << 55, 2 * degree, 2);
  literal.levels = {
      {wide[0], narrow[0]},                                        // 80 bits
      {wide[0], narrow[0], narrow[1], wide[1]},                    // 160: drops two, 80 bits
      {wide[0], wide[1], wide[2], wide[3]},                        // 200: drops 100, adds 60
      {wide[0], wide[1], wide[2], narrow[0], narrow[1], wide[4]},  // 260: drops 110, adds 50
  };
  literal.security.reset();
  return rlwe::Parameters(std::move(literal));
}

TEST(CkksRationalRescaling, ProductsAndSumsAcrossLevelsThatAddPrimes) {
  auto parameters = rational_chain();
  const Session session(parameters, {.rotations = {1}});
  const rlwe::Context& context = *session.context;
  // One rescale from each level to the next keeps the values and divides the scale by the ratio of the bases.
  const Values a = random_values(512, 2);
  const Evaluator& ev = *session.evaluator;
  for (std::size_t level = context.top_level(); level > 0; --level) {
    const double scale = std::exp2(30) * context.chain().ratio(level);
    auto x = ckks::encrypt(session.encoder->encode(a, {}, level, scale), *session.keys.public_key);
    ev.rescale_inplace(x);
    EXPECT_EQ(x.meta.level, level - 1);
    EXPECT_DOUBLE_EQ(x.meta.scale, std::exp2(30));
    EXPECT_LT(session.error(x, a), 0x1p-14) << "level " << level;
    const auto rotated = ev.rotate(x, 1);
    EXPECT_LT(std::abs(session.decrypt(rotated)[0] - a[1]), 0x1p-14) << "level " << level;
  }
}

// Two 56-bit levels above a scale of 2^40: the recursion from the top would give 2^24, then 2^-8.
TEST(CkksScales, LevelsOfOtherSizesThanTheScaleKeepTheirPrecision) {
  const Session session(parameters_from_bits({.degree = 1024,
                                              .prime_bits = {50, 40, 40, 56, 56},
                                              .special_bits = {58},
                                              .scale = 0x1p40,
                                              .security = std::nullopt}));
  const rlwe::ScalePolicy& scales = session.context->scales();
  EXPECT_NEAR(std::log2(scales.level_scale(0)), 40, 0.1);
  EXPECT_NEAR(std::log2(scales.level_scale(3)), 48, 0.1);
  EXPECT_NEAR(std::log2(scales.level_scale(4)), 52, 0.1);
  const Values a = random_values(512, 31);
  const Evaluator& ev = *session.evaluator;
  const auto x = session.encrypt(a);
  auto power = ev.square(ev.square(x));
  power = ev.add(power, x);  // aligned over two levels of other scales
  power = ev.multiply(power, x);
  const Values expected = map2(a, a, [](auto u, auto) { return (u * u * u * u + u) * u; });
  EXPECT_LT(session.error(power, expected), tolerance);
}

TEST(CkksScales, ChainsFromDropsUseFullPrimesAndKeepTheScale) {
  // Levels of a circuit above and below the user's.
  using rlwe::LevelPurpose;
  const auto parameters = parameters_from_drops(
      {.degree = 1024,
       .last_bits = 62,
       .drops = {34, 40, 40, 40, 40, 55},
       .purposes = {LevelPurpose::slots_to_coefficients, LevelPurpose::user, LevelPurpose::user,
                    LevelPurpose::user, LevelPurpose::user, LevelPurpose::user, LevelPurpose::eval_mod},
       .scale = 0x1p40,
       .security = std::nullopt});
  EXPECT_EQ(parameters.literal().levels[4].size(), 5U);  // 216 bits
  const Session session(parameters);
  const Values a = random_values(512, 32);
  auto x = session.encrypt(a);
  EXPECT_EQ(x.meta.level, 5U);
  Values expected = a;
  for (int i = 0; i < 4; ++i) {
    x = session.evaluator->square(x);
    expected = map2(expected, expected, std::multiplies<>());
  }
  EXPECT_EQ(x.meta.level, 2U);
  EXPECT_LT(session.error(x, expected), tolerance * 16);
  EXPECT_NEAR(std::log2(x.meta.scale), 80, 0.1);
  // The circuit's level below is not entered by itself: products wait there for whoever owns it.
  const auto shrunk = session.evaluator->shrink(x);
  EXPECT_EQ(shrunk.meta.level, 1U);
}

// What the request says of values is in the parameters: without it another key is not noticed.
TEST(CkksScales, ChainsFromDropsHaveTheRangeThatIsAskedFor) {
  for (const int bits : {1, 12, 25}) {
    const auto parameters = parameters_from_drops({.degree = 1024,
                                                   .last_bits = 60,
                                                   .drops = {40, 40},
                                                   .scale = 0x1p30,
                                                   .range_bits = bits,
                                                   .security = std::nullopt});
    EXPECT_EQ(parameters.literal().range_bits, bits);
  }
}

// Levels that are no parts of each other: one division for all of them, with its one rounding.
TEST(CkksScales, ManyLevelsDownRoundOnce) {
  const auto parameters = parameters_from_drops({.degree = 1024,
                                                 .last_bits = 45,
                                                 .drops = {41, 40, 39, 40, 41, 40, 39},
                                                 .scale = 0x1p40,
                                                 .security = std::nullopt});
  const Session session(parameters);
  const auto x = session.encrypt(random_values(512, 34));
  const Values before = session.decrypt(x);
  const auto measured = [&](const rlwe::Ciphertext& low) {
    const Values after = session.decrypt(low);
    double sum = 0;
    for (std::size_t i = 0; i < after.size(); ++i) sum += std::norm(after[i] - before[i]);
    return std::sqrt(sum / static_cast<double>(after.size())) * low.meta.scale;
  };
  const double rounding = std::sqrt(1024 * (1 + 2 * 1024.0 / 3) / 12);
  const auto& scales = session.context->scales();
  for (const std::size_t level : {4U, 0U}) {
    const auto way = scales.adjusted(x.meta, level);
    ASSERT_EQ(way.steps.size(), 1U) << level;
    const auto low = session.evaluator->lower_to_level(x, level);
    EXPECT_NEAR(low.meta.scale / scales.level_scale(level), 1, 0x1p-50);
    EXPECT_NEAR(measured(low) / rounding, 1, 0.3) << level;
    auto dropped = x.clone();
    session.evaluator->drop_to_level_inplace(dropped, level);
    EXPECT_NEAR(dropped.meta.scale / x.meta.scale, 1, 0x1p-50);
    EXPECT_NEAR(measured(dropped) / rounding, 1, 0.3) << level;
    session.evaluator->adjust_to_level_inplace(dropped = x.clone(), level, 0x1.8p37);
    EXPECT_NEAR(measured(dropped) / rounding, 1, 0.3) << level;
  }
  rlwe::Metadata large = x.meta;
  large.scale *= 0x1p70;
  EXPECT_THROW(static_cast<void>(scales.adjusted(large, 0, 0x1p10)), ScaleError);
}

TEST(CkksScales, ANumberMayHaveTheScaleThatTheProductNeeds) {
  const Session session(small_parameters(3));
  const Values a = random_values(512, 33);
  for (const Complex factor : {Complex(0.3, 0), Complex(-0.2, 0.7)}) {
    auto x = session.encrypt(a);
    session.evaluator->multiply_scalar_inplace(x, factor, 0x1.234p39);
    session.evaluator->rescale_inplace(x);
    EXPECT_NEAR(x.meta.scale / 0x1.234p39, 1, 0x1p-50);
    const Values expected = map2(a, a, [&](auto u, auto) { return u * factor; });
    EXPECT_LT(session.error(x, expected), tolerance);
  }
  auto last = session.encrypt(a);
  session.evaluator->adjust_to_level_inplace(last, 0, 0x1.8p38);
  EXPECT_NEAR(last.meta.scale / 0x1.8p38, 1, 0x1p-30);
  EXPECT_LT(session.error(last, a), tolerance);
  EXPECT_THROW(session.evaluator->multiply_scalar_inplace(last, 0.5, 0x1p40), LevelError);
}

TEST(CkksGenerator, SlotsOfSealsGeneratorRotateAndConjugate) {
  const Session session(changed(small_parameters(2), [](auto& l) { l.galois_generator = 3; }),
                        {.rotations = {1, 2, 4, 8, 16, 32, 64, 128, 256}, .conjugation = true});
  for (const std::size_t slots : {512U, 8U}) {
    const Values a = random_values(slots, 4);
    const auto x = session.encrypt(a);
    EXPECT_LT(session.error(x, a), tolerance);
    Values rotated(slots);
    for (std::size_t i = 0; i < slots; ++i) rotated[i] = a[(i + 5) % slots];
    EXPECT_LT(session.error(session.evaluator->rotate(x, 5), rotated), tolerance);
    Values conjugated = a;
    for (Complex& value : conjugated) value = std::conj(value);
    EXPECT_LT(session.error(session.evaluator->conjugate(x), conjugated), tolerance);
    auto scaled = session.evaluator->multiply_scalar(x, Complex(0.5, 2));
    const Values expected = map2(a, a, [](auto u, auto) { return u * Complex(0.5, 2); });
    EXPECT_LT(session.error(scaled, expected), tolerance);
  }
}

// Values in the context's memory give the same plaintexts and values as those of the host, bit for bit.
TEST(CkksGenerator, ValuesInTheContextsMemory) {
  for (const std::uint64_t generator : {5, 3}) {
    auto literal = small_parameters(1).literal();
    literal.galois_generator = generator;
    const Session session{rlwe::Parameters(literal)};
    const rlwe::Context& context = *session.context;
    for (const std::size_t slots : {512U, 4U}) {
      const Values a = random_values(3 * slots, 5);
      runtime::Buffer buffer(context.memory(), a.size() * sizeof(Complex));
      const poly::SlotView view{reinterpret_cast<Complex*>(buffer.data()), 3, slots};
      const auto on_host = [&] {
        Values values(a.size());
        context.backend().download_values(context.queue(), std::as_writable_bytes(std::span(values)),
                                          view.bytes());
        context.queue().synchronize();
        return values;
      };
      context.backend().upload_values(context.queue(), view.bytes(), std::as_bytes(std::span(a)));
      const rlwe::Plaintext plain = session.encoder->encode(view, {3}, 0, 0x1p30);
      EXPECT_EQ(on_host(), a);
      const rlwe::Plaintext same = session.encoder->encode(a, {3}, 0, 0x1p30);
      EXPECT_EQ(plain.meta.scale, same.meta.scale);
      EXPECT_EQ(plain.meta.level, same.meta.level);
      EXPECT_EQ(session.encoder->decode(plain), session.encoder->decode(same));
      session.encoder->decode_to(view, plain);
      EXPECT_EQ(on_host(), session.encoder->decode(same));
      EXPECT_LT(largest_difference(on_host(), a), tolerance);
      EXPECT_THROW(session.encoder->decode_to({view.data, 1, slots}, plain), MismatchError);
      EXPECT_THROW(static_cast<void>(session.encoder->encode(view, {2})), ParameterError);
    }
  }
}

// In either part of any value of any row, by every way to encode; and shapes and levels that there are not.
TEST(CkksEdges, EncodingRefusesWhatDoesNotFit) {
  const Session session(small_parameters(1));
  const Encoder& encoder = *session.encoder;
  EXPECT_THROW(static_cast<void>(encoder.encode(Values(3), {})), ParameterError);
  EXPECT_THROW(static_cast<void>(encoder.encode(Values(1024), {})), ParameterError);
  EXPECT_THROW(static_cast<void>(encoder.encode(Values(8), {3})), ParameterError);
  EXPECT_THROW(static_cast<void>(encoder.encode(Values(4), {}, 99)), LevelError);
  const std::size_t level = session.context->top_level();
  const poly::RnsBase& base = session.context->base(level);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinite, -infinite, 1e30, -1e300}) {
    for (const Complex value :
         {Complex(bad, 0), Complex(0, bad), Complex(bad, bad), Complex(1, bad), Complex(bad, 1)}) {
      for (const std::size_t at : {0U, 5U, 7U}) {
        SCOPED_TRACE(std::to_string(value.real()) + " " + std::to_string(value.imag()) + " " +
                     std::to_string(at));
        Values values(8, Complex(0.5, -0.5));
        values[at] = value;
        EXPECT_THROW(static_cast<void>(encoder.encode(values, {})), ParameterError);
        EXPECT_THROW(static_cast<void>(encoder.encode(values, {2})), ParameterError);
        EXPECT_THROW(static_cast<void>(encoder.encode(values, {2}, 0)), ParameterError);
        EXPECT_THROW(static_cast<void>(encoder.encode(values, {}, level, 0x1p40)), ParameterError);
        EXPECT_THROW(static_cast<void>(encoder.encode(values, {}, {}, {}, 1.0)), ParameterError);
        EXPECT_THROW(static_cast<void>(encoder.encode_over(base, values, {}, level, 0x1p40, Stored::whole)),
                     ParameterError);
        EXPECT_THROW(
            static_cast<void>(encoder.encode_over(base, values, {2}, level, 0x1p40, Stored::one_period)),
            ParameterError);
      }
      EXPECT_THROW(static_cast<void>(encoder.encode_number(value, level, 0x1p40)), ParameterError);
    }
  }
}

TEST(CkksPrecision, PrimesAboveTwoToTheFifty) {
  const Session session(small_parameters(2, 0, 58));
  const Values a = random_values(512, 7);
  const auto square = session.evaluator->square(session.encrypt(a));
  EXPECT_LT(session.error(square, map2(a, a, std::multiplies<>())), 0x1p-38);
}

}  // namespace
}  // namespace hemera::ckks
