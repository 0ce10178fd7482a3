// Key-switching: its steps in each way.
#include <algorithm>
#include <utility>

#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/key_switching.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly::cuda {
namespace {

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

// How many of `count` keys go together: enough to fill a device, while three blocks' rows of digits and
// deltas fit a multiprocessor's shared memory.
std::size_t keys_together(std::size_t count, std::size_t batch, const ModUp& plan) {
  constexpr std::size_t polynomials = 8, groups = 18;
  const std::size_t digits = plan.digits().size();
  const std::size_t most =
      std::min(polynomials / std::min(batch, polynomials), groups > digits ? (groups - digits) / 2 : 1);
  return std::min({count, std::max<std::size_t>(most, 1), std::size_t{keys_per_launch}});
}

}  // namespace

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
  // In clusters less than unfused.
  return Backend::mod_up_inner_product_workspace(in, plan) +
         (way(plan, in.batch) == Way::unfused ? 0 : bytes_of(in));
}

void CudaBackend::mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const ConstPolyView& key, const ModUp& plan, Form form,
                                       Workspace& workspace) const {
  const Way chosen_way = way(plan, in.shape.batch);
  if (form == Form::coefficient || chosen_way == Way::unfused || key.shape.components != 2) {
    return Backend::mod_up_inner_product(queue, out, in, key, plan, form, workspace);
  }
  check_transform("mod_up", ring_, plan.extended());
  check_key_inner_product(out, in.shape.batch, key, plan);
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const std::size_t limbs = plan.base().size();
  const RnsBase special = plan.extended().without(plan.base());
  if (chosen_way == Way::clusters) {
    const ClusterModUp& tables = fused_.in_clusters(plan);
    const PolyView residues = take(workspace, in.shape);
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
  const auto run = [&](const RnsBase& part, const ColumnTables& columns, std::size_t first) {
    if (part.empty()) return;
    const Arithmetic chosen = arithmetic(part);
    convert_columns(where, chosen, digits, residues, 1, columns);
    const SwitchRows rows{.out = out.limbs(first, part.size()), .key = key};
    rows_inner_product(where, chosen, digits, {.in = in}, std::span(&rows, 1), fused, plan.extended(), first,
                       nullptr);
  };
  run(plan.base(), fused.base, 0);
  run(special, fused.special, limbs);
}

std::size_t CudaBackend::fused_switch_workspace(std::size_t count, PolyShape in, const ModUp& up,
                                                const Division& down) const {
  const std::size_t limbs = up.base().size(), special = down.dropped().size();
  in.components = 1;
  const std::size_t shared = bytes_of(digits_shape(in, up)) + 2 * bytes_of(with_limbs(in, limbs));
  in.batch *= keys_together(count, in.batch, up);
  return shared + 2 * bytes_of(pair_of(in, special)) + bytes_of(pair_of(in, fused_.of(down).scratch_limbs)) +
         bytes_of(pair_of(in, limbs));
}

// The special limbs go first: then the division's inverse transform and conversion are done when the sums
// over the base are made, and these never reach memory. Keys that go together stand in the batch of what
// lies between.
void CudaBackend::fused_switch(const Launcher& where, const SwitchInput& input,
                               std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                               Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const FusedModUp& fused = fused_.of(up);
  const FusedDivision& division = fused_.of(down);
  const std::size_t limbs = up.base().size(), special = down.dropped().size();
  const Arithmetic of_base = arithmetic(up.base()), of_special = arithmetic(down.dropped());
  PolyShape shape = input.is_product() ? switches.front().out.shape : input.in.shape;
  shape.components = 1;
  const std::size_t batch = shape.batch;
  const PolyView digits = take(workspace, digits_shape(shape, up));
  const PolyView residues =
      input.is_product()
          ? scaled_residues(where, shape, input.left.components(1, 1), input.right.components(1, 1), {},
                            up.base(), fused.scaled_product, limbs, workspace)
          : scaled_residues(where, shape, input.in, {}, {}, up.base(), fused.scaled, limbs, workspace);
  convert_columns(where, of_special, digits, residues, 1, fused.special);
  // The digits' other limbs are for the last kernel only. A conversion that is small (of 32 blocks of threads
  // a job) fills what the one before leaves idle; another one what the special limbs' rows leave idle, which
  // then find their digits in the cache.
  constexpr std::size_t few_jobs = 16;
  const bool small = batch * fused.base.job_count <= few_jobs;
  const auto convert_others = [&] {
    convert_columns(where, of_base, digits, residues, 1, fused.base, Begin::beside);
  };
  if (small) convert_others();
  const std::size_t together = keys_together(switches.size(), batch, up);
  for (std::size_t first = 0; first < switches.size(); first += together) {
    const Workspace::Frame inner(workspace);
    const std::size_t count = std::min(together, switches.size() - first);
    shape.batch = batch * count;
    const PolyView sums = take(workspace, pair_of(shape, special));
    const PolyView delta = take(workspace, pair_of(shape, limbs));
    std::vector<SwitchRows> special_rows, rows;
    for (std::size_t i = 0; i < count; ++i) {
      const KeySwitch& each = switches[first + i];
      special_rows.push_back({.out = sums.batches(i * batch, batch), .key = each.key});
      rows.push_back({.out = each.out,
                      .key = each.key,
                      .delta = delta.batches(i * batch, batch),
                      .galois_element = each.galois_element});
    }
    rows_inner_product(where, of_special, digits, input, special_rows, fused, up.extended(), limbs, nullptr);
    if (first == 0 && !small) convert_others();
    const PolyView remainders = scaled_residues(where, sums.shape, sums, {}, {}, down.dropped(),
                                                division.scaled, division.scratch_limbs, workspace);
    extra_rows(where, remainders, division.extra);
    convert_columns(where, of_base, delta, remainders, 2, division.columns);
    rows_inner_product(where, of_base, digits, input, rows, fused, up.extended(), 0, &down);
  }
}

std::size_t CudaBackend::cluster_switch_workspace(std::size_t count, PolyShape in, const ModUp& up,
                                                  const Division& down) const {
  in.components = 1;
  const std::size_t residues = bytes_of(with_limbs(in, up.base().size())), special = down.dropped().size();
  const std::size_t keys = std::min(count, std::size_t{keys_per_launch});
  // Fewer keys, at the end, may go in more parts.
  std::size_t most = 0;
  for (std::size_t i = 1; i <= keys; ++i) {
    PolyShape shape = pair_of(in, special);
    shape.batch *= i * remainder_parts(i, in.batch, up, down);
    most = std::max(most, bytes_of(shape));
  }
  return residues + most;
}

unsigned CudaBackend::remainder_parts(std::size_t keys, std::size_t batch, const ModUp& up,
                                      const Division& down) const {
  return cluster_parts(ring_->log_degree() - 8, up.digits().size(), 2 * keys * batch * down.dropped().size());
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
  const std::vector<ScaledLimb> all = scaled_limbs(up.base());
  if (input.is_product()) {
    cluster_scaled(where, of_base, residues, input.left.components(1, 1), input.right.components(1, 1), all,
                   tables.scaled_product);
  } else {
    cluster_scaled(where, of_base, residues, input.in, {}, all, tables.scaled);
  }
  for (std::size_t first = 0; first < switches.size(); first += keys_per_launch) {
    const Workspace::Frame inner(workspace);
    const std::size_t count = std::min(std::size_t{keys_per_launch}, switches.size() - first);
    const unsigned parts = remainder_parts(count, batch, up, down);
    shape.batch = batch * count * parts;
    const PolyView remainders = take(workspace, pair_of(shape, special));
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

void CudaBackend::run_switch(Way way, const Launcher& where, const SwitchInput& input,
                             std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                             Workspace& workspace) const {
  if (way == Way::clusters) return cluster_switch(where, input, switches, up, down, workspace);
  fused_switch(where, input, switches, up, down, workspace);
}

std::size_t CudaBackend::run_switch_workspace(Way way, std::size_t count, const PolyShape& in,
                                              const ModUp& up, const Division& down) const {
  return way == Way::clusters ? cluster_switch_workspace(count, in, up, down)
                              : fused_switch_workspace(count, in, up, down);
}

std::size_t CudaBackend::switch_key_workspace(const PolyShape& in, const ModUp& up,
                                              const Division* down) const {
  const std::size_t unfused = Backend::switch_key_workspace(in, up, down);
  const Way chosen = way(up, down, in.batch);
  return chosen == Way::unfused ? unfused : std::max(unfused, run_switch_workspace(chosen, 1, in, up, *down));
}

void CudaBackend::switch_key(Queue& queue, const PolyView& out, const ConstPolyView& in,
                             const ConstPolyView& key, const ModUp& up, const Division* down,
                             const ConstPolyView& addend, std::uint64_t galois_element,
                             Workspace& workspace) const {
  check_galois_element("switch_key", galois_element, ring_->degree());
  const Way chosen = way(up, down, in.shape.batch);
  if (chosen == Way::unfused || key.shape.components != 2) {
    return Backend::switch_key(queue, out, in, key, up, down, addend, galois_element, workspace);
  }
  check_transform("switch_key", ring_, up.extended());
  check_switch_key(out, in, key, up, down, addend);
  const KeySwitch only{out, key, galois_element};
  run_switch(chosen, launcher(queue), {.in = in, .addend = addend}, std::span(&only, 1), up, *down,
             workspace);
}

std::size_t CudaBackend::switch_keys_workspace(std::size_t count, const PolyShape& in, const ModUp& up,
                                               const Division* down) const {
  const std::size_t unfused = Backend::switch_keys_workspace(count, in, up, down);
  const Way chosen = way(up, down, in.batch);
  return chosen == Way::unfused ? unfused
                                : std::max(unfused, run_switch_workspace(chosen, count, in, up, *down));
}

namespace {

/// Fused, the rows of all digits are transformed for every four keys. With Shoup's products, and many digits,
/// it is quicker to read them for each key: measured at 4 digits (a quarter faster fused), 14 (4 % slower)
/// and 15 (40 % slower).
constexpr std::size_t most_digits_of_u64 = 8;

}  // namespace

void CudaBackend::switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                              const ModUp& up, const Division* down, const ConstPolyView& addend,
                              Workspace& workspace) const {
  if (switches.empty()) return;
  for (const KeySwitch& each : switches) {
    check_galois_element("switch_keys", each.galois_element, ring_->degree());
  }
  const PolyShape& shape = switches.front().out.shape;
  const bool alike = std::all_of(switches.begin(), switches.end(), [&](const KeySwitch& each) {
    return each.key.shape.components == 2 && each.out.shape == shape;
  });
  const bool reads_digits =
      arithmetic(up.base()) == Arithmetic::u64 && up.digits().size() > most_digits_of_u64;
  const Way chosen = way(up, down, in.shape.batch);
  if (!alike || chosen == Way::unfused || (chosen == Way::passes && reads_digits)) {
    return Backend::switch_keys(queue, switches, in, up, down, addend, workspace);
  }
  check_transform("switch_keys", ring_, up.extended());
  for (const KeySwitch& each : switches) check_switch_key(each.out, in, each.key, up, down, addend);
  run_switch(chosen, launcher(queue), {.in = in, .addend = addend}, switches, up, *down, workspace);
}

std::size_t CudaBackend::multiply_relinearize_workspace(const PolyShape& out, const ModUp& up,
                                                        const Division* down) const {
  const std::size_t unfused = Backend::multiply_relinearize_workspace(out, up, down);
  const Way chosen = way(up, down, out.batch);
  return chosen == Way::unfused ? unfused
                                : std::max(unfused, run_switch_workspace(chosen, 1, out, up, *down));
}

void CudaBackend::multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                       const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                       const Division* down, Workspace& workspace) const {
  const Way chosen = way(up, down, out.shape.batch);
  if (chosen == Way::unfused || key.shape.components != 2 || a.shape.components != 2 ||
      b.shape.components != 2) {
    return Backend::multiply_relinearize(queue, out, a, b, key, up, down, workspace);
  }
  check_transform("multiply_relinearize", ring_, up.extended());
  check_input("multiply_relinearize", "a", a, out.shape, up.base());
  check_input("multiply_relinearize", "b", b, out.shape, up.base());
  check_switch_key(out, a.components(1, 1), key, up, down, {});
  const KeySwitch only{out, key, 1};
  run_switch(chosen, launcher(queue), {.left = a, .right = b}, std::span(&only, 1), up, *down, workspace);
}

}  // namespace hemera::poly::cuda
