// BFV's product in few passes: both operands are lifted together, and products are made where rows end.
#include <algorithm>

#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly::cuda {
namespace {

// What the lift of two operands works in: `out` has the product's batch.
struct LiftShapes {
  PolyShape lifted, residues, between;

  LiftShapes(const PolyShape& out, const ScaledProduct& plan, const FusedProduct& tables) {
    const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
    const PolyShape two = with_components(out, 2);
    lifted = with_limbs(two, limbs + 2 * added);
    residues = with_limbs(two, tables.scratch_limbs);
    between = with_limbs(two, 2 * limbs);
  }
};

// And the rest of the product, in the place of all but what is lifted.
struct SumShapes {
  PolyShape sums, remainders, delta;

  SumShapes(const PolyShape& out, const ScaledProduct& plan, const FusedDivision& division) {
    const PolyShape three = with_components(out, 3);
    sums = with_limbs(three, plan.auxiliary().size());
    remainders = with_limbs(three, division.scratch_limbs);
    delta = with_limbs(three, plan.base().size());
  }
};

// Lazy columns of a over P, and of t b' over Q and P, one after the other.
void lift(const Launcher& where, const PolyView& lifted, const ConstPolyView& a, const ConstPolyView& b,
          const ScaledProduct& plan, const FusedProduct& fused, const LiftShapes& shapes,
          runtime::Workspace& workspace) {
  const runtime::Workspace::Frame frame(workspace);
  const Arithmetic chosen = fused.arithmetic;
  const PolyView residues = take(workspace, shapes.residues);
  const PolyView between = take(workspace, shapes.between);
  if (workspace.measures()) return;
  const std::size_t limbs = plan.base().size();
  const std::span inputs(fused.inputs);
  if (same_view(a, b)) {
    scaled_rows(where, chosen, between, a, a, limbs, {}, inputs.first(limbs));
    scaled_columns(where, chosen, residues, between, inputs, fused.operands);
  } else {
    scaled_rows(where, chosen, between, a, b, limbs, {}, inputs);
    scaled_columns(where, chosen, residues, between, fused.both, fused.operands);
  }
  if (fused.lift.quotient != Quotient::chained) rescale_operand(where, residues, fused.rescale);
  convert_columns(where, chosen, lifted, residues, 2, fused.lift);
}

}  // namespace

void CudaBackend::do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                                   const ConstPolyView& a, const ConstPolyView& b, const ScaledProduct& plan,
                                   Workspace& workspace) const {
  const FusedProduct& fused = fused_.of(plan);
  if (!fused.usable || !allows(Way::passes))
    return Backend::do_lift_operands(queue, a_lifted, b_lifted, a, b, plan, workspace);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  PolyShape out = a.shape;
  out.batch = std::max(a.shape.batch, b.shape.batch);
  const LiftShapes shapes(out, plan, fused);
  const PolyView lifted = take(workspace, shapes.lifted);
  lift(where, lifted, a, b, plan, fused, shapes, workspace);
  if (workspace.measures()) return;
  const std::size_t added = plan.auxiliary().size();
  const auto rows = [&](const PolyView& to, std::size_t first, const RnsBase& base) {
    forward_rows(where, fused.arithmetic, to, lifted.batches(0, to.shape.batch).limbs(first, base.size()),
                 base);
  };
  rows(a_lifted, 0, plan.auxiliary());
  rows(b_lifted, added, plan.all());
}

void CudaBackend::do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                    const ConstPolyView& b, const ScaledProduct& plan,
                                    Workspace& workspace) const {
  const FusedProduct& fused = fused_.of(plan);
  if (!fused.usable || !allows(Way::passes))
    return Backend::do_scaled_product(queue, out, a, b, plan, workspace);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const Arithmetic chosen = fused.arithmetic;
  const FusedDivision& division = fused_.of(plan.division());
  const LiftShapes lifts(out.shape, plan, fused);
  const SumShapes shapes(out.shape, plan, division);
  const PolyView lifted = take(workspace, lifts.lifted);
  lift(where, lifted, a, b, plan, fused, lifts, workspace);
  const PolyView sums = take(workspace, shapes.sums);
  const PolyView remainders = take(workspace, shapes.remainders);
  const PolyView delta = take(workspace, shapes.delta);
  if (workspace.measures()) return;
  rows_product(where, chosen, sums, lifted, plan, fused);
  scaled_columns(where, chosen, remainders, sums, fused.sums, fused.scaled_sums);
  extra_rows(where, remainders, division.extra);
  convert_columns(where, chosen, delta, remainders, 3, fused.remainder);
  rows_end_product(where, chosen, out, a, lifted, delta, plan, fused);
}

}  // namespace hemera::poly::cuda
