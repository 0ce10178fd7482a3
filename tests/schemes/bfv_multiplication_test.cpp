// Properties of BFV's three multiplications.
#include <algorithm>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "rlwe/tuning.hpp"
#include "schemes/bfv/multiplier.hpp"
#include "schemes/bfv/noise.hpp"
#include "schemes/integer_support.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using rlwe::BfvMultiplication;

constexpr BfvMultiplication variants[] = {BfvMultiplication::behz, BfvMultiplication::hps,
                                          BfvMultiplication::hps_over_q};

rlwe::Parameters with_variant(const rlwe::Parameters& parameters, BfvMultiplication variant) {
  auto literal = parameters.literal();
  literal.bfv_multiplication = variant;
  return rlwe::Parameters(std::move(literal));
}

std::vector<std::uint64_t> residues_of(const rlwe::Context& context, const poly::Poly& poly) {
  std::vector<std::uint64_t> host(poly.shape().words());
  context.backend().download(context.queue(), host, poly.view(), poly::Form::evaluation);
  context.queue().synchronize();
  return host;
}

struct ChainSetting {
  std::uint64_t t;
  std::size_t primes;
  int bits;
};

const ChainSetting chains[] = {
    {65537, 4, 50}, {65537, 6, 30}, {65537, 3, 60}, {1032193, 5, 45}, {std::uint64_t{1} << 16, 4, 50},
    {3, 2, 50}};

// 1. All variants decrypt to the same values at every level, each with its noise below its own bound; edge
// inputs included.
TEST(BfvMultiplicationTest, VariantsAgree) {
  for (const ChainSetting& chain : chains) {
    SCOPED_TRACE("t " + std::to_string(chain.t) + ", " + std::to_string(chain.bits) + "-bit primes");
    const auto parameters = test_chain<Bfv>(chain.t, chain.primes, 1, 0, 1024, chain.bits);
    for (const BfvMultiplication variant : variants) {
      SCOPED_TRACE(static_cast<int>(variant));
      Session<Bfv> session(with_variant(parameters, variant));
      const Values b = session.uniform();
      for (const Values& a : session.inputs()) {
        rlwe::Ciphertext x = session.encrypt(a);
        rlwe::Ciphertext y = session.encrypt(b);
        const Values product = session.multiply(a, b);
        for (std::size_t level = x.meta.level;; --level) {
          session.evaluator.drop_to_level_inplace(x, level);
          session.evaluator.drop_to_level_inplace(y, level);
          const rlwe::Ciphertext xy = session.evaluator.multiply(x, y);
          if (Bfv::guaranteed(xy) == 0) break;
          session.expect(xy, product);
          if (level == 0) break;
        }
      }
    }
  }
}

// 2. The variants' noise is the same up to the rounding that they differ in, for operands that are noisy and
// for fresh ones.
TEST(BfvMultiplicationTest, VariantsHaveSimilarNoise) {
  const auto parameters = test_chain<Bfv>(65537, 5);
  double noise[3][2];
  for (std::size_t i = 0; i < 3; ++i) {
    Session<Bfv> session(with_variant(parameters, variants[i]));
    rlwe::Ciphertext x = session.encrypt(session.uniform());
    for (double& value : noise[i]) {
      x = session.evaluator.square(x);
      value = Bfv::measured(x, session.secret);
    }
  }
  for (std::size_t step = 0; step < 2; ++step) {
    EXPECT_NEAR(noise[0][step], noise[1][step], 1.5);
    EXPECT_NEAR(noise[2][step], noise[1][step], 1.5);
  }
}

// 3. A square is the product of a ciphertext with its copy, bit for bit; and a batch, worked off in any
// parts, is its elements one by one.
TEST(BfvMultiplicationTest, SquaresAndBatchesGiveTheSameBits) {
  for (const BfvMultiplication variant : variants) {
    SCOPED_TRACE(static_cast<int>(variant));
    Session<Bfv> session(with_variant(test_chain<Bfv>(65537, 3), variant));
    const Values a = session.uniform(3 * session.degree());
    const rlwe::Ciphertext x = session.encrypt(a, {3}, rlwe::Encoding::slots);
    const rlwe::Ciphertext single = session.encrypt(session.uniform());
    const rlwe::Ciphertext square = session.evaluator.square(x);
    EXPECT_EQ(residues_of(*session.context, square.poly),
              residues_of(*session.context, session.evaluator.multiply(x, x.clone()).poly));
    const rlwe::Ciphertext product = session.evaluator.multiply(x, single);
    for (std::size_t i = 0; i < 3; ++i) {
      const rlwe::Ciphertext element = rlwe::take(x, i);
      EXPECT_EQ(residues_of(*session.context, rlwe::take(square, i).poly),
                residues_of(*session.context, session.evaluator.square(element).poly));
      EXPECT_EQ(residues_of(*session.context, rlwe::take(product, i).poly),
                residues_of(*session.context, session.evaluator.multiply(element, single).poly));
    }
  }
}

// 4. The product before relinearization is round(t c c' / Q) up to the variant's rounding error and multiples
// of Q: the extreme ciphertext, all coefficients nearly Q / 2, does not overflow the auxiliary base.
TEST(BfvMultiplicationTest, ExtremeCiphertextsFitTheAuxiliaryBase) {
  std::vector<ChainSetting> all(std::begin(chains), std::end(chains));
  // Sizes of which some fill the auxiliary primes up.
  for (int bits = 30; bits <= 60; bits += 3) all.push_back({plain_prime(17 + bits % 4, 1024), 2, bits});
  for (const ChainSetting& chain : all) {
    SCOPED_TRACE("t " + std::to_string(chain.t) + ", " + std::to_string(chain.bits) + "-bit primes");
    const auto parameters = test_chain<Bfv>(chain.t, chain.primes, 1, 0, 1024, chain.bits);
    const auto context = tests::make_context(parameters);
    const auto& backend = context->backend();
    const std::size_t level = context->top_level();
    const poly::RnsBase& base = context->base(level);
    const std::size_t n = context->degree();
    // Every coefficient of both components is nearly Q / 2: the last coefficient of the square adds all N
    // products up with one sign. (At Q / 2 itself either representative would do.)
    const arith::BigInteger q = arith::product(base.values());
    const arith::BigInteger half = q / 2 - (q >> 20);
    std::vector<std::uint64_t> host(2 * base.size() * n);
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t l = 0; l < base.size(); ++l) {
        for (std::size_t i = 0; i < n; ++i) {
          host[(c * base.size() + l) * n + i] = arith::modulo(half, base.modulus(l).value());  // [2, limb, N]
        }
      }
    }
    poly::Poly x = context->make_poly(1, 2, base, poly::Form::evaluation);
    backend.upload(context->queue(), x.view(), host, poly::Form::coefficient);
    backend.forward_transform(context->queue(), x.view(), std::as_const(x).view(), base);
    // Component 0 of the product, coefficient N - 1: round(t N half^2 / Q) modulo Q.
    const arith::BigInteger t = chain.t;
    const arith::BigInteger sum = t * half * half * n;
    for (const BfvMultiplication variant : variants) {
      SCOPED_TRACE(static_cast<int>(variant));
      const auto multiplier = bfv::make_multiplier(*context, level, variant);
      poly::Poly out = context->make_poly(1, 3, base, poly::Form::evaluation);
      multiplier->multiply(*context, out.view(), {std::as_const(x).view(), std::as_const(x).view()});
      backend.inverse_transform(context->queue(), out.view(), std::as_const(out).view(), base);
      std::vector<std::uint64_t> result(out.shape().words());
      backend.download(context->queue(), result, std::as_const(out).view(), poly::Form::coefficient);
      context->queue().synchronize();
      // HPS over Q rounds an operand to P first: off by t N half / P in all.
      const double rounded = multiplier->operand_rounding_log2();
      const double slack =
          multiplier->rounding_error() + 1 +
          (std::isfinite(rounded) ? static_cast<double>(chain.t) * static_cast<double>(n) * std::exp2(rounded)
                                  : 0.0);
      for (std::size_t component = 0; component < 3; ++component) {
        const arith::BigInteger factor = component == 1 ? 2 : 1;
        const arith::BigInteger expected = (factor * sum + q / 2) / q;
        // The same small difference modulo every prime.
        std::int64_t difference = 0;
        for (std::size_t l = 0; l < base.size(); ++l) {
          const arith::Modulus& p = base.modulus(l);
          const std::uint64_t actual = result[(component * base.size() + l) * n + n - 1];
          const std::int64_t found = p.centered(p.subtract(actual, arith::modulo(expected, p.value())));
          if (l == 0) difference = found;
          EXPECT_EQ(found, difference);
        }
        EXPECT_LE(std::abs(static_cast<double>(difference)), slack);
      }
    }
  }
}

// 6. Sums of products decrypt to the sums, also those of more operands than are lifted at a time.
TEST(BfvMultiplicationTest, SumsOfProducts) {
  for (const BfvMultiplication variant : variants) {
    SCOPED_TRACE(static_cast<int>(variant));
    Session<Bfv> session(with_variant(test_chain<Bfv>(65537, 3), variant));
    const Values a = session.uniform(2 * session.degree()), b = session.uniform();
    const rlwe::Ciphertext x = session.encrypt(a, {2}, rlwe::Encoding::slots), y = session.encrypt(b);
    const std::size_t lifted = 2 * (3 + 6) * session.degree() * sizeof(std::uint64_t);
    const bool lifts = variant == BfvMultiplication::hps_over_q;
    const std::size_t terms = lifts ? rlwe::tuning::most_product_scratch_bytes / (2 * lifted) * 3 / 2 : 3;
    // x y + y y + x y + ...
    std::vector<const rlwe::Ciphertext*> left, right;
    std::uint64_t products = 0, squares = 0;
    for (std::size_t i = 0; i < terms; ++i) {
      left.push_back(i % 3 == 1 ? &y : &x);
      right.push_back(&y);
      ++(i % 3 == 1 ? squares : products);
    }
    Values expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::uint64_t other = b[i % b.size()];
      expected.push_back((a[i] * other % 65537 * products + other * other % 65537 * squares) % 65537);
    }
    session.expect(session.evaluator.dot(left, right), expected);
  }
}

// 6. A batch that is multiplied in parts: every element is the product of its own operands, in the first
// part, in a whole one and in the last, which is shorter.
TEST(BfvMultiplicationTest, BatchesBeyondTheScratchAreTheirElements) {
  Session<Bfv> session(test_chain<Bfv>(65537, 2), false, rlwe::Relinearization::lazy);
  const rlwe::Context& context = *session.context;
  const auto variant = context.parameters().literal().bfv_multiplication;
  const auto multiplier = bfv::make_multiplier(context, context.top_level(), variant);
  const std::size_t part =
      rlwe::tuning::most_product_scratch_bytes / multiplier->scratch_bytes(session.degree());
  const std::size_t batch = 2 * part + 2;
  // The first part repeats elements 0 and 1, the second 2 and 3, and the last has 4 and 5.
  constexpr std::size_t kinds = 6;
  std::vector<std::size_t> kind(batch);
  for (std::size_t i = 0; i < batch; ++i) kind[i] = i / part * 2 + i % part % 2;
  const std::size_t n = session.degree();
  const Values a = session.uniform(kinds * n), b = session.uniform(kinds * n), c = session.uniform();
  const auto many = [&](const Values& values) {
    return rlwe::gather(session.encrypt(values, {kinds}, rlwe::Encoding::slots), kind, {batch});
  };
  const rlwe::Ciphertext x = many(a), y = many(b), one = session.encrypt(c);
  const auto of = [&](const Values& values, std::size_t i) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(kind[i] * n);
    return Values(first, first + static_cast<std::ptrdiff_t>(n));
  };
  const auto expect = [&](const rlwe::Ciphertext& product, const auto& expected) {
    ASSERT_EQ(product.meta.batch, rlwe::BatchShape{batch});
    for (const std::size_t i :
         {std::size_t{0}, part - 1, part, part + 1, 2 * part - 1, 2 * part, batch - 1}) {
      SCOPED_TRACE(i);
      session.expect(rlwe::take(product, i), expected(i));
    }
  };
  expect(session.evaluator.multiply(x, y),
         [&](std::size_t i) { return session.multiply(of(a, i), of(b, i)); });
  // Products of a batch and one ciphertext, on either side.
  const std::vector<const rlwe::Ciphertext*> left = {&x, &one}, right = {&one, &y};
  expect(session.evaluator.dot(left, right),
         [&](std::size_t i) { return session.multiply(session.add(of(a, i), of(b, i)), c); });
}

}  // namespace
}  // namespace hemera::testing
