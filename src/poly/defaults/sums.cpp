// Defaults (docs/design.md): sums of multiples and of products, and transforms over components.
#include <algorithm>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                         std::span<const std::vector<std::uint64_t>> scalars,
                         std::span<const std::uint64_t> added, const RnsBase& base,
                         Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView multiple = take(workspace, out.shape);
  if (workspace.measures()) return;
  do_unary(queue, Unary::multiply, out, a[0], scalars[0], base);
  for (std::size_t i = 1; i < a.size(); ++i) {
    do_unary(queue, Unary::multiply, multiple, a[i], scalars[i], base);
    do_binary(queue, Binary::add, out, out, multiple, base);
  }
  if (added.empty()) return;
  const PolyView first = out.components(0, 1);
  do_unary(queue, Unary::add_to_all, first, first, added, base);
}

void Backend::do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 const IntegerMatrixView& w, const RnsBase& base,
                                 Workspace& workspace) const {
  std::vector<ConstPolyView> terms;
  for (std::size_t j = 0; j < w.columns; ++j) terms.push_back(in.batches(j, 1));
  std::vector<std::vector<std::uint64_t>> scalars(w.columns, std::vector<std::uint64_t>(base.size()));
  if (workspace.measures()) {
    return do_combine(queue, out.batches(0, 1), terms, scalars, {}, base, workspace);
  }
  for (std::size_t r = 0; r < w.rows; ++r) {
    for (std::size_t j = 0; j < w.columns; ++j) {
      for (std::size_t l = 0; l < base.size(); ++l) {
        scalars[j][l] = base.modulus(l).reduce_signed(w.at(r, j));
      }
    }
    do_combine(queue, out.batches(r, 1), terms, scalars, {}, base, workspace);
  }
}

void Backend::do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                   const ConstPolyView& b, const RnsBase& base, Workspace& workspace) const {
  if (workspace.measures()) return;
  std::vector<ConstPolyView> left(a.shape.components), right;
  for (std::size_t j = 0; j < b.shape.batch; ++j) right.push_back(b.batches(j, 1));
  for (std::size_t r = 0; r < out.shape.batch; ++r) {
    const PolyView row = out.batches(r, 1);
    for (std::size_t j = 0; j < left.size(); ++j) left[j] = a.batches(r, 1).components(j, 1);
    // The right factors may be stored by fewer entries.
    const bool whole = a.shape.degree == out.shape.degree;
    do_inner_products(queue, std::span(&row, 1), whole ? left : right, whole ? right : left, {}, base);
  }
}

void Backend::do_transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                      const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                                      Workspace& workspace) const {
  const std::size_t size = values.shape.components;
  const Workspace::Frame frame(workspace);
  const PolyView scratch =
      take(workspace, {.components = size / 2, .limbs = values.shape.limbs, .degree = values.shape.degree});
  if (workspace.measures()) return;
  const bool natural = order == ComponentOrder::natural;
  const auto multiply_all = [&] {
    if (factors.data != nullptr) do_binary(queue, Binary::multiply, values, values, factors, base);
  };
  if (natural) multiply_all();
  for (std::size_t stage = 1; stage < size; stage *= 2) {
    const std::size_t half = natural ? size / 2 / stage : stage;
    // All blocks of two halves at once: the batch counts them, and the halves are components.
    const auto halves = [&](const PolyView& of, std::size_t first, std::size_t stride) {
      PolyView found = of.components(first, half);
      found.shape.batch = size / (2 * half);
      found.batch_stride = stride * of.component_stride;
      return found;
    };
    ConstPolyView of_stage = roots.components(0, half);
    of_stage.component_stride *= size / (2 * half);
    const PolyView kept = halves(scratch, 0, half);
    for (std::size_t b = 0; b < values.shape.batch; ++b) {
      const PolyView own = values.batches(b, 1);
      const PolyView low = halves(own, 0, 2 * half), high = halves(own, half, 2 * half);
      if (natural) {
        do_binary(queue, Binary::subtract, kept, low, high, base);
        do_binary(queue, Binary::add, low, low, high, base);
        do_binary(queue, Binary::multiply, high, kept, of_stage, base);
      } else {
        do_binary(queue, Binary::multiply, kept, high, of_stage, base);
        do_binary(queue, Binary::subtract, high, low, kept, base);
        do_binary(queue, Binary::add, low, low, kept, base);
      }
    }
  }
  if (!natural) multiply_all();
}

void Backend::do_inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                                std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                                const RnsBase& base) const {
  for_each_sum(out, a.size(), b, [&](const PolyView& sum, std::span<const ConstPolyView> own, bool whole) {
    const auto add = [&](bool first, const PolyView& to, const ConstPolyView& x, const ConstPolyView& y) {
      do_binary(queue, first ? Binary::multiply : Binary::multiply_add, to, x, y, base);
    };
    const std::size_t right = own.front().shape.components;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!whole) {
        add(i == 0, sum, a[i], own[i]);
        continue;
      }
      for (std::size_t j = 0; j < a[i].shape.components; ++j) {
        for (std::size_t k = 0; k < right; ++k) {
          const bool is_first = i == 0 && (j == 0 || k + 1 == right);  // product of this component
          add(is_first, sum.components(j + k, 1), a[i].components(j, 1), own[i].components(k, 1));
        }
      }
    }
    add_constant(queue, sum, added, base);
  });
}

}  // namespace hemera::poly
