// Errors that rounding adds to a slot: root mean squares of complex errors, times the scale.
#pragma once

#include <cstddef>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::circuits {

inline double squared(double x) { return x * x; }

/// The error of a division of both components, in ciphertexts with these slots: sqrt(2n (1 + |s|^2) / 12).
double division_error(const rlwe::Parameters& parameters, std::size_t slots);
/// Its square, before there are parameters.
double division_variance(std::size_t degree, const rlwe::SecretDistribution& secret, std::size_t slots);
/// The error of a key switch with this gadget after the division by P, without that division's own: for d
/// digits of k primes with product D sigma sqrt(2n N d k / 12) D / P.
double switching_error(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget,
                       std::size_t slots);

}  // namespace hemera::circuits
