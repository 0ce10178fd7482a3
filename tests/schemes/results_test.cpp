// What operations say of their results: slots, batches and sizes, of operands that differ in them.
#include <gtest/gtest.h>

#include "hemera/rlwe/noise.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera {
namespace {

// 1. A result has the slots of the longer operand, whichever it is: it would be decoded to fewer values.
TEST(Results, HaveTheSlotsOfTheLongerOperand) {
  const ckks::Session session(ckks::small_parameters(2));
  const ckks::Evaluator& e = *session.evaluator;
  const rlwe::Plaintext short_plain = session.encoder->encode(ckks::Values(1, 0.5), {});
  const rlwe::Plaintext long_plain = session.encoder->encode(ckks::random_values(16, 1), {});
  const rlwe::Ciphertext few = ckks::encrypt(short_plain, session.secret);
  const rlwe::Ciphertext many = ckks::encrypt(long_plain, session.secret);
  const auto dot = [&](const rlwe::Ciphertext& a, const auto& b) {
    const rlwe::Ciphertext* left[] = {&few, &a};
    const std::decay_t<decltype(b)>* right[] = {&b, &b};
    return e.dot(std::span<const rlwe::Ciphertext* const>(left), right);
  };
  for (const auto& [a, b] : {std::pair(&few, &many), std::pair(&many, &few)}) {
    EXPECT_EQ(e.add(*a, *b).meta.slots, 16U);
    EXPECT_EQ(e.subtract(*a, *b).meta.slots, 16U);
    EXPECT_EQ(e.multiply(*a, *b).meta.slots, 16U);
    EXPECT_EQ(dot(*a, *b).meta.slots, 16U);
  }
  for (const auto& [a, b] : {std::pair(&few, &long_plain), std::pair(&many, &short_plain)}) {
    rlwe::Ciphertext sum = a->clone();
    e.add_plain_inplace(sum, *b);
    EXPECT_EQ(sum.meta.slots, 16U);
    EXPECT_EQ(e.multiply_plain(*a, *b).meta.slots, 16U);
    EXPECT_EQ(dot(*a, *b).meta.slots, 16U);
  }
}

template <typename S>
class IntegerResults : public ::testing::Test {};
using Schemes = ::testing::Types<testing::Bfv, testing::Bgv>;
TYPED_TEST_SUITE(IntegerResults, Schemes);

// 2. Sums of batches and single ciphertexts, of three and of two components, in either order.
TYPED_TEST(IntegerResults, SumsOfDifferentBatchesAndSizes) {
  using S = TypeParam;
  testing::Session<S> session(testing::test_chain<S>(65537, 4), false, rlwe::Relinearization::lazy);
  const std::size_t degree = session.degree();
  const testing::Values a = session.uniform(3 * degree), b = session.uniform();
  const rlwe::Ciphertext batch = session.encrypt(a, {3}, rlwe::Encoding::slots);
  const rlwe::Ciphertext single = session.encrypt(b);
  const rlwe::Ciphertext square = session.evaluator.multiply(batch, batch);
  const rlwe::Ciphertext single_square = session.evaluator.multiply(single, single);
  const auto repeated = [&](const testing::Values& values) {
    testing::Values all;
    for (int i = 0; i < 3; ++i) all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  const auto products = [&](testing::Values values) {
    for (auto& value : values) value = session.t.multiply(value, value);
    return values;
  };
  struct Case {
    const rlwe::Ciphertext* ciphertext;
    testing::Values values;
  };
  const std::vector<Case> cases = {
      {&batch, a}, {&single, repeated(b)}, {&square, products(a)}, {&single_square, repeated(products(b))}};
  for (const Case& x : cases) {
    for (const Case& y : cases) {
      if (x.ciphertext->meta.batch.empty() && y.ciphertext->meta.batch.empty()) continue;
      EXPECT_EQ(session.decrypt(session.evaluator.add(*x.ciphertext, *y.ciphertext)),
                session.add(x.values, y.values));
      EXPECT_EQ(session.decrypt(session.evaluator.subtract(*x.ciphertext, *y.ciphertext)),
                session.subtract(x.values, y.values));
    }
  }
}

// Sums of one to five products, of batches and single ciphertexts: each term counts, and a sum has as many
// components as a product.
TYPED_TEST(IntegerResults, SumsOfAFewProducts) {
  using S = TypeParam;
  std::vector<rlwe::Parameters> all;
  if (S::scheme == rlwe::Scheme::bfv) {
    for (const auto variant :
         {rlwe::BfvMultiplication::behz, rlwe::BfvMultiplication::hps, rlwe::BfvMultiplication::hps_over_q}) {
      auto literal = testing::test_chain<S>(65537, 3).literal();
      literal.bfv_multiplication = variant;
      all.emplace_back(std::move(literal));
    }
  } else {
    all.push_back(testing::test_chain<S>(65537, 3));
  }
  for (std::size_t variant = 0; variant < all.size(); ++variant) {
    for (const auto way : {rlwe::Relinearization::eager, rlwe::Relinearization::lazy}) {
      testing::Session<S> session(all[variant], false, way);
      const std::size_t size = way == rlwe::Relinearization::eager ? 2 : 3;
      std::vector<testing::Values> a, b;
      std::vector<rlwe::Ciphertext> x, y;
      std::vector<rlwe::Plaintext> plain;
      for (std::size_t i = 0; i < 5; ++i) {
        a.push_back(session.uniform((i % 2 == 0 ? 2 : 1) * session.degree()));
        b.push_back(session.uniform());
        x.push_back(session.encrypt(a[i], i % 2 == 0 ? rlwe::BatchShape{2} : rlwe::BatchShape{},
                                    rlwe::Encoding::slots));
        y.push_back(session.encrypt(b[i]));
        plain.push_back(session.encode(b[i]));
      }
      for (std::size_t terms = 1; terms <= 5; ++terms) {
        SCOPED_TRACE(std::to_string(variant) + " " + std::to_string(size) + " " + std::to_string(terms));
        std::vector<const rlwe::Ciphertext*> left, right;
        std::vector<const rlwe::Plaintext*> weights;
        testing::Values expected(2 * session.degree(), 0);
        for (std::size_t i = 0; i < terms; ++i) {
          left.push_back(&x[i]);
          right.push_back(&y[i]);
          weights.push_back(&plain[i]);
          for (std::size_t j = 0; j < expected.size(); ++j) {
            expected[j] = session.t.add(
                expected[j], session.t.multiply(a[i][j % a[i].size()], b[i][j % session.degree()]));
          }
        }
        const rlwe::Ciphertext sum = session.evaluator.dot(left, right);
        EXPECT_EQ(sum.size(), size);
        session.expect(sum, expected);
        const rlwe::Ciphertext weighted = session.evaluator.dot(left, weights);
        EXPECT_EQ(weighted.size(), 2U);
        session.expect(weighted, expected);
      }
      EXPECT_EQ(session.evaluator.multiply(x[0], y[0]).size(), size);
      EXPECT_EQ(session.evaluator.square(x[0]).size(), size);
    }
  }
}

// 3. A decrypted plaintext is as one that was encoded: nothing of the ciphertext's history stays.
TYPED_TEST(IntegerResults, DecryptedPlaintextsHaveNoHistory) {
  using S = TypeParam;
  testing::Session<S> session(testing::test_chain<S>(65537, 4));
  const testing::Values a = session.uniform();
  const rlwe::Ciphertext x = session.encrypt(a);
  const rlwe::Ciphertext product = session.evaluator.rescale(session.evaluator.multiply(x, x));
  const rlwe::Plaintext plain = S::decrypt(product, session.secret);
  const rlwe::Plaintext fresh = session.encode(a);
  EXPECT_EQ(plain.meta.correction, fresh.meta.correction);
  EXPECT_EQ(plain.meta.noise_scale_degree, fresh.meta.noise_scale_degree);
  EXPECT_EQ(plain.meta.noise_log2, fresh.meta.noise_log2);
}

// Beside the error there is the message: rounded (BFV), or on top of the error's multiple of t (BGV).
TYPED_TEST(IntegerResults, FreshNoiseHasTheMessagesHalf) {
  using S = TypeParam;
  testing::Session<S> session(testing::test_chain<S>(65537, 4));
  const rlwe::Context& context = *session.context;
  const rlwe::Plaintext plain = session.encode(session.uniform());
  const double unit = S::scheme == rlwe::Scheme::bgv ? std::log2(65537.0) : 0;
  EXPECT_DOUBLE_EQ(S::encrypt(plain, *session.keys.public_key).meta.noise_log2,
                   std::log2(std::exp2(rlwe::fresh_noise_log2(context, true)) + 0.5) + unit);
  EXPECT_DOUBLE_EQ(S::encrypt(plain, session.secret).meta.noise_log2,
                   std::log2(std::exp2(rlwe::fresh_noise_log2(context, false)) + 0.5) + unit);
}

// 4. A key switch adds its noise to whatever there was.
TYPED_TEST(IntegerResults, RelinearizationAddsNoise) {
  using S = TypeParam;
  testing::Session<S> session(testing::test_chain<S>(65537, 4), false, rlwe::Relinearization::lazy);
  const rlwe::Ciphertext x = session.encrypt(session.uniform());
  rlwe::Ciphertext product = session.evaluator.multiply(x, x);
  product.meta.noise_log2 = 0;
  session.evaluator.relinearize_inplace(product);
  EXPECT_GE(product.meta.noise_log2, rlwe::switching_noise_log2(*session.context, product.meta.level));
}

// 5. Rows are those of slots.
TYPED_TEST(IntegerResults, RowsOfCoefficientsAreNotExchanged) {
  using S = TypeParam;
  testing::Session<S> session(testing::test_chain<S>(65537, 2), true);
  const rlwe::Ciphertext x = session.encrypt(session.uniform(), {}, rlwe::Encoding::coefficients);
  testing::expect_error<MismatchError>([&] { static_cast<void>(session.evaluator.conjugate(x)); },
                                       {"conjugate", "coefficients"});
}

}  // namespace
}  // namespace hemera
