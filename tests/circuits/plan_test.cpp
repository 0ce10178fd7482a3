// What plans tell of their costs and errors, beside formulas and what contexts measure.
#include "hemera/circuits/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits::plan_tests {
namespace {

using ckks::Values;

const rlwe::Parameters& parameters() {
  static const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  return own;
}

// A context with a plan's keys, and a ciphertext where it begins.
struct Session {
  explicit Session(const Plan& plan, std::size_t slots, std::size_t limit = 0)
      : context(rlwe::Context::make(parameters(), {}, {.threads = 1, .memory_limit = limit})),
        secret(rlwe::generate_secret_key(context)),
        evaluator(context, plan.generate_keys(secret)),
        x(ckks::encrypt(ckks::Encoder(context).encode(ckks::random_values(slots, 3), {}, plan.level()),
                        secret)) {}

  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  ckks::Evaluator evaluator;
  rlwe::Ciphertext x;
};

TEST(Plan, FewerKeysFitALimitAndArePrecise) {
  const Bootstrap all(parameters());
  const std::size_t limit = all.cost().key_bytes * 3 / 4;
  const Bootstrap some(parameters(), {.key_memory_limit = limit});
  const std::string before = "at least ", text = tests::refusal<OutOfMemoryError>([] {
                                            return Bootstrap(parameters(), {.key_memory_limit = 1});
                                          });
  ASSERT_NE(text.find(before), std::string::npos);
  const std::size_t least = std::stoull(text.substr(text.find(before) + before.size()));
  const Bootstrap fewest(parameters(), {.key_memory_limit = least});
  EXPECT_THROW(Bootstrap(parameters(), {.key_memory_limit = least - 1}), OutOfMemoryError);
  EXPECT_LE(some.cost().key_bytes, limit);
  EXPECT_EQ(fewest.cost().key_bytes, least);
  // No more is given up than must be.
  EXPECT_LT(least, some.cost().key_bytes);
  EXPECT_LT(some.cost().mod_ups, fewest.cost().mod_ups);
  EXPECT_LT(all.cost().mod_ups, some.cost().mod_ups);
  EXPECT_EQ(Bootstrap(parameters(), {.key_memory_limit = all.cost().key_bytes}).cost().mod_ups,
            all.cost().mod_ups);
  const Values values = ckks::random_values(all.slots(), 3);
  for (const Bootstrap* plan : {&all, &some, &fewest}) {
    SCOPED_TRACE(plan->cost().key_bytes);
    const Session session(*plan, plan->slots());
    EXPECT_EQ(session.evaluator.keys().memory_bytes(), plan->cost().key_bytes);
    const PreparedBootstrap prepared(session.context, *plan);
    const Values found = ckks::Encoder(session.context)
                             .decode(ckks::decrypt(prepared(session.evaluator, session.x), session.secret));
    const Precision precision = precision_of(found, values), expected = plan->expected_precision();
    EXPECT_NEAR(precision.mean_bits, expected.mean_bits, 0.7);
    EXPECT_NEAR(precision.worst_bits, expected.worst_bits, 1.5);  // of one draw each
  }
}

TEST(Plan, TooLittleMemoryIsFoundBeforeAnythingRuns) {
  const Bootstrap plan(parameters(), {.slots = 32});
  const auto& cost = plan.cost();
  EXPECT_EQ(plan.memory_bytes(3), cost.key_bytes + cost.plaintext_bytes + 3 * cost.workspace_bytes);
  const auto context_of = [](std::size_t limit) {
    return rlwe::Context::make(parameters(), {}, {.memory_limit = limit});
  };
  const std::size_t own = std::size_t{1} << 20;  // for the secret and the constants
  const auto narrow = context_of(cost.key_bytes / 2);
  EXPECT_THROW(plan.require_memory(*narrow), OutOfMemoryError);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(narrow);
  narrow->memory()->reset_peak();
  const std::size_t used = narrow->memory_used();
  EXPECT_THROW(static_cast<void>(plan.generate_keys(secret)), OutOfMemoryError);
  EXPECT_EQ(narrow->memory()->peak(), used);
  EXPECT_NO_THROW(plan.require_memory(*context_of(plan.memory_bytes() + own)));
  EXPECT_THROW(plan.require_memory(*context_of(plan.memory_bytes() + own), 2), OutOfMemoryError);
  EXPECT_THROW(PreparedBootstrap(context_of(cost.workspace_bytes), plan), OutOfMemoryError);

  // Keys take an eighth more than their bytes, as blocks do.
  const std::size_t keys = cost.key_bytes * 9 / 8;
  const Session session(plan, plan.slots(), keys + cost.plaintext_bytes + 2 * cost.workspace_bytes + own);
  const PreparedBootstrap prepared(session.context, plan);
  EXPECT_NO_THROW(static_cast<void>(prepared(session.evaluator, session.x)));
  const rlwe::Ciphertext batch = rlwe::stack({&session.x, &session.x, &session.x, &session.x});
  session.context->memory()->reset_peak();
  const std::size_t before = session.context->memory_used();
  EXPECT_THROW(static_cast<void>(prepared(session.evaluator, batch)), OutOfMemoryError);
  EXPECT_EQ(session.context->memory()->peak(), before);
  EXPECT_THROW(plan.require_memory(*ckks::Session(ckks::small_parameters(2)).context), MismatchError);
}

// Beside every set of matrices that can be taken step by step, with keys counted one by one.
TEST(Plan, FewerKeysAreThoseOfTheBestSetOfMatrices) {
  struct Set {
    std::size_t bytes;
    Work work;
  };
  const auto matrices_of = [](const Bootstrap& plan) {
    std::vector<LinearTransform> matrices = plan.slots_to_coefficients();
    const auto& others = plan.coefficients_to_slots();
    matrices.insert(matrices.end(), others.begin(), others.end());
    return matrices;
  };
  BootstrapSettings two = bootstrap_preset("n15-31");
  two.degree = bootstrap_preset("test-40").degree;
  two.security = std::nullopt;
  two.coefficients_to_slots = {46};  // one matrix of many keys
  for (const rlwe::Parameters& own : {parameters_for_bootstrapping(two), parameters()}) {
    const Bootstrap all(own);  // all slots: no trace has keys
    const std::vector<LinearTransform> matrices = matrices_of(all);
    std::vector<LinearTransform> few;
    for (const LinearTransform& matrix : matrices) {
      few.emplace_back(
          own, matrix.diagonals(), matrix.slots(),
          LinearTransformOptions{
              .level = matrix.level(), .gadget = matrix.needed_keys().front().gadget, .fewest_keys = true});
    }
    std::vector<KeyNeed> others = all.needed_keys();
    for (const LinearTransform& matrix : matrices) {
      for (const KeyNeed& need : matrix.needed_keys()) std::erase(others, need);
    }
    std::vector<Set> sets(std::size_t{1} << matrices.size());
    std::vector<std::size_t> sizes;
    for (std::size_t set = 0; set < sets.size(); ++set) {
      std::vector<KeyNeed> needs = others;
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        const LinearTransform& matrix = (set >> i & 1) != 0 ? few[i] : matrices[i];
        sets[set].work += matrix.cost().total_work();
        for (const KeyNeed& need : matrix.needed_keys()) {
          if (std::find(needs.begin(), needs.end(), need) == needs.end()) needs.push_back(need);
        }
      }
      sets[set].bytes = key_bytes(own.degree(), needs);
      sizes.push_back(sets[set].bytes);
    }
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(sets[0].bytes, all.cost().key_bytes);
    ASSERT_LT(sizes[0], sizes[1]);
    ASSERT_EQ(sizes[0], sets.back().bytes);  // that of all matrices
    tests::expect_error<OutOfMemoryError>([&] { Bootstrap(own, {.key_memory_limit = sizes[0] - 1}); },
                                          {"at least " + std::to_string(sizes[0]) + " bytes"});
    for (const std::size_t limit :
         {sizes[0], sizes[1] - 1, sizes[1], sizes[sizes.size() / 2], all.cost().key_bytes - 1}) {
      SCOPED_TRACE(limit);
      const Bootstrap plan(own, {.key_memory_limit = limit});
      const std::vector<LinearTransform> taken = matrices_of(plan);
      std::size_t chosen = 0;
      for (std::size_t i = 0; i < taken.size(); ++i) chosen |= std::size_t{taken[i].has_fewest_keys()} << i;
      EXPECT_LE(plan.cost().key_bytes, limit);
      EXPECT_EQ(plan.cost().key_bytes, sets[chosen].bytes);
      // No other set that fits takes less work of every kind.
      const Work& work = sets[chosen].work;
      for (const Set& other : sets) {
        if (other.bytes > limit) continue;
        EXPECT_FALSE(other.work.key_products < work.key_products && other.work.mod_ups < work.mod_ups &&
                     other.work.divisions < work.divisions)
            << other.bytes << " " << plan.cost().key_bytes;
      }
    }
  }
}

// What is left of the keys when the matrices have few is counted once.
TEST(Plan, FewerKeysFitALimitForFewSlots) {
  const Bootstrap all(parameters(), {.slots = 64});
  const Bootstrap fewer(parameters(), {.slots = 64, .key_memory_limit = all.cost().key_bytes - 1});
  EXPECT_LT(fewer.needed_keys().size(), all.needed_keys().size());
  // A byte less is had by one matrix: no more is given up than must be.
  std::size_t few = 0;
  for (const auto* row : {&fewer.slots_to_coefficients(), &fewer.coefficients_to_slots()}) {
    for (const LinearTransform& matrix : *row) few += matrix.has_fewest_keys() ? 1 : 0;
  }
  EXPECT_EQ(few, 1U);
  // Matrices of one stage have nothing to give up.
  const std::size_t smallest = Bootstrap(parameters(), {.slots = 2}).cost().key_bytes;
  EXPECT_THROW(Bootstrap(parameters(), {.slots = 2, .key_memory_limit = smallest - 1}), OutOfMemoryError);
}

rlwe::Parameters deep_parameters() { return ckks::small_parameters(6, 2); }

// Errors of the inputs are beside those of the bootstrap, in the worst slot as well.
TEST(PlanNumbers, ErrorsOfABootstrapHaveThoseOfItsInputs) {
  const Bootstrap plan(parameters_for_bootstrapping(bootstrap_preset("test-40")), {.slots = 64});
  const ExpectedError own = plan.expected_error(0), more = plan.expected_error(1e-3);
  EXPECT_NEAR(more.mean, std::hypot(own.mean, 1e-3), 1e-12);
  EXPECT_NEAR(more.worst, std::hypot(own.worst, 1e-3), 1e-12);
}

constexpr double large = 1e-3;  // of the inputs: nothing else counts

// y_k = sum_j d_j[k] x_(k + j): sqrt(sum_j |d_j[k]|^2) times the error of the inputs in slot k.
TEST(PlanNumbers, WorstSlotOfATransformIsThatOfTheLargestRow) {
  constexpr std::size_t slots = 64;
  Diagonals diagonals;
  std::vector<double> squares(slots);
  for (const std::size_t number : {0, 5, 9}) {
    diagonals[number] = ckks::random_values(slots, number, 0.5);
    diagonals[number][17] *= 20;
    for (std::size_t k = 0; k < slots; ++k) squares[k] += std::norm(diagonals[number][k]);
  }
  double sum = 0, most = 0;
  for (const double square : squares) {
    sum += square / slots;
    most = std::max(most, square);
  }
  for (const bool fewest_keys : {false, true}) {
    const LinearTransform plan(deep_parameters(), diagonals, slots, {.fewest_keys = fewest_keys});
    EXPECT_NEAR(plan.expected_error(large).mean / (std::sqrt(sum) * large), 1, 1e-3);
    EXPECT_NEAR(plan.expected_error(large).worst / (std::sqrt(most) * large), 1, 1e-3);
  }
}

// Each product of factors of magnitude 1 has the errors of both; as many are added as there are columns.
TEST(PlanNumbers, ErrorsOfMatricesAreThoseOfBothFactors) {
  const rlwe::Parameters own = deep_parameters();
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{16, 16}, {4, 64}, {64, 4}, {16, 1}}) {
    const MatrixVectorProduct plan(own, rows, columns);
    const double expected = std::sqrt(2 * static_cast<double>(columns)) * large;
    EXPECT_NEAR(plan.expected_error(large).mean / expected, 1, 1e-3) << rows << " x " << columns;
  }
  for (const std::size_t size : {2, 8}) {
    for (const bool packed : {false, true}) {
      const MatrixProduct plan(own, size, {.packed = packed});
      const double expected = std::sqrt(2 * static_cast<double>(size)) * large;
      EXPECT_NEAR(plan.expected_error(large).mean / expected, 1, 1e-3) << size;
    }
  }
}

// x^2 and x on [-1, 3]: the slopes are 2 x and 1, the mean of x^2 is 7/3, and the steepest place is 3.
TEST(PlanNumbers, ErrorsOfAFunctionAreTheMeanOfItsOutputs) {
  Function function(std::vector{Interval{-1, 3}});
  const auto square = function.add({.products = {{0, 0}}});
  function.set_outputs({square});
  EXPECT_NEAR(FunctionPlan(deep_parameters(), function).expected_error(large).mean / large,
              std::sqrt(28.0 / 3), 1e-3);
  for (const auto& outputs : {std::vector<Function::Value>{square, 0}, {0, square}}) {
    function.set_outputs(outputs);
    const ExpectedError error = FunctionPlan(deep_parameters(), function).expected_error(large);
    EXPECT_NEAR(error.mean / large, std::sqrt((28.0 / 3 + 1) / 2), 1e-3);
    EXPECT_NEAR(error.worst / large, 6, 1e-3);
  }
}

// sigma sqrt(2n N sum_d k_d / 12 (D_d / P)^2) for digits of k_d primes with product D_d (docs/noise.md).
double switching(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget, std::size_t slots) {
  double special = 1, sum = 0;
  for (const std::uint64_t prime : gadget.special) special *= static_cast<double>(prime);
  for (const auto& digit : gadget.digits) {
    double product = 1;
    for (const std::uint64_t prime : digit) product *= static_cast<double>(prime);
    sum += static_cast<double>(digit.size()) / 12 * std::pow(product / special, 2);
  }
  const auto coefficients = static_cast<double>(2 * slots), degree = static_cast<double>(parameters.degree());
  return parameters.literal().sigma * std::sqrt(coefficients * degree * sum);
}

// A sum of two rows, a mask, and a copy: each with the key of its own level. Exact inputs: what is left are
// both key switches, their divisions, the rounding of the mask and the rescale.
TEST(PlanNumbers, ErrorsOfACircuitOfSlotsAreThoseOfBothLevels) {
  rlwe::ParametersLiteral literal = deep_parameters().literal();
  // One digit, which is longer than P at the higher level.
  literal.digits = {literal.levels.back()};
  literal.special_primes.resize(3);
  literal.roots.clear();
  const rlwe::Parameters own(literal);
  constexpr std::size_t slots = 64, level = 3;
  const SlotCircuit plan = SlotCircuit::inner_sum(own, slots, {.count = 2, .stride = 1}, true,
                                                  {.level = level, .fewest_keys = true});
  const rlwe::ScalePolicy scales(own);
  const double scale = scales.level_scale(level), below = scales.level_scale(level - 1);
  const double before = switching(own, own.default_gadget(level), slots);
  const double after = switching(own, own.default_gadget(level - 1), slots);
  const auto n = static_cast<double>(own.degree());
  const double division = 2.0 * slots * (1 + 2 * n / 3) / 12;
  ASSERT_GT(before * before + division, 1.01 * (after * after + division));
  const double plain = below * scales.policy().scales[level].divisor / scale;
  const double sum = (before * before + division) / (scale * scale);
  const double own_error = 2 * (2.0 * slots) / 12 / (plain * plain) + division / (below * below);
  // Half of the slots are kept, and each is there twice.
  const double expected = sum + 2 * own_error + (after * after + division) / (below * below);
  EXPECT_NEAR(plan.expected_error(0).mean / std::sqrt(expected), 1, 1e-4);
}

// Both factors go through as many roundings: that of the left one is not left out.
TEST(PlanNumbers, ErrorsOfMatrixProductsAreThoseOfARun) {
  constexpr std::size_t size = 16, batch = 8;
  const MatrixProduct plan(deep_parameters(), size);
  const ckks::Session client(deep_parameters());
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  Values left = ckks::random_values(batch * plan.slots(), 50), right = ckks::random_values(plan.slots(), 51);
  for (Values* each : {&left, &right}) {
    for (Complex& value : *each) value /= std::abs(value);  // the model's magnitude
  }
  const auto encrypt = [&](const Values& x, const rlwe::BatchShape& shape) {
    return ckks::encrypt(client.encoder->encode(x, shape), client.secret);
  };
  const Values found = client.decrypt(
      PreparedMatrixProduct(client.context, plan)(evaluator, encrypt(left, {batch}), encrypt(right, {})));
  Values expected;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto one = std::span(left).subspan(i * plan.slots(), plan.slots());
    const Values c = product(one, right, size, size, size);
    expected.insert(expected.end(), c.begin(), c.end());
  }
  // Errors of encryptions with the secret key: sigma in 2n coefficients, and the rounding of the encoding.
  const double fresh =
      std::sqrt(2.0 * static_cast<double>(plan.slots()) * (3.19 * 3.19 + 1.0 / 12)) / plan.ends().scale;
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error(fresh).mean), 0, 0.25);
}

// x - 3 y: each input has its own slope.
TEST(PlanNumbers, ErrorsOfAFunctionAreThoseOfAllInputs) {
  Function function(std::vector(2, Interval{}));
  function.set_outputs({function.add({.terms = {{0, {1}}, {1, {-3}}}})});
  const ExpectedError error = FunctionPlan(deep_parameters(), function).expected_error(large);
  EXPECT_NEAR(error.mean / large, std::sqrt(10.0), 1e-3);
  EXPECT_NEAR(error.worst / large, std::sqrt(10.0), 1e-3);
}

// Steps by few keys: each of up to 15 is turned from the one before, a stride apart, and rounds once more.
TEST(PlanNumbers, ErrorsOfStepsByFewKeysAreThoseOfARun) {
  constexpr std::size_t stride = 16;
  Diagonals diagonals;
  for (std::size_t i = 0; i < 16; ++i) diagonals[stride * i] = ckks::random_values(test_slots, i);
  const LinearTransform plan(deep_parameters(), diagonals, test_slots,
                             {.baby_steps = 16, .fewest_keys = true});
  ASSERT_EQ(plan.rotations(), std::vector<std::size_t>{stride});
  const ckks::Session client(deep_parameters());
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  const Values x = ckks::random_values(test_slots, 40);
  Values expected(test_slots);
  for (const auto& [number, diagonal] : diagonals) {
    for (std::size_t k = 0; k < test_slots; ++k) expected[k] += diagonal[k] * x[(k + number) % test_slots];
  }
  const Values found =
      client.decrypt(PreparedLinearTransform(client.context, plan)(evaluator, client.encrypt(x)));
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error().mean), 0, 0.5);
}

}  // namespace
}  // namespace hemera::circuits::plan_tests
