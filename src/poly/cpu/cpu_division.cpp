// Division with rounding: only the dropped limbs are transformed back, and every target limb is converted,
// transformed and finished while it is in the cache.
#include <algorithm>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// Scratch rows of one polynomial, each of N words: the scaled residues of E x modulo the dropped moduli, then
// BGV's correction (shifted to unsigned), then the quotient.
struct Rows {
  explicit Rows(const Division& plan)
      : dropped(plan.dropped().size()),
        summed(dropped + plan.plaintext().size()),
        total(summed + (dropped > 1 ? 1 : 0)) {}
  [[nodiscard]] PolyShape shape(PolyShape in) const {
    in.limbs = total;
    return in;
  }

  std::size_t dropped;
  std::size_t summed;  // rows that the weighted sums take
  std::size_t total;
};

}  // namespace

void CpuBackend::do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                     const Division& plan, Form form, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t degree = in.shape.degree;
  const std::size_t targets = plan.target().size();
  const Rows rows(plan);
  const PolyShape shape = rows.shape(in.shape);
  const PolyView scratch = take(workspace, shape);
  if (workspace.measures()) return;
  const BaseConversion& conversion = plan.conversion();
  const Converter converter(kernels_, conversion);
  const bool has_plaintext = !plan.plaintext().empty();

  // 1. Scaled residues of E x.
  PolyShape dropped_shape = shape;
  dropped_shape.limbs = rows.dropped;
  const auto scale = [&](Limb* y, const Limb* x, std::size_t i, std::size_t first, std::size_t count) {
    const arith::Modulus& d = plan.dropped().modulus(i);
    const arith::ShoupFactor factor(
        d.multiply(conversion.inverse_punctured()[i].operand, plan.multiple_dropped()[i].operand), d);
    kernels_.scale_residues(y + first, x + first, factor, converter.centered(), count, d);
  };
  const auto dropped_limb = [&](std::size_t b, std::size_t c, std::size_t i) {
    return in.limb<Limb>(b, c, plan.dropped_positions()[i]);
  };
  if (form == Form::evaluation) {
    for_each_transform(
        queue, dropped_shape, 8,
        [&](std::size_t b, std::size_t c, std::size_t i) {
          Limb* const y = scratch.limb<Limb>(b, c, i);
          kernels_.inverse_transform(y, dropped_limb(b, c, i), tables(plan.dropped(), i));
          scale(y, y, i, 0, degree);
        },
        [&](std::size_t step, std::size_t b, std::size_t c, std::size_t i, std::size_t part,
            std::size_t parts) {
          const TransformPart divided(kernels_, tables(plan.dropped(), i), part, parts);
          Limb* const y = scratch.limb<Limb>(b, c, i);
          if (step == 0) return divided.inverse_rows(y, dropped_limb(b, c, i));
          divided.inverse_columns(y);
          divided.for_each_column_run(
              [&](std::size_t first, std::size_t count) { scale(y, y, i, first, count); });
        });
  } else {
    for_each_part(queue, dropped_shape, 2,
                  [&](std::size_t b, std::size_t c, std::size_t i, std::size_t first, std::size_t count) {
                    scale(scratch.limb<Limb>(b, c, i), dropped_limb(b, c, i), i, first, count);
                  });
  }

  // 2. Quotients, and the correction c = [-delta D^-1]_t as the unsigned c + (t - 1)/2.
  const auto row_pointers = [&](std::size_t b, std::size_t c, std::size_t first) {
    std::vector<const Limb*> y(rows.summed);
    for (std::size_t i = 0; i < rows.summed; ++i) y[i] = scratch.limb<Limb>(b, c, i) + first;
    return y;
  };
  const auto quotient_row = [&](std::size_t b, std::size_t c) -> Limb* {
    return converter.has_quotient() ? scratch.limb<Limb>(b, c, rows.summed) : nullptr;
  };
  if (converter.has_quotient() || has_plaintext) {
    constexpr std::size_t block = 1024;
    static_assert(min_degree % block == 0);
    for_each_block(queue, shape, block, rows.total, [&](std::size_t b, std::size_t c, std::size_t first) {
      const std::vector<const Limb*> y = row_pointers(b, c, first);
      Limb* v = quotient_row(b, c);
      if (v != nullptr) {
        v += first;
        converter.quotient(v, y.data(), block);
      }
      if (has_plaintext) {
        const arith::Modulus& t = plan.plaintext().modulus(0);
        Limb* correction = scratch.limb<Limb>(b, c, rows.dropped) + first;
        converter.convert(correction, y.data(), v, targets, block);
        kernels_.scale_residues(correction, correction, {plan.negative_inverse_plain(), t}, true, block, t);
      }
    });
  }

  // 3. delta modulo each target modulus, then (E x - delta) / D.
  const std::uint64_t bound =
      std::max(largest_modulus(plan.dropped()), has_plaintext ? largest_modulus(plan.plaintext()) : 0);
  std::vector<std::vector<std::uint64_t>> weights = conversion.punctured();
  std::vector<std::uint64_t> shifts(targets, 0);
  for (std::size_t j = 0; j < targets; ++j) {
    const arith::Modulus& q = plan.target().modulus(j);
    if (converter.centered()) shifts[j] = conversion.center_shift()[j];
    if (has_plaintext) {
      const std::uint64_t product = plan.dropped_product()[j].operand;
      weights[j].push_back(product);
      shifts[j] = q.add(shifts[j], q.multiply(product, plan.plaintext_conversion().center_shift()[j]));
    }
  }
  const auto convert = [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first,
                           std::size_t count) {
    const Limb* v = quotient_row(b, c);
    kernels_.weighted_sum(out.limb<Limb>(b, c, j) + first, row_pointers(b, c, first).data(),
                          weights[j].data(), rows.summed, bound, v == nullptr ? nullptr : v + first,
                          conversion.product()[j], shifts[j], count, plan.target().modulus(j));
  };
  const auto finish = [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t count) {
    Limb* to = out.limb<Limb>(b, c, j);
    finish_division_part(to, in, to, b, c, j, first, count, plan);
  };
  if (form == Form::coefficient) {
    for_each_part(queue, out.shape, 2 + rows.summed,
                  [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t count) {
                    convert(b, c, j, first, count);
                    finish(b, c, j, first, count);
                  });
    return;
  }
  for_each_transform(
      queue, out.shape, 10 + rows.summed,
      [&](std::size_t b, std::size_t c, std::size_t j) {
        Limb* to = out.limb<Limb>(b, c, j);
        const arith::Modulus& q = plan.target().modulus(j);
        if (rows.dropped == 1 && transforms_sums(kernels_, q)) {
          kernels_.forward_transform_of_sum(
              to, scratch.limb<Limb>(b, c, 0), has_plaintext ? scratch.limb<Limb>(b, c, 1) : nullptr,
              plan.dropped_product()[j], q.negate(shifts[j]), tables(plan.target(), j));
        } else {
          convert(b, c, j, 0, degree);
          kernels_.forward_transform(to, to, tables(plan.target(), j));
        }
        finish(b, c, j, 0, degree);
      },
      [&](std::size_t step, std::size_t b, std::size_t c, std::size_t j, std::size_t part,
          std::size_t parts) {
        const TransformPart divided(kernels_, tables(plan.target(), j), part, parts);
        Limb* to = out.limb<Limb>(b, c, j);
        if (step == 0) {
          divided.for_each_column_run(
              [&](std::size_t first, std::size_t count) { convert(b, c, j, first, count); });
          divided.forward_columns(to, to);
        } else {
          divided.forward_rows(to);
          divided.for_rows([&](std::size_t first, std::size_t count) { finish(b, c, j, first, count); });
        }
      });
}

}  // namespace hemera::poly::cpu
