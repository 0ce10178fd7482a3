// HPS over Q: A. Kim, Y. Polyakov, V. Zucca, "Revisiting homomorphic encryption schemes for finite fields",
// 2021/204, section 4 ("HPS over Q"): one operand is brought from Q to P = Q by modulus switching first, so
// that the product need only be scaled by t/P, and lands in Q. P need not exceed Q: what wraps around Q P is
// a multiple of Q after the division. Departure: t is multiplied in before the tensor product, so that the
// scaling is a division by P.
#include <cmath>
#include <utility>
#include <vector>

#include "schemes/bfv/multiplier.hpp"

namespace hemera::bfv {
namespace {

using poly::BaseConversion;
using poly::Form;

class HpsOverQMultiplier final : public Multiplier {
 public:
  HpsOverQMultiplier(const rlwe::Context& context, const poly::RnsBase& q, const poly::RnsBase& p)
      : q_(q),
        p_(p),
        all_(q.united(p)),
        to_p_(q, p, BaseConversion::Kind::exact),
        switch_(q, p),
        to_q_(p, q, BaseConversion::Kind::exact),
        scale_(all_, q) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      plain_modulus_.push_back(all_.modulus(i).reduce(context.parameters().plain_modulus()));
    }
  }

  void multiply(const rlwe::Context& context, const poly::PolyView& out, const poly::ConstPolyView& a,
                const poly::ConstPolyView& b, bool square) const override {
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    const std::size_t q = q_.size();
    const std::size_t p = p_.size();

    // a, centred, over P.
    poly::Poly coefficients = context.make_poly(a.shape.batch, 2, q_, Form::coefficient);
    backend.inverse_transform(queue, coefficients.view(), a, q_);
    poly::Poly a_p = context.make_poly(a.shape.batch, 2, p_, Form::evaluation);
    backend.convert(queue, a_p.view(), std::as_const(coefficients).view(), to_p_);
    backend.forward_transform(queue, a_p.view(), std::as_const(a_p).view(), p_);

    // round(P b / Q) modulo P, then its centred value over Q too.
    if (!square) {
      if (b.shape.batch != a.shape.batch) {
        coefficients = context.make_poly(b.shape.batch, 2, q_, Form::coefficient);
      }
      backend.inverse_transform(queue, coefficients.view(), b, q_);
    }
    poly::Poly scaled = context.make_poly(b.shape.batch, 2, all_, Form::coefficient);
    const poly::PolyView b_q = scaled.view().limbs(0, q);
    const poly::PolyView b_p = scaled.view().limbs(q, p);
    {
      auto workspace =
          context.make_workspace(backend.divide_and_round_workspace(coefficients.shape(), switch_));
      backend.divide_and_round(queue, b_p, std::as_const(coefficients).view(), switch_, Form::coefficient,
                               workspace);
    }
    backend.convert(queue, b_q, b_p, to_q_);
    backend.multiply_scalar(queue, scaled.view(), std::as_const(scaled).view(), plain_modulus_, all_);
    backend.forward_transform(queue, scaled.view(), std::as_const(scaled).view(), all_);

    // round(a (t b') / P): in evaluation form only the limbs of P are transformed back.
    poly::Poly product = context.make_poly(out.shape.batch, 3, all_, Form::evaluation);
    const poly::PolyView whole = product.view();
    context.tensor_product(whole.limbs(0, q), a, b_q, q_);
    context.tensor_product(whole.limbs(q, p), std::as_const(a_p).view(), b_p, p_);
    auto workspace = context.make_workspace(backend.divide_and_round_workspace(product.shape(), scale_));
    backend.divide_and_round(queue, out, whole, scale_, Form::evaluation, workspace);
  }

  [[nodiscard]] std::size_t scratch_bytes(std::size_t degree) const override {
    return (2 * q_.size() + 2 * p_.size() + 2 * all_.size() + 3 * all_.size() + 3 * all_.size()) * degree *
           sizeof(std::uint64_t);
  }
  [[nodiscard]] double rounding_error() const override { return 0.5; }
  [[nodiscard]] double operand_rounding_log2() const override { return q_.log2() - p_.log2(); }

 private:
  poly::RnsBase q_;
  poly::RnsBase p_;
  poly::RnsBase all_;
  BaseConversion to_p_;
  poly::Division switch_;
  BaseConversion to_q_;
  poly::Division scale_;
  std::vector<std::uint64_t> plain_modulus_;  // t, one residue a limb of Q and P
};

// How much smaller than Q the base P may be: rounding b to it is then still below a fresh ciphertext's noise.
constexpr double missing_bits = 2;

}  // namespace

std::unique_ptr<const Multiplier> make_hps_over_q(const rlwe::Context& context, std::size_t level) {
  const poly::RnsBase& q = context.base(level);
  return std::make_unique<const HpsOverQMultiplier>(context, q,
                                                    auxiliary_of_size(context, q.log2() - missing_bits));
}

}  // namespace hemera::bfv
