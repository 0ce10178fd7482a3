// Changes of base and divisions: their steps in each way.
#include <algorithm>

#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly::cuda {

void CudaBackend::convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const BaseConversion& plan) const {
  if (plan.source().empty() || plan.target().empty()) return fill_zero(queue, out);
  check_ring("convert", ring_, plan.source());
  check_view("convert", "output", out, plan.target());
  check_input("convert", "input", in, out.shape, plan.source());
  cuda::convert("convert", launcher(queue), out, in, static_cast<unsigned>(out.shape.components),
                plans_.of(plan));
}

void CudaBackend::scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ScaleAndRound& plan) const {
  check_ring("scale_and_round", ring_, plan.source());
  check_view("scale_and_round", "output", out, plan.target());
  check_input("scale_and_round", "input", in, out.shape, plan.source());
  cuda::scale_and_round(launcher(queue), out, in, plans_.of(plan));
}

void CudaBackend::finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ConstPolyView& delta, const Division& plan) const {
  check_ring("finish_division", ring_, plan.target());
  check_view("finish_division", "output", out, plan.target());
  check_input("finish_division", "input", in, out.shape, plan.source());
  check_input("finish_division", "delta", delta, out.shape, plan.target());
  cuda::finish_division(launcher(queue), out, in, delta, plan);
}

PolyView CudaBackend::scaled_residues(const Launcher& where, const PolyShape& shape, const ConstPolyView& in,
                                      const ConstPolyView& factor, std::span<const std::uint32_t> positions,
                                      const RnsBase& base, const ScaledTables& tables, std::size_t limbs,
                                      Workspace& workspace) const {
  const PolyView residues = take(workspace, with_limbs(shape, limbs));
  const PolyView between = take(workspace, with_limbs(shape, base.size()));
  scaled_inverse_transform(where, arithmetic(base), residues, between, in, factor, positions, base, tables);
  return residues;
}

std::size_t CudaBackend::divide_and_round_workspace(const PolyShape& in, const Division& plan) const {
  // In coefficient form the plan runs unfused.
  const std::size_t unfused = Backend::divide_and_round_workspace(in, plan);
  const std::size_t dropped = bytes_of(with_limbs(in, plan.dropped().size()));
  switch (way(plan, in)) {
    case Way::clusters:
      return std::max(unfused, dropped);
    case Way::passes:
      return std::max(unfused, bytes_of(with_limbs(in, fused_.of(plan).scratch_limbs)) + dropped +
                                   bytes_of(with_limbs(in, plan.target().size())));
    default:
      return unfused;
  }
}

void CudaBackend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const Division& plan, Form form, Workspace& workspace) const {
  const Way chosen_way = way(plan, in.shape);
  if (form == Form::coefficient || chosen_way == Way::unfused) {
    return Backend::divide_and_round(queue, out, in, plan, form, workspace);
  }
  check_transform("divide_and_round", ring_, plan.source());
  check_view("divide_and_round", "output", out, plan.target());
  check_input("divide_and_round", "input", in, out.shape, plan.source());
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const Arithmetic chosen = arithmetic(plan.target());
  if (chosen_way == Way::clusters) {
    const ClusterDivision& tables = fused_.in_clusters(plan);
    const PolyView remainders = take(workspace, with_limbs(in.shape, plan.dropped().size()));
    cluster_scaled(where, arithmetic(plan.dropped()), remainders, in, {},
                   scaled_limbs(plan.dropped(), plan.dropped_positions()), tables.scaled);
    cluster_divide(where, chosen, out, in, remainders, plan, tables);
    return;
  }
  const FusedDivision& fused = fused_.of(plan);
  const PolyView residues = scaled_residues(where, in.shape, in, {}, plan.dropped_positions(), plan.dropped(),
                                            fused.scaled, fused.scratch_limbs, workspace);
  extra_rows(where, residues, fused.extra);
  const PolyView delta = take(workspace, with_limbs(in.shape, plan.target().size()));
  convert_columns(where, chosen, delta, residues, static_cast<unsigned>(in.shape.components), fused.columns);
  finish_rows(where, chosen, out, in, delta, plan);
}

}  // namespace hemera::poly::cuda
