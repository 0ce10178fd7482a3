// Public operations of a backend: slots and integers as polynomials.
#include "hemera/poly/backend.hpp"
#include "poly/embedding_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

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
    do_embed(queue, out, slots, scale, generator, base, scratch, form);
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
  do_place_slots(queue, out, values, Placement::place);
}

void Backend::collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const {
  check_slots("collect_slots", in, values);
  do_place_slots(queue, in, values, Placement::collect);
}

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

}  // namespace hemera::poly
