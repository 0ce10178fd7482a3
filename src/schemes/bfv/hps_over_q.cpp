// HPS over Q: A. Kim, Y. Polyakov, V. Zucca, "Revisiting homomorphic encryption schemes for finite fields",
// 2021/204, section 4 ("HPS over Q"): one operand is brought from Q to P = Q by modulus switching first, so
// that the product need only be scaled by t/P, and lands in Q. P need not exceed Q: what wraps around Q P is
// a multiple of Q after the division. Departure: t is multiplied in before the tensor product, so that the
// scaling is a division by P.
#include <cstddef>

#include "schemes/bfv/multiplier.hpp"

namespace hemera::bfv {
namespace {

using poly::Form;

class HpsOverQMultiplier final : public Multiplier {
 public:
  HpsOverQMultiplier(const rlwe::Context& context, const poly::RnsBase& q, const poly::RnsBase& p)
      : plan_(q, p, context.parameters().plain_modulus()) {}

  // A square is the same view twice.
  void multiply(const rlwe::Context& context, const poly::PolyView& out, const poly::ConstPolyView& a,
                const poly::ConstPolyView& b, bool /*square*/) const override {
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    if (context.multiplier() == nullptr) {
      auto workspace = context.make_workspace(backend.scaled_product_workspace(out.shape, plan_));
      return backend.scaled_product(queue, out, a, b, plan_, workspace);
    }
    // The tensor products are the multiplier's.
    const std::size_t q = plan_.base().size(), p = plan_.auxiliary().size();
    poly::Poly a_lifted = context.make_poly(a.shape.batch, 2, plan_.auxiliary(), Form::evaluation);
    poly::Poly b_lifted = context.make_poly(b.shape.batch, 2, plan_.all(), Form::evaluation);
    {
      auto workspace = context.make_workspace(backend.lift_operands_workspace(out.shape, plan_));
      backend.lift_operands(queue, a_lifted.view(), b_lifted.view(), a, b, plan_, workspace);
    }
    const poly::ConstPolyView lifted = b_lifted.view();
    poly::Poly product = context.make_poly(out.shape.batch, 3, plan_.all(), Form::evaluation);
    const poly::PolyView whole = product.view();
    context.tensor_product(whole.limbs(0, q), a, lifted.limbs(0, q), plan_.base());
    context.tensor_product(whole.limbs(q, p), a_lifted.view(), lifted.limbs(q, p), plan_.auxiliary());
    const poly::Division& division = plan_.division();
    auto workspace = context.make_workspace(backend.divide_and_round_workspace(product.shape(), division));
    backend.divide_and_round(queue, out, whole, division, Form::evaluation, workspace);
  }

  [[nodiscard]] std::size_t scratch_bytes(std::size_t degree) const override {
    const std::size_t q = plan_.base().size(), p = plan_.auxiliary().size(), all = q + p;
    return (2 * q + 2 * p + 2 * all + 3 * all + 3 * all) * degree * sizeof(std::uint64_t);
  }
  [[nodiscard]] double rounding_error() const override { return 0.5; }
  [[nodiscard]] double operand_rounding_log2() const override {
    return plan_.base().log2() - plan_.auxiliary().log2();
  }

 private:
  poly::ScaledProduct plan_;
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
