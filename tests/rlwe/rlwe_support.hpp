// What the tests of the RLWE core share: gadgets to try, exact norms, words on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/context.hpp"
#include "host_words.hpp"

namespace hemera::rlwe {

/// A gadget over four ciphertext primes of 45 bits.
struct GadgetCase {
  std::string name;
  std::size_t digits = 4;
  std::size_t special_primes = 1;
  int window_bits = 0;
  Scheme scheme = Scheme::ckks;
};

inline std::vector<GadgetCase> gadgets() {
  return {{.name = "OneDigit", .digits = 1, .special_primes = 4},
          {.name = "TwoDigits", .digits = 2, .special_primes = 2},
          {.name = "OneSpecialPrime", .digits = 4, .special_primes = 1},
          {.name = "NoSpecialPrime", .digits = 4, .special_primes = 0},
          {.name = "WindowsWithoutSpecialPrime", .digits = 4, .special_primes = 0, .window_bits = 10},
          {.name = "WindowsAndSpecialPrime", .digits = 4, .special_primes = 1, .window_bits = 23},
          {.name = "Bgv", .digits = 2, .special_primes = 2, .scheme = Scheme::bgv}};
}

inline Parameters parameters_with(const GadgetCase& gadget) {
  constexpr std::size_t degree = 1024;
  ParametersLiteral literal;
  literal.scheme = gadget.scheme;
  literal.degree = degree;
  const auto primes = arith::primes_below(std::uint64_t{1} << 45, 2 * degree, 4);
  // The last level keeps two primes: room for the noise of digits without a special prime.
  for (std::size_t count = 2; count <= primes.size(); ++count) {
    literal.levels.emplace_back(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(count));
  }
  literal.special_primes = arith::primes_below(std::uint64_t{1} << 50, 2 * degree, gadget.special_primes);
  const std::size_t group = primes.size() / gadget.digits;
  for (std::size_t first = 0; first < primes.size(); first += group) {
    literal.digits.emplace_back(primes.begin() + static_cast<std::ptrdiff_t>(first),
                                primes.begin() + static_cast<std::ptrdiff_t>(first + group));
  }
  literal.window_bits = gadget.window_bits;
  if (gadget.scheme == Scheme::ckks) {
    literal.scale = 0x1p40;
  } else {
    literal.plain_modulus = 65537;
  }
  literal.security.reset();
  return Parameters(std::move(literal));
}

using tests::host_words;

/// log2 of the largest centred coefficient, by exact integers; the polynomial is in coefficient form.
double largest_coefficient_log2(const Context& context, const poly::Poly& poly);

}  // namespace hemera::rlwe
