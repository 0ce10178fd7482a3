// HPS over Q: A. Kim, Y. Polyakov, V. Zucca, "Revisiting homomorphic encryption schemes for finite fields",
// 2021/204, section 4 ("HPS over Q"): one operand is brought from Q to P = Q by modulus switching first, so
// that the product need only be scaled by t/P, and lands in Q. P need not exceed Q: what wraps around Q P is
// a multiple of Q after the division. Departure: t is multiplied in before the tensor product, so that the
// scaling is a division by P.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "rlwe/tuning.hpp"
#include "schemes/bfv/multiplier.hpp"

namespace hemera::bfv {
namespace {

using poly::Form;

class HpsOverQMultiplier final : public Multiplier {
 public:
  HpsOverQMultiplier(const rlwe::Context& context, const poly::RnsBase& q, const poly::RnsBase& p)
      : plan_(q, p, context.parameters().plain_modulus()) {}

  void multiply(const rlwe::Context& context, const poly::PolyView& out,
                const Operands& operands) const override {
    // The backend makes the whole product, unless a ring multiplier makes its tensor products.
    if (context.multiplier() != nullptr) return sum_lifted(context, out, std::span(&operands, 1));
    const poly::Backend& backend = context.backend();
    auto workspace = context.make_workspace();
    backend.scaled_product(context.queue(), out, operands.a, operands.b, plan_, workspace);
  }

  void sum_products(const rlwe::Context& context, const poly::PolyView& out,
                    std::span<const Operands> products) const override {
    if (products.size() == 1) return multiply(context, out, products.front());
    sum_lifted(context, out, products);
  }

  [[nodiscard]] const poly::RnsBase& base() const override { return plan_.base(); }
  [[nodiscard]] std::size_t scratch_bytes(std::size_t degree) const override {
    const std::size_t q = plan_.base().size(), all = plan_.all().size();
    return lifted_bytes(degree) + (2 * q + 3 * all + 3 * all) * degree * sizeof(std::uint64_t);
  }
  [[nodiscard]] double rounding_error() const override { return 0.5; }
  [[nodiscard]] double operand_rounding_log2() const override {
    return plan_.base().log2() - plan_.auxiliary().log2();
  }

 private:
  // Bytes of the lifted operands of one product: the first over P, the second over Q P.
  [[nodiscard]] std::size_t lifted_bytes(std::size_t degree) const {
    return 2 * (plan_.auxiliary().size() + plan_.all().size()) * degree * sizeof(std::uint64_t);
  }

  // Adds products over Q P and divides the sum once: it, too, is needed modulo Q P only.
  void sum_lifted(const rlwe::Context& context, const poly::PolyView& out,
                  std::span<const Operands> products) const {
    const poly::Backend& backend = context.backend();
    const std::size_t batch = out.shape.batch;
    poly::Poly total = context.make_poly(batch, 3, plan_.all(), Form::evaluation);
    const std::size_t at_once = std::max<std::size_t>(
        1, rlwe::tuning::most_product_scratch_bytes / (batch * lifted_bytes(out.shape.degree)));
    for (std::size_t first = 0; first < products.size(); first += at_once) {
      const auto part = products.subspan(first, std::min(at_once, products.size() - first));
      if (first == 0) {
        lift_and_multiply(context, total.view(), part);
        continue;
      }
      poly::Poly more = context.make_poly(batch, 3, plan_.all(), Form::evaluation);
      lift_and_multiply(context, more.view(), part);
      backend.add(context.queue(), total.view(), total.view(), std::as_const(more).view(), plan_.all());
    }
    auto workspace = context.make_workspace();
    backend.divide_and_round(context.queue(), out, std::as_const(total).view(), plan_.division(),
                             Form::evaluation, workspace);
  }

  // The sum of tensor products over Q P.
  void lift_and_multiply(const rlwe::Context& context, const poly::PolyView& out,
                         std::span<const Operands> products) const {
    const poly::Backend& backend = context.backend();
    const poly::RnsBase& auxiliary = plan_.auxiliary();
    const std::size_t batch = out.shape.batch;
    std::vector<poly::ConstPolyView> a, b, b_base, a_auxiliary, b_auxiliary;
    for (const Operands& operands : products) {
      a.push_back(operands.a);
      b.push_back(operands.b);
    }
    poly::Poly left = context.make_poly(products.size() * batch, 2, auxiliary, Form::evaluation);
    poly::Poly right = context.make_poly(products.size() * batch, 2, plan_.all(), Form::evaluation);
    auto workspace = context.make_workspace();
    backend.lift_operands(context.queue(), left.view(), right.view(), a, b, plan_, workspace);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const poly::ConstPolyView whole = std::as_const(right).view().batches(i * batch, batch);
      b_base.push_back(whole.limbs(0, base().size()));
      a_auxiliary.push_back(std::as_const(left).view().batches(i * batch, batch));
      b_auxiliary.push_back(whole.limbs(base().size(), auxiliary.size()));
    }
    context.inner_product(out.limbs(0, base().size()), a, b_base, base());
    context.inner_product(out.limbs(base().size(), auxiliary.size()), a_auxiliary, b_auxiliary, auxiliary);
  }

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
