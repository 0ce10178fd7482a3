// Numbers that plans report, where two of them differ: levels, outputs, slots, keys, shapes. The judge is a
// formula, a count by hand, or what a context measured in a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "circuits/workspace_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/approximation.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"
#include "member_count.hpp"

namespace hemera::circuits {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

// --- Costs ---

TEST(PlanNumbers, WorkOfAllLevelsAddsUp) {
  const Cost cost{.work = {{3, {11, 22, 33, 44}}, {2, {50, 60, 70, 80}}}};
  ASSERT_EQ(tests::member_count<Work>(), 4U);  // all of them are below
  const Work work = cost.total_work();
  EXPECT_EQ((std::array{work.mod_ups, work.key_products, work.divisions, work.products}),
            (std::array<std::size_t, 4>{61, 82, 103, 124}));
}

// docs/bootstrapping-algorithm.md, "Nested products": y, a, b, two products in c and in p, and three
// doublings; of real and imaginary parts each, and for every further iteration once more.
TEST(PlanNumbers, ProductsOfABootstrapAreThoseOfItsSeries) {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  const rlwe::Parameters own = parameters_for_bootstrapping(settings);
  for (const bool real : {false, true}) {
    for (const std::size_t iterations : {1, 2}) {
      const Bootstrap plan(own, {.slots = 64, .real = real, .iterations = iterations});
      const std::size_t parts = real ? 1 : 2;
      EXPECT_EQ(plan.cost().products, parts * iterations * (1 + 1 + 1 + 2 + 2 + 3))
          << real << " " << iterations;
    }
  }
}

// Limbs by level: rotations before the mask are taken above, those after it a level below.
TEST(PlanNumbers, WorkOfACircuitOfSlotsIsThatOfItsLevels) {
  const rlwe::Parameters own = parameters();
  constexpr std::size_t slots = 64, level = 5;
  for (const bool own_keys : {false, true}) {
    const SlotCircuit plan =
        SlotCircuit::inner_sum(own, slots, {.count = 8, .stride = 2}, true,
                               {.level = level, .fewest_keys = true, .own_keys = own_keys});
    ASSERT_EQ(plan.cost().work.size(), 2U);
    for (const std::size_t at : {level, level - 1}) {
      SCOPED_TRACE(std::to_string(at) + (own_keys ? ", own keys" : ""));
      // Of the keys that the plan asks for, those of this level.
      const auto& primes = own.literal().levels[at];
      const rlwe::GadgetPrimes* gadget = nullptr;
      for (const KeyNeed& need : plan.needed_keys()) {
        if (need.gadget.base == primes) gadget = &need.gadget;
      }
      ASSERT_NE(gadget, nullptr);
      const std::size_t limbs = primes.size(), extended = limbs + gadget->special.size();
      const std::size_t digits = gadget->digits.size(), steps = 3;  // log2(8), each one rotation
      const bool is_masked = at == level;
      const Work& work = plan.cost().work.at(at);
      EXPECT_EQ(work.mod_ups, steps * digits * extended);
      EXPECT_EQ(work.key_products, steps * 2 * digits * extended);
      EXPECT_EQ(work.divisions, steps * 2 * extended + (is_masked ? 2 * limbs : 0));
      EXPECT_EQ(work.products, is_masked ? 2 * limbs : 0);
    }
  }
}

// Few keys and diagonals on both sides of the main one: from 56 on there are 7 places a stride of 4 apart,
// which take 1 + 3 steps (or 3 + 1), and the sum is turned once more.
TEST(PlanNumbers, StepsByFewKeysAreCounted) {
  constexpr std::size_t slots = 64;
  Diagonals diagonals;
  for (const std::size_t number : {0, 4, 8, 12, 52, 56, 60}) diagonals[number] = Values(slots, 1);
  const LinearTransform plan(parameters(), diagonals, slots, {.fewest_keys = true});
  EXPECT_EQ(plan.cost().key_products, 5U);
  EXPECT_EQ(plan.cost().mod_ups, 5U);
  EXPECT_EQ(plan.cost().divisions, 6U);
  // Giant steps by one key are taken through those that no diagonal needs: 12, 8, 4, 0.
  const LinearTransform horner(
      parameters(),
      {{0, Values(slots, 1)}, {1, Values(slots, 1)}, {12, Values(slots, 1)}, {13, Values(slots, 1)}}, slots,
      {.steps = RotationSteps{{0, 1}, {0, 4, 8, 12}, 4}});
  EXPECT_EQ(horner.rotations(), (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(horner.cost().key_products, 1U + 3U);
  EXPECT_EQ(horner.cost().mod_ups, 1U + 3U);
  EXPECT_EQ(horner.cost().divisions, 3U + 1U);
}

const rlwe::GadgetPrimes& gadget_of(const Plan& plan, bool of_products, std::size_t limbs) {
  for (const KeyNeed& need : plan.needed_keys()) {
    const bool is_product = need.role == rlwe::KeyRole::relinearization();
    if (is_product == of_products && need.gadget.base.size() == limbs) return need.gadget;
  }
  throw std::logic_error("no such key");
}

// Limbs of digits over Q u P, one switch.
std::size_t digit_limbs(const rlwe::GadgetPrimes& gadget) {
  return gadget.digits.size() * (gadget.base.size() + gadget.special.size());
}

// Products are relinearized by keys of their own, whose digits are longer than those of rotations.
TEST(PlanNumbers, WorkOfMatricesIsThatOfTheirKeys) {
  const rlwe::Parameters own = parameters();
  constexpr std::size_t level = 6, babies = 4, groups = 4;
  const MatrixVectorProduct vector(own, 16, 16, {.baby_steps = babies, .own_keys = true});
  const std::size_t limbs = own.literal().levels[level].size();
  const auto &turns = gadget_of(vector, false, limbs), &products = gadget_of(vector, true, limbs);
  ASSERT_NE(digit_limbs(turns), digit_limbs(products));
  const Work& work = vector.cost().work.at(level);
  EXPECT_EQ(work.mod_ups, groups * digit_limbs(turns) + groups * digit_limbs(products));
  EXPECT_EQ(work.key_products,
            2 * ((babies - 1 + groups - 1) * digit_limbs(turns) + groups * digit_limbs(products)));
  EXPECT_EQ(work.divisions, 2 * ((babies - 1 + groups - 1) * (limbs + turns.special.size()) +
                                 groups * (limbs + products.special.size()) + limbs));
  EXPECT_EQ(work.products, 4 * babies * groups * limbs);

  // d - 1 turned right factors with one ModUp, a relinearization, and the rescale: a level below the first.
  constexpr std::size_t d = 8;
  const MatrixProduct square(own, d, {.packed = true});
  ASSERT_EQ(square.cost().work.size(), 2U);
  const std::size_t below = own.literal().levels[level - 1].size();
  const rlwe::GadgetPrimes usual = own.default_gadget(level - 1);
  const Work& last = square.cost().work.at(level - 1);
  EXPECT_EQ(last.mod_ups, 2 * digit_limbs(usual));
  EXPECT_EQ(last.key_products, 2 * d * digit_limbs(usual));
  EXPECT_EQ(last.divisions, 2 * (d * (below + usual.special.size()) + below));
  EXPECT_EQ(last.products, 4 * d * below);
}

// Iterations of real slots drop imaginary parts: of what is bootstrapped and of the first result, by a
// conjugate each.
TEST(PlanNumbers, RealIterationsHaveTwoConjugatesMore) {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  const rlwe::Parameters own = parameters_for_bootstrapping(settings);
  const Bootstrap once(own, {.slots = 64, .real = true});
  for (const std::size_t iterations : {2, 3}) {
    const Bootstrap plan(own, {.slots = 64, .real = true, .iterations = iterations});
    EXPECT_EQ(plan.cost().key_products, iterations * once.cost().key_products + 2);
    EXPECT_EQ(plan.cost().mod_ups, iterations * once.cost().mod_ups + 2);
    EXPECT_EQ(plan.needed_keys().size(), once.needed_keys().size() + 2);
  }
}

// Both parts of complex slots go through EvalMod as a batch: the products of its steps, each of four pairs of
// components, and numbers times both components of 2 values in b, of 5 in the factors that stand beside c^2,
// and of 2 in c.
TEST(PlanNumbers, WorkOfEvalModIsThatOfBothParts) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  for (const bool real : {false, true}) {
    const Bootstrap plan(own, {.slots = 64, .real = real});
    const std::size_t first = plan.coefficients_to_slots().back().level();
    std::size_t level = first - 1;
    for (const auto& [products, numbers] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 0}, {1, 0}, {1, 2}, {2, 7}, {2, 0}, {1, 0}, {1, 0}, {1, 0}}) {
      const std::size_t limbs = own.literal().levels[level].size(), parts = real ? 1 : 2;
      // Of complex slots i times the imaginary part, before the first step and in the last.
      const bool is_end = (level + 1 == first || level + 8 == first);
      const std::size_t units = real || !is_end ? 0 : (level + 1 == first ? 2 : 3);
      EXPECT_EQ(plan.cost().work.at(level).products, (parts * (4 * products + 2 * numbers) + units) * limbs)
          << level;
      --level;
    }
  }
}

// Errors of the inputs are beside those of the bootstrap, in the worst slot as well.
TEST(PlanNumbers, ErrorsOfABootstrapHaveThoseOfItsInputs) {
  const Bootstrap plan(parameters_for_bootstrapping(bootstrap_preset("test-40")), {.slots = 64});
  const ExpectedError own = plan.expected_error(0), more = plan.expected_error(1e-3);
  EXPECT_NEAR(more.mean, std::hypot(own.mean, 1e-3), 1e-12);
  EXPECT_NEAR(more.worst, std::hypot(own.worst, 1e-3), 1e-12);
}

// A step of the trace divides one component, and the last one both (docs/bootstrapping.md).
TEST(PlanNumbers, WorkOfATraceIsThatOfItsSteps) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const std::size_t top = own.levels() - 1, limbs = own.literal().levels[top].size();
  const Bootstrap plan(own, {.slots = own.max_slots() / 8});
  const LinearTransform& first = plan.coefficients_to_slots().front();
  const Work &all = plan.cost().work.at(top), &matrix = first.cost().work.at(top);
  const rlwe::KeyRole role =
      rlwe::KeyRole::galois(own.galois_element(static_cast<std::int64_t>(plan.slots())));
  const rlwe::GadgetPrimes *turns = nullptr, *raised = nullptr;
  for (const KeyNeed& need : plan.needed_keys()) {
    if (need.role == role && need.gadget.base.size() == limbs) turns = &need.gadget;
    if (need.role.from == rlwe::ephemeral_secret) raised = &need.gadget;
  }
  ASSERT_TRUE(turns != nullptr && raised != nullptr);
  const std::size_t extended = limbs + turns->special.size(), lifted = limbs + raised->special.size();
  // Repetitions: a step of 3 rotations, and one of 1.
  EXPECT_EQ(all.mod_ups - matrix.mod_ups, 2 * digit_limbs(*turns));
  EXPECT_EQ(plan.cost().work.at(0).mod_ups, 2U);  // to the ephemeral secret: q_0 and a special prime
  EXPECT_EQ(all.key_products - matrix.key_products, 2 * ((3 + 1) * digit_limbs(*turns) + lifted));
  EXPECT_EQ(all.divisions - matrix.divisions, (1 + 2) * extended + 2 * lifted);
}

// Levels of quite other scales: what a plan tells is what its result has.
TEST(PlanNumbers, ScalesAreThoseOfARun) {
  const rlwe::Parameters own = ckks::parameters_from_drops({.degree = 1024,
                                                            .last_bits = 56,
                                                            .drops = {35, 38, 42, 44},
                                                            .scale = 0x1p36,
                                                            .security = std::nullopt});
  constexpr std::size_t slots = 16;
  const rlwe::ScalePolicy scales(own);
  ASSERT_GT(std::abs(std::log2(scales.level_scale(4) / scales.level_scale(3))), 0.5);
  const ckks::Session client(own);
  const Ciphertext x = client.encrypt(Values(slots, 0.5));
  const auto check = [&](const Plan& plan, const auto& run) {
    rlwe::EvaluationKeys keys = client.keys;
    keys.merge(plan.generate_keys(client.secret));
    const Ciphertext y = run(ckks::Evaluator(client.context, keys));
    EXPECT_EQ(plan.ends().scale, scales.level_scale(plan.level()));
    EXPECT_EQ(y.meta.level, plan.result_level());
    EXPECT_EQ(plan.ends().result_scale, scales.level_scale(plan.result_level()));
    EXPECT_NEAR(y.meta.scale / plan.ends().result_scale, 1, 0x1p-40);
  };
  const LinearTransform transform(own, {{0, Values(slots, 1)}, {3, Values(slots, 0.5)}}, slots);
  check(transform, [&](const auto& e) { return PreparedLinearTransform(client.context, transform)(e, x); });
  std::vector<bool> kept(slots);
  kept[2] = true;
  const SlotCircuit mask = SlotCircuit::mask(own, kept);
  check(mask, [&](const auto& e) { return PreparedSlotCircuit(client.context, mask)(e, x); });
  const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 4, .stride = 1}, true);
  check(sum, [&](const auto& e) { return PreparedSlotCircuit(client.context, sum)(e, x); });
  const MatrixProduct square(own, 4);
  check(square, [&](const auto& e) { return PreparedMatrixProduct(client.context, square)(e, x, x); });
  const MatrixVectorProduct vector(own, 4, 16);
  const Ciphertext m = client.encrypt(Values(4 * slots, 0.5), {4});
  check(vector, [&](const auto& e) { return PreparedMatrixVectorProduct(client.context, vector)(e, m, x); });
}

// A constant for each slot is a plaintext: 2n words in each limb of the level.
TEST(PlanNumbers, BytesOfAFunctionHaveItsConstants) {
  const rlwe::Parameters own = parameters();
  Function function(std::vector{Interval{}});
  function.set_outputs({function.add({.terms = {{0, {2}}}, .constant = ckks::random_values(test_slots, 1)})});
  const FunctionPlan plan(own, function);
  EXPECT_EQ(plan.cost().plaintext_bytes, own.literal().levels.back().size() * 2 * test_slots * 8);
}

// A sum goes over two components of each limb once for each term and once for its rescale, a product over
// four pairs of components; what is relinearized is rescaled on the way.
TEST(PlanNumbers, WorkOfAFunctionIsThatOfItsSums) {
  const rlwe::Parameters own = parameters();
  Function function(std::vector<Interval>(2));
  const auto a = function.add({.terms = {{0, {0.5}}, {1, {0.25}}, {0, {0.125}}}});
  const auto b = function.add({.terms = {{a, {0.5}}}, .constant = {1}});
  const auto c = function.add({.products = {{b, b}, {a, b}}, .terms = {{b, {0.25}}}});
  function.set_outputs({c});
  const Cost cost = FunctionPlan(own, function).cost();
  const auto limbs = [&](std::size_t level) { return own.literal().levels[level].size(); };
  const auto at = [&](std::size_t level) { return cost.work.at(level); };
  EXPECT_EQ(at(6).products, 3 * 2 * limbs(6));
  EXPECT_EQ(at(6).divisions, 2 * limbs(6));
  EXPECT_EQ(at(6).key_products + at(6).mod_ups, 0U);
  // Beside its own sum, a comes down to where it is multiplied.
  EXPECT_EQ(at(5).products,
            2 * limbs(5));  // of one sum: the other is lowered, a multiple that the division takes
  EXPECT_EQ(at(5).divisions, 2 * 2 * limbs(5));
  const std::size_t extended = limbs(4) + own.default_gadget(4).special.size();
  EXPECT_EQ(at(4).products, (2 * 4 + 2) * limbs(4));
  EXPECT_EQ(at(4).divisions, 2 * extended);
  EXPECT_EQ(cost.rescales, 3U);
  EXPECT_EQ(cost.plain_products, 3U + 1U + 1U);
  EXPECT_EQ(cost.products, 2U);
  EXPECT_EQ(cost.key_products, 1U);
}

// --- Workspaces ---

TEST(PlanNumbers, WorkspacesAreThoseOfARun) {
  const rlwe::Parameters own = parameters();
  for (const std::size_t size : {2, 8, 16}) {
    for (const bool packed : {false, true}) {
      SCOPED_TRACE("matrices of " + std::to_string(size) + (packed ? ", packed" : ""));
      const MatrixProduct plan(own, size, {.packed = packed});
      expect_workspace<PreparedMatrixProduct>(own, plan, {{}, {}}, {plan.slots(), plan.slots()});
    }
  }
  for (const auto& [rows, columns, babies] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{16, 16, 16}, {16, 64, 4}, {64, 16, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const MatrixVectorProduct plan(own, rows, columns, {.baby_steps = babies});
    expect_workspace<PreparedMatrixVectorProduct>(own, plan, {{plan.diagonals()}, {}},
                                                  {plan.matrix_slots(), plan.vector_slots()});
  }
  for (const bool everywhere : {false, true}) {
    SCOPED_TRACE(everywhere ? "sum everywhere" : "sum");
    expect_workspace<PreparedSlotCircuit>(
        own, SlotCircuit::inner_sum(own, 64, {.count = 16, .stride = 2}, everywhere), {{}}, {64});
  }
}

// Two components in each limb of a level: those of the sum that is made, and of the values that are still
// needed, and what it is rescaled to. Steps of one term each, from level 6 down.
TEST(PlanNumbers, ValuesOfAFunctionCountUntilTheirLastUse) {
  const rlwe::Parameters own = parameters();
  const auto ciphertext = [&](std::size_t level) {
    return 2 * own.literal().levels[level].size() * own.degree() * 8;
  };
  const auto told = [&](std::size_t uses_of_first, bool all_outputs) {
    Function function(std::vector{Interval{}});
    std::vector<Function::Value> values;
    for (std::size_t i = 0; i < 6; ++i) {
      Function::Sum sum{.terms = {{i == 0 ? 0 : values.back(), {0.5}}}};
      if (i > 0 && i <= uses_of_first) sum.terms.push_back({values.front(), {0.25}});
      values.push_back(function.add(sum));
    }
    function.set_outputs(all_outputs ? values : std::vector{values.back()});
    return FunctionPlan(own, function).cost().workspace_bytes;
  };
  // One prime is dropped, of two components.
  const std::size_t dropped = 2 * own.degree() * 8;
  // The second step has its sum and the first's, one level below the inputs, and its result below that.
  EXPECT_EQ(told(0, false), 2 * ciphertext(5) + ciphertext(4) + dropped);
  EXPECT_EQ(told(1, false), 2 * ciphertext(5) + ciphertext(4) + dropped);
  // The first one's value stays beside the last's and the sum that is made, which get smaller.
  for (const std::size_t uses : {2, 3, 5}) {
    EXPECT_EQ(told(uses, false), ciphertext(5) + 2 * ciphertext(4) + ciphertext(3) + dropped);
  }
  std::size_t all = 0;
  for (const std::size_t level : {5, 4, 3, 2, 1}) all += ciphertext(level);
  EXPECT_EQ(told(0, true), all + ciphertext(1) + ciphertext(0) + dropped);
}

// What is bootstrapped and what the iterations before made of it stay alive: two ciphertexts.
TEST(PlanNumbers, IterationsKeepTwoCiphertextsMore) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const Bootstrap once(own, {.slots = 64}), twice(own, {.slots = 64, .iterations = 2});
  const auto& levels = own.literal().levels;
  const std::size_t limbs = levels[own.lowest_user_level()].size() + levels[own.highest_user_level()].size();
  EXPECT_EQ(twice.cost().workspace_bytes - once.cost().workspace_bytes, 2 * limbs * own.degree() * 8);
}

// --- Errors ---

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
    const LinearTransform plan(parameters(), diagonals, slots, {.fewest_keys = fewest_keys});
    EXPECT_NEAR(plan.expected_error(large).mean / (std::sqrt(sum) * large), 1, 1e-3);
    EXPECT_NEAR(plan.expected_error(large).worst / (std::sqrt(most) * large), 1, 1e-3);
  }
}

// Of factors of magnitude 1 each product has the errors of both, and as many are added as there are columns.
TEST(PlanNumbers, ErrorsOfMatricesAreThoseOfBothFactors) {
  const rlwe::Parameters own = parameters();
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
  EXPECT_NEAR(FunctionPlan(parameters(), function).expected_error(large).mean / large, std::sqrt(28.0 / 3),
              1e-3);
  for (const auto& outputs : {std::vector<Function::Value>{square, 0}, {0, square}}) {
    function.set_outputs(outputs);
    const ExpectedError error = FunctionPlan(parameters(), function).expected_error(large);
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
  rlwe::ParametersLiteral literal = parameters().literal();
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
  const MatrixProduct plan(parameters(), size);
  const ckks::Session client(parameters());
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
  // Of encryptions with the secret key: sigma in 2n coefficients, and the rounding of the encoding.
  const double fresh =
      std::sqrt(2.0 * static_cast<double>(plan.slots()) * (3.19 * 3.19 + 1.0 / 12)) / plan.ends().scale;
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error(fresh).mean), 0, 0.25);
}

// x - 3 y: each input has its own slope.
TEST(PlanNumbers, ErrorsOfAFunctionAreThoseOfAllInputs) {
  Function function(std::vector(2, Interval{}));
  function.set_outputs({function.add({.terms = {{0, {1}}, {1, {-3}}}})});
  const ExpectedError error = FunctionPlan(parameters(), function).expected_error(large);
  EXPECT_NEAR(error.mean / large, std::sqrt(10.0), 1e-3);
  EXPECT_NEAR(error.worst / large, std::sqrt(10.0), 1e-3);
}

// Steps by few keys: each of up to 15 is turned from the one before, a stride apart, and rounds once more.
TEST(PlanNumbers, ErrorsOfStepsByFewKeysAreThoseOfARun) {
  constexpr std::size_t stride = 16;
  Diagonals diagonals;
  for (std::size_t i = 0; i < 16; ++i) {
    diagonals[stride * i] = ckks::random_values(test_slots, i);
  }
  const LinearTransform plan(parameters(), diagonals, test_slots, {.baby_steps = 16, .fewest_keys = true});
  ASSERT_EQ(plan.rotations(), std::vector<std::size_t>{stride});
  const ckks::Session client(parameters());
  const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
  const Values x = ckks::random_values(test_slots, 40);
  Values expected(test_slots);
  for (const auto& [number, diagonal] : diagonals) {
    for (std::size_t k = 0; k < test_slots; ++k) {
      expected[k] += diagonal[k] * x[(k + number) % test_slots];
    }
  }
  const Values found =
      client.decrypt(PreparedLinearTransform(client.context, plan)(evaluator, client.encrypt(x)));
  EXPECT_NEAR(std::log2(root_mean_square(found, expected) / plan.expected_error().mean), 0, 0.5);
}

// --- Functions ---

TEST(PlanNumbers, ComplexConstantsMakeAFunctionComplex) {
  for (const bool is_real : {true, false}) {
    Function function(std::vector{Interval{}});
    function.add({.terms = {{0, {1}}}, .constant = {is_real ? Complex(2) : Complex(2, 1)}});
    EXPECT_EQ(function.is_real(), is_real);
  }
  Function function(std::vector{Interval{}});
  EXPECT_THROW(function.add({.terms = {{0, {1}}}, .constant = {HUGE_VAL}}), ParameterError);
}

// By iterations, too.
TEST(PlanNumbers, ARootIsAtMostThatOfTheEnd) {
  const Function function = square_root({0.1, 1000}, 0x1p-15);
  ASSERT_GT(function.parts().size(), 1U);
  EXPECT_EQ(function.largest(), std::vector<double>{std::sqrt(1000.0)});
}

// A clip adds its error to that of the function, which it leaves as it is where the function is flat.
TEST(PlanNumbers, ErrorsOfClippedFunctionsAreThoseOfBoth) {
  const RealFunction exact = [](double x) { return 1 / (1 + std::exp(-std::clamp(x, -8.0, 8.0))); };
  for (const double tolerance : {0x1p-4, 0x1p-6}) {
    const Function function = clipped(sigmoid, {-8, 8}, tolerance, 20);
    EXPECT_LE(function.error(), tolerance);
    const Values x = spread({-20, 20}, 8001);
    const Values y = function.evaluate(Rows{x}).front();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(y[i].real() - exact(x[i].real())));
    }
    EXPECT_LE(worst, function.error() * (1 + 1e-3));
    EXPECT_GE(worst, function.error() / 4);
  }
}

// Of several outputs each has its own bound: |x y| <= 24, |x - 2 y| <= 14, |x| <= 8.
TEST(PlanNumbers, EachOutputHasItsOwnBound) {
  Function function({Interval{-8, 2}, Interval{-1, 3}});
  const auto product = function.add({.products = {{0, 1}}});
  const auto sum = function.add({.terms = {{0, {1}}, {1, {-2}}}});
  const std::map<Function::Value, double> bounds = {{product, 24}, {sum, 14}, {0, 8}};
  const FunctionSession session(parameters());
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, -8), {}, {}, {}, 8), session.client.secret);
  const Ciphertext y =
      ckks::encrypt(session.client.encoder->encode(Values(8, 3), {}, {}, {}, 3), session.client.secret);
  for (const auto& outputs : {std::vector<Function::Value>{product, sum, 0}, {0, sum, product, sum}}) {
    function.set_outputs(outputs);
    const auto results = session.run(FunctionPlan(parameters(), function), {&x, &y});
    ASSERT_EQ(results.size(), outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_DOUBLE_EQ(results[i].meta.largest, bounds.at(outputs[i])) << i;
    }
  }
}

// The scale that a plan tells is that of the first result among those of the lowest level.
TEST(PlanNumbers, ResultScaleIsThatOfTheFirstResultOfItsLevel) {
  Function function(std::vector{Interval{}});
  const auto product = function.add({.products = {{0, 0}}});
  const auto sum = function.add({.terms = {{0, {0.5}}}});
  const FunctionSession session(parameters());
  const auto& context = *session.client.context;
  const double scale = context.scales().level_scale(6) * 1.25;
  const Ciphertext x =
      ckks::encrypt(session.client.encoder->encode(Values(8, 0.5), {}, 6, scale), session.client.secret);
  for (const auto& outputs :
       {std::vector<Function::Value>{product, sum}, {sum, product}, {0, sum, product}}) {
    function.set_outputs(outputs);
    const FunctionPlan plan(parameters(), function, {.scale = scale, .results_drift = true});
    const auto results = session.run(plan, {&x});
    std::size_t first = 0;
    while (results[first].meta.level != plan.result_level()) ++first;
    const double other = results.back().meta.scale / results[first].meta.scale;
    ASSERT_GT(std::abs(std::log2(other)), 0.1);
    EXPECT_NEAR(plan.ends().result_scale / results[first].meta.scale, 1, 1e-12);
    for (const Ciphertext& result : results) EXPECT_GE(result.meta.level, plan.result_level());
  }
}

// What waits for its rescale is a level lower than its metadata tell: it is rescaled before it is used, and
// refused where that leaves it below the plan's level.
TEST(PlanNumbers, InputsOfAFunctionAreRescaledFirst) {
  Function function(std::vector{Interval{}});
  function.set_outputs({0, function.add({.terms = {{0, {0.5}}}})});
  const FunctionSession session(parameters());
  const Ciphertext x = session.client.encrypt(Values(8, 0.5));
  const Ciphertext waiting = session.client.evaluator->square(x);
  ASSERT_EQ(waiting.meta.noise_scale_degree, 2);
  for (const std::size_t level : {5, 4}) {
    const FunctionPlan plan(parameters(), function, {.level = level});
    const auto results = session.run(plan, {&waiting});
    EXPECT_EQ(results[0].meta.level, level);
    EXPECT_EQ(results[0].meta.noise_scale_degree, 1);
    EXPECT_LT(ckks::largest_difference(session.client.decrypt(results[0]), Values(8, 0.25)), 1e-6);
    EXPECT_LT(ckks::largest_difference(session.client.decrypt(results[1]), Values(8, 0.125)), 1e-6);
  }
  EXPECT_THROW(static_cast<void>(session.run(FunctionPlan(parameters(), function, {.level = 6}), waiting)),
               LevelError);
  // Of the very scale that the plan has: it waits all the same.
  const FunctionPlan same(parameters(), function, {.level = 6, .scale = waiting.meta.scale});
  EXPECT_THROW(static_cast<void>(session.run(same, waiting)), LevelError);
}

// |i x| <= 2 to both sides, whatever the sign of its real part.
TEST(PlanNumbers, IntervalsOfStagesHoldMagnitudesOfComplexValues) {
  Function function(std::vector{Interval{-2, 1}});
  const auto turned = function.add({.terms = {{0, {Complex(0, 1)}}}});
  function.set_outputs({function.add({.products = {{turned, turned}}})});
  const auto stages = stages_of(function, 1, 1);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].function.largest(), std::vector<double>{2});
  EXPECT_EQ(stages[1].function.inputs().front(), (Interval{-2, 2}));
  EXPECT_EQ(stages[1].function.largest(), std::vector<double>{4});
}

// The best polynomial's weighted errors alternate at degree + 2 points (P. Chebyshev), also where the
// function is even and the weight is not.
TEST(PlanNumbers, AWeightThatIsNotEvenLeavesNoParity) {
  constexpr std::size_t degree = 3;
  const RealFunction weight = [](double x) { return std::exp(2 * x); };
  const Approximation found =
      approximate([](double x) { return std::cos(2 * x); }, {-1, 1}, degree, {.weight = weight});
  std::size_t alternations = 0;
  double sign = 0;
  for (int i = -5000; i <= 5000; ++i) {
    const double x = i / 5000.0;
    const double error = weight(x) * (std::cos(2 * x) - found.polynomial.evaluate(0, x).real());
    if (std::abs(error) < 0.99 * found.error || error * sign > 0) continue;
    ++alternations;
    sign = error;
  }
  EXPECT_GE(alternations, degree + 2);
}

}  // namespace
}  // namespace hemera::circuits
