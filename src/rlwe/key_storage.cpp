#include "rlwe/key_storage.hpp"

#include "hemera/poly/backend.hpp"

namespace hemera::rlwe {
namespace {

poly::Poly copy_of(const Context& context, const poly::Poly& key, poly::Word word,
                   const std::shared_ptr<runtime::Memory>& memory) {
  const poly::PolyShape& shape = key.shape();
  poly::Poly copy(memory, shape.batch, shape.components, key.base(), key.form(), key.secrecy(), shape.degree,
                  word);
  context.backend().copy(context.queue(), copy.view(), key.view());
  return copy;
}

}  // namespace

poly::Poly stored_key(const Context& context, poly::Poly key) {
  if (key.word() == context.key_word() && !context.keys_on_host()) return key;
  return copy_of(context, key, context.key_word(), context.key_memory());
}

// Matrices read little but keys, so that fewer bytes are worth their decoding; a switch alone is slower by a
// twentieth. Keys of products of a ciphertext and its image are read with those of the image.
poly::Word stored_word(const Context& context, const KeyRole& role, const GadgetPrimes& gadget) {
  const bool relinearizes = role.power != 1 && role.galois_element == 1;
  if (context.matrix_key_word() == context.key_word() || relinearizes) return context.key_word();
  const std::size_t level = context.gadget(gadget)->highest_level();
  return gadget == context.gadget(level)->primes() ? context.key_word() : context.matrix_key_word();
}

std::shared_ptr<const SwitchingKey> stored_for(const KeyRole& role, std::shared_ptr<const SwitchingKey> key) {
  const Context& context = *key->context;
  const poly::Word word = stored_word(context, role, key->gadget->primes());
  if (key->poly.word() == word) return key;
  return std::make_shared<const SwitchingKey>(SwitchingKey{
      key->context, key->gadget, copy_of(context, key->poly, word, context.key_memory()), key->seed});
}

Plaintext stored_plaintext(Plaintext plaintext) {
  const Context& context = *plaintext.context;
  if (!context.keys_on_host()) return plaintext;
  plaintext.poly = copy_of(context, plaintext.poly, plaintext.poly.word(), context.key_memory());
  return plaintext;
}

void with_wide_words(const Context& context, const poly::Poly& key,
                     const std::function<void(const poly::ConstPolyView&)>& use) {
  if (key.word() == poly::Word::u64) return use(key.view());
  const poly::Poly wide = copy_of(context, key, poly::Word::u64, context.memory());
  use(wide.view());
}

}  // namespace hemera::rlwe
