#include "hemera/circuits/plan.hpp"

#include <memory>
#include <utility>

#include "rlwe/requirements.hpp"

namespace hemera::circuits {

std::size_t key_bytes(std::size_t degree, std::span<const KeyNeed> needs) {
  std::size_t words = 0;
  for (const KeyNeed& need : needs) {
    words += need.gadget.digits.size() * 2 * (need.gadget.base.size() + need.gadget.special.size()) * degree;
  }
  return words * sizeof(std::uint64_t);
}

rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret, std::span<const KeyNeed> needs) {
  const rlwe::Context& context = *secret.context;
  rlwe::EvaluationKeys keys;
  keys.context = secret.context;
  for (const KeyNeed& need : needs) {
    const auto gadget = context.gadget(need.gadget);
    rlwe::require_security(context, *gadget, context.parameters().literal().secret);
    rlwe::SwitchingKey key = need.role.power == 2
                                 ? rlwe::generate_relinearization_key(secret, gadget)
                                 : rlwe::generate_galois_key(secret, need.role.galois_element, gadget);
    keys.add(need.role, std::make_shared<const rlwe::SwitchingKey>(std::move(key)));
  }
  return keys;
}

}  // namespace hemera::circuits
