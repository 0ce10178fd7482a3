// The product of two BFV ciphertexts at one level, round(t a b / Q), in its three RNS variants (docs/bfv.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "hemera/rlwe/context.hpp"

namespace hemera::bfv {

/// The operands: [batch or 1, 2, limb, N] in evaluation form over a level's base.
struct Operands {
  poly::ConstPolyView a, b;
};

/// Constants of one variant at one level; immutable.
class Multiplier {
 public:
  Multiplier() = default;
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;
  virtual ~Multiplier() = default;

  /// out: [batch, 3, limb, N] in evaluation form over the level's base. If a and b are the same view, it is
  /// extended once.
  virtual void multiply(const rlwe::Context& context, const poly::PolyView& out,
                        const Operands& operands) const = 0;
  /// The sum of one or more products; unless overridden, each is computed by `multiply` and added.
  virtual void sum_products(const rlwe::Context& context, const poly::PolyView& out,
                            std::span<const Operands> products) const;
  /// The base of the level.
  [[nodiscard]] virtual const poly::RnsBase& base() const = 0;
  /// Bytes of scratch that one ciphertext of a batch takes.
  [[nodiscard]] virtual std::size_t scratch_bytes(std::size_t degree) const = 0;
  /// The largest error, in units of the coefficients, that the variant's division makes.
  [[nodiscard]] virtual double rounding_error() const = 0;
  /// log2 of the factor by which the variant multiplies the noise of rounding the second operand before it
  /// enters the product; minus infinity where it is not rounded.
  [[nodiscard]] virtual double operand_rounding_log2() const = 0;
};

/// Throws ParameterError when the context has too few auxiliary primes.
std::unique_ptr<const Multiplier> make_multiplier(const rlwe::Context& context, std::size_t level,
                                                  rlwe::BfvMultiplication variant);

std::unique_ptr<const Multiplier> make_behz(const rlwe::Context& context, std::size_t level);
std::unique_ptr<const Multiplier> make_hps(const rlwe::Context& context, std::size_t level);
std::unique_ptr<const Multiplier> make_hps_over_q(const rlwe::Context& context, std::size_t level);

/// `count` auxiliary primes from position `first` on. ParameterError when there are fewer.
poly::RnsBase auxiliary_part(const rlwe::Context& context, std::size_t first, std::size_t count);

/// The first auxiliary primes whose product has at least `bits` bits. ParameterError when all together do
/// not.
poly::RnsBase auxiliary_of_size(const rlwe::Context& context, double bits);

/// How many bits beyond log2 Q a base needs to hold the signed integers t a b / Q, of which the largest is
/// |t (a_0 b_1 + a_1 b_0) / Q| <= t N Q / 2.
double product_headroom_log2(const rlwe::Context& context);

}  // namespace hemera::bfv
