#include "hemera/rlwe/hoisting.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/sum_metadata.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
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

// The same of components over Q u P, which are divided by P first.
poly::Poly divided_digits(const Context& context, const Gadget& gadget, std::size_t level,
                          const poly::ConstPolyView& in) {
  const poly::Division* down = gadget.mod_down(level);
  if (down == nullptr) return extended_digits(context, in, gadget.mod_up(level));
  poly::Poly divided = context.make_poly(in.shape.batch, 1, context.base(level), Form::evaluation);
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), divided.view(), in, *down, Form::evaluation, workspace);
  return extended_digits(context, std::as_const(divided).view(), gadget.mod_up(level));
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
ExtendedCiphertext turned(const ContextPointer& context, const GadgetPointer& gadget, const Metadata& meta,
                          poly::Poly sums, std::uint64_t galois_element) {
  ExtendedCiphertext result{context, gadget, switched(*context, *gadget, meta), std::move(sums)};
  if (galois_element == 1) return result;
  const poly::RnsBase base = result.poly.base();
  poly::Poly turned_sums = context->make_poly(result.poly.shape().batch, 2, base, Form::evaluation);
  context->backend().automorphism(context->queue(), turned_sums.view(), std::as_const(result.poly).view(),
                                  galois_element, Form::evaluation, base);
  result.poly = std::move(turned_sums);
  return result;
}

// The metadata of the product of an extended ciphertext, over `base`, and a plaintext.
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

void require_number(const ExtendedSums& sums, std::size_t number) {
  if (number < sums.meta.size()) return;
  throw MismatchError("number " + std::to_string(number) + " of " + std::to_string(sums.meta.size()) +
                      " sums");
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

// A ciphertext of size 2, over the level's base or over Q u P, and the digits of its second component.
struct Source {
  const Metadata* meta;
  poly::ConstPolyView view;
  const poly::Poly* digits;
};

ExtendedSums products_of(const ContextPointer& owner, GadgetPointer gadget, std::span<const Source> sources,
                         std::span<const HoistedTerm> terms, std::size_t count) {
  const Context& context = *owner;
  const std::size_t level = sources.front().meta->level, batch = sources.front().view.shape.batch;
  const poly::ModUp& up = gadget->mod_up(level);
  std::vector<std::optional<Metadata>> metas(count);
  std::vector<poly::HoistedTerm> products;
  for (const HoistedTerm& term : terms) {
    if (term.source >= sources.size()) {
      throw ParameterError("hoisted_products: a term of ciphertext " + std::to_string(term.source) + " of " +
                           std::to_string(sources.size()) + "; they are counted from 0");
    }
    const Source& source = sources[term.source];
    poly::HoistedTerm product{.addend = source.view, .galois_element = term.galois_element};
    Metadata meta = *source.meta;
    if (term.key != nullptr) {
      require_same_context(context, *term.key->context, "hoisted_products");
      require_gadget(*gadget, *term.key->gadget, "hoisted_products");
      if (!*source.digits) throw MismatchError("hoisted_products: a key of a ciphertext that was not split");
      product.digits = source.digits->view();
      product.key = term.key->poly.view();
      product.addend = source.view.components(0, 1);
      meta = switched(context, *gadget, meta);
    }
    if (term.factors.size() != count) {
      throw MismatchError("hoisted_products: a term has " + std::to_string(term.factors.size()) +
                          " plaintexts for " + std::to_string(count) + " sums");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Plaintext* factor = term.factors[i];
      product.factors.push_back(factor == nullptr ? poly::ConstPolyView() : factor->poly.view());
      if (factor == nullptr) continue;
      Metadata own = factor_product(context, meta, *factor, up.extended());
      if (metas[i]) {
        join_sum(context, *metas[i], own);
      } else {
        metas[i] = std::move(own);
      }
    }
    products.push_back(std::move(product));
  }
  ExtendedSums sums{owner, gadget, {}, context.make_poly(count * batch, 2, up.extended(), Form::evaluation)};
  std::vector<poly::PolyView> out;
  for (std::optional<Metadata>& meta : metas) {
    if (!meta) throw MismatchError("hoisted_products: a sum has no term");
    out.push_back(sums.poly.view().batches(out.size() * batch, batch));
    sums.meta.push_back(std::move(*meta));
  }
  auto workspace = context.make_workspace();
  context.backend().hoisted_products(context.queue(), out, products, up, gadget->special_residues(level),
                                     workspace);
  return sums;
}

// A term of hoisted_products, and its metadata: `view`, whose second component has these digits, turned.
std::pair<poly::HoistedTerm, Metadata> turned_term(const Context& context, const Gadget& gadget,
                                                   const Metadata& meta, const poly::ConstPolyView& view,
                                                   const poly::Poly& digits, const Turn& turn) {
  if (turn.key == nullptr) return {{.addend = view}, meta};
  require_same_context(context, *turn.key->context, "turning a ciphertext");
  require_gadget(gadget, *turn.key->gadget, "turning a ciphertext");
  return {{.digits = digits.view(),
           .key = turn.key->poly.view(),
           .addend = view.components(0, 1),
           .galois_element = turn.galois_element},
          switched(context, gadget, meta)};
}

// The sum of `view` turned by each of the turns; its second component has these digits.
ExtendedCiphertext turned_sum_of(const ContextPointer& context, GadgetPointer gadget, const Metadata& meta,
                                 const poly::ConstPolyView& view, const poly::Poly& digits,
                                 std::span<const Turn> turns) {
  if (turns.empty()) throw MismatchError("turned_sum: there is nothing to add up; give a turn or more");
  const poly::ModUp& up = gadget->mod_up(meta.level);
  std::optional<Metadata> total;
  std::vector<poly::HoistedTerm> terms;
  for (const Turn& turn : turns) {
    auto [term, own] = turned_term(*context, *gadget, meta, view, digits, turn);
    if (total) {
      join_sum(*context, *total, own);
    } else {
      total = std::move(own);
    }
    terms.push_back(std::move(term));
  }
  ExtendedCiphertext sum{context, std::move(gadget), std::move(*total),
                         context->make_poly(view.shape.batch, 2, up.extended(), Form::evaluation)};
  const poly::PolyView out = sum.poly.view();
  auto workspace = context->make_workspace();
  context->backend().hoisted_products(context->queue(), std::span(&out, 1), terms, up,
                                      sum.gadget->special_residues(meta.level), workspace);
  return sum;
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
  const poly::ConstPolyView view = in.poly.view();
  poly::Poly sums =
      key_sums(context, divided_digits(context, *key.gadget, level, view.components(1, 1)), key, up);
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

ExtendedSums hoisted_products(const Ciphertext& in, GadgetPointer gadget, std::span<const HoistedTerm> terms,
                              std::size_t count) {
  require_size_two(in, "hoisted_products");
  const poly::ConstPolyView c = in.poly.view();
  const bool switches = std::any_of(terms.begin(), terms.end(), [](const auto& term) { return term.key; });
  const poly::Poly digits =
      switches ? extended_digits(*in.context, c.components(1, 1), gadget->mod_up(in.meta.level))
               : poly::Poly();
  const Source source{.meta = &in.meta, .view = c, .digits = &digits};
  return products_of(in.context, std::move(gadget), std::span(&source, 1), terms, count);
}

ExtendedSums hoisted_products(std::span<const SplitCiphertext> sources, std::span<const HoistedTerm> terms,
                              std::size_t count) {
  if (sources.empty()) throw ParameterError("hoisted_products of no ciphertext; give one or more");
  const ExtendedCiphertext& first = sources.front().value;
  std::vector<Source> all;
  for (const SplitCiphertext& source : sources) {
    const ExtendedCiphertext& value = source.value;
    require_same_context(*first.context, *value.context, "hoisted_products");
    require_gadget(*first.gadget, *value.gadget, "hoisted_products");
    if (value.meta.level != first.meta.level || value.poly.shape() != first.poly.shape()) {
      throw MismatchError("hoisted_products: the ciphertexts are of several levels or batches");
    }
    all.push_back({.meta = &value.meta, .view = value.poly.view(), .digits = &source.digits});
  }
  return products_of(first.context, first.gadget, all, terms, count);
}

ExtendedSums turned_each(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns) {
  require_size_two(in, "turned_each");
  if (turns.empty()) throw MismatchError("turned_each: there is nothing to turn; give a turn or more");
  const Context& context = *in.context;
  const poly::ConstPolyView view = in.poly.view();
  const poly::ModUp& up = gadget->mod_up(in.meta.level);
  const std::size_t batch = view.shape.batch;
  const bool switches = std::any_of(turns.begin(), turns.end(), [](const Turn& turn) { return turn.key; });
  const poly::Poly digits = switches ? extended_digits(context, view.components(1, 1), up) : poly::Poly();
  ExtendedSums all{
      in.context, gadget, {}, context.make_poly(turns.size() * batch, 2, up.extended(), Form::evaluation)};
  auto workspace = context.make_workspace();
  for (const Turn& turn : turns) {
    auto [term, own] = turned_term(context, *gadget, in.meta, view, digits, turn);
    const poly::PolyView out = all.poly.view().batches(all.meta.size() * batch, batch);
    context.backend().hoisted_products(context.queue(), std::span(&out, 1), std::span(&term, 1), up,
                                       gadget->special_residues(in.meta.level), workspace);
    all.meta.push_back(std::move(own));
  }
  return all;
}

ExtendedCiphertext sum_at(const ExtendedSums& sums, std::size_t number) {
  require_number(sums, number);
  const Context& context = *sums.context;
  const std::size_t batch = sums.poly.shape().batch / sums.meta.size();
  ExtendedCiphertext sum{sums.context, sums.gadget, sums.meta[number],
                         context.make_poly(batch, 2, sums.poly.base(), Form::evaluation)};
  context.backend().copy(context.queue(), sum.poly.view(), sums.poly.view().batches(number * batch, batch));
  return sum;
}

ExtendedCiphertext turned_sum(const ExtendedSums& sums, std::span<const Turn> turns) {
  if (turns.empty() || turns.size() != sums.meta.size()) {
    throw MismatchError("turned_sum: " + std::to_string(sums.meta.size()) + " sums and " +
                        std::to_string(turns.size()) + " turns; each needs one");
  }
  const Context& context = *sums.context;
  const poly::Backend& backend = context.backend();
  const std::size_t level = sums.meta.front().level, batch = sums.poly.shape().batch / turns.size();
  const poly::ModUp& up = sums.gadget->mod_up(level);
  const auto is_switched = [](const Turn& turn) { return turn.key != nullptr; };
  const auto unswitched =
      static_cast<std::size_t>(std::find_if(turns.begin(), turns.end(), is_switched) - turns.begin());
  const std::size_t switched_batch = (turns.size() - unswitched) * batch;
  // The second components that are switched are divided and extended together.
  poly::Poly digits;
  if (switched_batch != 0) {
    digits = divided_digits(context, *sums.gadget, level,
                            sums.poly.view().batches(unswitched * batch, switched_batch).components(1, 1));
  }
  ExtendedCiphertext sum{
      sums.context, sums.gadget, {}, context.make_poly(batch, 2, up.extended(), Form::evaluation)};
  std::vector<poly::HoistedTerm> products;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    const poly::ConstPolyView view = sums.poly.view().batches(i * batch, batch);
    poly::HoistedTerm product{.addend = view, .galois_element = turn.galois_element};
    Metadata meta = sums.meta[i];
    if (is_switched(turn)) {
      require_same_context(context, *turn.key->context, "turned_sum");
      require_gadget(*sums.gadget, *turn.key->gadget, "turned_sum");
      product.digits = std::as_const(digits).view().batches((i - unswitched) * batch, batch);
      product.key = turn.key->poly.view();
      product.addend = view.components(0, 1);
      meta = switched(context, *sums.gadget, meta);
    } else if (i >= unswitched) {
      throw MismatchError("turned_sum: a sum that no key turns comes after one that a key does");
    }
    if (i == 0) {
      sum.meta = std::move(meta);
    } else {
      join_sum(context, sum.meta, meta);
    }
    products.push_back(std::move(product));
  }
  const poly::PolyView out = sum.poly.view();
  auto workspace = context.make_workspace();
  backend.hoisted_products(context.queue(), std::span(&out, 1), products, up,
                           sums.gadget->special_residues(level), workspace);
  return sum;
}

ExtendedCiphertext turned_sum(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns) {
  require_size_two(in, "turned_sum");
  const poly::ConstPolyView view = in.poly.view();
  const poly::Poly digits =
      extended_digits(*in.context, view.components(1, 1), gadget->mod_up(in.meta.level));
  return turned_sum_of(in.context, std::move(gadget), in.meta, view, digits, turns);
}

ExtendedCiphertext turned_sum(const ExtendedCiphertext& in, std::span<const Turn> turns) {
  const poly::ConstPolyView view = in.poly.view();
  const poly::Poly digits = divided_digits(*in.context, *in.gadget, in.meta.level, view.components(1, 1));
  return turned_sum_of(in.context, in.gadget, in.meta, view, digits, turns);
}

ExtendedCiphertext turned_sum(const SplitCiphertext& in, std::span<const Turn> turns) {
  return turned_sum_of(in.value.context, in.value.gadget, in.value.meta, in.value.poly.view(), in.digits,
                       turns);
}

ExtendedCiphertext turned_onto(const ExtendedSums& sums, std::size_t number, const ExtendedCiphertext& in,
                               const SwitchingKey& key, std::uint64_t galois_element) {
  require_number(sums, number);
  require_same_context(*sums.context, *in.context, "turned_onto");
  require_same_context(*in.context, *key.context, "turned_onto");
  require_gadget(*sums.gadget, *in.gadget, "turned_onto");
  require_gadget(*in.gadget, *key.gadget, "turned_onto");
  const Context& context = *in.context;
  const poly::ConstPolyView view = in.poly.view();
  const std::size_t batch = view.shape.batch;
  const poly::Poly digits = divided_digits(context, *in.gadget, in.meta.level, view.components(1, 1));
  const poly::HoistedTerm terms[] = {{.addend = sums.poly.view().batches(number * batch, batch)},
                                     {.digits = digits.view(),
                                      .key = key.poly.view(),
                                      .addend = view.components(0, 1),
                                      .galois_element = galois_element}};
  const poly::ModUp& up = in.gadget->mod_up(in.meta.level);
  ExtendedCiphertext result{in.context, in.gadget, sums.meta[number],
                            context.make_poly(batch, 2, up.extended(), Form::evaluation)};
  join_sum(context, result.meta, switched(context, *in.gadget, in.meta));
  const poly::PolyView out = result.poly.view();
  auto workspace = context.make_workspace();
  context.backend().hoisted_products(context.queue(), std::span(&out, 1), terms, up,
                                     in.gadget->special_residues(in.meta.level), workspace);
  return result;
}

Ciphertext mod_down(const ExtendedCiphertext& extended) { return divided(extended, extended.meta); }

Ciphertext mod_down_rescaled(const ExtendedCiphertext& extended) {
  return divided(extended, extended.context->scales().rescaled(extended.meta));
}

}  // namespace hemera::rlwe
