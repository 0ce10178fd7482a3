// The rows that a division makes of the dropped limbs, and how the target limbs follow from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemera/poly/plans.hpp"
#include "poly/cpu/conversion.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/parallel.hpp"

namespace hemera::poly::cpu {

/// Rows of N words of each polynomial: the scaled residues of E x modulo the dropped moduli, then BGV's
/// correction c = [-delta D^-1]_t (shifted to unsigned: c + (t - 1)/2), then the quotient. delta modulo a
/// target modulus is a weighted sum of them.
class DivisionRows {
 public:
  DivisionRows(const Kernels& kernels, const Division& plan)
      : kernels_(kernels),
        plan_(plan),
        converter_(kernels, plan.conversion()),
        weights_(plan.conversion().punctured()),
        shifts_(plan.target().size(), 0) {
    bound_ = largest_modulus(plan.dropped());
    if (has_plaintext()) bound_ = std::max(bound_, largest_modulus(plan.plaintext()));
    for (std::size_t j = 0; j < shifts_.size(); ++j) {
      const arith::Modulus& q = plan.target().modulus(j);
      if (converter_.centered()) shifts_[j] = plan.conversion().center_shift()[j];
      if (has_plaintext()) {
        const std::uint64_t product = plan.dropped_product()[j].operand;
        weights_[j].push_back(product);
        shifts_[j] = q.add(shifts_[j], q.multiply(product, plan.plaintext_conversion().center_shift()[j]));
      }
    }
  }

  [[nodiscard]] const Division& plan() const { return plan_; }
  [[nodiscard]] std::size_t dropped() const { return plan_.dropped().size(); }
  /// Rows that the weighted sums take.
  [[nodiscard]] std::size_t summed() const { return dropped() + plan_.plaintext().size(); }
  /// Whether BGV's correction is the row after the scaled residues.
  [[nodiscard]] bool has_plaintext() const { return !plan_.plaintext().empty(); }
  /// The shape of the rows that a division makes of the polynomials of `in`.
  [[nodiscard]] static PolyShape shape(const Division& plan, PolyShape in) {
    const std::size_t dropped = plan.dropped().size();
    in.limbs = dropped + plan.plaintext().size() + (dropped > 1 ? 1 : 0);
    return in;
  }

  /// Scaled residues of dropped limb i: E x times its factor, plus center(i).
  [[nodiscard]] arith::ShoupFactor factor(std::size_t i) const {
    const arith::Modulus& d = plan_.dropped().modulus(i);
    return {
        d.multiply(plan_.conversion().inverse_punctured()[i].operand, plan_.multiple_dropped()[i].operand),
        d};
  }
  [[nodiscard]] std::uint64_t center(std::size_t i) const {
    return converter_.centered() ? (plan_.dropped().modulus(i).value() - 1) / 2 : 0;
  }
  void scale(std::uint64_t* y, const std::uint64_t* x, std::size_t i, std::size_t count) const {
    kernels_.scale_residues(y, x, factor(i), converter_.centered(), count, plan_.dropped().modulus(i));
  }

  /// Entries that `complete` takes at once.
  static constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);

  /// Whether there are rows that follow from the scaled residues.
  [[nodiscard]] bool completes() const { return converter_.has_quotient() || has_plaintext(); }
  /// Their cost, per coefficient, in additions of words (tuning.hpp).
  [[nodiscard]] std::size_t weight() const {
    return 2 * (summed() + (converter_.has_quotient() ? 1 : 0)) + (has_plaintext() ? 6 : 0);
  }
  /// Makes the entries [first, first + block) of those of one polynomial.
  void complete(const PolyView& rows, std::size_t b, std::size_t c, std::size_t first) const {
    const std::vector<const std::uint64_t*> y = summed_rows(rows, b, c, first);
    std::uint64_t* const v = quotient_row(rows, b, c, first);
    if (v != nullptr) converter_.quotient(v, y.data(), block);
    if (!has_plaintext()) return;
    const arith::Modulus& t = plan_.plaintext().modulus(0);
    std::uint64_t* const correction = rows.limb<std::uint64_t>(b, c, dropped()) + first;
    converter_.convert(correction, y.data(), v, shifts_.size(), block);
    kernels_.scale_residues(correction, correction, {plan_.negative_inverse_plain(), t}, true, block, t);
  }
  void complete(runtime::Queue& queue, const PolyView& rows) const {
    if (!completes()) return;
    for_each_block(queue, rows.shape, block, weight(),
                   [&](std::size_t b, std::size_t c, std::size_t first) { complete(rows, b, c, first); });
  }

  // delta modulo target modulus j: the sum of `summed_rows` times weights, less the quotient times `product`
  // and the shift. All rows but the quotient are below `bound`.
  [[nodiscard]] const std::vector<std::uint64_t>& weights(std::size_t j) const { return weights_[j]; }
  [[nodiscard]] std::uint64_t product(std::size_t j) const { return plan_.conversion().product()[j]; }
  [[nodiscard]] std::uint64_t shift(std::size_t j) const { return shifts_[j]; }
  [[nodiscard]] std::uint64_t bound() const { return bound_; }
  [[nodiscard]] std::vector<const std::uint64_t*> summed_rows(const PolyView& rows, std::size_t b,
                                                              std::size_t c, std::size_t first) const {
    std::vector<const std::uint64_t*> y(summed());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = rows.limb<std::uint64_t>(b, c, i) + first;
    return y;
  }
  /// Null where there is none.
  [[nodiscard]] std::uint64_t* quotient_row(const PolyView& rows, std::size_t b, std::size_t c,
                                            std::size_t first) const {
    return converter_.has_quotient() ? rows.limb<std::uint64_t>(b, c, summed()) + first : nullptr;
  }

 private:
  const Kernels& kernels_;
  const Division& plan_;
  Converter converter_;
  std::vector<std::vector<std::uint64_t>> weights_;  // [target limb][row]
  std::vector<std::uint64_t> shifts_;                // [target limb]
  std::uint64_t bound_ = 0;
};

}  // namespace hemera::poly::cpu
