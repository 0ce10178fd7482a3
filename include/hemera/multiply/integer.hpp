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
};

/// The plan of least cost for factors of so many bits (at least 1 each): no coefficient of the product of
/// digits reaches the product of the primes, and no index reaches `length`. OutOfMemoryError for factors
/// whose product has more than 2^38 bits, or needs more memory than this machine has.
/// `left` by `right` factors: the plan of a tensor product of them.
IntegerProductPlan plan_integer_product(std::size_t bits_a, std::size_t bits_b, std::size_t left = 1,
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
  /// overlaps neither factor: MismatchError otherwise. OutOfMemoryError as for plan_integer_product.
  void multiply(std::span<std::uint64_t> out, std::span<const std::uint64_t> a,
                std::span<const std::uint64_t> b, runtime::ThreadPool& pool) const;

  /// out[c] = sum over i + j = c of a[i] b[j], each factor transformed once. All of a have one size, and all
  /// of b; out has a + b - 1 integers of a size of one more word than a product.
  void tensor_product(std::span<const std::span<std::uint64_t>> out,
                      std::span<const std::span<const std::uint64_t>> a,
                      std::span<const std::span<const std::uint64_t>> b, runtime::ThreadPool& pool) const;

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
