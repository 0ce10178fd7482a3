// A gadget for each key: bases, special primes and digits of single keys, and how keys are found.
#include "hemera/rlwe/gadget.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "child_process.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;
using SharedKey = std::shared_ptr<const SwitchingKey>;

// Three levels of 45-bit primes, two in the last one, one special prime, one more prime for keys.
Parameters parameters_with_key_prime() {
  ParametersLiteral literal = parameters_with(gadgets()[2]).literal();
  literal.key_primes = {arith::primes_below(std::uint64_t{1} << 50, 2 * literal.degree, 2)[1]};
  literal.roots.clear();
  return Parameters(literal);
}

struct KeyGadgets : ::testing::Test {
  std::shared_ptr<const Context> context = tests::make_context(parameters_with_key_prime());
  SecretKey secret = generate_secret_key(context);
  const Primes top = context->parameters().literal().levels.back();
  const Primes low = context->parameters().literal().levels.front();
  const Primes special = context->parameters().literal().special_primes;
  const Primes extra = context->parameters().literal().key_primes;
  const std::uint64_t element = context->galois_element(1);

  [[nodiscard]] Ciphertext encrypted(std::size_t level) const {
    Metadata meta;
    meta.level = level;
    meta.slots = 1;
    return encrypt_zero(secret, meta);
  }
  // The noise of a switch with a key of this gadget is below its bound, and near it.
  void expect_noise(const std::shared_ptr<const Gadget>& gadget, std::size_t level) const {
    const SwitchingKey key = generate_galois_key(secret, element, gadget);
    EXPECT_EQ(key.poly.shape().limbs, gadget->modulus().size());
    const double bound =
        add_log2(fresh_noise_log2(*context, false), switching_noise_log2(*context, *gadget, level));
    const Ciphertext rotated = apply_galois(encrypted(level), element, key);
    const double noise = largest_coefficient_log2(*context, decrypt_phase(rotated, secret));
    EXPECT_LE(noise, bound);
    EXPECT_GE(noise, bound - 8);
  }
};

TEST_F(KeyGadgets, ADigitIsTheSameWheneverItIsMade) {
  const KeyMaker maker(secret, KeyRole::galois(element), context->gadget(context->top_level()));
  ASSERT_GE(maker.digits(), 3U);
  const SwitchingKey whole = maker.key();
  poly::Poly two = context->make_poly(2, 2, maker.gadget()->modulus(), poly::Form::evaluation);
  maker.make(two.view(), 1);
  const auto words = [&](const poly::ConstPolyView& digits) {
    std::vector<std::uint64_t> values(digits.shape.words());
    context->backend().download(context->queue(), values, digits, poly::Form::evaluation);
    return values;
  };
  EXPECT_EQ(words(std::as_const(two).view()), words(whole.poly.view().batches(1, 2)));
}

TEST_F(KeyGadgets, AKeyOfALowLevelHasMoreSpecialPrimesAndFewerDigits) {
  // Primes of higher levels, the special one and the key prime: one digit of two primes.
  const auto one_digit =
      context->gadget({.base = low, .special = {top[2], top[3], special[0]}, .digits = {low}});
  EXPECT_EQ(one_digit->highest_level(), 0U);
  expect_noise(one_digit, 0);
  // It holds no limb that it does not use, and one of the default gadget's two digits.
  EXPECT_EQ(one_digit->modulus().size(), 5U);
  EXPECT_LT(one_digit->digits().size(), context->gadget(0)->digits().size());
  // A prime that is special for that key is in the base of this one.
  const auto wide =
      context->gadget({.base = top, .special = extra, .digits = {{top[0]}, {top[1]}, {top[2]}, {top[3]}}});
  expect_noise(wide, 2);
  expect_noise(wide, 1);
  EXPECT_THROW(
      static_cast<void>(apply_galois(encrypted(1), element, generate_galois_key(secret, element, one_digit))),
      LevelError);
}

TEST_F(KeyGadgets, AKeyIsFoundByItsRoleAndTheLevelThatItServes) {
  const auto narrow = context->gadget({.base = low, .special = {top[2], top[3]}, .digits = {low}});
  const auto shared = [&](const std::shared_ptr<const Gadget>& gadget) {
    return std::make_shared<const SwitchingKey>(generate_galois_key(secret, element, gadget));
  };
  const SharedKey of_low = shared(narrow);
  const SharedKey of_top = shared(context->gadget(2));
  EvaluationKeys keys;
  keys.context = context;
  const KeyRole role = KeyRole::galois(element);
  EXPECT_EQ(keys.find(role, 0), nullptr);
  keys.add(role, of_low);
  EXPECT_EQ(keys.find(role, 2), nullptr);
  keys.add(role, of_top);
  EXPECT_EQ(keys.find(role, 2), of_top);
  EXPECT_EQ(keys.find(role, 0), of_low);  // the cheaper one
  EXPECT_EQ(keys.find(KeyRole::galois(25), 0), nullptr);
  EXPECT_EQ(keys.galois_elements(), std::vector<std::uint64_t>{element});
  EXPECT_EQ(keys.memory_bytes(), of_low->poly.bytes() + of_top->poly.bytes());
  EvaluationKeys other;
  other.context = context;
  const SharedKey again = shared(narrow);
  other.add(role, again);
  other.add(KeyRole::relinearization(),
            std::make_shared<const SwitchingKey>(generate_relinearization_key(secret, 2)));
  keys.merge(other);
  EXPECT_EQ(keys.find(role, 0), of_low);  // what was there stays
  EXPECT_TRUE(keys.has(KeyRole::relinearization()));
}

TEST_F(KeyGadgets, EqualGadgetsAreOneObject) {
  const GadgetPrimes primes{.base = low, .special = special, .digits = {{low[0]}, {low[1]}}};
  const auto first = context->gadget(primes);
  EXPECT_EQ(context->gadget(primes), first);
  EXPECT_EQ(context->gadget(0), first);  // the default one of level 0 has the same primes
  EXPECT_EQ(&first->mod_up(0), &context->gadget(primes)->mod_up(0));
}

TEST_F(KeyGadgets, MistakesAreNamed) {
  const auto make = [&](const GadgetPrimes& primes) { return context->gadget(primes); };
  EXPECT_THROW(make({.base = low, .special = {low[0]}, .digits = {low}}), ParameterError);
  EXPECT_THROW(make({.base = low, .special = special, .digits = {{low[0]}}}), ParameterError);
  EXPECT_THROW(make({.base = {low[0]}, .special = special, .digits = {{low[0]}}}), ParameterError);
  EXPECT_THROW(make({.base = low, .special = {12289}, .digits = {low}}), ParameterError);
  EXPECT_THROW(make({.base = low, .special = special, .digits = {low}, .window_bits = 10}), ParameterError);
  EXPECT_THROW(static_cast<void>(context->gadget(3)), LevelError);
  EXPECT_THROW(static_cast<void>(context->gadget(2)->mod_down(0, 1)), LevelError);
}

// Security holds for each key: log2 of its base times its special primes.
TEST(KeySecurity, IsThatOfEachKeysModulus) {
  constexpr std::size_t degree = 4096;  // 106 bits for 128 of security
  const auto primes = arith::primes_below(std::uint64_t{1} << 26, 2 * degree, 6);
  ParametersLiteral literal;
  literal.scheme = Scheme::ckks;
  literal.degree = degree;
  literal.scale = 0x1p20;
  literal.levels = {{primes[0]}, {primes[0], primes[1]}, {primes[0], primes[1], primes[2]}};
  literal.special_primes = {primes[3]};
  literal.key_primes = {primes[4]};
  const Parameters parameters(literal);
  EXPECT_EQ(parameters.security(), Security::at_least_128);
  const GadgetPrimes wide{
      .base = literal.levels[2], .special = {primes[3], primes[4]}, .digits = {literal.levels[2]}};
  EXPECT_LT(parameters.security(wide), Security::at_least_128);
  const GadgetPrimes low{.base = {primes[0]}, .special = {primes[1], primes[4]}, .digits = {{primes[0]}}};
  EXPECT_GE(parameters.security(low), Security::at_least_128);
  const auto context = tests::make_context(parameters);
  const SecretKey secret = generate_secret_key(context);
  EXPECT_LT(generate_galois_key(secret, 5, context->gadget(wide)).security(), Security::at_least_128);
  EXPECT_GE(generate_public_key(secret).security(), Security::at_least_128);
}

// A secret of weight 32 exists within the call alone: one key leads to it, the other back.
TEST_F(KeyGadgets, EncapsulationLeadsToAnEphemeralSecretAndBack) {
  ParametersLiteral literal = parameters_with_key_prime().literal();
  literal.levels.insert(literal.levels.begin(), {literal.levels[0][0]});
  const auto deep = tests::make_context(Parameters(literal));
  const SecretKey main = generate_secret_key(deep);
  const Primes& base = literal.levels.back();
  const auto narrow = deep->gadget({.base = {base[0]}, .special = special, .digits = {{base[0]}}});
  const auto wide = deep->gadget(deep->top_level());
  const EncapsulationKeys keys = generate_encapsulation_keys(main, 32, narrow, wide);
  Metadata meta;
  meta.slots = 1;
  const Ciphertext x = encrypt_zero(main, meta);
  const Ciphertext hidden = reencrypt(x, *keys.to_ephemeral);
  // Under the main secret it is noise; back again it decrypts.
  EXPECT_GE(largest_coefficient_log2(*deep, decrypt_phase(hidden, main)), deep->base(0).log2() - 8);
  const Ciphertext back = reencrypt(hidden, *keys.from_ephemeral);
  EXPECT_LE(largest_coefficient_log2(*deep, decrypt_phase(back, main)), 16);

  EXPECT_THROW(static_cast<void>(generate_encapsulation_keys(main, 32, wide, wide)), ParameterError);
  EXPECT_THROW(static_cast<void>(generate_encapsulation_keys(main, 0, narrow, wide)), ParameterError);
  // Every prime more makes the modulus of the ephemeral secret longer: also one that is special.
  const auto longer =
      deep->gadget({.base = {base[0]}, .special = {special[0], base[1]}, .digits = {{base[0]}}});
  EXPECT_THROW(static_cast<void>(generate_encapsulation_keys(main, 32, longer, wide)), ParameterError);
}

TEST(Encapsulation, RolesHaveTheWeight) {
  EXPECT_EQ(ephemeral_secret_of(32), ephemeral_secret);  // as in older files
  for (const std::size_t weight : {1U, 31U, 32U, 33U, 128U, 1024U}) {
    const std::uint32_t number = ephemeral_secret_of(weight);
    EXPECT_EQ(ephemeral_weight_of(number), weight);
    EXPECT_FALSE(part_of({.from = number}) || to_block_of({.to = number}) || block_of({.from = number}));
  }
  EXPECT_THROW(static_cast<void>(ephemeral_secret_of(0)), ParameterError);
  EXPECT_THROW(static_cast<void>(ephemeral_secret_of(1025)), ParameterError);
  for (const std::uint32_t other :
       {std::uint32_t{0}, circuit_secret, part_role({.parts = 2, .index = 1}).from, first_ephemeral_secret,
        first_ephemeral_secret + 1025, first_block_secret}) {
    EXPECT_EQ(ephemeral_weight_of(other), std::nullopt);
  }
}

// The narrow key is judged by its own modulus, 95 bits here, and by the ephemeral secret's weight.
TEST(Encapsulation, InsistsOnTheSecurityOfTheParameters) {
  const auto make = [](std::size_t degree, std::size_t weight) {
    const auto primes = arith::primes_below(std::uint64_t{1} << 47, 2 * degree, 2);
    const auto special = arith::primes_below(std::uint64_t{1} << 48, 2 * degree, 1);
    ParametersLiteral literal;
    literal.scheme = Scheme::ckks;
    literal.degree = degree;
    literal.scale = 0x1p40;
    literal.levels = {{primes[0]}, primes};
    literal.special_primes = special;
    literal.security = 128;
    const auto context = tests::make_context(Parameters(literal));
    const auto narrow = context->gadget({.base = {primes[0]}, .special = special, .digits = {{primes[0]}}});
    EXPECT_NEAR(narrow->log_modulus(), 95, 0.01);
    return generate_encapsulation_keys(generate_secret_key(context), weight, narrow, context->gadget(1));
  };
  const EncapsulationKeys keys = make(65536, 32);
  EXPECT_TRUE(keys.to_ephemeral && keys.from_ephemeral);
  EXPECT_THROW(static_cast<void>(make(65536, 31)), SecurityError);
  EXPECT_THROW(static_cast<void>(make(8192, 32)), SecurityError);
}

// A public key over primes of its own, and Gaussian secrets: as other libraries have them.
TEST_F(KeyGadgets, PublicKeysHaveBasesOfTheirOwn) {
  const auto shared_base = [&](const Primes& primes) {
    std::vector<std::uint32_t> indices;
    for (const std::uint64_t prime : primes) indices.push_back(context->key_base().ring()->index_of(prime));
    return poly::RnsBase(context->key_base().ring(), indices);
  };
  const PublicKey usual = generate_public_key(secret);
  for (const bool with_special : {false, true}) {
    Primes primes = low;
    if (with_special) primes.push_back(special[0]);
    // The usual key without the limbs that this one lacks is an encryption of zero, too.
    PublicKey key{context, context->make_poly(1, 2, shared_base(primes), poly::Form::evaluation), {}};
    for (std::size_t i = 0; i < primes.size(); ++i) {
      const std::size_t from = usual.poly.base().position(key.poly.base().index(i));
      context->backend().copy(context->queue(), key.poly.view().limbs(i, 1),
                              usual.poly.view().limbs(from, 1));
    }
    Metadata meta;
    meta.slots = 1;
    const Ciphertext x = encrypt_zero(key, meta);
    const double noise = largest_coefficient_log2(*context, decrypt_phase(x, secret));
    EXPECT_LE(noise, x.meta.noise_log2);
    EXPECT_GE(noise, x.meta.noise_log2 - 8);
    EXPECT_EQ(context->encryption_division(0, key.poly.base()) == nullptr, !with_special);
    meta.level = 2;
    EXPECT_THROW(static_cast<void>(encrypt_zero(key, meta)), LevelError);
  }
}

TEST(GaussianSecrets, DecryptAndStayWithinTheirBounds) {
  ParametersLiteral literal = parameters_with(gadgets()[1]).literal();
  literal.secret.deviation = 3.19;
  const auto context = tests::make_context(Parameters(literal));
  const SecretKey secret = generate_secret_key(context);
  poly::Poly coefficients = context->make_poly(1, 1, context->key_base(), poly::Form::coefficient);
  context->backend().inverse_transform(context->queue(), coefficients.view(), secret.poly.view(),
                                       context->key_base());
  const auto words = host_words(*context, coefficients);
  double squares = 0;
  for (std::size_t i = 0; i < context->degree(); ++i) {
    const double value = std::min(static_cast<double>(words[i]),
                                  static_cast<double>(context->key_base().modulus(0).value() - words[i]));
    squares += value * value;
  }
  const auto degree = static_cast<double>(context->degree());
  EXPECT_NEAR(std::sqrt(squares / degree), 3.19, 0.4);
  EXPECT_LE(0.5 * std::log2(squares), secret_norm_log2(context->degree(), literal.secret));
  Metadata meta;
  meta.level = context->top_level();
  meta.slots = 1;
  const Ciphertext x = encrypt_zero(generate_public_key(secret), meta);
  EXPECT_LE(largest_coefficient_log2(*context, decrypt_phase(x, secret)), x.meta.noise_log2);
}

// A thread that makes plans, and so holds the gadgets' mutexes, while its process forks.
TEST_F(KeyGadgets, AForkedChildMakesPlansWhileItsParentsThreadsDo) {
  if (tests::sanitized) GTEST_SKIP() << "sanitizers do not follow threads into children";
  const poly::ModulusChain& chain = context->chain();
  const GadgetPrimes primes{.base = top, .special = special, .digits = consecutive_digits(top, {})};
  std::mutex current_mutex;
  auto current = std::make_shared<const Gadget>(chain, primes, poly::RnsBase{});
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      auto gadget = std::make_shared<const Gadget>(chain, primes, poly::RnsBase{});
      {
        const std::lock_guard lock(current_mutex);
        current = gadget;
      }
      for (std::size_t level = 0; level < chain.levels(); ++level) static_cast<void>(gadget->mod_up(level));
    }
  });
  for (int round = 0; round < 30; ++round) {
    std::shared_ptr<const Gadget> gadget;
    {
      const std::lock_guard lock(current_mutex);
      gadget = current;
    }
    EXPECT_TRUE(tests::in_child([&] {
      ::alarm(5);
      return gadget->mod_up(0).digits().size() == low.size();
    })) << round;
    if (HasFailure()) break;
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace hemera::rlwe
