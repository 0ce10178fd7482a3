#include "hemera/rlwe/hoisting.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using GadgetPointer = std::shared_ptr<const Gadget>;

void require_gadget(const Gadget& a, const Gadget& b, const char* operation) {
  if (&a == &b) return;
  throw MismatchError(std::string(operation) +
                      ": the operands have different gadgets; take keys and digits of one gadget");
}

// The digits of one component, in evaluation form over the extended base.
poly::Poly extended_digits(const Context& context, const poly::ConstPolyView& in, const poly::ModUp& up) {
  poly::Poly digits = context.make_poly(in.shape.batch, up.digits().size(), up.extended(), Form::evaluation);
  auto workspace = context.make_workspace();
  context.backend().mod_up(context.queue(), digits.view(), in, up, Form::evaluation, workspace);
  return digits;
}

poly::Poly key_sums(const Context& context, const poly::Poly& digits, const SwitchingKey& key,
                    const poly::ModUp& up) {
  poly::Poly sums = context.make_poly(digits.shape().batch, 2, up.extended(), Form::evaluation);
  context.backend().key_inner_product(context.queue(), sums.view(), digits.view(), key.poly.view(), up);
  return sums;
}

Metadata switched(const Context& context, const Gadget& gadget, Metadata meta) {
  meta.noise_log2 =
      sum_noise_log2(context, meta.noise_log2, switching_noise_log2(context, gadget, meta.level));
  return meta;
}

// phi_g of `sums`, which have the metadata `meta` before the switch.
ExtendedCiphertext turned(const std::shared_ptr<const Context>& context, const GadgetPointer& gadget,
                          const Metadata& meta, poly::Poly sums, std::uint64_t galois_element) {
  ExtendedCiphertext result{context, gadget, switched(*context, *gadget, meta), std::move(sums)};
  if (galois_element == 1) return result;
  const poly::RnsBase base = result.poly.base();
  poly::Poly turned_sums = context->make_poly(result.poly.shape().batch, 2, base, Form::evaluation);
  context->backend().automorphism(context->queue(), turned_sums.view(), std::as_const(result.poly).view(),
                                  galois_element, Form::evaluation, base);
  result.poly = std::move(turned_sums);
  return result;
}

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

ExtendedCiphertext switch_extended(const Digits& digits, const SwitchingKey& key,
                                   std::uint64_t galois_element) {
  require_same_context(*digits.context, *key.context, "switch_extended");
  require_gadget(*digits.gadget, *key.gadget, "switch_extended");
  const Context& context = *digits.context;
  const poly::Backend& backend = context.backend();
  const std::size_t level = digits.meta.level;
  const poly::RnsBase& base = context.base(level);
  const poly::ModUp& up = key.gadget->mod_up(level);
  poly::Poly sums = key_sums(context, digits.digits, key, up);
  poly::Poly scaled = context.make_poly(digits.first.shape().batch, 1, base, Form::evaluation);
  backend.multiply_scalar(context.queue(), scaled.view(), digits.first.view(),
                          key.gadget->special_residues(level), base);
  const poly::PolyView first = sums.view().components(0, 1).limbs(0, base.size());
  backend.add(context.queue(), first, first, std::as_const(scaled).view(), base);
  return turned(digits.context, digits.gadget, digits.meta, std::move(sums), galois_element);
}

ExtendedCiphertext switch_extended(const ExtendedCiphertext& in, const SwitchingKey& key,
                                   std::uint64_t galois_element) {
  require_same_context(*in.context, *key.context, "switch_extended");
  require_gadget(*in.gadget, *key.gadget, "switch_extended");
  const Context& context = *in.context;
  const poly::Backend& backend = context.backend();
  const std::size_t level = in.meta.level;
  const poly::ModUp& up = key.gadget->mod_up(level);
  const std::size_t batch = in.poly.shape().batch;
  const poly::ConstPolyView view = in.poly.view();

  poly::Poly divided_second;
  poly::ConstPolyView second = view.components(1, 1);
  if (const poly::Division* down = key.gadget->mod_down(level)) {
    divided_second = context.make_poly(batch, 1, context.base(level), Form::evaluation);
    auto workspace = context.make_workspace();
    backend.divide_and_round(context.queue(), divided_second.view(), second, *down, Form::evaluation,
                             workspace);
    second = std::as_const(divided_second).view();
  }
  poly::Poly sums = key_sums(context, extended_digits(context, second, up), key, up);
  const poly::PolyView first = sums.view().components(0, 1);
  backend.add(context.queue(), first, first, view.components(0, 1), up.extended());
  return turned(in.context, in.gadget, in.meta, std::move(sums), galois_element);
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
  if (!context.scales().is_aligned(a.meta, b.meta)) {
    throw ScaleError(
        "adding extended ciphertexts: their scales or correction factors differ; encode the "
        "plaintexts that multiply them at one scale");
  }
  const poly::PolyView sum = a.poly.view();
  context.backend().add(context.queue(), sum, sum, b.poly.view(), a.poly.base());
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.largest += b.meta.largest;
  a.meta.noise_log2 = sum_noise_log2(context, a.meta.noise_log2, b.meta.noise_log2);
}

ExtendedCiphertext multiply_plain(const ExtendedCiphertext& a, const Plaintext& b) {
  ExtendedCiphertext product;
  multiply_plain_add(product, a, b);
  return product;
}

void multiply_plain_add(ExtendedCiphertext& sum, const ExtendedCiphertext& a, const Plaintext& b) {
  require_same_context(*a.context, *b.context, "multiplying an extended ciphertext");
  const Context& context = *a.context;
  if (b.poly.base() != a.poly.base() || b.poly.form() != Form::evaluation) {
    throw MismatchError("multiplying an extended ciphertext: the plaintext is over " +
                        std::to_string(b.poly.base().size()) + " moduli, the ciphertext over " +
                        std::to_string(a.poly.base().size()) +
                        "; encode it over the level's base and the gadget's special primes");
  }
  if (broadcast(a.meta.batch, b.meta.batch, "multiplying an extended ciphertext") != a.meta.batch) {
    throw MismatchError("multiplying an extended ciphertext: the plaintext has the larger batch " +
                        to_text(b.meta.batch) + "; repeat the ciphertext first");
  }
  Metadata meta = context.scales().number_product(a.meta, b.meta.scale);
  meta.slots = std::max(a.meta.slots, b.meta.slots);
  meta.largest = largest_product(a.meta.largest, b.meta.largest);
  const poly::RnsBase& base = a.poly.base();
  if (!sum.poly) {
    sum = {a.context, a.gadget, std::move(meta),
           context.make_poly(a.poly.shape().batch, 2, base, Form::evaluation)};
    context.backend().multiply(context.queue(), sum.poly.view(), a.poly.view(), b.poly.view(), base);
    return;
  }
  require_gadget(*sum.gadget, *a.gadget, "multiplying an extended ciphertext");
  if (sum.poly.shape() != a.poly.shape() || !context.scales().is_aligned(sum.meta, meta)) {
    throw ScaleError(
        "multiplying an extended ciphertext: the product has another level, batch or scale than "
        "the sum; encode the plaintexts at one scale");
  }
  context.backend().multiply_add(context.queue(), sum.poly.view(), a.poly.view(), b.poly.view(), base);
  sum.meta.slots = std::max(sum.meta.slots, meta.slots);
  sum.meta.largest += meta.largest;
  sum.meta.noise_log2 = sum_noise_log2(context, sum.meta.noise_log2, meta.noise_log2);
}

Ciphertext mod_down(const ExtendedCiphertext& extended) { return divided(extended, extended.meta); }

Ciphertext mod_down_rescaled(const ExtendedCiphertext& extended) {
  return divided(extended, extended.context->scales().rescaled(extended.meta));
}

}  // namespace hemera::rlwe
