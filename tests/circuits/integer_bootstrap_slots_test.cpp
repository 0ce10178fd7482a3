// Bootstraps of values in fewer slots than N, and those that evaluators run by themselves in sums.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "circuits/integer_bootstrap_support.hpp"
#include "hemera/rlwe/noise.hpp"

namespace hemera::circuits::exact::integer_bootstrap_slots_tests {
namespace {

template <typename S>
Ciphertext in_slots(const ExactSession<S>& session, const Values& values,
                    const rlwe::BatchShape& batch = {}) {
  return session.client.encrypt(values, batch, rlwe::Encoding::slots);
}

Values product(const Values& a, const Values& b, std::uint64_t t) {
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] * b[i] % t;  // below 2^64
  return result;
}

// The law holds for the coefficients of the slots, from noise in all; the others have hardly any left.
template <typename S>
void of_slots_follows_the_law(std::uint64_t t, std::size_t slots, std::size_t passes) {
  SCOPED_TRACE(::testing::Message() << "t = " << t << ", passes " << passes);
  ExactSession<S> session(t, {.passes = passes, .slots_only = true});
  const IntegerBootstrap& plan = session.plan;
  const std::size_t gap = session.client.degree() / slots;
  ASSERT_EQ(session.client.places(), slots);
  ASSERT_EQ(plan.repetitions(), gap);
  const Values values = session.client.uniform();
  double sum = 0;
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    Ciphertext x = in_slots(session, values);
    add_noise(session, x, 0.98);
    const Ciphertext fresh = session.bootstrapped(x);
    ASSERT_EQ(session.decrypt(fresh), values);
    EXPECT_LT(session.measured(fresh), fresh.meta.noise_log2 - 1 - S::capacity(fresh));
    EXPECT_NEAR(S::guaranteed(fresh), plan.budget_left(), 1e-9);
    const double left = noise_deviation_log2(session, fresh, gap);
    sum += left;
    if (gap > 1) {
      EXPECT_LT(noise_deviation_log2(session, fresh, gap, true), left - 8);
    }
  }
  EXPECT_NEAR(-sum / rounds, plan.ratio_bits() + plan.precision_bits() + plan.shifts().back(), 0.3);
}

TEST(IntegerBootstrapOfSlots, LeavesTheNoiseThatTheModelSays) {
  of_slots_follows_the_law<Bfv>(257, 128, 1);
  of_slots_follows_the_law<Bfv>(7681, 256, 2);
  of_slots_follows_the_law<Bgv>(257, 128, 2);
  of_slots_follows_the_law<Bgv>(12289, 2048, 1);
}

template <typename S>
void slots_multiply_without_end(std::uint64_t t, std::size_t products) {
  ExactSession<S> session(t, {.slots_only = true});
  Values expected = session.client.uniform(2 * session.client.places());
  Ciphertext x = in_slots(session, expected, {2});
  for (std::size_t i = 0; i < products; ++i) {
    Values factor = session.client.uniform(expected.size());
    x = i % 3 == 2 ? session.automatic.square(x)
                   : session.automatic.multiply(x, in_slots(session, factor, {2}));
    expected = product(expected, i % 3 == 2 ? expected : factor, t);
    ASSERT_EQ(session.decrypt(x), expected) << "product " << i;
    EXPECT_LE(S::measured(x, session.client.secret), x.meta.noise_log2);
    EXPECT_GE(S::guaranteed(x), session.plan.needed_budget());
  }
  EXPECT_GT(session.automatic.bootstraps(), products / 4);
}

TEST(IntegerBootstrapOfSlots, ProductsOfBfvHaveNoEnd) { slots_multiply_without_end<Bfv>(257, 8); }
TEST(IntegerBootstrapOfSlots, ProductsOfBgvHaveNoEnd) { slots_multiply_without_end<Bgv>(7681, 8); }

TEST(IntegerBootstrapOfSlots, TakesLessThanAllCoefficientsAndRefusesThem) {
  ExactSession<Bfv> session(257, {.passes = 1, .slots_only = true});
  const IntegerBootstrap all(session.plan.parameters(), {.passes = 1});
  EXPECT_FALSE(all.slots_only());
  EXPECT_EQ(all.repetitions(), 1U);
  EXPECT_LT(session.plan.cost().products, 0.6 * static_cast<double>(all.cost().products));
  const Ciphertext x = session.encrypt(session.client.uniform());
  ASSERT_EQ(x.meta.encoding, rlwe::Encoding::coefficients);
  testing::expect_error<MismatchError>([&] { return session.bootstrapped(x); },
                                       {"slots only", "in coefficients"});
  EXPECT_EQ(session.evaluator.bootstraps(), 0U);
  // All coefficients are those of slots as well.
  const Values values = session.client.uniform();
  ExactSession<Bfv> whole(257, {.passes = 1});
  EXPECT_EQ(whole.decrypt(whole.bootstrapped(in_slots(whole, values))), values);
  testing::expect_error<ParameterError>(
      [] { IntegerBootstrap(exact_parameters<Bfv>(1 << 16), {.slots_only = true}); }, {"65536 has none"});
  EXPECT_THROW(IntegerBootstrap(exact_parameters<Bfv>(5), {.slots_only = true}), ParameterError);
  EXPECT_EQ(IntegerBootstrap(exact_parameters<Bfv>(65537), {.slots_only = true}).repetitions(), 1U);
}

template <typename S>
class IntegerSums : public ::testing::Test {
 protected:
  static constexpr std::uint64_t t = 257;

  // With so many guaranteed bits above those that a bootstrap needs.
  [[nodiscard]] Ciphertext with_bits(const Values& values, double bits) const {
    Ciphertext x = in_slots(session, values);
    x.meta.noise_log2 = S::capacity(x) - session.plan.needed_budget() - bits;
    return x;
  }
  [[nodiscard]] std::uint64_t bootstraps() const { return session.automatic.bootstraps(); }
  void expect(const Ciphertext& result, const Values& expected) const {
    EXPECT_EQ(session.decrypt(result), expected);
    EXPECT_GE(S::guaranteed(result), session.plan.needed_budget());
  }

  ExactSession<S> session{t, {.slots_only = true}};
  Values a = session.client.uniform(), b = session.client.uniform(), c = session.client.uniform();
};
using IntegerSchemes = ::testing::Types<Bfv, Bgv>;
TYPED_TEST_SUITE(IntegerSums, IntegerSchemes);

TYPED_TEST(IntegerSums, AnOperandOfSeveralProductsIsBootstrappedOnce) {
  const auto& ev = this->session.automatic;
  const auto& client = this->session.client;
  const Ciphertext x = this->with_bits(this->a, 4), y = this->with_bits(this->b, 4),
                   z = in_slots(this->session, this->c);
  const std::vector<const Ciphertext*> left = {&x, &x, &x}, right = {&y, &z, &x};
  Values expected = client.add(product(this->a, this->b, this->t), product(this->a, this->c, this->t));
  expected = client.add(expected, product(this->a, this->a, this->t));
  this->expect(ev.dot(left, right), expected);
  EXPECT_EQ(this->bootstraps(), 2U);
  // With another noisy operand it is the copy that meets it.
  const Ciphertext w = this->with_bits(this->c, 4);
  const std::vector<const Ciphertext*> same = {&x, &x}, noisy = {&y, &w};
  this->expect(ev.dot(same, noisy),
               client.add(product(this->a, this->b, this->t), product(this->a, this->c, this->t)));
  EXPECT_EQ(this->bootstraps(), 5U);
  // With plaintexts.
  const rlwe::Plaintext p = client.encode(this->b), q = client.encode(this->c);
  const std::vector<const Ciphertext*> both = {&x, &x};
  const std::vector<const rlwe::Plaintext*> factors = {&p, &q};
  this->expect(ev.dot(both, factors),
               client.add(product(this->a, this->b, this->t), product(this->a, this->c, this->t)));
  EXPECT_EQ(this->bootstraps(), 6U);
  // A ciphertext of size 3: relinearized and bootstrapped once.
  const typename TypeParam::Evaluator lazy(client.context, this->session.keys, rlwe::Relinearization::lazy,
                                           PreparedIntegerBootstrap::refresh(this->session.prepared));
  Ciphertext large = lazy.multiply(in_slots(this->session, this->a), z);
  ASSERT_EQ(large.size(), 3U);
  large.meta.noise_log2 = TypeParam::capacity(large) - this->session.plan.needed_budget() - 4;
  const Values of_large = product(this->a, this->c, this->t);
  const std::vector<const Ciphertext*> twice = {&large, &large}, others = {&z, &large};
  this->expect(lazy.dot(twice, others),
               client.add(product(of_large, this->c, this->t), product(of_large, of_large, this->t)));
  EXPECT_EQ(lazy.bootstraps(), 1U);
  // What is given stays as it is.
  EXPECT_EQ(x.meta.noise_log2, TypeParam::capacity(x) - this->session.plan.needed_budget() - 4);
  EXPECT_EQ(large.size(), 3U);
}

TYPED_TEST(IntegerSums, SumsOfManyProductsKeepWhatABootstrapNeeds) {
  const auto& ev = this->session.automatic;
  const auto& client = this->session.client;
  const Ciphertext x = in_slots(this->session, this->a);
  // A product by a plaintext that would leave three bits: enough for 8 of them, and not for 64.
  Ciphertext low = this->with_bits(this->a, 0);
  const rlwe::Plaintext p = client.encode(this->b);
  const double factor = rlwe::plaintext_factor_log2(client.degree(), this->t);
  low.meta.noise_log2 -= factor + 3.01;
  for (const auto& [count, bootstraps] : {std::pair{8, 0}, std::pair{64, 1}}) {
    const std::vector<const Ciphertext*> operands(static_cast<std::size_t>(count), &low);
    const std::vector<const rlwe::Plaintext*> factors(static_cast<std::size_t>(count), &p);
    const std::uint64_t before = this->bootstraps();
    this->expect(ev.dot(operands, factors), client.scale(product(this->a, this->b, this->t), count));
    EXPECT_EQ(this->bootstraps() - before, static_cast<std::uint64_t>(bootstraps));
  }
}

TYPED_TEST(IntegerSums, SumsBootstrapWhatWouldBeTooNoisy) {
  const auto& ev = this->session.automatic;
  const auto& client = this->session.client;
  const Values sum = client.add(this->a, this->b);
  const Ciphertext enough = this->with_bits(this->a, 1.01), other = this->with_bits(this->b, 1.01);
  this->expect(ev.add(enough, other), sum);
  EXPECT_EQ(this->bootstraps(), 0U);
  // The noisier one is enough; at the border both are not.
  const Ciphertext least = this->with_bits(this->a, 0.5), little = this->with_bits(this->b, 0.6);
  this->expect(ev.add(least, little), sum);
  EXPECT_EQ(this->bootstraps(), 1U);
  this->expect(ev.subtract(little, least), client.subtract(this->b, this->a));
  EXPECT_EQ(this->bootstraps(), 2U);
  this->expect(ev.add(least, least), client.add(this->a, this->a));
  EXPECT_EQ(this->bootstraps(), 3U);
  Ciphertext inplace = least.clone();
  ev.add_inplace(inplace, in_slots(this->session, this->b));
  this->expect(inplace, sum);
  const Ciphertext none = this->with_bits(this->a, 0);
  const std::uint64_t before = this->bootstraps();
  this->expect(ev.add(none, this->with_bits(this->b, 0)), sum);
  EXPECT_EQ(this->bootstraps(), before + 2);
  // At another level, and BGV's with another correction factor, whose balance makes both noisier.
  Ciphertext lower = this->session.evaluator.rescale(in_slots(this->session, this->b));
  lower.meta.noise_log2 = TypeParam::capacity(lower) - this->session.plan.needed_budget() - 0.3;
  this->expect(ev.add(this->with_bits(this->a, 0), lower), sum);
  EXPECT_GE(this->bootstraps(), before + 3);
  EXPECT_LE(this->bootstraps(), before + 4);
  // Many: again and again.
  const std::uint64_t between = this->bootstraps();
  const Ciphertext term = this->with_bits(this->a, 3);
  const std::vector<const Ciphertext*> terms(40, &term);
  this->expect(ev.add_many(terms), client.scale(this->a, 40));
  EXPECT_GE(this->bootstraps(), between + 1);
  EXPECT_LE(this->bootstraps(), between + 6);
}

TYPED_TEST(IntegerSums, WhatABootstrapDoesNotTakeIsAddedAsItIs) {
  const auto& ev = this->session.automatic;
  const auto& client = this->session.client;
  const Ciphertext x = this->with_bits(this->a, -1);
  EXPECT_EQ(this->session.decrypt(ev.add(x, x)), client.scale(this->a, 2));
  EXPECT_EQ(this->session.decrypt(ev.add(this->with_bits(this->b, 0), x)), client.add(this->a, this->b));
  // The noise of plaintexts and numbers is nothing to it.
  Ciphertext least = this->with_bits(this->a, 0);
  ev.add_plain_inplace(least, client.encode(this->b));
  ev.add_scalar_inplace(least, 5);
  this->expect(least, client.add(client.add(this->a, this->b), client.constant(5)));
  EXPECT_EQ(this->bootstraps(), 0U);
}

TYPED_TEST(IntegerSums, SumsOfSlotsBootstrapOnce) {
  auto& client = this->session.client;
  rlwe::EvaluationKeys keys = this->session.keys;
  keys.merge(rlwe::generate_keys(
      client.secret, {.rotations = rlwe::rotations_for_sum(client.context->parameters(), client.places()),
                      .conjugation = true}));
  const typename TypeParam::Evaluator ev(client.context, keys, rlwe::Relinearization::eager,
                                         PreparedIntegerBootstrap::refresh(this->session.prepared));
  std::uint64_t total = 0;
  for (const std::uint64_t value : this->a) total += value;
  this->expect(ev.sum_slots(this->with_bits(this->a, 2)), client.constant(total % this->t));
  EXPECT_EQ(ev.bootstraps(), 1U);
  this->expect(ev.sum_slots(in_slots(this->session, this->a)), client.constant(total % this->t));
  EXPECT_EQ(ev.bootstraps(), 1U);
}

}  // namespace
}  // namespace hemera::circuits::exact::integer_bootstrap_slots_tests
