// Keys: their sets, copies at their first use, noise of every gadget, levels and secrets.
#include "hemera/rlwe/keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

class EvaluationKeysTest : public ::testing::Test {
 protected:
  // 55 bits for keys of level 0, 80 for those of level 1: of two classes of security.
  static Parameters parameters() {
    constexpr std::size_t degree = 4096;
    const auto primes = arith::primes_below(std::uint64_t{1} << 25, 2 * degree, 2);
    ParametersLiteral literal;
    literal.scheme = Scheme::ckks;
    literal.degree = degree;
    literal.scale = 0x1p20;
    literal.levels = {{primes[0]}, {primes[0], primes[1]}};
    literal.special_primes = arith::primes_below(std::uint64_t{1} << 30, 2 * degree, 1);
    literal.security.reset();
    return Parameters(literal);
  }

  std::shared_ptr<const Context> context = tests::make_context(parameters());
  SecretKey secret = generate_secret_key(context);
};

TEST_F(EvaluationKeysTest, AUnionKeepsTheKeysThatAreThere) {
  const EvaluationKeys other = generate_keys(secret, {.rotations = {1}});
  EvaluationKeys keys = generate_keys(secret, {});
  const EvaluationKeys before = keys;
  keys.merge(other);
  EXPECT_EQ(keys.public_key, before.public_key);
  const KeyRole role = KeyRole::relinearization();
  EXPECT_EQ(keys.find(role, 1), before.find(role, 1));
  const KeyRole rotation = KeyRole::galois(context->galois_element(1));
  EXPECT_EQ(keys.find(rotation, 1), other.find(rotation, 1));
  EvaluationKeys none = generate_keys(secret, {.public_key = false, .relinearization = false});
  none.merge(other);
  EXPECT_EQ(none.public_key, other.public_key);
}

TEST_F(EvaluationKeysTest, MemoryAndSecurityAreThoseOfAllKeys) {
  const EvaluationKeys all = generate_keys(secret, {.rotations = {1}, .galois_level = 0});
  const auto relinearization = all.find(KeyRole::relinearization(), 1);
  const auto rotation = all.find(KeyRole::galois(context->galois_element(1)), 0);
  EXPECT_EQ(all.memory_bytes(),
            all.public_key->poly.bytes() + relinearization->poly.bytes() + rotation->poly.bytes());
  EXPECT_LT(relinearization->security(), rotation->security());
  EXPECT_EQ(all.security(), relinearization->security());
  const EvaluationKeys alone = generate_keys(secret, {.relinearization = false});
  EXPECT_EQ(alone.memory_bytes(), alone.public_key->poly.bytes());
  EXPECT_EQ(alone.security(), alone.public_key->security());
  const EvaluationKeys low = generate_keys(
      secret, {.public_key = false, .relinearization = false, .rotations = {1}, .galois_level = 0});
  EXPECT_EQ(low.security(), low.find(KeyRole::galois(context->galois_element(1)), 0)->security());
  EXPECT_EQ(generate_keys(secret, {.public_key = false, .relinearization = false}).security(), std::nullopt);
}

// What keys are made of, the square and images of the secret, is zeroed before its memory serves again.
TEST_F(EvaluationKeysTest, LeaveNothingOfTheSecretInMemory) {
  if (tests::device().kind != runtime::Device::Kind::cpu) GTEST_SKIP() << "it looks into the host's memory";
  const poly::Backend& backend = context->backend();
  const poly::RnsBase& base = secret.poly.base();
  const std::uint64_t element = context->galois_element(1);
  const std::uint64_t inverse = arith::inverse(element, 2 * context->degree());
  const auto make = [&] { return context->make_poly(1, 1, base, poly::Form::evaluation); };
  poly::Poly square = make(), image = make();
  backend.multiply(context->queue(), square.view(), secret.poly.view(), secret.poly.view(), base);
  backend.automorphism(context->queue(), image.view(), secret.poly.view(), inverse, poly::Form::evaluation,
                       base);
  // Free blocks that begin as the polynomial does.
  const auto left_of = [&](const poly::Poly& poly) {
    std::vector<runtime::Buffer> blocks;
    int count = 0;
    for (int i = 0; i < 100; ++i) {
      const runtime::Buffer& block = blocks.emplace_back(context->memory(), poly.bytes());
      count += std::memcmp(block.data(), poly.view().data, 256) == 0 ? 1 : 0;
    }
    return count;
  };
  // Looked for at once: the next key may be made in the same block.
  static_cast<void>(generate_relinearization_key(secret, 1));
  EXPECT_EQ(left_of(square), 0);
  static_cast<void>(generate_galois_key(secret, element, 1));
  EXPECT_EQ(left_of(image), 0);
  // It would be found.
  {
    poly::Poly copy = make();
    backend.copy(context->queue(), copy.view(), std::as_const(square).view());
  }
  EXPECT_EQ(left_of(square), 1);
}

class KeyCopiesTest : public ::testing::Test {
 protected:
  static Parameters two_digits() { return parameters_with({.name = "", .digits = 2, .special_primes = 2}); }
  [[nodiscard]] KeyRole rotation(std::int64_t steps) const {
    return KeyRole::galois(context->galois_element(steps));
  }

  std::shared_ptr<const Context> context = tests::make_context(two_digits());
  std::shared_ptr<const Context> other = tests::make_context(two_digits());
  SecretKey secret = generate_secret_key(context);
  // Keys of rotations by 1 and 2; that by 1 for low levels as well.
  EvaluationKeys keys = [&] {
    EvaluationKeys made = generate_keys(secret, {.rotations = {1, 2}});
    made.merge(generate_keys(secret, {.rotations = {1}, .galois_level = 0}));
    return made;
  }();
};

TEST_F(KeyCopiesTest, AreMadeAtTheFirstUseAlone) {
  const EvaluationKeys copied = copied_on_use(other, keys);
  const std::size_t before = copied.public_key->poly.bytes();
  EXPECT_EQ(copied.memory_bytes(), before);
  EXPECT_EQ(copied.galois_elements(), keys.galois_elements());
  EXPECT_EQ(copied.security(), keys.security());
  EXPECT_TRUE(copied.has(rotation(2)) && !copied.has(rotation(3)));
  EXPECT_EQ(copied.find(rotation(3), 1), nullptr);
  EXPECT_EQ(copied.memory_bytes(), before);

  const auto source = keys.find(rotation(2), 1);
  const auto found = copied.find(rotation(2), 1);
  EXPECT_EQ(found->context, other);
  EXPECT_EQ(found->gadget, other->gadget(source->gadget->primes()));
  EXPECT_EQ(host_words(*other, found->poly), host_words(*context, source->poly));
  EXPECT_EQ(copied.find(rotation(2), source->gadget->primes()), found);
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes());
  // Copies by level and gadget, as of the keys themselves.
  const auto low = keys.find(rotation(1), 0), high = keys.find(rotation(1), 2);
  ASSERT_NE(low, high);
  EXPECT_EQ(host_words(*other, copied.find(rotation(1), 0)->poly), host_words(*context, low->poly));
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes() + low->poly.bytes());
  EXPECT_TRUE(copied.has(rotation(1), high->gadget->primes()));
  EXPECT_FALSE(copied.has(rotation(2), low->gadget->primes()));
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes() + low->poly.bytes());
}

// Copies of a set share the copied keys; the source's are kept.
TEST_F(KeyCopiesTest, AreOnesForAllThreadsAndOutliveTheSource) {
  auto copied = std::make_unique<EvaluationKeys>(copied_on_use(other, keys));
  const EvaluationKeys again = *copied;
  const auto expected = host_words(*context, keys.find(KeyRole::relinearization(), 2)->poly);
  keys = {};
  context.reset();
  secret = {};
  std::vector<std::shared_ptr<const SwitchingKey>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back(
        [&, i] { found[i] = (i % 2 == 0 ? again : *copied).find(KeyRole::relinearization(), 2); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : found) EXPECT_EQ(each, found.front());
  copied.reset();
  EXPECT_EQ(host_words(*other, again.find(KeyRole::relinearization(), 2)->poly), expected);
}

TEST_F(KeyCopiesTest, AreKeysOfTheirContextInUnionsAndOnTheWayOn) {
  const SecretKey there = copy_to(other, secret);
  const EvaluationKeys own = generate_keys(there, {.public_key = false, .rotations = {2, 3}});
  EvaluationKeys first = own, second = copied_on_use(other, keys);
  first.merge(second);
  second.merge(own);
  // The one that was there stays.
  EXPECT_EQ(first.find(rotation(2), 2), own.find(rotation(2), 2));
  EXPECT_NE(second.find(rotation(2), 2), own.find(rotation(2), 2));
  for (const EvaluationKeys* set : {&first, &second}) {
    for (const std::int64_t steps : {1, 2, 3}) EXPECT_EQ(set->find(rotation(steps), 2)->context, other);
    EXPECT_EQ(set->find(rotation(3), 2), own.find(rotation(3), 2));
  }
  // To a third context, and back home.
  for (const auto& target : {tests::make_context(two_digits()), context}) {
    for (const EvaluationKeys& moved : {copy_to(target, second), copied_on_use(target, second)}) {
      const auto found = moved.find(rotation(2), 2);
      EXPECT_EQ(found->context, target);
      EXPECT_EQ(host_words(*target, found->poly), host_words(*context, keys.find(rotation(2), 2)->poly));
    }
  }
  // Keys that are at home are not copied.
  EXPECT_EQ(copied_on_use(context, second).find(rotation(1), 2), keys.find(rotation(1), 2));
  const auto elsewhere = tests::make_context(parameters_with({.name = "", .digits = 4}));
  EXPECT_THROW(static_cast<void>(copied_on_use(elsewhere, keys)), MismatchError);
}

class KeySwitchingGadget : public ::testing::TestWithParam<GadgetCase> {};

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

INSTANTIATE_TEST_SUITE_P(Gadgets, KeySwitchingGadget, ::testing::ValuesIn(gadgets()),
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
