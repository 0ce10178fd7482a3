#include "hemera/rlwe/transfer.hpp"

#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/peer_copies.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

poly::Poly copy_to(const Context& target, const Context& source, const poly::Poly& poly,
                   poly::Word word = poly::Word::u64) {
  require_same_parameters(target, source);
  // Contexts of the same parameters number the moduli of their rings alike.
  const auto indices = poly.base().indices();
  const poly::RnsBase base(target.backend().ring(), {indices.begin(), indices.end()});
  const poly::PolyShape& shape = poly.shape();
  poly::Poly result =
      target.make_poly(shape.batch, shape.components, base, poly.form(), poly.secrecy(), shape.degree, word);
  copy_between(
      target, result.view(), source, [&] { return poly.view(); }, poly.form());
  return result;
}

PublicKey copy_to(const ContextPointer& target, const PublicKey& source) {
  return {target, copy_to(*target, *source.context, source.poly), source.seed};
}

// A key that may be missing.
template <typename Key>
std::shared_ptr<const Key> copy_to(const ContextPointer& target, const std::shared_ptr<const Key>& source) {
  return source == nullptr ? nullptr : std::make_shared<const Key>(copy_to(target, *source));
}

}  // namespace

void require_same_parameters(const Context& target, const Context& source) {
  if (target.parameters().fingerprint() == source.parameters().fingerprint()) return;
  throw MismatchError("an object of the parameters " + source.parameters().short_fingerprint() +
                      " can not go to a context of the parameters " +
                      target.parameters().short_fingerprint() + "; make the context of the same parameters");
}

Plaintext copy_to(const ContextPointer& target, const Plaintext& source) {
  require_certain(source);
  return {target, source.meta, copy_to(*target, *source.context, source.poly)};
}

Ciphertext copy_to(const ContextPointer& target, const Ciphertext& source) {
  return {target, source.meta, copy_to(*target, *source.context, source.poly), source.seed};
}

SecretKey copy_to(const ContextPointer& target, const SecretKey& source) {
  return {target, copy_to(*target, *source.context, source.poly)};
}

SwitchingKey copy_to(const ContextPointer& target, const SwitchingKey& source) {
  return {target, target->gadget(source.gadget->primes()),
          stored_key(*target, copy_to(*target, *source.context, source.poly, target->key_word())),
          source.seed};
}

EvaluationKeys copy_to(const ContextPointer& target, const EvaluationKeys& source) {
  require_filled(target, "copy_to");
  require_filled(source, "copy_to");
  EvaluationKeys result{target, copy_to(target, source.public_key), {}};
  for (const auto& [role, keys] : source.switching) {
    for (const auto& [gadget, key] : keys) result.add(role, copy_to(key_context(target, role), key));
  }
  return result;
}

EvaluationKeys copied_on_use(const ContextPointer& target, const EvaluationKeys& source) {
  require_same_parameters(*target, *source.context);
  EvaluationKeys result{target, copy_to(target, source.public_key), source.switching};
  result.copies = std::make_shared<KeyCopies>();
  return result;
}

std::shared_ptr<const SwitchingKey> KeyCopies::in(const ContextPointer& target,
                                                  const std::shared_ptr<const SwitchingKey>& key) {
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(key);
  if (known != copies_.end()) return known->second;
  return copies_.emplace(key, copy_to(target, key)).first->second;
}

std::shared_ptr<const SwitchingKey> KeyCopies::find(const std::shared_ptr<const SwitchingKey>& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(key);
  return known == copies_.end() ? nullptr : known->second;
}

}  // namespace hemera::rlwe
