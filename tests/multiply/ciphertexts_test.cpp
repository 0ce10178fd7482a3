// Whole ciphertext multiplications by every engine: the same bytes as with the backend's own transforms.
#include <gtest/gtest.h>

#include <functional>

#include "hemera/io/objects.hpp"
#include "hemera/multiply/engines.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::multiply {
namespace {

using rlwe::Ciphertext;
using rlwe::Context;

template <typename Evaluator>
std::vector<std::byte> products(const rlwe::Parameters& parameters, std::string_view engine,
                                const std::vector<std::byte>& keys, const std::vector<std::byte>& x,
                                const std::vector<std::byte>& y) {
  const auto context = Context::make(
      parameters, {}, {.threads = 2, .multiplier = engine.empty() ? nullptr : make_ring_multiplier(engine)});
  EXPECT_EQ(context->multiplier() == nullptr, engine.empty());
  const Evaluator evaluator(context, io::load_evaluation_keys(context, keys));
  const Ciphertext a = io::load_ciphertext(context, x);
  const Ciphertext b = io::load_ciphertext(context, y);
  // A product, a square, and a sum of products one level down.
  const Ciphertext product = evaluator.multiply(a, b);
  const Ciphertext square = evaluator.square(b);
  const std::vector<const Ciphertext*> left = {&product, &square}, right = {&square, &square};
  return io::save(evaluator.dot(left, right));
}

template <typename Evaluator>
void expect_same_bytes(const rlwe::Parameters& parameters, const std::vector<std::byte>& keys,
                       const std::vector<std::byte>& x, const std::vector<std::byte>& y) {
  const auto expected = products<Evaluator>(parameters, "", keys, x, y);
  for (const std::string_view engine : engine_names()) {
    if (engine == "schoolbook") continue;  // takes seconds, and the engines are compared with it elsewhere
    EXPECT_EQ(products<Evaluator>(parameters, engine, keys, x, y), expected) << engine;
  }
}

TEST(CiphertextProducts, OfCkksHaveTheSameBytesWithEveryEngine) {
  const ckks::Session session(ckks::small_parameters(3));
  const auto x = session.encrypt(ckks::random_values(1024, 1), {2});
  const auto y = session.encrypt(ckks::random_values(512, 2));
  expect_same_bytes<ckks::Evaluator>(session.context->parameters(), io::save(session.keys), io::save(x),
                                     io::save(y));
}

template <typename Scheme>
void expect_same_bytes_of(rlwe::BfvMultiplication variant) {
  integer::CircuitRequest circuit{
      .depth = 2, .plain_modulus = testing::plain_prime(16, 1024), .degree = 1024};
  circuit.security = std::nullopt;
  auto literal = Scheme::for_circuit(circuit).literal();
  literal.bfv_multiplication = variant;
  testing::Session<Scheme> session{rlwe::Parameters(literal)};
  const Ciphertext x = session.encrypt(session.uniform());
  const Ciphertext y = session.encrypt(session.uniform());
  expect_same_bytes<typename Scheme::Evaluator>(session.context->parameters(), io::save(session.keys),
                                                io::save(x), io::save(y));
}

TEST(CiphertextProducts, OfBgvHaveTheSameBytesWithEveryEngine) {
  expect_same_bytes_of<testing::Bgv>(rlwe::BfvMultiplication::none);
}

TEST(CiphertextProducts, OfBfvHaveTheSameBytesWithEveryEngine) {
  for (const auto variant :
       {rlwe::BfvMultiplication::behz, rlwe::BfvMultiplication::hps, rlwe::BfvMultiplication::hps_over_q}) {
    expect_same_bytes_of<testing::Bfv>(variant);
  }
}

TEST(CiphertextProducts, WithAnEngineNeedTheCpu) {
  EXPECT_THROW((void)Context::make(ckks::small_parameters(1), runtime::Device::parse("cuda"),
                                   {.multiplier = make_ring_multiplier("dgt")}),
               DeviceError);
}

}  // namespace
}  // namespace hemera::multiply
