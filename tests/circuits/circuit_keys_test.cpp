// Keys, parameters and levels of circuits: those that are needed, that serve, and that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "circuits/operands_support.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::operands {
namespace {

// A key less is named; nothing is computed without it. Other keys that serve may take its place.
TEST(CircuitKeys, EachOneIsNeeded) {
  const rlwe::Parameters own = parameters();
  const Values matrix = ckks::random_values(slots * slots, 1);
  const LinearTransform transform(own, diagonals_of(matrix, slots, slots, slots), slots,
                                  {.level = plan_level}),
      few(own, diagonals_of(matrix, slots, slots, slots), slots, {.level = plan_level, .fewest_keys = true});
  const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 4, .stride = 2}, true,
                                                 {.level = plan_level, .own_keys = true});
  const MatrixProduct square(own, 4, {.level = plan_level});
  const MatrixVectorProduct vector(own, 4, 16, {.level = plan_level});
  const FunctionPlan function(own, sigmoid({-2, 2}, 0x1p-8), {.level = plan_level});
  const ckks::Session client(own, {.relinearization = false});
  const Ciphertext x = client.encrypt(Values(slots, 0.5));
  const Ciphertext m = client.encrypt(Values(4 * slots, 0.5), {4});
  const std::vector<std::pair<const Plan*, std::function<Ciphertext(const ckks::Evaluator&)>>> circuits = {
      {&transform, [&](const auto& e) { return PreparedLinearTransform(client.context, transform)(e, x); }},
      {&few, [&](const auto& e) { return PreparedLinearTransform(client.context, few)(e, x); }},
      {&sum, [&](const auto& e) { return PreparedSlotCircuit(client.context, sum)(e, x); }},
      {&square, [&](const auto& e) { return PreparedMatrixProduct(client.context, square)(e, x, x); }},
      {&vector, [&](const auto& e) { return PreparedMatrixVectorProduct(client.context, vector)(e, m, x); }},
      {&function, [&](const auto& e) {
         return std::move(PreparedFunction(client.context, function)(e, std::vector{&x}).front());
       }}};
  for (std::size_t i = 0; i < circuits.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& [plan, run] = circuits[i];
    const rlwe::EvaluationKeys keys = plan->generate_keys(client.secret);
    const Values expected = client.decrypt(run(ckks::Evaluator(client.context, keys)));
    // Bytes of keys that were made, and of plaintexts that are held, are those that were told.
    EXPECT_EQ(keys.memory_bytes(), plan->cost().key_bytes);
    ASSERT_FALSE(plan->needed_keys().empty());
    for (const KeyNeed& need : plan->needed_keys()) {
      rlwe::EvaluationKeys fewer = keys;
      fewer.switching.at(need.role).erase(need.gadget);
      if (fewer.switching.at(need.role).empty()) fewer.switching.erase(need.role);
      // Turns of a vector may be sums of others; all else is refused.
      try {
        const Ciphertext found = run(ckks::Evaluator(client.context, fewer));
        EXPECT_EQ(plan, &vector);
        EXPECT_LT(client.error(found, expected), 1e-5);
      } catch (const MissingKeyError&) {
      }
    }
  }
}

// Keys of other gadgets than the plan's: those of the same special primes serve, if they serve the level.
TEST(CircuitKeys, OfOtherGadgets) {
  const rlwe::Parameters own = parameters();
  const Values matrix = ckks::random_values(slots * slots, 1);
  const LinearTransform plan(own, diagonals_of(matrix, slots, slots, slots), slots, {.level = plan_level});
  const ckks::Session client(own);
  const PreparedLinearTransform prepared(client.context, plan);
  const Values values = ckks::random_values(slots, 2);
  const Ciphertext x = client.encrypt(values);
  rlwe::GadgetPrimes fewer_special = own.default_gadget(plan_level), finer = fewer_special;
  fewer_special.special.pop_back();
  fewer_special.digits = rlwe::consecutive_digits(fewer_special.base, fewer_special.special);
  finer.digits.clear();
  for (const std::uint64_t prime : finer.base) finer.digits.push_back({prime});
  const std::vector<std::pair<bool, rlwe::GadgetPrimes>> gadgets = {
      {true, own.default_gadget(plan_level + 1)},
      {true, finer},
      {false, own.default_gadget(plan_level - 1)},
      {false, fewer_special}};
  for (std::size_t i = 0; i < gadgets.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<KeyNeed> needs;
    for (const KeyNeed& need : plan.needed_keys()) needs.push_back({need.role, gadgets[i].second});
    const ckks::Evaluator evaluator(client.context, generate_needed_keys(client.secret, needs));
    if (gadgets[i].first) {
      EXPECT_LT(client.error(prepared(evaluator, x), product(matrix, values, slots, slots)), 1e-5);
    } else {
      EXPECT_THROW(static_cast<void>(prepared(evaluator, x)), MissingKeyError);
    }
  }
}

// Plans are of parameters: others than the context's are refused, equal ones in another context are not.
TEST(CircuitParameters, OfAPlanAreThoseOfTheContext) {
  const rlwe::Parameters own = parameters();
  rlwe::ParametersLiteral literal = own.literal();
  literal.sigma = 3.2;
  const rlwe::Parameters other(literal);
  const auto context = tests::make_context(own);
  const Values matrix = ckks::random_values(slots * slots, 1);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  for (const bool fits : {true, false}) {
    const rlwe::Parameters& of = fits ? own : other;
    const std::vector<std::function<void()>> prepared = {
        [&] { PreparedLinearTransform(context, LinearTransform(of, diagonals, slots)); },
        [&] { PreparedSlotCircuit(context, SlotCircuit::mask(of, std::vector<bool>(slots, true))); },
        [&] { PreparedMatrixProduct(context, MatrixProduct(of, 4)); },
        [&] { PreparedMatrixVectorProduct(context, MatrixVectorProduct(of, 4, 4)); },
        [&] {
          PreparedFunction(context, FunctionPlan(of, sigmoid({-1, 1}, 0.01)));
        },
        [&] { return MatrixProduct(of, 4).generate_keys(rlwe::generate_secret_key(context)); }};
    for (const auto& prepare : prepared) {
      if (fits) {
        EXPECT_NO_THROW(prepare());
      } else {
        EXPECT_THROW(prepare(), MismatchError);
      }
    }
  }
}

// A key back from the ephemeral secret of several digits, as other libraries have it.
TEST(CircuitKeys, RaisingTakesKeysOfSeveralDigits) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const ckks::Session client(own);
  const std::size_t top = own.levels() - 1;
  const rlwe::GadgetPrimes narrow = to_ephemeral_gadget(own);
  rlwe::GadgetPrimes wide = from_ephemeral_gadget(own, top);
  wide.special = own.literal().special_primes;
  const auto& others = own.literal().key_primes;
  wide.special.insert(wide.special.end(), others.begin(), others.end());
  wide.digits.clear();
  for (const std::uint64_t prime : wide.base) {
    if (wide.digits.empty() || wide.digits.back().size() == (wide.base.size() + 2) / 3)
      wide.digits.emplace_back();
    wide.digits.back().push_back(prime);
  }
  const rlwe::EncapsulationKeys keys =
      rlwe::generate_encapsulation_keys(client.secret, rlwe::usual_ephemeral_weight,
                                        client.context->gadget(narrow), client.context->gadget(wide));
  const Values x = ckks::random_values(512, 3);
  const Ciphertext low = ckks::encrypt(client.encoder->encode(x, {}, 0), client.secret);
  const Ciphertext high = rlwe::mod_down(mod_raise(low, *keys.to_ephemeral, *keys.from_ephemeral, top));
  // Modulo q_0 it is what it was, with the noise of two switches.
  Ciphertext again = high.clone();
  client.evaluator->drop_to_level_inplace(again, 0);
  EXPECT_LT(client.error(again, x), 1e-3);
  // And over the whole modulus m + q_0 I, where I is small: a few q_0, under the sparse secret.
  const double coefficients = std::exp2(client.context->base(0).log2() - std::log2(low.meta.scale));
  double largest = 0;
  for (const Complex& value : client.decrypt(high)) largest = std::max(largest, std::abs(value));
  EXPECT_LT(largest, coefficients * 16 * 512);
  EXPECT_GT(largest, coefficients);
}

// Parameters that insist on security, and a gadget of a plan above it.
TEST(CircuitKeys, WeakOnesAreRefusedBeforeAnyIsMade) {
  const rlwe::Parameters secure = ckks::parameters_for({.depth = 2, .slots = 8});
  rlwe::ParametersLiteral literal = secure.literal();
  literal.key_primes = arith::primes_below(std::uint64_t{1} << 59, 2 * literal.degree, 8);
  const rlwe::Parameters own(literal);
  const auto context = tests::make_context(own);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::GadgetPrimes weak = own.default_gadget(own.levels() - 1);
  const KeyNeed strong{rlwe::KeyRole::galois(5), weak};
  weak.special.insert(weak.special.end(), literal.key_primes.begin(), literal.key_primes.end());
  weak.digits = {weak.base};
  for (const rlwe::KeyRole& role : {rlwe::KeyRole::relinearization(), rlwe::KeyRole::galois(5)}) {
    const std::vector<KeyNeed> needs = {strong, {role, weak}};
    EXPECT_THROW(static_cast<void>(generate_needed_keys(secret, needs)), SecurityError);
  }
  EXPECT_NO_THROW(static_cast<void>(generate_needed_keys(secret, std::vector{strong})));
}

// Levels below the user's belong to circuits: a product of matrices does not end there.
TEST(CircuitLevels, EndWhereTheUsersDo) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const std::size_t lowest = own.lowest_user_level(), highest = own.highest_user_level();
  ASSERT_GT(lowest, 0U);
  const Values matrix = ckks::random_values(slots * slots, 1);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  std::vector<bool> kept(slots, true);
  const std::vector<std::pair<std::size_t, std::function<void(std::size_t)>>> plans = {
      {3, [&](std::size_t level) { MatrixProduct(own, 4, {.level = level}); }},
      {2, [&](std::size_t level) { MatrixProduct(own, 4, {.level = level, .packed = true}); }},
      {1, [&](std::size_t level) { LinearTransform(own, diagonals, slots, {.level = level}); }},
      {1, [&](std::size_t level) { MatrixVectorProduct(own, 4, 4, {.level = level}); }},
      {1, [&](std::size_t level) { return SlotCircuit::mask(own, kept, {.level = level}); }},
      {1,
       [&](std::size_t level) {
         return SlotCircuit::replication(own, slots, {.count = 4}, 1, false, {.level = level});
       }},
      {2, [&](std::size_t level) {
         FunctionPlan(own, Function(Polynomial({0, 1, 0, 1}, Basis::power)), {.level = level});
       }}};
  for (const auto& [depth, plan] : plans) {
    SCOPED_TRACE(depth);
    EXPECT_NO_THROW(plan(highest));
    if (lowest + depth <= highest) {
      EXPECT_NO_THROW(plan(lowest + depth));
    }
    EXPECT_THROW(plan(lowest + depth - 1), LevelError);
    EXPECT_THROW(plan(highest + 1), LevelError);
  }
}

}  // namespace
}  // namespace hemera::circuits::operands
