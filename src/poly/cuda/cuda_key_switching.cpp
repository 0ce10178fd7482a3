// Key-switching: its steps in each way.
#include <algorithm>
#include <utility>

#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/key_switching.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cuda {
namespace {

PolyShape pair_of(PolyShape in, std::size_t limbs) {
  in.components = 2;
  in.limbs = limbs;
  return in;
}

RnsBase part_of(const RnsBase& base, std::size_t first, std::size_t count) {
  const auto indices = base.indices().subspan(first, count);
  return {base.ring(), {indices.begin(), indices.end()}};
}

// `count` limbs of the extended base, from `first` on.
SwitchLimbs limbs_of(const ModUp& up, std::size_t first, std::size_t count) {
  SwitchLimbs limbs{.base = part_of(up.extended(), first, count), .positions = {}};
  for (std::size_t i = 0; i < count; ++i) limbs.positions.push_back(static_cast<std::int32_t>(first + i));
  return limbs;
}

// The dropped limbs that are of the level's base; they stand before the special ones.
SwitchLimbs dropped_of_base(const ModUp& up, const Division& down) {
  const std::size_t count = down.dropped().size() - (up.extended().size() - up.base().size());
  SwitchLimbs limbs{.base = part_of(down.dropped(), 0, count), .positions = {}};
  for (std::size_t i = 0; i < count; ++i) {
    limbs.positions.push_back(static_cast<std::int32_t>(down.dropped_positions()[i]));
  }
  return limbs;
}

}  // namespace

// The rows that end the division begin the inverse transform of its quotients, which they leave in their own
// digits.
PolyView CudaBackend::divided_residues(const Launcher& where, const PolyView& digits, const ConstPolyView& in,
                                       const Division& down, const ModUp& up, Workspace& workspace) const {
  const FusedModUp& fused = fused_.of_digits(up);
  const FusedDivision& division = fused_.of(down);
  const RnsBase& base = up.base();
  const std::size_t dropped = down.dropped().size();
  const PolyView residues = take(workspace, with_limbs(in.shape, base.size()));
  const Workspace::Frame frame(workspace);
  const PolyView between = take(workspace, with_limbs(in.shape, base.size()));
  const PolyView between_dropped = take(workspace, with_limbs(in.shape, dropped));
  const PolyView scratch = take(workspace, with_limbs(in.shape, division.scratch_limbs));
  const PolyView delta = take(workspace, with_limbs(in.shape, base.size()));
  if (workspace.measures()) return residues;
  scaled_rows(where, arithmetic(down.dropped()), between_dropped, in, in, dropped, {},
              scaled_limbs(down.dropped(), down.dropped_positions()));
  convert_remainders(where, delta, scratch, between_dropped, down, division.columns);
  finish_rows(where, arithmetic(base), between, in, delta, down, false, {digits, fused.own_digits.data()});
  scaled_columns(where, arithmetic(base), residues, between, scaled_limbs(base), fused.scaled);
  return residues;
}

void CudaBackend::do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                            Form form, const Division* down, Workspace& workspace) const {
  const ModUpTables& tables = plans_.of(plan);
  const bool values = form == Form::evaluation;
  const bool passes =
      values && !tables.windowed && allows(Way::passes, choices_) && fused_.of_digits(plan).usable;
  if (tables.windowed || (down != nullptr && !(passes && way(*down, in.shape) == Way::passes))) {
    return Backend::do_mod_up(queue, out, in, plan, form, down, workspace);
  }
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  if (passes) {
    // As a switch begins, with rows of their own.
    const FusedModUp& fused = fused_.of_digits(plan);
    const std::size_t limbs = plan.base().size();
    const PolyView residues = down == nullptr ? scaled_residues(where, in.shape, in, {}, {}, plan.base(),
                                                                fused.scaled, limbs, workspace)
                                              : divided_residues(where, out, in, *down, plan, workspace);
    if (workspace.measures()) return;
    const auto run = [&](const RnsBase& part, const ColumnTables& columns, std::size_t first) {
      if (part.empty()) return;
      const PolyView rows = out.limbs(first, part.size());
      convert_columns(where, arithmetic(part), out, residues, 1, columns);
      forward_rows(where, arithmetic(part), rows, rows, part, tables.own_digits.data() + first);
    };
    run(plan.base(), fused.base, 0);
    run(plan.extended().without(plan.base()), fused.special, limbs);
    if (down == nullptr) copy_own_limbs(where, out, in, tables);
    return;
  }
  const PolyView scratch = values ? take(workspace, in.shape) : PolyView();
  if (workspace.measures()) return;
  ConstPolyView coefficients = in;
  if (values) {
    cuda::inverse_transform(where, arithmetic(plan.base()), scratch, in, plan.base());
    coefficients = scratch;
  }
  cuda::convert("mod_up", where, out, coefficients, 1, tables.conversions);
  copy_own_limbs(where, out, in, tables);
  cuda::forward_transform(where, arithmetic(plan.extended()), out, out, plan.extended(),
                          values ? tables.own_digits.data() : nullptr);
}

void CudaBackend::do_extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                                    int width, const RnsBase& base) const {
  cuda::extract_window(launcher(queue), out, in, shift, width, base);
}

void CudaBackend::do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                       const ConstPolyView& key, const ModUp& plan) const {
  cuda::key_inner_product(launcher(queue), out, digits, key, plan.extended(), plans_.of(plan));
}

void CudaBackend::do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                      std::span<const HoistedTerm> terms, const ModUp& plan,
                                      std::span<const std::uint64_t> special, Workspace& workspace) const {
  if (workspace.measures()) return;
  cuda::hoisted_products(launcher(queue), arithmetic(plan.extended()), out, terms, plan, plans_.of(plan),
                         special);
}

void CudaBackend::do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                          const ConstPolyView& key, const ModUp& plan,
                                          Workspace& workspace) const {
  const Way chosen_way = way_of(sum_shape(plan, in.shape.batch, key.word), choices_);
  if (chosen_way == Way::unfused || key.shape.components != 2) {
    return Backend::do_mod_up_inner_product(queue, out, in, key, plan, workspace);
  }
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const std::size_t limbs = plan.base().size();
  const RnsBase special = plan.extended().without(plan.base());
  if (chosen_way == Way::clusters) {
    const ClusterModUp& tables = fused_.in_clusters(plan);
    const PolyView residues = take(workspace, in.shape);
    if (workspace.measures()) return;
    cluster_scaled(where, arithmetic(plan.base()), residues, in, {}, scaled_limbs(plan.base()),
                   tables.scaled);
    const auto sums = [&](const RnsBase& part, std::size_t first) {
      if (part.empty()) return;
      const SwitchRows rows{.out = out.limbs(first, part.size()), .key = key};
      cluster_inner_product(where, arithmetic(part), residues, {.in = in}, std::span(&rows, 1), tables,
                            plan.extended(), first, nullptr);
    };
    sums(plan.base(), 0);
    sums(special, limbs);
    return;
  }
  const FusedModUp& fused = fused_.of(plan);
  const PolyView digits = take(workspace, digits_shape(in.shape, plan));
  const PolyView residues =
      scaled_residues(where, in.shape, in, {}, {}, plan.base(), fused.scaled, limbs, workspace);
  if (workspace.measures()) return;
  const auto run = [&](const RnsBase& part, const ColumnTables& columns, std::size_t first) {
    if (part.empty()) return;
    const Arithmetic chosen = arithmetic(part);
    convert_columns(where, chosen, digits, residues, 1, columns);
    const SwitchRows rows{.out = out.limbs(first, part.size()), .key = key};
    rows_inner_product(where, chosen, digits, {.in = in}, std::span(&rows, 1), SwitchEnd::sums,
                       limbs_of(plan, first, part.size()), plan, fused, nullptr);
  };
  run(plan.base(), fused.base, 0);
  run(special, fused.special, limbs);
}

// The limbs that the division drops go first, special ones and, where it rescales as well, some of the base:
// then its inverse transform and conversion are done when the other sums are made, and these never reach
// memory. Keys that go together stand in the batch of what lies between.
void CudaBackend::fused_switch(const SwitchSchedule& schedule, const Launcher& where,
                               const SwitchInput& input, std::span<const KeySwitch> switches, const ModUp& up,
                               const Division& down, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const FusedModUp& fused = fused_.of(up);
  const FusedDivision& division = fused_.of(down);
  const std::size_t limbs = up.base().size(), special = up.extended().size() - limbs;
  const SwitchLimbs special_limbs = limbs_of(up, limbs, special);
  const SwitchLimbs base_limbs = dropped_of_base(up, down);
  const SwitchLimbs kept{.base = down.target(), .positions = down.kept_positions()};
  const SwitchEnd end = down.target() == up.base() ? SwitchEnd::divided : SwitchEnd::lowered;
  const std::size_t of_dropped = base_limbs.base.size(), dropped = down.dropped().size();
  const Arithmetic of_base = arithmetic(up.base()), of_special = arithmetic(special_limbs.base);
  PolyShape shape = input.is_product() ? switches.front().out.shape : input.in.shape;
  shape.components = 1;
  const std::size_t batch = shape.batch;
  const PolyView digits = take(workspace, digits_shape(shape, up));
  const ColumnTables& joined = fused_.joined(up);
  const ScaledTables& scaled = input.is_product() ? fused.scaled_product : fused.scaled;
  const ConstPolyView in = input.is_product() ? input.left.components(1, 1) : input.in;
  const ConstPolyView factor = input.is_product() ? input.right.components(1, 1) : ConstPolyView{};
  PolyView residues;
  if (schedule.joins && joined.steps == 0) {
    const PolyView between = take(workspace, with_limbs(shape, limbs));
    if (!workspace.measures()) {
      scaled_rows(where, of_base, between, in, in, limbs, factor, scaled_limbs(up.base()));
      inverse_convert_columns(where, of_base, digits, between, 1, up.base(), scaled, joined);
    }
  } else {
    residues = scaled_residues(where, shape, in, factor, {}, up.base(), scaled, limbs, workspace);
    if (!workspace.measures()) {
      convert_columns(where, of_special, digits, residues, 1, schedule.joins ? joined : fused.special);
    }
  }
  // The digits' other limbs are for the last kernel only. A conversion that is small fills what the one
  // before leaves idle; another one what the special limbs' rows leave idle, which then find their digits in
  // the cache.
  const auto convert_others = [&] {
    if (workspace.measures() || schedule.joins) return;
    convert_columns(where, of_base, digits, residues, 1, fused.base, Begin::beside);
  };
  if (schedule.converts_beside) convert_others();
  const bool inverts = schedule.inverts;
  const std::size_t together = schedule.keys_together;
  for (std::size_t first = 0; first < switches.size(); first += together) {
    const Workspace::Frame inner(workspace);
    const std::size_t count = std::min(together, switches.size() - first);
    shape.batch = batch * count;
    const PolyView sums = take(workspace, pair_of(shape, dropped));
    const PolyView delta = take(workspace, pair_of(shape, down.target().size()));
    const PolyView remainders = take(workspace, pair_of(shape, division.scratch_limbs));
    const PolyView between = take(workspace, pair_of(shape, dropped));
    if (workspace.measures()) continue;
    std::vector<SwitchRows> special_rows, base_rows, rows;
    for (std::size_t i = 0; i < count; ++i) {
      const KeySwitch& each = switches[first + i];
      const PolyView sum = (inverts ? between : sums).batches(i * batch, batch);
      special_rows.push_back({.out = sum.limbs(of_dropped, special), .key = each.key});
      base_rows.push_back({.out = sum.limbs(0, of_dropped), .key = each.key});
      rows.push_back({.out = each.out,
                      .key = each.key,
                      .delta = delta.batches(i * batch, batch),
                      .galois_element = each.galois_element});
    }
    rows_inner_product(where, of_special, digits, input, special_rows,
                       inverts ? SwitchEnd::inverted : SwitchEnd::sums, special_limbs, up, fused, nullptr);
    if (first == 0 && !schedule.converts_beside) convert_others();
    if (of_dropped != 0) {
      rows_inner_product(where, of_base, digits, input, base_rows, SwitchEnd::extended, base_limbs, up, fused,
                         nullptr);
    }
    if (!inverts) {
      scaled_rows(where, arithmetic(down.dropped()), between, sums, sums, dropped, {},
                  scaled_limbs(down.dropped()));
    }
    convert_remainders(where, delta, remainders, between, down, division.columns);
    rows_inner_product(where, of_base, digits, input, rows, end, kept, up, fused, &down);
  }
}

// Three kernels, the second and third again for every few keys.
void CudaBackend::cluster_switch(const Launcher& where, const SwitchInput& input,
                                 std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                                 Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const ClusterModUp& tables = fused_.in_clusters(up);
  const ClusterDivision& division = fused_.in_clusters(down);
  const std::size_t limbs = up.base().size(), special = down.dropped().size();
  const Arithmetic of_base = arithmetic(up.base());
  PolyShape shape = input.is_product() ? switches.front().out.shape : input.in.shape;
  shape.components = 1;
  const std::size_t batch = shape.batch;
  const PolyView residues = take(workspace, with_limbs(shape, limbs));
  if (!workspace.measures()) {
    const std::vector<ScaledLimb> all = scaled_limbs(up.base());
    if (input.is_product()) {
      cluster_scaled(where, of_base, residues, input.left.components(1, 1), input.right.components(1, 1), all,
                     tables.scaled_product);
    } else {
      cluster_scaled(where, of_base, residues, input.in, {}, all, tables.scaled);
    }
  }
  for (std::size_t first = 0; first < switches.size(); first += keys_per_launch) {
    const Workspace::Frame inner(workspace);
    const std::size_t count = std::min(std::size_t{keys_per_launch}, switches.size() - first);
    const unsigned parts =
        cluster_parts(where, up.digits().size(), 2 * count * batch * down.dropped().size());
    shape.batch = batch * count * parts;
    const PolyView remainders = take(workspace, pair_of(shape, special));
    if (workspace.measures()) continue;
    const std::size_t part_stride = batch * count * remainders.batch_stride;
    std::vector<SwitchRows> sums, rows;
    for (std::size_t i = 0; i < count; ++i) {
      const KeySwitch& each = switches[first + i];
      const PolyView own = remainders.batches(i * batch, batch);
      sums.push_back({.out = own, .key = each.key});
      rows.push_back({.out = each.out, .key = each.key, .delta = own, .galois_element = each.galois_element});
    }
    cluster_remainders(where, arithmetic(down.dropped()), residues, sums, parts, part_stride, tables,
                       up.extended(), limbs, division.scaled);
    const ClusterRemainders divided{&down, &division, parts, part_stride};
    cluster_inner_product(where, of_base, residues, input, rows, tables, up.extended(), 0, &divided);
  }
}

void CudaBackend::run_switch(const SwitchSchedule& schedule, const Launcher& where, const SwitchInput& input,
                             std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                             Workspace& workspace) const {
  if (schedule.way == Way::clusters) return cluster_switch(where, input, switches, up, down, workspace);
  fused_switch(schedule, where, input, switches, up, down, workspace);
}

void CudaBackend::do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                                 const ModUp& up, const Division* down, const ConstPolyView& addend,
                                 Workspace& workspace) const {
  const bool pairs = std::all_of(switches.begin(), switches.end(),
                                 [](const KeySwitch& each) { return each.key.shape.components == 2; });
  const SwitchSchedule chosen = schedule(
      up, down,
      {.batch = in.shape.batch, .keys = switches.size(), .word = switches.front().key.word, .pairs = pairs});
  if (chosen.way == Way::unfused) {
    return Backend::do_switch_keys(queue, switches, in, up, down, addend, workspace);
  }
  run_switch(chosen, launcher(queue), {.in = in, .addend = addend}, switches, up, *down, workspace);
}

void CudaBackend::do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                          const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                          const Division* down, std::span<const std::uint64_t> added,
                                          Workspace& workspace) const {
  const SwitchSchedule chosen = schedule(
      up, down, {.batch = out.shape.batch, .keys = 1, .word = key.word, .pairs = key.shape.components == 2});
  if (chosen.way == Way::unfused) {
    return Backend::do_multiply_relinearize(queue, out, a, b, key, up, down, added, workspace);
  }
  const KeySwitch only{out, key, 1};
  run_switch(chosen, launcher(queue), {.left = a, .right = b, .added = added}, std::span(&only, 1), up, *down,
             workspace);
  if (chosen.way == Way::clusters && !workspace.measures()) add_constant(queue, out, added, down->target());
}

}  // namespace hemera::poly::cuda
