// Key-switching: the noise of every gadget is below its bound; keys limited to levels; keys of other secrets.
#include "hemera/rlwe/key_switching.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

class KeySwitchingGadget : public testing::TestWithParam<GadgetCase> {};

// 1. A switched encryption of zero is one of zero: its noise is at most fresh + switching, at every level.
TEST_P(KeySwitchingGadget, NoiseStaysBelowItsBound) {
  const auto context = tests::make_context(parameters_with(GetParam()));
  const SecretKey secret = generate_secret_key(context);
  for (std::size_t level = 0; level <= context->top_level(); ++level) {
    const SwitchingKey key = generate_galois_key(secret, context->galois_element(3), context->top_level());
    Metadata meta;
    meta.level = level;
    meta.batch = {2};
    meta.slots = 1;
    const Ciphertext rotated = apply_galois(encrypt_zero(secret, meta), context->galois_element(3), key);
    const double bound = add_log2(fresh_noise_log2(*context, false), switching_noise_log2(*context, level));
    const double noise = largest_coefficient_log2(*context, decrypt_phase(rotated, secret));
    EXPECT_LE(noise, bound) << "level " << level;
    // The bound is no empty one: an inner product of random terms comes within 8 bits of it.
    EXPECT_GE(noise, bound - 8) << "level " << level;
  }
}

// 2. Keys limited to a level work at it and below, and say so above.
TEST_P(KeySwitchingGadget, KeysCanBeLimitedToALevel) {
  const auto context = tests::make_context(parameters_with(GetParam()));
  const SecretKey secret = generate_secret_key(context);
  const std::uint64_t element = context->galois_element(1);
  const SwitchingKey whole = generate_galois_key(secret, element, context->top_level());
  const SwitchingKey limited = generate_galois_key(secret, element, 1);
  EXPECT_LT(limited.poly.bytes(), whole.poly.bytes());
  Metadata meta;
  meta.slots = 1;
  for (const std::size_t level : {0U, 1U}) {
    meta.level = level;
    const Ciphertext rotated = apply_galois(encrypt_zero(secret, meta), element, limited);
    EXPECT_LE(largest_coefficient_log2(*context, decrypt_phase(rotated, secret)),
              add_log2(fresh_noise_log2(*context, false), switching_noise_log2(*context, level)));
  }
  meta.level = 2;
  EXPECT_THROW(static_cast<void>(apply_galois(encrypt_zero(secret, meta), element, limited)), LevelError);
}

// 3. Re-encryption: a ciphertext of one secret becomes one of another, and is noise under the first.
TEST_P(KeySwitchingGadget, ReencryptionChangesTheSecret) {
  const auto context = tests::make_context(parameters_with(GetParam()));
  const SecretKey alice = generate_secret_key(context);
  const SecretKey bob = generate_secret_key(context);
  const SwitchingKey key = generate_switching_key(alice, bob, context->top_level());
  Metadata meta;
  meta.level = context->top_level();
  meta.slots = 1;
  const Ciphertext switched = reencrypt(encrypt_zero(alice, meta), key);
  const double bound =
      add_log2(fresh_noise_log2(*context, false), switching_noise_log2(*context, context->top_level()));
  EXPECT_LE(largest_coefficient_log2(*context, decrypt_phase(switched, bob)), bound);
  EXPECT_GE(largest_coefficient_log2(*context, decrypt_phase(switched, alice)),
            context->base(context->top_level()).log2() - 8);
}

INSTANTIATE_TEST_SUITE_P(Gadgets, KeySwitchingGadget, testing::ValuesIn(gadgets()),
                         [](const auto& gadget) { return gadget.param.name; });

TEST(KeySwitching, TwoEncryptionsOfOneValueShareNoRandomness) {
  const auto context = tests::make_context(parameters_with(gadgets().front()));
  const SecretKey secret = generate_secret_key(context);
  const PublicKey key = generate_public_key(secret);
  Metadata meta;
  meta.level = context->top_level();
  meta.slots = 1;
  for (const bool with_public_key : {true, false}) {
    const auto encrypt = [&] {
      return with_public_key ? encrypt_zero(key, meta) : encrypt_zero(secret, meta);
    };
    const auto first = host_words(*context, encrypt().poly);
    const auto second = host_words(*context, encrypt().poly);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
    EXPECT_LE(equal, 2U);
  }
}

TEST(KeySwitching, SeedsRestoreTheUniformHalf) {
  const auto context = tests::make_context(parameters_with(gadgets().front()));
  const SecretKey secret = generate_secret_key(context);
  SwitchingKey key = generate_relinearization_key(secret, context->top_level());
  const auto before = host_words(*context, key.poly);
  context->backend().fill_zero(context->queue(), key.poly.view().components(1, 1));
  EXPECT_NE(host_words(*context, key.poly), before);
  ASSERT_TRUE(key.seed.has_value());
  expand_uniform_half(*context, key.poly, *key.seed);
  EXPECT_EQ(host_words(*context, key.poly), before);
}

TEST(KeySwitching, MistakesAreNamed) {
  const auto context = tests::make_context(parameters_with(gadgets().front()));
  const auto other = tests::make_context(parameters_with(gadgets().back()));
  const SecretKey secret = generate_secret_key(context);
  EXPECT_THROW(static_cast<void>(generate_galois_key(secret, 4, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(generate_galois_key(secret, 2 * context->degree() + 1, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(generate_relinearization_key(secret, 99)), LevelError);
  EXPECT_THROW(static_cast<void>(generate_switching_key(secret, generate_secret_key(other), 0)),
               MismatchError);
  Metadata meta;
  meta.slots = 1;
  const SwitchingKey foreign = generate_galois_key(generate_secret_key(other), 5, 0);
  EXPECT_THROW(static_cast<void>(apply_galois(encrypt_zero(secret, meta), 5, foreign)), MismatchError);
}

}  // namespace
}  // namespace hemera::rlwe
