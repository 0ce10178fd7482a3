#include "hemera/circuits/linear/monomial_transform.hpp"

#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "rlwe/monomial.hpp"

namespace hemera::circuits {

using poly::ConstPolyView;
using poly::PolyView;

std::size_t reversed(std::size_t number, std::size_t size) {
  std::size_t result = 0;
  for (std::size_t bit = 1; bit < size; bit *= 2) result = 2 * result + (number / bit & 1);
  return result;
}

// One stage: pairs of polynomials `half` places apart, for all blocks of 2 half places at once.
struct MonomialTransform::Stage {
  PolyView low, high, scratch;
  ConstPolyView roots;
};

MonomialTransform::MonomialTransform(std::shared_ptr<const rlwe::Context> context, const poly::RnsBase& base,
                                     std::size_t size, std::size_t exponent)
    : context_(std::move(context)), size_(size) {
  std::vector<std::size_t> exponents;
  for (std::size_t k = 0; k < size / 2; ++k) exponents.push_back(k * exponent % (2 * context_->degree()));
  roots_ = rlwe::monomials(*context_, base, exponents);
}

MonomialTransform::Stage MonomialTransform::stage(const PolyView& values, const PolyView& scratch,
                                                  std::size_t half) const {
  Stage found{.low = values, .high = {}, .scratch = scratch, .roots = roots_.view().transposed()};
  found.low.shape.batch = values.shape.batch * size_ / (2 * half);
  found.low.shape.components = half;
  found.low.batch_stride = 2 * half * values.component_stride;
  found.high = found.low;
  found.high.data += half * values.component_stride * static_cast<std::size_t>(values.word);
  found.scratch.shape = found.low.shape;
  found.scratch.batch_stride = half * scratch.component_stride;
  found.roots.shape.components = half;
  found.roots.component_stride *= size_ / (2 * half);
  found.roots.shape.limbs = values.shape.limbs;
  return found;
}

void MonomialTransform::apply(const PolyView& values, const PolyView& scratch,
                              const poly::RnsBase& base) const {
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  for (std::size_t half = size_ / 2; half > 0; half /= 2) {
    const Stage at = stage(values, scratch, half);
    backend.subtract(queue, at.scratch, at.low, at.high, base);
    backend.add(queue, at.low, at.low, at.high, base);
    backend.multiply(queue, at.high, at.scratch, at.roots, base);
  }
}

void MonomialTransform::apply_to_reversed(const PolyView& values, const PolyView& scratch,
                                          const poly::RnsBase& base) const {
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  for (std::size_t half = 1; half < size_; half *= 2) {
    const Stage at = stage(values, scratch, half);
    backend.multiply(queue, at.scratch, at.high, at.roots, base);
    backend.subtract(queue, at.high, at.low, at.scratch, base);
    backend.add(queue, at.low, at.low, at.scratch, base);
  }
}

}  // namespace hemera::circuits
