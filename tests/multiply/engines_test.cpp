// Every engine behind poly::RingMultiplier against the schoolbook, and in whole ciphertext multiplications.
#include "hemera/multiply/engines.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/ring_support.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::multiply {
namespace {

using rlwe::Ciphertext;
using rlwe::Context;

class EnginesTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::shared_ptr<const poly::RingMultiplier> engine_ = make_ring_multiplier(GetParam());
  std::shared_ptr<const poly::RingMultiplier> schoolbook_ = make_ring_multiplier("schoolbook");
  std::mt19937_64 random_{2026};
};

TEST_P(EnginesTest, HasItsName) { EXPECT_EQ(engine_->name(), GetParam()); }

TEST_P(EnginesTest, EqualsTheSchoolbookOnEveryKindOfInputAndSizeOfModulus) {
  const poly::RnsBase base = split_base(1024, {61, 60, 51, 50, 49, 48, 36, 20});
  for (const Fill how : fills) {
    const Polynomials a({1, 1, 8, 1024}, base, how, random_);
    const Polynomials b({1, 1, 8, 1024}, base, how, random_);
    EXPECT_EQ(product(*engine_, a, b, base), product(*schoolbook_, a, b, base)) << static_cast<int>(how);
  }
}

TEST_P(EnginesTest, EqualsTheSchoolbookForEverySmallDegree) {
  for (const std::size_t degree : {2048, 4096}) {
    const poly::RnsBase base = split_base(degree, {49});
    const Polynomials a({1, 1, 1, degree}, base, Fill::largest, random_);
    const Polynomials b({1, 1, 1, degree}, base, Fill::random, random_);
    EXPECT_EQ(product(*engine_, a, b, base), product(*schoolbook_, a, b, base)) << degree;
  }
}

// Beyond the schoolbook's reach: a monomial turns the other factor, and the all-largest product (q - 1)^2 (1
// + X + ...)^2 has the coefficients 2 (n + 1) - N.
TEST_P(EnginesTest, MultipliesMonomialsAndLargestCoefficientsAtEveryDegree) {
  if (GetParam() == "schoolbook") GTEST_SKIP() << "too slow for large degrees";
  for (std::size_t degree = 1024; degree <= poly::max_degree; degree *= 2) {
    for (const int bits : {50, 49, 61}) {
      const poly::RnsBase base = split_base(degree, {bits});
      const arith::Modulus& q = base.modulus(0);
      const Polynomials a({1, 1, 1, degree}, base, Fill::random, random_),
          largest({1, 1, 1, degree}, base, Fill::largest, random_);
      Polynomials monomial({1, 1, 1, degree});
      const std::size_t shift = random_() % degree;
      const std::uint64_t factor = q.value() - 2;
      monomial.words[shift] = factor;
      Words turned(degree), squared(degree);
      for (std::size_t n = 0; n < degree; ++n) {
        const std::uint64_t value = q.multiply(a.words[n], factor);
        turned[(n + shift) % degree] = n + shift < degree ? value : q.negate(value);
        squared[n] =
            q.reduce_signed(static_cast<std::int64_t>(2 * (n + 1)) - static_cast<std::int64_t>(degree));
      }
      EXPECT_EQ(product(*engine_, a, monomial, base), turned) << degree << " " << bits;
      EXPECT_EQ(product(*engine_, largest, largest, base), squared) << degree << " " << bits;
    }
  }
}

TEST_P(EnginesTest, MultipliesComponentsAndBroadcastsBatches) {
  const poly::RnsBase base = split_base(1024, {49, 50, 60});
  const Polynomials a({2, 2, 3, 1024}, base, Fill::random, random_);
  const Polynomials b({1, 2, 3, 1024}, base, Fill::random, random_);
  const Polynomials c({2, 3, 3, 1024}, base, Fill::largest, random_);
  EXPECT_EQ(product(*engine_, a, b, base), product(*schoolbook_, a, b, base));
  EXPECT_EQ(product(*engine_, a, c, base), product(*schoolbook_, a, c, base));
  EXPECT_EQ(product(*engine_, a, a, base), product(*schoolbook_, a, a, base));
}

TEST_P(EnginesTest, DoesNotDependOnThreads) {
  const poly::RnsBase base = split_base(1024, {49, 60});
  const Polynomials a({3, 2, 2, 1024}, base, Fill::random, random_);
  EXPECT_EQ(product(*engine_, a, a, base, 1), product(*engine_, a, a, base, 3));
}

TEST_P(EnginesTest, RefusesShapesThatDoNotFit) {
  const poly::RnsBase base = split_base(1024, {49, 50});
  const Polynomials two({1, 1, 2, 1024}, base, Fill::random, random_);
  const Polynomials one({1, 1, 1, 1024}, base, Fill::random, random_);
  Polynomials out({1, 2, 2, 1024});
  runtime::CpuQueue queue(std::make_shared<runtime::ThreadPool>(1));
  EXPECT_THROW(product(*engine_, two, one, base), MismatchError);
  EXPECT_THROW(engine_->tensor_product(queue, out.view(), two.view(), two.view(), base), MismatchError);
}

INSTANTIATE_TEST_SUITE_P(Engines, EnginesTest,
                         ::testing::ValuesIn(engine_names().begin(), engine_names().end()),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Engines, UnknownNameIsAnErrorThatListsTheOthers) {
  tests::expect_error<ParameterError>([&] { return make_ring_multiplier("karatsuba"); }, {"dgt"});
}

TEST(Engines, DgtRefusesModuliWithoutATransform) {
  const auto ring = poly::Ring::make(1024, {{arith::Modulus(65536 + 1 - 2), 0}});  // 65535, composite
  const poly::RnsBase base(ring, {0});
  std::mt19937_64 random(1);
  const Polynomials a({1, 1, 1, 1024}, base, Fill::random, random);
  EXPECT_THROW(product(*make_ring_multiplier("dgt"), a, a, base), ParameterError);
}

// From bits to words: no roots of unity are needed, and evaluation points from 2^12 to 2^133.
TEST(Engines, KroneckerMultipliesModuloAnything) {
  std::mt19937_64 random(2);
  for (const std::uint64_t q : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 8,
                                std::uint64_t{65535}, std::uint64_t{1} << 40, (std::uint64_t{1} << 61) - 1}) {
    const auto ring = poly::Ring::make(1024, {{arith::Modulus(q), 0}});
    const poly::RnsBase base(ring, {0});
    for (const Fill how : fills) {
      const Polynomials a({1, 2, 1, 1024}, base, how, random);
      const Polynomials b({1, 1, 1, 1024}, base, Fill::largest, random);
      EXPECT_EQ(product(*make_ring_multiplier("kronecker_ss"), a, b, base),
                product(*make_ring_multiplier("schoolbook"), a, b, base))
          << q << " " << static_cast<int>(how);
    }
  }
}

// A prime that is 3 modulo 4 and -1 modulo N has no NTT, but a DGT over the field of p^2 elements.
TEST(Engines, DgtMultipliesModuloInertPrimes) {
  const auto ring = poly::Ring::make(1024, {{arith::Modulus((std::uint64_t{1} << 31) - 1), 0}});
  const poly::RnsBase base(ring, {0});
  std::mt19937_64 random(1);
  const Polynomials a({1, 2, 1, 1024}, base, Fill::random, random);
  EXPECT_EQ(product(*make_ring_multiplier("dgt"), a, a, base),
            product(*make_ring_multiplier("schoolbook"), a, a, base));
}

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
