// The public operations: what each checks, once for every backend, and how it gets its scratch.
#include "hemera/poly/backend.hpp"

#include <algorithm>
#include <cstring>

#include "hemera/runtime/error.hpp"
#include "poly/embedding_checks.hpp"
#include "poly/key_switching_checks.hpp"
#include "poly/matrix_checks.hpp"
#include "poly/sampling_checks.hpp"
#include "poly/shapes.hpp"
#include "runtime/cuda_library.hpp"

namespace hemera::poly {
namespace {

// Calls body(workspace), after it has been measured if the workspace makes room for each operation.
template <typename Body>
void with_scratch(runtime::Workspace& workspace, const Body& body) {
  if (workspace.grows()) {
    runtime::Workspace measuring = runtime::Workspace::measuring();
    body(measuring);
    workspace.reserve(measuring.peak());
  }
  body(workspace);
}

}  // namespace

std::unique_ptr<Backend::Recording> Backend::record(Queue& /*queue*/,
                                                    const std::function<void()>& /*operations*/) const {
  throw DeviceError("device '" + device().name() +
                    "' does not record operations; run them, or use a CUDA device");
}

void Backend::check_stored(const char* operation, const char* operand, const ConstPolyView& view) const {
  if (stores(view.word)) return;
  throw MismatchError(std::string(operation) + ": " + operand + " has residues in words of " +
                      std::to_string(word_bits(view.word)) + " bits, which " + device().name() +
                      " does not store; use words of 8 bytes");
}

// --- Copies ---

void Backend::upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
                     Form form) const {
  check_entries("upload", "output", out, *ring_);
  check_stored("upload", "output", out);
  check_host("upload", host.size(), out.shape);
  do_upload(queue, out, form, [&](std::size_t first, std::span<std::uint64_t> rows) {
    std::memcpy(rows.data(), host.data() + first * out.shape.degree, rows.size_bytes());
  });
}

void Backend::download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                       Form form) const {
  check_entries("download", "input", in, *ring_);
  check_stored("download", "input", in);
  check_host("download", host.size(), in.shape);
  do_download(queue, in, form, [&](std::size_t first, std::span<const std::uint64_t> rows) {
    std::memcpy(host.data() + first * in.shape.degree, rows.data(), rows.size_bytes());
  });
}

void Backend::upload_rows(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const {
  check_entries("upload_rows", "output", out, *ring_);
  check_stored("upload_rows", "output", out);
  do_upload(queue, out, form, fill);
}

void Backend::download_rows(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const {
  check_entries("download_rows", "input", in, *ring_);
  check_stored("download_rows", "input", in);
  do_download(queue, in, form, take);
}

void Backend::upload_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> host) const {
  check_count("upload_values", "bytes", host.size(), out.size());
  do_copy_values(queue, out, host, Transfer::upload);
}

void Backend::download_values(Queue& queue, std::span<std::byte> host, std::span<const std::byte> in) const {
  check_count("download_values", "bytes", host.size(), in.size());
  do_copy_values(queue, host, in, Transfer::download);
}

void Backend::download_pieces(Queue& queue, std::span<const std::byte> in, const Pieces& pieces) const {
  if (pieces.bytes < 1 || pieces.bytes > most_piece_bytes) {
    throw ParameterError("download_pieces: pieces of " + std::to_string(pieces.bytes) +
                         " bytes; they may have 1 to " + std::to_string(most_piece_bytes));
  }
  do_download_pieces(queue, in, pieces);
}

void Backend::pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in, int dropped_bits,
                           int width) const {
  check_degree("pack_rounded", "input", in, *ring_);
  check_pack_rounded(out, in.shape, dropped_bits, width);
  do_pack_rounded(queue, out, in, dropped_bits, width);
}

void Backend::copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  check_entries("copy", "output", out, *ring_);
  check_entries("copy", "input", in, *ring_);
  check_stored("copy", "output", out);
  check_stored("copy", "input", in);
  if (in.word != out.word && in.shape.degree != out.shape.degree) {
    throw MismatchError("copy: the input " + describe(in.shape) +
                        " is stored by other entries and in other " + "words than the output " +
                        describe(out.shape) + "; copy it in two steps");
  }
  check_copy("copy", out, in);
  check_broadcast("copy", "input", in.shape, out.shape);
  do_copy(queue, out, in);
}

void Backend::copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                        const ConstPolyView& in, Form form) const {
  check_entries("copy_from", "output", out, *ring_);
  check_entries("copy_from", "input", in, *source.ring_);
  check_stored("copy_from", "output", out);
  source.check_stored("copy_from", "input", in);
  if (in.shape != out.shape) {
    throw MismatchError("copy_from: the input " + describe(in.shape) + " and the output " +
                        describe(out.shape) + " have different shapes");
  }
  do_copy_from(queue, out, source, source_queue, in, form);
}

void Backend::fill_zero(Queue& queue, const PolyView& out) const {
  check_degree("fill_zero", "output", out, *ring_);
  do_fill_zero(queue, out);
}

// --- Transforms ---

void Backend::forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const RnsBase& base) const {
  check_transform("forward_transform", ring_, base);
  check_view("forward_transform", "output", out, base);
  check_input("forward_transform", "input", in, out.shape, base);
  do_transform(queue, out, in, Form::evaluation, base);
}

void Backend::inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const RnsBase& base) const {
  check_transform("inverse_transform", ring_, base);
  check_view("inverse_transform", "output", out, base);
  check_input("inverse_transform", "input", in, out.shape, base);
  do_transform(queue, out, in, Form::coefficient, base);
}

// --- Element by element ---

void Backend::add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                  const RnsBase& base) const {
  check_binary("add", ring_, out, a, b, base);
  do_binary(queue, Binary::add, out, a, b, base);
}

void Backend::subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                       const RnsBase& base) const {
  check_binary("subtract", ring_, out, a, b, base);
  do_binary(queue, Binary::subtract, out, a, b, base);
}

void Backend::multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                       const RnsBase& base) const {
  check_binary("multiply", ring_, out, a, b, base);
  do_binary(queue, Binary::multiply, out, a, b, base);
}

void Backend::multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                           const RnsBase& base) const {
  check_binary("multiply_add", ring_, out, a, b, base);
  do_binary(queue, Binary::multiply_add, out, a, b, base);
}

void Backend::negate(Queue& queue, const PolyView& out, const ConstPolyView& a, const RnsBase& base) const {
  check_unary("negate", ring_, out, a, base);
  do_negate(queue, out, a, base);
}

void Backend::multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                              std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  check_unary("multiply_scalar", ring_, out, a, base);
  check_count("multiply_scalar", "scalars", scalars.size(), base.size());
  do_multiply_scalar(queue, out, a, scalars, base);
}

void Backend::add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                         std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const {
  check_unary("add_scalar", ring_, out, a, base);
  check_count("add_scalar", "scalars", scalars.size(), base.size());
  do_add_scalar(queue, out, a, scalars, form, base);
}

void Backend::combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                      std::span<const std::vector<std::uint64_t>> scalars,
                      std::span<const std::uint64_t> added, const RnsBase& base, Workspace& workspace) const {
  constexpr const char* operation = "combine";
  if (a.empty()) throw MismatchError("combine: there is no term; at least one is needed");
  check_count(operation, "terms' scalars", scalars.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_unary(operation, ring_, out, a[i], base);
    check_count(operation, "scalars", scalars[i].size(), base.size());
  }
  if (!added.empty()) check_count(operation, "residues of the constant", added.size(), base.size());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_combine(queue, out, a, scalars, added, base, scratch); });
}

// --- Matrices ---

void Backend::multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              const IntegerMatrixView& w, const RnsBase& base, Workspace& workspace) const {
  check_ring("multiply_matrix", ring_, base);
  check_multiply_matrix(out, in, w, base);
  with_scratch(workspace, [&](Workspace& scratch) { do_multiply_matrix(queue, out, in, w, base, scratch); });
}

void Backend::multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const RnsBase& base, Workspace& workspace) const {
  check_ring("multiply_elements", ring_, base);
  check_multiply_elements(out, a, b, base);
  with_scratch(workspace, [&](Workspace& scratch) { do_multiply_elements(queue, out, a, b, base, scratch); });
}

void Backend::multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                  const ConstPolyView& in, const RnsBase& base) const {
  check_ring("multiply_add_vector", ring_, base);
  check_multiply_add_vector(out, w, in, base);
  do_multiply_add_vector(queue, out, w, in, base);
}

// --- Ring structure ---

void Backend::split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const RnsBase& base) const {
  check_transform("split_parts", ring_, base);
  check_split_parts(out, in, base);
  do_split_parts(queue, out, in, base);
}

void Backend::transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                   const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                                   Workspace& workspace) const {
  check_ring("transform_components", ring_, base);
  check_transform_components(values, roots, factors, base);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_transform_components(queue, values, roots, factors, order, base, scratch);
  });
}

void Backend::inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                            std::span<const ConstPolyView> b, const RnsBase& base) const {
  check_ring("inner_product", ring_, base);
  check_inner_product("inner_product", out, a, b, base);
  do_inner_products(queue, std::span(&out, 1), a, b, base);
}

void Backend::inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                             std::span<const ConstPolyView> b, const RnsBase& base) const {
  constexpr const char* operation = "inner_products";
  check_ring(operation, ring_, base);
  check_count(operation, "right factors", b.size(), out.size() * a.size());
  for (std::size_t r = 0; r < out.size(); ++r) {
    check_inner_product(operation, out[r], a, b.subspan(r * a.size(), a.size()), base);
    if (out[r].shape != out.front().shape) {
      throw MismatchError("inner_products: outputs of two shapes; all must have the first one's");
    }
  }
  if (!out.empty()) do_inner_products(queue, out, a, b, base);
}

void Backend::automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                           std::uint64_t galois_element, Form form, const RnsBase& base) const {
  check_unary("automorphism", ring_, out, in, base);
  check_galois_element("automorphism", galois_element, ring_->degree());
  do_automorphism(queue, out, in, galois_element, form, base);
}

// --- Changes of base ---

void Backend::convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
                      const IntegerView* doubtful) const {
  check_ring("convert", ring_, plan.source());
  check_ring("convert", ring_, plan.target());
  check_view("convert", "output", out, plan.target());
  check_input("convert", "input", in, out.shape, plan.source());
  check_doubtful("convert", out.shape, doubtful, plan.kind() == BaseConversion::Kind::exact);
  if (plan.source().empty() || plan.target().empty()) return do_fill_zero(queue, out);
  do_convert(queue, out, in, plan, doubtful);
}

void Backend::scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              const ScaleAndRound& plan, const IntegerView* doubtful) const {
  check_ring("scale_and_round", ring_, plan.source());
  check_ring("scale_and_round", ring_, plan.target());
  check_view("scale_and_round", "output", out, plan.target());
  check_input("scale_and_round", "input", in, out.shape, plan.source());
  check_doubtful("scale_and_round", out.shape, doubtful, plan.divided().size() == plan.source().size());
  do_scale_and_round(queue, out, in, plan, doubtful);
}

void Backend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const Division& plan, Form form, Workspace& workspace) const {
  constexpr const char* operation = "divide_and_round";
  check_division(operation, ring_, plan, form);
  check_view(operation, "output", out, plan.target());
  check_input(operation, "input", in, out.shape, plan.source());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_divide_and_round(queue, out, in, plan, form, scratch); });
}

// --- Key-switching ---

void Backend::mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
                     Workspace& workspace) const {
  check_mod_up_plan("mod_up", ring_, plan);
  check_view("mod_up", "output", out, plan.extended());
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the output", out.shape.components, plan.digits().size());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  check_broadcast("mod_up", "input", in.shape, out.shape);
  with_scratch(workspace, [&](Workspace& scratch) { do_mod_up(queue, out, in, plan, form, scratch); });
}

void Backend::key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                const ConstPolyView& key, const ModUp& plan) const {
  constexpr const char* operation = "key_inner_product";
  check_ring(operation, ring_, plan.extended());
  check_ring(operation, ring_, plan.key_base());
  check_view(operation, "output", out, plan.extended());
  check_view(operation, "digits", digits, plan.extended());
  check_count(operation, "digits", digits.shape.components, plan.digits().size());
  check_batch(operation, "digits", digits.shape, out.shape);
  check_key(operation, out, key, plan);
  check_stored(operation, "key", key);
  do_key_inner_product(queue, out, digits, key, plan);
}

void Backend::hoisted_products(Queue& queue, std::span<const PolyView> out,
                               std::span<const HoistedTerm> terms, const ModUp& plan,
                               std::span<const std::uint64_t> special, Workspace& workspace) const {
  check_ring("hoisted_products", ring_, plan.extended());
  check_ring("hoisted_products", ring_, plan.key_base());
  check_hoisted_products(out, terms, plan, special);
  for (const HoistedTerm& term : terms) {
    check_galois_element("hoisted_products", term.galois_element, ring_->degree());
    if (term.digits.data != nullptr) check_stored("hoisted_products", "key", term.key);
  }
  with_scratch(workspace,
               [&](Workspace& scratch) { do_hoisted_products(queue, out, terms, plan, special, scratch); });
}

void Backend::switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                          const ModUp& up, const Division* down, const ConstPolyView& addend,
                          Workspace& workspace) const {
  constexpr const char* operation = "switch_keys";
  check_switch_plans(operation, ring_, up, down);
  for (const KeySwitch& each : switches) {
    check_switch(operation, each.out, in, each.key, up, switched_base(up, down), addend);
    check_stored(operation, "key", each.key);
    check_same_word(operation, switches.front().key, each.key);
    check_galois_element(operation, each.galois_element, ring_->degree());
    if (each.out.shape != switches.front().out.shape) {
      throw MismatchError("switch_keys: the outputs " + describe(switches.front().out.shape) + " and " +
                          describe(each.out.shape) + " have different shapes");
    }
  }
  if (switches.empty()) return;
  with_scratch(workspace,
               [&](Workspace& scratch) { do_switch_keys(queue, switches, in, up, down, addend, scratch); });
}

void Backend::multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                   const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                   const Division* down, Workspace& workspace) const {
  constexpr const char* operation = "multiply_relinearize";
  check_switch_plans(operation, ring_, up, down);
  check_view(operation, "output", out, switched_base(up, down));
  check_key(operation, out, key, up);
  check_stored(operation, "key", key);
  check_pair(operation, "a", a, out, up.base());
  check_pair(operation, "b", b, out, up.base());
  with_scratch(workspace, [&](Workspace& scratch) {
    do_multiply_relinearize(queue, out, a, b, key, up, down, scratch);
  });
}

// --- Products of BFV ---

void Backend::scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                             const ConstPolyView& b, const ScaledProduct& plan, Workspace& workspace) const {
  constexpr const char* operation = "scaled_product";
  check_transform(operation, ring_, plan.all());
  check_view(operation, "output", out, plan.base());
  check_count(operation, "components of the output", out.shape.components, 3);
  check_pair(operation, "a", a, out, plan.base());
  check_pair(operation, "b", b, out, plan.base());
  with_scratch(workspace, [&](Workspace& scratch) { do_scaled_product(queue, out, a, b, plan, scratch); });
}

void Backend::lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                            std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                            const ScaledProduct& plan, Workspace& workspace) const {
  constexpr const char* operation = "lift_operands";
  check_transform(operation, ring_, plan.all());
  if (a.empty()) throw MismatchError("lift_operands: there are no factors; at least one pair is needed");
  check_count(operation, "second factors", b.size(), a.size());
  check_view(operation, "lifted a", a_lifted, plan.auxiliary());
  check_view(operation, "lifted b", b_lifted, plan.all());
  check_count(operation, "components of lifted a", a_lifted.shape.components, 2);
  check_count(operation, "components of lifted b", b_lifted.shape.components, 2);
  check_count(operation, "batch of lifted b", b_lifted.shape.batch, a_lifted.shape.batch);
  const std::size_t batch = a_lifted.shape.batch / a.size();
  check_count(operation, "batch of lifted a", a_lifted.shape.batch, batch * a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_pair(operation, "a", a[i], a_lifted.batches(0, batch), plan.base());
    check_pair(operation, "b", b[i], b_lifted.batches(0, batch), plan.base());
  }
  with_scratch(workspace,
               [&](Workspace& scratch) { do_lift_operands(queue, a_lifted, b_lifted, a, b, plan, scratch); });
}

// --- Samplers ---

void Backend::sample(Queue& queue, const PolyView& out, const RandomStream& stream,
                     const Distribution& distribution, const RnsBase& base, Workspace& workspace) const {
  check_ring("sample", ring_, base);
  check_view("sample", "output", out, base);
  check_stream("sample", out.shape, stream);
  check_distribution(distribution, ring_->degree());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_sample(queue, out, stream, distribution, base, scratch); });
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

// --- CKKS embedding ---

void Backend::embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                    std::uint64_t generator, const RnsBase& base, Workspace& workspace, Form form) const {
  PolyView whole = out;
  if (form == Form::evaluation) {
    check_transform("embed", ring_, base);
    check_entries("embed", "output", out, *ring_);
    if (out.shape.degree >= 2 * slots.slots) whole.shape.degree = ring_->degree();
  } else {
    check_ring("embed", ring_, base);
  }
  check_view("embed", "output", whole, base);
  check_embedding("embed", slots, out.shape, ring_->degree(), scale, generator);
  check_rows("embed", slots.batch, out.shape.batch);
  with_scratch(workspace, [&](Workspace& scratch) {
    if (form == Form::evaluation) {
      do_embed_evaluations(queue, out, slots, scale, generator, base, scratch);
    } else {
      do_embed(queue, out, slots, scale, generator, base, scratch);
    }
  });
}

void Backend::unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                      std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                      double* largest) const {
  check_ring("unembed", ring_, base);
  check_view("unembed", "input", in, base);
  check_embedding("unembed", slots, in.shape, ring_->degree(), scale, generator);
  check_rows("unembed", in.shape.batch, slots.batch);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_unembed(queue, slots, in, scale, generator, base, scratch, largest);
  });
}

void Backend::place_slots(Queue& queue, const SlotView& out, const NumberView& values) const {
  check_slots("place_slots", out, values);
  do_place_slots(queue, out, values);
}

void Backend::collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const {
  check_slots("collect_slots", in, values);
  do_collect_slots(queue, values, in);
}

// --- Integers modulo t ---

void Backend::exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                           const ExponentialLayout& layout, const RnsBase& base) const {
  check_ring("exponentials", ring_, base);
  check_view("exponentials", "input", in, base);
  check_exponentials(out, in, layout, base);
  do_exponentials(queue, out, in, layout, base);
}

void Backend::place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                             std::uint64_t generator, const RnsBase& base) const {
  check_ring("place_integers", ring_, base);
  check_integers("place_integers", out, values.count, form, generator, base);
  check_rows("place_integers", values.batch, out.shape.batch);
  do_place_integers(queue, out, values, form, generator, base);
}

void Backend::collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                               std::uint64_t generator, bool is_signed, const RnsBase& base,
                               const TakenAlong& along) const {
  check_ring("collect_integers", ring_, base);
  check_integers("collect_integers", in, values.count, form, generator, base);
  check_rows("collect_integers", in.shape.batch, values.batch);
  do_collect_integers(queue, values, in, form, generator, is_signed, base, along);
}

void Backend::lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                            std::uint64_t factor, std::span<const std::uint64_t> scalars,
                            const BaseConversion& lift, Workspace& workspace,
                            const ConstPolyView& addend) const {
  check_ring("lift_integers", ring_, lift.source());
  check_transform("lift_integers", ring_, lift.target());
  check_lift_integers(out, in, addend, scalars, lift);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_lift_integers(queue, out, in, factor, scalars, lift, scratch, addend);
  });
}

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings) {
  const runtime::CudaPart& cuda = runtime::cuda_part();
  if (cuda.library == nullptr) {
    throw DeviceError("device '" + runtime::Device{runtime::Device::Kind::cuda, settings.device}.name() +
                      "' is not available: " + cuda.problem);
  }
  return cuda.library->make_backend(std::move(ring), settings);
}

}  // namespace hemera::poly
