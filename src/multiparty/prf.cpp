#include "multiparty/prf.hpp"

#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {

Fields::Fields(std::string_view label) { runtime::append_bytes(bytes_, std::as_bytes(std::span(label))); }

void Fields::append(std::span<const std::byte> value) {
  bytes_.push_back(static_cast<std::byte>('|'));
  runtime::append_bytes(bytes_, value);
}

Fields& Fields::text(std::string_view value) {
  append(std::as_bytes(std::span(value)));
  return *this;
}

Fields& Fields::number(std::uint64_t value) { return text(std::to_string(value)); }

Fields& Fields::digest(const Sha256Digest& value) {
  append(std::as_bytes(std::span(value)));
  return *this;
}

Fields& Fields::digests(std::span<const Sha256Digest> values) {
  for (const Sha256Digest& value : values) digest(value);
  return *this;
}

Fields& Fields::fields(const Fields& values) {
  append(values.bytes_);
  return *this;
}

poly::Seed prf(const poly::Seed& key, const Fields& fields) {
  poly::Seed seed;
  runtime::hmac_sha256(seed.bytes, std::as_bytes(std::span(key.bytes)), fields.view());
  return seed;
}

poly::Seed prf(const Sha256Digest& key, const Fields& fields) {
  poly::Seed seed;
  runtime::hmac_sha256(seed.bytes, std::as_bytes(std::span(key)), fields.view());
  return seed;
}

poly::Poly drawn(const rlwe::Context& context, const poly::Seed& seed, const poly::Distribution& from,
                 const poly::RnsBase& base) {
  const poly::Backend& backend = context.backend();
  poly::Poly secret = context.make_poly(1, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  backend.sample(context.queue(), secret.view(), {seed, 0}, from, base, workspace);
  backend.forward_transform(context.queue(), secret.view(), secret.view(), base);
  secret.set_form(poly::Form::evaluation);
  return secret;
}

poly::Poly ternary_of(const rlwe::Context& context, const poly::Seed& seed, const poly::RnsBase& base) {
  return drawn(context, seed, poly::Distribution::ternary(), base);
}

poly::Poly secret_of(const rlwe::Context& context, const Piece& piece, const poly::RnsBase& base) {
  return ternary_of(context, prf(piece.key(), Fields("ternary")), base);
}

void require_held(const Access& access, std::size_t member, const std::vector<Piece>& pieces) {
  std::vector<std::size_t> numbers;
  for (const Piece& piece : pieces) numbers.push_back(piece.number());
  if (numbers != access.held_by(member)) {
    throw MismatchError("member " + std::to_string(member) + " has not the pieces that it holds, in order");
  }
}

void Group::require(const rlwe::Context& context) const {
  const std::size_t terms = context.parameters().literal().secret.terms;
  if (openings.pieces != access.pieces() || terms != access.pieces()) {
    throw MismatchError("a group of " + std::to_string(access.pieces()) + " pieces has openings of " +
                        std::to_string(openings.pieces) + " and parameters for a secret of " +
                        std::to_string(terms) + " terms; make parameters for its access");
  }
}

std::vector<std::size_t> Group::sent_by(std::size_t member) const {
  std::vector<std::size_t> sent;
  for (std::size_t piece = 0; piece < access.pieces(); ++piece) {
    const std::vector<std::size_t> holders = access.holders(piece);
    if (holders[piece % holders.size()] == member) sent.push_back(piece);
  }
  return sent;
}

Sha256Digest Group::commitment(const Piece& piece) const {
  return prf(piece.key(), Fields("commitment").digest(id).number(piece.number())).bytes;
}

}  // namespace hemera::multiparty
