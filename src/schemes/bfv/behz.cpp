// BEHZ: J.-C. Bajard, J. Eynard, A. Hasan, V. Zucca, "A full RNS variant of FV like somewhat homomorphic
// encryption schemes", 2016/510, section 4. All base conversions are fast (approximate) ones, which are off
// by multiples of the base's product: before the product of ciphertexts a Montgomery reduction with m-tilde
// removes the multiples of Q, after it they stay as an error of the division, and m_sk removes those of the
// auxiliary base (Shenoy and Kumaresan).
// Departures: m-tilde is an NTT prime of the auxiliary base instead of a power of two, residues are centred
// before each conversion, and the factors m-tilde of both operands are taken out after the product.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "schemes/bfv/multiplier.hpp"

namespace hemera::bfv {
namespace {

using arith::BigInteger;
using poly::BaseConversion;
using poly::Form;
using Scalars = std::vector<std::uint64_t>;

// value^exponent modulo each limb's modulus, exponent 1 or -1, times `factor`.
Scalars scalars(const poly::RnsBase& base, const BigInteger& value, int exponent, std::uint64_t factor = 1) {
  Scalars result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    const arith::Modulus& q = base.modulus(i);
    std::uint64_t residue = arith::modulo(value, q.value());
    if (exponent < 0) residue = arith::inverse(residue, q.value());
    result[i] = q.multiply(residue, q.reduce(factor));
  }
  return result;
}

class BehzMultiplier final : public Multiplier {
 public:
  // `b`: the base B; `msk` and `mtilde`: one prime each.
  BehzMultiplier(const rlwe::Context& context, const poly::RnsBase& q, const poly::RnsBase& b,
                 const poly::RnsBase& msk, const poly::RnsBase& mtilde)
      : q_(q),
        b_(b),
        msk_(msk),
        bsk_(b.united(msk)),
        mtilde_(mtilde),
        all_(q.united(bsk_)),
        extend_(q, bsk_.united(mtilde), BaseConversion::Kind::approximate),
        from_mtilde_(mtilde, bsk_, BaseConversion::Kind::exact),
        to_bsk_(q, bsk_, BaseConversion::Kind::approximate),
        from_b_(b, q.united(msk), BaseConversion::Kind::approximate),
        from_msk_(msk, q, BaseConversion::Kind::exact) {
    const std::uint64_t t = context.parameters().plain_modulus();
    const std::uint64_t m = mtilde.modulus(0).value();
    const BigInteger q_product = arith::product(q.values());
    const BigInteger b_product = arith::product(b.values());
    mtilde_q_ = scalars(q, m, 1);
    negative_inverse_q_mtilde_ = scalars(mtilde, -q_product, -1);
    q_bsk_ = scalars(bsk_, q_product, 1);
    t_q_ = scalars(q, t, 1);
    scale_bsk_ = scalars(bsk_, q_product * m * m, -1, t);
    inverse_q_bsk_ = scalars(bsk_, q_product, -1);
    inverse_b_msk_ = scalars(msk, b_product, -1);
    b_q_ = scalars(q, b_product, 1);
  }

  void multiply(const rlwe::Context& context, const poly::PolyView& out,
                const Operands& operands) const override {
    const auto& [x, y] = operands;
    const bool square = x.data == y.data;
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    const std::size_t q = q_.size();
    const std::size_t batch = out.shape.batch;
    const poly::Poly x_bsk = extend(context, x);
    poly::Poly y_bsk;
    if (!square) y_bsk = extend(context, y);

    // d over Q, and m-tilde^2 d over B and m_sk.
    poly::Poly product = context.make_poly(batch, 3, all_, Form::evaluation);
    const poly::PolyView whole = product.view();
    const poly::PolyView d_q = whole.limbs(0, q);
    const poly::PolyView d_bsk = whole.limbs(q, bsk_.size());
    context.tensor_product(d_q, x, y, q_);
    context.tensor_product(d_bsk, x_bsk.view(), square ? x_bsk.view() : std::as_const(y_bsk).view(), bsk_);
    backend.inverse_transform(queue, whole, whole, all_);

    // w = (t d - [t d]_Q - u Q) / Q modulo B and m_sk, with the u of the approximate conversion.
    poly::Poly remainder = context.make_poly(batch, 3, bsk_, Form::coefficient);
    const poly::PolyView r = remainder.view();
    backend.multiply_scalar(queue, d_q, d_q, t_q_, q_);
    backend.convert(queue, r, d_q, to_bsk_);
    backend.multiply_scalar(queue, r, r, inverse_q_bsk_, bsk_);
    backend.multiply_scalar(queue, d_bsk, d_bsk, scale_bsk_, bsk_);
    backend.subtract(queue, d_bsk, d_bsk, r, bsk_);

    // Back to Q: w + alpha B by the approximate conversion, and alpha from m_sk.
    poly::Poly converted = context.make_poly(batch, 3, q_.united(msk_), Form::coefficient);
    const poly::PolyView w = converted.view().limbs(0, q);
    const poly::PolyView alpha = converted.view().limbs(q, 1);
    backend.convert(queue, converted.view(), d_bsk.limbs(0, b_.size()), from_b_);
    backend.subtract(queue, alpha, alpha, d_bsk.limbs(b_.size(), 1), msk_);
    backend.multiply_scalar(queue, alpha, alpha, inverse_b_msk_, msk_);
    backend.convert(queue, out, alpha, from_msk_);
    backend.multiply_scalar(queue, out, out, b_q_, q_);
    backend.subtract(queue, out, w, out, q_);
    backend.forward_transform(queue, out, out, q_);
  }

  [[nodiscard]] const poly::RnsBase& base() const override { return q_; }
  [[nodiscard]] std::size_t scratch_bytes(std::size_t degree) const override {
    const std::size_t extended = bsk_.size() + 1;
    return (2 * (q_.size() + extended + bsk_.size()) + 2 * bsk_.size() + 3 * all_.size() + 3 * bsk_.size() +
            3 * (q_.size() + 1)) *
           degree * sizeof(std::uint64_t);
  }
  // The centred remainder of the approximate conversion is at most k Q / 2.
  [[nodiscard]] double rounding_error() const override { return static_cast<double>(q_.size()) / 2; }
  [[nodiscard]] double operand_rounding_log2() const override {
    return -std::numeric_limits<double>::infinity();
  }

 private:
  // m-tilde times the representative of x modulo Q in [-Q/2 (1 + k/m-tilde), Q/2 (1 + k/m-tilde)], over B and
  // m_sk, evaluation form.
  [[nodiscard]] poly::Poly extend(const rlwe::Context& context, const poly::ConstPolyView& x) const {
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    const std::size_t batch = x.shape.batch;
    poly::Poly coefficients = context.make_poly(batch, 2, q_, Form::coefficient);
    const poly::PolyView scaled = coefficients.view();
    backend.inverse_transform(queue, scaled, x, q_);
    backend.multiply_scalar(queue, scaled, scaled, mtilde_q_, q_);
    poly::Poly lifted = context.make_poly(batch, 2, bsk_.united(mtilde_), Form::coefficient);
    backend.convert(queue, lifted.view(), scaled, extend_);
    const poly::PolyView r = lifted.view().limbs(bsk_.size(), 1);
    backend.multiply_scalar(queue, r, r, negative_inverse_q_mtilde_, mtilde_);
    poly::Poly extended = context.make_poly(batch, 2, bsk_, Form::evaluation);
    const poly::PolyView view = extended.view();
    backend.convert(queue, view, r, from_mtilde_);
    backend.multiply_scalar(queue, view, view, q_bsk_, bsk_);
    backend.add(queue, view, view, lifted.view().limbs(0, bsk_.size()), bsk_);
    backend.forward_transform(queue, view, view, bsk_);
    return extended;
  }

  poly::RnsBase q_;
  poly::RnsBase b_;
  poly::RnsBase msk_;
  poly::RnsBase bsk_;
  poly::RnsBase mtilde_;
  poly::RnsBase all_;
  BaseConversion extend_;
  BaseConversion from_mtilde_;
  BaseConversion to_bsk_;
  BaseConversion from_b_;
  BaseConversion from_msk_;
  Scalars mtilde_q_;                   // m-tilde
  Scalars negative_inverse_q_mtilde_;  // -Q^-1
  Scalars q_bsk_;                      // Q
  Scalars t_q_;                        // t
  Scalars scale_bsk_;                  // t Q^-1 m-tilde^-2
  Scalars inverse_q_bsk_;              // Q^-1
  Scalars inverse_b_msk_;              // B^-1
  Scalars b_q_;                        // B
};

}  // namespace

std::unique_ptr<const Multiplier> make_behz(const rlwe::Context& context, std::size_t level) {
  const poly::RnsBase& q = context.base(level);
  // |w| < B m_sk / 2 with room for the errors of both approximate conversions; and |alpha| <= |w| / B + |B|/2
  // stays below m_sk / 2.
  const double bits = q.log2() + product_headroom_log2(context) + 3;
  const poly::RnsBase bsk = auxiliary_of_size(context, bits);
  const std::size_t count = bsk.size() < 2 ? 2 : bsk.size();
  return std::make_unique<const BehzMultiplier>(context, q, auxiliary_part(context, 0, count - 1),
                                                auxiliary_part(context, count - 1, 1),
                                                auxiliary_part(context, count, 1));
}

}  // namespace hemera::bfv
