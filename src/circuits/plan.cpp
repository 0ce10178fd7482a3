#include "hemera/circuits/plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

void require_security(const rlwe::Parameters& parameters, const rlwe::GadgetPrimes& gadget) {
  const std::optional<int> wanted = parameters.literal().security;
  const rlwe::Security found = parameters.security(gadget);
  if (!wanted || rlwe::bits(found) >= *wanted) return;
  throw SecurityError("a key that the circuit needs has security " + rlwe::name(found) + ", less than the " +
                      std::to_string(*wanted) +
                      " bits that the parameters ask for; use a circuit at a lower level, or parameters with "
                      "fewer special primes");
}

}  // namespace

std::vector<KeyNeed> united(std::span<const KeyNeed> a, std::span<const KeyNeed> b) {
  std::vector<KeyNeed> all(a.begin(), a.end());
  for (const KeyNeed& need : b) {
    if (std::find(all.begin(), all.end(), need) == all.end()) all.push_back(need);
  }
  return all;
}

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
    require_security(context.parameters(), need.gadget);
    rlwe::SwitchingKey key = need.role.power == 2
                                 ? rlwe::generate_relinearization_key(secret, gadget)
                                 : rlwe::generate_galois_key(secret, need.role.galois_element, gadget);
    keys.add(need.role, std::make_shared<const rlwe::SwitchingKey>(std::move(key)));
  }
  return keys;
}

}  // namespace hemera::circuits
