#include <string>
#include <utility>

#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "io/file_bytes.hpp"
#include "io/metadata.hpp"
#include "io/polynomials.hpp"
#include "io/ternary.hpp"

namespace hemera::io {
namespace {

// A whole, undamaged file of this kind that belongs to the context.
Reader open(const rlwe::Context& context, std::span<const std::byte> file, Kind kind) {
  Reader reader(file);
  reader.header().expect_kind(kind);
  reader.header().expect_fingerprint(context.parameters().fingerprint());
  return reader;
}

template <typename Fields>
Fields next_fields(Reader& reader, Tag tag, const rlwe::Context& context) {
  const Payload payload = reader.next(tag).payload();
  Fields fields = Fields::read(payload.bytes());
  fields.check(context.parameters());
  return fields;
}

rlwe::PublicKey next_public_key(Reader& reader, const ContextPointer& context) {
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  const ExpectedResidues expected{context->public_key_base(), poly::Form::evaluation, 1,
                                  fields.seed ? 1U : 2U};
  return {context, read_polynomials(reader.next(residues_tag), *context, expected, fields.seed), fields.seed};
}

rlwe::SwitchingKey next_switching_key(Reader& reader, const ContextPointer& context) {
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  const ExpectedResidues expected{context->key_base(fields.level), poly::Form::evaluation,
                                  context->gadget(fields.level).size(), fields.seed ? 1U : 2U};
  return {context, fields.level, read_polynomials(reader.next(residues_tag), *context, expected, fields.seed),
          fields.seed};
}

// What the header alone tells against loading an object of any kind into the context.
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
  const Payload payload = reader.next(parameters_tag).payload();
  reader.expect_end();
  auto parameters = read_parameters(payload.bytes());
  if (parameters.fingerprint() != reader.header().fingerprint) {
    throw FormatError("the fingerprint in the file header is not that of the parameters in the file");
  }
  return parameters;
}

rlwe::Plaintext load_plaintext(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::plaintext);
  auto fields = next_fields<MessageFields>(reader, message_tag, *context);
  if (fields.seed) {
    throw FormatError("a plaintext with a seed");
  }
  const bool ckks = context->scheme() == rlwe::Scheme::ckks;
  const ExpectedResidues expected{ckks ? context->base(fields.meta.level) : context->plain_base(),
                                  ckks ? poly::Form::evaluation : poly::Form::coefficient,
                                  rlwe::batch_count(fields.meta.batch), 1U};
  auto poly = read_polynomials(reader.next(residues_tag), *context, expected, {});
  reader.expect_end();
  return {context, std::move(fields.meta), std::move(poly)};
}

rlwe::Ciphertext load_ciphertext(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::ciphertext);
  auto fields = next_fields<MessageFields>(reader, message_tag, *context);
  ExpectedResidues expected{context->base(fields.meta.level), poly::Form::evaluation,
                            rlwe::batch_count(fields.meta.batch), std::nullopt};
  if (fields.seed) {
    expected.components = 1;
  }
  auto poly = read_polynomials(reader.next(residues_tag), *context, expected, fields.seed);
  reader.expect_end();
  return {context, std::move(fields.meta), std::move(poly), fields.seed};
}

rlwe::SecretKey load_secret_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::secret_key);
  const auto fields = next_fields<KeyFields>(reader, key_tag, *context);
  if (fields.seed || fields.level != 0) {
    throw FormatError("a secret key with a seed or a level");
  }
  auto poly = read_ternary(reader.next(residues_tag), *context);
  reader.expect_end();
  return {context, std::move(poly)};
}

rlwe::PublicKey load_public_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::public_key);
  auto key = next_public_key(reader, context);
  reader.expect_end();
  return key;
}

rlwe::SwitchingKey load_switching_key(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::switching_key);
  auto key = next_switching_key(reader, context);
  reader.expect_end();
  return key;
}

rlwe::EvaluationKeys load_evaluation_keys(const ContextPointer& context, std::span<const std::byte> file) {
  Reader reader = open(*context, file, Kind::evaluation_keys);
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
  if (list.relinearization) {
    keys.relinearization = std::make_shared<const rlwe::SwitchingKey>(next_switching_key(reader, context));
  }
  for (const std::uint64_t element : list.galois) {
    keys.galois.emplace(element,
                        std::make_shared<const rlwe::SwitchingKey>(next_switching_key(reader, context)));
  }
  reader.expect_end();
  return keys;
}

rlwe::Parameters load_parameters(const std::filesystem::path& path) {
  const FileBytes file(path, [](const Header& header) { header.expect_kind(Kind::parameters); });
  return load_parameters(file.view());
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
  const FileBytes file(path, [&](const Header& header) { expect_object(header, *context); });
  return load_any(context, file.view());
}

}  // namespace hemera::io
