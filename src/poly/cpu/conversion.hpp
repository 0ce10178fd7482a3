// Base conversion of one block of coefficients, for the CPU backend's operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "hemera/poly/plans.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

/// Scratch of one task: on its stack while it is small, which keeps it in the second-level cache.
class BlockScratch {
 public:
  static constexpr std::size_t stack_words = std::size_t{1} << 14;

  explicit BlockScratch(std::size_t words) {
    if (words > stack_words) heap_.reset(new (std::align_val_t{64}) std::uint64_t[words]);
  }
  [[nodiscard]] std::uint64_t* data() { return heap_ ? heap_.get() : stack_; }

 private:
  struct Release {
    void operator()(std::uint64_t* words) const { ::operator delete[](words, std::align_val_t{64}); }
  };

  std::unique_ptr<std::uint64_t[], Release> heap_;
  alignas(64) std::uint64_t stack_[stack_words];
};

/// Coefficients in a block of `rows` scratch rows: a divisor of N from 64 to 2048 that lets the scratch fit
/// its stack.
inline std::size_t block_size(std::size_t rows) {
  std::size_t block = 2048;
  while (block > 64 && block * rows > BlockScratch::stack_words) block /= 2;
  return block < min_degree ? block : min_degree;
}

/// The largest modulus of a base: a bound of its residues.
inline std::uint64_t largest_modulus(const RnsBase& base) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    largest = base.modulus(i).value() > largest ? base.modulus(i).value() : largest;
  }
  return largest;
}

/// Whether Kernels::forward_transform_of_sum serves a modulus and residues below `bound`.
inline bool transforms_sums(const Kernels& kernels, const arith::Modulus& q, std::uint64_t bound) {
  return kernels.forward_transform_of_sum != nullptr &&
         (q.value() >= max_modulus_52 || bound <= max_modulus_52);
}

/// The constants of one plan in the shape that the kernels take them.
class Converter {
 public:
  Converter(const Kernels& kernels, const BaseConversion& plan) : kernels_(kernels), plan_(plan) {
    // A single modulus converts exactly by its centred residue, without a quotient (an even one included).
    centered_ = plan.kind() == BaseConversion::Kind::approximate || plan.source().size() == 1;
    bound_ = largest_modulus(plan.source());
    for (std::size_t i = 0; i < plan.source().size(); ++i) bits_.push_back(plan.source().modulus(i).bits());
  }

  /// Whether scaled residues are centred (and shifted to unsigned).
  [[nodiscard]] bool centered() const { return centered_; }
  /// Whether `convert` wants a quotient row.
  [[nodiscard]] bool has_quotient() const { return !centered_; }

  /// The number that is added to the weighted sum of target limb j.
  [[nodiscard]] std::uint64_t negative_shift(std::size_t j) const {
    return centered_ ? plan_.target().modulus(j).negate(plan_.center_shift()[j]) : 0;
  }

  /// Source limb i to scaled residues; y may be x.
  void scale(std::uint64_t* y, const std::uint64_t* x, std::size_t i, std::size_t count) const {
    kernels_.scale_residues(y, x, plan_.inverse_punctured()[i], centered_, count, plan_.source().modulus(i));
  }

  /// The quotient of scaled residues y[source limb]; only if has_quotient(). Whether one of them is rounded
  /// by a quarter or more.
  bool quotient(std::uint64_t* v, const std::uint64_t* const* y, std::size_t count) const {
    return kernels_.quotient(v, y, plan_.quotient_factors().data(), bits_.data(), plan_.source().size(),
                             count);
  }

  /// Whether a residue is more than a quarter of the modulus away from 0: in the place of a quotient, for one
  /// source modulus.
  [[nodiscard]] bool one_is_large(const std::uint64_t* y, std::size_t count) const {
    const std::uint64_t a = plan_.source().modulus(0).value();
    return kernels_.one_outside(y, (a - 1) / 2 - a / 4, (a - 1) / 2 + a / 4, count);
  }

  /// Target limb j; v is null if not has_quotient().
  void convert(std::uint64_t* out, const std::uint64_t* const* y, const std::uint64_t* v, std::size_t j,
               std::size_t count) const {
    kernels_.weighted_sum(out, y, plan_.punctured()[j].data(), plan_.source().size(), bound_, v,
                          plan_.product()[j], centered_ ? plan_.center_shift()[j] : 0, count,
                          plan_.target().modulus(j));
  }

 private:
  const Kernels& kernels_;
  const BaseConversion& plan_;
  bool centered_ = false;
  std::uint64_t bound_ = 0;
  std::vector<int> bits_;
};

}  // namespace hemera::poly::cpu
