// Defaults (docs/design.md): encryptions of zero, samples of RLWE, and the phase of a ciphertext.
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly {
namespace {

std::vector<std::uint64_t> residues_of(std::uint64_t value, const RnsBase& base) {
  std::vector<std::uint64_t> residues;
  residues.reserve(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) residues.push_back(base.modulus(i).reduce(value));
  return residues;
}

}  // namespace

void Backend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                              const RandomStream& stream, const ErrorDistribution& distribution,
                              std::uint64_t factor, const RnsBase& base, const Division* division,
                              const ConstPolyView& addend, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyShape shape = with_limbs(out.shape, base.size());
  const PolyView masked = division == nullptr ? out : take(workspace, shape);
  {
    const Workspace::Frame inner(workspace);
    const PolyView u = take(workspace, with_components(shape, 1)), errors = take(workspace, shape);
    do_sample(queue, u, std::span(&stream, 1), Distribution::ternary(), base, workspace);
    do_sample(queue, errors, std::span(&stream, 1), Distribution::error(distribution), base, workspace);
    if (!workspace.measures()) {
      do_transform(queue, u, u, Form::evaluation, base);
      do_binary(queue, Binary::multiply, masked, key, u, base);
      if (factor != 1) do_unary(queue, Unary::multiply, errors, errors, residues_of(factor, base), base);
      do_transform(queue, errors, errors, Form::evaluation, base);
      do_binary(queue, Binary::add, masked, masked, errors, base);
    }
  }
  if (division != nullptr) {
    do_divide_and_round(queue, out, masked, *division, Form::evaluation, workspace);
  }
  if (addend.data == nullptr || workspace.measures()) return;
  const PolyView first = out.components(0, 1);
  do_binary(queue, Binary::add, first, first, addend, division == nullptr ? base : division->target());
}

// Horner's rule from the highest component down.
void Backend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       const ConstPolyView& secret, Form form, const RnsBase& base) const {
  ConstPolyView higher = in.components(in.shape.components - 1, 1);
  if (in.shape.components == 1) do_copy(queue, out, higher);
  for (std::size_t i = in.shape.components - 1; i-- > 0; higher = out) {
    do_binary(queue, Binary::multiply, out, higher, secret, base);
    do_binary(queue, Binary::add, out, out, in.components(i, 1), base);
  }
  if (form == Form::coefficient) do_transform(queue, out, out, Form::coefficient, base);
}

void Backend::do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                             const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                             std::span<const GadgetTerm> terms, Workspace& workspace) const {
  const PolyView b = out.components(0, 1), a = out.components(1, 1);
  do_sample(queue, a, std::span(&from.uniform, 1), Distribution::uniform(), base, workspace);
  do_sample(queue, b, std::span(&from.errors, 1), Distribution::error(from.distribution), base, workspace);
  {
    const Workspace::Frame frame(workspace);
    const PolyView negated = take(workspace, secret.shape);
    if (!workspace.measures()) {
      if (from.factor != 1) do_unary(queue, Unary::multiply, b, b, residues_of(from.factor, base), base);
      do_transform(queue, b, b, Form::evaluation, base);
      do_unary(queue, Unary::negate, negated, secret, {}, base);
      do_binary(queue, Binary::multiply_add, b, a, negated, base);
    }
  }
  if (!terms.empty()) return add_terms(queue, b, addend, terms, base, workspace);
  if (addend.data != nullptr && !workspace.measures()) do_binary(queue, Binary::add, b, b, addend, base);
}

void Backend::add_terms(Queue& queue, const PolyView& out, const ConstPolyView& addend,
                        std::span<const GadgetTerm> terms, const RnsBase& base, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView scaled = take(workspace, with_limbs(addend.shape, 1));
  if (workspace.measures()) return;
  for (const GadgetTerm& term : terms) {
    const RnsBase single(base.ring(), {base.index(term.limb)});
    const PolyView target = out.batches(term.batch, 1).limbs(term.limb, 1);
    do_unary(queue, Unary::multiply, scaled, addend.limbs(term.limb, 1), std::span(&term.factor, 1), single);
    do_binary(queue, Binary::add, target, target, scaled, single);
  }
}

}  // namespace hemera::poly
