#include <cstdio>
#include <string>
#include <utility>

#include "hemera/interop/seal.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "interop/seal/client.hpp"

namespace hemera::interop::seal {
namespace {

constexpr std::size_t part_words = 4096;

const char* name(SchemeNumber scheme) {
  switch (scheme) {
    case SchemeNumber::bfv:
      return "BFV";
    case SchemeNumber::ckks:
      return "CKKS";
    case SchemeNumber::bgv:
      return "BGV";
  }
  return "unknown";
}

std::string hex(const ParmsId& id) {
  std::string text;
  for (const std::byte byte : id) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", std::to_integer<unsigned>(byte));
    text += digits;
  }
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

// Reads words, which may be a secret key's, and lets them go.
void skip_words(Reader& in, std::uint64_t count) {
  std::vector<std::uint64_t> words(part_words);
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  for (; count > 0; count -= std::min<std::uint64_t>(count, part_words)) {
    in.words(std::span(words).first(std::min<std::uint64_t>(count, part_words)));
  }
}

void skip_pair(Reader& in, const CiphertextFields& fields, const Reader::Nested& words) {
  skip_words(in, fields.degree * fields.moduli * (fields.is_seeded ? 1 : fields.size));
  end_ciphertext(in, fields, words);
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// Fields of all objects of a file: the level, if the parameters give it.
class Place {
 public:
  explicit Place(const std::optional<Source>& parms) {
    if (parms) parameters_ = read_parameters(*parms).parameters;
  }

  /// Empty without parameters.
  [[nodiscard]] std::optional<bool> is_of_keys(const ParmsId& id) const {
    if (!parameters_) return std::nullopt;
    const Levels levels(*parameters_);
    // Parameters of one prime have one level for both.
    if (levels.find(id)) return parameters_->moduli.size() == 1 ? std::nullopt : std::optional(false);
    if (levels.key_id() == id) return true;
    throw MismatchError("the object has a parms_id of other encryption parameters than those given");
  }
  void tell(const ParmsId& id, Fields& fields) const {
    fields.emplace_back("parms_id", hex(id));
    if (!parameters_) return;
    fields.emplace(fields.begin(), "scheme", name(parameters_->scheme));
    const Levels levels(*parameters_);
    const auto level = levels.find(id);
    fields.emplace_back("level", level ? std::to_string(*level) : "of keys");
  }

 private:
  std::optional<EncryptionParameters> parameters_;
};

Description describe_parameters(Reader& in) {
  const EncryptionParameters parameters = read_parameters(in);
  in.expect_end();
  std::string moduli;
  for (const std::uint64_t modulus : parameters.moduli) {
    moduli += (moduli.empty() ? "" : ", ") + std::to_string(modulus);
  }
  return {.kind = "encryption parameters",
          .version = {},
          .fields = {{"scheme", name(parameters.scheme)},
                     {"degree", std::to_string(parameters.degree)},
                     {"coefficient modulus", moduli},
                     {"plain modulus", std::to_string(parameters.plain_modulus)},
                     {"parms_id of keys", hex(parameters.id(parameters.moduli.size()))}}};
}

Description describe_ciphertext(Reader& in, const Place& place) {
  Reader::Nested words;
  const CiphertextFields fields = read_ciphertext(in, words);
  const auto of_keys = place.is_of_keys(fields.id);
  skip_pair(in, fields, words);
  in.expect_end();
  Description result{
      .kind = of_keys.value_or(false) ? "public key" : "ciphertext", .version = {}, .fields = {}};
  // SEAL has public keys of two components, in NTT form.
  if (!of_keys && fields.is_evaluation && fields.size == 2) result.kind = "ciphertext or public key";
  place.tell(fields.id, result.fields);
  for (auto& field : Fields{{"size", std::to_string(fields.size)},
                            {"is_ntt_form", fields.is_evaluation ? "yes" : "no"},
                            {"degree", std::to_string(fields.degree)},
                            {"coeff_modulus_count", std::to_string(fields.moduli)},
                            {"scale", number(fields.scale)},
                            {"correction_factor", std::to_string(fields.correction)},
                            {"seeded", fields.is_seeded ? "yes" : "no"}}) {
    result.fields.push_back(std::move(field));
  }
  return result;
}

Description describe_plaintext(Reader& in, const Place& place) {
  Reader::Nested words;
  const PlaintextFields fields = read_plaintext(in, words);
  const bool evaluation = fields.is_evaluation();
  const auto of_keys = evaluation ? place.is_of_keys(fields.id) : std::optional(false);
  skip_words(in, fields.count);
  in.end_nested(words);
  in.expect_end();
  Description result{
      .kind = of_keys.value_or(false) ? "secret key" : "plaintext", .version = {}, .fields = {}};
  if (!of_keys) result.kind = "plaintext or secret key";
  if (evaluation) place.tell(fields.id, result.fields);
  result.fields.emplace_back("coefficients", std::to_string(fields.count));
  if (!of_keys.value_or(false)) result.fields.emplace_back("scale", number(fields.scale));
  return result;
}

Description describe_keys(Reader& in, const Place& place) {
  ParmsId id;
  in.bytes(id);
  if (!place.is_of_keys(id).value_or(true)) in.fail("keys that switch at a level of data");
  const std::uint64_t length = in.u64();
  if (length > largest_degree) in.fail("there are " + std::to_string(length) + " places for keys");
  std::uint64_t keys = 0;
  std::uint64_t digits = 0;
  bool first_is_filled = false;
  std::string elements;
  for (std::uint64_t position = 0; position < length; ++position) {
    const std::uint64_t count = in.u64();
    if (count == 0) continue;
    if (count > most_moduli) in.fail("a key of " + std::to_string(count) + " digits");
    first_is_filled = first_is_filled || position == 0;
    digits = count;
    ++keys;
    if (position != 0) elements += (elements.empty() ? "" : ", ") + std::to_string(2 * position + 1);
    for (std::uint64_t digit = 0; digit < count; ++digit) {
      const Reader::Nested nested = in.begin_nested();
      Reader::Nested words;
      const CiphertextFields fields = read_ciphertext(in, words);
      if (fields.id != id) in.fail("the parts of a key have different parameters");
      skip_pair(in, fields, words);
      in.end_nested(nested);
    }
  }
  in.expect_end();
  // Element 1 needs no key, and every set of relinearization keys begins with that of s^2.
  Description result{
      .kind = first_is_filled ? "relinearization keys" : "Galois keys", .version = {}, .fields = {}};
  place.tell(id, result.fields);
  result.fields.emplace_back("keys", std::to_string(keys));
  result.fields.emplace_back("digits", std::to_string(digits));
  if (!first_is_filled) result.fields.emplace_back("Galois elements", elements.empty() ? "none" : elements);
  return result;
}

}  // namespace

std::optional<Description> describe(const Source& source, const std::optional<Source>& parms) {
  const auto file = source.bytes();
  if (!looks_like_seal(file)) return std::nullopt;
  const Place place(parms);
  // Nothing in a file names its kind, but no kind reads as another.
  for (const int kind : {0, 1, 2, 3}) {
    Reader in(file, "an object of SEAL");
    try {
      Description result = kind == 0   ? describe_parameters(in)
                           : kind == 1 ? describe_ciphertext(in, place)
                           : kind == 2 ? describe_plaintext(in, place)
                                       : describe_keys(in, place);
      result.version = "4." + std::to_string(in.header().minor_version);
      return result;
    } catch (const FormatError&) {
      continue;
    }
  }
  throw FormatError("the content is that of no object of SEAL, or damaged");
}

}  // namespace hemera::interop::seal
