#include "hemera/multiply/galois_transform.hpp"

#include <bit>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/galois_scalar.hpp"

namespace hemera::multiply {
namespace {

void check_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < 2 || degree > (std::size_t{1} << 32)) {
    throw ParameterError("a Galois transform has a power of two from 2 to 2^32 as its degree, not " +
                         std::to_string(degree));
  }
}

}  // namespace

void GaloisTransform::multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                               std::span<std::uint64_t> scratch) const {
  if (scratch.size() < 2 * degree()) {
    throw MismatchError("a product of degree " + std::to_string(degree()) + " needs " +
                        std::to_string(2 * degree()) + " words of scratch, not " +
                        std::to_string(scratch.size()));
  }
  std::uint64_t* values = scratch.data();
  std::uint64_t* others = values + degree();
  forward(values, a);
  forward(others, b);
  sum_of_products(values, &values, &others, 1);
  inverse(out, values);
}

std::unique_ptr<const GaloisTransform> make_galois_transform(std::size_t degree, std::uint64_t p,
                                                             std::uint64_t root) {
  check_degree(degree);
  if (p < 3 || std::bit_width(p) > arith::max_modulus_bits) {
    throw ParameterError("the modulus " + std::to_string(p) + " of a Galois transform is not in [3, 2^61)");
  }
  const arith::Modulus modulus(p);
  const bool split = p % (2 * degree) == 1;
  const bool inert = p % 4 == 3 && (p + 1) % degree == 0;
  if ((!split && !inert) || !arith::is_prime(p)) {
    throw ParameterError("the modulus " + std::to_string(p) + " has no Galois transform of degree " +
                         std::to_string(degree) + "; use a prime that is 1 modulo " +
                         std::to_string(2 * degree) + ", or one that is 3 modulo 4 and -1 modulo " +
                         std::to_string(degree));
  }
  if (inert) return make_scalar_inert(degree, modulus);
  if (root == 0) root = arith::minimal_primitive_root(2 * degree, modulus);
  return make_scalar_split(degree, modulus, root);
}

std::uint64_t inert_prime_below(std::uint64_t bound, std::size_t degree) {
  check_degree(degree);
  if (bound > (std::uint64_t{1} << arith::max_modulus_bits)) {
    throw ParameterError("the bound " + std::to_string(bound) + " for a modulus is above 2^61");
  }
  const std::uint64_t step = degree < 4 ? 4 : degree;
  for (std::uint64_t p = bound / step * step; p >= step; p -= step) {
    if (arith::is_prime(p - 1)) return p - 1;
  }
  throw ParameterError("there is no prime below " + std::to_string(bound) +
                       " that is 3 modulo 4 and -1 modulo " + std::to_string(degree) + "; raise the bound");
}

}  // namespace hemera::multiply
