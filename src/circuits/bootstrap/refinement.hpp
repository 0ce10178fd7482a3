// Bootstraps whose precision adds up.
#pragma once

#include <cstddef>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::circuits {

/// A further iteration: with x what is bootstrapped and y what earlier iterations made of it, y + B(2^k (x -
/// y)) / 2^k for a bootstrap B has 2^k times less of the error that B adds. (Y. Bae, J. Cheon, W. Cho, J.
/// Kim, T. Kim, "META-BTS: bootstrapping precision beyond the limit", 2022/1167.)
///
/// Differences are exact but for a rounding of 2^-k: y goes down to x's level in one division, whose factor
/// gives it x's scale times 2^k. The sum takes a level, for its division by 2^k.
class Refinement {
 public:
  /// k = `factor_log2`; x is at `low`, y at `level`, and what B returns at `high`.
  Refinement(std::size_t low, std::size_t level, std::size_t high, int factor_log2);

  /// 2^k (x - y), with the scale of x's level. The scale of x may be any power of two times it.
  [[nodiscard]] rlwe::Ciphertext difference(const rlwe::Ciphertext& x, const rlwe::Ciphertext& y) const;
  /// y + z / 2^k, one level below y.
  [[nodiscard]] rlwe::Ciphertext sum(const rlwe::Ciphertext& y, const rlwe::Ciphertext& z) const;

 private:
  std::size_t low_, level_, high_;
  double factor_;
};

}  // namespace hemera::circuits
