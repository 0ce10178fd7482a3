#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "rlwe/integer_plaintext.hpp"
#include "schemes/bfv/message.hpp"
#include "schemes/bfv/noise.hpp"

namespace hemera::bfv {
namespace {

using poly::Form;
using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using runtime::Secrecy;

// Q modulo t.
std::uint64_t modulus_modulo_plain(const Context& context, std::size_t level) {
  const arith::Modulus& t = context.plain_base().modulus(0);
  std::uint64_t result = t.reduce(std::uint64_t{1});
  for (const std::uint64_t prime : context.base(level).values()) result = t.multiply(result, t.reduce(prime));
  return result;
}

// -t^-1 modulo each prime.
std::vector<std::uint64_t> negative_inverse_plain(const Context& context, std::size_t level) {
  const poly::RnsBase& base = context.base(level);
  std::vector<std::uint64_t> result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    const arith::Modulus& q = base.modulus(i);
    result[i] = q.negate(arith::inverse(q.reduce(context.parameters().plain_modulus()), q.value()));
  }
  return result;
}

// log2 of the largest noise that decrypts.
double capacity_log2(const Ciphertext& ciphertext) {
  return ciphertext.context->base(ciphertext.meta.level).log2() -
         room_log2(ciphertext.context->parameters().plain_modulus());
}

template <typename Key>
Ciphertext encrypt_with(const Plaintext& plaintext, const Key& key) {
  const Context& context = *key.context;
  rlwe::require_scheme(context, rlwe::Scheme::bfv, "encrypt");
  rlwe::require_plaintext(context, plaintext, "encrypt");
  Ciphertext result = rlwe::encrypt_zero(key, plaintext.meta);
  const std::size_t level = result.meta.level;
  const poly::Poly message = scaled_message(context, plaintext, level, Secrecy::secret);
  const poly::PolyView c0 = result.poly.view().components(0, 1);
  context.backend().add(context.queue(), c0, c0, message.view(), context.base(level));
  // The message is rounded by at most 1/2.
  result.meta.noise_log2 = rlwe::add_log2(result.meta.noise_log2, -1);
  return result;
}

}  // namespace

poly::Poly scaled_message(const Context& context, const Plaintext& plaintext, std::size_t level,
                          Secrecy secrecy) {
  return rlwe::lift_plaintext(context, plaintext, context.base(level), modulus_modulo_plain(context, level),
                              negative_inverse_plain(context, level), secrecy);
}

std::vector<std::uint64_t> scaled_scalar(const Context& context, std::int64_t value, std::size_t level) {
  const arith::Modulus& t = context.plain_base().modulus(0);
  const std::int64_t remainder =
      t.centered(t.multiply(t.reduce_signed(value), modulus_modulo_plain(context, level)));
  std::vector<std::uint64_t> result = rlwe::residues(remainder, context.base(level));
  const std::vector<std::uint64_t> factors = negative_inverse_plain(context, level);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = context.base(level).modulus(i).multiply(result[i], factors[i]);
  }
  return result;
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}

Plaintext decrypt(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  const Context& context = *key.context;
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bfv, "decrypt");
  rlwe::require_same_context(*ciphertext.context, context, "decrypt");
  const poly::Poly phase = rlwe::decrypt_phase(ciphertext, key);
  Plaintext result{
      key.context, rlwe::decrypted_metadata(ciphertext.meta),
      context.make_poly(phase.shape().batch, 1, context.plain_base(), Form::coefficient, Secrecy::secret)};
  context.backend().scale_and_round(context.queue(), result.poly.view(), phase.view(),
                                    context.decryption(ciphertext.meta.level));
  return result;
}

double measured_noise_log2(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bfv, "noise_budget");
  rlwe::require_same_context(*ciphertext.context, *key.context, "noise_budget");
  // t (c(s) - (Q/t) m) = t c(s) modulo Q.
  const std::uint64_t t = key.context->parameters().plain_modulus();
  return rlwe::largest_coefficient_log2(*key.context, rlwe::decrypt_phase(ciphertext, key), t) -
         std::log2(static_cast<double>(t));
}

double noise_budget(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  const double measured = measured_noise_log2(ciphertext, key);
  return std::max(0.0, std::floor(capacity_log2(ciphertext) - measured));
}

double guaranteed_noise_budget(const Ciphertext& ciphertext) {
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bfv, "guaranteed_noise_budget");
  return std::max(0.0, capacity_log2(ciphertext) - ciphertext.meta.noise_log2);
}

Plaintext decrypt_for_sharing(const Ciphertext& ciphertext, const rlwe::SecretKey& key,
                              int statistical_bits) {
  rlwe::require_sharing_margin(guaranteed_noise_budget(ciphertext), statistical_bits);
  return decrypt(ciphertext, key);
}

}  // namespace hemera::bfv
