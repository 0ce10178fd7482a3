// A client of searches with its keys, and the scores that it asks for.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hemera/circuits/search/query.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "test_device.hpp"

namespace hemera::circuits::search {

struct Session {
  explicit Session(bool exact = false, bool rows_are_encrypted = false)
      : context(tests::make_context(parameters(exact))),
        secret(rlwe::generate_secret_key(context)),
        keys(generate_keys(secret, rows_are_encrypted)) {}

  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  rlwe::EvaluationKeys keys;
};

template <typename Integer>
std::vector<Integer> random_integers(std::size_t count, std::int64_t largest, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<std::int64_t> uniform(-largest, largest);
  std::vector<Integer> result(count);
  for (Integer& value : result) value = static_cast<Integer>(uniform(generator));
  return result;
}

// Scores [query, row] of rows [row, dims] and queries [query, dims].
template <typename Integer>
std::vector<std::int64_t> products_of(const std::vector<Integer>& rows,
                                      const std::vector<std::int64_t>& queries, std::size_t dims) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < queries.size() / dims; ++i) {
    for (std::size_t r = 0; r < rows.size() / dims; ++r) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < dims; ++j) sum += rows[r * dims + j] * queries[i * dims + j];
      result.push_back(sum);
    }
  }
  return result;
}

inline double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace hemera::circuits::search
