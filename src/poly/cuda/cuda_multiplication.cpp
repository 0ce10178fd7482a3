// BFV's product in few passes: both operands are lifted together, and products are made where rows end.
#include <algorithm>

#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly::cuda {
namespace {

// The scratch of the lift of two operands: `out` has the product's batch.
struct LiftShapes {
  PolyShape lifted, residues, between;

  LiftShapes(const PolyShape& out, const ScaledProduct& plan, const FusedProduct& tables) {
    const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
    const PolyShape two = with_components(out, 2);
    lifted = with_limbs(two, limbs + 2 * added);
    residues = with_limbs(two, tables.scratch_limbs);
    between = with_limbs(two, 2 * limbs);
  }
  [[nodiscard]] std::size_t bytes() const {
    return bytes_of(lifted) + bytes_of(residues) + bytes_of(between);
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

using Views = std::span<const ConstPolyView>;

// Lazy columns of each a over P, and of t b' over Q and P, one after the other.
void lift(const Launcher& where, const PolyView& lifted, Views a, Views b, const ScaledProduct& plan,
          const FusedProduct& fused, const LiftShapes& shapes, bool in_clusters,
          runtime::Workspace& workspace) {
  const runtime::Workspace::Frame frame(workspace);
  const Arithmetic chosen = fused.arithmetic;
  const PolyView residues = take(workspace, shapes.residues);
  const PolyView between = take(workspace, shapes.between);
  if (workspace.measures()) return;
  const std::size_t limbs = plan.base().size();
  const std::span inputs(fused.inputs);
  if (in_clusters) {
    cluster_operands(where, chosen, residues, a[0], b[0], inputs, fused.operands);
  } else if (a.size() > 1) {
    scaled_rows(where, chosen, between, a, b, inputs);
    scaled_columns(where, chosen, residues, between, fused.both, fused.operands);
  } else if (same_view(a[0], b[0])) {
    scaled_rows(where, chosen, between, a[0], a[0], limbs, {}, inputs.first(limbs));
    scaled_columns(where, chosen, residues, between, inputs, fused.operands);
  } else {
    scaled_rows(where, chosen, between, a[0], b[0], limbs, {}, inputs);
    scaled_columns(where, chosen, residues, between, fused.both, fused.operands);
  }
  if (fused.lift.quotient != Quotient::chained) rescale_operand(where, chosen, residues, fused.rescale);
  convert_columns(where, chosen, lifted, residues, 2, fused.lift);
}

}  // namespace

void CudaBackend::do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted, Views a,
                                   Views b, const ScaledProduct& plan, Workspace& workspace) const {
  if (schedule(plan, 1).way == Way::unfused) {
    return Backend::do_lift_operands(queue, a_lifted, b_lifted, a, b, plan, workspace);
  }
  const FusedProduct& fused = fused_.of(plan);
  const Launcher where = launcher(queue);
  const std::size_t added = plan.auxiliary().size();
  PolyShape pair = a_lifted.shape;
  pair.batch /= a.size();
  const std::size_t together =
      pairs_together(a.size(), pair.batch, LiftShapes(pair, plan, fused).bytes(), choices_);
  for (std::size_t first = 0; first < a.size(); first += together) {
    const std::size_t count = std::min(together, a.size() - first);
    const Workspace::Frame frame(workspace);
    PolyShape all = pair;
    all.batch *= count;
    const LiftShapes shapes(all, plan, fused);
    const PolyView lifted = take(workspace, shapes.lifted);
    lift(where, lifted, a.subspan(first, count), b.subspan(first, count), plan, fused, shapes, false,
         workspace);
    if (workspace.measures()) return;  // the first part is the largest
    const auto rows = [&](const PolyView& to, std::size_t limb, const RnsBase& base) {
      forward_rows(where, fused.arithmetic, to.batches(first * pair.batch, all.batch),
                   lifted.limbs(limb, base.size()), base);
    };
    rows(a_lifted, 0, plan.auxiliary());
    rows(b_lifted, added, plan.all());
  }
}

void CudaBackend::do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                    const ConstPolyView& b, const ScaledProduct& plan,
                                    Workspace& workspace) const {
  const ProductSchedule schedule = this->schedule(plan, out.shape.batch);
  if (schedule.way == Way::unfused) return Backend::do_scaled_product(queue, out, a, b, plan, workspace);
  const FusedProduct& fused = fused_.of(plan);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const Arithmetic chosen = fused.arithmetic;
  const FusedDivision& division = fused_.of(plan.division());
  const LiftShapes lifts(out.shape, plan, fused);
  const SumShapes shapes(out.shape, plan, division);
  const PolyView lifted = take(workspace, lifts.lifted);
  lift(where, lifted, Views(&a, 1), Views(&b, 1), plan, fused, lifts, schedule.operands_in_clusters,
       workspace);
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
