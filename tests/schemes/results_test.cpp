// What operations say of their results: slots, batches and sizes, of operands that differ in them.
#include <gtest/gtest.h>

#include "hemera/rlwe/noise.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera {
namespace {

template <typename S>
class IntegerResults : public ::testing::Test {};
using Schemes = ::testing::Types<testing::Bfv, testing::Bgv>;
TYPED_TEST_SUITE(IntegerResults, Schemes);

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

}  // namespace
}  // namespace hemera
