#include "multiply/gaussian.hpp"

#include <cassert>

namespace hemera::multiply {

Gaussian inert_root(std::size_t degree, const arith::Modulus& p) {
  const std::uint64_t q = p.value();
  assert(q % 4 == 3 && (q + 1) % degree == 0);
  const Gaussian minus_one{q - 1, 0};
  // Half of all z will do, so the search ends soon.
  for (std::uint64_t im = 1;; ++im) {
    Gaussian h = power({1, im % q}, (q - 1) / 2, p);
    h = power(h, (q + 1) / degree, p);
    if (power(h, degree, p) != minus_one) continue;
    // h^(degree / 2) is i or -i; conjugation exchanges them.
    return power(h, degree / 2, p) == Gaussian{0, 1} ? h : conjugate(h, p);
  }
}

Gaussian split_root(std::size_t degree, std::uint64_t psi, const arith::Modulus& p) {
  const std::uint64_t half = (p.value() + 1) / 2;
  const std::uint64_t inverse = p.power(psi, 2 * degree - 1);
  const std::uint64_t root_of_minus_one = p.power(psi, degree / 2);
  // sin = (psi - 1/psi) / (2 iota), and 1 / iota = -iota.
  const std::uint64_t difference = p.multiply(p.subtract(psi, inverse), half);
  return {p.multiply(p.add(psi, inverse), half), p.negate(p.multiply(difference, root_of_minus_one))};
}

}  // namespace hemera::multiply
