// Rotations and key-switching in parts: the keys that they take, the bits of whole switches, and products of
// ciphertexts and their images.
#include "hemera/rlwe/hoisting.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/turned_product.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using Steps = std::vector<std::int64_t>;

class Hoisting : public ::testing::TestWithParam<GadgetCase> {
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

INSTANTIATE_TEST_SUITE_P(Gadgets, Hoisting, ::testing::ValuesIn(gadgets()),
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

class TurnedProduct : public ::testing::TestWithParam<GadgetCase> {
 protected:
  void SetUp() override {
    context_ = tests::make_context(parameters_with(GetParam()));
    secret_ = generate_secret_key(context_);
  }

  // A batch of two, with phases that are uniform modulo Q.
  [[nodiscard]] Ciphertext uniform(std::size_t level) const {
    Metadata meta;
    meta.level = level;
    meta.batch = {2};
    meta.slots = 1;
    Ciphertext x = encrypt_zero(secret_, meta);
    poly::Poly drawn = context_->make_poly(2, 1, x.poly.base(), Form::evaluation);
    auto workspace = context_->make_workspace();
    context_->backend().sample(context_->queue(), drawn.view(), {poly::Seed::fresh(), 0},
                               poly::Distribution::uniform(), x.poly.base(), workspace);
    const poly::PolyView first = x.poly.view().components(0, 1);
    context_->backend().add(context_->queue(), first, first, std::as_const(drawn).view(), x.poly.base());
    return x;
  }
  // The phase, [2, 1], in evaluation form.
  [[nodiscard]] poly::Poly phase(const Ciphertext& x) const {
    poly::Poly result = decrypt_phase(x, secret_);
    context_->backend().forward_transform(context_->queue(), result.view(), result.view(), result.base());
    result.set_form(Form::evaluation);
    return result;
  }
  // log2 of the largest coefficient of phase(found) - phase(x) phi(phase(x)).
  [[nodiscard]] double error_log2(const Ciphertext& found, const Ciphertext& x, std::uint64_t element) const {
    const poly::Backend& backend = context_->backend();
    runtime::Queue& queue = context_->queue();
    const poly::RnsBase base = x.poly.base();
    const poly::Poly plain = phase(x), result = phase(found);
    poly::Poly image = context_->make_poly(2, 1, base, Form::evaluation);
    backend.automorphism(queue, image.view(), plain.view(), element, Form::evaluation, base);
    backend.multiply(queue, image.view(), std::as_const(image).view(), plain.view(), base);
    backend.subtract(queue, image.view(), result.view(), std::as_const(image).view(), base);
    backend.inverse_transform(queue, image.view(), image.view(), base);
    image.set_form(Form::coefficient);
    return largest_coefficient_log2(*context_, image);
  }

  std::shared_ptr<const Context> context_;
  SecretKey secret_;
};

INSTANTIATE_TEST_SUITE_P(Gadgets, TurnedProduct, ::testing::ValuesIn(gadgets()),
                         [](const auto& gadget) { return gadget.param.name; });

TEST_P(TurnedProduct, HasTheProductOfThePhaseAndItsImage) {
  const auto gadget = context_->gadget(context_->top_level());
  for (const std::uint64_t element :
       {context_->galois_element(1), context_->galois_element(5), context_->conjugation_element()}) {
    const SwitchingKey galois = generate_galois_key(secret_, element, gadget);
    const SwitchingKey product = KeyMaker(secret_, KeyRole::turned_product(element), gadget).key();
    for (std::size_t level = 0; level <= context_->top_level(); ++level) {
      SCOPED_TRACE(std::to_string(element) + " at level " + std::to_string(level));
      const Ciphertext x = uniform(level);
      const ExtendedCiphertext extended =
          multiply_turned(context_, x.poly.view(), x.meta, element, {&galois, &product});
      EXPECT_EQ(extended.meta.level, level);
      if (GetParam().scheme == Scheme::bgv) {
        EXPECT_GT(extended.meta.noise_log2, x.meta.noise_log2);
      }
      // Two switches' errors, and one division's rounding.
      const double bound = add_log2(switching_noise_log2(*context_, *gadget, level),
                                    switching_noise_log2(*context_, *gadget, level));
      EXPECT_LE(error_log2(mod_down(extended), x, element), bound);
    }
  }
}

// The element 1 makes a square, whose keys lead from s and s^2 to s.
TEST_P(TurnedProduct, OfNoTurnIsASquare) {
  const auto gadget = context_->gadget(context_->top_level());
  const SwitchingKey galois = generate_galois_key(secret_, 1, gadget);
  const SwitchingKey product = KeyMaker(secret_, KeyRole::turned_product(1), gadget).key();
  const Ciphertext x = uniform(context_->top_level());
  const Ciphertext found = mod_down(multiply_turned(context_, x.poly.view(), x.meta, 1, {&galois, &product}));
  EXPECT_LE(error_log2(found, x, 1), 1 + switching_noise_log2(*context_, *gadget, x.meta.level));
}

TEST_P(TurnedProduct, MistakesAreNamed) {
  const auto gadget = context_->gadget(context_->top_level()), low = context_->gadget(0);
  EXPECT_THROW(static_cast<void>(KeyMaker(secret_, KeyRole::turned_product(4), gadget).key()),
               ParameterError);
  EXPECT_THROW(
      static_cast<void>(KeyMaker(secret_, KeyRole::turned_product(2 * context_->degree() + 1), gadget).key()),
      ParameterError);
  const SwitchingKey galois = generate_galois_key(secret_, 5, gadget);
  const SwitchingKey product = KeyMaker(secret_, KeyRole::turned_product(5), gadget).key();
  const SwitchingKey low_product = KeyMaker(secret_, KeyRole::turned_product(5), low).key();
  const Ciphertext x = uniform(context_->top_level());
  const auto multiplied = [&](const Ciphertext& y, const TurnedProductKeys& keys) {
    return multiply_turned(context_, y.poly.view(), y.meta, 5, keys);
  };
  EXPECT_THROW(multiplied(x, {&galois, &low_product}), LevelError);
  EXPECT_THROW(multiplied(uniform(0), {&galois, &low_product}), MismatchError);
  const auto other = tests::make_context(parameters_with(GetParam()));
  EXPECT_THROW(static_cast<void>(multiply_turned(other, x.poly.view(), x.meta, 5, {&galois, &product})),
               MismatchError);
}

TEST(RotationsNeeded, AreTheFewestSignedPowersOfTwo) {
  EXPECT_EQ(rotations_needed(Steps{1}, 1024), (Steps{1}));
  EXPECT_EQ(rotations_needed(Steps{3}, 1024), (Steps{-1, 4}));
  EXPECT_EQ(rotations_needed(Steps{7}, 1024), (Steps{-1, 8}));
  EXPECT_EQ(rotations_needed(Steps{-1}, 1024), (Steps{-1}));
  EXPECT_EQ(rotations_needed(Steps{1023}, 1024), (Steps{-1}));
  EXPECT_EQ(rotations_needed(Steps{0, 1024}, 1024), Steps{});
  EXPECT_EQ(rotations_needed(Steps{3, 5}, 1024), (Steps{-1, 1, 4}));
  EXPECT_THROW(static_cast<void>(rotations_needed(Steps{1}, 100)), ParameterError);
}

TEST(RotationsNeeded, SumUpToTheRotationModuloThePeriod) {
  constexpr std::int64_t period = 256;
  for (std::int64_t step = -300; step < 300; ++step) {
    const Steps needed = rotations_needed(Steps{step}, period);
    std::int64_t sum = 0;
    for (const std::int64_t part : needed) sum += part;
    EXPECT_EQ(((sum - step) % period + period) % period, 0) << step;
    EXPECT_LE(needed.size(), 4U) << step;  // at most half of the bits, in non-adjacent form
  }
}

}  // namespace
}  // namespace hemera::rlwe
