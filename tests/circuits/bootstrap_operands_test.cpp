// Bootstraps of ciphertexts that differ in a field from their plan.
#include <gtest/gtest.h>

#include <cmath>

#include "circuits/function_support.hpp"
#include "circuits/operands_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::operands {
namespace {

TEST(CircuitOperands, OfBootstraps) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(own, {.slots = slots});
  const ckks::Session client(own);
  rlwe::EvaluationKeys keys = client.keys;
  keys.merge(plan.generate_keys(client.secret));
  const ckks::Evaluator evaluator(client.context, keys);
  const PreparedBootstrap prepared(client.context, plan);
  const std::size_t low = plan.input_level();
  const auto encrypt = [&](const Values& x, const rlwe::BatchShape& batch, std::size_t level,
                           double factor = 1, double largest = 1.5, const Filling& filling = {}) {
    const double scale = client.context->scales().level_scale(level) * factor;
    rlwe::Plaintext plain = client.encoder->encode(x, batch, level, scale, largest);
    plain.meta.filled = filling.filled;
    plain.meta.padding = filling.padding;
    plain.meta.is_complex = filling.is_complex;
    return ckks::encrypt(plain, client.secret);
  };
  const Values x = ckks::random_values(slots, 11);
  const auto expect = [&](const Ciphertext& in, const Values& values) {
    const Ciphertext out = prepared(evaluator, in);
    EXPECT_EQ(out.meta.batch, in.meta.batch);
    EXPECT_EQ(out.meta.slots, in.meta.slots);
    EXPECT_EQ(out.meta.level, plan.result_level());
    // What was declared stays so: a bootstrap keeps the values.
    EXPECT_EQ(out.meta.largest, in.meta.largest);
    EXPECT_EQ(out.meta.filled, in.meta.filled);
    EXPECT_EQ(out.meta.padding, in.meta.padding);
    EXPECT_EQ(out.meta.is_complex, in.meta.is_complex);
    EXPECT_LT(ckks::largest_difference(client.decrypt(out), values), 1e-3);
  };
  for (const Filling& filling : {Filling{.filled = 5, .padding = rlwe::Padding::unknown},
                                 Filling{.padding = rlwe::Padding::uniform, .is_complex = true}}) {
    expect(encrypt(x, {}, low, 1, 1.5, filling), x);
  }
  expect(encrypt(x, {}, low), x);
  expect(encrypt(x, {}, low, 1, HUGE_VAL), x);
  expect(encrypt(ckks::random_values(2 * slots, 12), {2, 1}, low), ckks::random_values(2 * slots, 12));
  expect(encrypt(x, {}, low + 1), x);
  expect(encrypt(x, {}, low + 1, 1.25), x);
  Values squares;
  for (const Complex& value : x) squares.push_back(value * value);
  const ckks::Evaluator lazy(client.context, keys, rlwe::Relinearization::lazy);
  expect(evaluator.square(encrypt(x, {}, low + 1, 1, 1.4142)), squares);
  expect(lazy.square(encrypt(x, {}, low + 1, 1, 1.4142)), squares);
  expect(lazy.rescale(lazy.square(encrypt(x, {}, low + 1, 1, 1.4142))), squares);

  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low, 1.25))), ScaleError);
  // Nothing divides values at the lowest level.
  expect(encrypt(x, {}, low, 1, 2), x);
  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low, 1, 2.01))), RangeError);
  expect(encrypt(x, {}, low + 1, 1, 2.01), x);
  for (const std::size_t other : {slots / 2, 2 * slots}) {
    EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(ckks::random_values(other, 1), {}, low))),
                 MismatchError);
  }
  EXPECT_THROW(static_cast<void>(prepared(evaluator, Ciphertext{})), MismatchError);
  ASSERT_GT(low, 0U);
  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low - 1))), LevelError);
  for (const KeyNeed& need : plan.needed_keys()) {
    rlwe::EvaluationKeys fewer = keys;
    fewer.switching.at(need.role).erase(need.gadget);
    EXPECT_THROW(static_cast<void>(prepared(ckks::Evaluator(client.context, fewer), encrypt(x, {}, low))),
                 MissingKeyError);
  }
  rlwe::ParametersLiteral literal = own.literal();
  literal.sigma = 3.2;
  EXPECT_THROW(PreparedBootstrap(tests::make_context(rlwe::Parameters(literal)), plan), MismatchError);
}

// Products of two different factors, by an engine in place of the backend's transforms.
TEST(CircuitContexts, BootstrapsWithTheArcsineAndARingMultiplier) {
  BootstrapSettings settings = bootstrap_preset("n16-45");
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  const rlwe::Parameters own = parameters_for_bootstrapping(settings);
  const Bootstrap plan(own, {.slots = 2, .real = true});
  const auto context = rlwe::Context::make(own, {}, {.multiplier = multiply::make_ring_multiplier("ntt")});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
  const Values x = {0.75, -0.5};
  const Ciphertext in = ckks::encrypt(encoder.encode(x, {}, plan.input_level()), secret);
  const Ciphertext out = PreparedBootstrap(context, plan)(evaluator, in);
  EXPECT_LT(ckks::largest_difference(encoder.decode(ckks::decrypt(out, secret)), x), 1e-4);
}

}  // namespace
}  // namespace hemera::circuits::operands
