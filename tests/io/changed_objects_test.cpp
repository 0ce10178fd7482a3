// Objects that were changed save and load as what they are, and what files claim of them is checked.
#include <gtest/gtest.h>

#include <functional>

#include "hemera/io/objects.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "io/samples.hpp"
#include "scalar_of.hpp"
#include "test_device.hpp"

namespace hemera::io {
namespace {

using rlwe::Ciphertext;
using rlwe::Scheme;

std::shared_ptr<const rlwe::Context> make_context(Scheme scheme, std::uint64_t t = 65537) {
  if (scheme == Scheme::ckks) {
    return tests::make_context(
        ckks::parameters_for({.depth = 3, .slots = 512, .degree = 1024, .security = std::nullopt}));
  }
  const integer::ChainRequest request{.degree = 1024,
                                      .plain_modulus = t,
                                      .prime_bits = {50, 50, 50, 50},
                                      .special_bits = {50},
                                      .security = std::nullopt};
  return tests::make_context(scheme == Scheme::bfv ? bfv::parameters_from_bits(request)
                                                   : bgv::parameters_from_bits(request));
}

class ChangedObjects : public testing::TestWithParam<Scheme> {
 protected:
  std::shared_ptr<const rlwe::Context> context = make_context(GetParam());
  rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  std::unique_ptr<rlwe::Evaluator> evaluator =
      any_scheme::make_evaluator(context, rlwe::generate_keys(secret, {}));

  [[nodiscard]] rlwe::Plaintext encode() const {
    if (GetParam() == Scheme::ckks) {
      return ckks::Encoder(context).encode(std::vector<std::complex<double>>(512, 0.5), {});
    }
    return integer::Encoder(context).encode(std::vector<std::int64_t>(1024, 7), {});
  }
  [[nodiscard]] Ciphertext encrypt() const { return any_scheme::encrypt(encode(), secret); }
  void expect_saved(const Ciphertext& x) const {
    const Ciphertext loaded = load_ciphertext(context, save(x));
    EXPECT_EQ(test::words(*context, loaded.poly), test::words(*context, x.poly));
    EXPECT_EQ(loaded.meta.level, x.meta.level);
    EXPECT_EQ(loaded.meta.noise_log2, x.meta.noise_log2);
  }
};

INSTANTIATE_TEST_SUITE_P(Schemes, ChangedObjects, testing::Values(Scheme::bfv, Scheme::bgv, Scheme::ckks),
                         [](const auto& tested) { return rlwe::name(tested.param); });

// A fresh ciphertext keeps the seed of its second half. Whatever changes that half must forget it: the file
// would hold another one.
TEST_P(ChangedObjects, LoadAfterEveryOperationInPlace) {
  const auto& e = *evaluator;
  const Ciphertext other = encrypt();
  const rlwe::Plaintext plain = encode();
  ASSERT_TRUE(other.seed.has_value());
  expect_saved(other);
  const std::vector<std::pair<const char*, std::function<void(Ciphertext&)>>> operations = {
      {"add", [&](Ciphertext& x) { e.add_inplace(x, other); }},
      {"add to itself", [&](Ciphertext& x) { e.add_inplace(x, x); }},
      {"subtract", [&](Ciphertext& x) { e.subtract_inplace(x, other); }},
      {"add a lower one",
       [&](Ciphertext& x) {
         Ciphertext low = e.lower_to_level(other, 1);
         e.add_inplace(x, low);
       }},
      {"negate", [&](Ciphertext& x) { e.negate_inplace(x); }},
      {"add_plain", [&](Ciphertext& x) { e.add_plain_inplace(x, plain); }},
      {"subtract_plain", [&](Ciphertext& x) { e.subtract_plain_inplace(x, plain); }},
      {"multiply_plain", [&](Ciphertext& x) { e.multiply_plain_inplace(x, plain); }},
      {"add a scalar", [&](Ciphertext& x) { e.add_scalar_inplace(x, scalar_of(e, 0.75, 3)); }},
      {"add a complex scalar",
       [&](Ciphertext& x) {
         e.add_scalar_inplace(x, scalar_of(e, {0.75, 1}, -3));
       }},
      {"multiply by a scalar", [&](Ciphertext& x) { e.multiply_scalar_inplace(x, scalar_of(e, 0.75, 3)); }},
      {"multiply by an integer", [&](Ciphertext& x) { e.multiply_scalar_inplace(x, scalar_of(e, 3, -1)); }},
      {"multiply by a complex scalar",
       [&](Ciphertext& x) {
         e.multiply_scalar_inplace(x, scalar_of(e, {0.75, 1}, 9));
       }},
      {"rescale", [&](Ciphertext& x) { e.rescale_inplace(x); }},
      {"drop_to_level", [&](Ciphertext& x) { e.drop_to_level_inplace(x, 1); }},
      {"lower_to_level", [&](Ciphertext& x) { e.lower_to_level_inplace(x, 1); }},
      {"relinearize", [&](Ciphertext& x) { e.relinearize_inplace(x); }},
      {"reshape",
       [&](Ciphertext& x) {
         rlwe::reshape_inplace(x, {1, 1});
       }},
      {"shrink", [&](Ciphertext& x) { x = e.shrink(x); }},
      {"gather",
       [&](Ciphertext& x) {
         x = rlwe::gather(x, std::vector<std::size_t>{0, 0}, {2});
       }},
      {"clone", [&](Ciphertext& x) { x = x.clone(); }}};
  for (const auto& [name, operation] : operations) {
    SCOPED_TRACE(name);
    Ciphertext x = encrypt();
    operation(x);
    expect_saved(x);
  }
  if (GetParam() != Scheme::bgv) return;
  // Factors of levels meet: both operands are multiplied.
  Ciphertext x = encrypt();
  Ciphertext low = encrypt();
  x.meta.correction = 3;
  e.add_inplace(x, low);
  expect_saved(x);
}

// A file may claim any bound. None is below that of a fresh ciphertext once it is read.
TEST_P(ChangedObjects, ABoundOfAFileIsAtLeastAFreshOnes) {
  if (GetParam() == Scheme::ckks) return;
  Ciphertext x = encrypt();
  EXPECT_GE(x.meta.noise_log2, rlwe::least_noise_log2(*context));
  EXPECT_LT(x.meta.noise_log2, rlwe::least_noise_log2(*context) + 1);
  Ciphertext low = x.clone();
  evaluator->drop_to_level_inplace(low, 0);
  EXPECT_GE(low.meta.noise_log2, rlwe::least_noise_log2(*context));
  const double honest = any_scheme::guaranteed_noise_budget(x);
  for (const double claim : {-1e300, -std::numeric_limits<double>::infinity(), 0.0}) {
    x.meta.noise_log2 = claim;
    const auto file = save(x);
    const Ciphertext loaded = load_ciphertext(context, file);
    EXPECT_EQ(loaded.meta.noise_log2, rlwe::least_noise_log2(*context));
    EXPECT_LE(any_scheme::guaranteed_noise_budget(loaded), honest + 1);
  }
}

// The plaintext of a decryption that is in doubt is not written.
TEST_P(ChangedObjects, DoubtfulPlaintextsAreNotSaved) {
  if (GetParam() == Scheme::ckks) return;
  Ciphertext x = encrypt();
  EXPECT_NO_THROW(static_cast<void>(save(any_scheme::decrypt(x, secret))));
  while (any_scheme::noise_budget(x, secret) > 0) evaluator->multiply_scalar_inplace(x, 30000);
  EXPECT_THROW(static_cast<void>(save(any_scheme::decrypt(x, secret))), NoiseError);
}

// A correction factor is a unit modulo t, whatever t.
TEST(CorrectionFactors, AreUnits) {
  for (const auto& [t, factors, are_units] :
       {std::tuple<std::uint64_t, std::vector<std::uint64_t>, bool>{65536, {2, 6, 32768}, false},
        {65536, {1, 3, 65535}, true},
        {15, {3, 5, 10}, false},
        {15, {2, 4, 14}, true},
        {65537, {2, 65536}, true}}) {
    const auto context = make_context(Scheme::bgv, t);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const rlwe::Plaintext plain =
        integer::Encoder(context).encode(std::vector<std::int64_t>{1}, {}, rlwe::Encoding::coefficients);
    Ciphertext x = bgv::encrypt(plain, secret);
    for (const std::uint64_t factor : factors) {
      x.meta.correction = factor;
      if (are_units) {
        EXPECT_EQ(load_ciphertext(context, save(x)).meta.correction, factor);
      } else {
        EXPECT_THROW(static_cast<void>(save(x)), MismatchError) << factor << " modulo " << t;
      }
    }
  }
}

}  // namespace
}  // namespace hemera::io
