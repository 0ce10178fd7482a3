// Changes of base and divisions: their steps in each way.
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cuda {

void CudaBackend::do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                             const BaseConversion& plan, const IntegerView* doubtful) const {
  cuda::convert("convert", launcher(queue), out, in, static_cast<unsigned>(out.shape.components),
                plans_.of(plan), doubtful);
}

void CudaBackend::do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                     const ScaleAndRound& plan, const IntegerView* doubtful) const {
  cuda::scale_and_round(launcher(queue), out, in, plans_.of(plan), doubtful);
}

void CudaBackend::do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                     const ConstPolyView& delta, const Division& plan) const {
  cuda::finish_division(launcher(queue), out, in, delta, plan);
}

PolyView CudaBackend::scaled_residues(const Launcher& where, const PolyShape& shape, const ConstPolyView& in,
                                      const ConstPolyView& factor, std::span<const std::uint32_t> positions,
                                      const RnsBase& base, const ScaledTables& tables, std::size_t limbs,
                                      Workspace& workspace) const {
  const PolyView residues = take(workspace, with_limbs(shape, limbs));
  const PolyView between = take(workspace, with_limbs(shape, base.size()));
  if (!workspace.measures()) {
    scaled_inverse_transform(where, arithmetic(base), residues, between, in, factor, positions, base, tables);
  }
  return residues;
}

void CudaBackend::convert_remainders(const Launcher& where, const PolyView& delta, const PolyView& scratch,
                                     const ConstPolyView& between, const Division& plan,
                                     const ColumnTables& columns) const {
  const FusedDivision& fused = fused_.of(plan);
  const Arithmetic of_dropped = arithmetic(plan.dropped()), of_target = arithmetic(plan.target());
  const auto components = static_cast<unsigned>(delta.shape.components);
  const RemainderSchedule schedule = remainder_schedule(plan, columns);
  if (schedule.joins_columns) {
    return inverse_convert_columns(where, of_target, delta, between, components, plan.dropped(), fused.scaled,
                                   columns);
  }
  scaled_columns(where, of_dropped, scratch, between, scaled_limbs(plan.dropped()), fused.scaled,
                 schedule.quotient_in_cluster ? &fused.extra : nullptr);
  if (!schedule.quotient_in_cluster) extra_rows(where, scratch, fused.extra);
  convert_columns(where, of_target, delta, scratch, components, columns);
}

void CudaBackend::do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                      const Division& plan, Form form, Workspace& workspace) const {
  const Way chosen_way = way(plan, in.shape);
  if (form == Form::coefficient || chosen_way == Way::unfused) {
    return Backend::do_divide_and_round(queue, out, in, plan, form, workspace);
  }
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const Arithmetic chosen = arithmetic(plan.target());
  if (chosen_way == Way::clusters) {
    const ClusterDivision& tables = fused_.in_clusters(plan);
    const PolyView remainders = take(workspace, with_limbs(in.shape, plan.dropped().size()));
    if (workspace.measures()) return;
    cluster_scaled(where, arithmetic(plan.dropped()), remainders, in, {},
                   scaled_limbs(plan.dropped(), plan.dropped_positions()), tables.scaled);
    cluster_divide(where, chosen, out, in, remainders, plan, tables);
    return;
  }
  const std::size_t dropped = plan.dropped().size();
  const PolyView between = take(workspace, with_limbs(in.shape, dropped));
  const FusedDivision& fused = fused_.of(plan);
  const bool multiplies = fused.without_multiple.job_count > 0;
  const PolyView scratch = take(workspace, with_limbs(in.shape, fused.scratch_limbs));
  const PolyView delta = take(workspace, with_limbs(in.shape, plan.target().size()));
  if (workspace.measures()) return;
  scaled_rows(where, arithmetic(plan.dropped()), between, in, in, dropped, {},
              scaled_limbs(plan.dropped(), plan.dropped_positions()));
  convert_remainders(where, delta, scratch, between, plan,
                     multiplies ? fused.without_multiple : fused.columns);
  finish_rows(where, chosen, out, in, delta, plan, multiplies);
}

}  // namespace hemera::poly::cuda
