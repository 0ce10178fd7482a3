#include "multiparty/key_sums.hpp"

#include <algorithm>
#include <tuple>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/needed_keys.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/residues.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::multiparty {
namespace {

using poly::Form;

// The role of a key in its context. ParameterError for one that a group does not make.
rlwe::KeyRole made_role(const rlwe::KeyRole& of_need) {
  const rlwe::KeyRole role = rlwe::role_in_circuit(of_need);
  const bool is_of_one = role == rlwe::KeyRole::relinearization() ||
                         (role == rlwe::KeyRole::galois(role.galois_element) && role.galois_element != 1);
  const bool is_ephemeral =
      (role == rlwe::KeyRole{.to = role.to} && rlwe::ephemeral_weight_of(role.to)) ||
      (role == rlwe::KeyRole{.from = role.from} && rlwe::ephemeral_weight_of(role.from));
  if (is_of_one || is_ephemeral) return role;
  throw ParameterError(
      "a group makes public, Galois and relinearization keys, and those to an ephemeral secret and back; not "
      "those of products with images, of secrets in blocks and of parts of a secret. Choose a circuit "
      "without them");
}

// A key's polynomials in sums: [digit, component, limb, N].
poly::Poly zeros(const rlwe::Context& context, std::size_t batch, std::size_t components,
                 const poly::RnsBase& base) {
  poly::Poly sum = context.make_poly(batch, components, base, Form::evaluation);
  context.backend().fill_zero(context.queue(), sum.view());
  return sum;
}

bool has_default_gadget(const rlwe::Context& context, const rlwe::GadgetPrimes& gadget) {
  const rlwe::Parameters& parameters = context.parameters();
  return gadget == parameters.default_gadget(parameters.highest_user_level());
}

Fields name_of(const rlwe::KeyRole& role) {
  if (role.power == 2) return Fields("relin");
  if (role.to != 0) return Fields("to ephemeral").number(*rlwe::ephemeral_weight_of(role.to));
  if (role.from != 0) return Fields("from ephemeral").number(*rlwe::ephemeral_weight_of(role.from));
  return Fields("galois").number(role.galois_element);
}

// "galois", element, or "relin", and so on; after "circuit" of keys of a circuit; and the digest of the
// gadget where it is not the default one.
Fields name_of(const rlwe::Context& context, const rlwe::KeyNeed& need, const rlwe::KeyRole& role) {
  Fields name = rlwe::is_of_circuit(need.role) ? Fields("circuit").fields(name_of(role)) : name_of(role);
  if (has_default_gadget(context, need.gadget)) return name;
  runtime::ByteWriter out;
  out.u64s(need.gadget.base);
  out.u64s(need.gadget.special);
  for (const auto& digit : need.gadget.digits) out.u64s(digit);
  out.u32(static_cast<std::uint32_t>(need.gadget.window_bits));
  return name.digest(runtime::sha256(out.view()));
}

}  // namespace

KeySum::KeySum(const rlwe::ContextPointer& of_group, const rlwe::KeyNeed& of_need)
    : need(of_need),
      context(rlwe::key_context(of_group, need.role)),
      role(made_role(need.role)),
      gadget(context->gadget(need.gadget)),
      name(name_of(*context, need, role)),
      is_usual(context == of_group && has_default_gadget(*context, need.gadget)) {
  // Who lacks a piece faces its own ephemeral secret, of the weight of one.
  if (const auto weight = rlwe::ephemeral_weight_of(role.to)) {
    rlwe::require_narrow(*context, *gadget, *weight);
  } else {
    rlwe::require_security(*context, *gadget, context->parameters().literal().secret);
  }
  const std::size_t digits = gadget->digits().size();
  first = zeros(*context, digits, is_product() ? 2 : 1, gadget->modulus());
  if (is_product()) second = zeros(*context, digits, 1, gadget->modulus());
}

KeyMessages::Sums::Sums(const rlwe::ContextPointer& context, std::vector<rlwe::KeyNeed> needs)
    : public_key(zeros(*context, 1, 1, context->public_key_base())) {
  std::ranges::sort(needs, [](const rlwe::KeyNeed& a, const rlwe::KeyNeed& b) {
    return std::tie(a.role, a.gadget) < std::tie(b.role, b.gadget);
  });
  const auto twice = std::ranges::adjacent_find(needs);
  if (twice != needs.end()) throw ParameterError("a group's keys have one need twice");
  for (const rlwe::KeyNeed& need : needs) static_cast<void>(made_role(need.role));
  rlwe::require_needs(context, needs);
  keys.reserve(needs.size());
  for (const rlwe::KeyNeed& need : needs) keys.emplace_back(context, need);
}

std::size_t KeyMessages::Sums::bytes(const rlwe::Context& context, int round) {
  std::size_t all = round == 1 ? residue_bytes(context.public_key_base(), 1) : 0;
  for (KeySum& key : keys) {
    if (round == 2 && !key.is_product()) continue;
    const poly::PolyShape& shape = key.of(round).shape();
    all += residue_bytes(key.base(), shape.batch * shape.components);
  }
  return all;
}

}  // namespace hemera::multiparty
