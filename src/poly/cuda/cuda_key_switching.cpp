// Changes of base and key-switching: which plans run fused, and in which steps.
#include <algorithm>
#include <utility>

#include "poly/cuda/conversion.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused.hpp"
#include "poly/cuda/key_switching.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly::cuda {
namespace {

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<std::uint32_t>(i);
  return positions;
}

PolyShape digits_shape(PolyShape in, const ModUp& plan) {
  in.components = plan.digits().size();
  in.limbs = plan.extended().size();
  return in;
}

PolyShape pair_of(PolyShape in, std::size_t limbs) {
  in.components = 2;
  in.limbs = limbs;
  return in;
}

}  // namespace

// --- Changes of base ---

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

PolyView CudaBackend::scaled_residues(const Launcher& where, const ConstPolyView& in,
                                      const std::vector<std::uint32_t>& positions, const RnsBase& base,
                                      const ScaledTables& tables, std::size_t limbs,
                                      Workspace& workspace) const {
  const PolyView residues = take(workspace, with_limbs(in.shape, limbs));
  const PolyView between = take(workspace, with_limbs(in.shape, base.size()));
  scaled_inverse_transform(where, arithmetic(base), residues, between, in, positions, base, tables);
  return residues;
}

std::size_t CudaBackend::divide_and_round_workspace(const PolyShape& in, const Division& plan) const {
  const FusedDivision& fused = fused_.of(plan);
  // In coefficient form the plan runs unfused.
  const std::size_t unfused = Backend::divide_and_round_workspace(in, plan);
  if (!fused.usable) return unfused;
  return std::max(unfused, bytes_of(with_limbs(in, fused.scratch_limbs)) +
                               bytes_of(with_limbs(in, plan.dropped().size())) +
                               bytes_of(with_limbs(in, plan.target().size())));
}

void CudaBackend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const Division& plan, Form form, Workspace& workspace) const {
  const FusedDivision& fused = fused_.of(plan);
  if (form == Form::coefficient || !fused.usable) {
    return Backend::divide_and_round(queue, out, in, plan, form, workspace);
  }
  check_transform("divide_and_round", ring_, plan.source());
  check_view("divide_and_round", "output", out, plan.target());
  check_input("divide_and_round", "input", in, out.shape, plan.source());
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const PolyView residues = scaled_residues(where, in, plan.dropped_positions(), plan.dropped(), fused.scaled,
                                            fused.scratch_limbs, workspace);
  extra_rows(where, residues, fused.extra);
  const PolyView delta = take(workspace, with_limbs(in.shape, plan.target().size()));
  const Arithmetic chosen = arithmetic(plan.target());
  convert_columns(where, chosen, delta, residues, static_cast<unsigned>(in.shape.components), fused.columns);
  finish_rows(where, chosen, out, in, delta, plan);
}

// --- Key-switching ---

std::size_t CudaBackend::mod_up_workspace(const PolyShape& in, const ModUp& plan) const {
  return plans_.of(plan).windowed ? Backend::mod_up_workspace(in, plan) : bytes_of(in);
}

void CudaBackend::mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                         Form form, Workspace& workspace) const {
  const ModUpTables& tables = plans_.of(plan);
  if (tables.windowed) return Backend::mod_up(queue, out, in, plan, form, workspace);
  check_transform("mod_up", ring_, plan.extended());
  check_view("mod_up", "output", out, plan.extended());
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the output", out.shape.components, plan.digits().size());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  check_broadcast("mod_up", "input", in.shape, out.shape);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const bool values = form == Form::evaluation;
  ConstPolyView coefficients = in;
  if (values) {
    const PolyView scratch(workspace.take(bytes_of(in.shape)), in.shape, Word::u64);
    cuda::inverse_transform(where, arithmetic(plan.base()), scratch, in, plan.base());
    coefficients = scratch;
  }
  cuda::convert("mod_up", where, out, coefficients, 1, tables.conversions);
  copy_own_limbs(where, out, in, tables);
  cuda::forward_transform(where, arithmetic(plan.extended()), out, out, plan.extended(),
                          values ? tables.own_digits.data() : nullptr);
}

void CudaBackend::extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                                 int width, const RnsBase& base) const {
  check_ring("extract_window", ring_, base);
  check_view("extract_window", "output", out, base);
  check_count("extract_window", "limbs of the input", in.shape.limbs, 1);
  check_broadcast("extract_window", "input", in.shape, out.shape);
  cuda::extract_window(launcher(queue), out, in, shift, width, base);
}

void CudaBackend::key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                    const ConstPolyView& key, const ModUp& plan) const {
  check_ring("key_inner_product", ring_, plan.extended());
  check_key_inner_product(out, digits.shape.batch, key, plan);
  check_view("key_inner_product", "digits", digits, plan.extended());
  check_count("key_inner_product", "digits", digits.shape.components, plan.digits().size());
  cuda::key_inner_product(launcher(queue), out, digits, key, plan.extended(), plans_.of(plan));
}

std::size_t CudaBackend::mod_up_inner_product_workspace(const PolyShape& in, const ModUp& plan) const {
  return Backend::mod_up_inner_product_workspace(in, plan) + (fused_.of(plan).usable ? bytes_of(in) : 0);
}

void CudaBackend::mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const ConstPolyView& key, const ModUp& plan, Form form,
                                       Workspace& workspace) const {
  const FusedModUp& fused = fused_.of(plan);
  if (form == Form::coefficient || !fused.usable || key.shape.components != 2) {
    return Backend::mod_up_inner_product(queue, out, in, key, plan, form, workspace);
  }
  check_transform("mod_up", ring_, plan.extended());
  check_key_inner_product(out, in.shape.batch, key, plan);
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const std::size_t limbs = plan.base().size();
  const PolyView digits = take(workspace, digits_shape(in.shape, plan));
  const PolyView residues =
      scaled_residues(where, in, counted(limbs), plan.base(), fused.scaled, limbs, workspace);
  const Arithmetic chosen = arithmetic(plan.extended());
  convert_columns(where, chosen, digits, residues, 1, fused.special);
  convert_columns(where, chosen, digits, residues, 1, fused.base);
  rows_inner_product(where, chosen, out, digits, in, key, fused, plan.extended(), 0, nullptr);
}

// The special limbs go first: then the division's inverse transform and conversion are done when the sums
// over the base are made, and these never reach memory.
bool CudaBackend::fuses_switch(const ModUp& up, const Division* down) const {
  return down != nullptr && fused_.of(up).usable && fused_.of(*down).usable;
}

std::size_t CudaBackend::switch_key_workspace(const PolyShape& in, const ModUp& up,
                                              const Division* down) const {
  const std::size_t unfused = Backend::switch_key_workspace(in, up, down);
  if (!fuses_switch(up, down)) return unfused;
  const std::size_t limbs = up.base().size(), special = down->dropped().size();
  return std::max(unfused, bytes_of(digits_shape(in, up)) + 2 * bytes_of(with_limbs(in, limbs)) +
                               2 * bytes_of(pair_of(in, special)) +
                               bytes_of(pair_of(in, fused_.of(*down).scratch_limbs)) +
                               bytes_of(pair_of(in, limbs)));
}

void CudaBackend::switch_key(Queue& queue, const PolyView& out, const ConstPolyView& in,
                             const ConstPolyView& key, const ModUp& up, const Division* down,
                             const ConstPolyView& addend, std::uint64_t galois_element,
                             Workspace& workspace) const {
  check_galois_element("switch_key", galois_element, ring_->degree());
  if (!fuses_switch(up, down) || key.shape.components != 2) {
    return Backend::switch_key(queue, out, in, key, up, down, addend, galois_element, workspace);
  }
  check_transform("switch_key", ring_, up.extended());
  check_switch_key(out, in, key, up, down, addend);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const FusedModUp& fused = fused_.of(up);
  const FusedDivision& division = fused_.of(*down);
  const std::size_t limbs = up.base().size(), special = down->dropped().size();
  const Arithmetic chosen = arithmetic(up.extended());
  const PolyView digits = take(workspace, digits_shape(in.shape, up));
  const PolyView residues =
      scaled_residues(where, in, counted(limbs), up.base(), fused.scaled, limbs, workspace);
  convert_columns(where, chosen, digits, residues, 1, fused.special);
  const PolyView sums = take(workspace, pair_of(in.shape, special));
  rows_inner_product(where, chosen, sums, digits, in, key, fused, up.extended(), limbs, nullptr);
  const PolyView remainders = scaled_residues(where, sums, counted(special), down->dropped(), division.scaled,
                                              division.scratch_limbs, workspace);
  extra_rows(where, remainders, division.extra);
  const PolyView delta = take(workspace, pair_of(in.shape, limbs));
  convert_columns(where, chosen, digits, residues, 1, fused.base);
  convert_columns(where, chosen, delta, remainders, 2, division.columns);
  const SwitchEnd end{delta, down, addend, galois_element};
  rows_inner_product(where, chosen, out, digits, in, key, fused, up.extended(), 0, &end);
}

}  // namespace hemera::poly::cuda
