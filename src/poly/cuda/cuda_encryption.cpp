// Encryption and samples for keys: what runs fused, and in which steps.
#include <algorithm>
#include <vector>

#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/sampling/sampling.hpp"
#include "poly/sampling_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

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
  if (!can_fuse(ring_->log_degree() - 8)) return false;
  if (division == nullptr) return true;
  const RnsBase& target = division->target();
  const std::vector<std::int32_t>& kept = division->kept_positions();
  for (std::size_t j = 0; j < kept.size(); ++j) {
    if (kept[j] != static_cast<std::int32_t>(j)) return false;
  }
  return fused_.of(*division).usable && base.size() == target.size() + division->dropped().size() &&
         arithmetic(base) == arithmetic(target);
}

std::size_t CudaBackend::encrypt_zero_workspace(const PolyShape& out, const RnsBase& base,
                                                const Division* division) const {
  const std::size_t unfused = Backend::encrypt_zero_workspace(out, base, division);
  if (!fuses_encryption(base, division)) return unfused;
  const std::size_t drawn = bytes_of(drawn_shape(out, base.size())) + bytes_of(drawn_shape(out, 1));
  if (division == nullptr) return drawn;
  const std::size_t dropped = division->dropped().size();
  return drawn + 2 * bytes_of(with_limbs(out, dropped)) +
         bytes_of(with_limbs(out, fused_.of(*division).scratch_limbs)) + bytes_of(out);
}

void CudaBackend::encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                               const RandomStream& stream, const ErrorDistribution& distribution,
                               std::uint64_t factor, const RnsBase& base, const Division* division,
                               const ConstPolyView& addend, Workspace& workspace) const {
  check_encrypt_zero(out, key, base, division, addend);
  if (!fuses_encryption(base, division)) {
    return Backend::encrypt_zero(queue, out, key, stream, distribution, factor, base, division, addend,
                                 workspace);
  }
  check_transform("encrypt_zero", ring_, base);
  const RnsBase& target = division == nullptr ? base : division->target();
  check_sampling(out, stream, target);
  const Workspace::Frame frame(workspace);
  const Launcher where = random_launcher(queue);
  const Arithmetic chosen = arithmetic(base);
  const PolyView columns = take(workspace, drawn_shape(out.shape, base.size()));
  const PolyView integers = take(workspace, drawn_shape(out.shape, 1));
  sample_ternary_integers(where, integers.components(0, 1), stream);
  sample_error_integers(where, integers.components(1, 2), stream, distribution);
  small_columns(where, chosen, columns, integers, true, factor, base);
  if (division == nullptr) return mask_rows(where, chosen, out, columns, key, addend, base, nullptr);

  const FusedDivision& fused = fused_.of(*division);
  const RnsBase& special = division->dropped();
  const std::size_t limbs = target.size(), dropped = special.size();
  const PolyView masked = take(workspace, with_limbs(out.shape, dropped));
  mask_rows(where, chosen, masked, columns.limbs(limbs, dropped), key.limbs(limbs, dropped), {}, special,
            nullptr);
  const PolyView remainders = scaled_residues(where, masked.shape, masked, {}, {}, special, fused.scaled,
                                              fused.scratch_limbs, workspace);
  extra_rows(where, remainders, fused.extra);
  const PolyView delta = take(workspace, out.shape);
  convert_columns(where, chosen, delta, remainders, 2, fused.columns);
  const MaskEnd end{delta, division};
  mask_rows(where, chosen, out, columns.limbs(0, limbs), key.limbs(0, limbs), addend, target, &end);
}

std::size_t CudaBackend::sample_rlwe_workspace(const PolyShape& out) const {
  return std::max(Backend::sample_rlwe_workspace(out), bytes_of(error_shape(out)));
}

void CudaBackend::sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                              const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                              std::span<const GadgetTerm> terms, Workspace& workspace) const {
  check_sample_rlwe(out, secret, base, addend, terms);
  if (!fuses_encryption(base, nullptr)) {
    return Backend::sample_rlwe(queue, out, secret, from, base, addend, terms, workspace);
  }
  check_transform("sample_rlwe", ring_, base);
  check_sampling(out.components(0, 1), from.errors, base);
  const Launcher where = random_launcher(queue);
  const Arithmetic chosen = arithmetic(base);
  const bool fits = one_term_a_limb(terms, base.size());
  {
    const Workspace::Frame frame(workspace);
    const PolyView integers = take(workspace, error_shape(out.shape));
    sample_uniform(queue, out.components(1, 1), from.uniform, base);
    sample_error_integers(where, integers, from.errors, from.distribution);
    small_columns(where, chosen, out.components(0, 1), integers, false, from.factor, base);
    sample_rows(where, chosen, out, secret, fits ? addend : ConstPolyView(),
                fits ? terms : std::span<const GadgetTerm>(), base);
  }
  if (!fits) add_terms(queue, out.components(0, 1), addend, terms, base, workspace);
}

}  // namespace hemera::poly::cuda
