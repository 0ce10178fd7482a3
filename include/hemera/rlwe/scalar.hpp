// A plain number among ciphertexts.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <utility>
#include <variant>

namespace hemera::rlwe {

/// A plain number that multiplies or is added to a ciphertext: every slot gets it. It is what was given, a
/// whole, real or complex number: `5`, `0.5`, `std::complex(1.0, 2.0)` or `{1, 2}`. BFV and BGV take whole
/// numbers alone, `5` as well as `5.0`, modulo t.
class Scalar {
 public:
  /// Throws ParameterError for a number that 64 bits with a sign do not hold.
  Scalar(std::integral auto number) : number_(std::int64_t{0}) {  // NOLINT: 5 is a scalar
    if (!std::in_range<std::int64_t>(number + 0)) throw_too_large();
    number_ = static_cast<std::int64_t>(number);
  }
  Scalar(std::floating_point auto number) : number_(std::complex<double>(static_cast<double>(number))) {}
  Scalar(std::complex<double> number) : number_(number) {}
  template <typename Real, typename Imaginary>
  requires std::convertible_to<Real, double> && std::convertible_to<Imaginary, double> Scalar(
      Real real, Imaginary imaginary)
      : number_(std::complex<double>(static_cast<double>(real), static_cast<double>(imaginary))) {}

  /// The value as CKKS takes it; whole numbers beyond 2^53 are rounded.
  [[nodiscard]] std::complex<double> value() const;
  /// The integer as BFV and BGV take it. Throws ParameterError, in the words of `operation`, unless it is a
  /// whole number of 64 bits with a sign.
  [[nodiscard]] std::int64_t integer(const char* operation) const;

 private:
  [[noreturn]] static void throw_too_large();

  std::variant<std::int64_t, std::complex<double>> number_;
};

}  // namespace hemera::rlwe
