// What the parts of a file promise each other, one broken at a time; what a ciphertext's fields may be; what
// describe tells of each.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using Json = nlohmann::json;
using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using PrivatePointer = std::shared_ptr<PrivateKeyObject>;
using rlwe::Ciphertext;

template <typename T>
Bytes written(T object, Format format = Format::binary) {
  return write_file(object, format);
}

Json json_of(const ContextPointer& context) {
  const Bytes file = written(context, Format::json);
  const auto* const text = reinterpret_cast<const char*>(file.data());
  return Json::parse(text, text + file.size());
}

ContextPointer context_in(const Json& json) {
  const std::string text = json.dump();
  return read_file<ContextPointer>(std::as_bytes(std::span(text)));
}

// --- Polynomials. ---

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
          EXPECT_THROW(static_cast<void>(read_file<CiphertextPointer>(written(object, format))), FormatError)
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
  Json json = json_of(context);
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
    const auto read = [&] { return read_file<ContextPointer>(written(context)); };
    if (degree == 1024 || degree == 4096 || degree == 131072) {
      EXPECT_EQ(read()->parameters->elements->primes[0]->degree, degree);
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << degree;
    }
  }
}

// --- Types. ---

TEST(OpenFheStructure, SchemesOfAContextAreOne) {
  for (std::size_t parameters = 0; parameters < 3; ++parameters) {
    for (std::size_t scheme = 0; scheme < 3; ++scheme) {
      for (std::uint32_t number = 0; number < 5; ++number) {
        const ContextPointer context = test::copy_of(*test::context_of("bgv"));
        context->parameters->type = parameters;
        context->scheme->type = scheme;
        context->scheme_type = static_cast<SchemeType>(number);
        const auto read = [&] { return read_file<ContextPointer>(written(context)); };
        if (parameters == scheme && number == parameters + 1) {
          EXPECT_EQ(read()->scheme_type, context->scheme_type);
        } else {
          EXPECT_THROW(static_cast<void>(read()), FormatError) << parameters << scheme << number;
        }
      }
    }
  }
}

// The words before objects: types are numbered as they come, objects too, and classes have the version 1 or
// 0.
TEST(OpenFheStructure, TypesAndNumbersAreInTheirOrder) {
  const Json original = json_of(test::context_of("ckks-bootstrap"));
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
  for (const std::uint32_t word : {0U, 1U, is_new + 1}) {
    refused("/value0/polymorphic_id", word);
  }
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
      EXPECT_EQ(written(context_in(other)), written(test::context_of("ckks-bootstrap"))) << at;
    }
  };
  visit(original, "");
  EXPECT_GE(versions, 12U);
}

TEST(OpenFheStructure, TruthValuesAre0Or1) {
  const auto with = [](bool value) {
    const ContextPointer context = test::context_of("ckks-bootstrap-context");
    context->scheme->fhe->settings.at(0).settings->encodes_slots = value;
    return written(context);
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

// --- Fields of ciphertexts. ---

TEST(OpenFheFields, EncodingsAreThoseOfTheScheme) {
  const auto load = [](const Session& session, const std::string& folder, std::int32_t encoding) {
    auto object = read_file<CiphertextPointer>(test::get(folder, "ct_a.bin"));
    object->encoding = static_cast<EncodingType>(encoding);
    return session.load_ciphertext(written(object)).meta.encoding;
  };
  for (const std::string folder : {"bfv", "bgv", "ckks-flexibleauto"}) {
    const Session session(test::get(folder, "cryptocontext.bin"), tests::device());
    const bool ckks = folder == "ckks-flexibleauto";
    for (const std::int32_t encoding :
         {-1, 0, 1, 2, 3, 4, 5, 6, 256, 260, std::numeric_limits<std::int32_t>::max()}) {
      SCOPED_TRACE(folder + " " + std::to_string(encoding));
      if (ckks ? encoding == 4 : encoding == 1 || encoding == 2) {
        EXPECT_EQ(load(session, folder, encoding),
                  encoding == 1 ? rlwe::Encoding::coefficients : rlwe::Encoding::slots);
      } else {
        EXPECT_THROW(load(session, folder, encoding), FormatError);
      }
    }
  }
  // Slots need a plaintext modulus that has them.
  const Bytes file = test::get("bgv", "ct_a.bin");
  const auto object = read_file<CiphertextPointer>(file);
  const ContextPointer context = test::copy_of(*object->header.context);
  context->parameters->encoding->plain_modulus = 17;
  object->header.context = context;
  const Session session(written(context), tests::device());
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(written(object))), FormatError);
  object->encoding = EncodingType::coefficients;
  EXPECT_EQ(session.load_ciphertext(written(object)).meta.encoding, rlwe::Encoding::coefficients);
}

TEST(OpenFheFields, ScalesArePositiveNumbersUpTo1000Bits) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const auto load = [&](double scale) {
    auto object = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "ct_a.bin"));
    object->scaling_factor = scale;
    return session.load_ciphertext(written(object)).meta.scale;
  };
  for (const double scale : {std::numeric_limits<double>::denorm_min(), 0.5, 1.0, 0x1p999, 0x1p1000}) {
    EXPECT_EQ(load(scale), scale);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, -0.0, -1.0, std::nextafter(0x1p1000, infinity), infinity, -infinity,
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(load(scale), FormatError) << scale;
  }
}

// What alignment rounds is less than 2^-16 of a scale: it is the level's, or the product's at degree 2.
TEST(OpenFheFields, ScalesAreTheLevelsWithinRounding) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Ciphertext a = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  const rlwe::LevelScale& level = session.params().rescaling().scales.at(a.meta.level);
  for (const int degree : {0, 1, 2, 3}) {
    const double exact = degree == 1 ? level.scale : degree == 2 ? level.product_scale : 0;
    const double base = exact == 0 ? level.scale : exact;
    for (const double change :
         {0.0, 0x1p-17, -0x1p-17, 0x1.fp-17, -0x1.fp-17, 0x1.1p-16, -0x1.1p-16, 0x1p-10, -0.5, 1.0}) {
      Ciphertext x = a.clone();
      x.meta.noise_scale_degree = degree;
      x.meta.scale = base * (1 + change);
      const bool is_exact = exact != 0 && std::abs(change) < 0x1p-16;
      const double wanted = is_exact ? exact : double{x.meta.scale};
      EXPECT_EQ(session.metadata(x).scaling_factor, wanted) << degree << " " << change;
      EXPECT_EQ(read_file<CiphertextPointer>(session.dump_ciphertext(x))->scaling_factor, wanted);
    }
  }
}

TEST(OpenFheFields, ObjectsOfOtherParametersAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), "tag", {}, tests::device());
  ContextPointer client = test::copy_of(*test::context_of("ckks-flexibleauto"));
  client->parameters->elements->primes.pop_back();
  const Session other(written(client), "tag", {}, tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(other.context());
  const Ciphertext x = rlwe::encrypt_zero(
      secret, {.level = 1, .scale = other.params().rescaling().scales[1].scale, .slots = 64});
  io::MemorySink sink;
  std::vector<std::vector<std::uint64_t>> words(4, std::vector<std::uint64_t>(session.context()->degree()));
  const std::vector<std::span<std::uint64_t>> limbs(words.begin(), words.end());
  other.export_ciphertext(x, limbs);
  EXPECT_THROW(session.export_ciphertext(x, limbs), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertexts(x)), MismatchError);
  EXPECT_THROW(session.dump_ciphertext(sink, x), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_secret_key(secret)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_keys(rlwe::generate_keys(secret, {}))), MismatchError);
  EXPECT_THROW(static_cast<void>(session.metadata(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.bootstrap(x)), MismatchError);
  EXPECT_TRUE(sink.take().empty());
  // Another context of the same parameters is theirs.
  const Session same(written(client), "tag", {}, tests::device());
  ASSERT_NE(same.context(), other.context());
  EXPECT_EQ(same.dump_ciphertext(x), other.dump_ciphertext(x));
  EXPECT_EQ(same.dump_secret_key(secret), other.dump_secret_key(secret));
}

// OpenFHE's special primes for BGV are 1 modulo t, too: the first ones below 2^60 (ParamsGenBGVRNS).
TEST(OpenFheFields, SpecialPrimesAreOneModuloThePlaintextModulus) {
  for (const std::uint64_t t : {2ULL, 3ULL, 17ULL, 256ULL, 8192ULL, 16384ULL, 65536ULL, 1ULL << 20, 65537ULL,
                                2 * 65537ULL, 3ULL << 15}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    context->parameters->encoding->plain_modulus = t;
    const std::uint64_t order = 2 * std::uint64_t{context->parameters->elements->degree};
    const std::uint64_t step = std::lcm(order, t);
    const std::vector<std::uint64_t> found = parameters_of(*context).literal().special_primes;
    std::uint64_t next = (((std::uint64_t{1} << 60) - 2) / step + 1) * step + 1;
    const auto largest = [&] {
      do {
        next -= step;
      } while (!arith::is_prime(next));
      return next;
    };
    ASSERT_FALSE(found.empty());
    for (const std::uint64_t prime : found) EXPECT_EQ(prime, largest()) << t;
  }
}

// The levels that a large plaintext modulus leaves out are the lowest: OpenFHE's factors are those of the
// moduli that are dropped.
TEST(OpenFheFields, FactorsAreTheLevelsWhereSeveralModuliAreNeeded) {
  for (const bool is_fixed : {false, true}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    const std::uint64_t t = (std::uint64_t{1} << 59) + 1;
    context->parameters->encoding->plain_modulus = t;
    context->parameters->key_switching = KeySwitching::bv;
    context->parameters->scaling = is_fixed ? Scaling::fixed_auto : Scaling::flexible_auto;
    DcrtParameters& elements = *context->parameters->elements;
    const std::vector<std::uint64_t> q =
        arith::primes_below(std::uint64_t{1} << 50, 2 * std::uint64_t{elements.degree}, 5);
    elements.primes.clear();
    for (const NativeParameters& prime : test::rooted(q, elements.degree)) {
      elements.primes.push_back(std::make_shared<NativeParameters>(prime));
    }
    const rlwe::Parameters parameters = parameters_of(*context);
    const auto& factors = parameters.rescaling().factors;
    ASSERT_EQ(parameters.literal().levels.front().size(), 2U);
    ASSERT_EQ(factors.size(), 4U);
    const arith::Modulus modulus(t);
    EXPECT_EQ(factors[3].factor, is_fixed ? 1 : q[4]);
    for (std::size_t level = 0; level < 4; ++level) {
      EXPECT_EQ(factors[level].product_factor,
                modulus.multiply(factors[level].factor, factors[level].factor));
      if (level == 0) continue;
      // The square is the factor below times the modulus that is dropped.
      const std::uint64_t below = modulus.multiply(factors[level - 1].factor, q[level + 1]);
      EXPECT_EQ(is_fixed ? factors[level - 1].factor : below, factors[level].product_factor);
    }
  }
}

// --- Descriptions. ---

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
  const Bytes powers = written(MultiplicationKeys{{{"a", {key, shorter}}, {"b", {}}, {"c", {shorter}}}});
  EXPECT_EQ(describe(powers)->kind, "relinearization keys");
  EXPECT_EQ(values_of(powers, "key tag"), (List{"a", "a", "c"}));
  EXPECT_EQ(values_of(powers, "digits"), (List{one, less, less}));
  EXPECT_TRUE(values_of(powers, "Galois elements").empty());
  using Keys = AutomorphismKeys::Keys;
  const Bytes turns =
      written(AutomorphismKeys{{{"a", std::make_shared<Keys>(Keys{{{5, key}, {25, shorter}}})},
                                {"b", std::make_shared<Keys>()},
                                {"c", std::make_shared<Keys>(Keys{{{8191, shorter}}})}}});
  EXPECT_EQ(describe(turns)->kind, "Galois keys");
  EXPECT_EQ(values_of(turns, "key tag"), (List{"a", "c"}));
  EXPECT_EQ(values_of(turns, "digits"), (List{one, less}));
  EXPECT_EQ(values_of(turns, "Galois elements"), (List{"5, 25", "none", "8191"}));
}

}  // namespace
}  // namespace hemera::interop::openfhe
