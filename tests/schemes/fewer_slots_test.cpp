// Slots of plaintext moduli that split only partly: n < N of them, in the polynomials in X^(N/n).
#include <algorithm>

#include "hemera/io/objects.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {
namespace {

constexpr std::size_t degree = 1024;

struct Slots {
  std::uint64_t t;
  std::size_t count;
};

const std::vector<Slots>& all_slots() {
  static const std::vector<Slots> slots = {{5, 2}, {17, 8}, {257, 128}, {7681, 256}, {12289, degree}};
  return slots;
}

// The same polynomial with values in coefficients, of a plaintext in slots, or the other way round.
rlwe::Plaintext read_as(const rlwe::Plaintext& plain, rlwe::Encoding encoding, std::size_t values) {
  rlwe::Plaintext result = rlwe::gather(plain, std::vector<std::size_t>{0}, {});
  result.meta.encoding = encoding;
  result.meta.slots = values;
  result.meta.filled = 0;
  return result;
}

// The value of a polynomial at a point, modulo t below 2^14.
std::uint64_t value_at(const Values& coefficients, std::uint64_t point, std::uint64_t t) {
  std::uint64_t sum = 0, power = 1;
  for (const std::uint64_t coefficient : coefficients) {
    sum = (sum + coefficient * power) % t;
    power = power * point % t;
  }
  return sum;
}

TEST(FewerSlotsTest, AreTheLargestPowerOfTwoForWhichThereAreRoots) {
  for (const auto& [t, count] : all_slots()) EXPECT_EQ(rlwe::integer_slots(degree, t), count) << t;
  EXPECT_EQ(rlwe::integer_slots(1 << 16, 65537), 1U << 15);
  EXPECT_EQ(rlwe::integer_slots(1 << 15, 65537), 1U << 15);
  EXPECT_EQ(rlwe::integer_slots(1 << 16, 786433), 1U << 16);
  EXPECT_EQ(rlwe::integer_slots(1 << 17, 786433), 1U << 17);
  EXPECT_EQ(rlwe::integer_slots(1 << 11, 12289), 1U << 11);
  EXPECT_EQ(rlwe::integer_slots(1 << 12, 12289), 1U << 11);
  // Not of 3 = 1 modulo 2, of no prime (65535, 2^16, 1025), and not of 2^31 - 1 = 1 modulo 2.
  for (const std::uint64_t t :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1025},
        std::uint64_t{65535}, std::uint64_t{65536}, (std::uint64_t{1} << 31) - 1}) {
    EXPECT_EQ(rlwe::integer_slots(degree, t), 0U) << t;
  }
}

TEST(FewerSlotsTest, AreValuesAtPowersOfTheRootInTheOrderOfTheGenerator) {
  for (const auto& [t, n] : all_slots()) {
    for (const std::uint64_t generator : {3, 5}) {
      SCOPED_TRACE(t);
      auto literal = test_chain<Bfv>(t, 2).literal();
      literal.galois_generator = generator;
      Session<Bfv> session{rlwe::Parameters(literal)};
      ASSERT_EQ(session.places(), n);
      const Values values = session.uniform();
      const rlwe::Plaintext plain = session.encode(values);
      EXPECT_EQ(plain.meta.filled, 0U);
      const auto decoded =
          session.encoder.decode(read_as(plain, rlwe::Encoding::coefficients, degree), false);
      Values coefficients;
      for (std::size_t i = 0; i < degree; ++i) {
        if (i % (degree / n) == 0) {
          coefficients.push_back(static_cast<std::uint64_t>(decoded[i]));
        } else {
          ASSERT_EQ(decoded[i], 0);
        }
      }
      // The least root of Y^n + 1.
      std::uint64_t root = 1, power = 1;
      const auto to_the_n = [&](std::uint64_t x) {
        power = 1;
        for (std::size_t i = 0; i < n; ++i) power = power * x % t;
        return power;
      };
      while (to_the_n(root) != t - 1) ++root;
      std::uint64_t exponent = 1;
      for (std::size_t slot = 0; slot < n / 2; ++slot) {
        for (const bool second : {false, true}) {
          std::uint64_t point = 1;
          for (std::uint64_t i = 0; i < (second ? 2 * n - exponent : exponent); ++i) point = point * root % t;
          ASSERT_EQ(value_at(coefficients, point, t), values[slot + (second ? n / 2 : 0)]) << slot;
        }
        exponent = exponent * generator % (2 * n);
      }
      // What has other coefficients, too, decodes to the values without them.
      Values any = session.uniform(degree), kept(n);
      for (std::size_t i = 0; i < n; ++i) kept[i] = any[degree / n * i];
      const auto in_coefficients = session.encode(any, {}, rlwe::Encoding::coefficients);
      const auto found = session.encoder.decode(read_as(in_coefficients, rlwe::Encoding::slots, n), false);
      EXPECT_EQ(static_cast<std::uint64_t>(found[0]), value_at(kept, root, t));
    }
  }
}

TEST(FewerSlotsTest, ValuesOfAPart) {
  Session<Bgv> session(test_chain<Bgv>(257, 2), true);
  const Values values = session.uniform(100);
  const rlwe::Ciphertext x = session.encrypt(values);
  EXPECT_EQ(x.meta.filled, 100U);
  EXPECT_EQ(session.encrypt(session.uniform()).meta.filled, 0U);
  session.expect(x, values);
  const rlwe::Ciphertext y = session.encrypt(session.uniform());
  EXPECT_EQ(session.evaluator.multiply(x, x).meta.filled, 100U);
  EXPECT_EQ(session.evaluator.add(x, x).meta.filled, 100U);
  for (const rlwe::Ciphertext& of_all : {session.evaluator.multiply(x, y), session.evaluator.add(x, y)}) {
    EXPECT_EQ(of_all.meta.slots, 128U);
    EXPECT_EQ(of_all.meta.filled, 0U);
  }
  EXPECT_EQ(session.evaluator.rotate(x, 1).meta.padding, rlwe::Padding::values);
  // A key of steps that are equal modulo the row of 64 serves.
  rlwe::EvaluationKeys keys = rlwe::generate_keys(session.secret, {.rotations = {3 + 128}});
  const bgv::Evaluator other(session.context, keys);
  EXPECT_EQ(other.rotation_plan(3, y), (std::vector<std::int64_t>{131}));
  EXPECT_EQ(session.decrypt(other.rotate(y, 3)), session.rotate(session.decrypt(y), 3));
  EXPECT_TRUE(other.rotation_plan(64, y).empty());
  EXPECT_EQ(rlwe::rotations_for_sum(session.context->parameters(), 128),
            (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32}));
}

TEST(FewerSlotsTest, RefusalsAndSearch) {
  Session<Bfv> session(test_chain<Bfv>(257, 2));
  const std::vector<std::int64_t> many(129, 1);
  expect_error<ParameterError>([&] { return session.encoder.encode(many, {}); }, {"129", "128"});
  EXPECT_EQ(session.encoder.encode(many, {}, rlwe::Encoding::coefficients).meta.slots, 129U);
  Session<Bfv> none(test_chain<Bfv>(3, 2));
  expect_error<ParameterError>([&] { return none.encoder.encode(std::vector<std::int64_t>{1}, {}); },
                               {"modulus 3", "1 modulo 4"});
  const auto request = [](std::size_t slots) {
    return Bfv::for_circuit({.plain_modulus = 257, .slots = slots, .degree = 2048, .security = {}});
  };
  EXPECT_EQ(request(128).max_slots(), 128U);
  expect_error<ParameterError>([&] { return request(129); },
                               {"257 has 128 slots", "129 are asked for", "1 modulo 512"});
  const std::string text = request(128).describe();
  EXPECT_NE(text.find("128 slots and coefficients"), std::string::npos) << text;
}

}  // namespace
}  // namespace hemera::testing
