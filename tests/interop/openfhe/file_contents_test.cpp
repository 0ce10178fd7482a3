// Contents of files: numbers, roots, references and truth values as OpenFHE has them, or are refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using rlwe::Ciphertext;

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

}  // namespace
}  // namespace hemera::interop::openfhe
