// Products of arbitrary-precision integers by Schonhage-Strassen over the discrete Galois transform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/runtime/thread_pool.hpp"

namespace hemera::multiply {

/// How a product is computed: factors are cut into digits of `digit_bits`, the digits are multiplied as
/// polynomials modulo X^length + 1 and modulo each of `primes` primes p < 2^48, by transforms of length/2
/// Gaussian values.
struct IntegerProductPlan {
  int primes = 0;
  int digit_bits = 0;
  std::size_t length = 0;
  /// Scratch memory that the product takes, without its tables.
  std::size_t bytes = 0;

  /// For plan_product_modulo: M of products modulo 2^M + 1.
  [[nodiscard]] std::size_t modulus_exponent() const { return static_cast<std::size_t>(digit_bits) * length; }
};

/// The plan of least cost for factors of this many bits (at least 1 each): no coefficient of the product of
/// digits reaches the product of the primes, and no index reaches `length`. Throws OutOfMemoryError for
/// factors whose product has more than 2^38 bits, or needs more memory than this machine has.
IntegerProductPlan plan_integer_product(std::size_t bits_a, std::size_t bits_b);

/// The plan of least cost for products modulo 2^M + 1, for an M that is at least `least_exponent` (and 256)
/// and a multiple of `step`. The digits are cut so that X^length = -1 is 2^M = -1: nothing needs room for
/// what wraps, and transforms have half the length. `left` by `right` integers: of a tensor product of them.
/// Throws OutOfMemoryError for M above 2^38, or for more memory than this machine has.
IntegerProductPlan plan_product_modulo(std::size_t least_exponent, std::size_t step = 1, std::size_t left = 1,
                                       std::size_t right = 1);

/// Multiplies natural numbers. A. Schonhage and V. Strassen, "Schnelle Multiplikation grosser Zahlen" (1971),
/// the first of their two algorithms (digits, a transform that needs no wrapped product, carries), with exact
/// Gaussian integers modulo primes in place of complex numbers: p = 3 modulo 4 and -1 modulo a power of two,
/// several of them by the Chinese remainder theorem (J. M. Pollard, "The fast Fourier transform in a finite
/// field", 1971). The bounds are in docs/multiplication.md. Keeps its tables of twiddle factors for later
/// products; for any number of threads. HEMERA_ISA chooses the instruction set, as for the CPU backend.
class IntegerMultiplier {
 public:
  IntegerMultiplier();
  ~IntegerMultiplier();
  IntegerMultiplier(const IntegerMultiplier&) = delete;
  IntegerMultiplier& operator=(const IntegerMultiplier&) = delete;

  /// out = a b; 64-bit words, the lowest first, any of them zero. out has a.size() + b.size() words and
  /// overlaps neither factor: MismatchError otherwise. Throws OutOfMemoryError as for plan_integer_product.
  void multiply(std::span<std::uint64_t> out, std::span<const std::uint64_t> a,
                std::span<const std::uint64_t> b, runtime::ThreadPool& pool) const;

  /// out[c] = sum over i + j = c of a[i] b[j] modulo 2^exponent + 1, each factor transformed once. Integers
  /// are in [0, 2^exponent], both ends included, in exponent / 64 + 1 words; out may be factors. `exponent`:
  /// the modulus_exponent() of a plan_product_modulo for this many integers. Throws ParameterError for
  /// another one or for integers out of range, MismatchError for other sizes.
  void tensor_product_modulo(std::span<const std::span<std::uint64_t>> out,
                             std::span<const std::span<const std::uint64_t>> a,
                             std::span<const std::span<const std::uint64_t>> b, std::size_t exponent,
                             runtime::ThreadPool& pool) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the library was built with GMP: hemera/multiply/gmp.hpp, and GMP's own product.
bool built_with_gmp();
/// out = a b by GMP's mpz_mul, to compare with; as IntegerMultiplier::multiply, on one thread. Error, with
/// the way out, when the library was built without GMP.
void multiply_by_gmp(std::span<std::uint64_t> out, std::span<const std::uint64_t> a,
                     std::span<const std::uint64_t> b);

}  // namespace hemera::multiply
