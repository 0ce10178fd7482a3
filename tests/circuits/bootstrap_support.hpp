// What the tests of bootstraps share: settings of a small ring, a client and a server, precision.
#pragma once

#include <functional>
#include <optional>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {

using ckks::Complex;
using ckks::Values;

// A client and a server's evaluator with all that a plan needs.
struct BootstrapSession {
  BootstrapSession(const rlwe::Parameters& parameters, const Bootstrap& plan,
                   std::optional<double> magnitude = std::nullopt)
      : client(parameters, {.public_key = true, .relinearization = true}),
        evaluator(client.context, merged(client.keys, plan)),
        prepared(client.context, plan, magnitude) {}

  rlwe::EvaluationKeys merged(rlwe::EvaluationKeys keys, const Bootstrap& plan) const {
    keys.merge(plan.generate_keys(client.secret));
    return keys;
  }
  // At the level where a bootstrap begins.
  [[nodiscard]] rlwe::Ciphertext encrypt(const Values& values, const rlwe::BatchShape& batch = {}) const {
    return ckks::encrypt(client.encoder->encode(values, batch, prepared.plan().input_level()), client.secret);
  }
  [[nodiscard]] Values bootstrapped(const Values& values) const {
    return client.decrypt(prepared(evaluator, encrypt(values)));
  }

  ckks::Session client;
  ckks::Evaluator evaluator;
  PreparedBootstrap prepared;
};

inline BootstrapSettings small_settings() { return bootstrap_preset("test-40"); }

inline BootstrapSettings standard_order() {
  BootstrapSettings settings = small_settings();
  settings.order = BootstrapOrder::standard;
  settings.last_bits = 49;
  settings.ratio_bits = 9;
  settings.slots_to_coefficients = {43, 43, 43};
  return settings;
}

// Over several bootstraps of a plan: the worst slot of one says little.
inline Precision averaged(const std::function<Values(std::size_t)>& run, const Values& values,
                          std::size_t runs) {
  Precision sum;
  for (std::size_t i = 0; i < runs; ++i) {
    const Precision one = precision_of(run(i), values);
    sum.mean_bits += one.mean_bits;
    sum.worst_bits += one.worst_bits;
  }
  const auto count = static_cast<double>(runs);
  return {.mean_bits = sum.mean_bits / count, .worst_bits = sum.worst_bits / count};
}

}  // namespace hemera::circuits
