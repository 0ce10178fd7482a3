// Pre-computed constants of the RNS operations: made once per context, used by every backend.
//
// Notation: a base A = {a_1, ..., a_k} with product A; A_i = A / a_i. The scaled residues of x are
// y_i = x * A_i^-1 mod a_i, so x = sum y_i A_i - v A for an integer v.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::poly {

/// Identifies a plan. Copies of a plan share its identity, so a backend can keep tables of the plan in its
/// memory for as long as a copy lives.
class PlanIdentity {
 public:
  PlanIdentity() : token_(std::make_shared<const char>()) {}
  [[nodiscard]] const std::shared_ptr<const char>& token() const { return token_; }

 private:
  std::shared_ptr<const char> token_;
};

/// Bits after the point of the fixed-point quotients.
inline constexpr int fraction_bits = 64;

/// From a source base to a target base, coefficient form (docs/arithmetic.md, "Base conversion").
///
/// approximate: y_i centred in [-(a_i-1)/2, (a_i-1)/2]; the result is sum y_i A_i mod b_j, that is the
/// residue of
///   some x + u A with |u| <= k/2 (uncorrected; commutes with automorphisms). With a multiple F: some x + u A
///   that F divides, |u| <= F k/2; A_i is F A_i in all of this.
/// exact: the centred representative of x modulo A, in [-(A-1)/2, (A-1)/2], modulo b_j. The quotient is
///   v = floor((sum_i floor(y_i * r_i / 2^(bits_i - 1)) + 2^63) / 2^64) with r_i = floor(2^(63 + bits_i) /
///   a_i) and y_i in [0, a_i): wrong by one only if x / A is within 3k * 2^-64 of +-1/2. (S. Halevi, Y.
///   Polyakov, V. Shoup, "An improved RNS variant of the BFV scheme", 2018/117, section 2.2, with an integer
///   quotient in place of a sum of doubles.)
/// A source of one modulus is always exact.
class BaseConversion {
 public:
  enum class Kind : std::uint8_t { approximate, exact };

  /// Every source modulus must be odd and coprime to the others unless the source has one modulus only;
  /// throws ParameterError otherwise. An empty source converts to zero. `multiple`: the moduli of F, of an
  /// approximate conversion from two moduli or more.
  BaseConversion(const RnsBase& source, const RnsBase& target, Kind kind, const RnsBase& multiple = {});

  [[nodiscard]] const RnsBase& source() const { return source_; }
  [[nodiscard]] const RnsBase& target() const { return target_; }
  [[nodiscard]] Kind kind() const { return kind_; }

  /// A_i^-1 mod a_i, [source limb].
  [[nodiscard]] const std::vector<arith::ShoupFactor>& inverse_punctured() const {
    return inverse_punctured_;
  }
  /// A_i mod b_j, [target limb][source limb].
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& punctured() const { return punctured_; }
  /// A mod b_j, [target limb].
  [[nodiscard]] const std::vector<std::uint64_t>& product() const { return product_; }
  /// sum_i (a_i - 1)/2 * A_i mod b_j, [target limb]: the shift's contribution to unsigned scaled residues.
  [[nodiscard]] const std::vector<std::uint64_t>& center_shift() const { return center_shift_; }
  /// r_i = floor(2^(63 + bits_i) / a_i), [source limb].
  [[nodiscard]] const std::vector<std::uint64_t>& quotient_factors() const { return quotient_factors_; }
  [[nodiscard]] const PlanIdentity& identity() const { return identity_; }

 private:
  RnsBase source_;
  RnsBase target_;
  Kind kind_;
  std::vector<arith::ShoupFactor> inverse_punctured_;
  std::vector<std::vector<std::uint64_t>> punctured_;
  std::vector<std::uint64_t> product_;
  std::vector<std::uint64_t> center_shift_;
  std::vector<std::uint64_t> quotient_factors_;
  PlanIdentity identity_;
};

/// Division with rounding from a source base to a target base (rescale, ModDown, BFV and BGV modulus
/// switching), of x or of a multiple of it.
///
/// With D the product of the dropped moduli (in the source, not in the target) and E that of the added ones,
/// times the factor:
///   delta = the centred representative of E x modulo D (the exact conversion),
///   out_j = (E x - delta) / D modulo each target modulus, that is round(E x / D).
/// With a plaintext modulus t (BGV): delta is replaced by delta + D * [-delta D^-1]_t, the last factor
/// centred (Modulus::centered), so that the subtracted multiple is 0 modulo t and out = E D^-1 x modulo t.
/// Works in either form; in evaluation form only the dropped limbs are transformed back.
class Division {
 public:
  /// `plaintext`: a base of the one modulus t, or an empty base. `factor`: a positive whole number. Throws
  /// ParameterError if no modulus is dropped, if the factor is no positive whole number, or if it is 0 modulo
  /// a modulus that source and target share.
  Division(const RnsBase& source, const RnsBase& target, const RnsBase& plaintext = {}, double factor = 1);

  [[nodiscard]] const RnsBase& source() const { return source_; }
  [[nodiscard]] const RnsBase& target() const { return target_; }
  [[nodiscard]] const RnsBase& dropped() const { return dropped_; }
  [[nodiscard]] const RnsBase& plaintext() const { return plaintext_; }
  /// Positions in the source of the dropped limbs.
  [[nodiscard]] const std::vector<std::uint32_t>& dropped_positions() const { return dropped_positions_; }
  /// For each target limb its position in the source, or -1 for an added one (E x is 0 there).
  [[nodiscard]] const std::vector<std::int32_t>& kept_positions() const { return kept_positions_; }
  /// Exact conversion from the dropped base to the target base, and to t at the end if there is one.
  [[nodiscard]] const BaseConversion& conversion() const { return conversion_; }
  /// E modulo each dropped modulus.
  [[nodiscard]] const std::vector<arith::ShoupFactor>& multiple_dropped() const { return multiple_dropped_; }
  /// D^-1 mod b_j, [target limb].
  [[nodiscard]] const std::vector<arith::ShoupFactor>& inverse_dropped() const { return inverse_dropped_; }
  /// E D^-1 mod b_j, [target limb] (0 at added limbs).
  [[nodiscard]] const std::vector<arith::ShoupFactor>& scaled_inverse() const { return scaled_inverse_; }
  /// D mod b_j, [target limb]: for the BGV correction.
  [[nodiscard]] const std::vector<arith::ShoupFactor>& dropped_product() const { return dropped_product_; }
  /// From t to the target base: the centred correction of BGV (empty without t).
  [[nodiscard]] const BaseConversion& plaintext_conversion() const { return plaintext_conversion_; }
  /// -D^-1 mod t (0 without t).
  [[nodiscard]] std::uint64_t negative_inverse_plain() const { return negative_inverse_plain_; }
  /// The factor given to the constructor.
  [[nodiscard]] double factor() const { return factor_; }
  /// Whether E is not 1.
  [[nodiscard]] bool multiplies() const { return multiplies_; }

 private:
  RnsBase source_;
  RnsBase target_;
  RnsBase plaintext_;
  RnsBase dropped_;
  std::vector<std::uint32_t> dropped_positions_;
  std::vector<std::int32_t> kept_positions_;
  BaseConversion conversion_;
  BaseConversion plaintext_conversion_;
  std::vector<arith::ShoupFactor> multiple_dropped_;
  std::vector<arith::ShoupFactor> inverse_dropped_;
  std::vector<arith::ShoupFactor> scaled_inverse_;
  std::vector<arith::ShoupFactor> dropped_product_;
  std::uint64_t negative_inverse_plain_ = 0;
  double factor_;
  bool multiplies_ = false;
};

/// round(t x / D) for x over a source base A = D u B, coefficient form, x centred modulo A; output over a
/// target base that is a part of B, or over one modulus outside A that t is a multiple of (decryption: the
/// plaintext modulus t itself, B empty).
///
/// With y_i the scaled residues modulo A (in [0, a_i)) and t B / d_i = w_i + f_i (integer and fraction, for
/// d_i in D):
///   out_j = y_j * t * (B / b_j) + sum_{i in D} y_i w_i + floor((sum_{i in D} y_i F_i + 2^127) / 2^128)
/// modulo b_j, with F_i = floor(f_i * 2^128). Wrong by one only within |D| * 2^-67 above a tie. The last sum
/// can exceed 192 bits. (Halevi, Polyakov, Shoup, 2018/117, section 2.3, with an integer sum in place of
/// doubles.)
class ScaleAndRound {
 public:
  ScaleAndRound(const RnsBase& source, const RnsBase& divided, std::uint64_t factor, const RnsBase& target);

  [[nodiscard]] const RnsBase& source() const { return source_; }
  [[nodiscard]] const RnsBase& divided() const { return divided_; }
  [[nodiscard]] const RnsBase& target() const { return target_; }
  [[nodiscard]] std::uint64_t factor() const { return factor_; }
  /// Positions in the source of the divided limbs.
  [[nodiscard]] const std::vector<std::uint32_t>& divided_positions() const { return divided_positions_; }
  /// For each target limb its position in the source, or -1 (a modulus outside the source).
  [[nodiscard]] const std::vector<std::int32_t>& target_positions() const { return target_positions_; }
  /// A_i^-1 mod a_i, [source limb].
  [[nodiscard]] const std::vector<arith::ShoupFactor>& inverse_punctured() const {
    return inverse_punctured_;
  }
  /// w_i mod b_j, [target limb][divided limb].
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& whole() const { return whole_; }
  /// F_i as (high, low) words, [divided limb].
  [[nodiscard]] const std::vector<std::uint64_t>& fraction_high() const { return fraction_high_; }
  [[nodiscard]] const std::vector<std::uint64_t>& fraction_low() const { return fraction_low_; }
  /// t * (B / b_j) mod b_j, [target limb] (0 for a modulus outside the source).
  [[nodiscard]] const std::vector<std::uint64_t>& kept_factor() const { return kept_factor_; }
  [[nodiscard]] const PlanIdentity& identity() const { return identity_; }

 private:
  RnsBase source_;
  RnsBase divided_;
  RnsBase target_;
  std::uint64_t factor_;
  std::vector<std::uint32_t> divided_positions_;
  std::vector<std::int32_t> target_positions_;
  std::vector<arith::ShoupFactor> inverse_punctured_;
  std::vector<std::vector<std::uint64_t>> whole_;
  std::vector<std::uint64_t> fraction_high_;
  std::vector<std::uint64_t> fraction_low_;
  std::vector<std::uint64_t> kept_factor_;
  PlanIdentity identity_;
};

/// round(t a b / Q) over a base Q by way of an auxiliary base P ("HPS over Q": A. Kim, Y. Polyakov, V. Zucca,
/// 2021/204, section 4): with b' = round(P b / Q) over P, centred and lifted to Q, and a lifted to P,
///   out = round(a (t b') / P) modulo Q.
/// a (t b') may wrap around Q P; the wrapped part is a multiple of Q after the division.
class ScaledProduct {
 public:
  /// The bases must be disjoint and not empty; throws ParameterError otherwise.
  ScaledProduct(const RnsBase& base, const RnsBase& auxiliary, std::uint64_t factor);

  [[nodiscard]] const RnsBase& base() const { return base_; }
  [[nodiscard]] const RnsBase& auxiliary() const { return auxiliary_; }
  /// Q u P, in this order.
  [[nodiscard]] const RnsBase& all() const { return all_; }
  /// t modulo each limb of Q u P.
  [[nodiscard]] const std::vector<std::uint64_t>& factors() const { return factors_; }
  /// The exact conversions from Q to P, and back.
  [[nodiscard]] const BaseConversion& to_auxiliary() const { return to_auxiliary_; }
  [[nodiscard]] const BaseConversion& to_base() const { return to_base_; }
  /// x over Q to round(P x / Q) over P.
  [[nodiscard]] const Division& rounding() const { return rounding_; }
  /// x over Q u P to round(x / P) over Q.
  [[nodiscard]] const Division& division() const { return division_; }
  [[nodiscard]] const PlanIdentity& identity() const { return identity_; }

 private:
  RnsBase base_;
  RnsBase auxiliary_;
  RnsBase all_;
  std::vector<std::uint64_t> factors_;
  BaseConversion to_auxiliary_;
  BaseConversion to_base_;
  Division rounding_;
  Division division_;
  PlanIdentity identity_;
};

/// One digit of a gadget decomposition: some limbs of the base, or, of a base-2^w gadget, a window of bits of
/// one limb.
struct GadgetDigit {
  /// Index of the digit in the evaluation key.
  std::size_t key_digit = 0;
  /// The digit's moduli that the level's base has.
  RnsBase moduli;
  /// Lowest bit and number of bits of the window; width 0: the whole residue (the usual RNS digit).
  int shift = 0;
  int width = 0;
};

/// Moduli of a key's base that a level lacks, lent to the special ones.
struct LentModuli {
  RnsBase all;
  /// One base for each digit at the level, of the key digit's own primes: such a digit is a multiple of them.
  std::vector<RnsBase> of_digits = {};
};

/// ModUp at one level: from the level's base to each digit extended to base u special primes, evaluation
/// form. An RNS digit is extended by the approximate conversion (its own limbs stay as they are); a windowed
/// digit is the unsigned integer (residue >> shift) mod 2^width, reduced modulo every limb.
///
/// With lent moduli, of product R, digits are those of R x (docs/arithmetic.md, "ModUp and gadgets").
class ModUp {
 public:
  /// Every digit's moduli must be a part of `base`, and the lent ones of `special`; windowed digits have one
  /// modulus. Throws ParameterError otherwise.
  ModUp(const RnsBase& base, const RnsBase& special, std::vector<GadgetDigit> digits, const RnsBase& key_base,
        LentModuli lent = {});

  [[nodiscard]] const RnsBase& base() const { return base_; }
  /// base u special, in this order: the base of the extended digits and of the inner product.
  [[nodiscard]] const RnsBase& extended() const { return extended_; }
  [[nodiscard]] const std::vector<GadgetDigit>& digits() const { return digits_; }
  /// For digit d, the conversion from its moduli to the other limbs of `extended`, in order (empty source for
  /// a windowed digit).
  [[nodiscard]] const std::vector<BaseConversion>& conversions() const { return conversions_; }
  /// Positions in `extended` of digit d's own moduli, and of the targets of its conversion.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& own_positions() const {
    return own_positions_;
  }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& other_positions() const {
    return other_positions_;
  }
  /// The base of the evaluation key.
  [[nodiscard]] const RnsBase& key_base() const { return key_base_; }
  /// For each limb of `extended` its position in the key's base.
  [[nodiscard]] const std::vector<std::uint32_t>& key_positions() const { return key_positions_; }
  /// P, the product of the special primes, modulo each limb of `base`.
  [[nodiscard]] const std::vector<std::uint64_t>& special_residues() const { return special_residues_; }
  [[nodiscard]] const LentModuli& lent() const { return lent_; }
  /// R modulo each limb of `base`; empty if nothing is lent.
  [[nodiscard]] const std::vector<std::uint64_t>& lent_residues() const { return lent_residues_; }
  /// The same plan for polynomials that are multiplied by R already, and with `addends` for such addends,
  /// too.
  [[nodiscard]] const ModUp& of_multiples(bool addends = false) const {
    const auto& plan = addends ? with_addends_ : of_multiples_;
    return plan ? *plan : *this;
  }
  [[nodiscard]] const PlanIdentity& identity() const { return identity_; }

 private:
  RnsBase base_;
  RnsBase extended_;
  RnsBase key_base_;
  std::vector<GadgetDigit> digits_;
  std::vector<BaseConversion> conversions_;
  std::vector<std::vector<std::uint32_t>> own_positions_;
  std::vector<std::vector<std::uint32_t>> other_positions_;
  std::vector<std::uint32_t> key_positions_;
  std::vector<std::uint64_t> special_residues_;
  PlanIdentity identity_;
  LentModuli lent_;
  std::vector<std::uint64_t> lent_residues_;
  std::shared_ptr<const ModUp> of_multiples_, with_addends_;
};

}  // namespace hemera::poly
