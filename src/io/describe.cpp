#include "hemera/io/describe.hpp"

#include <cmath>

#include "hemera/io/container.hpp"
#include "hemera/io/file.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "io/metadata.hpp"
#include "io/residues.hpp"
#include "runtime/decimal.hpp"

namespace hemera::io {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

// Number and total size of moduli: "9 of 438 bits together".
std::string moduli(const std::vector<std::uint64_t>& values) {
  double bits = 0;
  for (const std::uint64_t value : values) bits += std::log2(static_cast<double>(value));
  return std::to_string(values.size()) + " of " + decimal(std::round(bits * 10) / 10) + " bits together";
}

std::string list(const std::vector<std::uint64_t>& values) {
  std::string text;
  for (const std::uint64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text.empty() ? "none" : text;
}

ResidueLayout add_residues(Fields& fields, const Section& section) {
  const ResidueLayout layout = check_residues(section);
  fields.emplace_back("degree", std::to_string(layout.degree));
  fields.emplace_back("moduli", moduli(layout.moduli));
  fields.emplace_back("form", layout.form == poly::Form::evaluation ? "evaluation" : "coefficient");
  fields.emplace_back("array", std::to_string(layout.batch) + " x " + std::to_string(layout.components) +
                                   " x " + std::to_string(layout.moduli.size()) + " x " +
                                   std::to_string(layout.degree));
  fields.emplace_back("storage",
                      layout.packed ? "packed to the bits of each modulus"
                                    : "words of " + std::to_string(static_cast<int>(layout.word)) + " bytes");
  return layout;
}

void add_parameters(Fields& fields, Reader& reader) {
  const Payload payload = read_fields(reader.next(parameters_tag));
  const auto parameters = read_parameters(payload.bytes(), reader.header().version);
  if (parameters.fingerprint() != reader.header().fingerprint) {
    throw FormatError("the fingerprint in the file header is not that of the parameters in the file");
  }
  const rlwe::ParametersLiteral& literal = parameters.literal();
  fields.emplace_back("scheme", rlwe::name(parameters.scheme()));
  fields.emplace_back("degree", std::to_string(parameters.degree()));
  fields.emplace_back("levels", std::to_string(parameters.levels()));
  fields.emplace_back("top level", moduli(literal.levels.back()));
  fields.emplace_back("last level", moduli(literal.levels.front()));
  fields.emplace_back("special primes", moduli(literal.special_primes));
  fields.emplace_back("digits", std::to_string(parameters.digit_count()));
  if (parameters.scheme() == rlwe::Scheme::ckks) {
    fields.emplace_back("scale", power_of_two(std::log2(parameters.scale())));
  } else {
    fields.emplace_back("plaintext modulus", std::to_string(parameters.plain_modulus()));
  }
  fields.emplace_back("slots", std::to_string(parameters.max_slots()));
  fields.emplace_back("security", rlwe::name(parameters.security()));
}

void add_filling(Fields& fields, const rlwe::Metadata& meta) {
  if (meta.filled != 0) fields.emplace_back("filled", std::to_string(meta.filled));
  switch (meta.padding) {
    case rlwe::Padding::zeros:
      if (meta.filled != 0) fields.emplace_back("padding", "zeros");
      break;
    case rlwe::Padding::unknown:
      fields.emplace_back("padding", "not known to be zeros");
      break;
    case rlwe::Padding::values:
      fields.emplace_back("padding", "rotated values");
      break;
    case rlwe::Padding::uniform:
      fields.emplace_back("padding", "one value in all slots");
      break;
  }
  if (meta.is_complex) fields.emplace_back("type", "complex");
}

void add_message(Fields& fields, Reader& reader, bool encrypted) {
  const Payload payload = read_fields(reader.next(message_tag));
  const auto message = MessageFields::read(payload.bytes(), reader.header().version);
  const rlwe::Metadata& meta = message.meta;
  fields.emplace_back("scheme", rlwe::name(message.scheme));
  fields.emplace_back("batch", rlwe::to_text(meta.batch));
  fields.emplace_back("level", std::to_string(meta.level));
  fields.emplace_back("encoding", meta.encoding == rlwe::Encoding::slots ? "slots" : "coefficients");
  fields.emplace_back("values", std::to_string(meta.slots));
  add_filling(fields, meta);
  if (message.scheme == rlwe::Scheme::ckks) {
    fields.emplace_back("scale", power_of_two(std::log2(meta.scale)));
    fields.emplace_back("noise-scale degree", std::to_string(meta.noise_scale_degree));
    if (std::isfinite(meta.largest)) fields.emplace_back("largest value", decimal(meta.largest));
  } else if (encrypted) {
    const bool known = meta.noise_log2 != rlwe::unknown_noise;
    fields.emplace_back("noise bound", known ? power_of_two(meta.noise_log2) : "unknown");
    if (meta.spent) fields.emplace_back("guaranteed noise budget", "spent");
  }
  if (message.scheme == rlwe::Scheme::bgv) {
    fields.emplace_back("correction factor", std::to_string(meta.correction));
  }
  Fields residues;
  const ResidueLayout layout = add_residues(residues, reader.next(residues_tag));
  if (layout.batch != rlwe::batch_count(meta.batch)) {
    throw FormatError("an array of " + std::to_string(layout.batch) + " elements where the object has " +
                      std::to_string(rlwe::batch_count(meta.batch)));
  }
  if (encrypted) {
    fields.emplace_back("components", std::to_string(layout.components + (message.seed ? 1U : 0U)));
    fields.emplace_back("seeded", yes_or_no(message.seed.has_value()));
  }
  fields.insert(fields.end(), residues.begin(), residues.end());
}

KeyFields add_key(Fields& fields, Reader& reader) {
  const Payload payload = read_fields(reader.next(key_tag));
  const auto key = KeyFields::read(payload.bytes(), reader.header().version);
  fields.emplace_back("scheme", rlwe::name(key.scheme));
  if (reader.header().kind == Kind::switching_key) {
    if (reader.header().version == first_format) {
      fields.emplace_back("highest level", std::to_string(key.level));
    } else {
      fields.emplace_back("base", moduli(key.gadget.base));
      fields.emplace_back("special primes", moduli(key.gadget.special));
      fields.emplace_back("digits", std::to_string(key.gadget.digits.size()));
    }
  }
  if (reader.header().kind != Kind::secret_key) {
    fields.emplace_back("seeded", yes_or_no(key.seed.has_value()));
  }
  add_residues(fields, reader.next(residues_tag));
  return key;
}

// The list of a set of keys, and the number of Galois keys; `of_each`: sections of each key that follows.
std::pair<KeyList, std::size_t> add_roles(Fields& fields, Reader& reader, std::size_t of_each) {
  const Payload payload = read_fields(reader.next(key_list_tag));
  auto keys = KeyList::read(payload.bytes(), reader.header().version);
  if (reader.sections_left() != of_each * (of_each == 1 ? keys.roles.size() : keys.size())) {
    throw FormatError("the file lists " + std::to_string(keys.size()) + " keys and has " +
                      std::to_string(reader.sections_left()) + " sections for them, not " +
                      std::to_string(of_each) + " each");
  }
  fields.emplace_back("public key", yes_or_no(keys.public_key));
  std::vector<std::uint64_t> galois;
  std::size_t relinearization = 0;
  for (const rlwe::KeyRole& role : keys.roles) {
    if (role == rlwe::KeyRole::relinearization()) {
      ++relinearization;
    } else if (role == rlwe::KeyRole::galois(role.galois_element)) {
      galois.push_back(role.galois_element);
    }
  }
  const std::size_t other = keys.roles.size() - relinearization - galois.size();
  fields.emplace_back("relinearization key", yes_or_no(relinearization != 0));
  fields.emplace_back("Galois keys", std::to_string(galois.size()));
  if (of_each == 2) fields.emplace_back("Galois elements", list(galois));
  if (other != 0) fields.emplace_back("keys between other secrets", std::to_string(other));
  return {std::move(keys), galois.size()};
}

void add_keys(Fields& fields, Reader& reader) {
  const auto [keys, galois] = add_roles(fields, reader, 2);
  Fields first;
  std::vector<std::uint64_t> levels;
  std::size_t seeded = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Fields each;
    const KeyFields key = add_key(each, reader);
    seeded += key.seed ? 1U : 0U;
    const bool is_galois = i >= keys.size() - galois;
    if (is_galois && reader.header().version == first_format) levels.push_back(key.level);
    if (i == 0) first = std::move(each);
  }
  if (!levels.empty()) fields.emplace_back("highest levels of the Galois keys", list(levels));
  fields.emplace_back("seeded keys", std::to_string(seeded) + " of " + std::to_string(keys.size()));
  for (const auto& [name, value] : first) {
    if (name == "scheme" || name == "degree") fields.emplace_back(name, value);
  }
}

}  // namespace

Description describe(std::span<const std::byte> file) {
  Reader reader(file);
  const Header& header = reader.header();
  Description description;
  description.kind = name(header.kind);
  description.version = header.version;
  description.fingerprint = runtime::to_hex(header.fingerprint);
  description.bytes = file.size();
  for (const Section& section : reader.sections()) {
    description.sections.push_back(
        {section.tag.text(), section.stored.size(), section.raw_bytes, section.compressed});
  }
  switch (header.kind) {
    case Kind::parameters:
      add_parameters(description.fields, reader);
      break;
    case Kind::plaintext:
      add_message(description.fields, reader, false);
      break;
    case Kind::ciphertext:
      add_message(description.fields, reader, true);
      break;
    case Kind::secret_key:
    case Kind::public_key:
    case Kind::switching_key:
      add_key(description.fields, reader);
      break;
    case Kind::evaluation_keys:
      add_keys(description.fields, reader);
      break;
    case Kind::needed_keys:
      for (auto left = add_roles(description.fields, reader, 1).first.roles.size(); left > 0; --left) {
        const Payload payload = read_fields(reader.next(key_tag));
        static_cast<void>(KeyFields::read(payload.bytes(), header.version));
      }
      break;
  }
  reader.expect_end();
  return description;
}

CiphertextExtents ciphertext_extents(std::span<const std::byte> file) {
  Reader reader(file);
  reader.header().expect_kind(Kind::ciphertext);
  const Payload payload = read_fields(reader.next(message_tag));
  const auto message = MessageFields::read(payload.bytes(), reader.header().version);
  const Section& section = reader.next(residues_tag);
  const ResidueLayout layout = ResidueStream(section).layout();
  if (layout.batch != rlwe::batch_count(message.meta.batch)) {
    throw FormatError("an array of " + std::to_string(layout.batch) + " elements where the object has " +
                      std::to_string(rlwe::batch_count(message.meta.batch)));
  }
  CiphertextExtents extents;
  extents.batch = message.meta.batch;
  extents.components = layout.components + (message.seed ? 1U : 0U);
  extents.bytes =
      sizeof(std::uint64_t) * layout.batch * extents.components * layout.moduli.size() * layout.degree;
  extents.compressed = section.compressed;
  return extents;
}

Description describe(const std::filesystem::path& path) {
  return describe(std::span<const std::byte>(load_file(path)));
}

}  // namespace hemera::io
