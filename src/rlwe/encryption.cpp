#include "hemera/rlwe/encryption.hpp"

#include <algorithm>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using runtime::Secrecy;

}  // namespace

Ciphertext encrypt_zero(const PublicKey& key, Metadata meta, const poly::ConstPolyView& message) {
  return encrypt_zero(key, std::move(meta), {poly::Seed::fresh(), 0}, message);
}

Ciphertext encrypt_zero(const PublicKey& key, Metadata meta, const poly::RandomStream& secret,
                        const poly::ConstPolyView& message) {
  require_filled(key, "encrypt");
  const Context& context = *key.context;
  require_level(context, meta.level, "encrypt");
  const poly::Backend& backend = context.backend();
  const poly::Division* division = context.encryption_division(meta.level, key.poly.base());
  const poly::RnsBase& base = division == nullptr ? context.base(meta.level) : division->source();

  meta.noise_log2 = fresh_noise_log2(context, meta.level, key.poly.base());
  Ciphertext result = make_ciphertext(key.context, std::move(meta), 2);
  with_restricted(context, key.poly, base, [&](const poly::ConstPolyView& pk) {
    auto workspace = context.make_workspace(Secrecy::secret);
    backend.encrypt_zero(context.queue(), result.poly.view(), pk, secret, context.error_distribution(),
                         error_factor(context.parameters()), base, division, message, workspace);
  });
  return result;
}

Ciphertext encrypt_zero(const SecretKey& key, Metadata meta, const poly::ConstPolyView& message) {
  require_filled(key, "encrypt");
  const Context& context = *key.context;
  require_level(context, meta.level, "encrypt");
  meta.noise_log2 = fresh_noise_log2(context, false);
  const poly::RnsBase& base = context.base(meta.level);
  Ciphertext result = make_ciphertext(key.context, std::move(meta), 2);
  result.seed = sample_rlwe(context, result.poly.view(), key.poly, base, message);
  return result;
}

poly::Poly decrypt_phase(const Ciphertext& ciphertext, const SecretKey& key, Form form) {
  require_filled(ciphertext, "decrypt");
  require_filled(key, "decrypt");
  require_same_context(*ciphertext.context, *key.context, "decrypt");
  const Context& context = *key.context;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(ciphertext.meta.level);
  const std::size_t batch = ciphertext.poly.shape().batch;

  poly::Poly phase = context.make_poly(batch, 1, base, form, Secrecy::secret);
  with_restricted(context, key.poly, base, [&](const poly::ConstPolyView& s) {
    backend.phase(queue, phase.view(), ciphertext.poly.view(), s, form, base);
  });
  return phase;
}

}  // namespace hemera::rlwe
