// Matrices times encrypted vectors, beside the product in the clear.
#include "hemera/circuits/linear/linear_transform.hpp"

#include <gtest/gtest.h>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using ckks::Complex;
using ckks::Values;

constexpr std::size_t slots = 32;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

struct Session : MatrixSession<LinearTransform, PreparedLinearTransform> {
  explicit Session(const LinearTransform& plan) : MatrixSession(parameters(), plan, true) {}
};

struct Case {
  const char* name;
  std::size_t rows, columns;
  LinearTransformOptions options;
};

class LinearTransformTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Cases, LinearTransformTest,
                         testing::Values(Case{"Square", 32, 32, {}}, Case{"Wide", 5, 32, {}},
                                         Case{"Tall", 32, 3, {}}, Case{"OneEntry", 1, 1, {}},
                                         Case{"BabyStepsAlone", 32, 32, {.baby_steps = 32}},
                                         Case{"GiantStepsAlone", 32, 32, {.baby_steps = 1}},
                                         Case{"FewestKeys", 32, 32, {.fewest_keys = true}},
                                         Case{"LowLevel", 32, 32, {.level = 1, .baby_steps = 8}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(LinearTransformTest, IsTheProductOfTheMatrix) {
  const auto& [name, rows, columns, options] = GetParam();
  const Values matrix = ckks::random_values(rows * columns, 71);
  const LinearTransform plan(parameters(), diagonals_of(matrix, rows, columns, slots), slots, options);
  const Session session(plan);
  const Values x = ckks::random_values(2 * slots, 72);
  const rlwe::Ciphertext y = session.prepared(session.evaluator, session.client.encrypt(x, {2}));
  EXPECT_EQ(y.meta.level, plan.level() - 1);
  EXPECT_EQ(y.meta.noise_scale_degree, 1);
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.cost().result_scale));
  const Values found = session.client.decrypt(y);
  double squares = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    const Values one(x.begin() + static_cast<std::ptrdiff_t>(b * slots),
                     x.begin() + static_cast<std::ptrdiff_t>((b + 1) * slots));
    Values expected = product(matrix, one, rows, columns);
    expected.resize(slots);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(one), expected), 1e-12);
    const Values part(found.begin() + static_cast<std::ptrdiff_t>(b * slots),
                      found.begin() + static_cast<std::ptrdiff_t>((b + 1) * slots));
    EXPECT_LT(ckks::largest_difference(part, expected), ckks::tolerance) << b;
    for (std::size_t k = 0; k < slots; ++k) squares += std::norm(part[k] - expected[k]) / (2 * slots);
  }
  // 64 slots; where the vector was brought to a lower level, its error is half a bit larger.
  const ExpectedError modelled = plan.expected_error();
  EXPECT_LT(std::abs(std::log2(std::sqrt(squares) / modelled.mean)), 1)
      << std::sqrt(squares) << " " << modelled.mean;
  EXPECT_GE(modelled.worst, modelled.mean);
}

// Diagonals that lie a stride apart, as those of a transform's stages.
TEST(LinearTransform, StridesShortenTheSteps) {
  Diagonals diagonals;
  for (const std::size_t number : {std::size_t{0}, std::size_t{8}, std::size_t{24}}) {
    diagonals[number] = ckks::random_values(slots, number + 1);
  }
  const LinearTransform plan(parameters(), diagonals, slots, {.fewest_keys = true});
  EXPECT_LE(plan.rotations().size(), 2U);
  for (const std::size_t rotation : plan.rotations()) EXPECT_EQ(rotation % 8, 0U);
  const Session session(plan);
  const Values x = ckks::random_values(slots, 73);
  EXPECT_LT(ckks::largest_difference(
                session.client.decrypt(session.prepared(session.evaluator, session.client.encrypt(x))),
                plan.evaluate_clear(x)),
            ckks::tolerance);
}

// Keys of somebody else's choice, and a result that is not rescaled.
TEST(LinearTransform, TakesGivenStepsAndMayWaitForItsRescale) {
  Diagonals diagonals;
  for (const std::size_t number : {0, 1, 2, 30, 31})
    diagonals[number] = ckks::random_values(slots, number + 1);
  const LinearTransformOptions options{.rescaled = false, .steps = RotationSteps{{30, 31, 0}, {0, 3, 6}}};
  const LinearTransform plan(parameters(), diagonals, slots, options);
  EXPECT_EQ(plan.rotations(), (std::vector<std::size_t>{3, 30, 31}));
  EXPECT_EQ(plan.cost().mod_ups, 2U);
  EXPECT_EQ(plan.cost().divisions, 2U);
  EXPECT_EQ(plan.cost().depth(), 0U);
  const Session session(plan);
  const Values x = ckks::random_values(slots, 80);
  const rlwe::Ciphertext y = session.prepared(session.evaluator, session.client.encrypt(x));
  EXPECT_EQ(y.meta.level, plan.level());
  EXPECT_EQ(y.meta.noise_scale_degree, 2);
  const double product_scale = parameters().rescaling().scales[plan.level()].product_scale;
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, product_scale));
  const Values expected = plan.evaluate_clear(x);
  EXPECT_LT(ckks::largest_difference(session.client.decrypt(y), expected), ckks::tolerance);
  EXPECT_LT(ckks::largest_difference(session.client.decrypt(session.evaluator.rescale(y)), expected),
            ckks::tolerance);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.steps = RotationSteps{{30, 31, 0}, {0}}}),
               ParameterError);
}

// Products wait for their rescale, and are three components long.
TEST(LinearTransform, TakesWhatOtherOperationsLeave) {
  const Values matrix = ckks::random_values(slots * slots, 74);
  const LinearTransform plan(parameters(), diagonals_of(matrix, slots, slots, slots), slots, {.level = 2});
  const Session session(plan);
  const Values x = ckks::random_values(slots, 75);
  const ckks::Evaluator lazy(session.client.context, session.evaluator.keys(), rlwe::Relinearization::lazy);
  const rlwe::Ciphertext square = lazy.square(session.client.encrypt(x));
  ASSERT_EQ(square.size(), 3U);
  const Values squares = ckks::map2(x, x, [](Complex a, Complex b) { return a * b; });
  EXPECT_LT(ckks::largest_difference(session.client.decrypt(session.prepared(lazy, square)),
                                     plan.evaluate_clear(squares)),
            ckks::tolerance);
}

TEST(LinearTransform, TellsWhatItNeedsAndCosts) {
  const Values matrix = ckks::random_values(slots * slots, 76);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  const LinearTransform plan(parameters(), diagonals, slots, {.baby_steps = 8});
  EXPECT_EQ(plan.rotations(), (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 16, 24}));
  EXPECT_EQ(plan.cost().key_products, 10U);
  EXPECT_EQ(plan.cost().mod_ups, 4U);
  EXPECT_EQ(plan.cost().divisions, 4U);
  EXPECT_EQ(plan.cost().plain_products, 32U);
  EXPECT_EQ(plan.cost().depth(), 1U);
  EXPECT_GT(plan.cost().workspace_bytes, 10U * 1024 * 8);
  const Session session(plan);
  EXPECT_EQ(generate_keys(session.client.secret, plan.needed_keys()).memory_bytes(), plan.cost().key_bytes);
  const LinearTransform few(parameters(), diagonals, slots, {.baby_steps = 8, .fewest_keys = true});
  EXPECT_EQ(few.rotations(), (std::vector<std::size_t>{1, 8}));
  EXPECT_EQ(few.cost().key_products, 10U);
  EXPECT_EQ(few.cost().mod_ups, 10U);
  EXPECT_EQ(few.cost().divisions, 11U);
}

TEST(LinearTransform, HasComplexResultsOfComplexEntries) {
  for (const std::size_t place : {std::size_t{0}, slots / 3, slots - 1}) {
    for (const std::size_t diagonal : {0, 5}) {
      for (const bool fewest_keys : {false, true}) {
        Diagonals diagonals{{0, Values(slots, 1)}, {5, Values(slots, 0.5)}};
        const auto types = [&](bool input) {
          const Session session(
              LinearTransform(parameters(), diagonals, slots, {.fewest_keys = fewest_keys}));
          rlwe::Ciphertext x = session.client.encrypt(Values(slots, 0.5));
          x.meta.is_complex = input;
          return session.prepared(session.evaluator, x).meta.is_complex;
        };
        EXPECT_FALSE(types(false));
        EXPECT_TRUE(types(true));
        diagonals[diagonal][place] = {1, 0.25};
        EXPECT_TRUE(types(false));
      }
    }
  }
}

TEST(LinearTransform, RefusesWhatDoesNotFit) {
  const Values matrix = ckks::random_values(slots * slots, 77);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  EXPECT_THROW(static_cast<void>(diagonals_of(matrix, slots, slots, slots / 2)), ParameterError);
  EXPECT_THROW(static_cast<void>(diagonals_of(matrix, slots, slots - 1, slots)), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots + 1), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, 2 * slots), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), {}, slots), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), {{0, Values(slots, 0)}}, slots), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), {{0, Values(slots, NAN)}}, slots), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.baby_steps = 3}), ParameterError);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.level = 0}), LevelError);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.level = 9}), LevelError);

  const LinearTransform plan(parameters(), diagonals, slots);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(Values(slots - 1))), ParameterError);
  const Session session(plan);
  const rlwe::Ciphertext x = session.client.encrypt(ckks::random_values(slots, 78));
  EXPECT_THROW(static_cast<void>(session.prepared(*session.client.evaluator, x)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, {})), MismatchError);
  const rlwe::Ciphertext wide = session.client.encrypt(ckks::random_values(2 * slots, 79));
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, wide)), MismatchError);
  rlwe::Ciphertext low = x.clone();
  session.evaluator.drop_to_level_inplace(low, plan.level() - 1);
  EXPECT_THROW(static_cast<void>(session.prepared(session.evaluator, low)), LevelError);
  const ckks::Session other(ckks::small_parameters(2, 2));
  EXPECT_THROW(PreparedLinearTransform(other.context, plan), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits
