#include "hemera/rlwe/needed_keys.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

// BFV's and BGV's own needs, and those of a circuit, with the roles that they have there.
struct BothNeeds {
  std::vector<KeyNeed> own, circuit;

  explicit BothNeeds(std::span<const KeyNeed> needs) {
    for (const KeyNeed& need : needs) {
      if (is_of_circuit(need.role)) {
        circuit.push_back({role_in_circuit(need.role), need.gadget});
      } else {
        own.push_back(need);
      }
    }
  }
};

// The secret that exists only within a call: the number in roles of keys to it. Empty: the key has none.
std::optional<std::uint32_t> fresh_secret_of(const KeyRole& role) {
  if (const auto slots = to_block_of(role); slots && role == to_block_role(*slots)) return role.to;
  if (const auto block = block_of(role); block && role == block_role(block->slots, block->number)) {
    return to_block_role(block->slots).to;
  }
  for (const KeyRole& ends : {KeyRole{.to = role.to}, KeyRole{.from = role.from}}) {
    if (role == ends && ephemeral_weight_of(std::max(role.to, role.from)))
      return std::max(role.to, role.from);
  }
  return std::nullopt;
}

bool is_of_one_secret(const KeyRole& role, std::size_t degree) {
  const bool is_known = role.power <= 2 && role.galois_element % 2 == 1 && role.galois_element < 2 * degree &&
                        role.from == 0 && role.to == 0;
  return is_known && role != KeyRole{};
}

void require_one_key_to_each(const Context& context, std::span<const KeyNeed> needs) {
  struct Ends {
    std::size_t to = 0, from = 0;          // keys to the secret, and from it
    const GadgetPrimes* gadget = nullptr;  // of those from it
  };
  std::map<std::uint32_t, Ends> keys;  // by fresh secrets
  for (const KeyNeed& need : needs) {
    static_cast<void>(context.gadget(need.gadget));
    if (const auto fresh = fresh_secret_of(need.role)) {
      Ends& ends = keys[*fresh];
      ++(need.role.to != 0 ? ends.to : ends.from);
      if (need.role.to != 0) continue;
      if (ends.gadget == nullptr) ends.gadget = &need.gadget;
      if (*ends.gadget != need.gadget) throw ParameterError("keys from one secret have one gadget");
    } else if (!part_of(need.role) && !is_of_one_secret(need.role, context.degree())) {
      throw ParameterError("a key from secret " + std::to_string(need.role.from) + " to " +
                           std::to_string(need.role.to) + ", of the power " +
                           std::to_string(need.role.power) + " and the Galois element " +
                           std::to_string(need.role.galois_element) + ", which this library does not make");
    }
  }
  for (const auto& [secret, ends] : keys) {
    if (ends.to == 1 && ends.from >= 1 && (!ephemeral_weight_of(secret) || ends.from == 1)) continue;
    throw ParameterError(std::to_string(ends.to) + " keys to a secret that no other party has, and " +
                         std::to_string(ends.from) + " from it; ask for one to it, and for its others");
  }
}

// Keys from parts of the secret, which is split once for those that have a gadget and a number of parts.
void add_part_keys(EvaluationKeys& keys, const SecretKey& secret, std::span<const KeyNeed> needs) {
  std::map<std::pair<std::size_t, GadgetPrimes>, std::vector<SecretPart>> parts;
  for (const KeyNeed& need : needs) {
    if (const auto part = part_of(need.role)) parts[{part->parts, need.gadget}].push_back(*part);
  }
  for (const auto& [way, own] : parts) {
    auto made = generate_part_keys(secret, own, secret.context->gadget(way.second));
    for (std::size_t i = 0; i < own.size(); ++i) {
      keys.add(part_role(own[i]), std::make_shared<const SwitchingKey>(std::move(made[i])));
    }
  }
}

// Keys to one secret in blocks, and encryptions of it.
void add_block_keys(EvaluationKeys& keys, const SecretKey& secret, const KeyNeed& to_block,
                    std::span<const KeyNeed> needs) {
  const auto slots = to_block_of(to_block.role);
  if (!slots) return;
  std::vector<std::size_t> numbers;
  const KeyNeed* wide = nullptr;
  for (const KeyNeed& need : needs) {
    const auto encryption = block_of(need.role);
    if (!encryption || encryption->slots != *slots) continue;
    wide = &need;
    numbers.push_back(encryption->number);
  }
  const BlockKeys made = generate_block_keys(secret, *slots, numbers, secret.context->gadget(to_block.gadget),
                                             secret.context->gadget(wide->gadget));
  keys.add(to_block.role, made.to_block);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    keys.add(block_role(*slots, numbers[i]), made.encryptions[i]);
  }
}

// The keys to and from one ephemeral secret.
void add_ephemeral_keys(EvaluationKeys& keys, const SecretKey& secret, const KeyNeed& to_ephemeral,
                        std::span<const KeyNeed> needs) {
  const auto weight = ephemeral_weight_of(to_ephemeral.role.to);
  if (!weight) return;
  const KeyRole back{.from = to_ephemeral.role.to};
  const auto from =
      std::find_if(needs.begin(), needs.end(), [&](const KeyNeed& need) { return need.role == back; });
  const Context& context = *secret.context;
  const EncapsulationKeys pair = generate_encapsulation_keys(
      secret, *weight, context.gadget(to_ephemeral.gadget), context.gadget(from->gadget));
  keys.add(to_ephemeral.role, pair.to_ephemeral);
  keys.add(back, pair.from_ephemeral);
}

Security security_of_blocks(const BlockSecret& secret, const GadgetPrimes& gadget) {
  const double modulus = arith::log2_product(gadget.base) + arith::log2_product(gadget.special);
  for (const Security security : {Security::at_least_256, Security::at_least_192, Security::at_least_128}) {
    const auto most = max_log_modulus_of_blocks(secret.degree, bits(security), secret.blocks);
    if (most && modulus <= *most) return security;
  }
  return Security::below_128;
}

}  // namespace

Security security_of(const ContextPointer& context, const KeyNeed& need) {
  const Parameters& parameters = key_context(context, need.role)->parameters();
  const KeyRole role = role_in_circuit(need.role);
  if (const auto slots = to_block_of(role)) return security_of_blocks(slots->secret, need.gadget);
  const auto weight = ephemeral_weight_of(role.to);
  return weight ? parameters.security(need.gadget, {.weight = *weight}) : parameters.security(need.gadget);
}

void require_needs(const ContextPointer& context, std::span<const KeyNeed> needs, int least) {
  require_filled(context, "keys for a list of needs");
  require_security_class(least == 0 ? std::nullopt : std::optional(least));
  const BothNeeds both(needs);
  if (!both.circuit.empty()) {
    if (!context->parameters().has_circuit()) {
      throw ParameterError("keys of a circuit, which these parameters do not have");
    }
    require_one_key_to_each(*context->circuit(), both.circuit);
  }
  require_one_key_to_each(*context, both.own);
  for (const KeyNeed& need : needs) {
    if (const Security found = security_of(context, need); !has_bits(found, least)) {
      throw SecurityError(
          "evaluation keys of this list have a security of " + name(found) + " bits, and at least " +
          std::to_string(least) +
          " were asked for: whoever has them may find the secret; use other parameters, or ask "
          "for less");
    }
  }
}

bool is_made_alone(const KeyRole& role) {
  const KeyRole own = role_in_circuit(role);
  return !fresh_secret_of(own) && !part_of(own);
}

KeyMaker key_maker(const SecretKey& secret, const KeyNeed& need) {
  const auto gadget_of = [&](const SecretKey& of) {
    const GadgetPointer gadget = of.context->gadget(need.gadget);
    require_security(*of.context, *gadget, of.context->parameters().literal().secret);
    return gadget;
  };
  if (!is_of_circuit(need.role)) return {secret, need.role, gadget_of(secret)};
  SecretKey circuit = circuit_secret_key(secret);
  const GadgetPointer gadget = gadget_of(circuit);
  return {std::move(circuit), role_in_circuit(need.role), gadget};
}

EvaluationKeys generate_needed_keys(const SecretKey& secret, std::span<const KeyNeed> needs) {
  require_filled(secret, "generate_needed_keys");
  require_needs(secret.context, needs);
  EvaluationKeys keys;
  keys.context = secret.context;
  if (const BothNeeds both(needs); !both.circuit.empty()) {
    keys = keys_with_circuit(secret.context, generate_needed_keys(circuit_secret_key(secret), both.circuit));
    keys.merge(generate_needed_keys(secret, both.own));
    return keys;
  }
  // Weak parameters are found before any key is made.
  const Context& context = *secret.context;
  for (const KeyNeed& need : needs) {
    if (ephemeral_weight_of(need.role.to) || to_block_of(need.role)) continue;
    require_security(context, *context.gadget(need.gadget), context.parameters().literal().secret);
  }
  for (const KeyNeed& need : needs) {
    add_ephemeral_keys(keys, secret, need, needs);
    add_block_keys(keys, secret, need, needs);
  }
  add_part_keys(keys, secret, needs);
  for (const KeyNeed& need : needs) {
    if (!is_made_alone(need.role)) continue;
    keys.add(need.role, std::make_shared<const SwitchingKey>(
                            KeyMaker(secret, need.role, context.gadget(need.gadget)).key()));
  }
  return keys;
}

}  // namespace hemera::rlwe
