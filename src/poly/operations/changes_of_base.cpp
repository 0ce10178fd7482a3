// Public operations of a backend: changes of base, and products of BFV.
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/key_switching_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
                      const IntegerView* doubtful) const {
  check_ring("convert", ring_, plan.source());
  check_ring("convert", ring_, plan.target());
  check_view("convert", "output", out, plan.target());
  check_input("convert", "input", in, out.shape, plan.source());
  check_doubtful("convert", out.shape, doubtful, plan.kind() == BaseConversion::Kind::exact);
  if (plan.source().empty() || plan.target().empty()) return do_copy(queue, out, {});
  do_convert(queue, out, in, plan, doubtful);
}

void Backend::scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              const ScaleAndRound& plan, const IntegerView* doubtful) const {
  check_ring("scale_and_round", ring_, plan.source());
  check_ring("scale_and_round", ring_, plan.target());
  check_view("scale_and_round", "output", out, plan.target());
  check_input("scale_and_round", "input", in, out.shape, plan.source());
  check_doubtful("scale_and_round", out.shape, doubtful, plan.divided().size() == plan.source().size());
  do_scale_and_round(queue, out, in, plan, doubtful);
}

void Backend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const Division& plan, Form form, Workspace& workspace) const {
  constexpr const char* operation = "divide_and_round";
  check_division(operation, ring_, plan, form);
  check_view(operation, "output", out, plan.target());
  check_input(operation, "input", in, out.shape, plan.source());
  with_scratch(workspace,
               [&](Workspace& scratch) { do_divide_and_round(queue, out, in, plan, form, scratch); });
}

void Backend::scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                             const ConstPolyView& b, const ScaledProduct& plan, Workspace& workspace) const {
  constexpr const char* operation = "scaled_product";
  check_transform(operation, ring_, plan.all());
  check_view(operation, "output", out, plan.base());
  check_count(operation, "components of the output", out.shape.components, 3);
  check_pair(operation, "a", a, out, plan.base());
  check_pair(operation, "b", b, out, plan.base());
  with_scratch(workspace, [&](Workspace& scratch) { do_scaled_product(queue, out, a, b, plan, scratch); });
}

void Backend::lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                            std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                            const ScaledProduct& plan, Workspace& workspace) const {
  constexpr const char* operation = "lift_operands";
  check_transform(operation, ring_, plan.all());
  if (a.empty()) throw MismatchError("lift_operands: there are no factors; at least one pair is needed");
  check_count(operation, "second factors", b.size(), a.size());
  check_view(operation, "lifted a", a_lifted, plan.auxiliary());
  check_view(operation, "lifted b", b_lifted, plan.all());
  check_count(operation, "components of lifted a", a_lifted.shape.components, 2);
  check_count(operation, "components of lifted b", b_lifted.shape.components, 2);
  check_count(operation, "batch of lifted b", b_lifted.shape.batch, a_lifted.shape.batch);
  const std::size_t batch = a_lifted.shape.batch / a.size();
  check_count(operation, "batch of lifted a", a_lifted.shape.batch, batch * a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_pair(operation, "a", a[i], a_lifted.batches(0, batch), plan.base());
    check_pair(operation, "b", b[i], b_lifted.batches(0, batch), plan.base());
  }
  with_scratch(workspace,
               [&](Workspace& scratch) { do_lift_operands(queue, a_lifted, b_lifted, a, b, plan, scratch); });
}

}  // namespace hemera::poly
