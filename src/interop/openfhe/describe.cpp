#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/client.hpp"
#include "interop/openfhe/file.hpp"
#include "runtime/decimal.hpp"

namespace hemera::interop::openfhe {
namespace {

using FieldList = std::vector<std::pair<std::string, std::string>>;

// Text of a file with its bytes that are not printable ASCII as numbers.
std::string printable(const std::string& text) {
  std::string result;
  for (const char character : text) {
    char number[8];
    const auto byte = static_cast<unsigned char>(character);
    std::snprintf(number, sizeof number, "\\x%02x", byte);
    result += byte >= 0x20 && byte < 0x7f ? std::string(1, character) : number;
  }
  return result;
}

// Number and total size of moduli, as of Hemera's own files.
std::string moduli_text(const DcrtParameters& base) {
  double bits = 0;
  for (const auto& prime : base.primes) bits += std::log2(static_cast<double>(prime->modulus));
  return std::to_string(base.primes.size()) + " of " + decimal(std::round(bits * 10) / 10) + " bits together";
}

const char* name_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::fixed_manual:
      return "FIXEDMANUAL";
    case Scaling::fixed_auto:
      return "FIXEDAUTO";
    case Scaling::flexible_auto:
      return "FLEXIBLEAUTO";
    case Scaling::flexible_auto_ext:
      return "FLEXIBLEAUTOEXT";
    case Scaling::composite_auto:
      return "COMPOSITESCALINGAUTO";
    case Scaling::composite_manual:
      return "COMPOSITESCALINGMANUAL";
    case Scaling::no_rescale:
      return "NORESCALE";
  }
  return "unknown";
}

void add_context(FieldList& fields, const CryptoContext& context) {
  const CryptoParameters& parameters = *context.parameters;
  const bool ckks = context.scheme_type == SchemeType::ckks;
  fields.emplace_back("scheme", ckks ? "CKKS" : context.scheme_type == SchemeType::bfv ? "BFV" : "BGV");
  fields.emplace_back("degree", std::to_string(parameters.elements->degree));
  fields.emplace_back("moduli", moduli_text(*parameters.elements));
  fields.emplace_back(ckks ? "scale" : "plaintext modulus",
                      (ckks ? "2^" : "") + std::to_string(parameters.encoding->plain_modulus));
  fields.emplace_back("scaling technique", name_of(parameters.scaling));
  fields.emplace_back("key switching", parameters.key_switching == KeySwitching::bv ? "BV" : "HYBRID");
  fields.emplace_back("bootstrapping", context.scheme->fhe == nullptr ? "no" : "enabled");
}

void add_header(FieldList& fields, const CryptoObject& header) {
  add_context(fields, *header.context);
  fields.emplace_back("key tag", printable(header.tag));
}

struct Describer {
  FieldList& fields;

  void operator()(const std::shared_ptr<CryptoContext>& object) const { add_context(fields, *object); }
  void operator()(const std::shared_ptr<CiphertextObject>& object) const {
    add_header(fields, object->header);
    fields.emplace_back("components", std::to_string(object->components.size()));
    if (!object->components.empty()) {
      fields.emplace_back("limbs", std::to_string(object->components[0].limbs.size()));
      const bool evaluation = object->components[0].form == PolynomialForm::evaluation;
      fields.emplace_back("form", evaluation ? "evaluation" : "coefficient");
    }
    fields.emplace_back("level", std::to_string(object->level));
    fields.emplace_back("noise scale degree", std::to_string(object->noise_scale_degree));
    fields.emplace_back("scaling factor", decimal(object->scaling_factor));
    fields.emplace_back("integer scaling factor", std::to_string(object->scaling_factor_int));
    fields.emplace_back("slots", std::to_string(object->slots));
  }
  void operator()(const std::shared_ptr<PublicKeyObject>& object) const {
    add_header(fields, object->header);
  }
  void operator()(const std::shared_ptr<PrivateKeyObject>& object) const {
    add_header(fields, object->header);
  }
  void operator()(const MultiplicationKeys& object) const {
    for (const auto& entry : object.entries) {
      for (const auto& key : entry.keys) add_key(entry.tag, *key);
    }
  }
  void operator()(const AutomorphismKeys& object) const {
    for (const auto& entry : object.entries) {
      std::string indices;
      for (const auto& key : entry.keys->list) {
        if (indices.empty()) add_key(entry.tag, *key.key);
        indices += (indices.empty() ? "" : ", ") + std::to_string(key.index);
      }
      fields.emplace_back("Galois elements", indices.empty() ? "none" : indices);
    }
  }
  void add_key(const std::string& tag, const EvaluationKeyObject& key) const {
    add_context(fields, *key.header.context);
    fields.emplace_back("key tag", printable(tag));
    fields.emplace_back("digits", std::to_string(key.a.size()));
    if (!key.a.empty()) fields.emplace_back("key moduli", moduli_text(*key.a.front().parameters));
  }
};

}  // namespace

std::optional<Description> describe(const Source& source) {
  const auto bytes = source.bytes();
  Description description;
  try {
    description.format = format_of(bytes) == Format::json ? "JSON" : "binary";
  } catch (const FormatError&) {
    return {};
  }
  const AnyFile file = read_any_file(bytes);
  description.kind = kind_of(file);
  std::visit(Describer{description.fields}, file);
  return description;
}

}  // namespace hemera::interop::openfhe
