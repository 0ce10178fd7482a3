// The interface's default for every fused operation, over the simple operations of a backend: what its
// overrides are compared with, bit for bit.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"

namespace hemera::conformance {

class Defaults final : public poly::Backend {
 public:
  explicit Defaults(std::shared_ptr<const poly::Backend> backend)
      : Backend({.description = backend->description() + ", defaults"}, backend->ring(), backend->memory()),
        backend_(std::move(backend)) {}

 private:
  [[nodiscard]] std::unique_ptr<Queue> do_make_queue(QueueOrder /*order*/) const override {
    return backend_->make_queue();
  }
  void do_upload(Queue& queue, const poly::PolyView& out, poly::Form form,
                 const FillRows& fill) const override {
    backend_->upload_rows(queue, out, form, fill);
  }
  void do_download(Queue& queue, const poly::ConstPolyView& in, poly::Form form,
                   const TakeRows& take) const override {
    backend_->download_rows(queue, in, form, take);
  }
  void do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                      Transfer transfer) const override {
    if (transfer == Transfer::upload) return backend_->upload_values(queue, out, in);
    backend_->download_values(queue, out, in);
  }
  void do_download_pieces(Queue& queue, std::span<const std::byte> in, const Pieces& pieces) const override {
    backend_->download_pieces(queue, in, pieces);
  }
  void do_pack_rounded(Queue& queue, std::span<std::byte> out, const poly::ConstPolyView& in,
                       int dropped_bits, int width) const override {
    backend_->pack_rounded(queue, out, in, dropped_bits, width);
  }
  void do_multiply_add_vector(Queue& queue, const poly::PolyView& out, const poly::IntegerMatrixView& w,
                              const poly::ConstPolyView& in, const poly::RnsBase& base) const override {
    backend_->multiply_add_vector(queue, out, w, in, base);
  }
  void do_split_parts(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                      const poly::RnsBase& base) const override {
    backend_->split_parts(queue, out, in, base);
  }
  void do_copy(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in) const override {
    if (in.data == nullptr) return backend_->fill_zero(queue, out);
    backend_->copy(queue, out, in);
  }
  void do_transform(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in, poly::Form to,
                    const poly::RnsBase& base) const override {
    if (to == poly::Form::evaluation) return backend_->forward_transform(queue, out, in, base);
    backend_->inverse_transform(queue, out, in, base);
  }
  void do_binary(Queue& queue, poly::Binary operation, const poly::PolyView& out,
                 const poly::ConstPolyView& a, const poly::ConstPolyView& b,
                 const poly::RnsBase& base) const override {
    using Operation = decltype(&Backend::add);
    constexpr Operation operations[] = {&Backend::add, &Backend::subtract, &Backend::multiply,
                                        &Backend::multiply_add};
    ((*backend_).*operations[static_cast<std::size_t>(operation)])(queue, out, a, b, base);
  }
  void do_unary(Queue& queue, poly::Unary operation, const poly::PolyView& out, const poly::ConstPolyView& a,
                std::span<const std::uint64_t> scalars, const poly::RnsBase& base) const override {
    switch (operation) {
      case poly::Unary::negate:
        return backend_->negate(queue, out, a, base);
      case poly::Unary::multiply:
        return backend_->multiply_scalar(queue, out, a, scalars, base);
      case poly::Unary::add_to_all:
        return backend_->add_scalar(queue, out, a, scalars, poly::Form::evaluation, base);
      case poly::Unary::add_to_first:
        return backend_->add_scalar(queue, out, a, scalars, poly::Form::coefficient, base);
    }
  }
  void do_automorphism(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                       std::uint64_t galois_element, poly::Form form,
                       const poly::RnsBase& base) const override {
    backend_->automorphism(queue, out, in, galois_element, form, base);
  }
  void do_convert(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                  const poly::BaseConversion& plan, const poly::IntegerView* doubtful) const override {
    backend_->convert(queue, out, in, plan, doubtful);
  }
  void do_scale_and_round(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                          const poly::ScaleAndRound& plan, const poly::IntegerView* doubtful) const override {
    backend_->scale_and_round(queue, out, in, plan, doubtful);
  }
  /// Computed by the host, from the definition: (E in_j - delta_j) / D.
  void do_finish_division(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                          const poly::ConstPolyView& delta, const poly::Division& plan) const override;
  /// Computed by the host, too.
  void do_extract_window(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in, int shift,
                         int width, const poly::RnsBase& base) const override;
  void do_sample(Queue& queue, const poly::PolyView& out, std::span<const poly::RandomStream> streams,
                 const poly::Distribution& distribution, const poly::RnsBase& base,
                 Workspace& workspace) const override {
    backend_->sample(queue, out, streams, distribution, base, workspace);
  }
  void do_embed(Queue& queue, const poly::PolyView& out, const poly::SlotView& slots, double scale,
                std::uint64_t generator, const poly::RnsBase& base, Workspace& workspace,
                poly::Form form) const override {
    if (form == poly::Form::coefficient) {
      return backend_->embed(queue, out, slots, scale, generator, base, workspace);
    }
    Backend::do_embed(queue, out, slots, scale, generator, base, workspace, form);
  }
  void do_unembed(Queue& queue, const poly::SlotView& slots, const poly::ConstPolyView& in, double scale,
                  std::uint64_t generator, const poly::RnsBase& base, Workspace& workspace,
                  double* largest) const override {
    backend_->unembed(queue, slots, in, scale, generator, base, workspace, largest);
  }
  void do_exponentials(Queue& queue, const poly::SlotView& out, const poly::ConstPolyView& in,
                       const poly::ExponentialLayout& layout, const poly::RnsBase& base) const override {
    backend_->exponentials(queue, out, in, layout, base);
  }
  void do_place_slots(Queue& queue, const poly::SlotView& slots, const poly::NumberView& values,
                      Placement placement) const override {
    if (placement == Placement::place) return backend_->place_slots(queue, slots, values);
    backend_->collect_slots(queue, values, slots);
  }
  void do_place_integers(Queue& queue, const poly::PolyView& out, const poly::IntegerView& values,
                         poly::Form form, std::uint64_t generator, const poly::RnsBase& base) const override {
    backend_->place_integers(queue, out, values, form, generator, base);
  }
  void do_collect_integers(Queue& queue, const poly::IntegerView& values, const poly::ConstPolyView& in,
                           poly::Form form, std::uint64_t generator, bool is_signed,
                           const poly::RnsBase& base, const poly::TakenAlong& along) const override {
    backend_->collect_integers(queue, values, in, form, generator, is_signed, base, along);
  }

  /// The residues of a view, [batch, component, limb, N].
  [[nodiscard]] std::vector<std::uint64_t> words(Queue& queue, const poly::ConstPolyView& view) const;

  std::shared_ptr<const poly::Backend> backend_;
};

}  // namespace hemera::conformance
