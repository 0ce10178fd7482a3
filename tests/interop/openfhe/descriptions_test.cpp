// What `describe` tells of OpenFHE's files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using Json = nlohmann::json;
using Fields = std::vector<std::pair<std::string, std::string>>;

// The first fields of every object: what values.json states of the context.
Fields context_fields(const std::string& folder) {
  const Json parameters = test::values(folder).at("parameters");
  double bits = 0;
  for (const Json& prime : parameters.at("q")) bits += std::log2(prime.at("modulus").get<double>());
  std::string size = std::to_string(std::lround(10 * bits));
  const char tenths = size.back();
  size.pop_back();
  if (tenths != '0') size = size + "." + tenths;
  const bool ckks = folder.starts_with("ckks");
  const std::string plain = std::to_string(parameters.at("plaintext_modulus").get<std::uint64_t>());
  return {{"scheme", ckks              ? "CKKS"
                     : folder == "bfv" ? "BFV"
                                       : "BGV"},
          {"degree", std::to_string(parameters.at("ring_dimension").get<int>())},
          {"moduli", std::to_string(parameters.at("q").size()) + " of " + size + " bits together"},
          {ckks ? "scale" : "plaintext modulus", (ckks ? "2^" : "") + plain},
          {"scaling technique", parameters.at("scaling_technique")},
          {"key switching", parameters.at("key_switch_technique")},
          {"bootstrapping", "no"}};
}

TEST(OpenFheDescriptions, TellEveryField) {
  for (const std::string folder : {"bfv", "bgv", "ckks-fixedmanual", "ckks-flexibleauto"}) {
    SCOPED_TRACE(folder);
    const Fields context = context_fields(folder);
    EXPECT_EQ(describe(test::get(folder, "cryptocontext.bin"))->fields, context);
    const auto secret = read_file<PrivatePointer>(test::get(folder, "secret_key.bin"));
    Fields of_secret = context;
    of_secret.emplace_back("key tag", secret->header.tag);
    EXPECT_EQ(describe(test::get(folder, "secret_key.bin"))->fields, of_secret);
    for (const auto& [name, stated] : test::values(folder).at("ciphertexts").items()) {
      const auto file = test::find(folder, name + ".bin");
      if (!file) continue;
      SCOPED_TRACE(name);
      Fields wanted = of_secret;
      const auto text = [&](const char* field) {
        return std::to_string(stated.at(field).get<std::uint64_t>());
      };
      const bool is_evaluation = name != "mul_no_relin" || folder != "bfv";
      wanted.emplace_back("components", text("components"));
      wanted.emplace_back("limbs", text("limbs"));
      wanted.emplace_back("form", is_evaluation ? "evaluation" : "coefficient");
      wanted.emplace_back("level", text("level"));
      wanted.emplace_back("noise scale degree", text("noise_scale_deg"));
      const auto found = describe(*file)->fields;
      ASSERT_EQ(found.size(), wanted.size() + 3);
      EXPECT_EQ(Fields(found.begin(), found.end() - 3), wanted);
      EXPECT_EQ(found.end()[-3].first, "scaling factor");
      const double scale = stated.at("scaling_factor");
      EXPECT_NEAR(std::stod(found.end()[-3].second) / scale, 1, 1e-5);
      const std::pair<std::string, std::string> factor("integer scaling factor", text("scaling_factor_int"));
      EXPECT_EQ(found.end()[-2], factor);
      const std::pair<std::string, std::string> slots("slots", text("slots"));
      EXPECT_EQ(found.end()[-1], slots);
    }
  }
  EXPECT_EQ(describe(test::get("ckks-bootstrap", "cryptocontext.bin"))->fields.back().second, "enabled");
}

// Bytes that begin as no file of OpenFHE have none; those that do, and are none, are an error.
TEST(OpenFheDescriptions, OfOtherBytesAreNoneAndOfDamagedOnesErrors) {
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
  };
  for (const std::string& text : {std::string(), std::string("\2"), std::string("[1]"), std::string("  x{"),
                                  std::string("\xFF\0", 2), std::string("   ")}) {
    EXPECT_FALSE(describe(bytes_of(text))) << text;
  }
  for (const char* const text : {"{", "{}", " \n\t{\"value0\": 1}", "{]"}) {
    EXPECT_THROW(static_cast<void>(describe(bytes_of(text))), FormatError) << text;
  }
  for (const char* const name :
       {"cryptocontext.bin", "a_mod_reduced.bin", "secret_key.bin", "eval_mult_key.bin"}) {
    Bytes file = test::get("bgv", name);
    EXPECT_TRUE(describe(file));
    file.push_back(std::byte{0});
    EXPECT_THROW(static_cast<void>(describe(file)), FormatError) << name;
    file.resize(file.size() - 2);
    EXPECT_THROW(static_cast<void>(describe(file)), FormatError) << name;
    file.resize(1);
    EXPECT_THROW(static_cast<void>(describe(file)), FormatError) << name;
  }
}

// Every key of a map, under its tag; of Galois keys the first and all indices.
TEST(OpenFheDescriptions, TellEachPair) {
  const auto key = read_file<MultiplicationKeys>(test::get("bgv", "eval_mult_key.bin")).entries[0].keys[0];
  const auto shorter = std::make_shared<EvaluationKeyObject>(*key);
  shorter->a.pop_back();
  const auto values_of = [](const Bytes& file, const std::string& name) {
    std::vector<std::string> values;
    const auto found = describe(file);
    for (const auto& [field, value] : found->fields) {
      if (field == name) values.push_back(value);
    }
    return values;
  };
  using List = std::vector<std::string>;
  const std::string one = std::to_string(key->a.size()), less = std::to_string(shorter->a.size());
  const Bytes powers =
      test::written(MultiplicationKeys{{{"a", {key, shorter}}, {"b", {}}, {"c", {shorter}}}});
  EXPECT_EQ(describe(powers)->kind, "relinearization keys");
  EXPECT_EQ(values_of(powers, "key tag"), (List{"a", "a", "c"}));
  EXPECT_EQ(values_of(powers, "digits"), (List{one, less, less}));
  EXPECT_TRUE(values_of(powers, "Galois elements").empty());
  using Keys = AutomorphismKeys::Keys;
  const Bytes turns =
      test::written(AutomorphismKeys{{{"a", std::make_shared<Keys>(Keys{{{5, key}, {25, shorter}}})},
                                      {"b", std::make_shared<Keys>()},
                                      {"c", std::make_shared<Keys>(Keys{{{8191, shorter}}})}}});
  EXPECT_EQ(describe(turns)->kind, "Galois keys");
  EXPECT_EQ(values_of(turns, "key tag"), (List{"a", "c"}));
  EXPECT_EQ(values_of(turns, "digits"), (List{one, less}));
  EXPECT_EQ(values_of(turns, "Galois elements"), (List{"5, 25", "none", "8191"}));
}

std::string field_of(const Description& description, const std::string& name) {
  for (const auto& [field, value] : description.fields) {
    if (field == name) return value;
  }
  return "";
}

TEST(OpenFheDescriptions, OfKeysTellTheModuliOfKeys) {
  const auto values = test::values("ckks-flexibleauto");
  double data = 0, all = 0;
  std::size_t own = 0, count = 0;
  for (const char* const list : {"q", "p"}) {
    for (const auto& prime : values.at("parameters").at(list)) {
      all += std::log2(prime.at("modulus").get<double>());
      ++count;
    }
    if (own == 0) {
      own = count;
      data = all;
    }
  }
  const auto text = [](std::size_t primes, double bits) {
    std::string digits = std::to_string(std::round(bits * 10) / 10);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return std::to_string(primes) + " of " + digits + " bits together";
  };
  for (const char* const name : {"eval_mult_key.bin", "eval_automorphism_keys.bin"}) {
    const auto found = describe(test::get("ckks-flexibleauto", name));
    ASSERT_TRUE(found);
    EXPECT_EQ(field_of(*found, "moduli"), text(own, data));
    EXPECT_EQ(field_of(*found, "key moduli"), text(count, all));
    EXPECT_EQ(field_of(*found, "digits"),
              std::to_string(values.at("parameters").at("digit_partition").size()));
  }
}

TEST(OpenFheDescriptions, NameEachTechnique) {
  const std::map<Scaling, const char*> names = {{Scaling::fixed_manual, "FIXEDMANUAL"},
                                                {Scaling::fixed_auto, "FIXEDAUTO"},
                                                {Scaling::flexible_auto, "FLEXIBLEAUTO"},
                                                {Scaling::flexible_auto_ext, "FLEXIBLEAUTOEXT"},
                                                {Scaling::composite_auto, "COMPOSITESCALINGAUTO"},
                                                {Scaling::composite_manual, "COMPOSITESCALINGMANUAL"},
                                                {Scaling::no_rescale, "NORESCALE"}};
  for (const auto& [scaling, name] : names) {
    for (const KeySwitching switching : {KeySwitching::bv, KeySwitching::hybrid}) {
      auto context = test::context_of("ckks-flexibleauto");
      context->parameters->scaling = scaling;
      context->parameters->key_switching = switching;
      const auto found = describe(write_file(context, Format::binary));
      ASSERT_TRUE(found);
      EXPECT_EQ(field_of(*found, "scaling technique"), name);
      EXPECT_EQ(field_of(*found, "key switching"), switching == KeySwitching::bv ? "BV" : "HYBRID");
      EXPECT_EQ(field_of(*found, "bootstrapping"), "no");
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
