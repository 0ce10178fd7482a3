// The fused operations in terms of the simpler ones: what a backend gets without overriding them, and what
// its overrides are checked against. Each takes all scratch before it runs, or asks first whether the
// workspace only measures.
#include <algorithm>
#include <vector>

#include "arith/magnitude.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
namespace {

std::vector<std::uint64_t> residues_of(std::uint64_t value, const RnsBase& base) {
  std::vector<std::uint64_t> residues;
  residues.reserve(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) residues.push_back(base.modulus(i).reduce(value));
  return residues;
}

std::vector<std::uint64_t> operands(const std::vector<arith::ShoupFactor>& factors) {
  std::vector<std::uint64_t> values;
  values.reserve(factors.size());
  for (const arith::ShoupFactor& factor : factors) values.push_back(factor.operand);
  return values;
}

// Calls body(first, position, count) for each longest run first, first + 1, ... whose positions follow each
// other.
template <typename Body>
void for_each_run(const std::vector<std::uint32_t>& positions, const Body& body) {
  for (std::size_t first = 0; first < positions.size();) {
    std::size_t count = 1;
    while (first + count < positions.size() && positions[first + count] == positions[first] + count) ++count;
    body(first, std::size_t{positions[first]}, count);
    first += count;
  }
}

std::size_t largest(const std::vector<std::vector<std::uint32_t>>& positions) {
  std::size_t largest = 0;
  for (const auto& list : positions) largest = std::max(largest, list.size());
  return largest;
}

}  // namespace

ConstPolyView Backend::gather(Queue& queue, const ConstPolyView& in,
                              const std::vector<std::uint32_t>& positions, const PolyView& scratch) const {
  if (positions.back() - positions.front() + 1 == positions.size() &&
      std::is_sorted(positions.begin(), positions.end())) {
    return in.limbs(positions.front(), positions.size());
  }
  for_each_run(positions, [&](std::size_t first, std::size_t position, std::size_t count) {
    do_copy(queue, scratch.limbs(first, count), in.limbs(position, count));
  });
  return scratch.limbs(0, positions.size());
}

void Backend::do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                           const ConstPolyView& in, Form form) const {
  std::vector<std::uint64_t> host(in.shape.words());
  const runtime::ZeroedAtEnd zeroed{std::span(host)};  // it may be a key
  source.download(source_queue, host, in, form);
  source_queue.synchronize();
  upload(queue, out, host, form);
}

bool Backend::read_from(Queue& /*queue*/, const Backend& /*source*/, Queue& /*source_queue*/,
                        const std::function<void()>& /*operations*/) const {
  return false;
}

void Backend::do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                         std::span<const std::vector<std::uint64_t>> scalars,
                         std::span<const std::uint64_t> added, const RnsBase& base,
                         Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView multiple = take(workspace, out.shape);
  if (workspace.measures()) return;
  do_multiply_scalar(queue, out, a[0], scalars[0], base);
  for (std::size_t i = 1; i < a.size(); ++i) {
    do_multiply_scalar(queue, multiple, a[i], scalars[i], base);
    do_binary(queue, Binary::add, out, out, multiple, base);
  }
  if (added.empty()) return;
  const PolyView first = out.components(0, 1);
  do_add_scalar(queue, first, first, added, Form::evaluation, base);
}

void Backend::do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 const IntegerMatrixView& w, const RnsBase& base,
                                 Workspace& workspace) const {
  std::vector<ConstPolyView> terms;
  for (std::size_t j = 0; j < w.columns; ++j) terms.push_back(in.batches(j, 1));
  std::vector<std::vector<std::uint64_t>> scalars(w.columns, std::vector<std::uint64_t>(base.size()));
  if (workspace.measures()) {
    return do_combine(queue, out.batches(0, 1), terms, scalars, {}, base, workspace);
  }
  for (std::size_t r = 0; r < w.rows; ++r) {
    for (std::size_t j = 0; j < w.columns; ++j) {
      for (std::size_t l = 0; l < base.size(); ++l) {
        scalars[j][l] = base.modulus(l).reduce_signed(w.at(r, j));
      }
    }
    do_combine(queue, out.batches(r, 1), terms, scalars, {}, base, workspace);
  }
}

void Backend::do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                   const ConstPolyView& b, const RnsBase& base, Workspace& workspace) const {
  if (workspace.measures()) return;
  std::vector<ConstPolyView> left(a.shape.components), right;
  for (std::size_t j = 0; j < b.shape.batch; ++j) right.push_back(b.batches(j, 1));
  for (std::size_t r = 0; r < out.shape.batch; ++r) {
    const PolyView row = out.batches(r, 1);
    for (std::size_t j = 0; j < left.size(); ++j) left[j] = a.batches(r, 1).components(j, 1);
    if (a.shape.degree == out.shape.degree) {
      do_inner_product(queue, row, left, right, base);
    } else {  // the right factors may be stored by fewer entries
      do_inner_products(queue, std::span(&row, 1), right, left, base);
    }
  }
}

void Backend::do_transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                      const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                                      Workspace& workspace) const {
  const std::size_t size = values.shape.components;
  const Workspace::Frame frame(workspace);
  const PolyView scratch =
      take(workspace, {.components = size / 2, .limbs = values.shape.limbs, .degree = values.shape.degree});
  if (workspace.measures()) return;
  const bool natural = order == ComponentOrder::natural;
  const auto multiply_all = [&] {
    if (factors.data != nullptr) do_binary(queue, Binary::multiply, values, values, factors, base);
  };
  if (natural) multiply_all();
  for (std::size_t stage = 1; stage < size; stage *= 2) {
    const std::size_t half = natural ? size / 2 / stage : stage;
    // All blocks of two halves at once: the batch counts them, and the halves are components.
    const auto halves = [&](const PolyView& of, std::size_t first, std::size_t stride) {
      PolyView found = of.components(first, half);
      found.shape.batch = size / (2 * half);
      found.batch_stride = stride * of.component_stride;
      return found;
    };
    ConstPolyView of_stage = roots.components(0, half);
    of_stage.component_stride *= size / (2 * half);
    const PolyView kept = halves(scratch, 0, half);
    for (std::size_t b = 0; b < values.shape.batch; ++b) {
      const PolyView own = values.batches(b, 1);
      const PolyView low = halves(own, 0, 2 * half), high = halves(own, half, 2 * half);
      if (natural) {
        do_binary(queue, Binary::subtract, kept, low, high, base);
        do_binary(queue, Binary::add, low, low, high, base);
        do_binary(queue, Binary::multiply, high, kept, of_stage, base);
      } else {
        do_binary(queue, Binary::multiply, kept, high, of_stage, base);
        do_binary(queue, Binary::subtract, high, low, kept, base);
        do_binary(queue, Binary::add, low, low, kept, base);
      }
    }
  }
  if (!natural) multiply_all();
}

void Backend::do_inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                               std::span<const ConstPolyView> b, const RnsBase& base) const {
  const std::size_t right = b.front().shape.components;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].shape.components; ++j) {
      for (std::size_t k = 0; k < right; ++k) {
        const bool is_first = i == 0 && (j == 0 || k + 1 == right);  // product of this component
        do_binary(queue, is_first ? Binary::multiply : Binary::multiply_add, out.components(j + k, 1),
                  a[i].components(j, 1), b[i].components(k, 1), base);
      }
    }
  }
}

void Backend::do_inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                                std::span<const ConstPolyView> b, const RnsBase& base) const {
  for (std::size_t r = 0; r < out.size(); ++r) {
    const auto own = b.subspan(r * a.size(), a.size());
    const auto is_whole = [&](const ConstPolyView& view) { return view.shape.degree == out[r].shape.degree; };
    if (std::all_of(own.begin(), own.end(), is_whole)) {
      do_inner_product(queue, out[r], a, own, base);
      continue;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      do_binary(queue, i == 0 ? Binary::multiply : Binary::multiply_add, out[r], a[i], own[i], base);
    }
  }
}

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
    do_multiply_scalar(queue, scratch, dropped, operands(plan.multiple_dropped()), plan.dropped());
    dropped = scratch;
  }

  // delta modulo the target moduli, and modulo t.
  const PolyView delta = converted.limbs(0, targets);
  do_convert(queue, converted, dropped, plan.conversion(), nullptr);
  if (has_plaintext) {
    const PolyView plain = converted.limbs(targets, 1);
    do_multiply_scalar(queue, plain, plain, std::vector{plan.negative_inverse_plain()}, plan.plaintext());
    do_convert(queue, correction, plain, plan.plaintext_conversion(), nullptr);
    do_multiply_scalar(queue, correction, correction, operands(plan.dropped_product()), plan.target());
    do_binary(queue, Binary::add, delta, delta, correction, plan.target());
  }
  if (form == Form::evaluation) do_transform(queue, delta, delta, Form::evaluation, plan.target());
  do_finish_division(queue, out, in, delta, plan);
}

void Backend::do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                        Form form, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
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
      do_fill_zero(queue, switched);
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
        do_multiply_scalar(queue, product, term.addend, special, plan.base());
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
    if (!begun[g]) do_fill_zero(queue, out[g]);
  }
}

void Backend::do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                      const ConstPolyView& key, const ModUp& plan,
                                      Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView digits = take(workspace, digits_shape(in.shape, plan));
  do_mod_up(queue, digits, in, plan, Form::evaluation, workspace);
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
      do_multiply_scalar(queue, scaled, addend, up.special_residues(), up.base());
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
  do_mod_up(queue, digits, in, up, Form::evaluation, workspace);
  const PolyView sum = take(workspace, sum_shape);
  for (const KeySwitch& each : switches) {
    if (!workspace.measures()) do_key_inner_product(queue, sum, digits, each.key, up);
    end_switch(queue, each.out, sum, up, down, addend, each.galois_element, workspace);
  }
}

void Backend::do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                      const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                      const Division* down, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView product = take(workspace, with_components(with_limbs(out.shape, up.base().size()), 3));
  if (!workspace.measures()) {
    do_inner_product(queue, product, std::span(&a, 1), std::span(&b, 1), up.base());
  }
  const KeySwitch only{out, key, 1};
  do_switch_keys(queue, std::span(&only, 1), product.components(2, 1), up, down, product.components(0, 2),
                 workspace);
}

void Backend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                              const RandomStream& stream, const ErrorDistribution& distribution,
                              std::uint64_t factor, const RnsBase& base, const Division* division,
                              const ConstPolyView& addend, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyShape shape = with_limbs(out.shape, base.size());
  const PolyView masked = division == nullptr ? out : take(workspace, shape);
  {
    const Workspace::Frame inner(workspace);
    const PolyView u = take(workspace, with_components(shape, 1)), errors = take(workspace, shape);
    do_sample(queue, u, stream, Distribution::ternary(), base, workspace);
    do_sample(queue, errors, stream, Distribution::error(distribution), base, workspace);
    if (!workspace.measures()) {
      do_transform(queue, u, u, Form::evaluation, base);
      do_binary(queue, Binary::multiply, masked, key, u, base);
      if (factor != 1) do_multiply_scalar(queue, errors, errors, residues_of(factor, base), base);
      do_transform(queue, errors, errors, Form::evaluation, base);
      do_binary(queue, Binary::add, masked, masked, errors, base);
    }
  }
  if (division != nullptr) {
    do_divide_and_round(queue, out, masked, *division, Form::evaluation, workspace);
  }
  if (addend.data == nullptr || workspace.measures()) return;
  const PolyView first = out.components(0, 1);
  do_binary(queue, Binary::add, first, first, addend, division == nullptr ? base : division->target());
}

// Horner's rule from the highest component down.
void Backend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       const ConstPolyView& secret, Form form, const RnsBase& base) const {
  ConstPolyView higher = in.components(in.shape.components - 1, 1);
  if (in.shape.components == 1) do_copy(queue, out, higher);
  for (std::size_t i = in.shape.components - 1; i-- > 0; higher = out) {
    do_binary(queue, Binary::multiply, out, higher, secret, base);
    do_binary(queue, Binary::add, out, out, in.components(i, 1), base);
  }
  if (form == Form::coefficient) do_transform(queue, out, out, Form::coefficient, base);
}

void Backend::do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                             const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                             std::span<const GadgetTerm> terms, Workspace& workspace) const {
  const PolyView b = out.components(0, 1), a = out.components(1, 1);
  do_sample(queue, a, from.uniform, Distribution::uniform(), base, workspace);
  do_sample(queue, b, from.errors, Distribution::error(from.distribution), base, workspace);
  {
    const Workspace::Frame frame(workspace);
    const PolyView negated = take(workspace, secret.shape);
    if (!workspace.measures()) {
      if (from.factor != 1) do_multiply_scalar(queue, b, b, residues_of(from.factor, base), base);
      do_transform(queue, b, b, Form::evaluation, base);
      do_negate(queue, negated, secret, base);
      do_binary(queue, Binary::multiply_add, b, a, negated, base);
    }
  }
  if (!terms.empty()) return add_terms(queue, b, addend, terms, base, workspace);
  if (addend.data != nullptr && !workspace.measures()) do_binary(queue, Binary::add, b, b, addend, base);
}

void Backend::add_terms(Queue& queue, const PolyView& out, const ConstPolyView& addend,
                        std::span<const GadgetTerm> terms, const RnsBase& base, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView scaled = take(workspace, with_limbs(addend.shape, 1));
  if (workspace.measures()) return;
  for (const GadgetTerm& term : terms) {
    const RnsBase single(base.ring(), {base.index(term.limb)});
    const PolyView target = out.batches(term.batch, 1).limbs(term.limb, 1);
    do_multiply_scalar(queue, scaled, addend.limbs(term.limb, 1), std::span(&term.factor, 1), single);
    do_binary(queue, Binary::add, target, target, scaled, single);
  }
}

void Backend::do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                               std::uint64_t factor, std::span<const std::uint64_t> scalars,
                               const BaseConversion& lift, Workspace& workspace,
                               const ConstPolyView& addend) const {
  const Workspace::Frame frame(workspace);
  const PolyView scaled = factor == 1 ? PolyView() : take(workspace, in.front().shape);
  const bool adds = addend.data != nullptr;
  const PolyView lifted = adds ? take(workspace, out.shape) : out;
  if (workspace.measures()) return;
  const std::size_t batch = in.front().shape.batch;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (factor != 1) do_multiply_scalar(queue, scaled, in[i], std::span(&factor, 1), lift.source());
    do_convert(queue, lifted.batches(i * batch, batch), factor == 1 ? in[i] : ConstPolyView(scaled), lift,
               nullptr);
  }
  if (!scalars.empty()) do_multiply_scalar(queue, lifted, lifted, scalars, lift.target());
  do_transform(queue, lifted, lifted, Form::evaluation, lift.target());
  if (adds) do_binary(queue, Binary::add, out, lifted, addend, lift.target());
}

void Backend::do_embed_evaluations(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                                   std::uint64_t generator, const RnsBase& base, Workspace& workspace) const {
  if (out.shape.degree < ring()->degree()) {
    return embed_whole(queue, out, slots, scale, generator, base, workspace);
  }
  do_embed(queue, out, slots, scale, generator, base, workspace);
  if (!workspace.measures()) do_transform(queue, out, out, Form::evaluation, base);
}

void Backend::embed_whole(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                          std::uint64_t generator, const RnsBase& base, Workspace& workspace) const {
  constexpr std::size_t most_words = std::size_t{1} << 23;
  PolyShape shape = out.shape;
  shape.degree = ring()->degree();
  shape.batch = std::clamp<std::size_t>(most_words * shape.batch / shape.words(), 1, shape.batch);
  const Workspace::Frame frame(workspace);
  const PolyView whole = take(workspace, shape);
  for (std::size_t first = 0; first < out.shape.batch; first += shape.batch) {
    const std::size_t count = std::min(shape.batch, out.shape.batch - first);
    SlotView own = slots;
    if (slots.batch > 1) {
      own.data += first * slots.slots;
      own.batch = count;
    }
    do_embed_evaluations(queue, whole.batches(0, count), own, scale, generator, base, workspace);
    if (workspace.measures()) return;
    do_copy(queue, out.batches(first, count), whole.batches(0, count));
  }
}

bool Backend::all_within(std::span<const std::int64_t> values, std::uint64_t bound) const {
  return arith::all_within(values, bound);
}

void Backend::do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                               std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                               const ScaledProduct& plan, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t batch = a_lifted.shape.batch / a.size(), limbs = plan.base().size();
  const PolyView scratch = take(workspace, with_limbs(a_lifted.batches(0, batch).shape, limbs));
  const auto coefficients_of = [&](const ConstPolyView& x) {
    const PolyView coefficients = scratch.batches(0, x.shape.batch);
    do_transform(queue, coefficients, x, Form::coefficient, plan.base());
    return coefficients;
  };
  // What one polynomial of a pair was lifted to, for all products of the pair.
  const auto repeat = [&](const PolyView& lifted, const ConstPolyView& x) {
    for (std::size_t i = x.shape.batch; i < batch; ++i) {
      do_copy(queue, lifted.batches(i, 1), lifted.batches(0, 1));
    }
  };
  for (std::size_t pair = 0; pair < a.size(); ++pair) {
    const PolyView to_a = a_lifted.batches(pair * batch, a[pair].shape.batch);
    const PolyView to_b = b_lifted.batches(pair * batch, b[pair].shape.batch);
    PolyView coefficients = scratch.batches(0, b[pair].shape.batch);
    // a, centred, over P.
    if (!workspace.measures()) {
      coefficients = coefficients_of(a[pair]);
      do_convert(queue, to_a, coefficients, plan.to_auxiliary(), nullptr);
      do_transform(queue, to_a, to_a, Form::evaluation, plan.auxiliary());
      repeat(to_a, a[pair]);
      if (!same_view(a[pair], b[pair])) coefficients = coefficients_of(b[pair]);
    }
    // round(P b / Q) modulo P, then its centred value over Q too, times t.
    const PolyView over_base = to_b.limbs(0, limbs);
    const PolyView over_auxiliary = to_b.limbs(limbs, plan.auxiliary().size());
    do_divide_and_round(queue, over_auxiliary, coefficients, plan.rounding(), Form::coefficient, workspace);
    if (workspace.measures()) continue;
    do_convert(queue, over_base, over_auxiliary, plan.to_base(), nullptr);
    do_multiply_scalar(queue, to_b, to_b, plan.factors(), plan.all());
    do_transform(queue, to_b, to_b, Form::evaluation, plan.all());
    repeat(to_b, b[pair]);
  }
}

void Backend::do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const ScaledProduct& plan,
                                Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
  const PolyShape two = with_components(out.shape, 2);
  const PolyView a_lifted = take(workspace, with_limbs(two, added));
  const PolyView b_lifted = take(workspace, with_limbs(two, limbs + added));
  do_lift_operands(queue, a_lifted, b_lifted, std::span(&a, 1), std::span(&b, 1), plan, workspace);
  // In evaluation form only the limbs of P are transformed back.
  const PolyView product = take(workspace, with_limbs(out.shape, limbs + added));
  if (!workspace.measures()) {
    const auto multiply = [&](const PolyView& to, const ConstPolyView& x, const ConstPolyView& y,
                              const RnsBase& base) {
      do_inner_product(queue, to, std::span(&x, 1), std::span(&y, 1), base);
    };
    multiply(product.limbs(0, limbs), a, b_lifted.limbs(0, limbs), plan.base());
    multiply(product.limbs(limbs, added), a_lifted, b_lifted.limbs(limbs, added), plan.auxiliary());
  }
  do_divide_and_round(queue, out, product, plan.division(), Form::evaluation, workspace);
}

}  // namespace hemera::poly
