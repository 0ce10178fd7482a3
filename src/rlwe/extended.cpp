#include "rlwe/extended.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/sum_metadata.hpp"

namespace hemera::rlwe {

namespace {

using poly::Form;

Ciphertext divided(const ExtendedCiphertext& extended, Metadata meta) {
  const Context& context = *extended.context;
  Ciphertext result = make_ciphertext(extended.context, std::move(meta), 2);
  const poly::Division* division = extended.gadget->mod_down(extended.meta.level, result.meta.level);
  if (division == nullptr) {
    context.backend().copy(context.queue(), result.poly.view(), extended.poly.view());
    return result;
  }
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), result.poly.view(), extended.poly.view(), *division,
                                     Form::evaluation, workspace);
  return result;
}

}  // namespace

void require_gadget(const Gadget& a, const Gadget& b, const char* operation) {
  if (&a == &b) return;
  throw MismatchError(std::string(operation) +
                      ": the operands have different gadgets; take keys and digits of one gadget");
}

poly::Poly extended_digits(const Context& context, const poly::ConstPolyView& in, const poly::ModUp& up,
                           const poly::Division* down) {
  poly::Poly digits = context.make_poly(in.shape.batch, up.digits().size(), up.extended(), Form::evaluation);
  auto workspace = context.make_workspace();
  context.backend().mod_up(context.queue(), digits.view(), in, up, Form::evaluation, workspace, down);
  return digits;
}

poly::Poly divided_digits(const Context& context, const Gadget& gadget, std::size_t level,
                          const poly::ConstPolyView& in) {
  return extended_digits(context, in, gadget.mod_up(level), gadget.mod_down(level));
}

Metadata after_switch(const Context& context, const Gadget& gadget, Metadata meta) {
  meta.noise_log2 =
      sum_noise_log2(context, meta.noise_log2, switching_noise_log2(context, gadget, meta.level));
  return meta;
}

Metadata factor_product(const Context& context, const Metadata& a, const Plaintext& b,
                        const poly::RnsBase& base) {
  require_same_context(context, *b.context, "multiplying an extended ciphertext");
  if (b.poly.base() != base || b.poly.form() != Form::evaluation) {
    throw MismatchError("multiplying an extended ciphertext: the plaintext is over " +
                        std::to_string(b.poly.base().size()) + " moduli, the ciphertext over " +
                        std::to_string(base.size()) +
                        "; encode it over the level's base and the gadget's special primes");
  }
  if (broadcast(a.batch, b.meta.batch, "multiplying an extended ciphertext") != a.batch) {
    throw MismatchError("multiplying an extended ciphertext: the plaintext has the larger batch " +
                        to_text(b.meta.batch) + "; repeat the ciphertext first");
  }
  Metadata meta = context.scales().number_product(a, b.meta.scale);
  meta.slots = std::max(a.slots, b.meta.slots);
  meta.largest = largest_product(a.largest, b.meta.largest);
  return meta;
}

Digits decompose(const Ciphertext& ciphertext, GadgetPointer gadget) {
  require_size_two(ciphertext, "decompose");
  const Context& context = *ciphertext.context;
  const std::size_t level = ciphertext.meta.level;
  const poly::ConstPolyView c = ciphertext.poly.view();
  poly::Poly first = context.make_poly(c.shape.batch, 1, context.base(level), Form::evaluation);
  context.backend().copy(context.queue(), first.view(), c.components(0, 1));
  poly::Poly digits = extended_digits(context, c.components(1, 1), gadget->mod_up(level));
  return {ciphertext.context, std::move(gadget), ciphertext.meta, std::move(first), std::move(digits)};
}

ExtendedCiphertext extend(const Ciphertext& ciphertext, GadgetPointer gadget) {
  require_size_two(ciphertext, "extend");
  const Context& context = *ciphertext.context;
  const std::size_t level = ciphertext.meta.level;
  const poly::RnsBase& base = context.base(level);
  const poly::RnsBase& extended = gadget->mod_up(level).extended();
  ExtendedCiphertext result{ciphertext.context, gadget, ciphertext.meta,
                            context.make_poly(ciphertext.poly.shape().batch, 2, extended, Form::evaluation)};
  const poly::PolyView out = result.poly.view();
  context.backend().multiply_scalar(context.queue(), out.limbs(0, base.size()), ciphertext.poly.view(),
                                    gadget->special_residues(level), base);
  if (extended.size() != base.size()) {
    context.backend().fill_zero(context.queue(), out.limbs(base.size(), extended.size() - base.size()));
  }
  return result;
}

SplitCiphertext split(const Ciphertext& ciphertext, GadgetPointer gadget) {
  require_size_two(ciphertext, "split");
  poly::Poly digits = extended_digits(*ciphertext.context, ciphertext.poly.view().components(1, 1),
                                      gadget->mod_up(ciphertext.meta.level));
  return {extend(ciphertext, std::move(gadget)), std::move(digits)};
}

SplitCiphertext split(ExtendedCiphertext extended) {
  poly::Poly digits = divided_digits(*extended.context, *extended.gadget, extended.meta.level,
                                     std::as_const(extended.poly).view().components(1, 1));
  return {std::move(extended), std::move(digits)};
}

ExtendedCiphertext switch_extended(const Digits& digits, const SwitchingKey& key,
                                   std::uint64_t galois_element) {
  require_same_context(*digits.context, *key.context, "switch_extended");
  require_gadget(*digits.gadget, *key.gadget, "switch_extended");
  return switch_lifted(digits.context, key, digits.meta, digits.first.view(), digits.digits.view(),
                       galois_element);
}

ExtendedCiphertext switch_lifted(const ContextPointer& own, const SwitchingKey& key, const Metadata& meta,
                                 const poly::ConstPolyView& first, const poly::ConstPolyView& digits,
                                 std::uint64_t galois_element) {
  const Context& context = *own;
  const poly::Backend& backend = context.backend();
  const std::size_t level = meta.level, batch = first.shape.batch;
  const poly::RnsBase& base = context.base(level);
  const poly::ModUp& up = key.gadget->mod_up(level);
  poly::Poly sums = context.make_poly(batch, 2, up.extended(), Form::evaluation);
  backend.key_inner_product(context.queue(), sums.view(), digits, key.poly.view(), up);
  const poly::PolyView sum = sums.view().components(0, 1).limbs(0, base.size());
  const std::vector<std::uint64_t> scalars[] = {std::vector<std::uint64_t>(base.size(), 1),
                                                key.gadget->special_residues(level)};
  const poly::ConstPolyView terms[] = {sum, first};
  auto workspace = context.make_workspace();
  backend.combine(context.queue(), sum, terms, scalars, {}, base, workspace);
  if (galois_element != 1) {
    poly::Poly turned = context.make_poly(batch, 2, up.extended(), Form::evaluation);
    backend.automorphism(context.queue(), turned.view(), std::as_const(sums).view(), galois_element,
                         Form::evaluation, up.extended());
    sums = std::move(turned);
  }
  return {own, key.gadget, after_switch(context, *key.gadget, meta), std::move(sums)};
}

void add_inplace(ExtendedCiphertext& a, const ExtendedCiphertext& b) {
  require_same_context(*a.context, *b.context, "adding extended ciphertexts");
  require_gadget(*a.gadget, *b.gadget, "adding extended ciphertexts");
  const Context& context = *a.context;
  if (a.meta.level != b.meta.level || a.poly.shape() != b.poly.shape()) {
    throw MismatchError("adding extended ciphertexts: they are at levels " + std::to_string(a.meta.level) +
                        " and " + std::to_string(b.meta.level) + " with batches " + to_text(a.meta.batch) +
                        " and " + to_text(b.meta.batch) + "; both must agree");
  }
  const runtime::Uninterrupted whole;
  join_sum(context, a.meta, b.meta);
  const poly::PolyView sum = a.poly.view();
  context.backend().add(context.queue(), sum, sum, b.poly.view(), a.poly.base());
}

ExtendedCiphertext multiply_plain(const ExtendedCiphertext& a, const Plaintext& b) {
  ExtendedCiphertext product;
  multiply_plain_add(product, a, b);
  return product;
}

void multiply_plain_add(ExtendedCiphertext& sum, const ExtendedCiphertext& a, const Plaintext& b) {
  const Context& context = *a.context;
  Metadata meta = factor_product(context, a.meta, b, a.poly.base());
  const poly::RnsBase& base = a.poly.base();
  const runtime::Uninterrupted whole;
  if (!sum.poly) {
    sum = {a.context, a.gadget, std::move(meta),
           context.make_poly(a.poly.shape().batch, 2, base, Form::evaluation)};
    context.backend().multiply(context.queue(), sum.poly.view(), a.poly.view(), b.poly.view(), base);
    return;
  }
  require_gadget(*sum.gadget, *a.gadget, "multiplying an extended ciphertext");
  if (sum.poly.shape() != a.poly.shape()) {
    throw MismatchError("multiplying an extended ciphertext: the product has another batch than the sum");
  }
  join_sum(context, sum.meta, meta);
  context.backend().multiply_add(context.queue(), sum.poly.view(), a.poly.view(), b.poly.view(), base);
}

Ciphertext mod_down(const ExtendedCiphertext& extended) { return divided(extended, extended.meta); }

Ciphertext mod_down_rescaled(const ExtendedCiphertext& extended) {
  return divided(extended, extended.context->scales().rescaled(extended.meta));
}

}  // namespace hemera::rlwe
