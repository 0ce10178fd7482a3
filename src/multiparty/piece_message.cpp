// What a member sends of a piece while keys are made.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/bytes.hpp"
#include "multiparty/key_sums.hpp"
#include "multiparty/residues.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::multiparty {
namespace {

using poly::Form;
using poly::Poly;
using runtime::Secrecy;

// The residues of one message, appended key by key.
class PieceMessage {
 public:
  PieceMessage(const Sha256Digest& group, const Sha256Digest& attempt, const Piece& piece,
               std::vector<std::byte>& message)
      : group_(group), attempt_(attempt), piece_(piece), message_(message) {}

  // -a s_T + e.
  void add_public_key(const rlwe::Context& context) {
    const Fields name("public key");
    const poly::RnsBase& base = context.public_key_base();
    const Poly secret = secret_of(context, piece_, context.key_base());
    Poly pair = context.make_poly(1, 2, base, Form::evaluation, Secrecy::secret);
    const poly::RandomStream errors{prf(piece_.key(), fields("errors", name)), 0}, uniform{crs(name), 0};
    rlwe::sample_rlwe(context, pair.view(), secret, base, {.errors = errors, .uniform = uniform});
    append_residues(context, std::as_const(pair).view().components(0, 1), base, message_);
  }

  // A key that is linear in secrets of the piece: -a `to` + e + w `from`.
  void add_linear(const KeySum& key) {
    const rlwe::Context& context = *key.context;
    const Poly secret = secret_of(context, piece_, context.key_base());
    const Fields errors = fields("errors", key.name);
    if (key.role.to != 0) {
      append(key, sampled(key, ephemeral(key, key.role.to), errors, &secret));
    } else if (key.role.from != 0) {
      const Poly from = ephemeral(key, key.role.from);
      append(key, sampled(key, secret, errors, &from));
    } else {
      Poly image = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
      const std::uint64_t inverse = arith::inverse(key.role.galois_element, 2 * context.degree());
      context.backend().automorphism(context.queue(), image.view(), secret.view(), inverse, Form::evaluation,
                                     secret.base());
      append(key, sampled(key, image, errors, &secret));
    }
  }

  // (-a u_T + w s_T + e0, a s_T + e1).
  void add_product_first(const KeySum& key) {
    const rlwe::Context& context = *key.context;
    const poly::Backend& backend = context.backend();
    const Poly secret = secret_of(context, piece_, context.key_base());
    Poly negative = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
    backend.negate(context.queue(), negative.view(), secret.view(), secret.base());
    Poly h = context.make_poly(key.first.shape().batch, 2, key.base(), Form::evaluation, Secrecy::secret);
    const Poly h0 = sampled(key, u(key), errors_of(key, "relin 0"), &secret);
    const Poly h1 = sampled(key, negative, errors_of(key, "relin 1"), nullptr);
    backend.copy(context.queue(), h.view().components(0, 1), h0.view().components(0, 1));
    backend.copy(context.queue(), h.view().components(1, 1), h1.view().components(0, 1));
    append_residues(context, std::as_const(h).view(), key.base(), message_);
  }

  // h0 s_T + h1 (u_T - s_T) + e2, e2 of the sums h that are multiplied.
  void add_product_second(const KeySum& key) {
    const rlwe::Context& context = *key.context;
    const poly::Backend& backend = context.backend();
    runtime::Queue& queue = context.queue();
    const poly::RnsBase& base = key.base();
    const Poly secret = secret_of(context, piece_, context.key_base());
    std::vector<std::uint64_t> words(key.first.shape().words());
    backend.download(queue, words, std::as_const(key.first).view(), Form::evaluation);
    queue.synchronize();
    const Fields of_errors =
        errors_of(key, "relin 2").digest(runtime::sha256(std::as_bytes(std::span(words))));
    Poly y = context.make_poly(key.first.shape().batch, 1, base, Form::coefficient, Secrecy::secret);
    auto workspace = context.make_workspace(Secrecy::secret);
    backend.sample(queue, y.view(), {prf(piece_.key(), of_errors), 0},
                   poly::Distribution::error(context.error_distribution()), base, workspace);
    if (const std::uint64_t factor = rlwe::error_factor(context.parameters()); factor != 1) {
      std::vector<std::uint64_t> scalars;
      for (std::size_t j = 0; j < base.size(); ++j) scalars.push_back(base.modulus(j).reduce(factor));
      backend.multiply_scalar(queue, y.view(), std::as_const(y).view(), scalars, base);
    }
    backend.forward_transform(queue, y.view(), std::as_const(y).view(), base);
    y.set_form(Form::evaluation);
    Poly rest = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
    backend.subtract(queue, rest.view(), u(key).view(), secret.view(), secret.base());
    const poly::ConstPolyView h = std::as_const(key.first).view();
    rlwe::with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
      backend.multiply_add(queue, y.view(), h.components(0, 1), s, base);
    });
    rlwe::with_restricted(context, rest, base, [&](const poly::ConstPolyView& s) {
      backend.multiply_add(queue, y.view(), h.components(1, 1), s, base);
    });
    append_residues(context, std::as_const(y).view(), base, message_);
  }

 private:
  // PRF(key, label, name of the key, attempt): its own stream for each part of each key.
  [[nodiscard]] Fields fields(std::string_view label, const Fields& name) const {
    return Fields(label).fields(name).digest(attempt_);
  }
  [[nodiscard]] poly::Seed crs(const Fields& name) const { return prf(group_, fields("hemera crs", name)); }

  // The name of a usual relinearization key says no more than these words.
  [[nodiscard]] Fields of_attempt(const KeySum& key, Fields words) const {
    if (!key.is_usual) words.fields(key.name);
    return words.digest(attempt_);
  }
  [[nodiscard]] Fields errors_of(const KeySum& key, std::string_view part) const {
    return of_attempt(key, Fields("errors").text(part));
  }

  [[nodiscard]] Poly u(const KeySum& key) const {
    return ternary_of(*key.context, prf(piece_.key(), of_attempt(key, Fields("relin u"))),
                      key.context->key_base());
  }

  // The piece's ephemeral secret, of this attempt alone.
  [[nodiscard]] Poly ephemeral(const KeySum& key, std::uint32_t number) const {
    const std::size_t weight = *rlwe::ephemeral_weight_of(number);
    return drawn(*key.context, prf(piece_.key(), Fields("ephemeral").number(weight).digest(attempt_)),
                 poly::Distribution::fixed_weight(weight), key.context->key_base());
  }

  // -a `to` + e, and + w `from` where it is not null.
  [[nodiscard]] Poly sampled(const KeySum& key, const Poly& to, const Fields& errors_of_key,
                             const Poly* from) const {
    const rlwe::Context& context = *key.context;
    const poly::RandomStream errors{prf(piece_.key(), errors_of_key), 0}, uniform{crs(key.name), 0};
    Poly pairs = context.make_poly(key.first.shape().batch, 2, key.base(), Form::evaluation, Secrecy::secret);
    const rlwe::GivenStreams streams{.errors = errors, .uniform = uniform};
    if (from == nullptr) {
      rlwe::sample_rlwe(context, pairs.view(), to, key.base(), streams);
      return pairs;
    }
    const auto terms = rlwe::gadget_terms(*key.gadget);
    rlwe::with_restricted(context, *from, key.base(), [&](const poly::ConstPolyView& s) {
      rlwe::sample_rlwe(context, pairs.view(), to, key.base(), streams, s, terms);
    });
    return pairs;
  }

  void append(const KeySum& key, const Poly& pairs) {
    append_residues(*key.context, pairs.view().components(0, 1), key.base(), message_);
  }

  const Sha256Digest& group_;
  const Sha256Digest& attempt_;
  const Piece& piece_;
  std::vector<std::byte>& message_;
};

}  // namespace

std::vector<std::byte> KeyMessages::computed(int round, const Piece& piece) const {
  runtime::ByteWriter head;
  head.u32(key_message_magic);
  head.u8(static_cast<std::uint8_t>(round));
  head.bytes(group_.id);
  head.bytes(attempt_);
  head.u32(static_cast<std::uint32_t>(piece.number()));
  std::vector<std::byte> message = head.take();
  message.reserve(message.size() + sums_->bytes(*context_, round));
  PieceMessage out(group_.id, attempt_, piece, message);
  if (round == 1) out.add_public_key(*context_);
  for (const KeySum& key : sums_->keys) {
    if (!key.is_product()) {
      if (round == 1) out.add_linear(key);
    } else if (round == 1) {
      out.add_product_first(key);
    } else {
      out.add_product_second(key);
    }
  }
  return message;
}

}  // namespace hemera::multiparty
