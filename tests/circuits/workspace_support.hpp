// The workspace of a plan against the memory that a context had in a run.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "schemes/ckks_support.hpp"

namespace hemera::circuits {

/// Runs the prepared plan with inputs of these batches and slots at its level: it takes the plan's bytes.
template <typename Prepared, typename PlanOf>
void expect_workspace(const rlwe::Parameters& parameters, const PlanOf& plan,
                      const std::vector<rlwe::BatchShape>& shapes, const std::vector<std::size_t>& slots) {
  const auto context = rlwe::Context::make(parameters, {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
  std::vector<rlwe::Ciphertext> inputs;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::size_t count = rlwe::batch_count(shapes[i]) * slots[i];
    inputs.push_back(ckks::encrypt(
        ckks::Encoder(context).encode(ckks::random_values(count, i), shapes[i], plan.level()), secret));
  }
  const Prepared prepared(context, plan);
  const auto run = [&] {
    if constexpr (requires { prepared(evaluator, inputs[0], inputs[1]); }) {
      static_cast<void>(prepared(evaluator, inputs[0], inputs[1]));
    } else {
      static_cast<void>(prepared(evaluator, inputs[0]));
    }
  };
  run();  // constants of levels and keys are made at the first run
  const std::size_t before = context->memory_used();
  context->memory()->reset_peak();
  run();
  EXPECT_EQ(plan.cost().workspace_bytes, context->memory()->peak() - before);
}

}  // namespace hemera::circuits
