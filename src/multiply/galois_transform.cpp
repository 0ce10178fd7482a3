#include "hemera/multiply/galois_transform.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/diagonal.hpp"
#include "multiply/galois_forms.hpp"
#include "multiply/inert_tables.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::multiply {
namespace {

void check_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < 2 || degree > (std::size_t{1} << 32)) {
    throw ParameterError("a Galois transform has a power of two from 2 to 2^32 as its degree, not " +
                         std::to_string(degree));
  }
}

}  // namespace

void GaloisTransform::check_tensor_product(std::size_t out, std::size_t a, std::size_t b,
                                           std::size_t scratch) const {
  constexpr std::size_t most = 8;
  if (a < 1 || a > most || b < 1 || b > most || out != a + b - 1) {
    throw MismatchError("a product of " + std::to_string(a) + " by " + std::to_string(b) +
                        " polynomials into " + std::to_string(out) +
                        "; factors have 1 to 8 polynomials, the product one less than both");
  }
  if (scratch < tensor_scratch(a, b)) {
    throw MismatchError("a product of degree " + std::to_string(degree()) + " needs " +
                        std::to_string(tensor_scratch(a, b)) + " words of scratch, not " +
                        std::to_string(scratch));
  }
}

void GaloisTransform::tensor_product(std::span<std::uint64_t* const> out,
                                     std::span<const std::uint64_t* const> a,
                                     std::span<const std::uint64_t* const> b,
                                     std::span<std::uint64_t> scratch) const {
  check_tensor_product(out.size(), a.size(), b.size(), scratch.size());
  std::uint64_t* next = scratch.data();
  const auto transformed = [&](std::span<const std::uint64_t* const> operands) {
    std::vector<const std::uint64_t*> values;
    for (const std::uint64_t* operand : operands) {
      forward(next, operand);
      values.push_back(next);
      next += degree();
    }
    return values;
  };
  const bool square = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  const auto left = transformed(a);
  auto right = square ? left : transformed(b);
  std::reverse(right.begin(), right.end());  // then the terms of a component are two rows of neighbours
  for (std::size_t c = 0; c < out.size(); ++c) {
    const Diagonal terms = diagonal(c, left.size(), right.size());
    sum_to_coefficients(out[c], next, left.data() + terms.first,
                        right.data() + (right.size() - 1 + terms.first - c), terms.count);
  }
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
  if (inert) {
    const InertKernels& kernels = select_inert_kernels();
    const bool vectors = &kernels != &portable_inert_kernels() && has_vector_inert(degree, modulus);
    return vectors ? make_vector_inert(degree, modulus, kernels) : make_scalar_inert(degree, modulus);
  }
  if (root == 0) root = arith::minimal_primitive_root(2 * degree, modulus);
#if defined(HEMERA_X86_KERNELS)
  if (degree >= poly::min_degree && degree <= (std::size_t{1} << 20)) {
    const std::string_view set = poly::cpu::select_kernels(std::getenv("HEMERA_ISA")).name;
    const bool small = p < poly::cpu::max_modulus_52;
    if (set == "avx512") {
      return make_vector_split(degree, modulus, root,
                               small ? avx512_split52_kernels() : avx512_split64_kernels());
    }
    if (set == "avx2" && small) return make_vector_split(degree, modulus, root, avx2_split50_kernels());
  }
#endif
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
