#include <string>
#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "io/metadata.hpp"
#include "io/polynomials.hpp"
#include "io/ternary.hpp"

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
  fields.write(out);
  require_loadable([&] { Fields::read(out.view()).check(parameters); });
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
void write_key(Writer& writer, const rlwe::Context& context, std::size_t level, const poly::Poly& poly,
               const std::optional<poly::RandomStream>& seed, const SaveOptions& options) {
  require_evaluation_form(poly, "key");
  const KeyFields fields{context.scheme(), level, kept_seed(seed, options)};
  write_fields(writer, key_tag, fields, context.parameters());
  write_polynomials(writer, context, poly, stored_components(poly, fields.seed), options);
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
  require_loadable([&] { check_parameters_size(out.view()); });
  Writer writer(sink, Kind::parameters, parameters.fingerprint(), 1);
  writer.section(parameters_tag, out.view(), options.compression_level);
  writer.finish();
}

void save(Sink& sink, const rlwe::Plaintext& plaintext, const SaveOptions& options) {
  const rlwe::Context& context = *plaintext.context;
  Writer writer(sink, Kind::plaintext, fingerprint(context), 2);
  write_fields(writer, message_tag, MessageFields{context.scheme(), plaintext.meta, {}},
               context.parameters());
  write_polynomials(writer, context, plaintext.poly, 1, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::Ciphertext& ciphertext, const SaveOptions& options) {
  const rlwe::Context& context = *ciphertext.context;
  require_evaluation_form(ciphertext.poly, "ciphertext");
  const MessageFields fields{context.scheme(), ciphertext.meta, kept_seed(ciphertext.seed, options)};
  Writer writer(sink, Kind::ciphertext, fingerprint(context), 2);
  write_fields(writer, message_tag, fields, context.parameters());
  write_polynomials(writer, context, ciphertext.poly, stored_components(ciphertext.poly, fields.seed),
                    options);
  writer.finish();
}

void save(Sink& sink, const rlwe::SecretKey& key, const SaveOptions&) {
  const rlwe::Context& context = *key.context;
  require_evaluation_form(key.poly, "secret key");
  Writer writer(sink, Kind::secret_key, fingerprint(context), 2);
  write_fields(writer, key_tag, KeyFields{context.scheme(), 0, {}}, context.parameters());
  write_ternary(writer, context, key.poly);
  writer.finish();
}

void save(Sink& sink, const rlwe::PublicKey& key, const SaveOptions& options) {
  const rlwe::Context& context = *key.context;
  Writer writer(sink, Kind::public_key, fingerprint(context), 2);
  write_key(writer, context, 0, key.poly, key.seed, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::SwitchingKey& key, const SaveOptions& options) {
  const rlwe::Context& context = *key.context;
  Writer writer(sink, Kind::switching_key, fingerprint(context), 2);
  write_key(writer, context, key.level, key.poly, key.seed, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::EvaluationKeys& keys, const SaveOptions& options) {
  const rlwe::Context& context = *keys.context;
  KeyList list;
  std::size_t bytes = Header::bytes;
  list.public_key = keys.public_key != nullptr;
  list.relinearization = keys.relinearization != nullptr;
  if (keys.public_key) {
    bytes += key_bytes(keys.public_key->poly, keys.public_key->seed, options);
  }
  if (keys.relinearization) {
    bytes += key_bytes(keys.relinearization->poly, keys.relinearization->seed, options);
  }
  for (const auto& [element, key] : keys.galois) {
    list.galois.push_back(element);
    bytes += key_bytes(key->poly, key->seed, options) + sizeof element;
  }
  if (options.compression_level == 0) {
    sink.expect(bytes);
  }
  Writer writer(sink, Kind::evaluation_keys, fingerprint(context),
                static_cast<std::uint32_t>(1 + 2 * list.size()));
  write_fields(writer, key_list_tag, list, context.parameters());
  if (keys.public_key) {
    write_key(writer, context, 0, keys.public_key->poly, keys.public_key->seed, options);
  }
  if (keys.relinearization) {
    write_key(writer, context, keys.relinearization->level, keys.relinearization->poly,
              keys.relinearization->seed, options);
  }
  for (const auto& [element, key] : keys.galois) {
    write_key(writer, context, key->level, key->poly, key->seed, options);
  }
  writer.finish();
}

}  // namespace hemera::io
