// What the tests of bootstraps of BFV and BGV share: sessions, exact products, measured and added noise.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::circuits::exact {

using rlwe::Ciphertext;
using testing::Bfv;
using testing::Bgv;
using testing::Values;

// Presets of three doublings, of four, and without an arcsine.
constexpr const char *usual = "bfv11-test", *precise = "bfv11-test-40", *plain = "bfv15-22";

// A preset's settings at N = 2^11.
template <typename S>
rlwe::Parameters exact_parameters(std::uint64_t t, const char* preset = usual) {
  BootstrapSettings settings = integer_bootstrap_preset(preset);
  settings.degree = std::size_t{1} << 11;
  settings.security = std::nullopt;
  return parameters_for_bootstrapping(S::scheme, t, settings);
}

// A client with a secret, and a server's evaluators with and without automatic bootstraps.
template <typename S>
struct ExactSession {
  explicit ExactSession(std::uint64_t t, const IntegerBootstrapOptions& options = {},
                        const char* preset = usual)
      : plan(exact_parameters<S>(t, preset), options),
        client(plan.parameters()),
        prepared(std::make_shared<const PreparedIntegerBootstrap>(client.context, plan)),
        keys([&] {
          rlwe::EvaluationKeys all = client.keys;
          all.merge(plan.generate_keys(client.secret));
          return all;
        }()),
        evaluator(client.context, keys),
        automatic(client.context, keys, rlwe::Relinearization::eager,
                  PreparedIntegerBootstrap::refresh(prepared)) {}

  [[nodiscard]] Ciphertext encrypt(const Values& values, const rlwe::BatchShape& batch = {}) const {
    return S::encrypt(client.encode(values, batch, rlwe::Encoding::coefficients), *keys.public_key);
  }
  [[nodiscard]] Values decrypt(const Ciphertext& x) const {
    const auto values = client.encoder.decode(S::decrypt(x, client.secret), false);
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Ciphertext bootstrapped(const Ciphertext& x) const { return (*prepared)(evaluator, x); }
  // t e over Q, or all of BGV's phase over Q: log2 of the largest coefficient.
  [[nodiscard]] double measured(const Ciphertext& x) const {
    return S::measured(x, client.secret) - 1 - S::capacity(x);
  }

  IntegerBootstrap plan;
  testing::Session<S> client;
  std::shared_ptr<const PreparedIntegerBootstrap> prepared;
  rlwe::EvaluationKeys keys;
  typename S::Evaluator evaluator, automatic;
};

// The product of two polynomials modulo X^N + 1 and t.
inline Values polynomial_product(const Values& a, const Values& b, std::uint64_t t) {
  const std::size_t n = a.size();
  std::vector<arith::uint128> sum(2 * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      sum[i + j] += static_cast<arith::uint128>(a[i]) * b[j];  // below 2^75 each, 2^11 of them
    }
  }
  Values result(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto low = static_cast<std::uint64_t>(sum[i] % t),
               high = static_cast<std::uint64_t>(sum[i + n] % t);
    result[i] = (low + t - high) % t;
  }
  return result;
}

// For t e over Q, or all of BGV's phase over Q: log2 of the root mean square of the coefficients, of those at
// multiples of `gap` or, `in_between`, of the others, by exact integers.
template <typename S>
double noise_deviation_log2(const ExactSession<S>& session, const Ciphertext& x, std::size_t gap = 1,
                            bool in_between = false) {
  using arith::BigInteger;
  const rlwe::Context& context = *x.context;
  const poly::RnsBase& base = context.base(x.meta.level);
  const std::size_t n = context.degree(), limbs = base.size();
  const poly::Poly phase = rlwe::decrypt_phase(x, session.client.secret);
  std::vector<std::uint64_t> words(limbs * n);
  context.backend().download(context.queue(), words, phase.view(), poly::Form::coefficient);
  context.queue().synchronize();
  const BigInteger modulus = arith::product(base.values());
  const std::uint64_t factor = S::scheme == rlwe::Scheme::bfv ? session.client.t.value() : 1;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if ((k % gap != 0) != in_between) continue;
    ++count;
    BigInteger value = 0;
    for (std::size_t limb = 0; limb < limbs; ++limb) {
      const std::uint64_t q = base.modulus(limb).value();
      const BigInteger others = modulus / q;
      value += others * words[limb * n + k] * arith::inverse(arith::modulo(others, q), q);
    }
    value = value * factor % modulus;
    if (2 * value > modulus) value -= modulus;
    const double share = value.convert_to<double>() / modulus.convert_to<double>();
    sum += share * share;
  }
  return 0.5 * std::log2(sum / static_cast<double>(count));
}

// Adds noise that is uniform up to the fraction of the range, as bound and measured noise then have it.
template <typename S>
void add_noise(const ExactSession<S>& session, Ciphertext& x, double fraction) {
  const rlwe::Context& context = *x.context;
  const poly::RnsBase& base = context.base(x.meta.level);
  const auto t = static_cast<double>(context.parameters().plain_modulus());
  // In units of BFV's noise, and of the errors that BGV multiplies by t.
  const double largest_log2 = base.log2() - std::log2(t) - session.plan.ratio_bits() + std::log2(fraction);
  const int shift = static_cast<int>(largest_log2) - 50;
  const double largest = std::exp2(largest_log2 - shift);
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(-largest, largest);
  const std::size_t n = context.degree();
  std::vector<std::uint64_t> words(base.size() * n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto value = static_cast<std::int64_t>(uniform(random));
    for (std::size_t limb = 0; limb < base.size(); ++limb) {
      const arith::Modulus& q = base.modulus(limb);
      std::uint64_t residue =
          q.multiply(q.reduce_signed(value), q.power(2, static_cast<std::uint64_t>(shift)));
      if (S::scheme == rlwe::Scheme::bgv) residue = q.multiply(residue, q.reduce(session.client.t.value()));
      words[limb * n + k] = residue;
    }
  }
  poly::Poly noise = context.make_poly(1, 1, base, poly::Form::coefficient);
  context.backend().upload(context.queue(), noise.view(), words, poly::Form::coefficient);
  context.backend().forward_transform(context.queue(), noise.view(), noise.view(), base);
  const poly::PolyView first = x.poly.view().components(0, 1);
  context.backend().add(context.queue(), first, first, std::as_const(noise).view(), base);
  context.queue().synchronize();
  x.meta.noise_log2 = S::capacity(x) - session.plan.needed_budget();
}

}  // namespace hemera::circuits::exact
