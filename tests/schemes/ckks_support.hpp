// What the CKKS tests share: a client with all keys, a server's evaluator, random values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <vector>

#include "hemera/schemes/ckks.hpp"
#include "test_device.hpp"

namespace hemera::ckks {

using Complex = std::complex<double>;
using Values = std::vector<Complex>;
using rlwe::Ciphertext;

inline Values random_values(std::size_t count, std::uint64_t seed, double magnitude = 1) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-magnitude, magnitude);
  Values values(count);
  for (Complex& value : values) value = {uniform(generator), uniform(generator)};
  return values;
}

inline double largest_difference(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

template <typename Function>
Values map2(const Values& a, const Values& b, Function function) {
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i], b[i]);
  return result;
}

// A client with all keys and a server's evaluator.
struct Session {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  rlwe::EvaluationKeys keys;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Encoder> encoder;

  explicit Session(const rlwe::Parameters& parameters, rlwe::KeyRequest request = {},
                   rlwe::Relinearization relinearization = rlwe::Relinearization::eager)
      : context(tests::make_context(parameters)), secret(rlwe::generate_secret_key(context)) {
    keys = rlwe::generate_keys(secret, request);
    evaluator = std::make_unique<Evaluator>(context, keys, relinearization);
    encoder = std::make_unique<Encoder>(context);
  }

  [[nodiscard]] Ciphertext encrypt(const Values& values, const rlwe::BatchShape& batch = {}) const {
    return ckks::encrypt(encoder->encode(values, batch), *keys.public_key);
  }
  [[nodiscard]] Values decrypt(const Ciphertext& ciphertext) const {
    return encoder->decode(ckks::decrypt(ciphertext, secret));
  }
  [[nodiscard]] double error(const Ciphertext& found, const Values& expected) const {
    return largest_difference(decrypt(found), expected);
  }
};

inline rlwe::Parameters small_parameters(std::size_t depth, std::size_t digits = 0, int scale_bits = 40) {
  return parameters_for({.depth = depth,
                         .scale_bits = scale_bits,
                         .slots = 512,
                         .digits = digits,
                         .degree = 1024,
                         .security = std::nullopt});
}

inline constexpr double tolerance = 0x1p-20;

}  // namespace hemera::ckks
