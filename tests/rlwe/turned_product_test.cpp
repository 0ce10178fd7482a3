// Products of ciphertexts and their images, beside products of their phases.
#include "hemera/rlwe/turned_product.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

class TurnedProduct : public testing::TestWithParam<GadgetCase> {
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

INSTANTIATE_TEST_SUITE_P(Gadgets, TurnedProduct, testing::ValuesIn(gadgets()),
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
    static_cast<void>(multiply_turned(context_, y.poly.view(), y.meta, 5, keys));
  };
  EXPECT_THROW(multiplied(x, {&galois, &low_product}), LevelError);
  EXPECT_THROW(multiplied(uniform(0), {&galois, &low_product}), MismatchError);
  const auto other = tests::make_context(parameters_with(GetParam()));
  EXPECT_THROW(static_cast<void>(multiply_turned(other, x.poly.view(), x.meta, 5, {&galois, &product})),
               MismatchError);
}

}  // namespace
}  // namespace hemera::rlwe
