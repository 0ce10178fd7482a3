// Work of plans, level by level: formulas and counts by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "member_count.hpp"

namespace hemera::circuits::plan_costs {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

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
      // The keys of this level that the plan asks for.
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
  // Each step divides one component but a chain's first, whose operand is not extended; the sum divides at
  // the end.
  EXPECT_EQ(plan.cost().divisions, 4U + 1U);
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

// Iterations of real slots drop imaginary parts of the input and of the first result, by a conjugate each.
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
      // Complex slots take i times the imaginary part, before the first step and in the last.
      const bool is_end = (level + 1 == first || level + 8 == first);
      const std::size_t units = real || !is_end ? 0 : (level + 1 == first ? 2 : 3);
      EXPECT_EQ(plan.cost().work.at(level).products, (parts * (4 * products + 2 * numbers) + units) * limbs)
          << level;
      --level;
    }
  }
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

}  // namespace
}  // namespace hemera::circuits::plan_costs
