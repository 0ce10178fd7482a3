// Division with rounding: only the dropped limbs are transformed back, and every target limb is converted,
// transformed and finished while it is in the cache.
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/division_rows.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

void CpuBackend::do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                     const Division& plan, Form form, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t degree = in.shape.degree;
  const PolyShape shape = DivisionRows::shape(plan, in.shape);
  const PolyView scratch = take(workspace, shape);
  if (workspace.measures()) return;
  const DivisionRows rows(kernels_, plan);

  // 1. Scaled residues of E x, and what follows from them.
  PolyShape dropped_shape = shape;
  dropped_shape.limbs = rows.dropped();
  const auto dropped_limb = [&](std::size_t b, std::size_t c, std::size_t i) {
    return in.limb<Limb>(b, c, plan.dropped_positions()[i]);
  };
  if (form == Form::evaluation) {
    for_each_transform(
        queue, dropped_shape, 8,
        [&](std::size_t b, std::size_t c, std::size_t i) {
          Limb* const y = scratch.limb<Limb>(b, c, i);
          kernels_.inverse_transform(y, dropped_limb(b, c, i), tables(plan.dropped(), i));
          rows.scale(y, y, i, degree);
        },
        [&](std::size_t step, std::size_t b, std::size_t c, std::size_t i, std::size_t part,
            std::size_t parts) {
          const TransformPart divided(kernels_, tables(plan.dropped(), i), part, parts);
          Limb* const y = scratch.limb<Limb>(b, c, i);
          if (step == 0) return divided.inverse_rows(y, dropped_limb(b, c, i));
          divided.inverse_columns(y);
          divided.for_each_column_run(
              [&](std::size_t first, std::size_t count) { rows.scale(y + first, y + first, i, count); });
        });
  } else {
    for_each_part(queue, dropped_shape, 2,
                  [&](std::size_t b, std::size_t c, std::size_t i, std::size_t first, std::size_t count) {
                    rows.scale(scratch.limb<Limb>(b, c, i) + first, dropped_limb(b, c, i) + first, i, count);
                  });
  }
  rows.complete(queue, scratch);

  // 2. delta modulo each target modulus, then (E x - delta) / D.
  const auto convert = [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first,
                           std::size_t count) {
    kernels_.weighted_sum(out.limb<Limb>(b, c, j) + first, rows.summed_rows(scratch, b, c, first).data(),
                          rows.weights(j).data(), rows.summed(), rows.bound(),
                          rows.quotient_row(scratch, b, c, first), rows.product(j), rows.shift(j), count,
                          plan.target().modulus(j));
  };
  const auto finish = [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t count) {
    Limb* to = out.limb<Limb>(b, c, j);
    finish_division_part(to, in, to, b, c, j, first, count, plan);
  };
  if (form == Form::coefficient) {
    for_each_part(queue, out.shape, 2 + rows.summed(),
                  [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t count) {
                    convert(b, c, j, first, count);
                    finish(b, c, j, first, count);
                  });
    return;
  }
  for_each_transform(
      queue, out.shape, 10 + rows.summed(),
      [&](std::size_t b, std::size_t c, std::size_t j) {
        Limb* to = out.limb<Limb>(b, c, j);
        const arith::Modulus& q = plan.target().modulus(j);
        if (rows.dropped() == 1 && transforms_sums(kernels_, q, rows.bound())) {
          kernels_.forward_transform_of_sum(
              to, scratch.limb<Limb>(b, c, 0), rows.has_plaintext() ? scratch.limb<Limb>(b, c, 1) : nullptr,
              plan.dropped_product()[j], q.negate(rows.shift(j)), tables(plan.target(), j));
        } else {
          convert(b, c, j, 0, degree);
          kernels_.forward_transform(to, to, tables(plan.target(), j));
        }
        finish(b, c, j, 0, degree);
      },
      [&](std::size_t step, std::size_t b, std::size_t c, std::size_t j, std::size_t part,
          std::size_t parts) {
        const TransformPart divided(kernels_, tables(plan.target(), j), part, parts);
        divided.forward_step(
            step, out.limb<Limb>(b, c, j),
            [&](std::size_t first, std::size_t count) { convert(b, c, j, first, count); },
            [&](std::size_t first, std::size_t count) { finish(b, c, j, first, count); });
      });
}

}  // namespace hemera::poly::cpu
