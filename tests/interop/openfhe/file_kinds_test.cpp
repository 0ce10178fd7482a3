// What a file is, said where it is not the kind that was asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;

TEST(OpenFheFiles, OfAnotherKindSayTheirs) {
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const Bytes key = test::get("bgv", "secret_key.bin"), ciphertext = test::get("bgv", "ct_a.bin"),
              powers = test::get("bgv", "eval_mult_key.bin");
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(tests::refusal<FormatError>([&] { static_cast<void>(session.load_ciphertext(key)); }),
                  "a secret key, not a ciphertext"));
  EXPECT_TRUE(
      has(tests::refusal<FormatError>([&] { static_cast<void>(session.load_secret_key(ciphertext)); }),
          "a ciphertext, not a secret key"));
  EXPECT_TRUE(has(tests::refusal<FormatError>([&] { session.load_keys({.galois = Source(powers)}); }),
                  "relinearization keys, not Galois keys"));
  EXPECT_TRUE(has(tests::refusal<FormatError>([&] { session.load_keys({.public_key = Source(powers)}); }),
                  "relinearization keys, not a public key"));
  // Damage is no kind; what is older than what is read may look like it.
  const std::string cut = tests::refusal<FormatError>(
      [&] { static_cast<void>(session.load_ciphertext(std::span(ciphertext).first(900))); });
  EXPECT_TRUE(has(cut, "no room for") && has(cut, "1.4 to 1.6")) << cut;
  Bytes flagged = ciphertext;
  flagged[0] = std::byte{0};
  EXPECT_TRUE(has(tests::refusal<FormatError>([&] { static_cast<void>(session.load_ciphertext(flagged)); }),
                  "big-endian"));
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

}  // namespace
}  // namespace hemera::interop::openfhe
