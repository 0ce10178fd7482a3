// What the tests of BFV and BGV share: both schemes under one name, sessions with all keys, and cleartext
// arithmetic modulo t.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::testing {

using tests::expect_error;

using Values = std::vector<std::uint64_t>;

// The functions of both schemes.
struct Exact {
  template <typename Key>
  static rlwe::Ciphertext encrypt(const rlwe::Plaintext& p, const Key& k) {
    return integer::encrypt(p, k);
  }
  static rlwe::Plaintext decrypt(const rlwe::Ciphertext& c, const rlwe::SecretKey& k) {
    return integer::decrypt(c, k);
  }
  static rlwe::Plaintext share(const rlwe::Ciphertext& c, const rlwe::SecretKey& k, int bits) {
    return integer::decrypt_for_sharing(c, k, bits);
  }
  static double measured(const rlwe::Ciphertext& c, const rlwe::SecretKey& k) {
    return integer::measured_noise_log2(c, k);
  }
  static double budget(const rlwe::Ciphertext& c, const rlwe::SecretKey& k) {
    return integer::noise_budget(c, k);
  }
  static double guaranteed(const rlwe::Ciphertext& c) { return integer::guaranteed_noise_budget(c); }
};

struct Bfv : Exact {
  using Evaluator = bfv::Evaluator;
  static constexpr rlwe::Scheme scheme = rlwe::Scheme::bfv;
  static rlwe::Parameters from_bits(const integer::ChainRequest& r) { return bfv::parameters_from_bits(r); }
  static rlwe::Parameters for_circuit(const integer::CircuitRequest& r) { return bfv::parameters_for(r); }
  // log2 of the largest noise that decrypts.
  static double capacity(const rlwe::Ciphertext& c) {
    return c.context->base(c.meta.level).log2() - 1 -
           std::log2(static_cast<double>(c.context->parameters().plain_modulus()));
  }
};

struct Bgv : Exact {
  using Evaluator = bgv::Evaluator;
  static constexpr rlwe::Scheme scheme = rlwe::Scheme::bgv;
  static rlwe::Parameters from_bits(const integer::ChainRequest& r) { return bgv::parameters_from_bits(r); }
  static rlwe::Parameters for_circuit(const integer::CircuitRequest& r) { return bgv::parameters_for(r); }
  static double capacity(const rlwe::Ciphertext& c) { return c.context->base(c.meta.level).log2() - 1; }
};

/// The largest prime t = 1 mod 2N below 2^bits.
inline std::uint64_t plain_prime(int bits, std::size_t degree) {
  return arith::primes_below(std::uint64_t{1} << bits, 2 * degree, 1).at(0);
}

/// A context with a secret, all keys and an evaluator.
template <typename S>
struct Session {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  rlwe::EvaluationKeys keys;
  typename S::Evaluator evaluator;
  integer::Encoder encoder;
  arith::Modulus t;
  std::mt19937_64 random{20241120};

  explicit Session(const rlwe::Parameters& parameters, bool rotations = false,
                   rlwe::Relinearization relinearization = rlwe::Relinearization::eager)
      : context(tests::make_context(parameters)),
        secret(rlwe::generate_secret_key(context)),
        keys(rlwe::generate_keys(secret, request(parameters, rotations))),
        evaluator(context, keys, relinearization),
        encoder(context),
        t(parameters.plain_modulus()) {}

  static rlwe::KeyRequest request(const rlwe::Parameters& parameters, bool rotations) {
    rlwe::KeyRequest result;
    if (!rotations) return result;
    result.rotations = rlwe::rotations_for_sum(parameters, parameters.max_slots());
    result.conjugation = true;
    return result;
  }

  [[nodiscard]] std::size_t degree() const { return context->degree(); }
  [[nodiscard]] rlwe::Encoding natural_encoding() const {
    return context->parameters().has_slots() ? rlwe::Encoding::slots : rlwe::Encoding::coefficients;
  }

  Values uniform(std::size_t count) {
    Values values(count);
    for (auto& value : values) value = random() % t.value();
    return values;
  }
  /// Values of a plaintext in the natural encoding.
  [[nodiscard]] std::size_t places() const {
    return context->parameters().has_slots() ? context->parameters().max_slots() : degree();
  }
  Values uniform() { return uniform(places()); }
  [[nodiscard]] Values constant(std::uint64_t value) const { return Values(places(), value); }
  [[nodiscard]] Values single(std::size_t slot, std::uint64_t value) const {
    Values values(places(), 0);
    values[slot] = value;
    return values;
  }
  /// All zero, all maximal, one slot, random.
  std::vector<Values> inputs(std::size_t count) {
    Values last(count, 0);
    last.back() = t.value() - 1;
    return {Values(count, 0), Values(count, t.value() - 1), last, uniform(count)};
  }
  std::vector<Values> inputs() { return inputs(places()); }

  [[nodiscard]] rlwe::Plaintext encode(const Values& values, const rlwe::BatchShape& batch,
                                       rlwe::Encoding encoding) const {
    return encoder.encode(std::vector<std::int64_t>(values.begin(), values.end()), batch, encoding);
  }
  [[nodiscard]] rlwe::Plaintext encode(const Values& values) const {
    return encode(values, {}, natural_encoding());
  }
  [[nodiscard]] rlwe::Ciphertext encrypt(const Values& values, const rlwe::BatchShape& batch,
                                         rlwe::Encoding encoding) const {
    return S::encrypt(encode(values, batch, encoding), *keys.public_key);
  }
  [[nodiscard]] rlwe::Ciphertext encrypt(const Values& values) const {
    return encrypt(values, {}, natural_encoding());
  }
  [[nodiscard]] Values decrypt(const rlwe::Ciphertext& ciphertext) const {
    const auto values = encoder.decode(S::decrypt(ciphertext, secret), false);
    return {values.begin(), values.end()};
  }

  /// The ciphertext decrypts to these values; its noise is within its bound, and its budgets are honest.
  void expect(const rlwe::Ciphertext& ciphertext, const Values& values) const {
    EXPECT_EQ(decrypt(ciphertext), values);
    expect_honest(ciphertext);
    EXPECT_GT(S::guaranteed(ciphertext), 0) << "the test's parameters do not hold its circuit";
  }
  void expect_honest(const rlwe::Ciphertext& ciphertext) const {
    const double measured = S::measured(ciphertext, secret);
    const double truth = S::capacity(ciphertext) - measured;
    EXPECT_LE(S::budget(ciphertext, secret), std::max(0.0, truth) + 1e-9);
    if (S::guaranteed(ciphertext) > 0) {
      EXPECT_LE(measured, ciphertext.meta.noise_log2);
      EXPECT_LE(S::guaranteed(ciphertext), truth);
      EXPECT_GE(S::budget(ciphertext, secret), std::floor(S::guaranteed(ciphertext)));
    }
  }

  // Cleartext arithmetic modulo t.
  [[nodiscard]] Values add(Values a, const Values& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = t.add(a[i], b[i % b.size()]);
    return a;
  }
  [[nodiscard]] Values subtract(Values a, const Values& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = t.subtract(a[i], b[i % b.size()]);
    return a;
  }
  [[nodiscard]] Values negate(Values a) const {
    for (auto& value : a) value = t.negate(value);
    return a;
  }
  [[nodiscard]] Values scale(Values a, std::int64_t factor) const {
    for (auto& value : a) value = t.multiply(value, t.reduce_signed(factor));
    return a;
  }
  /// Slot by slot, or as polynomials modulo X^N + 1.
  [[nodiscard]] Values multiply(const Values& a, const Values& b, rlwe::Encoding encoding) const {
    Values result(a.size(), 0);
    if (encoding == rlwe::Encoding::slots) {
      for (std::size_t i = 0; i < a.size(); ++i) result[i] = t.multiply(a[i], b[i % b.size()]);
      return result;
    }
    const std::size_t n = degree();
    for (std::size_t i = 0; i < n; ++i) {
      if (a[i] == 0) continue;
      for (std::size_t j = 0; j < n; ++j) {
        const std::uint64_t product = t.multiply(a[i], b[j]);
        const std::size_t k = (i + j) % n;
        result[k] = i + j < n ? t.add(result[k], product) : t.subtract(result[k], product);
      }
    }
    return result;
  }
  [[nodiscard]] Values multiply(const Values& a, const Values& b) const {
    return multiply(a, b, natural_encoding());
  }
  /// Slots of both rows turned left.
  [[nodiscard]] Values rotate(const Values& a, std::int64_t steps) const {
    const auto row = static_cast<std::int64_t>(places() / 2);
    Values result(a.size());
    for (std::int64_t i = 0; i < row; ++i) {
      const auto from = static_cast<std::size_t>((((i + steps) % row) + row) % row);
      result[static_cast<std::size_t>(i)] = a[from];
      result[static_cast<std::size_t>(i + row)] = a[from + static_cast<std::size_t>(row)];
    }
    return result;
  }
};

/// A chain without regard to security.
template <typename S>
rlwe::Parameters test_chain(std::uint64_t t, std::size_t primes, std::size_t special = 1,
                            std::size_t digits = 0, std::size_t degree = 1024, int bits = 50) {
  return S::from_bits({.degree = degree,
                       .plain_modulus = t,
                       .prime_bits = std::vector<int>(primes, bits),
                       .special_bits = std::vector<int>(special, bits),
                       .digits = digits,
                       .security = std::nullopt});
}

/// Plaintext moduli of all kinds, with as many 50-bit primes as two products one after the other need.
struct PlainSetting {
  std::string name;
  std::uint64_t t;
  std::size_t primes;
};
inline std::vector<PlainSetting> plain_settings() {
  return {{"t = 65537", 65537, 4},
          {"t of 45 bits", plain_prime(45, 1024), 6},
          {"t of 55 bits, above the primes", plain_prime(55, 1024), 7},
          {"t = 257, of 128 slots", 257, 3},
          {"t = 2^16", std::uint64_t{1} << 16, 4},
          {"t = 3", 3, 2}};
}

}  // namespace hemera::testing
