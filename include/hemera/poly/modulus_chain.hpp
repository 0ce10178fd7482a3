// A modulus chain: one RNS base per level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemera/poly/ring.hpp"

namespace hemera::poly {

/// The quotient of two bases' moduli, given by their primes, as a double.
double modulus_ratio(const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to);

/// The bases of the levels 0 (the last, smallest) to top. Going down one level drops some primes and may add
/// others, so a level's size need not be a prime's ("rational rescaling").
class ModulusChain {
 public:
  ModulusChain() = default;
  /// `bases[level]`; throws ParameterError if there is none, if one is empty, or if a base's product is not
  /// smaller than the next higher one's.
  explicit ModulusChain(std::vector<RnsBase> bases);

  [[nodiscard]] std::size_t levels() const { return bases_.size(); }
  [[nodiscard]] std::size_t top() const { return bases_.size() - 1; }
  /// Throws LevelError for a level above the top.
  [[nodiscard]] const RnsBase& base(std::size_t level) const {
    if (level >= bases_.size()) [[unlikely]]
      throw_no_level(level);
    return bases_[level];
  }
  /// The union U of all bases: the top base, then what lower levels add.
  [[nodiscard]] const RnsBase& all() const { return union_; }
  /// Product of the primes dropped from `level` to the next lower one, divided by the product of those added,
  /// as a double: the factor by which a CKKS rescale divides the scale. Throws LevelError for level 0.
  [[nodiscard]] double ratio(std::size_t level) const;

 private:
  [[noreturn]] void throw_no_level(std::size_t level) const;

  std::vector<RnsBase> bases_;
  RnsBase union_;
};

}  // namespace hemera::poly
