// Public operations of a backend: key switches.
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/key_switching_checks.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
namespace {

/// R times a polynomial over the level's base, where the plan lends moduli.
ConstPolyView multiple_of(const Backend& backend, runtime::Queue& queue, const ConstPolyView& in,
                          const ModUp& up, runtime::Workspace& scratch) {
  if (up.lent_residues().empty()) return in;
  const PolyView scaled = take(scratch, in.shape);
  if (!scratch.measures()) backend.multiply_scalar(queue, scaled, in, up.lent_residues(), up.base());
  return scaled;
}

}  // namespace

void Backend::mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
                     Workspace& workspace, const Division* down) const {
  if (down == nullptr) {
    check_mod_up_plan("mod_up", ring_, plan);
  } else {
    check_switch_plans("mod_up", ring_, plan, down);
    if (!(down->target() == plan.base())) {
      throw MismatchError("mod_up: the division does not go to the level's base of " +
                          std::to_string(plan.base().size()) + " limbs, but to " +
                          std::to_string(down->target().size()) + "; make it from ModUp's bases");
    }
  }
  check_view("mod_up", "output", out, plan.extended());
  check_view("mod_up", "input", in, down != nullptr ? plan.extended() : plan.base());
  check_count("mod_up", "components of the output", out.shape.components, plan.digits().size());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  check_broadcast("mod_up", "input", in.shape, out.shape);
  with_scratch(workspace, [&](Workspace& scratch) {
    const Workspace::Frame frame(scratch);
    if (down != nullptr && plan.lent_residues().empty()) {
      return do_mod_up(queue, out, in, plan, form, down, scratch);
    }
    ConstPolyView divided = in;
    if (down != nullptr) {
      const PolyView quotient = take(scratch, with_limbs(in.shape, plan.base().size()));
      do_divide_and_round(queue, quotient, in, *down, form, scratch);
      divided = quotient;
    }
    const ConstPolyView x = multiple_of(*this, queue, divided, plan, scratch);
    do_mod_up(queue, out, x, plan.of_multiples(), form, nullptr, scratch);
  });
}

void Backend::key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                const ConstPolyView& key, const ModUp& plan) const {
  constexpr const char* operation = "key_inner_product";
  check_ring(operation, ring_, plan.extended());
  check_ring(operation, ring_, plan.key_base());
  check_view(operation, "output", out, plan.extended());
  check_view(operation, "digits", digits, plan.extended());
  check_count(operation, "digits", digits.shape.components, plan.digits().size());
  check_batch(operation, "digits", digits.shape, out.shape);
  check_key(operation, out, key, plan);
  check_stored(operation, "key", key);
  do_key_inner_product(queue, out, digits, key, plan);
}

void Backend::hoisted_products(Queue& queue, std::span<const PolyView> out,
                               std::span<const HoistedTerm> terms, const ModUp& plan,
                               std::span<const std::uint64_t> special, Workspace& workspace) const {
  check_ring("hoisted_products", ring_, plan.extended());
  check_ring("hoisted_products", ring_, plan.key_base());
  check_hoisted_products(out, terms, plan, special);
  for (const HoistedTerm& term : terms) {
    check_galois_element("hoisted_products", term.galois_element, ring_->degree());
    if (term.digits.data != nullptr) check_stored("hoisted_products", "key", term.key);
  }
  with_scratch(workspace,
               [&](Workspace& scratch) { do_hoisted_products(queue, out, terms, plan, special, scratch); });
}

void Backend::switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                          const ModUp& up, const Division* down, const ConstPolyView& addend,
                          Workspace& workspace) const {
  constexpr const char* operation = "switch_keys";
  check_switch_plans(operation, ring_, up, down);
  for (const KeySwitch& each : switches) {
    check_switch(operation, each.out, in, each.key, up, switched_base(up, down), addend);
    check_stored(operation, "key", each.key);
    check_same_word(operation, switches.front().key, each.key);
    check_galois_element(operation, each.galois_element, ring_->degree());
    if (each.out.shape != switches.front().out.shape) {
      throw MismatchError("switch_keys: the outputs " + describe(switches.front().out.shape) + " and " +
                          describe(each.out.shape) + " have different shapes");
    }
  }
  if (switches.empty()) return;
  with_scratch(workspace, [&](Workspace& scratch) {
    const Workspace::Frame frame(scratch);
    const ConstPolyView x = multiple_of(*this, queue, in, up, scratch);
    do_switch_keys(queue, switches, x, up.of_multiples(), down, addend, scratch);
  });
}

void Backend::multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                   const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                   const Division* down, Workspace& workspace,
                                   std::span<const std::uint64_t> added) const {
  constexpr const char* operation = "multiply_relinearize";
  check_switch_plans(operation, ring_, up, down);
  check_view(operation, "output", out, switched_base(up, down));
  if (!added.empty()) check_count(operation, "scalars", added.size(), out.shape.limbs);
  check_key(operation, out, key, up);
  check_stored(operation, "key", key);
  check_pair(operation, "a", a, out, up.base());
  check_pair(operation, "b", b, out, up.base());
  with_scratch(workspace, [&](Workspace& scratch) {
    if (up.lent_residues().empty()) {
      return do_multiply_relinearize(queue, out, a, b, key, up, down, added, scratch);
    }
    const Workspace::Frame frame(scratch);
    if (down != nullptr && !(down->target() == up.base())) {
      const ConstPolyView multiple = multiple_of(*this, queue, b, up, scratch);
      return do_multiply_relinearize(queue, out, a, multiple, key, up.of_multiples(true), down, added,
                                     scratch);
    }
    const PolyView product = take(scratch, with_components(with_limbs(out.shape, up.base().size()), 3));
    if (!scratch.measures()) inner_product(queue, product, std::span(&a, 1), std::span(&b, 1), up.base());
    const KeySwitch only{out, key, 1};
    const ConstPolyView x = multiple_of(*this, queue, product.components(2, 1), up, scratch);
    do_switch_keys(queue, std::span(&only, 1), x, up.of_multiples(), down, product.components(0, 2), scratch);
    if (!scratch.measures()) add_constant(queue, out, added, switched_base(up, down));
  });
}

}  // namespace hemera::poly
