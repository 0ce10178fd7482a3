#include "rlwe/rlwe_support.hpp"

#include <algorithm>

#include "hemera/arith/big_integer.hpp"

namespace hemera::rlwe {

double largest_coefficient_log2(const Context& context, const poly::Poly& poly) {
  const auto words = host_words(context, poly);
  const auto moduli = poly.base().values();
  const arith::BigInteger product = arith::product(moduli);
  std::vector<arith::BigInteger> weights;
  for (const std::uint64_t q : moduli) {
    const arith::BigInteger punctured = product / q;
    weights.push_back(punctured * arith::inverse(arith::modulo(punctured, q), q));
  }
  const std::size_t degree = poly.shape().degree;
  arith::BigInteger largest = 1;
  for (std::size_t b = 0; b < poly.shape().batch; ++b) {
    for (std::size_t n = 0; n < degree; ++n) {
      arith::BigInteger x = 0;
      for (std::size_t limb = 0; limb < moduli.size(); ++limb) {
        x += weights[limb] * words[(b * moduli.size() + limb) * degree + n];
      }
      x %= product;
      if (2 * x > product) x = product - x;
      largest = std::max(largest, x);
    }
  }
  return arith::log2(largest);
}

}  // namespace hemera::rlwe
