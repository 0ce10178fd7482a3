// Public operations of a backend: transforms, and operations entry by entry.
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const RnsBase& base) const {
  check_transform("forward_transform", ring_, base);
  check_view("forward_transform", "output", out, base);
  check_input("forward_transform", "input", in, out.shape, base);
  do_transform(queue, out, in, Form::evaluation, base);
}

void Backend::inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const RnsBase& base) const {
  check_transform("inverse_transform", ring_, base);
  check_view("inverse_transform", "output", out, base);
  check_input("inverse_transform", "input", in, out.shape, base);
  do_transform(queue, out, in, Form::coefficient, base);
}

void Backend::add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                  const RnsBase& base) const {
  check_binary("add", ring_, out, a, b, base);
  do_binary(queue, Binary::add, out, a, b, base);
}

void Backend::subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                       const RnsBase& base) const {
  check_binary("subtract", ring_, out, a, b, base);
  do_binary(queue, Binary::subtract, out, a, b, base);
}

void Backend::multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                       const RnsBase& base) const {
  check_binary("multiply", ring_, out, a, b, base);
  do_binary(queue, Binary::multiply, out, a, b, base);
}

void Backend::multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                           const RnsBase& base) const {
  check_binary("multiply_add", ring_, out, a, b, base);
  do_binary(queue, Binary::multiply_add, out, a, b, base);
}

void Backend::negate(Queue& queue, const PolyView& out, const ConstPolyView& a, const RnsBase& base) const {
  check_unary("negate", ring_, out, a, base);
  do_unary(queue, Unary::negate, out, a, {}, base);
}

void Backend::multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                              std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  check_unary("multiply_scalar", ring_, out, a, base);
  check_count("multiply_scalar", "scalars", scalars.size(), base.size());
  do_unary(queue, Unary::multiply, out, a, scalars, base);
}

void Backend::add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                         std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const {
  check_unary("add_scalar", ring_, out, a, base);
  check_count("add_scalar", "scalars", scalars.size(), base.size());
  const Unary addition = form == Form::evaluation ? Unary::add_to_all : Unary::add_to_first;
  do_unary(queue, addition, out, a, scalars, base);
}

void Backend::combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                      std::span<const std::vector<std::uint64_t>> scalars,
                      std::span<const std::uint64_t> added, const RnsBase& base, Workspace& workspace) const {
  constexpr const char* operation = "combine";
  if (a.empty()) throw MismatchError("combine: there is no term; at least one is needed");
  check_count(operation, "terms' scalars", scalars.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_unary(operation, ring_, out, a[i], base);
    check_count(operation, "scalars", scalars[i].size(), base.size());
  }
  if (!added.empty()) check_count(operation, "residues of the constant", added.size(), base.size());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_combine(queue, out, a, scalars, added, base, scratch); });
}

}  // namespace hemera::poly
