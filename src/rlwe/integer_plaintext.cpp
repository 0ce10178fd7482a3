#include "rlwe/integer_plaintext.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

using poly::Form;

namespace {

void require_same_encoding(Encoding a, Encoding b, const char* operation) {
  if (a == b) return;
  const bool slots = a == Encoding::slots;
  throw MismatchError(std::string(operation) + ": one operand is encoded in " +
                      (slots ? "slots" : "coefficients") + ", the other in " +
                      (slots ? "coefficients" : "slots") + "; encode both alike");
}

}  // namespace

void require_ciphertext(const Ciphertext& ciphertext, Scheme scheme, const char* operation) {
  if (!ciphertext.context || !ciphertext.poly) {
    throw MismatchError(std::string(operation) +
                        ": the ciphertext is empty; it was moved from or never encrypted");
  }
  require_scheme(*ciphertext.context, scheme, operation);
}

void require_scheme(const Context& context, Scheme scheme, const char* operation) {
  if (context.scheme() == scheme) return;
  throw MismatchError(std::string(operation) + ": the context is for " + name(context.scheme()) +
                      ", not for " + name(scheme));
}

void require_plaintext(const Context& context, const Plaintext& plaintext, const char* operation) {
  if (!plaintext.context || !plaintext.poly) {
    throw MismatchError(std::string(operation) +
                        ": the plaintext is empty; it was moved from or never encoded");
  }
  require_same_context(context, *plaintext.context, operation);
}

void require_same_encoding(const Ciphertext& a, const Plaintext& b, const char* operation) {
  require_same_encoding(a.meta.encoding, b.meta.encoding, operation);
}

void require_same_encoding(const Ciphertext& a, const Ciphertext& b, const char* operation) {
  require_same_encoding(a.meta.encoding, b.meta.encoding, operation);
}

poly::Poly lift_plaintext(const Context& context, const Plaintext& plaintext, const poly::RnsBase& base,
                          std::uint64_t factor, std::span<const std::uint64_t> scalars,
                          runtime::Secrecy secrecy) {
  const poly::Backend& backend = context.backend();
  poly::Poly lifted = context.make_poly(plaintext.poly.shape().batch, 1, base, Form::evaluation, secrecy);
  auto workspace = context.make_workspace(secrecy);
  backend.lift_integers(context.queue(), lifted.view(), plaintext.poly.view(), factor, scalars,
                        context.exact_conversion(context.plain_base(), base), workspace);
  return lifted;
}

Factors plaintext_factors(const Ciphertext& a, const Plaintext& b) {
  const Context& context = *a.context;
  require_plaintext(context, b, "multiply_plain");
  require_same_encoding(a, b, "multiply_plain");
  Factors result{.a = a.poly.view(), .b = {}, .meta = a.meta, .held = {}};
  result.meta.batch = broadcast(a.meta.batch, b.meta.batch, "multiply_plain");
  result.meta.slots = product_slots(a.meta, b.meta, context.degree());
  result.meta.noise_log2 +=
      plaintext_factor_log2(context.degree(), context.parameters().plain_modulus(), b.meta.encoding);
  poly::Poly lifted = lift_plaintext(context, b, context.base(a.meta.level), 1, {}, runtime::Secrecy::open);
  result.b = std::as_const(lifted).view();
  result.hold(std::move(lifted));
  return result;
}

std::vector<std::uint64_t> residues(std::int64_t value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) result[i] = base.modulus(i).reduce_signed(value);
  return result;
}

void grow_batch(Ciphertext& a, const BatchShape& other, const char* operation) {
  BatchShape shape = broadcast(a.meta.batch, other, operation);
  if (batch_count(shape) == a.poly.shape().batch) {
    a.meta.batch = std::move(shape);
    return;
  }
  Metadata meta = a.meta;
  meta.batch = std::move(shape);
  Ciphertext grown = make_ciphertext(a.context, std::move(meta), a.size());
  a.context->backend().copy(a.context->queue(), grown.poly.view(), std::as_const(a.poly).view());
  a = std::move(grown);
}

std::size_t product_slots(const Metadata& a, const Metadata& b, std::size_t degree) {
  if (a.encoding == Encoding::slots) return std::max(a.slots, b.slots);
  return std::min(degree, a.slots + b.slots - 1);
}

Metadata decrypted_metadata(const Metadata& meta) {
  Metadata result = meta;
  result.noise_log2 = 0;
  result.correction = 1;
  return result;
}

double switched_noise_log2(const Context& context, double noise_log2, std::size_t from, std::size_t to,
                           std::size_t size, double half_range) {
  const Parameters& parameters = context.parameters();
  const double rounding =
      rounding_noise_log2(parameters.degree(), parameters.literal().secret, size, half_range);
  for (std::size_t level = from; level > to; --level) {
    noise_log2 = add_log2(noise_log2 + context.base(level - 1).log2() - context.base(level).log2(), rounding);
  }
  return noise_log2;
}

Ciphertext switch_modulus(const Ciphertext& a, double half_range) {
  const Context& context = *a.context;
  const std::size_t level = a.meta.level;
  if (level == 0) {
    throw LevelError(
        "modulus switch: the ciphertext is at level 0, the last one; use parameters for a deeper circuit");
  }
  const poly::Backend& backend = context.backend();
  const poly::Division& plan = context.rescale(level);
  Metadata meta = a.meta;
  meta.level = level - 1;
  meta.noise_log2 = switched_noise_log2(context, a.meta.noise_log2, level, level - 1, a.size(), half_range);
  Ciphertext result = make_ciphertext(a.context, std::move(meta), a.size());
  auto workspace = context.make_workspace();
  backend.divide_and_round(context.queue(), result.poly.view(), a.poly.view(), plan, Form::evaluation,
                           workspace);
  return result;
}

std::size_t smallest_level(const Ciphertext& a, double half_range, double room_log2) {
  const Context& context = *a.context;
  for (std::size_t level = 0; level < a.meta.level; ++level) {
    const double noise =
        switched_noise_log2(context, a.meta.noise_log2, a.meta.level, level, a.size(), half_range);
    if (noise + 1 <= context.base(level).log2() - room_log2) return level;
  }
  return a.meta.level;
}

void require_automatic(const Context& context, std::size_t a, std::size_t b, const char* operation) {
  if (a == b || context.parameters().literal().rescaling == Rescaling::automatic) return;
  throw LevelError(std::string(operation) + ": the operands are at levels " + std::to_string(a) + " and " +
                   std::to_string(b) +
                   ", and these parameters leave levels to the caller; bring both to one level first");
}

void require_sharing_margin(double guaranteed_budget, int statistical_bits) {
  if (statistical_bits < 1) {
    throw ParameterError("decrypt_for_sharing: statistical_bits must be at least 1, not " +
                         std::to_string(statistical_bits));
  }
  if (guaranteed_budget >= statistical_bits) return;
  throw NoiseError("decrypt_for_sharing: the noise bound leaves " +
                   std::to_string(static_cast<int>(guaranteed_budget)) + " bits of budget, fewer than the " +
                   std::to_string(statistical_bits) +
                   " asked for; use parameters for a deeper circuit, or share fewer bits of security");
}

void require_not_above(const Ciphertext& a, std::size_t level) {
  if (level <= a.meta.level) return;
  throw LevelError("drop_to_level: the ciphertext is at level " + std::to_string(a.meta.level) + ", below " +
                   std::to_string(level) + "; a level once dropped cannot come back");
}

}  // namespace hemera::rlwe
