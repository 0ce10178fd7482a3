#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/io/file.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "io/metadata.hpp"
#include "io/polynomials.hpp"
#include "io/secret.hpp"
#include "io/versions.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::io {
namespace {

// A file of this kind that belongs to the context: a whole, undamaged one where its bytes are in memory.
template <typename File>
Reader open(const ContextPointer& context, const File& file, Kind kind) {
  rlwe::require_filled(context, "load");
  Reader reader(file);
  reader.header().expect_kind(kind);
  reader.header().expect_fingerprint(context->parameters().fingerprint());
  return reader;
}

template <typename Fields>
Fields next_fields(Reader& reader, Tag tag, const rlwe::Context& context) {
  const Payload payload = read_fields(reader.next(tag));
  Fields fields = Fields::read(payload.bytes(), reader.header().version);
  fields.check(context.parameters());
  return fields;
}

MessageFields next_message(Reader& reader, const rlwe::Context& context) {
  auto fields = next_fields<MessageFields>(reader, message_tag, context);
  if (context.scheme() != rlwe::Scheme::ckks) {
    fields.meta.filled = rlwe::filled_slots(fields.meta, context.parameters().max_slots());
  }
  return fields;
}

// Every object has one encoding: what version 1 can express is not written in version 2.
template <typename Object>
void require_version(const Reader& reader, const Object& object) {
  const std::uint16_t version = reader.header().version;
  if (const std::uint16_t own = version_of(object); own != version) {
    throw FormatError("an object in version " + std::to_string(version) +
                      " of the format that belongs into version " + std::to_string(own));
  }
}

// Primes of a file as a base of the context's keys.
poly::RnsBase key_base_of(const rlwe::Context& context, const std::vector<std::uint64_t>& primes) {
  const poly::RnsBase& all = context.key_base();
  std::vector<std::uint32_t> indices;
  for (const std::uint64_t prime : primes) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all.modulus(i).value() == prime) indices.push_back(all.index(i));
    }
  }
  std::vector<std::uint32_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  if (indices.size() != primes.size() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    throw FormatError("the key has primes that the parameters do not have, or one twice");
  }
  return {all.ring(), std::move(indices)};
}

rlwe::PublicKey next_public_key(Reader& reader, const ContextPointer& context) {
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  const bool first = reader.header().version == first_format;
  if (fields.level != 0 || !fields.gadget.special.empty() || !fields.gadget.digits.empty() ||
      fields.gadget.window_bits != 0) {
    throw FormatError("a public key with a level or a gadget");
  }
  const poly::RnsBase base = first ? context->public_key_base() : key_base_of(*context, fields.gadget.base);
  if (base.empty()) throw FormatError("a public key without primes");
  const ExpectedResidues expected{base, poly::Form::evaluation, 1, fields.seed ? 1U : 2U};
  return {context, read_polynomials(reader.next(residues_tag), *context, expected, fields.seed), fields.seed};
}

rlwe::GadgetPointer gadget_of(const rlwe::Context& context, const KeyFields& fields, std::uint16_t version) {
  if (version == first_format) return context.gadget(fields.level);
  try {
    return context.gadget(fields.gadget);
  } catch (const ParameterError& error) {
    throw FormatError("the gadget of a key: " + error.message());
  } catch (const MismatchError& error) {
    throw FormatError("the gadget of a key: " + error.message());
  }
}

rlwe::SwitchingKey next_switching_key(Reader& reader, const ContextPointer& context) {
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  auto gadget = gadget_of(*context, fields, reader.header().version);
  if (reader.header().version == first_format && fields.level != gadget->highest_level()) {
    throw FormatError("a switching key for level " + std::to_string(fields.level) +
                      ", whose gadget serves level " + std::to_string(gadget->highest_level()) + " too");
  }
  const ExpectedResidues expected{gadget->modulus(), poly::Form::evaluation, gadget->digits().size(),
                                  fields.seed ? 1U : 2U};
  auto poly = read_polynomials(reader.next(residues_tag), *context, expected, fields.seed);
  return {context, std::move(gadget), rlwe::stored_key(*context, std::move(poly)), fields.seed};
}

rlwe::EvaluationKeys next_evaluation_keys(Reader& reader, const ContextPointer& context) {
  const auto list = next_fields<KeyList>(reader, key_list_tag, *context);
  if (reader.sections_left() != 2 * list.size()) {
    throw FormatError("the file lists " + std::to_string(list.size()) + " keys and has " +
                      std::to_string(reader.sections_left()) + " sections for them, not two each");
  }
  rlwe::EvaluationKeys keys;
  keys.context = context;
  if (list.public_key) {
    keys.public_key = std::make_shared<const rlwe::PublicKey>(next_public_key(reader, context));
  }
  for (const rlwe::KeyRole& role : list.roles) {
    auto key = std::make_shared<const rlwe::SwitchingKey>(
        next_switching_key(reader, rlwe::key_context(context, role)));
    const auto& known = keys.switching[role];
    if (!known.empty() && !(known.rbegin()->first < key->gadget->primes())) {
      throw FormatError("keys of one role whose gadgets do not ascend");
    }
    keys.add(role, std::move(key));
  }
  reader.expect_end();
  require_version(reader, keys);
  return keys;
}

// Faults, visible in the header alone, that forbid loading an object of any kind into the context.
void expect_object(const Header& header, const rlwe::Context& context) {
  if (header.kind == Kind::parameters) {
    throw MismatchError(
        "the file holds parameters, which belong to no context; load them by themselves and make a context "
        "of them");
  }
  header.expect_fingerprint(context.parameters().fingerprint());
}

}  // namespace

rlwe::Parameters load_parameters(std::span<const std::byte> file) {
  Reader reader(file);
  reader.header().expect_kind(Kind::parameters);
  const Payload payload = read_fields(reader.next(parameters_tag));
  reader.expect_end();
  auto parameters = read_parameters(payload.bytes(), reader.header().version);
  if (parameters.fingerprint() != reader.header().fingerprint) {
    throw FormatError("the fingerprint in the file header is not that of the parameters in the file");
  }
  return parameters;
}

rlwe::Plaintext load_plaintext(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::plaintext);
  auto fields = next_message(reader, *context);
  if (fields.seed) {
    throw FormatError("a plaintext with a seed");
  }
  if (fields.meta.spent) throw FormatError("a plaintext with a spent noise budget");
  const bool ckks = context->scheme() == rlwe::Scheme::ckks;
  const ExpectedResidues expected{ckks ? context->base(fields.meta.level) : context->plain_base(),
                                  ckks ? poly::Form::evaluation : poly::Form::coefficient,
                                  rlwe::batch_count(fields.meta.batch), 1U,
                                  ckks ? ckks::period_entries(fields.meta.slots) : 0};
  auto poly = read_polynomials(reader.next(residues_tag), *context, expected, {});
  reader.expect_end();
  rlwe::Plaintext plaintext{context, std::move(fields.meta), std::move(poly)};
  require_version(reader, plaintext);
  return plaintext;
}

rlwe::Ciphertext load_ciphertext(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::ciphertext);
  auto fields = next_message(reader, *context);
  ExpectedResidues expected{context->base(fields.meta.level), poly::Form::evaluation,
                            rlwe::batch_count(fields.meta.batch), std::nullopt};
  if (fields.seed) expected.components = 1;
  auto poly = read_polynomials(reader.next(residues_tag), *context, expected, fields.seed);
  reader.expect_end();
  rlwe::Ciphertext ciphertext{context, std::move(fields.meta), std::move(poly), fields.seed};
  require_version(reader, ciphertext);
  // Whoever wrote the file may claim any bound; no ciphertext has less noise than a fresh one.
  ciphertext.meta.noise_log2 = std::max(ciphertext.meta.noise_log2, rlwe::least_noise_log2(*context));
  return ciphertext;
}

rlwe::SecretKey load_secret_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::secret_key);
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  if (fields.seed || fields.level != 0 || fields.gadget != rlwe::GadgetPrimes{}) {
    throw FormatError("a secret key with a seed, a level or a gadget");
  }
  rlwe::SecretKey key{context, read_secret(reader.next(residues_tag), *context)};
  reader.expect_end();
  require_version(reader, key);
  return key;
}

rlwe::PublicKey load_public_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::public_key);
  auto key = next_public_key(reader, context);
  reader.expect_end();
  require_version(reader, key);
  return key;
}

rlwe::SwitchingKey load_switching_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::switching_key);
  auto key = next_switching_key(reader, context);
  reader.expect_end();
  require_version(reader, key);
  return key;
}

rlwe::EvaluationKeys load_evaluation_keys(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::evaluation_keys);
  return next_evaluation_keys(reader, context);
}

NeededKeys load_needed_keys(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(context, file, Kind::needed_keys);
  const std::uint16_t version = reader.header().version;
  const auto list = next_fields<KeyList>(reader, key_list_tag, *context);
  if (version != eighth_format || reader.sections_left() != list.roles.size()) {
    throw FormatError("needed keys in version " + std::to_string(version) + " of the format, a list of " +
                      std::to_string(list.roles.size()) + " and " + std::to_string(reader.sections_left()) +
                      " sections for them, not one each in version 8");
  }
  NeededKeys needed{.public_key = list.public_key, .needs = {}};
  for (const rlwe::KeyRole& role : list.roles) {
    const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
    if (fields.seed) throw FormatError("a needed key with a seed");
    const auto gadget = gadget_of(*rlwe::key_context(context, role), fields, version);
    const auto& known = needed.needs;
    if (!known.empty() && known.back().role == role && !(known.back().gadget < gadget->primes())) {
      throw FormatError("keys of one role whose gadgets do not ascend");
    }
    needed.needs.push_back({role, gadget->primes()});
  }
  reader.expect_end();
  return needed;
}

rlwe::Parameters load_parameters(const std::filesystem::path& path) {
  return load_parameters(load_file(path, [](const Header& header) { header.expect_kind(Kind::parameters); }));
}

AnyObject load_any(const ContextPointer& context, std::span<const std::byte> file) {
  const Header header = read_header(file);
  expect_object(header, *context);
  switch (header.kind) {
    case Kind::plaintext:
      return load_plaintext(context, file);
    case Kind::ciphertext:
      return load_ciphertext(context, file);
    case Kind::secret_key:
      return load_secret_key(context, file);
    case Kind::public_key:
      return load_public_key(context, file);
    case Kind::switching_key:
      return load_switching_key(context, file);
    default:
      return load_evaluation_keys(context, file);
  }
}

AnyObject load_any(const ContextPointer& context, const std::filesystem::path& path) {
  // Keys have gigabytes: one is in memory beside those that are loaded, and not the file.
  if (const std::unique_ptr<Content> content = open_content(path)) {
    Reader reader(*content);
    expect_object(reader.header(), *context);
    if (reader.header().kind == Kind::evaluation_keys) return next_evaluation_keys(reader, context);
  }
  return load_any(context, load_file(path, [&](const Header& header) { expect_object(header, *context); }));
}

}  // namespace hemera::io
