// What the tests of functions share: a client whose keys a plan asked for, and its results beside the clear.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {

using ckks::Complex;
using ckks::Values;
using rlwe::Ciphertext;
using Rows = std::vector<Values>;

inline constexpr std::size_t test_slots = 512;  // all that N = 2^10 has

// Real values all over an interval.
inline Values spread(const Interval& interval, std::size_t count = test_slots, std::size_t turn = 1) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double t = (static_cast<double>((i * turn) % count) + 0.5) / static_cast<double>(count);
    values[i] = interval.low + t * (interval.high - interval.low);
  }
  return values;
}

inline double root_mean_square(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::norm(a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// A client that has the keys of plans, and nothing more.
struct FunctionSession {
  explicit FunctionSession(const rlwe::Parameters& parameters,
                           rlwe::Relinearization relinearization = rlwe::Relinearization::eager)
      : client(parameters, {.public_key = true, .relinearization = true}, relinearization) {}

  [[nodiscard]] std::vector<Ciphertext> run(const FunctionPlan& plan,
                                            const std::vector<const Ciphertext*>& inputs) const {
    return PreparedFunction(client.context, plan)(*client.evaluator, inputs);
  }
  [[nodiscard]] Ciphertext run(const FunctionPlan& plan, const Ciphertext& input) const {
    return std::move(run(plan, std::vector{&input}).front());
  }

  ckks::Session client;
};

}  // namespace hemera::circuits
