// HPS: S. Halevi, Y. Polyakov, V. Shoup, "An improved RNS variant of the BFV homomorphic encryption scheme",
// 2018/117, section 4.
#include <limits>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "schemes/bfv/multiplier.hpp"

namespace hemera::bfv {
namespace {

using poly::BaseConversion;
using poly::Form;

class HpsMultiplier final : public Multiplier {
 public:
  HpsMultiplier(const rlwe::Context& context, const poly::RnsBase& q, const poly::RnsBase& p)
      : q_(q),
        p_(p),
        all_(q.united(p)),
        to_p_(q, p, BaseConversion::Kind::exact),
        scale_(all_, q, context.parameters().plain_modulus(), p),
        to_q_(p, q, BaseConversion::Kind::exact) {}

  void multiply(const rlwe::Context& context, const poly::PolyView& out,
                const Operands& operands) const override {
    const auto& [a, b] = operands;
    const bool square = a.data == b.data;
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    const poly::Poly a_p = extend(context, a);
    poly::Poly b_p;
    if (!square) b_p = extend(context, b);

    // The product over the integers, modulo Q P.
    poly::Poly product = context.make_poly(out.shape.batch, 3, all_, Form::evaluation);
    const poly::PolyView whole = product.view();
    context.tensor_product(whole.limbs(0, q_.size()), a, b, q_);
    context.tensor_product(whole.limbs(q_.size(), p_.size()), a_p.view(),
                           square ? a_p.view() : std::as_const(b_p).view(), p_);
    backend.inverse_transform(queue, whole, whole, all_);

    // round(t x / Q) modulo P, then back to Q: its centred value fits P.
    poly::Poly scaled = context.make_poly(out.shape.batch, 3, p_, Form::coefficient);
    backend.scale_and_round(queue, scaled.view(), whole, scale_);
    backend.convert(queue, out, std::as_const(scaled).view(), to_q_);
    backend.forward_transform(queue, out, out, q_);
  }

  [[nodiscard]] const poly::RnsBase& base() const override { return q_; }
  [[nodiscard]] std::size_t scratch_bytes(std::size_t degree) const override {
    return (2 * q_.size() + 4 * p_.size() + 3 * all_.size() + 3 * p_.size()) * degree * sizeof(std::uint64_t);
  }
  [[nodiscard]] double rounding_error() const override { return 0.5; }
  [[nodiscard]] double operand_rounding_log2() const override {
    return -std::numeric_limits<double>::infinity();
  }

 private:
  // The centred lift to P, evaluation form.
  [[nodiscard]] poly::Poly extend(const rlwe::Context& context, const poly::ConstPolyView& x) const {
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    poly::Poly coefficients = context.make_poly(x.shape.batch, 2, q_, Form::coefficient);
    backend.inverse_transform(queue, coefficients.view(), x, q_);
    poly::Poly extended = context.make_poly(x.shape.batch, 2, p_, Form::evaluation);
    const poly::PolyView view = extended.view();
    backend.convert(queue, view, std::as_const(coefficients).view(), to_p_);
    backend.forward_transform(queue, view, view, p_);
    return extended;
  }

  poly::RnsBase q_;
  poly::RnsBase p_;
  poly::RnsBase all_;
  BaseConversion to_p_;
  poly::ScaleAndRound scale_;
  BaseConversion to_q_;
};

}  // namespace

std::unique_ptr<const Multiplier> make_hps(const rlwe::Context& context, std::size_t level) {
  const poly::RnsBase& q = context.base(level);
  // |round(t x / Q)| < P / 2 with a bit to spare.
  const double bits = q.log2() + product_headroom_log2(context) + 1;
  return std::make_unique<const HpsMultiplier>(context, q, auxiliary_of_size(context, bits));
}

}  // namespace hemera::bfv
