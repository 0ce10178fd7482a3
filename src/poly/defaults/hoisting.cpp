// Default (docs/design.md): sums of rotated ciphertexts over the extended base.
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly {

void Backend::do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                  std::span<const HoistedTerm> terms, const ModUp& plan,
                                  std::span<const std::uint64_t> special, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const RnsBase& extended = plan.extended();
  const std::size_t limbs = plan.base().size();
  const PolyView switched = take(workspace, out.front().shape), turned = take(workspace, out.front().shape);
  const PolyView scaled = take(workspace, with_limbs(out.front().shape, limbs));
  if (workspace.measures()) return;
  std::vector<bool> begun(out.size());
  for (const HoistedTerm& term : terms) {
    if (term.digits.data == nullptr) {
      do_copy(queue, switched, {});
    } else {
      do_key_inner_product(queue, switched, term.digits, term.key, plan);
    }
    if (term.addend.data != nullptr) {
      const std::size_t components = term.addend.shape.components;
      if (term.addend.shape.limbs == extended.size()) {
        const PolyView sum = switched.components(0, components);
        do_binary(queue, Binary::add, sum, sum, term.addend, extended);
      } else {
        const PolyView sum = switched.components(0, components).limbs(0, limbs);
        const PolyView product = scaled.components(0, components);
        do_unary(queue, Unary::multiply, product, term.addend, special, plan.base());
        do_binary(queue, Binary::add, sum, sum, product, plan.base());
      }
    }
    PolyView value = switched;
    if (term.galois_element != 1) {
      do_automorphism(queue, turned, switched, term.galois_element, Form::evaluation, extended);
      value = turned;
    }
    for (std::size_t g = 0; g < out.size(); ++g) {
      if (term.factors.empty()) {
        if (begun[g]) {
          do_binary(queue, Binary::add, out[g], out[g], value, extended);
        } else {
          do_copy(queue, out[g], value);
        }
      } else if (term.factors[g].data == nullptr) {
        continue;
      } else {
        do_binary(queue, begun[g] ? Binary::multiply_add : Binary::multiply, out[g], value, term.factors[g],
                  extended);
      }
      begun[g] = true;
    }
  }
  for (std::size_t g = 0; g < out.size(); ++g) {
    if (!begun[g]) do_copy(queue, out[g], {});
  }
}

}  // namespace hemera::poly
