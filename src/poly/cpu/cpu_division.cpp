// Division with rounding: only the dropped limbs are transformed back, and every target limb is converted,
// transformed and finished while it is in the cache.
#include <algorithm>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
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
  for_each_limb(queue, dropped_shape, 8, [&](std::size_t b, std::size_t c, std::size_t i) {
    const arith::Modulus& d = plan.dropped().modulus(i);
    const Limb* x = in.limb<Limb>(b, c, plan.dropped_positions()[i]);
    Limb* y = scratch.limb<Limb>(b, c, i);
    if (form == Form::evaluation) {
      kernels_.inverse_transform(y, x, tables(plan.dropped(), i));
      x = y;
    }
    const arith::ShoupFactor factor(
        d.multiply(conversion.inverse_punctured()[i].operand, plan.multiple_dropped()[i].operand), d);
    kernels_.scale_residues(y, x, factor, converter.centered(), degree, d);
  });

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
  for_each_limb(queue, out.shape, 8, [&](std::size_t b, std::size_t c, std::size_t j) {
    Limb* to = out.limb<Limb>(b, c, j);
    kernels_.weighted_sum(to, row_pointers(b, c, 0).data(), weights[j].data(), rows.summed, bound,
                          quotient_row(b, c), conversion.product()[j], shifts[j], degree,
                          plan.target().modulus(j));
    if (form == Form::evaluation) kernels_.forward_transform(to, to, tables(plan.target(), j));
    finish_division_limb(to, in, to, b, c, j, plan);
  });
}

}  // namespace hemera::poly::cpu
