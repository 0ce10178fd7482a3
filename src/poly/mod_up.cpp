#include <memory>
#include <string>
#include <utility>

#include "hemera/poly/plans.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

ModUp::ModUp(const RnsBase& base, const RnsBase& special, std::vector<GadgetDigit> digits,
             const RnsBase& key_base, LentModuli lent)
    : base_(base),
      extended_(base.united(special)),
      key_base_(key_base),
      digits_(std::move(digits)),
      key_positions_(key_base.positions(extended_)),
      lent_(std::move(lent)) {
  if (digits_.empty()) throw ParameterError("mod up: the gadget has no digits at this level");
  if (extended_.size() != base.size() + special.size()) {
    throw ParameterError("mod up: the base and the special moduli have a modulus in common");
  }
  special_residues_ = base.residues_of_product(special);
  const RnsBase& all_lent = lent_.all;
  lent_.of_digits.resize(digits_.size());
  for (const RnsBase& own : lent_.of_digits) {
    if (!own.without(all_lent).empty() || !all_lent.without(special).empty()) {
      throw ParameterError("mod up: moduli of digits are lent that are not among the special ones");
    }
  }
  if (!all_lent.empty()) lent_residues_ = base.residues_of_product(all_lent);
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const GadgetDigit& digit = digits_[d];
    const std::string name = "mod up: digit " + std::to_string(d);
    if (digit.moduli.empty()) throw ParameterError(name + " has no moduli");
    for (const std::uint32_t index : digit.moduli.indices()) {
      if (digit.moduli.ring() != base.ring() || !base.contains(index)) {
        throw ParameterError(
            name + " has a modulus that the base does not have; a digit is a part of its level's base");
      }
    }
    if (digit.width != 0) {
      const int bits = digit.moduli.modulus(0).bits();
      if (digit.moduli.size() != 1) {
        throw ParameterError(name + " is a window of bits, so it must have one modulus, not " +
                             std::to_string(digit.moduli.size()));
      }
      if (digit.width < 0 || digit.shift < 0 || digit.shift >= bits) {
        throw ParameterError(name + " asks for " + std::to_string(digit.width) + " bits from bit " +
                             std::to_string(digit.shift) + " of a modulus of " + std::to_string(bits) +
                             " bits");
      }
    }
    own_positions_.push_back(extended_.positions(digit.moduli));
    const bool windowed = digit.width != 0;
    const RnsBase others = windowed ? RnsBase() : extended_.without(digit.moduli);
    conversions_.emplace_back(windowed ? RnsBase() : digit.moduli, others, BaseConversion::Kind::approximate,
                              lent_.of_digits[d]);
    other_positions_.push_back(extended_.positions(others));
  }
  if (all_lent.empty()) return;
  ModUp multiples = *this;
  multiples.lent_residues_.clear();
  of_multiples_ = std::make_shared<const ModUp>(multiples);
  multiples.special_residues_ = base.residues_of_product(special.without(all_lent));
  with_addends_ = std::make_shared<const ModUp>(std::move(multiples));
}

}  // namespace hemera::poly
