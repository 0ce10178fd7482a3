// The discrete Galois transform: negacyclic products of length N from transforms of length N/2 over Gaussian
// integers modulo a prime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/arith/modulus.hpp"

namespace hemera::multiply {

/// Takes a polynomial a of Z_p[X]/(X^N + 1) to N/2 values in Z_p[i]: the fold a_j + i a_(j + N/2) is a
/// polynomial modulo X^(N/2) - i, and its values are those at the roots of X^(N/2) = i. Immutable; for any
/// number of threads.
///
/// R. Creutzburg and M. Tasche, "Parameter determination for complex number-theoretic transforms using
/// cyclotomic polynomials" (1989); R. E. Crandall, "Integer convolution via split-radix fast Galois
/// transform" (1999); for X^N + 1, A. Al Badawi, B. Veeravalli, K. M. M. Aung, "Efficient polynomial
/// multiplication via modified discrete Galois transform and negacyclic convolution" (2018). Forward
/// Cooley-Tukey, inverse Gentleman-Sande.
class GaloisTransform {
 public:
  /// How p behaves in the Gaussian integers. Split: p = 1 modulo 4, -1 has a root modulo p and Z_p[i] is two
  /// copies of Z_p. Inert: p = 3 modulo 4, and Z_p[i] is the field of p^2 elements.
  enum class Form { split, inert };

  GaloisTransform() = default;
  GaloisTransform(const GaloisTransform&) = delete;
  GaloisTransform& operator=(const GaloisTransform&) = delete;
  virtual ~GaloisTransform() = default;

  [[nodiscard]] virtual Form form() const = 0;
  [[nodiscard]] virtual std::size_t degree() const = 0;
  [[nodiscard]] virtual const arith::Modulus& modulus() const = 0;

  /// N canonical coefficients to N words of values, in an order and a range of the transform's own. The
  /// arrays do not overlap.
  virtual void forward(std::uint64_t* values, const std::uint64_t* coefficients) const = 0;
  /// N words of values to canonical coefficients. The values are lost. The arrays do not overlap.
  virtual void inverse(std::uint64_t* coefficients, std::uint64_t* values) const = 0;
  /// out = sum of a[k] b[k] for k < terms, on values; out may be any input; 1 <= terms <= 8.
  virtual void sum_of_products(std::uint64_t* out, const std::uint64_t* const* a,
                               const std::uint64_t* const* b, std::size_t terms) const = 0;

  /// out[c] = sum over i + j = c of a[i] b[j] modulo X^N + 1, on canonical coefficients: with one polynomial
  /// each, the product. 1 to 8 polynomials in a and in b; out may be inputs; scratch has tensor_scratch(a, b)
  /// words. Throws MismatchError for other sizes.
  virtual void tensor_product(std::span<std::uint64_t* const> out, std::span<const std::uint64_t* const> a,
                              std::span<const std::uint64_t* const> b,
                              std::span<std::uint64_t> scratch) const;
  [[nodiscard]] std::size_t tensor_scratch(std::size_t a, std::size_t b) const {
    return (2 * a + 2 * b - 1) * degree();
  }

 protected:
  void check_tensor_product(std::size_t out, std::size_t a, std::size_t b, std::size_t scratch) const;

 private:
  /// out = the coefficients of the sum of a[k] b[k]; `values` is scratch. A transform may join the two steps.
  virtual void sum_to_coefficients(std::uint64_t* out, std::uint64_t* values, const std::uint64_t* const* a,
                                   const std::uint64_t* const* b, std::size_t terms) const {
    sum_of_products(values, a, b, terms);
    inverse(out, values);
  }
};

/// The transform for degree N, a power of two from 2 to 2^32, and a prime p < 2^61 that is 1 modulo 2N (the
/// split form) or 3 modulo 4 and -1 modulo N (the inert form). Throws ParameterError for anything else.
/// `root`: a primitive 2N-th root of unity modulo p = 1 modulo 2N, if the caller has one. HEMERA_ISA chooses
/// the instruction set, as for the CPU backend.
std::unique_ptr<const GaloisTransform> make_galois_transform(std::size_t degree, std::uint64_t p,
                                                             std::uint64_t root = 0);

/// The largest prime below `bound` <= 2^61 that has an inert transform of degree N (a power of two): 3 modulo
/// 4 and -1 modulo N. Throws ParameterError when there is none.
std::uint64_t inert_prime_below(std::uint64_t bound, std::size_t degree);

}  // namespace hemera::multiply
