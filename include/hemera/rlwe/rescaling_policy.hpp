// Who rescales and when, how operands are aligned, and which scale each level has: as data.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/rlwe/scheme.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::rlwe {

/// Who rescales a product.
enum class RescaleBy : std::uint8_t {
  caller = 0,
  /// The evaluator, just before the next multiplication: sums of products are rescaled once.
  evaluator = 1,
};

/// How operands of different level come together.
enum class Alignment : std::uint8_t {
  /// Not at all: an error that names the way out.
  refuse = 0,
  /// The higher one drops limbs: its scale must be the lower one's already.
  drop_limbs = 1,
  /// The higher one drops limbs, is multiplied by an integer and rescaled, so that it has the level's scale.
  scale_up = 2,
  /// The higher one is switched down modulus by modulus (BFV, BGV).
  switch_moduli = 3,
};

/// The noise-scale degree of a product.
enum class DegreeOfProducts : std::uint8_t {
  stays = 0,            ///< that of the first operand: degrees say nothing
  adds = 1,             ///< the sum of both
  larger_plus_one = 2,  ///< of ciphertexts; one with a plaintext stays
};

/// CKKS: the scales of a level.
struct LevelScale {
  double scale = 0;          ///< of noise-scale degree 1
  double product_scale = 0;  ///< of noise-scale degree 2
  /// The divisor of the scale in the metadata at a rescale from this level. The residues are always divided
  /// by the quotient of the two levels' moduli; a policy may treat both as equal. 0 at level 0.
  double divisor = 0;

  friend bool operator==(const LevelScale&, const LevelScale&) = default;
};

/// BGV: the correction factors of a level, modulo t.
struct LevelFactor {
  std::uint64_t factor = 1;          ///< of noise-scale degree 1
  std::uint64_t product_factor = 1;  ///< of noise-scale degree 2

  friend bool operator==(const LevelFactor&, const LevelFactor&) = default;
};

/// The choices that decide scales and levels. The rules that follow from them are in scale_policy.hpp.
struct RescalingPolicy {
  RescaleBy rescale_by = RescaleBy::evaluator;
  Alignment alignment = Alignment::scale_up;
  /// Noise-scale degree of a fresh encryption at the user's highest level, 1 or 2; below it is 1.
  int fresh_degree = 1;
  /// Rescaling lowers the degree by one, but not below this: 0 or 1.
  int least_degree = 1;
  DegreeOfProducts degree_of_products = DegreeOfProducts::adds;
  /// CKKS: whether an integer factor is encoded at the level's scale, like any other number, so that its
  /// product costs a degree.
  bool integers_cost_a_degree = false;
  /// CKKS, by level; empty: S of the highest user level is the parameters' scale, S_(l-1) = S_l^2 / r_l with
  /// r_l the quotient of the levels' moduli, products have the square, and divisors are r_l. BFV and BGV with
  /// levels of a circuit: the scales by which that computes.
  std::vector<LevelScale> scales = {};
  /// BGV, by level; empty: a fresh factor is 1, and factors that differ are balanced by small integers. With
  /// factors, sums have those of the table, and the level of a product follows from the degrees instead of
  /// the noise.
  std::vector<LevelFactor> factors = {};

  /// Hemera's default: rescale late, align by itself.
  static RescalingPolicy automatic(Scheme scheme);
  /// No automatic steps: operands must agree.
  static RescalingPolicy manual(Scheme scheme);

  /// In files of version 2 (docs/file-format.md); `read` throws FormatError.
  void write(runtime::ByteWriter& out) const;
  static RescalingPolicy read(runtime::ByteReader& in);

  friend bool operator==(const RescalingPolicy&, const RescalingPolicy&) = default;
};

}  // namespace hemera::rlwe
