// Defaults (docs/design.md): ModUp, the inner product with a key, and whole key switches.
#include <algorithm>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/defaults/position_runs.hpp"
#include "poly/key_switching_checks.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly {
namespace {

std::size_t largest(const std::vector<std::vector<std::uint32_t>>& positions) {
  std::size_t largest = 0;
  for (const auto& list : positions) largest = std::max(largest, list.size());
  return largest;
}

}  // namespace

void Backend::do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                        Form form, const Division* down, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  if (down != nullptr) {
    const PolyView quotient = take(workspace, with_limbs(in.shape, plan.base().size()));
    do_divide_and_round(queue, quotient, in, *down, form, workspace);
    return do_mod_up(queue, out, quotient, plan, form, nullptr, workspace);
  }
  const PolyView other_form = take(workspace, in.shape);
  const PolyView digit_scratch = take(workspace, with_limbs(in.shape, largest(plan.own_positions())));
  const PolyView conversion_scratch = take(workspace, with_limbs(in.shape, largest(plan.other_positions())));
  if (workspace.measures()) return;

  do_transform(queue, other_form, in, form == Form::evaluation ? Form::coefficient : Form::evaluation,
               plan.base());
  const ConstPolyView coefficients = form == Form::evaluation ? ConstPolyView(other_form) : in;
  const ConstPolyView values = form == Form::evaluation ? in : ConstPolyView(other_form);

  for (std::size_t d = 0; d < plan.digits().size(); ++d) {
    const GadgetDigit& digit = plan.digits()[d];
    const PolyView extended = out.components(d, 1);
    // The base comes first in `extended`, so an own limb has the same position in both.
    const std::vector<std::uint32_t>& own = plan.own_positions()[d];
    const ConstPolyView moduli =
        gather(queue, coefficients, plan.base().positions(digit.moduli), digit_scratch);
    if (digit.width != 0) {
      do_extract_window(queue, extended, moduli, digit.shift, digit.width, plan.extended());
      do_transform(queue, extended, extended, Form::evaluation, plan.extended());
      continue;
    }
    const std::vector<std::uint32_t>& others = plan.other_positions()[d];
    if (!others.empty()) {
      const PolyView converted = conversion_scratch.limbs(0, others.size());
      do_convert(queue, converted, moduli, plan.conversions()[d], nullptr);
      do_transform(queue, converted, converted, Form::evaluation, plan.conversions()[d].target());
      for_each_run(others, [&](std::size_t first, std::size_t position, std::size_t count) {
        do_copy(queue, extended.limbs(position, count), converted.limbs(first, count));
      });
    }
    for_each_run(own, [&](std::size_t /*first*/, std::size_t position, std::size_t count) {
      do_copy(queue, extended.limbs(position, count), values.limbs(position, count));
    });
  }
}

void Backend::do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                   const ConstPolyView& key, const ModUp& plan) const {
  const RnsBase& extended = plan.extended();
  for_each_run(plan.key_positions(), [&](std::size_t first, std::size_t position, std::size_t count) {
    const auto indices = extended.indices().subspan(first, count);
    const RnsBase base(extended.ring(), {indices.begin(), indices.end()});
    const PolyView sum = out.limbs(first, count);
    for (std::size_t d = 0; d < plan.digits().size(); ++d) {
      const ConstPolyView digit = digits.components(d, 1).limbs(first, count);
      const ConstPolyView factor = key.batches(plan.digits()[d].key_digit, 1).limbs(position, count);
      if (d == 0) {
        do_binary(queue, Binary::multiply, sum, digit, factor, base);
      } else {
        do_binary(queue, Binary::multiply_add, sum, digit, factor, base);
      }
    }
  });
}

void Backend::do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                      const ConstPolyView& key, const ModUp& plan,
                                      Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView digits = take(workspace, digits_shape(in.shape, plan));
  do_mod_up(queue, digits, in, plan, Form::evaluation, nullptr, workspace);
  if (!workspace.measures()) do_key_inner_product(queue, out, digits, key, plan);
}

void Backend::end_switch(Queue& queue, const PolyView& out, const PolyView& sum, const ModUp& up,
                         const Division* down, const ConstPolyView& addend, std::uint64_t galois_element,
                         Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const RnsBase& target = switched_base(up, down);
  if (galois_element != 1) {
    const PolyView switched = take(workspace, out.shape);
    end_switch(queue, switched, sum, up, down, addend, 1, workspace);
    if (workspace.measures()) return;
    return do_automorphism(queue, out, switched, galois_element, Form::evaluation, target);
  }
  const bool adds = addend.data != nullptr;
  if (!(target == up.base())) {
    const PolyView scaled = adds ? take(workspace, addend.shape) : PolyView();
    if (adds && !workspace.measures()) {
      const PolyView part = sum.components(0, addend.shape.components).limbs(0, up.base().size());
      do_unary(queue, Unary::multiply, scaled, addend, up.special_residues(), up.base());
      do_binary(queue, Binary::add, part, part, scaled, up.base());
    }
    return do_divide_and_round(queue, out, sum, *down, Form::evaluation, workspace);
  }
  PolyView quotient = sum;
  if (down != nullptr) {
    quotient = adds && addend.data == out.data ? take(workspace, out.shape) : out;
    do_divide_and_round(queue, quotient, sum, *down, Form::evaluation, workspace);
  }
  if (workspace.measures()) return;
  const std::size_t added = adds ? addend.shape.components : 0;
  if (added != 0) {
    do_binary(queue, Binary::add, out.components(0, added), quotient.components(0, added), addend, up.base());
  }
  if (added < out.shape.components && quotient.data != out.data) {
    const std::size_t rest = out.shape.components - added;
    do_copy(queue, out.components(added, rest), quotient.components(added, rest));
  }
}

void Backend::do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                             const ModUp& up, const Division* down, const ConstPolyView& addend,
                             Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyShape sum_shape = with_limbs(switches.front().out.shape, up.extended().size());
  if (switches.size() == 1) {
    const KeySwitch& only = switches.front();
    const PolyView sum = take(workspace, sum_shape);
    do_mod_up_inner_product(queue, sum, in, only.key, up, workspace);
    return end_switch(queue, only.out, sum, up, down, addend, only.galois_element, workspace);
  }
  const PolyView digits = take(workspace, digits_shape(in.shape, up));
  do_mod_up(queue, digits, in, up, Form::evaluation, nullptr, workspace);
  const PolyView sum = take(workspace, sum_shape);
  for (const KeySwitch& each : switches) {
    if (!workspace.measures()) do_key_inner_product(queue, sum, digits, each.key, up);
    end_switch(queue, each.out, sum, up, down, addend, each.galois_element, workspace);
  }
}

void Backend::do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                      const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                      const Division* down, std::span<const std::uint64_t> added,
                                      Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView product = take(workspace, with_components(with_limbs(out.shape, up.base().size()), 3));
  if (!workspace.measures()) {
    do_inner_products(queue, std::span(&product, 1), std::span(&a, 1), std::span(&b, 1), {}, up.base());
  }
  const KeySwitch only{out, key, 1};
  do_switch_keys(queue, std::span(&only, 1), product.components(2, 1), up, down, product.components(0, 2),
                 workspace);
  if (!workspace.measures()) add_constant(queue, out, added, switched_base(up, down));
}

}  // namespace hemera::poly
