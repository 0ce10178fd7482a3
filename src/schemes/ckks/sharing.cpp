// Decryptions for others: how wide the flooding must be, and where its seeds come from (docs/ckks.md).
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/wide_gaussian.hpp"
#include "runtime/decimal.hpp"

namespace hemera::ckks {
namespace {

static_assert(std::endian::native == std::endian::little);  // residues are hashed as they lie in memory

// Beyond it the accuracy of the samplers is what counts (docs/randomness.md).
constexpr int most_bits = 64;

void require_sharing(const char* operation, double noise_bound, int statistical_bits, std::size_t shares) {
  const std::string prefix = std::string(operation) + ": ";
  if (!(noise_bound > 0) || !std::isfinite(noise_bound)) {
    throw ParameterError(prefix + "noise_bound must be a positive bound on the error of a slot");
  }
  if (statistical_bits < 1 || statistical_bits > most_bits) {
    throw ParameterError(prefix + "statistical_bits must be from 1 to " + std::to_string(most_bits) +
                         ", not " + std::to_string(statistical_bits));
  }
  if (shares < 1) throw ParameterError(prefix + "shares must be at least 1");
}

// Deviation of a coefficient's flooding.
double flooding_deviation(const rlwe::Ciphertext& ciphertext, double noise_bound, int statistical_bits,
                          std::size_t shares) {
  const rlwe::Context& context = *ciphertext.context;
  const double norm = std::sqrt(static_cast<double>(context.degree())) *
                      std::exp2(coefficient_noise_log2(context, noise_bound, ciphertext.meta.scale));
  return std::sqrt(12 * static_cast<double>(shares)) * std::exp2(0.5 * statistical_bits) * norm;
}

constexpr std::string_view extraction_label = "hemera CKKS flooding key 1";

// The key of the flooding's seeds: the secret and nothing else, extracted as by HKDF (RFC 5869).
poly::Seed flooding_key(const rlwe::SecretKey& secret) {
  const rlwe::Context& context = *secret.context;
  // The secret is small: one limb determines it.
  std::vector<std::uint64_t> residues(context.degree());
  const runtime::ZeroedAtEnd zeroed{std::span(residues)};
  context.backend().download(context.queue(), residues, secret.poly.view().limbs(0, 1), secret.poly.form());
  context.queue().synchronize();
  poly::Seed key;
  const auto label = std::as_bytes(std::span(extraction_label));
  runtime::hmac_sha256(key.bytes, label, std::as_bytes(std::span(residues)));
  return key;
}

// The facts that decide the flooding of a batch's element, but for its residues.
runtime::ByteWriter flooding_input(const rlwe::Ciphertext& ciphertext, double noise_bound,
                                   int statistical_bits, std::size_t shares) {
  const rlwe::Metadata& meta = ciphertext.meta;
  runtime::ByteWriter out;
  out.bytes(ciphertext.context->parameters().fingerprint());
  out.u64(meta.level);
  out.f64(meta.scale);
  out.i64(meta.noise_scale_degree);
  out.u64(meta.slots);
  out.u64(ciphertext.size());
  out.f64(noise_bound);
  out.i64(statistical_bits);
  out.u64(shares);
  return out;
}

// A seed for each element of the batch.
std::vector<poly::Seed> flooding_seeds(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& secret,
                                       double noise_bound, int statistical_bits, std::size_t shares) {
  const rlwe::Context& context = *ciphertext.context;
  const poly::PolyShape shape = ciphertext.poly.shape();
  std::vector<std::uint64_t> residues(shape.words() / shape.batch);
  std::vector<poly::Seed> seeds(shape.batch);
  const poly::Seed key = flooding_key(secret);
  for (std::size_t b = 0; b < shape.batch; ++b) {
    context.backend().download(context.queue(), residues, ciphertext.poly.view().batches(b, 1),
                               ciphertext.poly.form());
    context.queue().synchronize();
    runtime::ByteWriter input = flooding_input(ciphertext, noise_bound, statistical_bits, shares);
    input.bytes(std::as_bytes(std::span(residues)));
    runtime::hmac_sha256(seeds[b].bytes, std::as_bytes(std::span(key.bytes)), input.view());
  }
  return seeds;
}

}  // namespace

double sharing_deviation(const rlwe::Ciphertext& ciphertext, double noise_bound, int statistical_bits,
                         std::size_t shares) {
  require_sharing("sharing_deviation", noise_bound, statistical_bits, shares);
  rlwe::require_filled(ciphertext, "sharing_deviation");
  // A slot is a sum of two coefficients for each slot, times roots of unity.
  return std::sqrt(2.0 * static_cast<double>(ciphertext.meta.slots)) / ciphertext.meta.scale *
         flooding_deviation(ciphertext, noise_bound, statistical_bits, shares);
}

rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    double noise_bound, int statistical_bits, std::size_t shares) {
  require_sharing("decrypt_for_sharing", noise_bound, statistical_bits, shares);
  rlwe::require_filled(ciphertext, "decrypt_for_sharing");
  rlwe::require_filled(key, "decrypt_for_sharing");
  rlwe::require_scheme(*ciphertext.context, rlwe::Scheme::ckks, "decrypt_for_sharing");
  rlwe::require_same_context(*ciphertext.context, *key.context, "decrypt_for_sharing");
  const double slot_error = 6 * sharing_deviation(ciphertext, noise_bound, statistical_bits, shares);
  if (slot_error >= 0.5) {
    throw NoiseError(
        "decrypt_for_sharing: hiding an error of " + decimal(noise_bound) + " with " +
        std::to_string(statistical_bits) + " statistical bits in " + std::to_string(shares) +
        " shares would leave no precision (slots in error by " + decimal(slot_error) +
        "); choose parameters with a larger scale, " +
        Message(WayOut::parameters_of_shares, "as a request with sharing_bits and shares gives them") +
        ", a tighter bound, or fewer statistical bits or shares");
  }
  const rlwe::Context& context = *key.context;
  const poly::Backend& backend = context.backend();
  const rlwe::WideGaussian gaussian(flooding_deviation(ciphertext, noise_bound, statistical_bits, shares));
  const auto seeds = flooding_seeds(ciphertext, key, noise_bound, statistical_bits, shares);
  rlwe::Plaintext plaintext = decrypt(ciphertext, key);
  const poly::RnsBase& base = plaintext.poly.base();
  poly::Poly flooding =
      context.make_poly(seeds.size(), 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  gaussian.sample(context, flooding.view(), seeds, base);
  backend.forward_transform(context.queue(), flooding.view(), flooding.view(), base);
  const poly::PolyView out = plaintext.poly.view();
  backend.add(context.queue(), out, out, std::as_const(flooding).view(), base);
  return plaintext;
}

}  // namespace hemera::ckks
