#include "interop/seal/objects.hpp"

#include <bit>
#include <string>

#include "interop/seal/blake2b.hpp"
#include "interop/seal/words.hpp"

namespace hemera::interop::seal {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t modulus_bytes = Header::bytes + word_bytes;
constexpr std::uint64_t ciphertext_field_bytes = sizeof(ParmsId) + 1 + 5 * word_bytes;

std::uint64_t array_bytes(std::uint64_t count) { return Header::bytes + word_bytes + word_bytes * count; }

std::uint64_t read_modulus(Reader& in) {
  const Reader::Nested nested = in.begin_nested();
  const std::uint64_t value = in.u64();
  in.end_nested(nested);
  return value;
}

void write_modulus(Writer& out, std::uint64_t value) {
  out.nested_header(modulus_bytes);
  out.u64(value);
}

}  // namespace

ParmsId EncryptionParameters::id(std::size_t count) const {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(scheme), degree};
  words.insert(words.end(), moduli.begin(), moduli.begin() + static_cast<std::ptrdiff_t>(count));
  words.push_back(plain_modulus);
  swap_to_host(words);
  ParmsId id;
  blake2b(id, std::as_bytes(std::span(words)));
  return id;
}

EncryptionParameters read_parameters(Reader& in) {
  EncryptionParameters parameters;
  const std::uint8_t scheme = in.u8();
  if (scheme < 1 || scheme > static_cast<std::uint8_t>(SchemeNumber::bgv)) {
    in.fail("no scheme of SEAL has the number " + std::to_string(scheme));
  }
  parameters.scheme = static_cast<SchemeNumber>(scheme);
  parameters.degree = in.u64();
  if (!std::has_single_bit(parameters.degree) || parameters.degree > largest_degree) {
    in.fail("the degree " + std::to_string(parameters.degree) + " is no power of two up to 2^17");
  }
  const std::uint64_t count = in.u64();
  if (count < 1 || count > most_moduli)
    in.fail("there are " + std::to_string(count) + " moduli, not 1 to 256");
  for (std::uint64_t i = 0; i < count; ++i) parameters.moduli.push_back(read_modulus(in));
  parameters.plain_modulus = read_modulus(in);
  return parameters;
}

void write_parameters(Writer& out, const EncryptionParameters& parameters) {
  out.u8(static_cast<std::uint8_t>(parameters.scheme));
  out.u64(parameters.degree);
  out.u64(parameters.moduli.size());
  for (const std::uint64_t modulus : parameters.moduli) write_modulus(out, modulus);
  write_modulus(out, parameters.plain_modulus);
}

PlaintextFields read_plaintext(Reader& in, Reader::Nested& words) {
  PlaintextFields fields;
  in.bytes(fields.id);
  fields.count = in.u64();
  fields.scale = in.f64();
  words = in.begin_nested();
  if (in.u64() != fields.count) in.fail("the number of coefficients and of words differ");
  if (fields.count > largest_degree * most_moduli) in.fail("there are more words than SEAL allows");
  return fields;
}

void write_plaintext(Writer& out, const PlaintextFields& fields) {
  out.bytes(fields.id);
  out.u64(fields.count);
  out.f64(fields.scale);
  out.nested_header(array_bytes(fields.count));
  out.u64(fields.count);
}

CiphertextFields read_ciphertext(Reader& in, Reader::Nested& words) {
  CiphertextFields fields;
  in.bytes(fields.id);
  const std::uint8_t evaluation = in.u8();
  if (evaluation > 1) in.fail("the flag of the form is " + std::to_string(evaluation) + ", not 0 or 1");
  fields.is_evaluation = evaluation == 1;
  fields.size = in.u64();
  fields.degree = in.u64();
  fields.moduli = in.u64();
  if (fields.size < 2 || fields.size > most_components) {
    in.fail("a ciphertext has 2 to 16 components, not " + std::to_string(fields.size));
  }
  if (fields.degree > largest_degree || fields.moduli < 1 || fields.moduli > most_moduli) {
    in.fail("the degree or the number of moduli is out of SEAL's limits");
  }
  fields.scale = in.f64();
  fields.correction = in.u64();
  words = in.begin_nested();
  const std::uint64_t count = in.u64();
  const std::uint64_t component = fields.degree * fields.moduli;
  fields.is_seeded = fields.size == 2 && count == component;
  if (!fields.is_seeded && count != fields.size * component) {
    in.fail("the number of words does not fit the size");
  }
  return fields;
}

std::optional<Seed> end_ciphertext(Reader& in, const CiphertextFields& fields, const Reader::Nested& words) {
  in.end_nested(words);
  if (!fields.is_seeded) return std::nullopt;
  const Reader::Nested nested = in.begin_nested();
  const std::uint8_t kind = in.u8();
  if (kind < 1 || kind > static_cast<std::uint8_t>(GeneratorKind::shake256)) {
    in.fail("no generator of SEAL has the number " + std::to_string(kind));
  }
  Seed seed{.kind = static_cast<GeneratorKind>(kind)};
  in.bytes(seed.bytes);
  in.end_nested(nested);
  return seed;
}

void write_ciphertext(Writer& out, const CiphertextFields& fields) {
  out.bytes(fields.id);
  out.u8(fields.is_evaluation ? 1 : 0);
  out.u64(fields.size);
  out.u64(fields.degree);
  out.u64(fields.moduli);
  out.f64(fields.scale);
  out.u64(fields.correction);
  const std::uint64_t count = fields.size * fields.degree * fields.moduli;
  out.nested_header(array_bytes(count));
  out.u64(count);
}

std::uint64_t ciphertext_bytes(const CiphertextFields& fields) {
  return Header::bytes + ciphertext_field_bytes + array_bytes(fields.size * fields.degree * fields.moduli);
}

}  // namespace hemera::interop::seal
