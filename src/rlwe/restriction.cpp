#include "rlwe/restriction.hpp"

#include <utility>

#include "hemera/poly/backend.hpp"

namespace hemera::rlwe {

void for_each_run(const poly::Poly& whole, const poly::RnsBase& base,
                  const std::function<void(std::size_t, const poly::ConstPolyView&)>& use) {
  const auto positions = whole.base().positions(base);
  for (std::size_t first = 0, last = 0; first < positions.size(); first = last) {
    for (last = first + 1; last < positions.size() && positions[last] == positions[last - 1] + 1;) ++last;
    use(first, whole.view().limbs(positions[first], last - first));
  }
}

poly::Poly restrict_to(const Context& context, const poly::Poly& whole, const poly::RnsBase& base) {
  const poly::PolyShape& shape = whole.shape();
  poly::Poly part =
      context.make_poly(shape.batch, shape.components, base, whole.form(), whole.secrecy(), shape.degree);
  for_each_run(whole, base, [&](std::size_t first, const poly::ConstPolyView& run) {
    context.backend().copy(context.queue(), part.view().limbs(first, run.shape.limbs), run);
  });
  return part;
}

bool stands_first(const poly::Poly& whole, const poly::RnsBase& base) {
  const auto positions = whole.base().positions(base);
  for (std::size_t limb = 0; limb < positions.size(); ++limb) {
    if (positions[limb] != limb) return false;
  }
  return true;
}

void with_restricted(const Context& context, const poly::Poly& whole, const poly::RnsBase& base,
                     const std::function<void(const poly::ConstPolyView&)>& use) {
  if (stands_first(whole, base)) return use(whole.view().limbs(0, base.size()));
  const poly::Poly part = restrict_to(context, whole, base);
  use(part.view());
}

void with_all_entries(const Context& context, const poly::Poly& poly,
                      const std::function<void(const poly::ConstPolyView&)>& use) {
  if (poly.is_whole()) return use(poly.view());
  const poly::PolyShape& shape = poly.shape();
  poly::Poly whole =
      context.make_poly(shape.batch, shape.components, poly.base(), poly.form(), poly.secrecy());
  context.backend().copy(context.queue(), whole.view(), poly.view());
  use(std::as_const(whole).view());
}

}  // namespace hemera::rlwe
