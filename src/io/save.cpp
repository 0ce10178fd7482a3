#include <string>
#include <utility>
#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "io/metadata.hpp"
#include "io/polynomials.hpp"
#include "io/secret.hpp"
#include "io/versions.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::io {
namespace {

template <typename Check>
void require_loadable(const Check& check) {
  try {
    check();
  } catch (const FormatError& error) {
    throw MismatchError(std::string("the object can not be saved: ") + error.what());
  }
}

// Writes the fields after reading them back: what is saved must load.
template <typename Fields>
void write_fields(Writer& writer, Tag tag, const Fields& fields, const rlwe::Parameters& parameters) {
  runtime::ByteWriter out;
  fields.write(out, writer.version());
  require_loadable([&] {
    check_fields_size(tag, out.view().size());
    Fields::read(out.view(), writer.version()).check(parameters);
  });
  writer.section(tag, out.view());
}

void require_evaluation_form(const poly::Poly& poly, const char* what) {
  if (poly.form() != poly::Form::evaluation) {
    throw MismatchError(std::string("a ") + what +
                        " in coefficient form can not be saved; transform it first");
  }
}

std::optional<poly::RandomStream> kept_seed(const std::optional<poly::RandomStream>& seed,
                                            const SaveOptions& options) {
  return options.seeded ? seed : std::nullopt;
}

// Two components, of which the seed replaces the last.
std::size_t stored_components(const poly::Poly& poly, const std::optional<poly::RandomStream>& seed) {
  return poly.shape().components - (seed ? 1U : 0U);
}

// A key's two sections.
void write_key(Writer& writer, const rlwe::Context& context, KeyFields fields, const poly::Poly& poly,
               const SaveOptions& options) {
  require_evaluation_form(poly, "key");
  fields.seed = kept_seed(fields.seed, options);
  write_fields(writer, key_tag, fields, context.parameters());
  write_polynomials(writer, context, poly, stored_components(poly, fields.seed), options);
}

void write_key(Writer& writer, const rlwe::PublicKey& key, const SaveOptions& options) {
  KeyFields fields{.scheme = key.context->scheme(), .seed = key.seed};
  if (writer.version() > first_format) fields.gadget.base = key.poly.base().values();
  write_key(writer, *key.context, std::move(fields), key.poly, options);
}

void write_key(Writer& writer, const rlwe::SwitchingKey& key, const SaveOptions& options) {
  KeyFields fields{.scheme = key.context->scheme(), .level = key.level(), .seed = key.seed};
  if (writer.version() > first_format) fields.gadget = key.gadget->primes();
  write_key(writer, *key.context, std::move(fields), key.poly, options);
}

// Bytes of a key's two sections, about.
std::size_t key_bytes(const poly::Poly& poly, const std::optional<poly::RandomStream>& seed,
                      const SaveOptions& options) {
  return 2 * Section::header_bytes + 64 +
         section_bytes(poly, stored_components(poly, kept_seed(seed, options)), options);
}

const Fingerprint& fingerprint(const rlwe::Context& context) { return context.parameters().fingerprint(); }

}  // namespace

void save(Sink& sink, const rlwe::Parameters& parameters, const SaveOptions& options) {
  runtime::ByteWriter out;
  parameters.write(out);
  require_loadable([&] {
    check_fields_size(parameters_tag, out.view().size());
    check_primes(parameters);
  });
  Writer writer(sink, parameters.format_version(), Kind::parameters, parameters.fingerprint(), 1);
  writer.section(parameters_tag, out.view(), options.compression_level);
  writer.finish();
}

void save(Sink& sink, const rlwe::Plaintext& plaintext, const SaveOptions& options) {
  rlwe::require_filled(plaintext, "save");
  rlwe::require_certain(plaintext);
  const rlwe::Context& context = *plaintext.context;
  const MessageFields fields{context.scheme(), plaintext.meta, {}};
  const bool ckks = context.scheme() == rlwe::Scheme::ckks;
  if (plaintext.poly.base() != (ckks ? context.base(plaintext.meta.level) : context.plain_base())) {
    throw MismatchError(
        "a plaintext over another base than its level's can not be saved; encode it at the level alone");
  }
  Writer writer(sink, version_of(plaintext), Kind::plaintext, fingerprint(context), 2);
  write_fields(writer, message_tag, fields, context.parameters());
  write_polynomials(writer, context, plaintext.poly, 1, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::Ciphertext& ciphertext, const SaveOptions& options) {
  rlwe::require_filled(ciphertext, "save");
  const rlwe::Context& context = *ciphertext.context;
  require_evaluation_form(ciphertext.poly, "ciphertext");
  const MessageFields fields{context.scheme(), ciphertext.meta, kept_seed(ciphertext.seed, options)};
  Writer writer(sink, version_of(ciphertext), Kind::ciphertext, fingerprint(context), 2);
  write_fields(writer, message_tag, fields, context.parameters());
  write_polynomials(writer, context, ciphertext.poly, stored_components(ciphertext.poly, fields.seed),
                    options);
  writer.finish();
}

void save(Sink& sink, const rlwe::SecretKey& key, const SaveOptions&) {
  rlwe::require_filled(key, "save");
  const rlwe::Context& context = *key.context;
  require_evaluation_form(key.poly, "secret key");
  Writer writer(sink, version_of(key), Kind::secret_key, fingerprint(context), 2);
  write_fields(writer, key_tag, KeyFields{.scheme = context.scheme()}, context.parameters());
  write_secret(writer, context, key.poly);
  writer.finish();
}

void save(Sink& sink, const rlwe::PublicKey& key, const SaveOptions& options) {
  rlwe::require_filled(key, "save");
  const rlwe::Context& context = *key.context;
  Writer writer(sink, version_of(key), Kind::public_key, fingerprint(context), 2);
  write_key(writer, key, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::SwitchingKey& key, const SaveOptions& options) {
  rlwe::require_filled(key, "save");
  const rlwe::Context& context = *key.context;
  Writer writer(sink, version_of(key), Kind::switching_key, fingerprint(context), 2);
  write_key(writer, key, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::EvaluationKeys& keys, const SaveOptions& options) {
  rlwe::require_filled(keys, "save");
  const rlwe::Context& context = *keys.context;
  KeyList list;
  std::size_t bytes = Header::bytes;
  list.public_key = keys.public_key != nullptr;
  if (keys.public_key) {
    bytes += key_bytes(keys.public_key->poly, keys.public_key->seed, options);
  }
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) {
      list.roles.push_back(role);
      bytes += key_bytes(key->poly, key->seed, options);
    }
  }
  if (options.compression_level == 0) {
    sink.expect(bytes);
  }
  Writer writer(sink, version_of(keys), Kind::evaluation_keys, fingerprint(context),
                static_cast<std::uint32_t>(1 + 2 * list.size()));
  write_fields(writer, key_list_tag, list, context.parameters());
  if (keys.public_key) {
    write_key(writer, *keys.public_key, options);
  }
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) write_key(writer, *key, options);
  }
  writer.finish();
}

}  // namespace hemera::io
