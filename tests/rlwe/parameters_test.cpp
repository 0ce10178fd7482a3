// Parameters: what is refused and why; what the fingerprint covers.
#include "hemera/rlwe/parameters.hpp"

#include <gtest/gtest.h>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"

namespace hemera::rlwe {
namespace {

ParametersLiteral good_literal() { return parameters_with(gadgets()[2]).literal(); }

template <typename Exception, typename Change>
void expect_refused(Change change, const std::string& text) {
  ParametersLiteral literal = good_literal();
  change(literal);
  try {
    static_cast<void>(Parameters(std::move(literal)));
    FAIL() << "accepted, but expected: " << text;
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Parameters, MistakesAreNamed) {
  using L = ParametersLiteral;
  expect_refused<ParameterError>([](L& l) { l.degree = 1000; }, "not a power of two");
  expect_refused<ParameterError>([](L& l) { l.degree = 512; }, "2^10 to 2^17");
  expect_refused<ParameterError>([](L& l) { l.levels.clear(); }, "at least one level");
  expect_refused<ParameterError>([](L& l) { l.levels[0].clear(); }, "level 0 has no primes");
  expect_refused<ParameterError>([](L& l) { l.levels[0].push_back(l.levels[0][0]); }, "a prime twice");
  expect_refused<ParameterError>([](L& l) { std::swap(l.levels[0], l.levels[1]); }, "not larger");
  expect_refused<ParameterError>([](L& l) { l.levels[0][0] = 2049 * 2048 + 1; }, "is not prime");
  expect_refused<ParameterError>([](L& l) { l.levels[0][0] += 2; }, "not 1 modulo 2N");
  expect_refused<ParameterError>([](L& l) { l.special_primes[0] = l.levels[0][0]; }, "appears twice");
  expect_refused<ParameterError>([](L& l) { l.digits.pop_back(); }, "exactly once");
  expect_refused<ParameterError>(
      [](L& l) {
        l.digits = {l.levels.back()};
        l.window_bits = 10;
      },
      "one prime each");
  expect_refused<ParameterError>([](L& l) { l.plain_modulus = 17; }, "no plaintext modulus");
  expect_refused<ParameterError>([](L& l) { l.scale = 0; }, "scale must be above 1");
  expect_refused<ParameterError>([](L& l) { l.galois_generator = 7; }, "must be 5 or 3");
  expect_refused<ParameterError>([](L& l) { l.secret.weight = 5000; }, "cannot have weight");
  expect_refused<ParameterError>([](L& l) { l.roots[l.levels[0][0]] = 1; }, "no primitive 2N-th root");
  expect_refused<ParameterError>([](L& l) { l.roots[97] = 1; }, "no modulus of the parameters");
  expect_refused<SecurityError>([](L& l) { l.security = 128; }, "no security level");
  expect_refused<ParameterError>([](L& l) { l.security = 100; }, "128, 192, 256 or none");
}

}  // namespace
}  // namespace hemera::rlwe
