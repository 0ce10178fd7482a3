// Files: their kinds, contents as OpenFHE has them or are refused, and those of each version that has wheels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using rlwe::Ciphertext;
using Bytes = std::vector<std::byte>;

// The fields that 1.4 has not are in the context of every object, not of a context's file alone.
TEST(OpenFheFiles, OfEachKindAreReadWithTheFieldsOf14) {
  const Bytes context = test::get_of_version("1.4.2/bootstrap", "cryptocontext.bin");
  const Bytes ciphertext = test::get_of_version("1.4.2/bootstrap", "ct.bin");
  const Session session(context, tests::device());
  EXPECT_EQ(session.dump_context().size(), context.size());
  const Ciphertext x = session.load_ciphertext(ciphertext);
  const auto object = read_file<CiphertextPointer>(ciphertext);
  EXPECT_EQ(x.meta.slots, object->slots);
  EXPECT_FALSE(object->header.context->scheme->fhe->settings.at(0).settings->encodes_slots);
  EXPECT_EQ(describe(ciphertext)->kind, "ciphertext");
}

TEST(OpenFheFiles, DegreesAndOrdersFit) {
  for (const int field : {0, 1}) {
    auto context = test::context_of("bgv");
    NativeParameters& prime = *context->parameters->elements->primes[0];
    (field == 0 ? prime.order : prime.degree) *= 2;
    EXPECT_THROW(static_cast<void>(read_file<ContextPointer>(write_file(context, Format::binary))),
                 FormatError);
  }
}

// A reference to an object of another class, or to another one of its own, is none.
TEST(OpenFheFiles, ReferencesAreToTheirObject) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  const Bytes file = write_file(object, Format::json);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"id\": ";
  // The base of the last polynomial, and the prime of its last limb.
  std::size_t at = std::string::npos;
  int references = 0;
  for (int from_end = 0; from_end < 4; ++from_end) {
    at = text.rfind(field, at - 1);
    ASSERT_NE(at, std::string::npos);
    const std::size_t first = at + field.size();
    std::size_t digits = 0;
    const auto own = std::stoull(text.substr(first, 10), &digits);
    if (own >> 31 != 0) continue;  // no reference, but an object
    ++references;
    for (std::uint64_t number = 1; number < 12; ++number) {
      const std::string changed =
          text.substr(0, first) + std::to_string(number) + text.substr(first + digits);
      const auto read = [&] { return read_file<CiphertextPointer>(std::as_bytes(std::span(changed))); };
      if (number == own) {
        EXPECT_NO_THROW(static_cast<void>(read()));
      } else {
        EXPECT_THROW(static_cast<void>(read()), FormatError) << from_end << " " << number;
      }
    }
  }
  EXPECT_GE(references, 2);
}

TEST(OpenFheFiles, ContextsOfSecondKeysAreContexts) {
  const CryptoObject header{test::context_of("bgv"), "tag"};
  MultiplicationKeys keys;
  keys.entries.push_back({"tag", {}});
  for (int i = 0; i < 2; ++i) {
    keys.entries[0].keys.push_back(std::make_shared<EvaluationKeyObject>());
    keys.entries[0].keys.back()->header = header;
  }
  const Bytes file = write_file(keys, Format::json);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"id\": ";
  const std::size_t at = text.find(field, text.rfind("\"cc\""));
  ASSERT_NE(at, std::string::npos);
  std::size_t digits = 0;
  const auto own = std::stoull(text.substr(at + field.size(), 10), &digits);
  ASSERT_LT(own, 100U);
  for (std::uint64_t number = 0; number < 12; ++number) {
    const std::string changed =
        text.substr(0, at + field.size()) + std::to_string(number) + text.substr(at + field.size() + digits);
    const auto read = [&] { return read_file<MultiplicationKeys>(std::as_bytes(std::span(changed))); };
    if (number == own) {
      const MultiplicationKeys found = read();
      EXPECT_EQ(found.entries[0].keys[0]->header.context, found.entries[0].keys[1]->header.context);
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << number;
    }
  }
}

TEST(OpenFheFiles, TruthValuesOfJsonAreTruthValues) {
  const Bytes file = test::get("ckks-bootstrap-context", "cryptocontext.json");
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"BTSlotsEncoding\": ";
  const std::size_t at = text.find(field);
  ASSERT_NE(at, std::string::npos);
  const std::size_t first = at + field.size(), last = text.find_first_of(",\n}", first);
  for (const char* const value : {"true", "false", "1", "0", "\"true\"", "{}"}) {
    const std::string changed = text.substr(0, first) + value + text.substr(last);
    const auto read = [&] { return read_file<ContextPointer>(std::as_bytes(std::span(changed))); };
    if (std::string_view(value) == "true" || std::string_view(value) == "false") {
      EXPECT_EQ(read()->scheme->fhe->settings[0].settings->encodes_slots, std::string_view(value) == "true");
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << value;
    }
  }
}

TEST(OpenFheFiles, OfAnotherKindSayTheirs) {
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const Bytes key = test::get("bgv", "secret_key.bin"), ciphertext = test::get("bgv", "ct_a.bin"),
              powers = test::get("bgv", "eval_mult_key.bin");
  tests::expect_error<FormatError>([&] { return session.load_ciphertext(key); },
                                   {"a secret key, not a ciphertext"});
  tests::expect_error<FormatError>([&] { return session.load_secret_key(ciphertext); },
                                   {"a ciphertext, not a secret key"});
  tests::expect_error<FormatError>([&] { session.load_keys({.galois = Source(powers)}); },
                                   {"relinearization keys, not Galois keys"});
  tests::expect_error<FormatError>([&] { session.load_keys({.public_key = Source(powers)}); },
                                   {"relinearization keys, not a public key"});
  // Damage is no kind; what is older than what is read may look like it.
  tests::expect_error<FormatError>([&] { return session.load_ciphertext(std::span(ciphertext).first(900)); },
                                   {"no room for", "1.4 to 1.6"});
  Bytes flagged = ciphertext;
  flagged[0] = std::byte{0};
  tests::expect_error<FormatError>([&] { return session.load_ciphertext(flagged); }, {"big-endian"});
}

TEST(OpenFheFiles, TellTagsThatAreNoText) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  object->header.tag = "a\xff\n";
  const auto found = describe(write_file(object, Format::binary));
  ASSERT_TRUE(found);
  const auto tag = std::find_if(found->fields.begin(), found->fields.end(),
                                [](const auto& field) { return field.first == "key tag"; });
  ASSERT_NE(tag, found->fields.end());
  EXPECT_EQ(tag->second, "a\\xff\\x0a");
}

class OpenFheVersions : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::vector<std::byte> file(const std::string& name) const {
    return test::get_of_version(GetParam(), name);
  }
};

INSTANTIATE_TEST_SUITE_P(Files, OpenFheVersions,
                         testing::Values("1.4.2/bfv", "1.4.2/bgv", "1.4.2/ckks", "1.6.1/bfv", "1.6.1/bgv",
                                         "1.6.1/ckks"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char each) { return each == '.' || each == '/'; },
                               '_');
                           return name;
                         });

TEST_P(OpenFheVersions, ResultsAreThoseOfTheVersion) {
  const auto text = file("values.json");
  const auto* const begin = reinterpret_cast<const char*>(text.data());
  const nlohmann::json values = nlohmann::json::parse(begin, begin + text.size());
  Session session(file("cryptocontext.bin"), tests::device());
  const auto relinearization = file("eval_mult_key.bin"), galois = file("eval_automorphism_keys.bin");
  session.load_keys({.relinearization = Source(relinearization)});
  session.load_keys({.galois = Source(galois)});
  const rlwe::SecretKey secret = session.load_secret_key(file("secret_key.bin"));
  const auto evaluator = session.evaluator();
  const rlwe::Ciphertext x = session.load_ciphertext(file("ct.bin"));
  const rlwe::Ciphertext y = evaluator->rotate(evaluator->square(x), values.at("steps").get<std::int64_t>());
  const rlwe::Ciphertext stated = session.load_ciphertext(file("result.bin"));
  const Metadata metadata = session.metadata(y), wanted = session.metadata(stated);
  EXPECT_EQ(metadata.level, values.at("level"));
  EXPECT_EQ(metadata.noise_scale_degree, values.at("noise_scale_deg"));
  EXPECT_EQ(metadata.scaling_factor, wanted.scaling_factor);
  EXPECT_EQ(metadata.scaling_factor_int, wanted.scaling_factor_int);
  EXPECT_EQ(metadata.slots, wanted.slots);
  EXPECT_EQ(metadata.limbs, wanted.limbs);
  const auto expect_values = [&](const rlwe::Ciphertext& ciphertext, const nlohmann::json& expected) {
    const rlwe::Plaintext plaintext = any_scheme::decrypt(ciphertext, secret);
    if (session.params().scheme() == rlwe::Scheme::ckks) {
      const auto found = ckks::Encoder(session.context()).decode(plaintext);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i].real(), expected.at(i), 1e-7) << i;
      return;
    }
    const auto found = integer::Encoder(session.context()).decode(plaintext);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected.at(i)) << i;
  };
  expect_values(x, values.at("values"));
  expect_values(stated, values.at("result"));
  expect_values(y, values.at("result"));
}

}  // namespace
}  // namespace hemera::interop::openfhe
