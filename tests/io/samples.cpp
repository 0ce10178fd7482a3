#include "io/samples.hpp"

#include "hemera/rlwe/encryption.hpp"

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
  meta.level = context->top_level();
  meta.slots = ckks ? 512 : 1000;
  meta.scale = ckks ? context->parameters().scale() : 1;
  meta.correction = context->scheme() == Scheme::bgv ? 77 : 1;
  samples.ciphertext = rlwe::encrypt_zero(samples.public_key, meta);
  meta.level = 0;
  meta.batch = {2, 1};
  samples.seeded = rlwe::encrypt_zero(samples.secret, meta);
  meta.batch = {2};
  meta.encoding = ckks ? rlwe::Encoding::slots : rlwe::Encoding::coefficients;
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
