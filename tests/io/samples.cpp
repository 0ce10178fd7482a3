#include "io/samples.hpp"

#include <algorithm>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/noise.hpp"
#include "rlwe/fresh_randomness.hpp"

namespace hemera::io::test {

using rlwe::Scheme;

std::vector<std::uint64_t> words(const rlwe::Context& context, const poly::Poly& poly) {
  std::vector<std::uint64_t> out(poly.shape().words());
  context.backend().download(context.queue(), out, poly.view(), poly.form());
  context.queue().synchronize();
  return out;
}

Samples make_samples(const std::shared_ptr<const rlwe::Context>& context) {
  const bool ckks = context->scheme() == Scheme::ckks;
  Samples samples;
  samples.context = context;
  samples.secret = rlwe::generate_secret_key(context);
  samples.public_key = rlwe::generate_public_key(samples.secret);
  samples.switching = rlwe::generate_switching_key(samples.secret, samples.secret, 0);
  rlwe::KeyRequest request;
  request.rotations = {1};
  request.conjugation = true;
  request.galois_level = 0;
  samples.keys = rlwe::generate_keys(samples.secret, request);

  rlwe::Metadata meta;
  meta.level = context->parameters().highest_user_level();
  meta.slots = ckks ? 512 : 1000;
  meta.filled = ckks ? 0 : meta.slots;
  meta.scale = ckks ? context->parameters().scale() : 1;
  meta.correction = context->scheme() == Scheme::bgv ? 77 : 1;
  // The bound is that of a message's encryption, which loading does not lift.
  const auto with_bound = [&](rlwe::Ciphertext sample) {
    sample.meta.noise_log2 = std::max(sample.meta.noise_log2, rlwe::least_noise_log2(*context));
    return sample;
  };
  samples.ciphertext = with_bound(rlwe::encrypt_zero(samples.public_key, meta));
  meta.level = 0;
  meta.batch = {2, 1};
  samples.seeded = with_bound(rlwe::encrypt_zero(samples.secret, meta));
  meta.batch = {2};
  meta.encoding = ckks ? rlwe::Encoding::slots : rlwe::Encoding::coefficients;
  meta.filled = 0;
  samples.plaintext.context = context;
  samples.plaintext.meta = meta;
  samples.plaintext.poly = context->make_poly(2, 1, ckks ? context->base(0) : context->plain_base(),
                                              ckks ? poly::Form::evaluation : poly::Form::coefficient);
  runtime::Workspace none;
  context->backend().sample(context->queue(), samples.plaintext.poly.view(),
                            poly::RandomStream{poly::Seed::fresh(), 0}, poly::Distribution::uniform(),
                            samples.plaintext.poly.base(), none);
  return samples;
}

Samples make_second_format_samples(const std::shared_ptr<const rlwe::Context>& context) {
  Samples samples = make_samples(context);
  const auto shared = [](rlwe::SwitchingKey key) {
    return std::make_shared<const rlwe::SwitchingKey>(std::move(key));
  };
  // The circuit's level is the base, so its prime is not special here; the key prime is.
  const rlwe::ParametersLiteral& literal = context->parameters().literal();
  const auto& lowest = literal.levels.front();
  const auto& highest = literal.levels.back();
  const auto wide = context->gadget(
      {.base = highest, .special = literal.key_primes, .digits = {{highest[0]}, {highest[1]}, {highest[2]}}});
  // A prime of a higher level is special for a key of a lower one.
  const auto narrow =
      context->gadget({.base = lowest, .special = {highest[1]}, .digits = {lowest}, .window_bits = 11});
  samples.switching = rlwe::generate_switching_key(samples.secret, samples.secret, narrow);
  samples.keys.add(rlwe::KeyRole::relinearization(),
                   shared(rlwe::generate_relinearization_key(samples.secret, wide)));
  const auto hidden = rlwe::generate_encapsulation_keys(samples.secret, 32, narrow, wide);
  samples.keys.add({.to = rlwe::ephemeral_secret}, hidden.to_ephemeral);
  samples.keys.add({.from = rlwe::ephemeral_secret}, hidden.from_ephemeral);

  // A public key over primes of its own.
  const poly::RnsBase base = context->base(0).united(poly::RnsBase(
      context->key_base().ring(), {context->key_base().ring()->index_of(literal.key_primes[0])}));
  samples.public_key.poly = context->make_poly(1, 2, base, poly::Form::evaluation);
  samples.public_key.seed =
      rlwe::sample_rlwe(*context, samples.public_key.poly.view(), samples.secret.poly, base);
  samples.keys.public_key = std::make_shared<const rlwe::PublicKey>(rlwe::PublicKey{
      context, context->make_poly(1, 2, base, poly::Form::evaluation), samples.public_key.seed});
  context->backend().copy(context->queue(),
                          std::const_pointer_cast<rlwe::PublicKey>(samples.keys.public_key)->poly.view(),
                          std::as_const(samples.public_key.poly).view());

  samples.ciphertext.meta.noise_scale_degree = 3;
  samples.seeded.meta.noise_scale_degree = 0;
  samples.plaintext.meta.noise_scale_degree = 4;
  if (context->scheme() == Scheme::ckks) samples.plaintext.meta.largest = 100;
  return samples;
}

Samples make_third_format_samples(const std::shared_ptr<const rlwe::Context>& context) {
  Samples samples = make_second_format_samples(context);
  const bool ckks = context->scheme() == Scheme::ckks;
  // The number of values says how many slots of BFV and BGV are filled. Coefficients have no padding.
  if (ckks) samples.ciphertext.meta.filled = 300;
  samples.ciphertext.meta.padding = rlwe::Padding::unknown;
  samples.seeded.meta.padding = rlwe::Padding::uniform;
  samples.seeded.meta.is_complex = ckks;
  if (ckks) samples.plaintext.meta.filled = 511;
  return samples;
}

Samples make_fourth_format_samples(const std::shared_ptr<const rlwe::Context>& context) {
  Samples samples = make_third_format_samples(context);
  samples.ciphertext.meta.spent = true;
  samples.seeded.meta.spent = true;
  return samples;
}

std::uint16_t version_of(const FormatCase& tested, const std::string& sample) {
  const bool is_message = sample.find("ciphertext") != std::string::npos || sample == "plaintext";
  const bool has_padding = tested.scheme == Scheme::ckks || sample != "plaintext";
  return is_message && has_padding ? tested.version : std::min(tested.version, second_format);
}

std::vector<FormatCase> format_cases() {
  std::vector<FormatCase> cases;
  for (const std::uint16_t version : {first_format, second_format, third_format}) {
    for (const Scheme scheme : {Scheme::bfv, Scheme::bgv, Scheme::ckks}) cases.push_back({scheme, version});
  }
  for (const Scheme scheme : {Scheme::bfv, Scheme::bgv}) cases.push_back({scheme, fourth_format});
  return cases;
}

std::string name(const FormatCase& tested) {
  return rlwe::name(tested.scheme) +
         (tested.version == first_format ? "" : "InVersion" + std::to_string(tested.version));
}

std::shared_ptr<const rlwe::Context> context_of(const FormatCase& tested, int bits) {
  if (tested.version == first_format) return small_context(tested.scheme, bits);
  return tests::make_context(second_format_parameters(tested.scheme, bits), 1);
}

Samples make_samples(const FormatCase& tested, int bits) {
  const auto context = context_of(tested, bits);
  if (tested.version == first_format) return make_samples(context);
  if (tested.version == second_format) return make_second_format_samples(context);
  return tested.version == third_format ? make_third_format_samples(context)
                                        : make_fourth_format_samples(context);
}

std::vector<SampleFile> sample_files(const Samples& samples, const SaveOptions& options) {
  using Bytes = std::span<const std::byte>;
  const auto context = samples.context;
  return {
      {"parameters", save(context->parameters(), options),
       [](Bytes file) { return save(load_parameters(file)); }},
      {"plaintext", save(samples.plaintext, options),
       [context](Bytes file) { return save(load_plaintext(context, file)); }},
      {"ciphertext", save(samples.ciphertext, options),
       [context](Bytes file) { return save(load_ciphertext(context, file)); }},
      {"seeded ciphertext", save(samples.seeded, options),
       [context](Bytes file) { return save(load_ciphertext(context, file)); }},
      {"secret key", save(samples.secret, options),
       [context](Bytes file) { return save(load_secret_key(context, file)); }},
      {"public key", save(samples.public_key, options),
       [context](Bytes file) { return save(load_public_key(context, file)); }},
      {"switching key", save(samples.switching, options),
       [context](Bytes file) { return save(load_switching_key(context, file)); }},
      {"evaluation keys", save(samples.keys, options),
       [context](Bytes file) { return save(load_evaluation_keys(context, file)); }},
  };
}

}  // namespace hemera::io::test
