// Defaults (docs/design.md): the product of BFV by HPS over Q.
#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                               std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                               const ScaledProduct& plan, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t batch = a_lifted.shape.batch / a.size(), limbs = plan.base().size();
  const PolyView scratch = take(workspace, with_limbs(a_lifted.batches(0, batch).shape, limbs));
  const auto coefficients_of = [&](const ConstPolyView& x) {
    const PolyView coefficients = scratch.batches(0, x.shape.batch);
    do_transform(queue, coefficients, x, Form::coefficient, plan.base());
    return coefficients;
  };
  // What one polynomial of a pair was lifted to, for all products of the pair.
  const auto repeat = [&](const PolyView& lifted, const ConstPolyView& x) {
    for (std::size_t i = x.shape.batch; i < batch; ++i) {
      do_copy(queue, lifted.batches(i, 1), lifted.batches(0, 1));
    }
  };
  for (std::size_t pair = 0; pair < a.size(); ++pair) {
    const PolyView to_a = a_lifted.batches(pair * batch, a[pair].shape.batch);
    const PolyView to_b = b_lifted.batches(pair * batch, b[pair].shape.batch);
    PolyView coefficients = scratch.batches(0, b[pair].shape.batch);
    // a, centred, over P.
    if (!workspace.measures()) {
      coefficients = coefficients_of(a[pair]);
      do_convert(queue, to_a, coefficients, plan.to_auxiliary(), nullptr);
      do_transform(queue, to_a, to_a, Form::evaluation, plan.auxiliary());
      repeat(to_a, a[pair]);
      if (!same_view(a[pair], b[pair])) coefficients = coefficients_of(b[pair]);
    }
    // round(P b / Q) modulo P, then its centred value over Q too, times t.
    const PolyView over_base = to_b.limbs(0, limbs);
    const PolyView over_auxiliary = to_b.limbs(limbs, plan.auxiliary().size());
    do_divide_and_round(queue, over_auxiliary, coefficients, plan.rounding(), Form::coefficient, workspace);
    if (workspace.measures()) continue;
    do_convert(queue, over_base, over_auxiliary, plan.to_base(), nullptr);
    do_unary(queue, Unary::multiply, to_b, to_b, plan.factors(), plan.all());
    do_transform(queue, to_b, to_b, Form::evaluation, plan.all());
    repeat(to_b, b[pair]);
  }
}

void Backend::do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const ScaledProduct& plan,
                                Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
  const PolyShape two = with_components(out.shape, 2);
  const PolyView a_lifted = take(workspace, with_limbs(two, added));
  const PolyView b_lifted = take(workspace, with_limbs(two, limbs + added));
  do_lift_operands(queue, a_lifted, b_lifted, std::span(&a, 1), std::span(&b, 1), plan, workspace);
  // In evaluation form only the limbs of P are transformed back.
  const PolyView product = take(workspace, with_limbs(out.shape, limbs + added));
  if (!workspace.measures()) {
    const auto multiply = [&](const PolyView& to, const ConstPolyView& x, const ConstPolyView& y,
                              const RnsBase& base) {
      do_inner_products(queue, std::span(&to, 1), std::span(&x, 1), std::span(&y, 1), {}, base);
    };
    multiply(product.limbs(0, limbs), a, b_lifted.limbs(0, limbs), plan.base());
    multiply(product.limbs(limbs, added), a_lifted, b_lifted.limbs(limbs, added), plan.auxiliary());
  }
  do_divide_and_round(queue, out, product, plan.division(), Form::evaluation, workspace);
}

}  // namespace hemera::poly
