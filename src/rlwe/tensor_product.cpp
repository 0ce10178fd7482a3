#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

void Context::tensor_product(const poly::PolyView& out, const poly::ConstPolyView& a,
                             const poly::ConstPolyView& b, const poly::RnsBase& base) const {
  if (multiplier_ == nullptr) {
    backend_->inner_product(*queue_, out, std::span(&a, 1), std::span(&b, 1), base);
    return;
  }
  const auto coefficients = [&](const poly::ConstPolyView& values) {
    poly::Poly result = make_poly(values.shape.batch, values.shape.components, base, poly::Form::coefficient);
    backend_->inverse_transform(*queue_, result.view(), values, base);
    return result;
  };
  const bool square = a.data == b.data && a.shape == b.shape;
  const poly::Poly left = coefficients(a);
  const poly::Poly right = square ? poly::Poly() : coefficients(b);
  multiplier_->tensor_product(*queue_, out, left.view(), square ? left.view() : right.view(), base);
  backend_->forward_transform(*queue_, out, out, base);
}

void Context::inner_product(const poly::PolyView& out, std::span<const poly::ConstPolyView> a,
                            std::span<const poly::ConstPolyView> b, const poly::RnsBase& base,
                            std::span<const std::uint64_t> added) const {
  if (multiplier_ == nullptr || b.front().shape.components == 1) {
    backend_->inner_product(*queue_, out, a, b, base, added);
    return;
  }
  tensor_product(out, a.front(), b.front(), base);
  poly::Poly product;
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (i == 1) product = make_poly(out.shape.batch, out.shape.components, base, poly::Form::evaluation);
    tensor_product(product.view(), a[i], b[i], base);
    backend_->add(*queue_, out, out, std::as_const(product).view(), base);
  }
  if (added.empty()) return;
  const poly::PolyView first = out.components(0, 1);
  backend_->add_scalar(*queue_, first, first, added, poly::Form::evaluation, base);
}

}  // namespace hemera::rlwe
