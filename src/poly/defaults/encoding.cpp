// Defaults (docs/design.md): integers and slots as polynomials in evaluation form.
#include <algorithm>

#include "arith/magnitude.hpp"
#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly {

void Backend::do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                               std::uint64_t factor, std::span<const std::uint64_t> scalars,
                               const BaseConversion& lift, Workspace& workspace,
                               const ConstPolyView& addend) const {
  const Workspace::Frame frame(workspace);
  const PolyView scaled = factor == 1 ? PolyView() : take(workspace, in.front().shape);
  const bool adds = addend.data != nullptr;
  const PolyView lifted = adds ? take(workspace, out.shape) : out;
  if (workspace.measures()) return;
  const std::size_t batch = in.front().shape.batch;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (factor != 1) do_unary(queue, Unary::multiply, scaled, in[i], std::span(&factor, 1), lift.source());
    do_convert(queue, lifted.batches(i * batch, batch), factor == 1 ? in[i] : ConstPolyView(scaled), lift,
               nullptr);
  }
  if (!scalars.empty()) do_unary(queue, Unary::multiply, lifted, lifted, scalars, lift.target());
  do_transform(queue, lifted, lifted, Form::evaluation, lift.target());
  if (adds) do_binary(queue, Binary::add, out, lifted, addend, lift.target());
}

void Backend::do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                       std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                       Form /*form*/) const {
  if (out.shape.degree < ring()->degree()) {
    return embed_whole(queue, out, slots, scale, generator, base, workspace);
  }
  do_embed(queue, out, slots, scale, generator, base, workspace, Form::coefficient);
  if (!workspace.measures()) do_transform(queue, out, out, Form::evaluation, base);
}

void Backend::embed_whole(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                          std::uint64_t generator, const RnsBase& base, Workspace& workspace) const {
  constexpr std::size_t most_words = std::size_t{1} << 23;
  PolyShape shape = out.shape;
  shape.degree = ring()->degree();
  shape.batch = std::clamp<std::size_t>(most_words * shape.batch / shape.words(), 1, shape.batch);
  const Workspace::Frame frame(workspace);
  const PolyView whole = take(workspace, shape);
  for (std::size_t first = 0; first < out.shape.batch; first += shape.batch) {
    const std::size_t count = std::min(shape.batch, out.shape.batch - first);
    SlotView own = slots;
    if (slots.batch > 1) {
      own.data += first * slots.slots;
      own.batch = count;
    }
    do_embed(queue, whole.batches(0, count), own, scale, generator, base, workspace, Form::evaluation);
    if (workspace.measures()) return;
    do_copy(queue, out.batches(first, count), whole.batches(0, count));
  }
}

bool Backend::all_within(std::span<const std::int64_t> values, std::uint64_t bound) const {
  return arith::all_within(values, bound);
}

}  // namespace hemera::poly
