// Polynomials of ciphertexts by OpenFHE's rules: the levels of its two methods.
#pragma once

#include <openfhe.h>
// How it splits polynomials.
#include <scheme/ckksrns/ckksrns-utils.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/adapters/openfhe/crossing.hpp"
#include "hemera/circuits/functions/function.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::adapters {

/// The result of OpenFHE's EvalPowers and EvalChebyPolys, for polynomials up to a degree. Here it is the
/// ciphertext, on the device, and the levels of its polynomials.
class OpenFheSeries {
 public:
  enum class Way : std::uint8_t {
    by_degree,            ///< as EvalPoly and EvalChebyshevSeries choose
    linear,               ///< by all powers
    paterson_stockmeyer,  ///< by powers up to k, and x^(k 2^i) for i < m
  };

  /// Throws ParameterError for fewer than two coefficients.
  OpenFheSeries(const char* operation, OpenFheCiphertext ciphertext, std::size_t coefficients,
                std::size_t degree, circuits::Basis basis, circuits::Interval interval,
                Way way = Way::by_degree)
      : ciphertext_(std::move(ciphertext)), basis_(basis), interval_(interval) {
    if (coefficients < 2) throw ParameterError(std::string(operation) + ": two coefficients at least");
    if (way == Way::by_degree)
      way = degree < first_paterson_stockmeyer ? Way::linear : Way::paterson_stockmeyer;
    powers_ = coefficients - 1;
    if (way == Way::linear) return;
    const std::vector<std::uint32_t> split = lbcrypto::ComputeDegreesPS(static_cast<std::uint32_t>(degree));
    powers_ = split[0];
    doublings_ = split[1];
  }

  [[nodiscard]] const OpenFheCiphertext& ciphertext() const { return ciphertext_; }
  [[nodiscard]] circuits::Basis basis() const { return basis_; }
  [[nodiscard]] circuits::Interval interval() const { return interval_; }

  /// The levels that a polynomial of this degree takes, whatever its coefficients: one for an interval that
  /// is brought to [-1, 1], those of the highest power, and one or, by Paterson and Stockmeyer, m. Throws
  /// ParameterError for a degree that the powers do not serve.
  [[nodiscard]] std::size_t levels(const char* operation, std::size_t degree) const {
    const bool linear = doublings_ == 0 || (degree < first_paterson_stockmeyer && degree <= powers_);
    const std::size_t highest = linear ? powers_ : powers_ * ((std::size_t{1} << doublings_) - 1) - 1;
    if (degree > highest) {
      throw ParameterError(std::string(operation) + ": the powers are for degrees up to " +
                           std::to_string(highest) + ", not " + std::to_string(degree));
    }
    std::size_t levels = linear ? 1 : doublings_;
    for (std::size_t power = 1; power < powers_; power *= 2) ++levels;
    return levels + (interval_ == circuits::Interval{} ? 0 : 1);
  }

 private:
  // OpenFHE's limit: polynomials of lower degrees are taken by all powers.
  static constexpr std::size_t first_paterson_stockmeyer = 5;

  OpenFheCiphertext ciphertext_;
  circuits::Basis basis_;
  circuits::Interval interval_;
  std::size_t powers_ = 0;
  std::size_t doublings_ = 0;  // none: by all powers
};

}  // namespace hemera::adapters
