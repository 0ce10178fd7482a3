#include "interop/openfhe/keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "io/secret.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::interop::openfhe {
namespace {

// A Gaussian secret's coefficients are far below this, the largest that Hemera's files hold.
constexpr std::uint64_t largest_secret = 127;

[[noreturn]] void refuse_key(const Message& problem) { throw FormatError("OpenFHE key: " + problem); }

void require_evaluation_form(const PolynomialView& polynomial) {
  if (!polynomial.is_evaluation) refuse_key("its polynomials are not in evaluation form");
}

// The gadget of a key over these primes.
rlwe::GadgetPointer gadget_of(const rlwe::Context& context, const CryptoParameters& parameters,
                              const std::vector<std::uint64_t>& primes) {
  const std::vector<std::uint64_t> own = context.chain().all().values();
  rlwe::GadgetPrimes gadget;
  for (const std::uint64_t prime : primes) {
    const bool is_own = std::find(own.begin(), own.end(), prime) != own.end();
    (is_own ? gadget.base : gadget.special).push_back(prime);
  }
  gadget.digits = digits_of(parameters, gadget.base);
  gadget.window_bits = context.parameters().literal().window_bits;
  try {
    return context.gadget(gadget);
  } catch (const ParameterError& error) {
    refuse_key(error.message());
  }
}

// A key of BV for BFV's EXTENDED encryption without the digits and limbs of the prime that this adds to
// public keys: no ciphertext has it. Empty for a key that has no such prime.
std::optional<SwitchingKeyView> without_added_prime(const rlwe::Context& context,
                                                    const SwitchingKeyView& key) {
  const std::vector<std::uint64_t>& added = context.parameters().literal().key_primes;
  const auto is_added = [&](const LimbView& limb) {
    return std::find(added.begin(), added.end(), limb.modulus) != added.end();
  };
  const std::vector<LimbView>& limbs = key.a.front().limbs;
  if (limbs.empty() || !is_added(limbs.back())) return {};
  const int window = context.parameters().literal().window_bits;
  const auto bits = static_cast<int>(std::bit_width(limbs.back().modulus));
  const auto digits = static_cast<std::size_t>(window == 0 ? 1 : (bits + window - 1) / window);
  if (key.a.size() <= digits) refuse_key("a switching key has no digits but those of an added prime");
  SwitchingKeyView result = key;
  for (auto* const half : {&result.a, &result.b}) {
    half->resize(half->size() - digits);
    for (PolynomialView& polynomial : *half) std::erase_if(polynomial.limbs, is_added);
  }
  return result;
}

}  // namespace

rlwe::PublicKey to_public_key(const rlwe::ContextPointer& context, const PublicKeyObject& object) {
  if (object.polynomials.size() != 2) {
    refuse_key("a public key has " + std::to_string(object.polynomials.size()) + " polynomials, not 2");
  }
  const PolynomialView b = view_of(object.polynomials[0]);
  const PolynomialView a = view_of(object.polynomials[1]);
  require_evaluation_form(b);
  require_evaluation_form(a);
  const poly::RnsBase base = base_of(*context, b);
  if (base_of(*context, a) != base) refuse_key("the halves of a public key have different moduli");
  poly::Poly poly = context->make_poly(1, 2, base, poly::Form::evaluation);
  upload(*context, poly, 0, std::array{b, a});
  return {context, std::move(poly), {}};
}

rlwe::SecretKey to_secret_key(const rlwe::ContextPointer& context, const PrivateKeyObject& object) {
  using runtime::Secrecy;
  const rlwe::Context& ctx = *context;
  const PolynomialView polynomial = view_of(object.polynomial);
  const poly::RnsBase base = base_of(ctx, polynomial);
  if (base.size() < context->chain().all().size()) refuse_key("a secret key lacks moduli of its context");
  poly::Poly given = ctx.make_poly(1, 1, base, poly::Form::evaluation, Secrecy::secret);
  upload(ctx, given, 0, std::array{polynomial});

  // Its coefficients, from one limb.
  const poly::RnsBase one(base.ring(), {base.index(0)});
  const std::uint64_t modulus = one.modulus(0).value();
  std::vector<std::uint64_t> coefficients(ctx.degree());
  const runtime::ZeroedAtEnd zeroed{std::span(coefficients)};
  poly::Poly limb = ctx.make_poly(1, 1, one, poly::Form::coefficient, Secrecy::secret);
  if (polynomial.is_evaluation) {
    ctx.backend().inverse_transform(ctx.queue(), limb.view(), std::as_const(given).view().limbs(0, 1), one);
  } else {
    ctx.backend().copy(ctx.queue(), limb.view(), std::as_const(given).view().limbs(0, 1));
    ctx.backend().forward_transform(ctx.queue(), given.view(), given.view(), base);
  }
  ctx.backend().download(ctx.queue(), coefficients, limb.view(), poly::Form::coefficient);
  ctx.queue().synchronize();
  if (io::largest_magnitude(coefficients, modulus) > largest_secret) {
    refuse_key("a secret key has a coefficient above " + std::to_string(largest_secret) + " in magnitude");
  }
  rlwe::SecretKey key{context, io::secret_from(ctx, coefficients, modulus)};

  // All limbs must be of this one secret.
  std::vector<std::uint64_t> ours(ctx.degree());
  std::vector<std::uint64_t> theirs(ctx.degree());
  const runtime::ZeroedAtEnd zeroed_ours{std::span(ours)};
  const runtime::ZeroedAtEnd zeroed_theirs{std::span(theirs)};
  std::uint64_t difference = 0;
  for (std::size_t l = 0; l < base.size(); ++l) {
    const std::size_t position = ctx.key_base().position(base.index(l));
    ctx.backend().download(ctx.queue(), ours, std::as_const(key.poly).view().limbs(position, 1),
                           poly::Form::evaluation);
    ctx.backend().download(ctx.queue(), theirs, std::as_const(given).view().limbs(l, 1),
                           poly::Form::evaluation);
    ctx.queue().synchronize();
    for (std::size_t i = 0; i < ours.size(); ++i) difference |= ours[i] ^ theirs[i];
  }
  if (difference != 0) refuse_key("the limbs of a secret key are of different secrets");
  return key;
}

rlwe::SwitchingKey to_switching_key(const rlwe::ContextPointer& context, const CryptoParameters& parameters,
                                    const SwitchingKeyView& given) {
  if (given.a.empty() || given.a.size() != given.b.size()) {
    refuse_key("a switching key has " + std::to_string(given.a.size()) + " and " +
               std::to_string(given.b.size()) + " polynomials, which are no two halves");
  }
  std::optional<SwitchingKeyView> shorter;
  if (parameters.key_switching == KeySwitching::bv) shorter = without_added_prime(*context, given);
  const SwitchingKeyView& key = shorter ? *shorter : given;
  const poly::RnsBase base = base_of(*context, key.a.front());
  auto gadget = gadget_of(*context, parameters, base.values());
  const std::size_t digits = gadget->digits().size();
  if (digits != key.a.size()) {
    refuse_key("a switching key has " + std::to_string(key.a.size()) + " digits, where its context has " +
               std::to_string(digits));
  }
  if (gadget->modulus() != base)
    refuse_key("the moduli of a switching key are not in the order of its context");
  poly::Poly poly = context->make_poly(digits, 2, base, poly::Form::evaluation);
  for (std::size_t d = 0; d < digits; ++d) {
    for (const PolynomialView* half : {&key.a[d], &key.b[d]}) {
      require_evaluation_form(*half);
      if (base_of(*context, *half) != base) refuse_key("the digits of a switching key have different moduli");
    }
    upload(*context, poly, d, std::array{key.b[d], key.a[d]});
  }
  return {context, std::move(gadget), rlwe::stored_key(*context, std::move(poly)), {}};
}

SwitchingKeyView view_of(const EvaluationKeyObject& object) {
  SwitchingKeyView view;
  for (const DcrtPolynomial& half : object.a) view.a.push_back(view_of(half));
  for (const DcrtPolynomial& half : object.b) view.b.push_back(view_of(half));
  return view;
}

rlwe::KeyRole role_of(std::uint32_t index, std::size_t degree) {
  const std::size_t order = 2 * degree;
  if (index == order - 2) return {.from = rlwe::ephemeral_secret};
  if (is_to_sparse_secret(index, degree)) return {.to = rlwe::ephemeral_secret};
  if (index % 2 == 0 || index >= order) {
    refuse_key("the automorphism index " + std::to_string(index) + " is none of degree " +
               std::to_string(degree));
  }
  return rlwe::KeyRole::galois(index);
}

std::optional<std::uint32_t> index_of(const rlwe::KeyRole& role, std::size_t degree) {
  const auto order = static_cast<std::uint32_t>(2 * degree);
  if (role.power != 1) return {};
  if (role.from == 0 && role.to == 0) return static_cast<std::uint32_t>(role.galois_element);
  if (role.galois_element != 1) return {};
  if (role.from == rlwe::ephemeral_secret && role.to == 0) return order - 2;
  if (role.from == 0 && role.to == rlwe::ephemeral_secret) return order - 4;
  return {};
}

std::shared_ptr<PublicKeyObject> from_public_key(const rlwe::PublicKey& key, CryptoObject header) {
  const rlwe::Context& context = *key.context;
  auto object = std::make_shared<PublicKeyObject>();
  object->header = std::move(header);
  // A part of the moduli is a public key, too.
  std::vector<std::uint32_t> indices;
  for (const std::uint64_t prime : public_key_primes(*object->header.context)) {
    indices.push_back(context.key_base().ring()->index_of(prime));
  }
  const poly::RnsBase base(context.key_base().ring(), std::move(indices));
  if (!base.without(key.poly.base()).empty()) {
    throw MismatchError(
        "dump_keys: the public key lacks a modulus that OpenFHE's public keys have in this context; let the "
        "client make "
        "its own");
  }
  const poly::Poly part = rlwe::restrict_to(context, key.poly, base);
  BaseParameters parameters(*object->header.context);
  for (std::size_t half = 0; half < 2; ++half) {
    object->polynomials.push_back(download(context, part, 0, half, parameters));
  }
  context.queue().synchronize();
  return object;
}

std::shared_ptr<PrivateKeyObject> from_secret_key(const rlwe::SecretKey& key, CryptoObject header) {
  const rlwe::Context& context = *key.context;
  auto object = std::make_shared<PrivateKeyObject>();
  object->header = std::move(header);
  // OpenFHE's has the moduli of ciphertexts alone.
  const poly::Poly part = rlwe::restrict_to(context, key.poly, context.chain().all());
  BaseParameters parameters(*object->header.context);
  object->polynomial = download(context, part, 0, 0, parameters);
  context.queue().synchronize();
  return object;
}

std::shared_ptr<EvaluationKeyObject> from_switching_key(const rlwe::SwitchingKey& key, CryptoObject header,
                                                        BaseParameters& parameters) {
  auto object = std::make_shared<EvaluationKeyObject>();
  object->header = std::move(header);
  for (std::size_t d = 0; d < key.poly.shape().batch; ++d) {
    object->b.push_back(download(*key.context, key.poly, d, 0, parameters));
    object->a.push_back(download(*key.context, key.poly, d, 1, parameters));
  }
  key.context->queue().synchronize();
  return object;
}

}  // namespace hemera::interop::openfhe
