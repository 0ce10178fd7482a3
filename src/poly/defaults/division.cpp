// Default (docs/design.md): division by a product of moduli.
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly {
namespace {

std::vector<std::uint64_t> operands(const std::vector<arith::ShoupFactor>& factors) {
  std::vector<std::uint64_t> values;
  values.reserve(factors.size());
  for (const arith::ShoupFactor& factor : factors) values.push_back(factor.operand);
  return values;
}

}  // namespace

void Backend::do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const Division& plan, Form form, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t targets = plan.target().size();
  const bool has_plaintext = !plan.plaintext().empty();
  const PolyView scratch = take(workspace, with_limbs(in.shape, plan.dropped().size()));
  const PolyView converted = take(workspace, with_limbs(in.shape, plan.conversion().target().size()));
  const PolyView correction = has_plaintext ? take(workspace, with_limbs(in.shape, targets)) : PolyView();
  if (workspace.measures()) return;

  // E x modulo the dropped moduli, coefficient form.
  ConstPolyView dropped = gather(queue, in, plan.dropped_positions(), scratch);
  if (form == Form::evaluation) {
    do_transform(queue, scratch, dropped, Form::coefficient, plan.dropped());
    dropped = scratch;
  }
  if (plan.multiplies()) {
    do_unary(queue, Unary::multiply, scratch, dropped, operands(plan.multiple_dropped()), plan.dropped());
    dropped = scratch;
  }

  // delta modulo the target moduli, and modulo t.
  const PolyView delta = converted.limbs(0, targets);
  do_convert(queue, converted, dropped, plan.conversion(), nullptr);
  if (has_plaintext) {
    const PolyView plain = converted.limbs(targets, 1);
    do_unary(queue, Unary::multiply, plain, plain, std::vector{plan.negative_inverse_plain()},
             plan.plaintext());
    do_convert(queue, correction, plain, plan.plaintext_conversion(), nullptr);
    do_unary(queue, Unary::multiply, correction, correction, operands(plan.dropped_product()), plan.target());
    do_binary(queue, Binary::add, delta, delta, correction, plan.target());
  }
  if (form == Form::evaluation) do_transform(queue, delta, delta, Form::evaluation, plan.target());
  do_finish_division(queue, out, in, delta, plan);
}

}  // namespace hemera::poly
