// The fused operations in terms of the simpler ones: what a backend gets without overriding them, and what
// its overrides are checked against.
#include "hemera/poly/backend.hpp"

#include <algorithm>
#include <vector>

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

// The limbs of `in` at these positions: a part of `in` when they follow each other, else copied to scratch.
ConstPolyView gather(const Backend& backend, runtime::Queue& queue, const ConstPolyView& in,
                     const std::vector<std::uint32_t>& positions, const PolyView& scratch) {
  if (positions.back() - positions.front() + 1 == positions.size() &&
      std::is_sorted(positions.begin(), positions.end())) {
    return in.limbs(positions.front(), positions.size());
  }
  for_each_run(positions, [&](std::size_t first, std::size_t position, std::size_t count) {
    backend.copy(queue, scratch.limbs(first, count), in.limbs(position, count));
  });
  return scratch.limbs(0, positions.size());
}

std::size_t largest_conversion(const ModUp& plan) {
  std::size_t largest = 0;
  for (const auto& positions : plan.other_positions()) largest = std::max(largest, positions.size());
  return largest;
}

std::size_t largest_digit(const ModUp& plan) {
  std::size_t largest = 0;
  for (const auto& positions : plan.own_positions()) largest = std::max(largest, positions.size());
  return largest;
}

}  // namespace

std::unique_ptr<Backend::Recording> Backend::record(Queue& /*queue*/,
                                                    const std::function<void()>& /*operations*/) const {
  throw DeviceError("device '" + device().name() +
                    "' does not record operations; run them, or use a CUDA device");
}

void Backend::copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                        const ConstPolyView& in, Form form) const {
  if (in.shape != out.shape) throw MismatchError("copy_from: the input and the output have different shapes");
  std::vector<std::uint64_t> host(in.shape.words());
  source.download(source_queue, host, in, form);
  source_queue.synchronize();
  upload(queue, out, host, form);
  // It may be a key.
  runtime::secure_zero(host.data(), host.size() * sizeof(std::uint64_t));
}

void Backend::inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                            std::span<const ConstPolyView> b, const RnsBase& base) const {
  check_inner_product(out, a, b, base);
  const std::size_t right = b.front().shape.components;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].shape.components; ++j) {
      for (std::size_t k = 0; k < right; ++k) {
        const PolyView sum = out.components(j + k, 1);
        if (i == 0 && (j == 0 || k + 1 == right)) {  // the first product of this component
          multiply(queue, sum, a[i].components(j, 1), b[i].components(k, 1), base);
        } else {
          multiply_add(queue, sum, a[i].components(j, 1), b[i].components(k, 1), base);
        }
      }
    }
  }
}

std::size_t Backend::divide_and_round_workspace(const PolyShape& in, const Division& plan) const {
  const std::size_t targets = plan.target().size();
  std::size_t bytes = bytes_of(with_limbs(in, plan.dropped().size())) +
                      bytes_of(with_limbs(in, plan.conversion().target().size()));
  if (!plan.plaintext().empty()) bytes += bytes_of(with_limbs(in, targets));
  return bytes;
}

void Backend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const Division& plan, Form form, Workspace& workspace) const {
  check_view("divide_and_round", "output", out, plan.target());
  check_input("divide_and_round", "input", in, out.shape, plan.source());
  const Workspace::Frame frame(workspace);
  const std::size_t targets = plan.target().size();

  // E x modulo the dropped moduli, coefficient form.
  const PolyView scratch = take(workspace, with_limbs(in.shape, plan.dropped().size()));
  ConstPolyView dropped = gather(*this, queue, in, plan.dropped_positions(), scratch);
  if (form == Form::evaluation) {
    inverse_transform(queue, scratch, dropped, plan.dropped());
    dropped = scratch;
  }
  if (plan.adds_primes()) {
    multiply_scalar(queue, scratch, dropped, operands(plan.added_product_dropped()), plan.dropped());
    dropped = scratch;
  }

  // delta modulo the target moduli, and modulo t.
  const PolyView converted = take(workspace, with_limbs(in.shape, plan.conversion().target().size()));
  const PolyView delta = converted.limbs(0, targets);
  convert(queue, converted, dropped, plan.conversion());
  if (!plan.plaintext().empty()) {
    const PolyView correction = take(workspace, with_limbs(in.shape, targets));
    const PolyView plain = converted.limbs(targets, 1);
    multiply_scalar(queue, plain, plain, std::vector{plan.negative_inverse_plain()}, plan.plaintext());
    convert(queue, correction, plain, plan.plaintext_conversion());
    multiply_scalar(queue, correction, correction, operands(plan.dropped_product()), plan.target());
    add(queue, delta, delta, correction, plan.target());
  }
  if (form == Form::evaluation) forward_transform(queue, delta, delta, plan.target());
  finish_division(queue, out, in, delta, plan);
}

std::size_t Backend::mod_up_workspace(const PolyShape& in, const ModUp& plan) const {
  return bytes_of(with_limbs(in, plan.base().size())) + bytes_of(with_limbs(in, largest_digit(plan))) +
         bytes_of(with_limbs(in, largest_conversion(plan)));
}

void Backend::mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
                     Workspace& workspace) const {
  check_view("mod_up", "output", out, plan.extended());
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the output", out.shape.components, plan.digits().size());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  check_broadcast("mod_up", "input", in.shape, out.shape);
  const Workspace::Frame frame(workspace);

  const PolyView other_form = take(workspace, in.shape);
  const PolyView digit_scratch = take(workspace, with_limbs(in.shape, largest_digit(plan)));
  const PolyView conversion_scratch = take(workspace, with_limbs(in.shape, largest_conversion(plan)));
  if (form == Form::evaluation) {
    inverse_transform(queue, other_form, in, plan.base());
  } else {
    forward_transform(queue, other_form, in, plan.base());
  }
  const ConstPolyView coefficients = form == Form::evaluation ? ConstPolyView(other_form) : in;
  const ConstPolyView values = form == Form::evaluation ? in : ConstPolyView(other_form);

  for (std::size_t d = 0; d < plan.digits().size(); ++d) {
    const GadgetDigit& digit = plan.digits()[d];
    const PolyView extended = out.components(d, 1);
    // The base comes first in `extended`, so an own limb has the same position in both.
    const std::vector<std::uint32_t>& own = plan.own_positions()[d];
    const ConstPolyView moduli =
        gather(*this, queue, coefficients, plan.base().positions(digit.moduli), digit_scratch);
    if (digit.width != 0) {
      extract_window(queue, extended, moduli, digit.shift, digit.width, plan.extended());
      forward_transform(queue, extended, extended, plan.extended());
      continue;
    }
    const std::vector<std::uint32_t>& others = plan.other_positions()[d];
    if (!others.empty()) {
      const PolyView converted = conversion_scratch.limbs(0, others.size());
      convert(queue, converted, moduli, plan.conversions()[d]);
      forward_transform(queue, converted, converted, plan.conversions()[d].target());
      for_each_run(others, [&](std::size_t first, std::size_t position, std::size_t count) {
        copy(queue, extended.limbs(position, count), converted.limbs(first, count));
      });
    }
    for_each_run(own, [&](std::size_t /*first*/, std::size_t position, std::size_t count) {
      copy(queue, extended.limbs(position, count), values.limbs(position, count));
    });
  }
}

void Backend::key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                const ConstPolyView& key, const ModUp& plan) const {
  check_key_inner_product(out, digits.shape.batch, key, plan);
  check_view("key_inner_product", "digits", digits, plan.extended());
  check_count("key_inner_product", "digits", digits.shape.components, plan.digits().size());
  const RnsBase& extended = plan.extended();
  for_each_run(plan.key_positions(), [&](std::size_t first, std::size_t position, std::size_t count) {
    const auto indices = extended.indices().subspan(first, count);
    const RnsBase base(extended.ring(), {indices.begin(), indices.end()});
    const PolyView sum = out.limbs(first, count);
    for (std::size_t d = 0; d < plan.digits().size(); ++d) {
      const ConstPolyView digit = digits.components(d, 1).limbs(first, count);
      const ConstPolyView factor = key.batches(plan.digits()[d].key_digit, 1).limbs(position, count);
      if (d == 0) {
        multiply(queue, sum, digit, factor, base);
      } else {
        multiply_add(queue, sum, digit, factor, base);
      }
    }
  });
}

std::size_t Backend::mod_up_inner_product_workspace(const PolyShape& in, const ModUp& plan) const {
  PolyShape digits = with_limbs(in, plan.extended().size());
  digits.components = plan.digits().size();
  return bytes_of(digits) + mod_up_workspace(in, plan);
}

void Backend::mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const ConstPolyView& key, const ModUp& plan, Form form,
                                   Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  PolyShape shape = with_limbs(in.shape, plan.extended().size());
  shape.components = plan.digits().size();
  const PolyView digits = take(workspace, shape);
  mod_up(queue, digits, in, plan, form, workspace);
  key_inner_product(queue, out, digits, key, plan);
}

namespace {

PolyShape pair_over(PolyShape in, const RnsBase& base) {
  in.components = 2;
  in.limbs = base.size();
  return in;
}

// The sums of a key switch to its output: ModDown, the addend, and the automorphism of both.
void end_switch(const Backend& backend, runtime::Queue& queue, const PolyView& out, const PolyView& sum,
                const ModUp& up, const Division* down, const ConstPolyView& addend,
                std::uint64_t galois_element, runtime::Workspace& workspace) {
  const runtime::Workspace::Frame frame(workspace);
  if (galois_element != 1) {
    const PolyView switched = take(workspace, out.shape);
    end_switch(backend, queue, switched, sum, up, down, addend, 1, workspace);
    return backend.automorphism(queue, out, switched, galois_element, Form::evaluation, up.base());
  }
  const bool adds = addend.data != nullptr;
  PolyView quotient = sum;
  if (down != nullptr) {
    quotient = adds && addend.data == out.data ? take(workspace, out.shape) : out;
    backend.divide_and_round(queue, quotient, sum, *down, Form::evaluation, workspace);
  }
  const std::size_t added = adds ? addend.shape.components : 0;
  if (added != 0) {
    backend.add(queue, out.components(0, added), quotient.components(0, added), addend, up.base());
  }
  if (added < out.shape.components && quotient.data != out.data) {
    const std::size_t rest = out.shape.components - added;
    backend.copy(queue, out.components(added, rest), quotient.components(added, rest));
  }
}

std::size_t end_switch_workspace(const Backend& backend, const PolyShape& in, const ModUp& up,
                                 const Division* down) {
  const PolyShape sum = pair_over(in, up.extended());
  const std::size_t division = down == nullptr ? 0 : backend.divide_and_round_workspace(sum, *down);
  return 2 * bytes_of(pair_over(in, up.base())) + division;
}

}  // namespace

std::size_t Backend::switch_key_workspace(const PolyShape& in, const ModUp& up, const Division* down) const {
  return bytes_of(pair_over(in, up.extended())) +
         std::max(mod_up_inner_product_workspace(in, up), end_switch_workspace(*this, in, up, down));
}

void Backend::switch_key(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& key,
                         const ModUp& up, const Division* down, const ConstPolyView& addend,
                         std::uint64_t galois_element, Workspace& workspace) const {
  check_switch_key(out, in, key, up, down, addend);
  const Workspace::Frame frame(workspace);
  const PolyView sum = take(workspace, with_limbs(out.shape, up.extended().size()));
  mod_up_inner_product(queue, sum, in, key, up, Form::evaluation, workspace);
  end_switch(*this, queue, out, sum, up, down, addend, galois_element, workspace);
}

std::size_t Backend::switch_keys_workspace(std::size_t /*count*/, const PolyShape& in, const ModUp& up,
                                           const Division* down) const {
  PolyShape digits = with_limbs(in, up.extended().size());
  digits.components = up.digits().size();
  return bytes_of(digits) + std::max(mod_up_workspace(in, up), bytes_of(pair_over(in, up.extended())) +
                                                                   end_switch_workspace(*this, in, up, down));
}

void Backend::switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                          const ModUp& up, const Division* down, const ConstPolyView& addend,
                          Workspace& workspace) const {
  for (const KeySwitch& each : switches) check_switch_key(each.out, in, each.key, up, down, addend);
  const Workspace::Frame frame(workspace);
  PolyShape shape = with_limbs(in.shape, up.extended().size());
  shape.components = up.digits().size();
  const PolyView digits = take(workspace, shape);
  mod_up(queue, digits, in, up, Form::evaluation, workspace);
  for (const KeySwitch& each : switches) {
    const Workspace::Frame inner(workspace);
    const PolyView sum = take(workspace, with_limbs(each.out.shape, up.extended().size()));
    key_inner_product(queue, sum, digits, each.key, up);
    end_switch(*this, queue, each.out, sum, up, down, addend, each.galois_element, workspace);
  }
}

std::size_t Backend::multiply_relinearize_workspace(const PolyShape& out, const ModUp& up,
                                                    const Division* down) const {
  PolyShape product = out, last = out;
  product.components = 3;
  last.components = 1;
  return bytes_of(product) + switch_key_workspace(last, up, down);
}

void Backend::multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                   const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                   const Division* down, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  PolyShape shape = out.shape;
  shape.components = 3;
  const PolyView product = take(workspace, shape);
  tensor_product(queue, product, a, b, up.base());
  switch_key(queue, out, product.components(2, 1), key, up, down, product.components(0, 2), 1, workspace);
}

std::size_t Backend::encrypt_zero_workspace(const PolyShape& out, const RnsBase& base,
                                            const Division* division) const {
  const PolyShape masked = with_limbs(out, base.size());
  PolyShape one = masked;
  one.components = 1;
  const std::size_t drawn = bytes_of(one) + bytes_of(masked);
  if (division == nullptr) return drawn;
  return bytes_of(masked) + std::max(drawn, divide_and_round_workspace(masked, *division));
}

void Backend::encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                           const RandomStream& stream, const ErrorDistribution& distribution,
                           std::uint64_t factor, const RnsBase& base, const Division* division,
                           const ConstPolyView& addend, Workspace& workspace) const {
  check_encrypt_zero(out, key, base, division, addend);
  const Workspace::Frame frame(workspace);
  const PolyShape shape = with_limbs(out.shape, base.size());
  const PolyView masked = division == nullptr ? out : take(workspace, shape);
  {
    const Workspace::Frame inner(workspace);
    PolyShape one = shape;
    one.components = 1;
    const PolyView u = take(workspace, one), errors = take(workspace, shape);
    sample_ternary(queue, u, stream, base);
    forward_transform(queue, u, u, base);
    multiply(queue, masked, key, u, base);
    sample_error(queue, errors, stream, distribution, base);
    if (factor != 1) multiply_scalar(queue, errors, errors, residues_of(factor, base), base);
    forward_transform(queue, errors, errors, base);
    add(queue, masked, masked, errors, base);
  }
  if (division != nullptr) {
    divide_and_round(queue, out, masked, *division, Form::evaluation, workspace);
  }
  if (addend.data == nullptr) return;
  const PolyView first = out.components(0, 1);
  add(queue, first, first, addend, division == nullptr ? base : division->target());
}

std::size_t Backend::sample_rlwe_workspace(const PolyShape& out) const {
  PolyShape one = out;
  one.batch = one.components = 1;
  return bytes_of(one);
}

void Backend::sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                          const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                          std::span<const GadgetTerm> terms, Workspace& workspace) const {
  check_sample_rlwe(out, secret, base, addend, terms);
  const PolyView b = out.components(0, 1), a = out.components(1, 1);
  sample_uniform(queue, a, from.uniform, base);
  sample_error(queue, b, from.errors, from.distribution, base);
  if (from.factor != 1) multiply_scalar(queue, b, b, residues_of(from.factor, base), base);
  forward_transform(queue, b, b, base);
  {
    const Workspace::Frame frame(workspace);
    const PolyView negated = take(workspace, secret.shape);
    negate(queue, negated, secret, base);
    multiply_add(queue, b, a, negated, base);
  }
  if (!terms.empty()) return add_terms(queue, b, addend, terms, base, workspace);
  if (addend.data != nullptr) add(queue, b, b, addend, base);
}

void Backend::add_terms(Queue& queue, const PolyView& out, const ConstPolyView& addend,
                        std::span<const GadgetTerm> terms, const RnsBase& base, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyView scaled = take(workspace, with_limbs(addend.shape, 1));
  for (const GadgetTerm& term : terms) {
    const RnsBase single(base.ring(), {base.index(term.limb)});
    const PolyView target = out.batches(term.batch, 1).limbs(term.limb, 1);
    multiply_scalar(queue, scaled, addend.limbs(term.limb, 1), std::span(&term.factor, 1), single);
    add(queue, target, target, scaled, single);
  }
}

std::size_t Backend::lift_integers_workspace(const PolyShape& in) const { return bytes_of(in); }

void Backend::lift_integers(Queue& queue, const PolyView& out, const ConstPolyView& in, std::uint64_t factor,
                            std::span<const std::uint64_t> scalars, const BaseConversion& lift,
                            Workspace& workspace) const {
  check_lift_integers(out, in, scalars, lift);
  const Workspace::Frame frame(workspace);
  ConstPolyView integers = in;
  if (factor != 1) {
    const PolyView scaled = take(workspace, in.shape);
    multiply_scalar(queue, scaled, in, std::span(&factor, 1), lift.source());
    integers = scaled;
  }
  convert(queue, out, integers, lift);
  if (!scalars.empty()) multiply_scalar(queue, out, out, scalars, lift.target());
  forward_transform(queue, out, out, lift.target());
}

std::size_t Backend::lift_operands_workspace(const PolyShape& out, const ScaledProduct& plan) const {
  const PolyShape coefficients = with_components(with_limbs(out, plan.base().size()), 2);
  return bytes_of(coefficients) + divide_and_round_workspace(coefficients, plan.rounding());
}

void Backend::lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                            const ConstPolyView& a, const ConstPolyView& b, const ScaledProduct& plan,
                            Workspace& workspace) const {
  check_lift_operands(a_lifted, b_lifted, a, b, plan);
  const Workspace::Frame frame(workspace);
  const bool square = same_view(a, b);
  PolyShape shape = a.shape;
  shape.batch = std::max(a.shape.batch, b.shape.batch);
  const PolyView scratch = take(workspace, shape);
  const auto coefficients_of = [&](const ConstPolyView& x) {
    const PolyView coefficients = scratch.batches(0, x.shape.batch);
    inverse_transform(queue, coefficients, x, plan.base());
    return coefficients;
  };

  // a, centred, over P.
  PolyView coefficients = coefficients_of(a);
  convert(queue, a_lifted, coefficients, plan.to_auxiliary());
  forward_transform(queue, a_lifted, a_lifted, plan.auxiliary());

  // round(P b / Q) modulo P, then its centred value over Q too, times t.
  if (!square) coefficients = coefficients_of(b);
  const PolyView over_base = b_lifted.limbs(0, plan.base().size());
  const PolyView over_auxiliary = b_lifted.limbs(plan.base().size(), plan.auxiliary().size());
  divide_and_round(queue, over_auxiliary, coefficients, plan.rounding(), Form::coefficient, workspace);
  convert(queue, over_base, over_auxiliary, plan.to_base());
  multiply_scalar(queue, b_lifted, b_lifted, plan.factors(), plan.all());
  forward_transform(queue, b_lifted, b_lifted, plan.all());
}

std::size_t Backend::scaled_product_workspace(const PolyShape& out, const ScaledProduct& plan) const {
  const PolyShape two = with_components(out, 2);
  const PolyShape product = with_limbs(with_components(out, 3), plan.all().size());
  return bytes_of(with_limbs(two, plan.auxiliary().size())) + bytes_of(with_limbs(two, plan.all().size())) +
         std::max(lift_operands_workspace(out, plan),
                  bytes_of(product) + divide_and_round_workspace(product, plan.division()));
}

void Backend::scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                             const ConstPolyView& b, const ScaledProduct& plan, Workspace& workspace) const {
  check_scaled_product(out, a, b, plan);
  const Workspace::Frame frame(workspace);
  const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
  const PolyView a_lifted = take(workspace, with_limbs(a.shape, added));
  const PolyView b_lifted = take(workspace, with_limbs(b.shape, limbs + added));
  lift_operands(queue, a_lifted, b_lifted, a, b, plan, workspace);
  // In evaluation form only the limbs of P are transformed back.
  const PolyView product = take(workspace, with_limbs(out.shape, limbs + added));
  tensor_product(queue, product.limbs(0, limbs), a, b_lifted.limbs(0, limbs), plan.base());
  tensor_product(queue, product.limbs(limbs, added), a_lifted, b_lifted.limbs(limbs, added),
                 plan.auxiliary());
  divide_and_round(queue, out, product, plan.division(), Form::evaluation, workspace);
}

}  // namespace hemera::poly
