// Sets of evaluation keys: which of two a union keeps, what they take, how strong they are, what they refuse.
#include "hemera/rlwe/keys.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

class EvaluationKeysTest : public testing::Test {
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

}  // namespace
}  // namespace hemera::rlwe
