// Matrices times encrypted vectors, beside the product in the clear.
#include "hemera/circuits/linear/linear_transform.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::linear_transform_tests {
namespace {

using ckks::Complex;
using ckks::Values;

constexpr std::size_t slots = 32;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

struct Session : MatrixSession<LinearTransform, PreparedLinearTransform> {
  explicit Session(const LinearTransform& plan) : MatrixSession(parameters(), plan, true) {}
};

struct TransformCase {
  const char* name;
  std::size_t rows, columns;
  LinearTransformOptions options;
};

class LinearTransformTest : public ::testing::TestWithParam<TransformCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, LinearTransformTest,
    ::testing::Values(
        TransformCase{"Wide", 5, 32, {}}, TransformCase{"Tall", 32, 3, {}},
        TransformCase{"OneEntry", 1, 1, {}}, TransformCase{"BabyStepsAlone", 32, 32, {.baby_steps = 32}},
        TransformCase{"GiantStepsAlone", 32, 32, {.baby_steps = 1}},
        TransformCase{"FewestKeys", 32, 32, {.fewest_keys = true}},
        TransformCase{"LongChain", 32, 32, {.baby_steps = 32, .fewest_keys = true}},
        TransformCase{"HoistedFours", 32, 32, {.baby_steps = 16, .fewest_keys = true, .hoisted_steps = 4}},
        TransformCase{"HoistedSparse", 3, 32, {.fewest_keys = true, .hoisted_steps = 8}},
        TransformCase{"LowLevel", 32, 32, {.level = 1, .baby_steps = 8}}),
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
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, plan.ends().result_scale));
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
  EXPECT_EQ(plan.ends().depth(), 0U);
  const Session session(plan);
  const Values x = ckks::random_values(slots, 80);
  const rlwe::Ciphertext y = session.prepared(session.evaluator, session.client.encrypt(x));
  EXPECT_EQ(y.meta.level, plan.level());
  EXPECT_EQ(y.meta.noise_scale_degree, 2);
  const double product_scale = parameters().rescaling().scales[plan.level()].product_scale;
  EXPECT_TRUE(session.client.context->scales().close(y.meta.scale, product_scale));
  const Values expected = plan.evaluate_clear(x);
  EXPECT_LT(session.client.error(y, expected), ckks::tolerance);
  EXPECT_LT(session.client.error(session.evaluator.rescale(y), expected), ckks::tolerance);
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.steps = RotationSteps{{30, 31, 0}, {0}}}),
               ParameterError);
}

// Counts of the formula for d diagonals from 0 on, b baby steps of which h share an extension: b - 1 baby and
// ceil(d / b) - 1 giant steps, as many extensions as places of the chain and giant steps (Halevi, Shoup,
// 2018/244, section 4.2 for h = 1); and the products of 63 diagonals by two keys in 14 switches.
TEST(LinearTransform, ChainsTakeTheStepsOfTheFormula) {
  const rlwe::Parameters own = ckks::small_parameters(8, 3);
  for (const std::size_t count : {32, 63}) {
    Diagonals diagonals;
    for (std::size_t i = 0; i < count; ++i) diagonals[i] = Values(128, 1);
    std::size_t fewest = 1000;
    for (const std::size_t babies : {4, 8, 16}) {
      for (const std::size_t hoisted : {1, 2, 4}) {
        const LinearTransform plan(own, diagonals, 128,
                                   {.baby_steps = babies, .fewest_keys = true, .hoisted_steps = hoisted});
        const std::size_t giants = (count + babies - 1) / babies - 1;
        const std::size_t places = hoisted == 1 ? babies - 1 : babies / hoisted;
        EXPECT_EQ(plan.rotations().size(), hoisted + (hoisted < babies || hoisted == 1 ? 1 : 0));
        EXPECT_EQ(plan.cost().key_products, babies - 1 + giants);
        EXPECT_EQ(plan.cost().mod_ups, places + giants);
        EXPECT_EQ(plan.cost().divisions, places + giants);
        EXPECT_EQ(plan.turns().switches, plan.cost().key_products);
        EXPECT_EQ(plan.turns().extensions, plan.cost().mod_ups);
        if (hoisted == 1) fewest = std::min(fewest, plan.cost().key_products);
      }
    }
    EXPECT_EQ(fewest, count == 32 ? 10U : 14U);
  }
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
  EXPECT_THROW(LinearTransform(parameters(), diagonals, slots, {.hoisted_steps = 2}), ParameterError);
  for (const std::size_t wrong : {0, 3}) {
    EXPECT_THROW(
        LinearTransform(parameters(), diagonals, slots, {.fewest_keys = true, .hoisted_steps = wrong}),
        ParameterError);
  }
  const LinearTransform plan(parameters(), diagonals, slots);
  EXPECT_THROW(static_cast<void>(plan.evaluate_clear(Values(slots - 1))), ParameterError);
}

// --- All ways to take the same product ---

// A client with a key for each rotation, and evaluators that have those of a plan alone.
struct AllKeys {
  AllKeys() : client(parameters(), request()) {}
  static rlwe::KeyRequest request() {
    rlwe::KeyRequest all;
    for (std::size_t step = 1; step < slots; ++step) all.rotations.push_back(static_cast<std::int64_t>(step));
    return all;
  }
  [[nodiscard]] ckks::Evaluator evaluator(const Plan& plan) const {
    rlwe::EvaluationKeys own;
    own.context = client.context;
    for (const KeyNeed& need : plan.needed_keys()) {
      auto key = client.keys.find(need.role, need.gadget);
      EXPECT_NE(key, nullptr);
      own.add(need.role, std::move(key));
    }
    return {client.context, own};
  }
  // Transforms of the highest level, whose keys the client has.
  void expect_product(const LinearTransform& plan, const Diagonals& diagonals) const {
    const std::size_t width = plan.slots();
    const Values x = ckks::random_values(width, 90);
    Values matrix(width * width);
    for (const auto& [number, diagonal] : diagonals) {
      for (std::size_t k = 0; k < width; ++k) matrix[k * width + (k + number) % width] = diagonal[k];
    }
    const Values expected = product(matrix, x, width, width);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(x), expected), 1e-12);
    const rlwe::Ciphertext y =
        PreparedLinearTransform(client.context, plan)(evaluator(plan), client.encrypt(x));
    EXPECT_LT(client.error(y, expected), ckks::tolerance);
    EXPECT_EQ(plan.needed_keys().size(), plan.rotations().size());
    EXPECT_EQ(plan.cost().plain_products, diagonals.size());
  }

  ckks::Session client;
};

Diagonals with_numbers(const std::vector<std::size_t>& numbers, std::size_t width = slots) {
  Diagonals diagonals;
  for (const std::size_t number : numbers) diagonals[number] = ckks::random_values(width, number + 1);
  return diagonals;
}

std::vector<std::size_t> all_below(std::size_t end) {
  std::vector<std::size_t> numbers(end);
  for (std::size_t i = 0; i < end; ++i) numbers[i] = i;
  return numbers;
}

// From one baby step to more than there are slots; diagonals that lie around number 0, at the end, a stride
// apart, without number 0, and of any kind alone.
TEST(LinearTransform, IsTheProductWithAnyBabyStepsAndFewKeys) {
  const AllKeys all;
  const std::vector<std::vector<std::size_t>> families = {
      {0},         {16},       {31},       {0, 31},           {0, 1, 31},      {5, 6},
      {8, 16, 24}, {0, 4, 28}, {3, 7, 12}, {0, 1, 2, 30, 31}, all_below(slots)};
  for (const auto& numbers : families) {
    const Diagonals diagonals = with_numbers(numbers);
    for (const std::size_t babies : {0, 4, 1 << 20}) {
      for (const bool fewest_keys : {false, true}) {
        SCOPED_TRACE("diagonal " + std::to_string(numbers.front()) + " and " +
                     std::to_string(numbers.size() - 1) + " more, " + std::to_string(babies) +
                     (fewest_keys ? " baby steps, few keys" : " baby steps"));
        const LinearTransform plan(parameters(), diagonals, slots,
                                   {.baby_steps = babies, .fewest_keys = fewest_keys});
        all.expect_product(plan, diagonals);
        if (fewest_keys) {
          EXPECT_LE(plan.rotations().size(), 3U);
        }
      }
    }
  }
}

TEST(LinearTransform, IsTheProductOverFewSlots) {
  const AllKeys all;
  for (const std::size_t width : {1, 2, 4}) {
    for (const bool fewest_keys : {false, true}) {
      for (std::size_t number = 0; number < width; ++number) {
        SCOPED_TRACE(std::to_string(number) + " of " + std::to_string(width));
        const Diagonals one = with_numbers({number}, width);
        all.expect_product(LinearTransform(parameters(), one, width, {.fewest_keys = fewest_keys}), one);
        const Diagonals several = with_numbers(all_below(number + 1), width);
        all.expect_product(LinearTransform(parameters(), several, width, {.fewest_keys = fewest_keys}),
                           several);
      }
    }
  }
}

// Steps of somebody else's choice: with giant step 0 and without it, with gaps between giant steps, and sums
// that go round the slots; by a key for each giant step and by one for all.
TEST(LinearTransform, IsTheProductByAnyGivenSteps) {
  const AllKeys all;
  struct Given {
    std::vector<std::size_t> numbers;
    RotationSteps steps;
  };
  const std::vector<Given> cases = {{{0, 1, 12, 13}, {{0, 1}, {0, 4, 8, 12}, 4}},
                                    {{4, 5}, {{0, 1}, {4}, 4}},
                                    {{12, 13}, {{0, 1}, {12}, 4}},
                                    {{4, 13}, {{0, 1}, {4, 12}, 4}},
                                    {{8, 9, 28}, {{0, 1}, {8, 28}, 4}},
                                    {{0, 1}, {{0, 1}, {0}, 4}},
                                    {{5}, {{1}, {4}, 4}},
                                    {{0, 1, 2}, {{0, 1}, {0, 1}, 1}},
                                    {{1, 31}, {{1, 3}, {28, 0}, 28}},
                                    {{0, 30, 31}, {{30, 31, 0}, {0}, 16}},
                                    {{16, 17}, {{0, 1}, {0, 16}, 16}},
                                    {{3, 4}, {{31, 0}, {4}, 2}}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const bool by_one_key : {false, true}) {
      for (const bool rescaled : {false, true}) {
        SCOPED_TRACE(std::to_string(i) + (by_one_key ? ", one giant key" : ""));
        auto [numbers, steps] = cases[i];
        if (!by_one_key) steps.giant_unit = 0;
        const Diagonals diagonals = with_numbers(numbers);
        all.expect_product(
            LinearTransform(parameters(), diagonals, slots, {.rescaled = rescaled, .steps = steps}),
            diagonals);
      }
    }
  }
}

// Each error on its own; just inside it is taken.
TEST(LinearTransform, RefusesDiagonalsAndStepsThatDoNotFit) {
  const auto make = [](const Diagonals& diagonals, const LinearTransformOptions& options = {}) {
    return LinearTransform(parameters(), diagonals, slots, options);
  };
  const Values one(slots, 1), zero(slots, 0);
  // What is zero does not act on the slots either, where it does not fit.
  for (const Values& wrong :
       {Values(slots - 1, 1), Values(slots - 1, 0), Values(slots + 1, 1), Values(slots + 1, 0), Values()}) {
    EXPECT_THROW(make({{0, one}, {1, wrong}}), ParameterError) << wrong.size();
    EXPECT_THROW(make({{0, wrong}, {1, one}}), ParameterError) << wrong.size();
  }
  for (const Values& values : {one, zero}) {
    EXPECT_THROW(make({{0, one}, {slots, values}}), ParameterError);
    EXPECT_NO_THROW(make({{0, one}, {slots - 1, values}}));
  }
  for (const Complex wrong :
       {Complex(NAN, 0), Complex(0, NAN), Complex(HUGE_VAL, 0), Complex(0, -HUGE_VAL)}) {
    for (const std::size_t place : {std::size_t{0}, slots - 1}) {
      Values values = one;
      values[place] = wrong;
      EXPECT_THROW(make({{0, one}, {3, values}}), ParameterError);
    }
  }
  for (const std::size_t babies : {3, 6, 33}) {
    EXPECT_THROW(make({{0, one}}, {.baby_steps = babies}), ParameterError);
  }
  const auto with_steps = [&](const RotationSteps& steps) { make({{0, one}, {31, one}}, {.steps = steps}); };
  EXPECT_NO_THROW(with_steps({{0, 31}, {0}}));
  EXPECT_THROW(with_steps({{0, 31, slots}, {0}}), ParameterError);
  EXPECT_THROW(with_steps({{0, 31}, {0, slots}}), ParameterError);
  EXPECT_THROW(with_steps({{0, 31 + slots}, {0}}), ParameterError);
  EXPECT_THROW(with_steps({{0, 31}, {0, 4, 9}, 4}), ParameterError);
  EXPECT_THROW(with_steps({{0, 30}, {0}}), ParameterError);
  EXPECT_THROW(with_steps({{}, {0}}), ParameterError);
  EXPECT_THROW(with_steps({{0, 31}, {}}), ParameterError);
  // Steps, or how to choose them.
  const RotationSteps both{{0, 31}, {0}};
  EXPECT_THROW(make({{0, one}, {31, one}}, {.baby_steps = 2, .steps = both}), ParameterError);
  EXPECT_THROW(make({{0, one}, {31, one}}, {.fewest_keys = true, .steps = both}), ParameterError);
}

// Diagonals of zeros are none: they take no key, no product and no bytes.
TEST(LinearTransform, LeavesDiagonalsOfZerosOut) {
  const Values one(slots, 1), zero(slots, 0);
  const LinearTransform with(parameters(), {{0, one}, {5, zero}, {31, zero}}, slots),
      without(parameters(), {{0, one}}, slots);
  EXPECT_EQ(with.diagonals(), without.diagonals());
  EXPECT_TRUE(with.rotations().empty());
  EXPECT_EQ(with.cost().plaintext_bytes, without.cost().plaintext_bytes);
  EXPECT_EQ(with.cost().workspace_bytes, without.cost().workspace_bytes);
}

// Entries of a dense matrix lie where the definition says: row k, column k + j in diagonal j.
TEST(LinearTransform, DiagonalsAreThoseOfTheMatrix) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, slots}, {slots, 1}, {3, 7}, {7, 3}, {slots, slots}}) {
    const Values matrix = ckks::random_values(rows * columns, rows + columns);
    const Diagonals found = diagonals_of(matrix, rows, columns, slots);
    Values again(slots * slots);
    for (const auto& [number, diagonal] : found) {
      ASSERT_LT(number, slots);
      ASSERT_EQ(diagonal.size(), slots);
      for (std::size_t k = 0; k < slots; ++k) again[k * slots + (k + number) % slots] = diagonal[k];
    }
    Values whole(slots * slots);
    for (std::size_t i = 0; i < rows * columns; ++i) whole[i / columns * slots + i % columns] = matrix[i];
    EXPECT_EQ(again, whole) << rows << " x " << columns;
  }
  const Values four(4, 1);
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{0, 4}, {4, 0}, {2, 3}, {1, 3}, {5, 1}}) {
    EXPECT_THROW(static_cast<void>(diagonals_of(four, rows, columns, slots)), ParameterError);
  }
  EXPECT_THROW(static_cast<void>(diagonals_of(four, 4, 1, 2)), ParameterError);
  EXPECT_THROW(static_cast<void>(diagonals_of(four, 1, 4, 2)), ParameterError);
  EXPECT_NO_THROW(static_cast<void>(diagonals_of(four, 1, 4, 4)));
}

// What is zero has neither part: matrices of one part alone, and with both kinds of entries beside zeros.
TEST(LinearTransform, EntriesOfOnePartAreNotZero) {
  const Complex i(0, 1);
  const std::vector<std::vector<Complex>> kinds = {
      {i}, {-2.0 * i}, {3}, {-1}, {i, 0}, {0, i}, {0, -1}, {1, i}, {0x1p-20 * i, 0, 1}, {Complex(-0.0, 1)}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    SCOPED_TRACE(kind);
    Values matrix(slots * slots);
    for (std::size_t k = 0; k < matrix.size(); ++k) matrix[k] = kinds[kind][k % kinds[kind].size()];
    const Diagonals found = diagonals_of(matrix, slots, slots, slots);
    for (std::size_t row = 0; row < slots; ++row) {
      for (std::size_t column = 0; column < slots; ++column) {
        const auto diagonal = found.find((column + slots - row) % slots);
        const Complex entry = diagonal == found.end() ? 0 : diagonal->second[row];
        ASSERT_EQ(entry, matrix[row * slots + column]) << row << " " << column;
      }
    }
    const Values x = ckks::random_values(slots, 73);
    const LinearTransform plan(parameters(), found, slots);
    EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(x), product(matrix, x, slots, slots)), 1e-10);
  }
  EXPECT_TRUE(diagonals_of(Values(6, Complex(-0.0, -0.0)), 2, 3, slots).empty());
}

}  // namespace
}  // namespace hemera::circuits::linear_transform_tests
