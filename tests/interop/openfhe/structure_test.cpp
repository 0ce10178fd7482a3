// What the parts of a file promise each other, one broken at a time.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
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

ContextPointer context_in(const Json& json) {
  const std::string text = json.dump();
  return read_file<ContextPointer>(std::as_bytes(std::span(text)));
}

TEST(OpenFheStructure, LimbsAreThoseOfTheirPolynomial) {
  using Change = std::pair<const char*, std::function<void(DcrtPolynomial&, std::size_t)>>;
  const auto own_prime = [](NativePolynomial& limb) -> NativeParameters& {
    limb.parameters = std::make_shared<NativeParameters>(*limb.parameters);
    return *limb.parameters;
  };
  const std::vector<Change> changes = {
      {"form of a limb",
       [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].form = PolynomialForm::coefficient; }},
      {"no form", [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].form = PolynomialForm{2}; }},
      {"form of all", [](DcrtPolynomial& p, std::size_t) { p.form = PolynomialForm::coefficient; }},
      {"no form of all",
       [](DcrtPolynomial& p, std::size_t) {
         p.form = PolynomialForm{2};
         for (NativePolynomial& limb : p.limbs) limb.form = p.form;
       }},
      {"modulus", [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].modulus += 2; }},
      {"prime's modulus",
       [&](DcrtPolynomial& p, std::size_t limb) { own_prime(p.limbs[limb]).modulus += 2; }},
      {"modulus and prime's",
       [&](DcrtPolynomial& p, std::size_t limb) {
         own_prime(p.limbs[limb]).modulus += 2;
         p.limbs[limb].modulus += 2;
       }},
      {"prime's root", [&](DcrtPolynomial& p, std::size_t limb) { ++own_prime(p.limbs[limb]).root; }},
      {"prime's degree",
       [&](DcrtPolynomial& p, std::size_t limb) {
         NativeParameters& prime = own_prime(p.limbs[limb]);
         prime.degree /= 2;
         prime.order /= 2;
       }},
      {"prime's degree, and residues",
       [&](DcrtPolynomial& p, std::size_t limb) {
         NativeParameters& prime = own_prime(p.limbs[limb]);
         prime.degree /= 2;
         prime.order /= 2;
         p.limbs[limb].words.resize(prime.degree);
       }},
      {"a residue less", [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].words.pop_back(); }},
      {"a residue more", [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].words.push_back(0); }},
      {"no residues", [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].words.clear(); }},
      {"a large residue",
       [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].words.back() = p.limbs[limb].modulus; }},
      {"a large first residue",
       [](DcrtPolynomial& p, std::size_t limb) { p.limbs[limb].words.front() = ~std::uint64_t{0}; }},
      {"a limb less",
       [](DcrtPolynomial& p, std::size_t limb) {
         p.limbs.erase(p.limbs.begin() + static_cast<std::ptrdiff_t>(limb));
       }},
      {"a limb more", [](DcrtPolynomial& p, std::size_t limb) { p.limbs.push_back(p.limbs[limb]); }},
      {"no limbs", [](DcrtPolynomial& p, std::size_t) { p.limbs.clear(); }},
      {"no limbs nor primes",
       [](DcrtPolynomial& p, std::size_t) {
         p.limbs.clear();
         p.parameters = std::make_shared<DcrtParameters>(*p.parameters);
         p.parameters->primes.clear();
       }},
      {"limbs in another order",
       [](DcrtPolynomial& p, std::size_t limb) { std::swap(p.limbs[limb], p.limbs[1 - limb]); }},
  };
  const Bytes file = test::get("bgv", "a_mod_reduced.bin");
  ASSERT_EQ(read_file<CiphertextPointer>(file)->components[0].limbs.size(), 2U);
  for (const auto& [name, change] : changes) {
    for (const std::size_t component : {0U, 1U}) {
      for (const std::size_t limb : {0U, 1U}) {
        const auto object = read_file<CiphertextPointer>(file);
        change(object->components[component], limb);
        for (const Format format : {Format::binary, Format::json}) {
          EXPECT_THROW(static_cast<void>(read_file<CiphertextPointer>(test::written(object, format))),
                       FormatError)
              << name << " " << component << " " << limb;
        }
      }
    }
  }
}

TEST(OpenFheStructure, BasesHaveUpTo1024Primes) {
  const ContextPointer context = test::copy_of(*test::context_of("bgv"));
  auto& primes = context->parameters->elements->primes;
  primes.assign(1023, primes[0]);
  Json json = test::parsed(test::written(context, Format::json));
  Json& list = json.at(Json::json_pointer(
      "/value0/ptr_wrapper/data/cc/ptr_wrapper/data/value0/value0/value0/elp/ptr_wrapper/data/p"));
  for (const std::size_t count : {1023U, 1024U, 1025U}) {
    ASSERT_EQ(list.size(), count);
    if (count == 1025) {
      EXPECT_THROW(static_cast<void>(context_in(json)), FormatError);
    } else {
      EXPECT_EQ(context_in(json)->parameters->elements->primes.size(), count);
    }
    list.push_back(Json(list.back()));
  }
}

TEST(OpenFheStructure, DegreesArePowersOfTwoFrom1024To131072) {
  for (const std::uint32_t degree : {0U, 1U, 512U, 1000U, 1024U, 3072U, 4096U, 131072U, 131073U, 262144U}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    context->parameters->elements->degree = degree;
    context->parameters->elements->order = 2 * degree;
    for (const auto& prime : context->parameters->elements->primes) {
      prime->degree = degree;
      prime->order = 2 * degree;
    }
    const auto read = [&] { return read_file<ContextPointer>(test::written(context)); };
    if (degree == 1024 || degree == 4096 || degree == 131072) {
      EXPECT_EQ(read()->parameters->elements->primes[0]->degree, degree);
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << degree;
    }
  }
}

TEST(OpenFheStructure, SchemesOfAContextAreOne) {
  for (std::size_t parameters = 0; parameters < 3; ++parameters) {
    for (std::size_t scheme = 0; scheme < 3; ++scheme) {
      for (std::uint32_t number = 0; number < 5; ++number) {
        const ContextPointer context = test::copy_of(*test::context_of("bgv"));
        context->parameters->type = parameters;
        context->scheme->type = scheme;
        context->scheme_type = static_cast<SchemeType>(number);
        const auto read = [&] { return read_file<ContextPointer>(test::written(context)); };
        if (parameters == scheme && number == parameters + 1) {
          EXPECT_EQ(read()->scheme_type, context->scheme_type);
        } else {
          EXPECT_THROW(static_cast<void>(read()), FormatError) << parameters << scheme << number;
        }
      }
    }
  }
}

// The words before objects: types are numbered as they come, objects too, and classes have version 1 or 0.
TEST(OpenFheStructure, TypesAndNumbersAreInTheirOrder) {
  const Json original = test::parsed(test::written(test::context_of("ckks-bootstrap"), Format::json));
  ASSERT_NO_THROW(static_cast<void>(context_in(original)));
  const std::string root = "/value0/ptr_wrapper/data";
  const std::uint32_t is_new = 0x80000000, exact = 0x40000000;
  const auto refused = [&](const std::string& place, const Json& value) {
    Json changed = original;
    ASSERT_TRUE(changed.contains(Json::json_pointer(place))) << place;
    changed[Json::json_pointer(place)] = value;
    EXPECT_THROW(static_cast<void>(context_in(changed)), FormatError) << place << " " << value.dump();
  };
  for (const std::string field : {"cc", "kt"}) {
    const std::string at = root + "/" + field;
    for (const std::uint32_t word : {0U, 1U, 7U, exact, exact + 1, is_new, is_new + 7, is_new + exact}) {
      refused(at + "/polymorphic_id", word);
    }
    for (const char* const name : {"", "lbcrypto", "lbcrypto::FHECKKSRNS", "lbcrypto::CryptoParametersBFVRNS",
                                   "lbcrypto::SchemeBGVRNS", "lbcrypto::CryptoParametersCKKSRNS "}) {
      refused(at + "/polymorphic_name", name);
    }
    for (const std::uint32_t number : {0U, 1U, is_new, is_new + 99, 99U, exact}) {
      refused(at + "/ptr_wrapper/id", number);
    }
  }
  for (const std::uint32_t word : {0U, 1U, is_new + 1}) refused("/value0/polymorphic_id", word);
  // Versions.
  std::size_t versions = 0;
  const std::function<void(const Json&, const std::string&)> visit = [&](const Json& json,
                                                                         const std::string& place) {
    if (json.is_array() && !json.empty() && json[0].is_object()) {
      for (std::size_t i = 0; i < json.size(); ++i) visit(json[i], place + "/" + std::to_string(i));
    }
    if (!json.is_object()) return;
    for (const auto& [name, value] : json.items()) {
      const std::string at = place + "/" + name;
      if (name != "cereal_class_version") {
        visit(value, at);
        continue;
      }
      ++versions;
      for (const std::uint32_t version : {2U, 3U, 0xFFFFFFFFU}) refused(at, version);
      // Static builds of OpenFHE write 0.
      Json other = original;
      other[Json::json_pointer(at)] = 1 - value.get<int>();
      EXPECT_EQ(test::written(context_in(other)), test::written(test::context_of("ckks-bootstrap"))) << at;
    }
  };
  visit(original, "");
  EXPECT_GE(versions, 12U);
}

TEST(OpenFheStructure, TruthValuesAre0Or1) {
  const auto with = [](bool value) {
    const ContextPointer context = test::context_of("ckks-bootstrap-context");
    context->scheme->fhe->settings.at(0).settings->encodes_slots = value;
    return test::written(context);
  };
  const Bytes yes = with(true), no = with(false);
  const auto at = std::mismatch(yes.begin(), yes.end(), no.begin()).first - yes.begin();
  ASSERT_EQ(yes.at(static_cast<std::size_t>(at)), std::byte{1});
  for (const unsigned value : {2U, 3U, 128U, 255U}) {
    Bytes changed = yes;
    changed[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_THROW(static_cast<void>(read_file<ContextPointer>(changed)), FormatError) << value;
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
