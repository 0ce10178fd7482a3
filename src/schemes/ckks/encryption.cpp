#include <cmath>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::ckks {
namespace {

template <typename Key>
rlwe::Ciphertext encrypt_with(const rlwe::Plaintext& plaintext, const Key& key) {
  rlwe::require_same_context(*plaintext.context, *key.context, "encrypt");
  rlwe::Ciphertext result = rlwe::encrypt_zero(key, plaintext.meta, plaintext.poly.view());
  result.meta.noise_log2 = 0;
  return result;
}

}  // namespace

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
  return encrypt_with(plaintext, key);
}

rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key) {
  return encrypt_with(plaintext, key);
}

rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
  return {key.context, ciphertext.meta, rlwe::decrypt_phase(ciphertext, key, poly::Form::evaluation)};
}

rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    double noise_bound, int statistical_bits) {
  if (!(noise_bound > 0) || !std::isfinite(noise_bound)) {
    throw ParameterError("decrypt_for_sharing: noise_bound must be a positive bound on the error of a slot");
  }
  if (statistical_bits < 1 || statistical_bits > 120) {
    throw ParameterError("decrypt_for_sharing: statistical_bits must be from 1 to 120, not " +
                         std::to_string(statistical_bits));
  }
  // Slots in error by at most `noise_bound` have coefficients in error by at most noise_bound * scale.
  // Uniform integers of b bits hide those of N coefficients up to a statistical distance N noise_bound scale
  // / 2^b.
  const auto degree = static_cast<double>(key.context->degree());
  const double scale = ciphertext.meta.scale;
  const int bits = static_cast<int>(
      std::ceil(std::log2(degree) + std::log2(noise_bound) + std::log2(scale) + statistical_bits));
  // A slot adds N of them: deviation sqrt(N / 12) 2^b / scale, and six deviations must stay under one half.
  const double slot_error = 6 * std::sqrt(degree / 12) * std::exp2(bits) / scale;
  const double room = key.context->base(ciphertext.meta.level).log2() - 2;
  if (slot_error >= 0.5 || bits > 120 || bits >= room) {
    throw NoiseError(
        "decrypt_for_sharing: hiding an error of " + std::to_string(noise_bound) + " with " +
        std::to_string(statistical_bits) + " statistical bits would leave no precision (slots in error by " +
        std::to_string(slot_error) + "); use a larger scale, a tighter bound or fewer statistical bits");
  }
  rlwe::Plaintext plaintext = decrypt(ciphertext, key);
  const rlwe::Context& context = *key.context;
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = plaintext.poly.base();
  poly::Poly flooding = context.make_poly(plaintext.poly.shape().batch, 1, base, poly::Form::coefficient,
                                          runtime::Secrecy::secret);
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  backend.sample(context.queue(), flooding.view(), poly::RandomStream{poly::Seed::fresh(), 0},
                 poly::Distribution::flooding(std::max(bits, 1)), base, workspace);
  backend.forward_transform(context.queue(), flooding.view(), flooding.view(), base);
  const poly::PolyView out = plaintext.poly.view();
  backend.add(context.queue(), out, out, flooding.view(), base);
  return plaintext;
}

}  // namespace hemera::ckks
