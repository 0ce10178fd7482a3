// The rules for scales and levels that follow from a rescaling policy: pure functions on metadata, for
// evaluators, encoders and plans on cleartext.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/two_doubles.hpp"
#include "hemera/rlwe/metadata.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::rlwe {

/// One step that brings a ciphertext together with another operand.
struct ScaleStep {
  enum class Kind : std::uint8_t {
    rescale,     ///< divide by the quotient of the moduli, to the next lower level
    drop_limbs,  ///< forget limbs, down to `level`
    multiply,    ///< by an integer; the scale or correction factor takes it, and values stay
    descend,     ///< CKKS: multiply by an integer and divide once, down to `level` (Context::descent)
  };
  Kind kind = Kind::rescale;
  std::size_t level = 0;  ///< after the step
  int degree = 1;         ///< the noise-scale degree after the step
  /// For `multiply` and `descend` with CKKS: an integer, exactly.
  arith::TwoDoubles scale_factor = {1};
  /// For `multiply` with BGV: an integer in [-t/2, t/2].
  std::int64_t correction_factor = 1;
};

/// Steps, and the metadata after them. The noise is unchanged; the evaluator updates it.
struct ScaleWay {
  std::vector<ScaleStep> steps = {};
  Metadata meta;
};

/// How two operands come together.
struct ScaleWays {
  ScaleWay a, b;
};

/// The steps that bring the operands of a product together, and the metadata of the product before its
/// relinearization. They are the first operand's, except level, scale, degree, correction factor and declared
/// bound.
struct ScaleProduct {
  ScaleWay a, b;
  Metadata meta;
};

/// The steps of a ciphertext before a plaintext is added, and the factor of the plaintext.
struct PlainSum {
  ScaleWay a;
  double factor = 1;
};

/// The level and scale at which a plaintext operand is encoded.
struct PlainOperand {
  std::size_t level = 0;
  Scale scale = 1;
};

/// Functions throw LevelError if no level is left, or if levels differ and the policy leaves that to the
/// caller (CKKS: MismatchError); ScaleError if scales differ by more than rounding.
class ScalePolicy {
 public:
  explicit ScalePolicy(const Parameters& parameters);

  [[nodiscard]] const RescalingPolicy& policy() const { return policy_; }

  /// CKKS: the scale of noise-scale degree 1 at a level; others: 1.
  [[nodiscard]] double level_scale(std::size_t level) const;
  /// CKKS: what a rescale from a level above 0 divides the scale by.
  [[nodiscard]] const arith::TwoDoubles& divisor(std::size_t level) const { return divisors_.at(level); }
  /// BGV: the correction factor of a plaintext operand at a level: 1 without factors by level.
  [[nodiscard]] std::uint64_t level_factor(std::size_t level) const;
  /// Whether two scales differ by no more than the rounding of integer factors of about the scale's size:
  /// 2^-45 + 8 / scale.
  [[nodiscard]] bool close(double a, double b) const;
  /// Whether rescaling by itself may take a ciphertext of this level one down: both levels are the user's.
  [[nodiscard]] bool may_rescale(std::size_t level) const;

  /// The metadata of a fresh encryption at meta.level: scale, degree and correction factor.
  [[nodiscard]] Metadata fresh(Metadata meta) const;
  /// One level down. Where operands are scaled to be aligned, a scale that is close to that of the level
  /// becomes it. Throws LevelError at level 0.
  [[nodiscard]] Metadata rescaled(Metadata meta) const;
  [[nodiscard]] Metadata after(Metadata meta, const ScaleStep& step) const;

  /// The way to `level` with the same values and scale. Throws LevelError for a level above.
  [[nodiscard]] ScaleWay dropped(const Metadata& meta, std::size_t level) const;
  /// CKKS: to a lower level with exactly `scale` (empty: the level's), by an integer factor and one division.
  [[nodiscard]] ScaleWay adjusted(const Metadata& meta, std::size_t level,
                                  std::optional<Scale> scale = {}) const;
  /// The way to `level` as this policy aligns: with the level's scale where it scales up, else as it is.
  [[nodiscard]] ScaleWay lowered(const Metadata& meta, std::size_t level) const;

  /// Whether a sum needs no alignment.
  [[nodiscard]] bool is_aligned(const Metadata& a, const Metadata& b) const;
  /// The ways to a sum. BGV without factors by level: to one level; factors may still differ.
  [[nodiscard]] ScaleWays aligned(const Metadata& a, const Metadata& b) const;
  /// For a product of ciphertexts. `level`: of the product, for a policy that switches moduli; empty: the
  /// lower one of the two.
  [[nodiscard]] ScaleProduct product(const Metadata& a, const Metadata& b,
                                     std::optional<std::size_t> level = {}) const;
  /// For a product with an encoded plaintext; the plaintext is unchanged, except that it may drop limbs.
  [[nodiscard]] ScaleProduct plain_product(const Metadata& a, const Metadata& plaintext) const;
  /// For a sum with an encoded plaintext: the steps of the ciphertext. The plaintext may drop limbs, and
  /// where operands are aligned by themselves it is multiplied by an integer, if the ciphertext's scale is
  /// that integer times its own: so is the scale of a product that waits for its rescale.
  [[nodiscard]] PlainSum plain_sum(const Metadata& a, const Metadata& plaintext) const;
  /// Before a product with a number. CKKS encodes the number at the scale of the level where these steps end.
  [[nodiscard]] ScaleWay before_product(const Metadata& a) const;
  /// CKKS: the product with a number of this scale.
  [[nodiscard]] Metadata number_product(Metadata a, double scale) const;
  /// The level and scale that a plaintext for a product or sum with `a` is encoded at.
  [[nodiscard]] PlainOperand operand_of_product(const Metadata& a) const;
  [[nodiscard]] PlainOperand operand_of_sum(const Metadata& a) const;
  /// Before a result is sent: rescaled, if it waits for its rescale.
  [[nodiscard]] ScaleWay finished(const Metadata& a) const;

 private:
  [[nodiscard]] bool is_approximate() const { return !policy_.scales.empty(); }
  [[nodiscard]] bool waits_for_rescale(const Metadata& meta) const;
  /// The scale with what doubles leave of it, or without where that is not followed.
  [[nodiscard]] Scale followed(const Scale& scale) const;
  /// Whether limbs alone lead from one level to another.
  [[nodiscard]] bool is_part(std::size_t low, std::size_t high) const;
  void add(ScaleWay& way, ScaleStep step) const;
  void rescale(ScaleWay& way) const;
  void drop(ScaleWay& way, std::size_t level) const;
  /// CKKS: one division to a level of which the ciphertext's lacks primes, at this scale.
  void descend(ScaleWay& way, std::size_t level, const Scale& scale, int degree) const;
  void adjust(ScaleWay& way, std::size_t level, std::optional<Scale> scale) const;
  void lower(ScaleWay& way, std::size_t level) const;
  /// Multiplies so that the message has `target`'s scale or correction factor and degree.
  void match(ScaleWay& way, const Metadata& target) const;
  void align_by_scaling(ScaleWay& a, ScaleWay& b) const;
  [[noreturn]] void refuse_levels(const Metadata& a, const Metadata& b, const char* operation) const;
  [[noreturn]] static void refuse_factor(const Metadata& a, std::size_t level, double scale);
  [[noreturn]] static void refuse_scales(const Metadata& a, const Metadata& b);
  [[nodiscard]] int product_degree(int a, int b) const;
  [[nodiscard]] int plain_product_degree(int degree) const;

  RescalingPolicy policy_;
  std::size_t lowest_user_level_;
  std::size_t highest_user_level_;
  double tolerance_ = 0;
  std::vector<std::vector<std::uint64_t>> levels_;    // sorted primes
  std::vector<arith::TwoDoubles> divisors_;           // CKKS: [level], of scales at a rescale
  std::optional<arith::Modulus> plain_;               // t, of BGV only: factors follow the moduli
  std::vector<std::uint64_t> switching_corrections_;  // BGV: [level], of the switch to the next lower one
};

}  // namespace hemera::rlwe
