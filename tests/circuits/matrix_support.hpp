// What the tests of matrices share: a client whose keys a plan asked for, and the product in the clear.
#pragma once

#include <span>
#include <vector>

#include "hemera/circuits/linear/diagonals.hpp"
#include "hemera/circuits/plan.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {

/// A client, and a server's evaluator with the keys that a plan needs beside the usual ones.
template <typename Plan, typename Prepared>
struct MatrixSession {
  MatrixSession(const rlwe::Parameters& parameters, const Plan& plan, bool relinearization)
      : client(parameters, {.public_key = true, .relinearization = relinearization}),
        evaluator(client.context, merged(client.keys, plan.generate_keys(client.secret))),
        prepared(client.context, plan) {}

  static rlwe::EvaluationKeys merged(rlwe::EvaluationKeys keys, const rlwe::EvaluationKeys& others) {
    keys.merge(others);
    return keys;
  }

  ckks::Session client;
  ckks::Evaluator evaluator;
  Prepared prepared;
};

/// Random diagonals with these numbers, of as many entries as there are slots.
inline MatrixDiagonals random_diagonals(std::size_t slots, const std::vector<std::size_t>& numbers,
                                        std::uint64_t seed) {
  MatrixDiagonals result;
  for (const std::size_t number : numbers) {
    result.add(number, ckks::random_values(slots, 100 * seed + number));
  }
  return result;
}

/// The product of a [rows, inner] and b [inner, columns], row-major: an oracle that knows no diagonals.
inline ckks::Values product(std::span<const ckks::Complex> a, std::span<const ckks::Complex> b,
                            std::size_t rows, std::size_t inner, std::size_t columns = 1) {
  ckks::Values c(rows * columns, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < inner; ++k) c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
    }
  }
  return c;
}

}  // namespace hemera::circuits
