// Public operations of a backend: samplers, encryption and decryption.
#include "hemera/poly/backend.hpp"
#include "poly/key_switching_checks.hpp"
#include "poly/sampling_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                     const Distribution& distribution, const RnsBase& base, Workspace& workspace) const {
  check_ring("sample", ring_, base);
  check_view("sample", "output", out, base);
  if (streams.size() != 1) check_count("sample", "streams", streams.size(), out.shape.batch);
  const PolyShape each = streams.size() == 1 ? out.shape : out.batches(0, 1).shape;
  for (const RandomStream& stream : streams) check_stream("sample", each, stream);
  check_distribution(distribution, ring_->degree());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_sample(queue, out, streams, distribution, base, scratch); });
}

void Backend::sample(Queue& queue, const PolyView& out, const RandomStream& stream,
                     const Distribution& distribution, const RnsBase& base, Workspace& workspace) const {
  sample(queue, out, std::span(&stream, 1), distribution, base, workspace);
}

void Backend::encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                           const RandomStream& stream, const ErrorDistribution& distribution,
                           std::uint64_t factor, const RnsBase& base, const Division* division,
                           const ConstPolyView& addend, Workspace& workspace) const {
  check_transform("encrypt_zero", ring_, base);
  if (division != nullptr) check_division("encrypt_zero", ring_, *division, Form::evaluation);
  check_encrypt_zero(out, key, base, division, addend);
  check_stream("encrypt_zero", out.shape, stream);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_encrypt_zero(queue, out, key, stream, distribution, factor, base, division, addend, scratch);
  });
}

void Backend::phase(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
                    Form form, const RnsBase& base) const {
  check_transform("phase", ring_, base);
  check_phase(out, in, secret, base);
  do_phase(queue, out, in, secret, form, base);
}

void Backend::sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                          const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                          std::span<const GadgetTerm> terms, Workspace& workspace) const {
  check_transform("sample_rlwe", ring_, base);
  check_sample_rlwe(out, secret, base, addend, terms);
  const PolyShape half = out.components(0, 1).shape;
  check_stream("sample_rlwe", half, from.errors);
  check_stream("sample_rlwe", half, from.uniform);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_sample_rlwe(queue, out, secret, from, base, addend, terms, scratch);
  });
}

}  // namespace hemera::poly
