#include <algorithm>

#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

std::shared_ptr<const SwitchingKey> AskedKeys::made(const KeyRole& role, const GadgetPointer& gadget) {
  auto& key = keys_[{role, gadget->primes()}];
  if (!key) {
    const ContextPointer& context = key_context(context_, role);
    poly::Poly poly =
        context->make_poly(gadget->digits().size(), 2, gadget->modulus(), poly::Form::evaluation,
                           runtime::Secrecy::open, 0, context->key_word());
    key = std::make_shared<const SwitchingKey>(SwitchingKey{context, gadget, std::move(poly), {}});
  }
  return key;
}

std::shared_ptr<const SwitchingKey> AskedKeys::find(const KeyRole& role, std::size_t level) {
  if (choice_) {
    if (const auto own = choice_(role, level)) return find(role, *own);
  }
  const std::lock_guard lock(mutex_);
  // Levels of circuits have keys of their own, whose gadgets serve no others.
  for (const auto& [known, primes] : gadgets_) {
    if (known != role) continue;
    const auto gadget = key_context(context_, role)->gadget(primes);
    if (gadget->serves(level)) return made(role, gadget);
  }
  std::size_t& highest = levels_[role];
  highest = std::max(highest, level);
  return made(role, context_->gadget(level));
}

std::shared_ptr<const SwitchingKey> AskedKeys::find(const KeyRole& role, const GadgetPrimes& gadget) {
  const std::lock_guard lock(mutex_);
  const std::pair<KeyRole, GadgetPrimes> wanted{role, gadget};
  if (std::find(gadgets_.begin(), gadgets_.end(), wanted) == gadgets_.end()) gadgets_.push_back(wanted);
  return made(role, key_context(context_, role)->gadget(gadget));
}

AskedKeys::Levels AskedKeys::levels() const {
  const std::lock_guard lock(mutex_);
  return levels_;
}

std::vector<std::pair<KeyRole, GadgetPrimes>> AskedKeys::gadgets() const {
  const std::lock_guard lock(mutex_);
  return gadgets_;
}

}  // namespace hemera::rlwe
