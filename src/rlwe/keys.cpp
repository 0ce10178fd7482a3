#include "hemera/rlwe/keys.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using runtime::Secrecy;

void require_level(const Context& context, std::size_t level, const char* operation) {
  if (level > context.top_level()) {
    throw LevelError(std::string(operation) + ": level " + std::to_string(level) +
                     " is above the top level " + std::to_string(context.top_level()));
  }
}

}  // namespace

void expand_uniform_half(const Context& context, poly::Poly& poly, const poly::RandomStream& seed) {
  runtime::Workspace none;
  context.backend().sample(context.queue(), poly.view().components(1, 1), seed, poly::Distribution::uniform(),
                           poly.base(), none);
}

SecretKey generate_secret_key(const std::shared_ptr<const Context>& context) {
  const poly::Backend& backend = context->backend();
  runtime::Queue& queue = context->queue();
  const poly::RnsBase& base = context->key_base();
  poly::Poly secret = context->make_poly(1, 1, base, Form::coefficient, Secrecy::secret);
  const poly::RandomStream stream{poly::Seed::fresh(), 0};
  const std::size_t weight = context->parameters().literal().secret.weight;
  auto workspace = context->make_workspace(Secrecy::secret);
  backend.sample(queue, secret.view(), stream,
                 weight == 0 ? poly::Distribution::ternary() : poly::Distribution::fixed_weight(weight), base,
                 workspace);
  backend.forward_transform(queue, secret.view(), secret.view(), base);
  secret.set_form(Form::evaluation);
  return {context, std::move(secret)};
}

PublicKey generate_public_key(const SecretKey& secret) {
  const Context& context = *secret.context;
  const poly::RnsBase& base = context.public_key_base();
  poly::Poly pair = context.make_poly(1, 2, base, Form::evaluation);
  const poly::RandomStream seed = sample_rlwe(context, pair.view(), secret.poly, base);
  return {secret.context, std::move(pair), seed};
}

SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, std::size_t level) {
  require_same_context(*from.context, *to.context, "generate_switching_key");
  const Context& context = *from.context;
  require_level(context, level, "generate_switching_key");
  const poly::RnsBase base = context.key_base(level);
  const auto digits = context.gadget(level);

  // P g_d s_from is non-zero only at the limbs of digit d.
  std::vector<poly::GadgetTerm> terms;
  for (const poly::GadgetDigit& digit : digits) {
    for (std::size_t limb = 0; limb < digit.moduli.size(); ++limb) {
      const arith::Modulus& q = digit.moduli.modulus(limb);
      std::uint64_t factor = q.power(2, static_cast<std::uint64_t>(digit.shift));
      for (const std::uint64_t prime : context.special().values())
        factor = q.multiply(factor, q.reduce(prime));
      terms.push_back({digit.key_digit, base.position(digit.moduli.index(limb)), factor});
    }
  }
  poly::Poly pairs = context.make_poly(digits.size(), 2, base, Form::evaluation);
  std::optional<poly::RandomStream> seed;
  with_restricted(context, from.poly, base, [&](const poly::ConstPolyView& source) {
    seed = sample_rlwe(context, pairs.view(), to.poly, base, source, terms);
  });
  return {from.context, level, std::move(pairs), *seed};
}

SwitchingKey generate_relinearization_key(const SecretKey& secret, std::size_t level) {
  const Context& context = *secret.context;
  SecretKey squared{secret.context,
                    context.make_poly(1, 1, secret.poly.base(), Form::evaluation, Secrecy::secret)};
  context.backend().multiply(context.queue(), squared.poly.view(), secret.poly.view(), secret.poly.view(),
                             secret.poly.base());
  return generate_switching_key(squared, secret, level);
}

SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element, std::size_t level) {
  const Context& context = *secret.context;
  const std::uint64_t order = 2 * context.degree();
  if (galois_element % 2 == 0 || galois_element >= order) {
    throw ParameterError("Galois element " + std::to_string(galois_element) +
                         " is not odd and below 2N = " + std::to_string(order));
  }
  // The automorphism comes after the switch: the key ends at the image of s under 1/g (docs/arithmetic.md).
  SecretKey image{secret.context,
                  context.make_poly(1, 1, secret.poly.base(), Form::evaluation, Secrecy::secret)};
  context.backend().automorphism(context.queue(), image.poly.view(), secret.poly.view(),
                                 arith::inverse(galois_element, order), Form::evaluation, secret.poly.base());
  return generate_switching_key(secret, image, level);
}

EvaluationKeys generate_keys(const SecretKey& secret, const KeyRequest& request) {
  const Context& context = *secret.context;
  EvaluationKeys keys;
  keys.context = secret.context;
  if (request.public_key) keys.public_key = std::make_shared<const PublicKey>(generate_public_key(secret));
  if (request.relinearization) {
    keys.relinearization =
        std::make_shared<const SwitchingKey>(generate_relinearization_key(secret, context.top_level()));
  }
  const std::size_t level = request.galois_level.value_or(context.top_level());
  const auto add = [&](std::uint64_t element) {
    if (element == 1 || keys.galois.contains(element)) return;
    keys.galois[element] = std::make_shared<const SwitchingKey>(generate_galois_key(secret, element, level));
  };
  for (const std::int64_t steps : request.rotations) add(context.galois_element(steps));
  if (request.conjugation) add(context.conjugation_element());
  return keys;
}

}  // namespace hemera::rlwe
