// Public operations of a backend: matrices, sums of products, transforms over components, automorphisms.
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/matrix_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              const IntegerMatrixView& w, const RnsBase& base, Workspace& workspace) const {
  check_ring("multiply_matrix", ring_, base);
  check_multiply_matrix(out, in, w, base);
  with_scratch(workspace, [&](Workspace& scratch) { do_multiply_matrix(queue, out, in, w, base, scratch); });
}

void Backend::multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const RnsBase& base, Workspace& workspace) const {
  check_ring("multiply_elements", ring_, base);
  check_multiply_elements(out, a, b, base);
  with_scratch(workspace, [&](Workspace& scratch) { do_multiply_elements(queue, out, a, b, base, scratch); });
}

void Backend::multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                  const ConstPolyView& in, const RnsBase& base) const {
  check_ring("multiply_add_vector", ring_, base);
  check_multiply_add_vector(out, w, in, base);
  do_multiply_add_vector(queue, out, w, in, base);
}

void Backend::split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const RnsBase& base) const {
  check_transform("split_parts", ring_, base);
  check_split_parts(out, in, base);
  do_split_parts(queue, out, in, base);
}

void Backend::transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                   const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                                   Workspace& workspace) const {
  check_ring("transform_components", ring_, base);
  check_transform_components(values, roots, factors, base);
  with_scratch(workspace, [&](Workspace& scratch) {
    do_transform_components(queue, values, roots, factors, order, base, scratch);
  });
}

void Backend::inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                            std::span<const ConstPolyView> b, const RnsBase& base,
                            std::span<const std::uint64_t> added) const {
  check_ring("inner_product", ring_, base);
  check_inner_product("inner_product", out, a, b, base);
  if (!added.empty()) check_count("inner_product", "constants", added.size(), base.size());
  do_inner_products(queue, std::span(&out, 1), a, b, added, base);
}

void Backend::inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                             std::span<const ConstPolyView> b, const RnsBase& base) const {
  constexpr const char* operation = "inner_products";
  check_ring(operation, ring_, base);
  check_count(operation, "right factors", b.size(), out.size() * a.size());
  for (std::size_t r = 0; r < out.size(); ++r) {
    check_inner_product(operation, out[r], a, b.subspan(r * a.size(), a.size()), base);
    if (out[r].shape != out.front().shape) {
      throw MismatchError("inner_products: outputs of two shapes; all must have the first one's");
    }
  }
  if (!out.empty()) do_inner_products(queue, out, a, b, {}, base);
}

void Backend::automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                           std::uint64_t galois_element, Form form, const RnsBase& base) const {
  check_unary("automorphism", ring_, out, in, base);
  check_galois_element("automorphism", galois_element, ring_->degree());
  do_automorphism(queue, out, in, galois_element, form, base);
}

}  // namespace hemera::poly
