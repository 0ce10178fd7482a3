// What all schemes have in common, by the scheme of the context.
#include "hemera/schemes/any_scheme.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/warning.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::any_scheme {
namespace {

struct Party {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  rlwe::Ciphertext ciphertext;
};

Party party(rlwe::Parameters parameters) {
  auto context = tests::make_context(std::move(parameters));
  rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::Plaintext plaintext =
      context->scheme() == rlwe::Scheme::ckks
          ? ckks::Encoder(context).encode(std::vector<std::complex<double>>{3}, {})
          : integer::Encoder(context).encode(std::vector<std::int64_t>{3}, {});
  rlwe::Ciphertext ciphertext = encrypt(plaintext, secret);
  return {context, std::move(secret), std::move(ciphertext)};
}

// Squares until the budget is spent.
rlwe::Ciphertext spent(const Party& party) {
  const auto keys = rlwe::generate_keys(party.secret, {});
  const auto evaluator = make_evaluator(party.context, keys);
  rlwe::Ciphertext x = party.ciphertext.clone();
  // Evaluators notice it by themselves where there is a handler.
  WarningHandler former = set_warning_handler(nullptr);
  while (guaranteed_noise_budget(x) > 0) x = evaluator->square(x);
  set_warning_handler(std::move(former));
  return x;
}

// Noticed once, and from then on known of parts, copies and results.
TEST(AnyScheme, ASpentBudgetIsNoticedOnce) {
  for (const rlwe::Parameters& parameters : {bfv::parameters_for({}), bgv::parameters_for({})}) {
    Party own = party(parameters);
    EXPECT_FALSE(notice_spent_budget(own.ciphertext));
    EXPECT_FALSE(own.ciphertext.meta.spent);
    rlwe::Ciphertext x = spent(own);
    EXPECT_FALSE(x.meta.spent);
    EXPECT_TRUE(notice_spent_budget(x));
    EXPECT_FALSE(notice_spent_budget(x));
    EXPECT_TRUE(x.clone().meta.spent);
    EXPECT_TRUE(rlwe::gather(x, std::vector<std::size_t>{0, 0}, {2}).meta.spent);
    EXPECT_FALSE(decrypt(own.ciphertext, own.secret).meta.spent);
    own.ciphertext.meta.noise_log2 = rlwe::unknown_noise;
    EXPECT_FALSE(notice_spent_budget(own.ciphertext));
  }
  Party ckks = party(ckks::parameters_for({}));
  EXPECT_FALSE(notice_spent_budget(ckks.ciphertext));
  ckks.ciphertext = {};
  EXPECT_THROW(notice_spent_budget(ckks.ciphertext), Error);
}

TEST(AnyScheme, BudgetsAndSharingOfIntegersAreTheSchemesOwn) {
  const Party bfv = party(bfv::parameters_for({}));
  EXPECT_EQ(noise_budget(bfv.ciphertext, bfv.secret), bfv::noise_budget(bfv.ciphertext, bfv.secret));
  EXPECT_EQ(guaranteed_noise_budget(bfv.ciphertext), bfv::guaranteed_noise_budget(bfv.ciphertext));
  const Party bgv = party(bgv::parameters_for({}));
  EXPECT_EQ(noise_budget(bgv.ciphertext, bgv.secret), bgv::noise_budget(bgv.ciphertext, bgv.secret));
  EXPECT_EQ(guaranteed_noise_budget(bgv.ciphertext), bgv::guaranteed_noise_budget(bgv.ciphertext));
  for (const Party* each : {&bfv, &bgv}) {
    const rlwe::Plaintext shared = decrypt_for_sharing(each->ciphertext, each->secret, std::nullopt, 10);
    EXPECT_EQ(integer::Encoder(each->context).decode(shared), std::vector<std::int64_t>{3});
    tests::expect_error<ParameterError>(
        [&] { return decrypt_for_sharing(each->ciphertext, each->secret, 0.5, 10); },
        {"takes no noise_bound"});
  }
}

// A decryption for others is that of the scheme, of as many shares as are asked for; exact results have none.
TEST(AnyScheme, SharesAreOfCkks) {
  for (const rlwe::Parameters& parameters : {bfv::parameters_for({}), bgv::parameters_for({})}) {
    const Party integers = party(parameters);
    for (const std::size_t shares : {0U, 2U, 5U}) {
      SCOPED_TRACE(shares);
      tests::expect_error<ParameterError>(
          [&] { return decrypt_for_sharing(integers.ciphertext, integers.secret, std::nullopt, 10, shares); },
          {"takes no shares"});
    }
  }
  const Party ckks = party(ckks::parameters_for({.depth = 1, .sharing_bits = 20, .shares = 4}));
  // The flooding is drawn from the ciphertext and what is asked for: the same request gives the same values.
  const auto shown = [&](double bound, int bits, std::size_t shares) {
    return ckks::Encoder(ckks.context)
        .decode(decrypt_for_sharing(ckks.ciphertext, ckks.secret, bound, bits, shares));
  };
  const auto expected = [&](double bound, int bits, std::size_t shares) {
    return ckks::Encoder(ckks.context)
        .decode(ckks::decrypt_for_sharing(ckks.ciphertext, ckks.secret, bound, bits, shares));
  };
  const auto base = shown(0x1p-30, 20, 1);
  EXPECT_EQ(base, expected(0x1p-30, 20, 1));
  for (const auto& [bound, bits, shares] :
       {std::tuple{0x1p-30, 20, std::size_t{4}}, {0x1p-30, 19, 1}, {0x1p-31, 20, 1}}) {
    EXPECT_EQ(shown(bound, bits, shares), expected(bound, bits, shares));
    EXPECT_NE(shown(bound, bits, shares), base);
  }
}

TEST(AnyScheme, CkksHasNoBudgetAndNeedsABound) {
  const Party ckks = party(ckks::parameters_for({}));
  tests::expect_error<ParameterError>([&] { return noise_budget(ckks.ciphertext, ckks.secret); },
                                      {"no budget"});
  tests::expect_error<ParameterError>([&] { return guaranteed_noise_budget(ckks.ciphertext); },
                                      {"no budget"});
  tests::expect_error<ParameterError>(
      [&] { return decrypt_for_sharing(ckks.ciphertext, ckks.secret, std::nullopt, 10); },
      {"needs noise_bound"});
}

TEST(AnyScheme, EncryptionWithKeysNeedsThePublicOne) {
  const Party bfv = party(bfv::parameters_for({}));
  const rlwe::Plaintext plaintext = decrypt(bfv.ciphertext, bfv.secret);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(bfv.secret, {.public_key = true});
  const rlwe::Plaintext again = decrypt(encrypt(plaintext, keys), bfv.secret);
  EXPECT_EQ(integer::Encoder(bfv.context).decode(again), std::vector<std::int64_t>{3});
  keys.public_key.reset();
  EXPECT_THROW(static_cast<void>(encrypt(plaintext, keys)), MissingKeyError);
}

}  // namespace
}  // namespace hemera::any_scheme
