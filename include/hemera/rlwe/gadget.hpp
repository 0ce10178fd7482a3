// The gadget of a switching key: the key's modulus, and the digits of the polynomial that it switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hemera/poly/modulus_chain.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/runtime/checked_pointer.hpp"
#include "hemera/runtime/fork.hpp"

namespace hemera::rlwe {

/// A gadget by its primes: plain data, unchecked.
struct GadgetPrimes {
  /// The ciphertext primes that the key serves: those of one level, or of several.
  std::vector<std::uint64_t> base;
  /// P; may be empty. A prime may be special for one key and in another's base.
  std::vector<std::uint64_t> special;
  /// A partition of the base.
  std::vector<std::vector<std::uint64_t>> digits;
  /// Bits w of a base-2^w split of single-prime digits; 0: no split.
  int window_bits = 0;

  friend bool operator==(const GadgetPrimes&, const GadgetPrimes&) = default;
  friend auto operator<=>(const GadgetPrimes&, const GadgetPrimes&) = default;
};

/// Groups of as many consecutive primes as fit under the special ones; one prime each without special primes.
/// A group's product may exceed that of the special ones by a factor of 2^excess_bits, by which the error of
/// a switch grows.
std::vector<std::vector<std::uint64_t>> consecutive_digits(const std::vector<std::uint64_t>& primes,
                                                           const std::vector<std::uint64_t>& special,
                                                           double excess_bits = 0);

/// `count` groups of consecutive primes (fewer if there are fewer primes), of one size except the last group;
/// where that gives fewer groups, of sizes that differ by one.
std::vector<std::vector<std::uint64_t>> equal_digits(std::span<const std::uint64_t> primes,
                                                     std::size_t count);

/// Bits by which digits of keys for products may exceed P: primes near 2^50 lie around the special ones.
inline constexpr double digit_excess_bits = 0.5;

/// The primes of a gadget's base that a level lends to P (docs/arithmetic.md, "ModUp and gadgets"): none
/// where digits are single primes, or no longer than P to a bit.
std::vector<std::uint64_t> lent_primes(const GadgetPrimes& gadget, const std::vector<std::uint64_t>& level);

/// Number of a key's digits: one for each digit of the gadget, or for each window of a digit.
std::size_t key_digits(const GadgetPrimes& gadget);
/// The same of one digit.
std::size_t key_digits(const std::vector<std::uint64_t>& digit, int window_bits);

/// Throws ParameterError unless the digits are a partition of `primes`, of one prime each where there is a
/// window, and the window is from 0 to 61 bits.
void check_digits(const std::vector<std::vector<std::uint64_t>>& digits, int window_bits,
                  const std::vector<std::uint64_t>& primes);

class Gadget;
/// Throws MismatchError: a key has no gadget, as one that was moved from.
[[noreturn]] void throw_null(const Gadget*);
using GadgetPointer = runtime::CheckedPointer<const Gadget>;

/// Immutable, shared by the keys that have it; makes the plans of each level once. A key over base u P works
/// at every level whose base is a part of the gadget's: there, a digit is its intersection with the level's
/// base; where it is longer than P, primes that the level lacks are lent to P, as few as make it shorter than
/// P and those of other digits. (K. Han and D. Ki, "Better bootstrapping for approximate homomorphic
/// encryption", 2019/688, section 4; a gadget for each level: A. Kim, Y. Polyakov and V. Zucca, 2021/204,
/// appendix, "dynamic gadgets".)
class Gadget {
 public:
  /// Bases of the chain's ring. `plain` is t of BGV, empty otherwise. Throws ParameterError where digits are
  /// no partition of the base, special primes are in the base, or the base serves no level of the chain.
  Gadget(const poly::ModulusChain& chain, const GadgetPrimes& primes, poly::RnsBase plain);

  [[nodiscard]] const GadgetPrimes& primes() const { return primes_; }
  /// `base`: the ciphertext primes that it serves; `special`: P; `modulus`: base u P, in this order, the
  /// key's base.
  [[nodiscard]] const poly::RnsBase& base() const { return base_; }
  [[nodiscard]] const poly::RnsBase& special() const { return special_; }
  [[nodiscard]] const poly::RnsBase& modulus() const { return modulus_; }
  /// The digits of a key, in its order; those of a base-2^w split are several for each prime.
  [[nodiscard]] const std::vector<poly::GadgetDigit>& digits() const { return digits_; }
  /// log2 of base times P, on which the key's security rests.
  [[nodiscard]] double log_modulus() const { return modulus_.log2(); }

  /// Whether a ciphertext at `level` can be switched. False above the chain.
  [[nodiscard]] bool serves(std::size_t level) const { return level < serves_.size() && serves_[level]; }
  /// The highest level that it serves.
  [[nodiscard]] std::size_t highest_level() const { return highest_level_; }

  // Plans of a level that the gadget serves (throws LevelError otherwise), made at their first use.
  /// From the level's base to the digits over base u P, with what is lent.
  [[nodiscard]] const poly::ModUp& mod_up(std::size_t level) const;
  /// The division by P, from base u P back. Null without special primes.
  [[nodiscard]] const poly::Division* mod_down(std::size_t level) const;
  /// The same division, and the rescale to `target` <= level in it. Null if there is nothing to divide.
  [[nodiscard]] const poly::Division* mod_down(std::size_t level, std::size_t target) const;

  /// P modulo each prime of the base, and of the level's base (LevelError as above).
  [[nodiscard]] const std::vector<std::uint64_t>& special_residues() const { return special_residues_; }
  [[nodiscard]] const std::vector<std::uint64_t>& special_residues(std::size_t level) const;

  /// Digits times limbs of a switch at `level`: less is cheaper.
  [[nodiscard]] std::size_t cost(std::size_t level) const;

 private:
  void require(std::size_t level) const;

  poly::ModulusChain chain_;
  GadgetPrimes primes_;
  poly::RnsBase base_;
  poly::RnsBase special_;
  poly::RnsBase modulus_;
  poly::RnsBase plain_;
  std::vector<std::uint64_t> special_residues_;  // P modulo each prime of the base
  std::vector<poly::GadgetDigit> digits_;
  std::vector<bool> serves_;  // [level]
  std::size_t highest_level_ = 0;
  mutable runtime::ForkSafeMutex mutex_;
  mutable std::vector<std::unique_ptr<const poly::ModUp>> mod_up_;                    // [level]
  mutable std::vector<std::vector<std::unique_ptr<const poly::Division>>> mod_down_;  // [level][target]
  std::vector<poly::RnsBase> lent_;                                                   // [level]
};

}  // namespace hemera::rlwe
