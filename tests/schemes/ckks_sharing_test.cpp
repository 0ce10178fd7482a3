// Decryptions for others: how wide the flooding is, that repeats tell nothing new, and parameters for it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

rlwe::Parameters sharing_parameters(std::size_t depth, int bits = 40, std::size_t shares = 1) {
  return parameters_for({.depth = depth,
                         .slots = 512,
                         .sharing_bits = bits,
                         .shares = shares,
                         .degree = 1024,
                         .security = std::nullopt});
}

Values shared(const Session& session, const Ciphertext& x, double bound, int bits, std::size_t shares = 1) {
  return session.encoder->decode(ckks::decrypt_for_sharing(x, session.secret, bound, bits, shares));
}

// Rounding of values up to 1, in encoding and decoding: no noise.
constexpr double rounding_of_doubles = 0x1p-47;

double root_mean_square(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::norm(a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST(CkksSharing, ChainsDropSeveralPrimesForALargeScale) {
  for (const int scale_bits : {60, 61, 99, 100, 120}) {
    const auto parameters = parameters_for(
        {.depth = 3, .scale_bits = scale_bits, .slots = 512, .degree = 1024, .security = std::nullopt});
    const auto& levels = parameters.literal().levels;
    EXPECT_EQ(levels.size(), 4U);
    const std::size_t dropped = scale_bits == 60 ? 1 : scale_bits <= 99 ? 2 : 3;
    for (std::size_t level = 1; level < levels.size(); ++level) {
      EXPECT_EQ(levels[level].size() - levels[level - 1].size(), dropped) << scale_bits;
    }
    if (scale_bits > 60) {
      for (const std::uint64_t prime : levels.back()) EXPECT_LT(prime, std::uint64_t{1} << 50) << scale_bits;
    }
    const Session session(parameters);
    for (std::size_t level = 0; level <= session.context->top_level(); ++level) {
      EXPECT_NEAR(std::log2(session.context->scales().level_scale(level)), scale_bits, 0.01);
    }
    const Values a = random_values(512, 1);
    const auto x = session.encrypt(a);
    const auto power = session.evaluator->power(x, 8);
    const auto sum = session.evaluator->add(session.evaluator->square(x), x);
    Ciphertext shifted = session.evaluator->shrink(power);
    session.evaluator->add_scalar_inplace(shifted, {0.5, -0.25});
    const double precise = 0x1p-40;
    EXPECT_LT(
        session.error(shifted, map2(a, a, [](auto u, auto) { return std::pow(u, 8) + Complex(0.5, -0.25); })),
        64 * precise)
        << scale_bits;
    EXPECT_LT(session.error(sum, map2(a, a, [](auto u, auto) { return u * u + u; })), precise) << scale_bits;
  }
  EXPECT_THROW(static_cast<void>(parameters_for({.scale_bits = 121})), ParameterError);
  EXPECT_THROW(static_cast<void>(sharing_parameters(1, 65)), ParameterError);
  EXPECT_THROW(static_cast<void>(sharing_parameters(1, -1)), ParameterError);
  EXPECT_THROW(static_cast<void>(sharing_parameters(1, 40, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(parameters_for({.scale_bits = 100, .sharing_bits = 64})), ParameterError);
}

TEST(CkksSharing, TheScaleGrowsByWhatFloodingTakes) {
  // 20 for the bits, log2(12 * 1024) / 2 = 6.8 for slots and shares.
  EXPECT_EQ(sharing_parameters(1).scale(), std::exp2(67));
  EXPECT_EQ(sharing_parameters(1, 40, 16).scale(), std::exp2(69));
  EXPECT_EQ(sharing_parameters(1, 64).scale(), std::exp2(79));
}

// The scale that an error names is that of the largest degree: with 12 shares N under the root.
TEST(CkksSharing, ErrorsNameTheScaleOfTheLargestDegree) {
  for (const std::size_t shares : {1U, 2U, 3U, 4U, 6U, 8U}) {
    for (const int bits : {0, 1, 40}) {
      const double samples = 12.0 * static_cast<double>(shares) * 0x1p17;
      const int scale = bits == 0 ? 40 : 40 + static_cast<int>(std::ceil((bits + std::log2(samples)) / 2));
      tests::expect_error<ParameterError>(
          [&] {
            return parameters_for({.depth = 200, .slots = 512, .sharing_bits = bits, .shares = shares});
          },
          {"depth 200 at a scale of " + std::to_string(scale) + " bits"});
    }
  }
}

// The scale of a product that waits for its rescale is the square of its level's, which lies about 2^120.
TEST(CkksSharing, ProductsOfTheLargestScaleTakeAllTerms) {
  const Session session(parameters_for(
      {.depth = 4, .scale_bits = 120, .slots = 512, .degree = 1024, .security = std::nullopt}));
  const Evaluator& e = *session.evaluator;
  const Values a = random_values(512, 8);
  bool is_above = false;
  for (std::size_t level = session.context->top_level(); level > 0; --level) {
    Ciphertext x = session.encrypt(a);
    e.adjust_to_level_inplace(x, level);
    Ciphertext sum = e.square(x);
    ASSERT_EQ(sum.meta.noise_scale_degree, 2);
    is_above = is_above || sum.meta.scale > 0x1p240;
    e.add_scalar_inplace(sum, {0.5, -0.25});
    e.add_plain_inplace(sum, session.encoder->encode(a, {}, level, sum.meta.scale));
    e.subtract_plain_inplace(sum, session.encoder->encode_number(0.125, level, sum.meta.scale));
    const Values expected = map2(a, a, [](auto u, auto) { return u * u + u + Complex(0.375, -0.25); });
    EXPECT_LT(session.error(sum, expected), 0x1p-40) << level;
  }
  EXPECT_TRUE(is_above);
  for (const double scale : {0.0, -1.0, 0x1p245, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(static_cast<void>(session.encoder->encode(a, {}, 4, scale)), ParameterError) << scale;
  }
}

TEST(CkksSharing, ResultsOfACircuitCanBeShown) {
  const Session session(parameters_for({.depth = 2, .slots = 4096, .sharing_bits = 40}));
  EXPECT_GE(session.context->parameters().security(), rlwe::Security::at_least_128);
  const Values a = random_values(4096, 2, 0.7), b = random_values(4096, 3, 0.7);
  const auto x = session.encrypt(a), y = session.encrypt(b);
  const Evaluator& evaluator = *session.evaluator;
  const auto result = evaluator.shrink(evaluator.square(evaluator.multiply(x, y)));
  const Values expected = map2(a, b, [](auto u, auto v) { return u * u * v * v; });
  const double bound = noise_bound(*session.context, 2, 1);
  EXPECT_LT(root_mean_square(session.decrypt(result), expected), bound + rounding_of_doubles);
  const Values shown = shared(session, result, bound, 40);
  EXPECT_LT(largest_difference(shown, expected), 0x1p-12);
  EXPECT_GT(root_mean_square(shown, expected), 0x1p-30);
  EXPECT_NEAR(root_mean_square(shown, expected) / sharing_deviation(result, bound, 40), 1, 0.1);
  // A product that waits for its rescale, at the square of the scale.
  const auto product = evaluator.multiply(x, y);
  EXPECT_LT(largest_difference(shared(session, product, bound, 40), map2(a, b, std::multiplies<>())),
            0x1p-12);
}

TEST(CkksSharing, TheDeviationIsTheOnePromised) {
  const Session session(sharing_parameters(2));
  const double bound = 0x1p-45, scale = session.context->parameters().scale();
  for (const std::size_t slots : {1, 512}) {
    const std::size_t batch = 1024 / slots;
    const Values a = random_values(1024, slots);
    const auto x = session.encrypt(a, {batch});
    const Values exact = session.decrypt(x);
    // A slot is a sum of 2 n coefficients, with deviation sqrt(12) 2^(bits / 2) |error|, over the scale.
    const double norm = bound * scale + std::sqrt(1024.0) / 2;
    for (const int bits : {10, 40}) {
      const double expected = std::sqrt(2.0 * static_cast<double>(slots)) * std::sqrt(12.0) *
                              std::exp2(bits / 2.0) * norm / scale;
      const double one = root_mean_square(shared(session, x, bound, bits), exact);
      EXPECT_NEAR(one / expected, 1, 0.1) << slots << " " << bits;
      EXPECT_NEAR(sharing_deviation(x, bound, bits) / expected, 1, 1e-12);
      const double four = root_mean_square(shared(session, x, bound, bits, 4), exact);
      EXPECT_NEAR(four / expected, 2, 0.2) << slots << " " << bits;
    }
  }
}

TEST(CkksSharing, RepeatsTellNothingNew) {
  const auto parameters = sharing_parameters(2);
  const Session session(parameters);
  const Values a = random_values(3 * 512, 4);
  const double bound = 0x1p-45;
  const auto x = session.encrypt(a, {3});
  const Values first = shared(session, x, bound, 40);
  EXPECT_EQ(first, shared(session, x, bound, 40));
  Ciphertext copy = x.clone();
  copy.seed.reset();
  copy.meta.largest = 3;  // a declaration, which files do not keep
  EXPECT_EQ(first, shared(session, copy, bound, 40));
  // Each element for itself.
  for (std::size_t i = 0; i < 3; ++i) {
    const auto begin = first.begin() + static_cast<std::ptrdiff_t>(512 * i);
    EXPECT_EQ(shared(session, rlwe::take(x, i), bound, 40), Values(begin, begin + 512));
  }
  const auto twice = rlwe::stack({&x, &x});
  const Values repeated = shared(session, twice, bound, 40);
  EXPECT_EQ(Values(repeated.begin(), repeated.begin() + 3 * 512), first);
  EXPECT_EQ(Values(repeated.begin() + 3 * 512, repeated.end()), first);

  // The elements of one batch are flooded independently, equal as they may be.
  const auto equal = session.encrypt(Values(3 * 512, 0.5), {3});
  const Values of_equal = shared(session, equal, bound, 40);
  EXPECT_NE(Values(of_equal.begin(), of_equal.begin() + 512),
            Values(of_equal.begin() + 512, of_equal.begin() + 1024));

  // Another key, and a ciphertext that all keys open alike.
  const rlwe::SecretKey other = rlwe::generate_secret_key(session.context);
  Ciphertext open = x.clone();
  session.context->backend().copy(session.context->queue(), open.poly.view().components(0, 1),
                                  session.encoder->encode(a, {3}).poly.view());
  session.context->backend().fill_zero(session.context->queue(), open.poly.view().components(1, 1));
  const Values by_one = shared(session, open, bound, 40);
  EXPECT_EQ(by_one, shared(session, open, bound, 40));
  const Values by_other = session.encoder->decode(ckks::decrypt_for_sharing(open, other, bound, 40));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NE(by_one[i], by_other[i]);
}

TEST(CkksSharing, RefusedOnlyWhereNoPrecisionIsLeft) {
  const Session session(small_parameters(2));
  const auto x = session.encrypt(random_values(512, 5));
  const double bound = noise_bound(*session.context, 0, 1);
  tests::expect_error<NoiseError>([&] { return ckks::decrypt_for_sharing(x, session.secret, bound, 40); },
                                  {"sharing_bits"});
  // Six deviations below one half will do.
  double most = bound;
  while (6 * sharing_deviation(x, most, 10) < 0.5) most *= 1.01;
  EXPECT_THROW(static_cast<void>(ckks::decrypt_for_sharing(x, session.secret, most, 10)), NoiseError);
  EXPECT_NO_THROW(static_cast<void>(ckks::decrypt_for_sharing(x, session.secret, most / 1.02, 10)));
  for (const double wrong : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(static_cast<void>(ckks::decrypt_for_sharing(x, session.secret, wrong, 10)), ParameterError);
  }
  for (const int bits : {0, 65}) {
    EXPECT_THROW(static_cast<void>(ckks::decrypt_for_sharing(x, session.secret, bound, bits)),
                 ParameterError);
  }
  EXPECT_THROW(static_cast<void>(ckks::decrypt_for_sharing(x, session.secret, bound, 10, 0)), ParameterError);
}

TEST(CkksSharing, NoiseBoundsHold) {
  for (const auto& parameters : {small_parameters(3), sharing_parameters(3)}) {
    const Session session(parameters, {.rotations = {1, 2, 4, 8, 16, 32, 64, 128, 256}});
    const Evaluator& evaluator = *session.evaluator;
    const rlwe::Context& context = *session.context;
    const Values a = random_values(512, 6, 0.7);
    const auto x = session.encrypt(a);
    const auto error = [&](const Ciphertext& result, const Values& expected) {
      return root_mean_square(session.decrypt(result), expected) - rounding_of_doubles;
    };
    EXPECT_LT(error(x, a), noise_bound(context, 0, 1));
    EXPECT_TRUE(context.parameters().scale() > 0x1p50 || 64 * error(x, a) > noise_bound(context, 0, 1));
    Ciphertext y = x.clone();
    Values b = a;
    for (std::size_t depth = 1; depth <= 3; ++depth) {
      y = evaluator.multiply(y, x);
      b = map2(a, b, std::multiplies<>());
      EXPECT_LT(error(y, b), noise_bound(context, depth, 1)) << depth;
    }
    Complex total = 0;
    for (const Complex& value : a) total += value * value;
    EXPECT_LT(error(evaluator.sum_slots(evaluator.square(x)), Values(512, total)),
              noise_bound(context, 1, 1, 512));
    EXPECT_LT(noise_bound(context, 1, 1), noise_bound(context, 1, 2));
    EXPECT_LT(noise_bound(context, 1, 1), noise_bound(context, 1, 1, 2));
    EXPECT_THROW(static_cast<void>(noise_bound(context, 1)), ParameterError);
    EXPECT_THROW(static_cast<void>(noise_bound(context, 1, -1)), ParameterError);
    EXPECT_THROW(static_cast<void>(noise_bound(context, 1, 1, 0)), ParameterError);
    EXPECT_THROW(static_cast<void>(noise_bound(context, 4, 1)), LevelError);
  }
  const Session declared(
      parameters_for({.depth = 1, .slots = 512, .largest = 2, .degree = 1024, .security = std::nullopt}));
  EXPECT_EQ(noise_bound(*declared.context, 1), noise_bound(*declared.context, 1, 2));
}

// Levels above and below the user's belong to circuits: their depth is none of the user's.
TEST(CkksSharing, NoiseBoundsAreOfDepthsThatTheUserHas) {
  using rlwe::LevelPurpose;
  DropRequest request{.degree = 1024,
                      .last_bits = 62,
                      .drops = {34, 40, 40, 55},
                      .purposes = {LevelPurpose::slots_to_coefficients, LevelPurpose::user,
                                   LevelPurpose::user, LevelPurpose::user, LevelPurpose::eval_mod},
                      .scale = 0x1p40,
                      .security = std::nullopt};
  const auto expect_most = [](const rlwe::Parameters& parameters, std::size_t depth) {
    const auto context = rlwe::Context::make(parameters);
    EXPECT_NO_THROW(static_cast<void>(noise_bound(*context, depth, 1)));
    for (const std::size_t more : {depth + 1, depth + 2, ~std::size_t{0}}) {
      EXPECT_THROW(static_cast<void>(noise_bound(*context, more, 1)), LevelError) << more;
    }
  };
  expect_most(parameters_from_drops(request), 2);
  request.purposes.clear();
  expect_most(parameters_from_drops(request), 4);
  expect_most(small_parameters(0), 0);
}

}  // namespace
}  // namespace hemera::ckks
