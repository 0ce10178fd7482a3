#include "rlwe/key_storage.hpp"

#include <utility>

#include "hemera/poly/backend.hpp"

namespace hemera::rlwe {
namespace {

poly::Poly in_words(const Context& context, const poly::Poly& key, poly::Word word) {
  const poly::PolyShape& shape = key.shape();
  poly::Poly copy = context.make_poly(shape.batch, shape.components, key.base(), key.form(), key.secrecy(),
                                      shape.degree, word);
  context.backend().copy(context.queue(), copy.view(), key.view());
  return copy;
}

}  // namespace

poly::Poly stored_key(const Context& context, poly::Poly key) {
  return key.word() == context.key_word() ? std::move(key) : in_words(context, key, context.key_word());
}

void with_wide_words(const Context& context, const poly::Poly& key,
                     const std::function<void(const poly::ConstPolyView&)>& use) {
  if (key.word() == poly::Word::u64) return use(key.view());
  const poly::Poly wide = in_words(context, key, poly::Word::u64);
  use(wide.view());
}

}  // namespace hemera::rlwe
