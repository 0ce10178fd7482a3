#include <algorithm>
#include <span>
#include <string>
#include <tuple>
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
    throw MismatchError("the object can not be saved: " + error.message());
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

// Without its seed.
KeyFields fields_of(const Writer& writer, const rlwe::Context& context, const rlwe::Gadget& gadget) {
  KeyFields fields{.scheme = context.scheme(), .level = gadget.highest_level()};
  if (writer.version() > first_format) fields.gadget = gadget.primes();
  return fields;
}

void write_key(Writer& writer, const rlwe::SwitchingKey& key, const SaveOptions& options) {
  KeyFields fields = fields_of(writer, *key.context, *key.gadget);
  fields.seed = key.seed;
  write_key(writer, *key.context, std::move(fields), key.poly, options);
}

// Bytes of a key's two sections, about.
std::size_t key_bytes(const poly::Poly& poly, const std::optional<poly::RandomStream>& seed,
                      const SaveOptions& options) {
  return 2 * Section::header_bytes + 64 +
         section_bytes(poly, stored_components(poly, kept_seed(seed, options)), options);
}

const Fingerprint& fingerprint(const rlwe::Context& context) { return context.parameters().fingerprint(); }

KeyList list_of(const rlwe::PublicKey* public_key, std::span<const KeysWriter::Entry> entries) {
  KeyList list{.public_key = public_key != nullptr};
  for (const KeysWriter::Entry& entry : entries) list.roles.push_back(entry.role);
  return list;
}

std::uint16_t version_of_set(const rlwe::ContextPointer& context, const rlwe::PublicKey* public_key,
                             std::span<const KeysWriter::Entry> entries) {
  std::uint16_t version = public_key != nullptr ? version_of(*public_key) : first_format;
  for (const KeysWriter::Entry& entry : entries)
    version = std::max(version, version_of(*rlwe::key_context(context, entry.role), entry.gadget));
  return std::max(version, list_of(public_key, entries).version());
}

// In the order of EvaluationKeys::switching.
std::vector<KeysWriter::Entry> in_order(std::vector<KeysWriter::Entry> entries) {
  const auto place = [](const KeysWriter::Entry& entry) {
    return std::tie(entry.role, entry.gadget->primes());
  };
  std::ranges::sort(entries, [&](const auto& a, const auto& b) { return place(a) < place(b); });
  if (std::ranges::adjacent_find(
          entries, [&](const auto& a, const auto& b) { return place(a) == place(b); }) != entries.end()) {
    throw MismatchError("a set of keys has one role with one gadget twice; ask for each key once");
  }
  return entries;
}

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
  Writer writer(sink, version_of(context, key.gadget), Kind::switching_key, fingerprint(context), 2);
  write_key(writer, key, options);
  writer.finish();
}

void save(Sink& sink, const rlwe::EvaluationKeys& keys, const SaveOptions& options) {
  rlwe::require_filled(keys, "save");
  std::vector<KeysWriter::Entry> entries;
  std::size_t bytes = Header::bytes;
  if (keys.public_key) bytes += key_bytes(keys.public_key->poly, keys.public_key->seed, options);
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) {
      entries.push_back({role, key->gadget});
      bytes += key_bytes(key->poly, key->seed, options);
    }
  }
  if (options.compression_level == 0) sink.expect(bytes);
  KeysWriter writer(sink, keys.context, keys.public_key.get(), std::move(entries), options);
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) writer.write(*key);
  }
  writer.finish();
}

void save(Sink& sink, const rlwe::Parameters& parameters, NeededKeys needed) {
  const auto place = [](const rlwe::KeyNeed& need) { return std::tie(need.role, need.gadget); };
  std::ranges::sort(needed.needs, [&](const auto& a, const auto& b) { return place(a) < place(b); });
  KeyList list{.public_key = needed.public_key};
  for (const rlwe::KeyNeed& need : needed.needs) list.roles.push_back(need.role);
  Writer writer(sink, eighth_format, Kind::needed_keys, parameters.fingerprint(),
                static_cast<std::uint32_t>(1 + list.roles.size()));
  write_fields(writer, key_list_tag, list, parameters);
  for (rlwe::KeyNeed& need : needed.needs) {
    write_fields(writer, key_tag,
                 KeyFields{.scheme = parameters.scheme(), .gadget = std::move(need.gadget), .seed = {}},
                 parameters);
  }
  writer.finish();
}

KeysWriter::KeysWriter(Sink& sink, rlwe::ContextPointer context, const rlwe::PublicKey* public_key,
                       std::vector<Entry> entries, const SaveOptions& options)
    : context_(std::move(context)),
      entries_(in_order(std::move(entries))),
      options_(options),
      writer_(sink, version_of_set(context_, public_key, entries_), Kind::evaluation_keys,
              fingerprint(*context_),
              static_cast<std::uint32_t>(1 + 2 * (entries_.size() + (public_key != nullptr ? 1 : 0)))) {
  std::size_t largest = 0;
  for (const Entry& entry : entries_) {
    largest = std::max(largest, section_bytes(*entry.gadget, options.seeded ? 1 : 2, options));
  }
  writer_.expect_payload(largest);
  write_fields(writer_, key_list_tag, list_of(public_key, entries_), context_->parameters());
  if (public_key != nullptr) write_key(writer_, *public_key, options_);
}

void KeysWriter::take_turn(const rlwe::Context& context, const rlwe::Gadget& gadget) {
  const bool is_due = next_ < entries_.size() && gadget.primes() == entries_[next_].gadget->primes() &&
                      fingerprint(context) == fingerprint(*rlwe::key_context(context_, entries_[next_].role));
  if (!is_due) {
    throw MismatchError(
        "key " + std::to_string(next_) +
        " of a set is not the one that its list announces; write the keys of entries() in order");
  }
  ++next_;
}

void KeysWriter::write(const rlwe::SwitchingKey& key) {
  rlwe::require_filled(key, "save");
  take_turn(*key.context, *key.gadget);
  write_key(writer_, key, options_);
}

void KeysWriter::write(const rlwe::KeyMaker& key) {
  if (options_.compression_level != 0) return write(key.key());
  const rlwe::Context& context = *key.context();
  take_turn(context, *key.gadget());
  KeyFields fields = fields_of(writer_, context, *key.gadget());
  fields.seed = kept_seed(key.seed(), options_);
  write_fields(writer_, key_tag, fields, context.parameters());
  write_digits(writer_, key, fields.seed ? 1 : 2, options_);
}

}  // namespace hemera::io
