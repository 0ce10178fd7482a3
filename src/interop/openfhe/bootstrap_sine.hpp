// The function of OpenFHE's bootstraps.
#pragma once

#include <cstddef>
#include <numbers>

#include "hemera/circuits/functions/function.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

inline constexpr long double turn = 2 * std::numbers::pi_v<long double>;

/// The sine for a distribution of secrets: the range of the multiples of q_0, double angles, and the degree
/// of the polynomial: the largest of OddSteps' products, which OpenFHE's 88, 44 and 32 take as well.
struct Sine {
  int bound, angles;
  std::size_t degree;
};
/// The sine for a ring of this degree.
Sine sine_of(SecretType secret, std::size_t degree);

/// factor sin(2 pi bound v) for v in [-1, 1].
circuits::Function scaled_sine(const Sine& sine, long double factor);

}  // namespace hemera::interop::openfhe
