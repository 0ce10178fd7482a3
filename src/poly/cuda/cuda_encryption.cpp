// Encryption and samples for keys: what runs fused, and in which steps.
#include <algorithm>
#include <vector>

#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/sampling/sampling.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cuda {
namespace {

PolyShape drawn_shape(PolyShape out, std::size_t limbs) {
  out.components = 3;
  return with_limbs(out, limbs);
}

PolyShape error_shape(PolyShape out) {
  out.components = 1;
  return with_limbs(out, 1);
}

// A term a limb at most: windows of bits have several.
bool one_term_a_limb(std::span<const GadgetTerm> terms, std::size_t limbs) {
  std::vector<bool> has_one(limbs);
  return std::all_of(terms.begin(), terms.end(), [&](const GadgetTerm& term) {
    const bool first = !has_one[term.limb];
    has_one[term.limb] = true;
    return first;
  });
}

}  // namespace

// The kept limbs must come first, in the target's order, and all limbs run in the arithmetic that the
// division's tables are made for.
bool CudaBackend::fuses_encryption(const RnsBase& base, const Division* division) const {
  if (!allows(Way::passes, choices_) || !can_fuse(ring()->log_degree() - 8)) return false;
  if (division == nullptr) return true;
  const RnsBase& target = division->target();
  const std::vector<std::int32_t>& kept = division->kept_positions();
  for (std::size_t j = 0; j < kept.size(); ++j) {
    if (kept[j] != static_cast<std::int32_t>(j)) return false;
  }
  return fused_.of(*division).usable && base.size() == target.size() + division->dropped().size() &&
         arithmetic(base) == arithmetic(target);
}

void CudaBackend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                                  const RandomStream& stream, const ErrorDistribution& distribution,
                                  std::uint64_t factor, const RnsBase& base, const Division* division,
                                  const ConstPolyView& addend, Workspace& workspace) const {
  if (!fuses_encryption(base, division)) {
    return Backend::do_encrypt_zero(queue, out, key, stream, distribution, factor, base, division, addend,
                                    workspace);
  }
  const RnsBase& target = division == nullptr ? base : division->target();
  const Workspace::Frame frame(workspace);
  const Arithmetic chosen = arithmetic(base);
  const PolyView columns = take(workspace, drawn_shape(out.shape, base.size()));
  const PolyView integers = take(workspace, drawn_shape(out.shape, 1));
  const auto draw = [&](const Launcher& where) {
    sample_ternary_integers(where, integers.components(0, 1), stream);
    sample_error_integers(where, integers.components(1, 2), stream, distribution);
    small_columns(where, chosen, columns, integers, true, factor, base);
  };
  if (division == nullptr) {
    if (workspace.measures()) return;
    const Launcher where = random_launcher(queue);
    draw(where);
    return mask_rows(where, chosen, out, columns, key, addend, base, nullptr);
  }

  const FusedDivision& fused = fused_.of(*division);
  const RnsBase& special = division->dropped();
  const std::size_t limbs = target.size(), dropped = special.size();
  const PolyView masked = take(workspace, with_limbs(out.shape, dropped));
  const PolyView remainders = take(workspace, with_limbs(out.shape, fused.scratch_limbs));
  const PolyView between = take(workspace, masked.shape);
  const PolyView delta = take(workspace, out.shape);
  if (workspace.measures()) return;
  const Launcher where = random_launcher(queue);
  draw(where);
  mask_rows(where, chosen, masked, columns.limbs(limbs, dropped), key.limbs(limbs, dropped), {}, special,
            nullptr);
  scaled_inverse_transform(where, arithmetic(special), remainders, between, masked, {}, {}, special,
                           fused.scaled);
  extra_rows(where, remainders, fused.extra);
  convert_columns(where, chosen, delta, remainders, 2, fused.columns);
  const MaskEnd end{delta, division};
  mask_rows(where, chosen, out, columns.limbs(0, limbs), key.limbs(0, limbs), addend, target, &end);
}

void CudaBackend::do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                                 const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                                 std::span<const GadgetTerm> terms, Workspace& workspace) const {
  if (!fuses_encryption(base, nullptr)) {
    return Backend::do_sample_rlwe(queue, out, secret, from, base, addend, terms, workspace);
  }
  const bool fits = one_term_a_limb(terms, base.size());
  {
    const Workspace::Frame frame(workspace);
    const PolyView integers = take(workspace, error_shape(out.shape));
    if (!workspace.measures()) {
      const Launcher where = random_launcher(queue);
      const Arithmetic chosen = arithmetic(base);
      sample_error_integers(where, integers, from.errors, from.distribution);
      small_columns(where, chosen, out.components(0, 1), integers, false, from.factor, base);
      sample_rows(where, chosen, out, secret, from.uniform, fits ? addend : ConstPolyView(),
                  fits ? terms : std::span<const GadgetTerm>(), base);
    }
  }
  if (!fits) add_terms(queue, out.components(0, 1), addend, terms, base, workspace);
}

}  // namespace hemera::poly::cuda
