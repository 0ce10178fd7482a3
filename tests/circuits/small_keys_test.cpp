// Bootstraps whose keys are few bytes to upload, and matrices whose products stay turned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "circuits/bootstrap/owed_turns.hpp"
#include "circuits/bootstrap_support.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::circuits::small_keys_tests {
namespace {

std::size_t uploaded(const Bootstrap& plan) {
  return upload_bytes(plan.parameters().degree(), plan.needed_keys());
}

std::size_t least_of(const rlwe::Parameters& parameters, BootstrapOptions options) {
  options.upload_limit = 1;
  try {
    static_cast<void>(Bootstrap(parameters, options));
  } catch (const ParameterError& error) {
    const std::string text = error.what(), before = "at least ";
    return std::stoull(text.substr(text.find(before) + before.size()));
  }
  return 0;
}

std::pair<std::size_t, std::size_t> switches_of(const std::vector<LinearTransform>& matrices) {
  std::size_t counted = 0, keys = 0;
  for (const LinearTransform& matrix : matrices) {
    counted += matrix.cost().key_products;
    keys += matrix.rotations().size();
    EXPECT_EQ(matrix.turns().switches, matrix.cost().key_products);
    EXPECT_EQ(matrix.turns().extensions, matrix.cost().mod_ups);
  }
  return {counted, keys};
}

// The product of matrices that owe their turns, of which the last one pays, is that of the matrices, by keys
// of one-sided steps alone. Entries by row and column are the judge.
TEST(OwedTurns, LeaveTheProductAsItIs) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  ASSERT_EQ(parameters.degree(), 2048U);
  for (const std::size_t slots : {64, 1024}) {
    SCOPED_TRACE(slots);
    // Two-sided with a stride, one-sided, sparse around 0, and all around the slots.
    const std::vector<std::vector<std::size_t>> rows = {{0, 8, 16, slots - 8, slots - 16, slots - 24},
                                                        {0, 1, 2, 3, 5},
                                                        {2, 9, slots - 1, slots - 7},
                                                        {0, slots / 4, slots / 2, 3 * slots / 4},
                                                        {0, 1, 2, slots - 1, slots - 2}};
    std::size_t level = parameters.highest_user_level(), owed = 0;
    const Values x = ckks::random_values(slots, 1);
    Values expected = x;
    std::vector<LinearTransform> plans;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const MatrixDiagonals matrix = random_diagonals(slots, rows[i], i + 2);
      Values next(slots, 0);
      for (const auto& [number, diagonal] : matrix.map()) {
        for (std::size_t k = 0; k < slots; ++k) next[k] += diagonal[k] * expected[(k + number) % slots];
      }
      expected = std::move(next);
      const bool pays = i + 1 == rows.size();
      OwingMatrix own{};
      if (pays) {
        own.diagonals = paying(matrix, slots, owed);
      } else {
        const MatrixDiagonals* only = &matrix;
        own = owing(matrix, slots, slots, lowest_numbers(std::span(&only, 1), slots).front(), owed);
        owed = own.owed;
      }
      plans.emplace_back(parameters, std::move(own.diagonals), slots,
                         LinearTransformOptions{.level = level--, .fewest_keys = true});
      EXPECT_LE(plans.back().rotations().size(), pays ? 3U : 2U);
    }
    ASSERT_NE(owed % slots, 0U);
    const ckks::Session client(parameters);
    rlwe::EvaluationKeys keys = client.keys;
    for (const LinearTransform& plan : plans) keys.merge(plan.generate_keys(client.secret));
    const ckks::Evaluator evaluator(client.context, keys);
    rlwe::Ciphertext y = client.encrypt(x);
    for (const LinearTransform& plan : plans) y = PreparedLinearTransform(client.context, plan)(evaluator, y);
    EXPECT_LT(client.error(y, expected), 1e-5);
  }
}

struct Case {
  const char* name;
  BootstrapOptions options;
  BootstrapSettings (*settings)() = small_settings;
};

BootstrapSettings large_scale() {
  BootstrapSettings settings = bootstrap_preset("n16-59");
  settings.degree = std::size_t{1} << 11;
  settings.security = std::nullopt;
  return settings;
}

class SmallKeys : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Plans, SmallKeys,
    ::testing::Values(Case{"AllSlots", {}}, Case{"RealSlots", {.slots = 256, .real = true}},
                      Case{"FewMergedSlots", {.slots = 32, .merges_parts = true}},
                      Case{"PartsApart", {.slots = 32, .merges_parts = true, .joins_parts = false}},
                      Case{"Together", {.slots = 64, .together = 16}},
                      Case{"MergedTogether", {.slots = 64, .merges_parts = true, .together = 8}},
                      Case{"Iterations", {.slots = 64, .iterations = 2}, large_scale},
                      Case{"StandardOrder", {.slots = 256}, standard_order},
                      Case{"MergedStandardOrder", {.slots = 256, .merges_parts = true}, standard_order}),
    [](const auto& tested) { return std::string(tested.param.name); });

// At the least that is possible, and halfway there: the values that went in are the judge, the model the size
// of the errors, which is that of all keys.
TEST_P(SmallKeys, FitTheirLimitAndArePrecise) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(GetParam().settings());
  BootstrapOptions options = GetParam().options;
  const Bootstrap all(parameters, options);
  const std::size_t least = least_of(parameters, options);
  ASSERT_LT(least, uploaded(all));
  options.upload_limit = least - 1;
  EXPECT_THROW(Bootstrap(parameters, options), ParameterError);
  std::size_t products_before = all.cost().mod_ups;
  for (const std::size_t limit : {(least + uploaded(all)) / 2, least}) {
    SCOPED_TRACE(limit);
    options.upload_limit = limit;
    const Bootstrap plan(parameters, options);
    EXPECT_LE(uploaded(plan), limit);
    if (limit == least) {
      EXPECT_EQ(uploaded(plan), least);
    }
    EXPECT_GE(plan.cost().mod_ups, products_before);
    products_before = plan.cost().mod_ups;
    const auto expected = plan.expected_precision(), of_all = all.expected_precision();
    EXPECT_EQ(expected.mean_bits, of_all.mean_bits);
    const BootstrapSession session(parameters, plan);
    Values values = ckks::random_values(plan.slots() * plan.together(), 5);
    for (Complex& value : values) {
      if (plan.is_real()) value.imag(0);
    }
    rlwe::BatchShape batch;
    if (plan.together() > 1) batch = {plan.together()};
    Values found =
        session.client.decrypt(session.prepared(session.evaluator, session.encrypt(values, batch)));
    Values wanted = values;
    if (!plan.joins_parts()) {
      wanted.clear();
      for (const Complex& value : values) wanted.emplace_back(value.real());
      for (const Complex& value : values) wanted.emplace_back(value.imag());
    }
    for (Complex& value : found) {
      if (plan.is_real() || !plan.joins_parts()) value.imag(0);
    }
    const Precision precision = precision_of(found, wanted);
    EXPECT_GT(precision.mean_bits, expected.mean_bits - 0.7);
    EXPECT_GT(precision.worst_bits, expected.worst_bits - 1.5);
  }
}

// A limit that all keys keep changes nothing.
TEST(SmallKeysPlan, IsThatOfAllKeysWithinTheirBytes) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap all(parameters), same(parameters, {.upload_limit = uploaded(all)});
  EXPECT_EQ(same.needed_keys(), all.needed_keys());
  EXPECT_EQ(same.cost().entries, all.cost().entries);
  const Bootstrap fewer(parameters, {.upload_limit = uploaded(all) - 1});
  EXPECT_NE(fewer.needed_keys(), all.needed_keys());
  // Both limits at once.
  const std::size_t memory = fewer.cost().key_bytes * 3 / 4;
  const Bootstrap both(parameters, {.key_memory_limit = memory, .upload_limit = uploaded(all) - 1});
  EXPECT_LE(both.cost().key_bytes, memory);
  EXPECT_THROW(Bootstrap(parameters, {.key_memory_limit = 1, .upload_limit = uploaded(all)}),
               OutOfMemoryError);
}

// Turns of all matrices add up to all slots where one goes around them, so that none has a third key.
TEST(OwedTurns, AreAllSlots) {
  constexpr std::size_t slots = 1024;
  const auto numbers = [&](std::int64_t first, std::size_t count, std::size_t stride) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = first + static_cast<std::int64_t>(i);
      result.push_back(static_cast<std::size_t>(place * static_cast<std::int64_t>(stride)) % slots);
    }
    return result;
  };
  const MatrixDiagonals one = random_diagonals(slots, numbers(-7, 15, 1), 1);
  const MatrixDiagonals eight = random_diagonals(slots, numbers(-7, 15, 8), 2);
  const MatrixDiagonals around = random_diagonals(slots, numbers(0, 16, 64), 3);
  const std::vector<const MatrixDiagonals*> whole{&one, &eight, &around, &eight, &one};
  const std::vector<std::size_t> low = balanced_numbers(whole, slots);
  ASSERT_EQ(low.size(), whole.size());
  EXPECT_EQ(std::accumulate(low.begin(), low.end(), std::size_t{0}) % slots, 0U);
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::size_t stride = i == 2 ? 64 : (i % 4 == 0 ? 1 : 8);
    for (const auto& [number, diagonal] : whole[i]->map()) {
      const std::size_t place = (number + slots - low[i]) % slots;
      EXPECT_EQ(place % stride, 0U);
      EXPECT_LT(place / stride, 16U);  // as many steps as before
    }
  }
  const std::vector<const MatrixDiagonals*> open{&one, &eight}, lone{&one, &around};
  EXPECT_TRUE(balanced_numbers(open, slots).empty()) << "none goes around";
  EXPECT_TRUE(balanced_numbers(lone, slots).empty()) << "7 or 8 turns are no multiple of 64";
}

// Two keys for each matrix of CoeffToSlot: 10 switches of the first one's 32 diagonals and 14 of the 63 of
// both others by the formula b - 1 + ceil(d / b) - 1 at its least b. The light preset's keys have two digits,
// not three.
TEST(SmallKeysPlan, TakesTheSwitchesOfTheFormula) {
  constexpr std::size_t formula = (4 - 1 + 32 / 4 - 1) + 2 * (8 - 1 + 64 / 8 - 1);
  static_assert(formula == 38);
  // The last one: relinearization keys, one for all levels where primes are lent.
  for (const auto& [preset, limit, least, digits, most_products] :
       {std::tuple{"n16-40", 390'000'000U, 212'000'000U, 3U, 2U},
        {"n16-40", 350'000'000U, 0U, 3U, 1U},
        {"n16-40-light", 270'000'000U, 157'000'000U, 2U, 2U}}) {
    const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset(preset));
    if (least != 0) {
      EXPECT_LT(least_of(parameters, {}), least);
    }
    const Bootstrap plan(parameters, {.upload_limit = limit});
    EXPECT_EQ(switches_of(plan.coefficients_to_slots()), (std::pair{formula, std::size_t{6}}));
    std::size_t products = 0, most = 0;
    for (const KeyNeed& need : plan.needed_keys()) {
      products += need.role == rlwe::KeyRole::relinearization();
      most = std::max(most, need.gadget.digits.size());
    }
    EXPECT_LE(products, most_products);
    EXPECT_EQ(most, digits);
  }
}

// Keys of the plan without a limit are not those of a plan with one: the error says whose keys are needed.
TEST(SmallKeysPlan, IsNamedWhereItsKeysAreNotThere) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap all(parameters, {.slots = 64});
  const std::size_t limit = least_of(parameters, {.slots = 64});
  const Bootstrap small(parameters, {.slots = 64, .upload_limit = limit});
  const BootstrapSession session(parameters, all);
  const PreparedBootstrap prepared(session.client.context, small);
  const rlwe::Ciphertext x = session.encrypt(ckks::random_values(64, 2));
  tests::expect_error<MissingKeyError>(
      [&] { return prepared(session.evaluator, x); },
      {"a bootstrap of 64 slots with an upload_limit of " + std::to_string(limit)});
}

}  // namespace
}  // namespace hemera::circuits::small_keys_tests
