// Files of each version of OpenFHE that has wheels: opened from the context alone, computed with, and
// compared with what that version computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

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
