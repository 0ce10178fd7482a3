// Numbers that plans of matrices and slots report of their keys, their work and their memory, and bounds that
// results carry (Metadata::largest). The judge is a formula or a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"

namespace hemera::circuits::linear_numbers_tests {
namespace {

using ckks::Values;
using rlwe::Ciphertext;

// Digits of one prime each, in windows of so many bits (0: whole).
rlwe::Parameters by_primes(int window_bits, bool has_special = true) {
  rlwe::ParametersLiteral literal = ckks::small_parameters(4).literal();
  literal.digits.clear();
  for (const std::uint64_t prime : literal.levels.back()) literal.digits.push_back({prime});
  literal.window_bits = window_bits;
  literal.special_primes.resize(has_special ? 1 : 0);
  literal.roots.clear();
  return rlwe::Parameters(literal);
}

struct Kind {
  const char* name;
  rlwe::Parameters parameters;
};

std::vector<Kind> kinds() {
  return {
      {"three digits", ckks::small_parameters(6, 3)},
      {"a digit for each prime", by_primes(0)},
      {"windows", by_primes(17)},
      {"windows without special primes", by_primes(20, false)},
      {"levels that are no parts of each other", parameters_for_bootstrapping(bootstrap_preset("test-40"))}};
}

// Each window of a digit is one.
TEST(LinearNumbers, DigitsOfKeysAreThoseOfTheirGadgets) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const rlwe::Parameters& own = kind.parameters;
    const auto context = rlwe::Context::make(own, {}, {.threads = 1});
    for (std::size_t level = 0; level < own.levels(); ++level) {
      std::vector<rlwe::GadgetPrimes> gadgets{own.default_gadget(level)};
      rlwe::GadgetPrimes fine = gadgets.front();
      fine.digits.clear();
      for (const std::uint64_t prime : fine.base) fine.digits.push_back({prime});
      gadgets.push_back(fine);
      if (!own.literal().special_primes.empty()) gadgets.push_back(rotation_gadget(own, level, 3));
      for (const rlwe::GadgetPrimes& primes : gadgets) {
        EXPECT_EQ(rlwe::key_digits(primes), context->gadget(primes)->digits().size());
      }
    }
  }
}

// All plans, with keys of whole digits and of windows: the bytes are those that the keys take.
TEST(LinearNumbers, BytesOfKeysAreThoseOfTheKeys) {
  constexpr std::size_t slots = 16;
  for (const int window : {0, 17, 25}) {
    SCOPED_TRACE(window);
    const rlwe::Parameters own = by_primes(window);
    const auto context = rlwe::Context::make(own, {}, {.threads = 1});
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const Values matrix = ckks::random_values(slots * slots, 1);
    const LinearTransform transform(own, diagonals_of(matrix, slots, slots, slots), slots, {.level = 2});
    const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 4}, true);
    const MatrixProduct square(own, 4);
    const MatrixVectorProduct vector(own, 4, 16, {.level = 3});
    for (const Plan* plan : std::initializer_list<const Plan*>{&transform, &sum, &square, &vector}) {
      EXPECT_EQ(plan->generate_keys(secret).memory_bytes(), plan->cost().key_bytes);
    }
    const auto relinearization = rlwe::generate_keys(secret, {.public_key = false});
    EXPECT_EQ(own.switching_key_bytes(), relinearization.memory_bytes());
  }
}

// Rotations of the right factor share a ModUp and sums are relinearized once, a level below the first
// transforms: with the keys of the level above, of whose digits one has no prime there. The left factor comes
// down from that level.
TEST(LinearNumbers, WorkOfProductsIsThatOfTheirOwnLevel) {
  for (const int window : {0, 17}) {
    const rlwe::Parameters own = by_primes(window);
    const auto context = rlwe::Context::make(own, {}, {.threads = 1});
    for (const std::size_t d : {2, 4}) {
      for (const bool packed : {false, true}) {
        const MatrixProduct plan(own, d, {.level = 4, .packed = packed});
        const std::size_t level = plan.result_level() + 1;
        const poly::ModUp& up = context->gadget(own.default_gadget(4))->mod_up(level);
        const std::size_t digits = up.digits().size(), extended = up.extended().size();
        const std::size_t limbs = context->base(level).size();
        ASSERT_LT(digits, rlwe::key_digits(own.default_gadget(4)));
        const Work& work = plan.cost().work.at(level);
        EXPECT_EQ(work.mod_ups, 2 * digits * extended);
        EXPECT_EQ(work.key_products, 2 * d * digits * extended);
        EXPECT_EQ(work.divisions, 2 * (d * extended + limbs));
        EXPECT_EQ(work.products, 4 * d * limbs);
      }
    }
  }
}

// Elements are powers of the generator modulo 2N, of which N/2 differ; 1 is that of no rotation.
TEST(LinearNumbers, RotationsOfKeysAreBelowHalfTheDegree) {
  const rlwe::Parameters integers = bfv::parameters_for({.depth = 1, .security = std::nullopt});
  for (const rlwe::Parameters& own : {ckks::small_parameters(2), integers}) {
    std::vector<KeyNeed> needs = {{rlwe::KeyRole::relinearization(), {}},
                                  {rlwe::KeyRole::galois(2 * own.degree() - 1), {}}};
    std::map<std::uint64_t, std::size_t> expected;
    std::uint64_t element = 1;
    for (std::size_t step = 1; step < own.degree() / 2; ++step) {
      element = element * own.galois_element(1) % (2 * own.degree());
      if (step > 2 && step + 2 < own.degree() / 2) continue;
      expected.emplace(element, step);
      needs.push_back({rlwe::KeyRole::galois(element), {}});
    }
    EXPECT_EQ(rotation_steps(own, needs), expected);
    EXPECT_TRUE(rotation_steps(own, {}).empty());
  }
}

// Noise of switches by windows, which without special primes no division makes smaller: measured.
TEST(LinearNumbers, ErrorsOfWindowsAreThoseOfARun) {
  constexpr std::size_t slots = 512;
  for (const int window : {12, 20}) {
    for (const bool has_special : {false, true}) {
      SCOPED_TRACE(std::to_string(window) + (has_special ? ", a special prime" : ""));
      const rlwe::Parameters own = by_primes(window, has_special);
      const SlotCircuit plan = SlotCircuit::inner_sum(own, slots, {.count = 2});
      const ckks::Session client(own, {.relinearization = false});
      const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
      const Values x = ckks::random_values(slots, 60);
      const Values found =
          client.decrypt(PreparedSlotCircuit(client.context, plan)(evaluator, client.encrypt(x)));
      double squares = 0;
      for (std::size_t i = 0; i < slots; ++i) squares += std::norm(found[i] - x[i] - x[(i + 1) % slots]);
      const double measured = std::sqrt(squares / slots);
      // Windows are not signed: their mean meets a few slots alone, so that draws differ.
      EXPECT_NEAR(std::log2(measured / plan.expected_error().mean), 0, 1.6);
    }
  }
}

// Baby steps share a ModUp; each giant step has one, and divides one component, the end two. Every diagonal
// multiplies two components, and is stored by its period.
TEST(LinearNumbers, WorkOfTransformsIsThatOfTheirSteps) {
  constexpr std::size_t slots = 64, level = 3;
  const rlwe::Parameters own = ckks::small_parameters(4, 2);
  const rlwe::GadgetPrimes gadget = own.default_gadget(level);
  const std::size_t limbs = own.literal().levels[level].size() + gadget.special.size();
  const std::size_t digits = gadget.digits.size();
  for (const std::size_t period : {std::size_t{16}, slots}) {
    Values values(slots);
    for (std::size_t k = 0; k < slots; ++k) values[k] = static_cast<double>(k % period + 1);
    Diagonals diagonals;
    for (std::size_t number = 0; number < 16; ++number) diagonals[number] = values;
    const LinearTransform plan(own, diagonals, slots, {.level = level, .baby_steps = 4});
    const Work& work = plan.cost().work.at(level);
    EXPECT_EQ(work.mod_ups, (1 + 3) * digits * limbs);
    EXPECT_EQ(work.key_products, (3 + 3) * 2 * digits * limbs);
    EXPECT_EQ(work.divisions, (3 + 2) * limbs);
    EXPECT_EQ(work.products, 16 * 2 * limbs);
    EXPECT_EQ(plan.cost().plaintext_bytes, 16 * limbs * ckks::period_entries(period) * 8);
  }
}

constexpr double infinite = std::numeric_limits<double>::infinity();

rlwe::Parameters up_to(double largest, std::size_t depth) {
  return ckks::parameters_for({.depth = depth,
                               .scale_bits = 40,
                               .slots = 64,
                               .largest = largest,
                               .degree = 1024,
                               .security = std::nullopt});
}

TEST(DeclaredBounds, CircuitsOfSlotsMultiplyThemByTheirSums) {
  const rlwe::Parameters parameters = up_to(4, 2);
  const auto run = [&](const SlotCircuit& plan) {
    const ckks::Session client(parameters);
    rlwe::EvaluationKeys keys = client.keys;
    keys.merge(plan.generate_keys(client.secret));
    const ckks::Evaluator evaluator(client.context, keys);
    return PreparedSlotCircuit(client.context, plan)(evaluator, client.encrypt(Values(64, 4))).meta.largest;
  };
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 8, .stride = 2}, false)), 32);
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 64, .stride = 1}, true)), 256);
  EXPECT_EQ(run(SlotCircuit::mask(parameters, std::vector<bool>(64, true))), 4);
  // A copy is as large as what is copied, and a sum that is copied as the sum.
  EXPECT_EQ(run(SlotCircuit::replication(parameters, 64, {.count = 8, .stride = 2}, 3)), 4);
  EXPECT_EQ(run(SlotCircuit::replication(parameters, 64, {.count = 64, .stride = 1}, 63)), 4);
  EXPECT_EQ(run(SlotCircuit::inner_sum(parameters, 64, {.count = 8, .stride = 2}, true)), 32);
}

// The bound of a product is the largest that a vector within its own bound has: the largest sum of
// magnitudes in a row of the matrix, times that bound. Entries may exceed the bound of values, and be much
// smaller.
TEST(DeclaredBounds, OfMatricesAreReachedByAVector) {
  constexpr std::size_t slots = 8;
  for (const double largest : {0.25, 10.0}) {
    const rlwe::Parameters parameters = up_to(largest, 3);
    const ckks::Session client(parameters);
    for (const double entry : {0.01, 1.0, 40.0}) {
      Diagonals diagonals;
      std::vector<double> rows(slots);
      for (const std::size_t number : {0, 1, 5, 7}) {
        diagonals[number] = ckks::random_values(slots, number, entry);
        diagonals[number][5] *= 3;  // the largest row is not the first
        for (std::size_t k = 0; k < slots; ++k) rows[k] += std::abs(diagonals[number][k]);
      }
      const auto row = static_cast<std::size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
      Values x(slots);
      for (const auto& [number, diagonal] : diagonals) {
        x[(row + number) % slots] = largest * std::conj(diagonal[row]) / std::abs(diagonal[row]);
      }
      for (const LinearTransformOptions& options : std::initializer_list<LinearTransformOptions>{
               {}, {.fewest_keys = true}, {.rescaled = false}, {.level = 2}}) {
        const LinearTransform plan(parameters, diagonals, slots, options);
        const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
        const Ciphertext y = PreparedLinearTransform(client.context, plan)(evaluator, client.encrypt(x));
        EXPECT_NEAR(y.meta.largest / (largest * rows[row]), 1, 1e-12);
        EXPECT_NEAR(std::abs(client.decrypt(y)[row]), y.meta.largest, 1e-5 * (1 + entry));
      }
      // A smaller bound of some values, and none.
      const LinearTransform plan(parameters, diagonals, slots);
      const ckks::Evaluator evaluator(client.context, plan.generate_keys(client.secret));
      const PreparedLinearTransform prepared(client.context, plan);
      const auto bound_of = [&](double own) {
        const auto some = client.encoder->encode(Values(slots), {}, {}, {}, own);
        return prepared(evaluator, ckks::encrypt(some, client.secret)).meta.largest;
      };
      EXPECT_EQ(bound_of(0), 0);
      EXPECT_NEAR(bound_of(0.125) / (0.125 * rows[row]), 1, 1e-12);
      EXPECT_EQ(bound_of(infinite), infinite);
    }
  }
}

// A permutation by many diagonals changes no bound; a sum of d products of two values is at most d times
// their bounds' product. Masks of ones are no values: they may exceed a bound below 1.
TEST(DeclaredBounds, OfPermutationsAndProductsOfMatrices) {
  constexpr std::size_t d = 4, slots = d * d;
  for (const double largest : {0.25, 1.0, 10.0}) {
    SCOPED_TRACE(largest);
    const rlwe::Parameters parameters = up_to(largest, 4);
    const ckks::Session client(parameters);
    const Ciphertext x = client.encrypt(Values(slots, largest));
    Diagonals reversal;  // slot k from slot -k
    for (std::size_t k = 0; k < slots; ++k) {
      auto& diagonal = reversal[(2 * slots - 2 * k) % slots];
      diagonal.resize(slots);
      diagonal[k] = 1;
    }
    const LinearTransform permutation(parameters, reversal, slots);
    const ckks::Evaluator evaluator(client.context, permutation.generate_keys(client.secret));
    EXPECT_EQ(PreparedLinearTransform(client.context, permutation)(evaluator, x).meta.largest, largest);
    for (const bool packed : {false, true}) {
      const MatrixProduct plan(parameters, d, {.packed = packed});
      const ckks::Evaluator own(client.context, plan.generate_keys(client.secret));
      const Ciphertext y = PreparedMatrixProduct(client.context, plan)(own, x, x);
      EXPECT_DOUBLE_EQ(y.meta.largest, d * largest * largest);
      EXPECT_LT(client.error(y, Values(slots, d * largest * largest)), 1e-4);
    }
    const MatrixVectorProduct vector(parameters, d, slots);
    const ckks::Evaluator own(client.context, vector.generate_keys(client.secret));
    const Ciphertext m = client.encrypt(vector.pack(Values(d * slots, largest)), {d});
    const Ciphertext y = PreparedMatrixVectorProduct(client.context, vector)(own, m, x);
    EXPECT_DOUBLE_EQ(y.meta.largest, slots * largest * largest);
    EXPECT_LT(client.error(y, Values(d, slots * largest * largest)), 1e-3);
  }
}

}  // namespace
}  // namespace hemera::circuits::linear_numbers_tests
