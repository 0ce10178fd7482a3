// Base conversion, division and scale-and-round by exact integers, straight from docs/arithmetic.md.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/suite.hpp"
#include "hemera/arith/big_integer.hpp"

namespace hemera::conformance {

using arith::BigInteger;

/// An RNS base with the constants of the Chinese remainder theorem.
class ExactBase {
 public:
  explicit ExactBase(const poly::RnsBase& base);

  [[nodiscard]] std::size_t size() const { return moduli_.size(); }
  [[nodiscard]] const BigInteger& product() const { return product_; }
  [[nodiscard]] std::uint64_t modulus(std::size_t i) const { return moduli_[i]; }
  /// The integer in [0, A).
  [[nodiscard]] BigInteger combine(const std::vector<std::uint64_t>& residues) const;
  [[nodiscard]] std::vector<std::uint64_t> residues(const BigInteger& value) const;
  /// y_i = x A_i^-1 mod a_i.
  [[nodiscard]] std::vector<std::uint64_t> scaled(const std::vector<std::uint64_t>& residues) const;
  /// The integer that the approximate conversion stands for.
  [[nodiscard]] BigInteger approximate(const std::vector<std::uint64_t>& residues) const;
  /// The integer that the exact conversion stands for, with its fixed-point quotient.
  [[nodiscard]] BigInteger exact(const std::vector<std::uint64_t>& residues) const;
  /// Whether the fixed-point quotient must be right: x / A is at least 3k 2^-64 away from 1/2.
  [[nodiscard]] bool quotient_is_certain(const BigInteger& x) const;
  /// Integers on which quotients and centring can go wrong: 0, A - 1, around A / 2, all residues maximal.
  [[nodiscard]] std::vector<BigInteger> adversarial() const;

 private:
  std::vector<std::uint64_t> moduli_;
  BigInteger product_;
  std::vector<BigInteger> parts_;       // A_i
  std::vector<std::uint64_t> inverse_;  // A_i^-1 mod a_i
  std::vector<int> bits_;               // of a_i
  std::vector<std::uint64_t> factor_;   // floor(2^(63 + bits) / a_i), at most 2^64 - 1
};

/// The representative of x modulo m in (-m/2, m/2].
BigInteger centered(const BigInteger& x, const BigInteger& m);
/// floor(a / b) for b > 0.
BigInteger floor_divide(const BigInteger& a, const BigInteger& b);
/// The integer nearest to a / b for b > 0 (ties up).
BigInteger round_divide(const BigInteger& a, const BigInteger& b);

/// Random residues of which the first coefficients of each polynomial are the adversarial integers.
Host adversarial(Rig& rig, const poly::RnsBase& base, std::size_t batch, std::size_t components);

/// The result of a function of integers, coefficient by coefficient: `function` gets the source residues.
Host map_coefficients(const Host& in, const poly::RnsBase& target,
                      const std::function<BigInteger(const std::vector<std::uint64_t>&)>& function);

}  // namespace hemera::conformance
