// Key-switching in parts has the bits of whole switches.
#include "hemera/rlwe/hoisting.hpp"

#include <gtest/gtest.h>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

class Hoisting : public testing::TestWithParam<GadgetCase> {
 protected:
  void SetUp() override {
    context_ = tests::make_context(parameters_with(GetParam()));
    secret_ = generate_secret_key(context_);
  }

  [[nodiscard]] Ciphertext encrypted(std::size_t level) const {
    Metadata meta;
    meta.level = level;
    meta.batch = {2};
    meta.slots = 1;
    return encrypt_zero(secret_, meta);
  }
  void expect_equal(const Ciphertext& a, const Ciphertext& b) const {
    EXPECT_EQ(a.meta.level, b.meta.level);
    EXPECT_EQ(host_words(*context_, a.poly), host_words(*context_, b.poly));
  }

  std::shared_ptr<const Context> context_;
  SecretKey secret_;
};

INSTANTIATE_TEST_SUITE_P(Gadgets, Hoisting, testing::ValuesIn(gadgets()),
                         [](const auto& gadget) { return gadget.param.name; });

TEST_P(Hoisting, PartsGiveTheBitsOfWholeSwitches) {
  const auto gadget = context_->gadget(context_->top_level());
  for (std::size_t level = 0; level <= context_->top_level(); ++level) {
    const Ciphertext x = encrypted(level);
    const Digits digits = decompose(x, gadget);
    for (const std::int64_t steps : {0, 1, 5}) {
      const std::uint64_t element = context_->galois_element(steps);
      const SwitchingKey key = generate_galois_key(secret_, element, gadget);
      expect_equal(mod_down(switch_extended(digits, key, element)), apply_galois(x, element, key));
    }
  }
}

TEST_P(Hoisting, ExtendedCiphertextsComeDownAsTheyWere) {
  const auto gadget = context_->gadget(context_->top_level());
  const Ciphertext x = encrypted(context_->top_level());
  const ExtendedCiphertext extended = extend(x, gadget);
  expect_equal(mod_down(extended), x);
  // Twice x, and a rotation of what is already extended: with P x in place of digits, the same bits.
  ExtendedCiphertext sum = extend(x, gadget);
  add_inplace(sum, extended);
  const Ciphertext twice = mod_down(sum);
  poly::Poly doubled = context_->make_poly(2, 2, x.poly.base(), poly::Form::evaluation);
  context_->backend().add(context_->queue(), doubled.view(), x.poly.view(), x.poly.view(), x.poly.base());
  EXPECT_EQ(host_words(*context_, twice.poly), host_words(*context_, doubled));
  const std::uint64_t element = context_->galois_element(3);
  const SwitchingKey key = generate_galois_key(secret_, element, gadget);
  expect_equal(mod_down(switch_extended(extended, key, element)), apply_galois(x, element, key));
}

TEST_P(Hoisting, SumsWithTurnedOnesAreThoseOfTheParts) {
  const auto gadget = context_->gadget(context_->top_level());
  for (std::size_t level = 0; level <= context_->top_level(); ++level) {
    const ExtendedCiphertext x = extend(encrypted(level), gadget);
    const std::uint64_t element = context_->galois_element(3);
    const SwitchingKey key = generate_galois_key(secret_, element, gadget);
    ExtendedCiphertext expected = switch_extended(x, key, element);
    add_inplace(expected, x);
    std::vector<Turn> turns = {{}, {.key = &key, .galois_element = element}};
    const ExtendedCiphertext sum = turned_sum(x, turns);
    EXPECT_EQ(host_words(*context_, sum.poly), host_words(*context_, expected.poly));
    EXPECT_DOUBLE_EQ(sum.meta.noise_log2, expected.meta.noise_log2);
    // Turns of a ciphertext, by several keys.
    const std::uint64_t other = context_->galois_element(5);
    const SwitchingKey other_key = generate_galois_key(secret_, other, gadget);
    turns.push_back({.key = &other_key, .galois_element = other});
    add_inplace(expected, switch_extended(x, other_key, other));
    const ExtendedCiphertext three = turned_sum(mod_down(x), gadget, turns);
    EXPECT_EQ(host_words(*context_, three.poly), host_words(*context_, expected.poly));
    EXPECT_DOUBLE_EQ(three.meta.noise_log2, expected.meta.noise_log2);
    // Each of the turns by itself.
    const ExtendedSums each = turned_each(mod_down(x), gadget, turns);
    ASSERT_EQ(each.meta.size(), 3);
    const ExtendedCiphertext own[] = {extend(mod_down(x), gadget), switch_extended(x, key, element),
                                      switch_extended(x, other_key, other)};
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(host_words(*context_, sum_at(each, i).poly), host_words(*context_, own[i].poly)) << i;
      EXPECT_DOUBLE_EQ(each.meta[i].noise_log2, own[i].meta.noise_log2);
    }
  }
}

// A chain of rotations by one key, and Horner's rule: the bits of steps that are taken one by one.
TEST_P(Hoisting, ChainsHaveTheBitsOfTheirSteps) {
  const auto gadget = context_->gadget(context_->top_level());
  for (std::size_t level = 0; level <= context_->top_level(); ++level) {
    const std::uint64_t element = context_->galois_element(3);
    const SwitchingKey key = generate_galois_key(secret_, element, gadget);
    const Turn turn{.key = &key, .galois_element = element};
    const Ciphertext x = encrypted(level);
    ExtendedCiphertext expected = switch_extended(decompose(x, gadget), key, element);
    ExtendedCiphertext found = turned_sum(split(x, gadget), std::span(&turn, 1));
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_EQ(host_words(*context_, found.poly), host_words(*context_, expected.poly)) << step;
      EXPECT_DOUBLE_EQ(found.meta.noise_log2, expected.meta.noise_log2);
      expected = switch_extended(expected, key, element);
      found = turned_sum(split(std::move(found)), std::span(&turn, 1));
    }
    // Both elements of a batch of two are added to what is turned.
    ExtendedSums sums{context_, gadget, {x.meta, x.meta}, {}};
    sums.poly = context_->make_poly(4, 2, found.poly.base(), poly::Form::evaluation);
    const ExtendedCiphertext other = extend(encrypted(level), gadget);
    for (const std::size_t first : {0, 2}) {
      context_->backend().copy(context_->queue(), sums.poly.view().batches(first, 2),
                               first == 0 ? std::as_const(found.poly).view() : other.poly.view());
    }
    ExtendedCiphertext onto = switch_extended(found, key, element);
    add_inplace(onto, other);
    const ExtendedCiphertext turned = turned_onto(sums, 1, found, key, element);
    EXPECT_EQ(host_words(*context_, turned.poly), host_words(*context_, onto.poly));
    EXPECT_THROW(static_cast<void>(turned_onto(sums, 2, found, key, element)), MismatchError);
  }
}

// Whichever of both is the noisier one.
TEST_P(Hoisting, SumsHaveTheNoiseOfBoth) {
  const auto gadget = context_->gadget(context_->top_level());
  const Ciphertext x = encrypted(context_->top_level());
  const double quiet = x.meta.noise_log2, loud = quiet + 20;
  for (const auto& [first, second] : {std::pair{quiet, loud}, {loud, quiet}, {quiet, quiet}}) {
    ExtendedCiphertext a = extend(x, gadget), b = extend(x, gadget);
    a.meta.noise_log2 = first;
    b.meta.noise_log2 = second;
    add_inplace(a, b);
    EXPECT_DOUBLE_EQ(a.meta.noise_log2, sum_noise_log2(*context_, first, second));
  }
}

// One division by P and the dropped prime: as close to the quotient as two, or closer.
TEST_P(Hoisting, ModDownMayRescaleInTheSameDivision) {
  if (GetParam().scheme == Scheme::bgv) return;  // an encryption of zero stays one; CKKS shows the size
  const auto gadget = context_->gadget(context_->top_level());
  const std::size_t level = context_->top_level();
  const Ciphertext x = encrypted(level);
  const std::uint64_t element = context_->galois_element(1);
  const SwitchingKey key = generate_galois_key(secret_, element, gadget);
  const Ciphertext one = mod_down_rescaled(switch_extended(decompose(x, gadget), key, element));
  EXPECT_EQ(one.meta.level, level - 1);
  EXPECT_DOUBLE_EQ(one.meta.scale, x.meta.scale / context_->chain().ratio(level));
  const double before = add_log2(fresh_noise_log2(*context_, false), switching_noise_log2(*context_, level));
  const double bound =
      add_log2(before - std::log2(context_->chain().ratio(level)),
               rounding_noise_log2(context_->degree(), context_->parameters().literal().secret, 2, 0.5));
  EXPECT_LE(largest_coefficient_log2(*context_, decrypt_phase(one, secret_)), bound);
}

TEST_P(Hoisting, MistakesAreNamed) {
  const auto gadget = context_->gadget(context_->top_level());
  const Ciphertext x = encrypted(context_->top_level());
  const auto low = context_->gadget(0);
  EXPECT_THROW(static_cast<void>(decompose(x, low)), LevelError);
  EXPECT_THROW(static_cast<void>(decompose(Ciphertext{}, gadget)), MismatchError);
  const SwitchingKey key = generate_galois_key(secret_, 5, low);
  EXPECT_THROW(static_cast<void>(switch_extended(decompose(x, gadget), key, 5)), MismatchError);
  const Turn turn{.key = &key, .galois_element = 5};
  EXPECT_THROW(static_cast<void>(turned_sum(extend(x, gadget), std::span(&turn, 1))), MismatchError);
  EXPECT_THROW(static_cast<void>(turned_sum(x, gadget, std::span(&turn, 1))), MismatchError);
  EXPECT_THROW(static_cast<void>(turned_sum(x, gadget, {})), MismatchError);
  EXPECT_THROW(static_cast<void>(turned_each(x, gadget, std::span(&turn, 1))), MismatchError);
  EXPECT_THROW(static_cast<void>(turned_each(x, gadget, {})), MismatchError);
  ExtendedCiphertext sum = extend(x, gadget);
  const ExtendedCiphertext lower = extend(encrypted(0), gadget);
  EXPECT_THROW(add_inplace(sum, lower), MismatchError);
}

}  // namespace
}  // namespace hemera::rlwe
