#include "hemera/rlwe/keys.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using runtime::Secrecy;

// A secret of the distribution, in evaluation form over all primes of keys.
SecretKey draw_secret(const ContextPointer& context, const SecretDistribution& distribution) {
  const poly::Backend& backend = context->backend();
  runtime::Queue& queue = context->queue();
  const poly::RnsBase& base = context->key_base();
  poly::Poly secret = context->make_poly(1, 1, base, Form::coefficient, Secrecy::secret);
  const poly::RandomStream stream{poly::Seed::fresh(), 0};
  auto workspace = context->make_workspace(Secrecy::secret);
  const auto draw = [&](const poly::Distribution& from) {
    backend.sample(queue, secret.view(), stream, from, base, workspace);
  };
  if (distribution.deviation != 0) {
    draw(poly::Distribution::error(poly::ErrorDistribution(distribution.deviation)));
  } else if (distribution.weight == 0) {
    draw(poly::Distribution::ternary());
  } else {
    draw(poly::Distribution::fixed_weight(distribution.weight));
  }
  backend.forward_transform(queue, secret.view(), secret.view(), base);
  secret.set_form(Form::evaluation);
  return {context, std::move(secret)};
}

}  // namespace

Security PublicKey::security() const {
  const ParametersLiteral& literal = context->parameters().literal();
  return classify(literal.degree, poly.base().log2(), literal.secret, literal.sigma);
}

Security SwitchingKey::security() const { return context->parameters().security(gadget->primes()); }

void EvaluationKeys::add(const KeyRole& role, std::shared_ptr<const SwitchingKey> key) {
  if (!key) throw MismatchError("adding a key: the key is null; make or load it first");
  require_filled(*key, "adding a key");
  if (context) require_same_context(*key_context(context, role), *key->context, "adding a key");
  const GadgetPrimes& gadget = key->gadget->primes();
  switching[role].insert_or_assign(gadget, stored_for(role, std::move(key)));
}

void EvaluationKeys::merge(const EvaluationKeys& other) {
  require_filled(*this, "merging keys");
  require_filled(other, "merging keys");
  require_same_context(*context, *other.context, "merging keys");
  if (!public_key) public_key = other.public_key;
  for (const auto& [role, keys] : other.switching) switching[role].insert(keys.begin(), keys.end());
  if (!copies) copies = other.copies;
}

std::shared_ptr<const SwitchingKey> EvaluationKeys::own(
    const KeyRole& role, const std::shared_ptr<const SwitchingKey>& key) const {
  if (!copies || !key) return key;
  const auto& target = key_context(context, role);
  return key->context == target ? key : copies->in(target, key);
}

std::shared_ptr<const SwitchingKey> EvaluationKeys::held(
    const KeyRole& role, const std::shared_ptr<const SwitchingKey>& key) const {
  return !copies || key->context == key_context(context, role) ? key : copies->find(key);
}

bool EvaluationKeys::has(const KeyRole& role, const GadgetPrimes& gadget) const {
  if (asked != nullptr) return true;
  const auto keys = switching.find(role);
  return keys != switching.end() && keys->second.contains(gadget);
}

std::shared_ptr<const SwitchingKey> EvaluationKeys::find(const KeyRole& role, std::size_t level) const {
  if (asked != nullptr) return asked->find(role, level);
  const auto keys = switching.find(role);
  if (keys == switching.end()) return nullptr;
  std::shared_ptr<const SwitchingKey> best;
  for (const auto& [gadget, key] : keys->second) {
    if (!key->gadget->serves(level)) continue;
    if (!best || key->gadget->cost(level) < best->gadget->cost(level)) best = key;
  }
  return own(role, best);
}

std::shared_ptr<const SwitchingKey> EvaluationKeys::find(const KeyRole& role,
                                                         const GadgetPrimes& gadget) const {
  if (asked != nullptr) return asked->find(role, gadget);
  const auto keys = switching.find(role);
  if (keys == switching.end()) return nullptr;
  const auto found = keys->second.find(gadget);
  return found == keys->second.end() ? nullptr : own(role, found->second);
}

std::vector<std::uint64_t> EvaluationKeys::galois_elements() const {
  std::vector<std::uint64_t> elements;
  for (const auto& [role, keys] : switching) {
    if (role.galois_element != 1 && role == KeyRole::galois(role.galois_element)) {
      elements.push_back(role.galois_element);
    }
  }
  return elements;
}

std::size_t EvaluationKeys::memory_bytes() const {
  std::size_t bytes = public_key ? public_key->poly.bytes() : 0;
  for (const auto& [role, keys] : switching) {
    for (const auto& [gadget, key] : keys) {
      if (const auto here = held(role, key)) bytes += here->poly.bytes();
    }
  }
  return bytes;
}

std::optional<Security> EvaluationKeys::security() const {
  std::optional<Security> weakest;
  const auto add = [&](Security security) { weakest = std::min(weakest.value_or(security), security); };
  if (public_key) add(public_key->security());
  for (const auto& [role, keys] : switching) {
    for (const auto& [gadget, key] : keys) add(key->security());
  }
  return weakest;
}

void expand_uniform_half(const Context& context, poly::Poly& poly, const poly::RandomStream& seed) {
  runtime::Workspace none;
  context.backend().sample(context.queue(), poly.view().components(1, 1), seed, poly::Distribution::uniform(),
                           poly.base(), none);
}

SecretKey generate_secret_key(const ContextPointer& context) {
  require_filled(context, "generate_secret_key");
  return draw_secret(context, context->parameters().literal().secret);
}

PublicKey generate_public_key(const SecretKey& secret) {
  require_filled(secret, "generate_public_key");
  const Context& context = *secret.context;
  const poly::RnsBase& base = context.public_key_base();
  poly::Poly pair = context.make_poly(1, 2, base, Form::evaluation);
  const poly::RandomStream seed = sample_rlwe(context, pair.view(), secret.poly, base);
  return {secret.context, std::move(pair), seed};
}

SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, GadgetPointer gadget) {
  return KeyMaker(from, to, std::move(gadget)).key();
}

SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, std::size_t level) {
  return generate_switching_key(from, to, from.context->gadget(level));
}

SwitchingKey generate_relinearization_key(const SecretKey& secret, GadgetPointer gadget) {
  return KeyMaker(secret, KeyRole::relinearization(), std::move(gadget)).key();
}

SwitchingKey generate_relinearization_key(const SecretKey& secret, std::size_t level) {
  return generate_relinearization_key(secret, secret.context->gadget(level));
}

SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element,
                                 GadgetPointer gadget) {
  return KeyMaker(secret, KeyRole::galois(galois_element), std::move(gadget)).key();
}

SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element, std::size_t level) {
  return generate_galois_key(secret, galois_element, secret.context->gadget(level));
}

std::uint32_t ephemeral_secret_of(std::size_t weight) {
  if (weight == 0 || weight > largest_ephemeral_weight) {
    throw ParameterError("an ephemeral secret of weight " + std::to_string(weight) +
                         "; it must be from 1 to " + std::to_string(largest_ephemeral_weight));
  }
  if (weight == usual_ephemeral_weight) return ephemeral_secret;
  return first_ephemeral_secret + static_cast<std::uint32_t>(weight);
}

std::optional<std::size_t> ephemeral_weight_of(std::uint32_t secret) {
  if (secret == ephemeral_secret) return usual_ephemeral_weight;
  if (secret <= first_ephemeral_secret || secret > first_ephemeral_secret + largest_ephemeral_weight) {
    return {};
  }
  return secret - first_ephemeral_secret;
}

EncapsulationKeys generate_encapsulation_keys(const SecretKey& secret, std::size_t weight,
                                              const GadgetPointer& narrow, const GadgetPointer& wide) {
  require_filled(secret, "generate_encapsulation_keys");
  const SecretDistribution sparse{.weight = weight};
  require_narrow(*secret.context, *narrow, weight);
  const SecretKey ephemeral = draw_secret(secret.context, sparse);
  const auto shared = [](SwitchingKey key) { return std::make_shared<const SwitchingKey>(std::move(key)); };
  return {shared(generate_switching_key(secret, ephemeral, narrow)),
          shared(generate_switching_key(ephemeral, secret, wide))};
}

bool is_of_circuit(const KeyRole& role) { return role.from == circuit_secret || role.to == circuit_secret; }

KeyRole circuit_role(KeyRole role) {
  if (role.from == 0) role.from = circuit_secret;
  if (role.to == 0) role.to = circuit_secret;
  return role;
}

KeyRole role_in_circuit(KeyRole role) {
  if (role.from == circuit_secret) role.from = 0;
  if (role.to == circuit_secret) role.to = 0;
  return role;
}

const ContextPointer& key_context(const ContextPointer& context, const KeyRole& role) {
  return is_of_circuit(role) && context->parameters().has_circuit() ? context->circuit() : context;
}

SecretKey circuit_secret_key(const SecretKey& secret) {
  require_filled(secret, "circuit_secret_key");
  const Context& context = *secret.context;
  SecretKey copy{context.circuit(),
                 context.make_poly(1, 1, context.circuit()->key_base(), Form::evaluation, Secrecy::secret)};
  context.backend().copy(context.queue(), copy.poly.view(), secret.poly.view());
  return copy;
}

namespace {

// The keys whose roles `other_role` changes, with these.
EvaluationKeys renumbered(const EvaluationKeys& keys, ContextPointer context,
                          KeyRole (*other_role)(KeyRole)) {
  EvaluationKeys result;
  result.context = std::move(context);
  result.copies = keys.copies;
  for (const auto& [role, of_role] : keys.switching) {
    const KeyRole other = other_role(role);
    if (other != role) result.switching[other] = of_role;
  }
  return result;
}

}  // namespace

EvaluationKeys circuit_keys(const EvaluationKeys& keys) {
  return renumbered(keys, keys.context->circuit(), role_in_circuit);
}

EvaluationKeys keys_with_circuit(const ContextPointer& context, const EvaluationKeys& circuit) {
  require_same_context(*context->circuit(), *circuit.context, "keys of a circuit");
  return renumbered(circuit, context, circuit_role);
}

EvaluationKeys generate_keys(const SecretKey& secret, const KeyRequest& request) {
  require_filled(secret, "generate_keys");
  const Context& context = *secret.context;
  const std::size_t highest = context.parameters().highest_user_level();
  EvaluationKeys keys;
  keys.context = secret.context;
  if (request.public_key) keys.public_key = std::make_shared<const PublicKey>(generate_public_key(secret));
  if (request.relinearization) {
    keys.add(KeyRole::relinearization(),
             std::make_shared<const SwitchingKey>(generate_relinearization_key(secret, highest)));
  }
  const std::size_t level = request.galois_level.value_or(highest);
  const auto add = [&](std::uint64_t element) {
    const KeyRole role = KeyRole::galois(element);
    if (element == 1 || keys.has(role)) return;
    keys.add(role, std::make_shared<const SwitchingKey>(generate_galois_key(secret, element, level)));
  };
  for (const std::int64_t steps : request.rotations) add(context.galois_element(steps));
  if (request.conjugation) add(context.conjugation_element());
  return keys;
}

}  // namespace hemera::rlwe
