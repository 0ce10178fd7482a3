#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bgv.hpp"
#include "rlwe/integer_plaintext.hpp"
#include "schemes/bgv/noise.hpp"

namespace hemera::bgv {
namespace {

using poly::Form;
using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using runtime::Secrecy;

// log2 of the largest noise that decrypts.
double capacity_log2(const Ciphertext& ciphertext) {
  return ciphertext.context->base(ciphertext.meta.level).log2() - room_log2;
}

template <typename Key>
Ciphertext encrypt_with(const Plaintext& plaintext, const Key& key) {
  const Context& context = *key.context;
  rlwe::require_scheme(context, rlwe::Scheme::bgv, "encrypt");
  rlwe::require_plaintext(context, plaintext, "encrypt");
  Ciphertext result = rlwe::encrypt_zero(key, plaintext.meta);
  const poly::RnsBase& base = context.base(result.meta.level);
  const poly::Poly message = rlwe::lift_plaintext(context, plaintext, base, 1, {}, Secrecy::secret);
  const poly::PolyView c0 = result.poly.view().components(0, 1);
  context.backend().add(context.queue(), c0, c0, message.view(), base);
  // t e + m, with |m| <= t / 2.
  result.meta.correction = 1;
  result.meta.noise_log2 = rlwe::add_log2(result.meta.noise_log2, -1) +
                           std::log2(static_cast<double>(context.parameters().plain_modulus()));
  return result;
}

}  // namespace

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}

Ciphertext encrypt(const Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}

Plaintext decrypt(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  const Context& context = *key.context;
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bgv, "decrypt");
  rlwe::require_same_context(*ciphertext.context, context, "decrypt");
  const poly::RnsBase& plain = context.plain_base();
  const poly::Poly phase = rlwe::decrypt_phase(ciphertext, key);
  const poly::BaseConversion& plan = context.exact_conversion(phase.base(), plain);
  Plaintext result{key.context, rlwe::decrypted_metadata(ciphertext.meta),
                   context.make_poly(phase.shape().batch, 1, plain, Form::coefficient, Secrecy::secret)};
  const poly::PolyView view = result.poly.view();
  context.backend().convert(context.queue(), view, phase.view(), plan);
  if (ciphertext.meta.correction != 1) {
    const std::uint64_t inverse = arith::inverse(ciphertext.meta.correction, plain.modulus(0).value());
    context.backend().multiply_scalar(context.queue(), view, view, std::span(&inverse, 1), plain);
  }
  return result;
}

double measured_noise_log2(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bgv, "noise_budget");
  rlwe::require_same_context(*ciphertext.context, *key.context, "noise_budget");
  return rlwe::largest_coefficient_log2(*key.context, rlwe::decrypt_phase(ciphertext, key), 1);
}

double noise_budget(const Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  const double measured = measured_noise_log2(ciphertext, key);
  return std::max(0.0, std::floor(capacity_log2(ciphertext) - measured));
}

double guaranteed_noise_budget(const Ciphertext& ciphertext) {
  rlwe::require_ciphertext(ciphertext, rlwe::Scheme::bgv, "guaranteed_noise_budget");
  return std::max(0.0, capacity_log2(ciphertext) - ciphertext.meta.noise_log2);
}

Plaintext decrypt_for_sharing(const Ciphertext& ciphertext, const rlwe::SecretKey& key,
                              int statistical_bits) {
  rlwe::require_sharing_margin(guaranteed_noise_budget(ciphertext), statistical_bits);
  return decrypt(ciphertext, key);
}

}  // namespace hemera::bgv
