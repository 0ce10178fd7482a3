#include "hemera/rlwe/scalar.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

std::string text_of(const std::complex<double>& number) {
  char text[80];
  if (number.imag() == 0) {
    std::snprintf(text, sizeof(text), "%.17g", number.real());
  } else {
    std::snprintf(text, sizeof(text), "%.17g %+.17gi", number.real(), number.imag());
  }
  return text;
}

}  // namespace

std::complex<double> Scalar::value() const {
  const auto* whole = std::get_if<std::int64_t>(&number_);
  return whole != nullptr ? std::complex<double>(static_cast<double>(*whole))
                          : std::get<std::complex<double>>(number_);
}

std::int64_t Scalar::integer(const char* operation) const {
  if (const auto* whole = std::get_if<std::int64_t>(&number_)) return *whole;
  const auto& number = std::get<std::complex<double>>(number_);
  const double real = number.real();
  // -2^63 is a number of 64 bits, and 2^63 is none; neither is NaN.
  if (number.imag() == 0 && real == std::trunc(real) && real >= -0x1p63 && real < 0x1p63) {
    return static_cast<std::int64_t>(real);
  }
  throw ParameterError(std::string(operation) + ": BFV and BGV compute with whole numbers below 2^63, and " +
                       text_of(number) + " is none; round it, or use CKKS");
}

void Scalar::throw_too_large() {
  throw ParameterError(
      "a whole number of 2^63 or more as a scalar; take it modulo the plaintext modulus first");
}

}  // namespace hemera::rlwe
