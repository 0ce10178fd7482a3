#include "hemera/rlwe/hoisting.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/extended.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/sum_metadata.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

void require_number(const ExtendedSums& sums, std::size_t number) {
  if (number < sums.meta.size()) return;
  throw MismatchError("number " + std::to_string(number) + " of " + std::to_string(sums.meta.size()) +
                      " sums");
}

// Adds a term's metadata to a sum's, if the sum has some.
void join(const Context& context, std::optional<Metadata>& sum, Metadata&& term) {
  if (sum) {
    join_sum(context, *sum, term);
  } else {
    sum = std::move(term);
  }
}

// A ciphertext of size 2, over the level's base or over Q u P, and the digits of its second component.
struct Source {
  const Metadata* meta;
  poly::ConstPolyView view;
  poly::ConstPolyView digits;
};

// A term of hoisted_products, and its metadata: the source, turned.
std::pair<poly::HoistedTerm, Metadata> turned_term(const Context& context, const Gadget& gadget,
                                                   const Source& source, const Turn& turn,
                                                   const char* operation) {
  if (turn.key == nullptr) return {{.addend = source.view}, *source.meta};
  require_same_context(context, *turn.key->context, operation);
  require_gadget(gadget, *turn.key->gadget, operation);
  if (source.digits.data == nullptr) {
    throw MismatchError(std::string(operation) + ": a key of a ciphertext that was not split");
  }
  return {{.digits = source.digits,
           .key = turn.key->poly.view(),
           .addend = source.view.components(0, 1),
           .galois_element = turn.galois_element},
          after_switch(context, gadget, *source.meta)};
}

void add_up(const Context& context, const Gadget& gadget, std::size_t level,
            std::span<const poly::PolyView> out, std::span<const poly::HoistedTerm> terms) {
  auto workspace = context.make_workspace();
  context.backend().hoisted_products(context.queue(), out, terms, gadget.mod_up(level),
                                     gadget.special_residues(level), workspace);
}

// The sum of terms, which has this metadata and batch.
ExtendedCiphertext sum_of(const ContextPointer& context, const GadgetPointer& gadget, Metadata meta,
                          std::size_t batch, std::span<const poly::HoistedTerm> terms) {
  const poly::RnsBase& extended = gadget->mod_up(meta.level).extended();
  ExtendedCiphertext sum{context, gadget, std::move(meta),
                         context->make_poly(batch, 2, extended, Form::evaluation)};
  const poly::PolyView out = sum.poly.view();
  add_up(*context, *gadget, sum.meta.level, std::span(&out, 1), terms);
  return sum;
}

ExtendedSums products_of(const ContextPointer& owner, GadgetPointer gadget, std::span<const Source> sources,
                         std::span<const HoistedTerm> terms, std::size_t count) {
  const Context& context = *owner;
  const std::size_t level = sources.front().meta->level, batch = sources.front().view.shape.batch;
  const poly::RnsBase& extended = gadget->mod_up(level).extended();
  std::vector<std::optional<Metadata>> metas(count);
  std::vector<poly::HoistedTerm> products;
  for (const HoistedTerm& term : terms) {
    if (term.source >= sources.size()) {
      throw ParameterError("hoisted_products: a term of ciphertext " + std::to_string(term.source) + " of " +
                           std::to_string(sources.size()) + "; they are counted from 0");
    }
    auto [product, meta] = turned_term(context, *gadget, sources[term.source],
                                       {term.key, term.galois_element}, "hoisted_products");
    if (term.factors.size() != count) {
      throw MismatchError("hoisted_products: a term has " + std::to_string(term.factors.size()) +
                          " plaintexts for " + std::to_string(count) + " sums");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Plaintext* factor = term.factors[i];
      product.factors.push_back(factor == nullptr ? poly::ConstPolyView() : factor->poly.view());
      if (factor != nullptr) join(context, metas[i], factor_product(context, meta, *factor, extended));
    }
    products.push_back(std::move(product));
  }
  ExtendedSums sums{owner, gadget, {}, context.make_poly(count * batch, 2, extended, Form::evaluation)};
  std::vector<poly::PolyView> out;
  for (std::optional<Metadata>& meta : metas) {
    if (!meta) throw MismatchError("hoisted_products: a sum has no term");
    out.push_back(sums.poly.view().batches(out.size() * batch, batch));
    sums.meta.push_back(std::move(*meta));
  }
  add_up(context, *gadget, level, out, products);
  return sums;
}

// The sum of the source turned by each of the turns.
ExtendedCiphertext turned_sum_of(const ContextPointer& context, const GadgetPointer& gadget,
                                 const Source& source, std::span<const Turn> turns) {
  if (turns.empty()) throw MismatchError("turned_sum: there is nothing to add up; give a turn or more");
  std::optional<Metadata> total;
  std::vector<poly::HoistedTerm> terms;
  for (const Turn& turn : turns) {
    auto [term, own] = turned_term(*context, *gadget, source, turn, "turned_sum");
    join(*context, total, std::move(own));
    terms.push_back(std::move(term));
  }
  return sum_of(context, gadget, std::move(*total), source.view.shape.batch, terms);
}

bool is_switched(const auto& turn) { return turn.key != nullptr; }

// The digits of a ciphertext's second component; none where no key turns it.
poly::Poly digits_for(const auto& turns, const Ciphertext& in, const Gadget& gadget, const char* operation) {
  require_size_two(in, operation);
  if (std::ranges::none_of(turns, [](const auto& turn) { return is_switched(turn); })) return {};
  return extended_digits(*in.context, in.poly.view().components(1, 1), gadget.mod_up(in.meta.level));
}

}  // namespace

ExtendedSums hoisted_products(const Ciphertext& in, GadgetPointer gadget, std::span<const HoistedTerm> terms,
                              std::size_t count) {
  const poly::Poly digits = digits_for(terms, in, *gadget, "hoisted_products");
  const Source source{.meta = &in.meta, .view = in.poly.view(), .digits = digits.view()};
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
    all.push_back({.meta = &value.meta, .view = value.poly.view(), .digits = source.digits.view()});
  }
  return products_of(first.context, first.gadget, all, terms, count);
}

ExtendedSums turned_each(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns) {
  if (turns.empty()) throw MismatchError("turned_each: there is nothing to turn; give a turn or more");
  const poly::Poly digits = digits_for(turns, in, *gadget, "turned_each");
  const Context& context = *in.context;
  const Source source{.meta = &in.meta, .view = in.poly.view(), .digits = digits.view()};
  const std::size_t level = in.meta.level, batch = source.view.shape.batch;
  const poly::RnsBase& extended = gadget->mod_up(level).extended();
  ExtendedSums all{
      in.context, gadget, {}, context.make_poly(turns.size() * batch, 2, extended, Form::evaluation)};
  for (const Turn& turn : turns) {
    auto [term, own] = turned_term(context, *gadget, source, turn, "turned_each");
    const poly::PolyView out = all.poly.view().batches(all.meta.size() * batch, batch);
    add_up(context, *gadget, level, std::span(&out, 1), std::span(&term, 1));
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
  const std::size_t level = sums.meta.front().level, batch = sums.poly.shape().batch / turns.size();
  const auto unswitched =
      static_cast<std::size_t>(std::ranges::find_if(turns, is_switched<Turn>) - turns.begin());
  // The second components that are switched are divided and extended together.
  poly::Poly digits;
  if (unswitched != turns.size()) {
    const poly::ConstPolyView rest =
        sums.poly.view().batches(unswitched * batch, (turns.size() - unswitched) * batch);
    digits = divided_digits(*sums.context, *sums.gadget, level, rest.components(1, 1));
  }
  std::optional<Metadata> total;
  std::vector<poly::HoistedTerm> terms;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (i >= unswitched && !is_switched(turns[i])) {
      throw MismatchError("turned_sum: a sum that no key turns comes after one that a key does");
    }
    Source source{.meta = &sums.meta[i], .view = sums.poly.view().batches(i * batch, batch), .digits = {}};
    if (i >= unswitched) {
      source.digits = std::as_const(digits).view().batches((i - unswitched) * batch, batch);
    }
    auto [term, own] = turned_term(*sums.context, *sums.gadget, source, turns[i], "turned_sum");
    join(*sums.context, total, std::move(own));
    terms.push_back(std::move(term));
  }
  return sum_of(sums.context, sums.gadget, std::move(*total), batch, terms);
}

ExtendedCiphertext turned_sum(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns) {
  const poly::Poly digits = digits_for(turns, in, *gadget, "turned_sum");
  return turned_sum_of(in.context, gadget, {&in.meta, in.poly.view(), digits.view()}, turns);
}

ExtendedCiphertext turned_sum(const ExtendedCiphertext& in, std::span<const Turn> turns) {
  const poly::ConstPolyView view = in.poly.view();
  const poly::Poly digits = divided_digits(*in.context, *in.gadget, in.meta.level, view.components(1, 1));
  return turned_sum_of(in.context, in.gadget, {&in.meta, view, digits.view()}, turns);
}

ExtendedCiphertext turned_sum(const SplitCiphertext& in, std::span<const Turn> turns) {
  const ExtendedCiphertext& value = in.value;
  return turned_sum_of(value.context, value.gadget, {&value.meta, value.poly.view(), in.digits.view()},
                       turns);
}

ExtendedCiphertext turned_onto(const ExtendedSums& sums, std::size_t number, const ExtendedCiphertext& in,
                               const SwitchingKey& key, std::uint64_t galois_element) {
  require_number(sums, number);
  require_same_context(*sums.context, *in.context, "turned_onto");
  require_gadget(*sums.gadget, *in.gadget, "turned_onto");
  const Context& context = *in.context;
  const poly::ConstPolyView view = in.poly.view();
  const std::size_t batch = view.shape.batch;
  const poly::Poly digits = divided_digits(context, *in.gadget, in.meta.level, view.components(1, 1));
  auto [term, own] = turned_term(context, *in.gadget, {&in.meta, view, digits.view()}, {&key, galois_element},
                                 "turned_onto");
  const poly::HoistedTerm terms[] = {{.addend = sums.poly.view().batches(number * batch, batch)},
                                     std::move(term)};
  Metadata meta = sums.meta[number];
  join_sum(context, meta, own);
  return sum_of(in.context, in.gadget, std::move(meta), batch, terms);
}

ExtendedCiphertext switch_extended(const ExtendedCiphertext& in, const SwitchingKey& key,
                                   std::uint64_t galois_element) {
  const Turn turn{.key = &key, .galois_element = galois_element};
  return turned_sum(in, std::span(&turn, 1));
}

}  // namespace hemera::rlwe
