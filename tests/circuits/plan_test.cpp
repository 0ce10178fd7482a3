// What plans tell of their costs, beside what contexts measure.
#include "hemera/circuits/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
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

}  // namespace
}  // namespace hemera::circuits::plan_tests
