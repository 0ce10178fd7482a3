// Bootstraps of BFV and BGV against exact polynomials, measured noise and its law.
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "circuits/integer_bootstrap_support.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/transfer.hpp"

namespace hemera::circuits::exact::integer_bootstrap_tests {
namespace {

template <typename S>
void keeps_all_polynomials(std::uint64_t t, const char* preset = usual) {
  SCOPED_TRACE(t);
  ExactSession<S> session(t, {.passes = 1}, preset);
  const std::size_t n = session.client.degree();
  const std::vector<Values> inputs = session.client.inputs(n);
  Values all;
  for (const Values& input : inputs) all.insert(all.end(), input.begin(), input.end());
  const Ciphertext fresh = session.bootstrapped(session.encrypt(all, {inputs.size()}));
  EXPECT_EQ(session.decrypt(fresh), all);
  EXPECT_EQ(fresh.meta.level, session.plan.result_level());
  EXPECT_LE(S::measured(fresh, session.client.secret), fresh.meta.noise_log2);
  EXPECT_NEAR(S::guaranteed(fresh), session.plan.budget_left(), 1e-9);
  EXPECT_EQ(n * inputs.size(), all.size());
}

TEST(IntegerBootstrap, KeepsAllPolynomialsWhateverThePlainModulus) {
  for (const std::uint64_t t : {2UL, 3UL, 65537UL, 1UL << 32}) keeps_all_polynomials<Bfv>(t);
  for (const std::uint64_t t : {2UL, 1UL << 32}) keeps_all_polynomials<Bgv>(t);
  for (const char* preset : {precise, plain}) {
    keeps_all_polynomials<Bfv>(1UL << 32, preset);
    keeps_all_polynomials<Bgv>(257, preset);
  }
}

template <typename S>
void multiplies_without_end(std::uint64_t t, std::size_t products, const char* preset = usual) {
  ExactSession<S> session(t, {}, preset);
  Values expected = session.client.uniform();
  Ciphertext x = session.encrypt(expected);
  for (std::size_t i = 0; i < products; ++i) {
    const Values factor = session.client.uniform();
    x = i % 3 == 2 ? session.automatic.square(x) : session.automatic.multiply(x, session.encrypt(factor));
    expected = polynomial_product(expected, i % 3 == 2 ? expected : factor, t);
    ASSERT_EQ(session.decrypt(x), expected) << "product " << i;
    EXPECT_LE(S::measured(x, session.client.secret), x.meta.noise_log2);
    EXPECT_GE(S::guaranteed(x), session.plan.needed_budget());
  }
  EXPECT_GT(session.automatic.bootstraps(), products / 4);
}

TEST(IntegerBootstrap, ProductsHaveNoEnd) {
  multiplies_without_end<Bfv>(65537, 12);
  multiplies_without_end<Bgv>(65537, 12);
  EXPECT_EQ(IntegerBootstrap(exact_parameters<Bfv>(65537, precise)).passes(), 1U);
  multiplies_without_end<Bfv>(65537, 8, precise);
  multiplies_without_end<Bfv>(65537, 8, plain);
}

// The noise after passes follows 2^-(R + p + shift), whatever t, from noise that fills the range.
template <typename S>
void follows_the_law(std::uint64_t t, std::size_t passes, const char* preset = usual) {
  SCOPED_TRACE(::testing::Message() << "t = " << t << ", passes " << passes);
  ExactSession<S> session(t, {.passes = passes}, preset);
  const Values values = session.client.uniform();
  double sum = 0;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    Ciphertext x = session.encrypt(values);
    add_noise(session, x, 0.98);
    EXPECT_NEAR(session.measured(x), -session.plan.ratio_bits() + std::log2(0.98), 0.01);
    const Ciphertext fresh = session.bootstrapped(x);
    ASSERT_EQ(session.decrypt(fresh), values);
    EXPECT_LT(session.measured(fresh), fresh.meta.noise_log2 - 1 - S::capacity(fresh));
    sum += noise_deviation_log2(session, fresh);
  }
  const IntegerBootstrap& plan = session.plan;
  const double law = plan.ratio_bits() + plan.precision_bits() + plan.shifts().back();
  EXPECT_GT(-sum / rounds, law - 0.3);
  // Later passes meet small noise, of which the arcsine leaves less.
  EXPECT_LT(-sum / rounds, law + 0.3 * static_cast<double>(passes));
}

TEST(IntegerBootstrap, LeavesTheNoiseThatTheModelSays) {
  follows_the_law<Bfv>(3, 1);
  follows_the_law<Bfv>(65537, 2);
  follows_the_law<Bgv>(65537, 2);
  EXPECT_GT(IntegerBootstrap(exact_parameters<Bfv>(257, precise)).precision_bits(), 40);
  follows_the_law<Bfv>(1UL << 32, 1, precise);
  follows_the_law<Bfv>(257, 2, precise);
  follows_the_law<Bgv>(65537, 1, precise);
  follows_the_law<Bfv>(65537, 2, plain);
  follows_the_law<Bgv>(257, 3, plain);
}

template <typename S>
void takes_all_of_the_users_levels_and_sizes() {
  ExactSession<S> session(65537, {.passes = 1});
  const Values values = session.client.uniform();
  Ciphertext x = session.encrypt(values);
  for (std::size_t level = session.plan.result_level();; --level) {
    ASSERT_EQ(x.meta.level, level);
    const Ciphertext fresh = session.bootstrapped(x);
    EXPECT_EQ(session.decrypt(fresh), values) << "from level " << level;
    EXPECT_EQ(fresh.meta.level, session.plan.result_level());
    EXPECT_LE(S::measured(fresh, session.client.secret), fresh.meta.noise_log2);
    // What it computes with next.
    EXPECT_EQ(session.decrypt(session.evaluator.add(fresh, session.encrypt(values))),
              session.client.add(values, values));
    if (level == 0) break;
    x = session.evaluator.rescale(x);
  }
  const typename S::Evaluator lazy(session.client.context, session.keys, rlwe::Relinearization::lazy);
  const Ciphertext product = lazy.square(session.encrypt(values));
  ASSERT_EQ(product.size(), 3U);
  EXPECT_EQ(session.decrypt((*session.prepared)(lazy, product)), polynomial_product(values, values, 65537));
}

TEST(IntegerBootstrap, TakesAllOfTheUsersLevelsAndSizes) {
  takes_all_of_the_users_levels_and_sizes<Bfv>();
  takes_all_of_the_users_levels_and_sizes<Bgv>();
}

TEST(IntegerBootstrap, KeepsAnyCorrectionFactor) {
  const std::uint64_t t = 257;
  ExactSession<Bgv> session(t, {.passes = 1});
  const Values values = session.client.uniform();
  for (const std::uint64_t unit : {2UL, 128UL, 256UL}) {
    for (const bool is_low : {false, true}) {
      // A ciphertext of the values whose factor is the unit: one of unit times the values without a factor.
      Ciphertext x = session.encrypt(session.client.scale(values, static_cast<std::int64_t>(unit)));
      x.meta.correction = unit;
      if (is_low) x = session.evaluator.rescale(x);
      ASSERT_EQ(session.decrypt(x), values);
      EXPECT_EQ(session.decrypt(session.bootstrapped(x)), values) << unit;
    }
  }
}

template <typename S>
void refuses_noise_beyond_the_range() {
  ExactSession<S> session(65537, {.passes = 1});
  Ciphertext x = session.encrypt(session.client.uniform());
  const std::uint64_t before = session.evaluator.bootstraps();
  x.meta.noise_log2 = S::capacity(x) - session.plan.needed_budget() + 0.1;
  testing::expect_error<NoiseError>([&] { return session.bootstrapped(x); },
                                    {"8.4 bits of guaranteed noise budget", "needs 8.5"});
  x.meta.noise_log2 = rlwe::unknown_noise;
  testing::expect_error<NoiseError>([&] { return session.bootstrapped(x); }, {"0.0 bits"});
  EXPECT_EQ(session.evaluator.bootstraps(), before);
  x.meta.noise_log2 = S::capacity(x) - session.plan.needed_budget();
  static_cast<void>(session.bootstrapped(x));
  EXPECT_EQ(session.evaluator.bootstraps(), before + 1);
  const typename S::Evaluator keyless(session.client.context, session.client.keys);
  EXPECT_THROW(static_cast<void>((*session.prepared)(keyless, x)), MissingKeyError);
  ExactSession<S> other(65537, {.passes = 1});
  EXPECT_THROW(static_cast<void>(other.bootstrapped(x)), MismatchError);
}

TEST(IntegerBootstrap, RefusesNoiseBeyondTheRange) {
  refuses_noise_beyond_the_range<Bfv>();
  refuses_noise_beyond_the_range<Bgv>();
}

// Keys of the circuit, whose errors are no multiples of t, belong to the other context's circuit too.
template <typename S>
void keys_go_to_other_contexts() {
  ExactSession<S> session(65537, {.passes = 1});
  const auto context = tests::make_context(session.plan.parameters());
  const Values values = session.client.uniform();
  const Ciphertext x = session.encrypt(values);
  const PreparedIntegerBootstrap prepared(context, session.plan);
  for (const rlwe::EvaluationKeys& keys :
       {rlwe::copy_to(context, session.keys), io::load_evaluation_keys(context, io::save(session.keys))}) {
    const Ciphertext fresh = prepared(typename S::Evaluator(context, keys), rlwe::copy_to(context, x));
    const Ciphertext back = rlwe::copy_to(session.client.context, fresh);
    EXPECT_EQ(session.decrypt(back), values);
    EXPECT_LE(S::measured(back, session.client.secret), back.meta.noise_log2);
    rlwe::EvaluationKeys added;
    added.context = context;
    const rlwe::KeyRole role{.from = rlwe::circuit_secret, .to = rlwe::ephemeral_secret};
    const auto& key = keys.switching.at(role).begin()->second;
    added.add(role, key);
    EXPECT_THROW(added.add({.from = 0, .to = rlwe::ephemeral_secret}, key), MismatchError);
  }
}

TEST(IntegerBootstrap, KeysGoToOtherContexts) {
  keys_go_to_other_contexts<Bfv>();
  keys_go_to_other_contexts<Bgv>();
}

TEST(IntegerBootstrap, RefusesWhatTheModulusDoesNotHold) {
  const rlwe::Parameters parameters = exact_parameters<Bfv>(65537);
  testing::expect_error<ParameterError>([&] { IntegerBootstrap(parameters, {.passes = 9}); },
                                        {"2 passes at most", "bits of budget"});
  testing::expect_error<ParameterError>([&] { IntegerBootstrap(parameters, {.budget = 120}); },
                                        {"passes at most"});
  EXPECT_THROW(IntegerBootstrap(parameters, {.failure_bits = 39}), ParameterError);
  EXPECT_THROW(IntegerBootstrap(parameters, {.failure_bits = 129}), ParameterError);
  const rlwe::Parameters usual = testing::test_chain<Bfv>(65537, 3);
  testing::expect_error<ParameterError>([&] { IntegerBootstrap{usual}; }, {"no levels of a circuit"});
  BootstrapSettings settings = integer_bootstrap_preset("bfv11-test");
  const auto make = [&](rlwe::Scheme scheme, std::uint64_t t) {
    return parameters_for_bootstrapping(scheme, t, settings);
  };
  EXPECT_THROW(make(rlwe::Scheme::ckks, 2), ParameterError);
  EXPECT_THROW(make(rlwe::Scheme::bfv, 1), ParameterError);
  EXPECT_THROW(make(rlwe::Scheme::bfv, 1UL << 54), ParameterError);
  EXPECT_THROW(make(rlwe::Scheme::bfv, parameters.literal().levels[0][0]), ParameterError);
  settings.scale_bits = 42;  // levels of two sizes share no primes
  testing::expect_error<ParameterError>([&] { make(rlwe::Scheme::bfv, 257); }, {"not all in level"});
  settings.order = BootstrapOrder::slots_first;
  testing::expect_error<ParameterError>([&] { make(rlwe::Scheme::bfv, 257); }, {"order standard"});
  EXPECT_THROW(integer_bootstrap_preset("n16-40"), ParameterError);
}

TEST(IntegerBootstrap, PassesAreAsManyAsTheBudgetNeeds) {
  const rlwe::Parameters parameters = exact_parameters<Bfv>(65537);
  const IntegerBootstrap one(parameters, {.passes = 1}), two(parameters, {.passes = 2});
  EXPECT_EQ(one.shifts(), (std::vector<int>{0}));
  EXPECT_EQ(IntegerBootstrap(parameters, {.budget = one.budget_left()}).passes(), 1U);
  EXPECT_EQ(IntegerBootstrap(parameters, {.budget = one.budget_left() + 0.01}).passes(), 2U);
  EXPECT_EQ(IntegerBootstrap(exact_parameters<Bfv>(2)).passes(), 1U);
  EXPECT_EQ(IntegerBootstrap(parameters).passes(), 2U);
  EXPECT_EQ(two.cost().products, 2 * one.cost().products);
  // sqrt(2 ln(2 N / f)) of 2^-40 and 2^-128, f per ciphertext.
  const IntegerBootstrap safe(parameters, {.passes = 1, .failure_bits = 128});
  EXPECT_NEAR(one.budget_left() - safe.budget_left(), 0.5 * std::log2((12 + 128) / (12 + 40.0)), 1e-9);
  EXPECT_NEAR(safe.failure_log2(), -128, 0.1);
  EXPECT_NEAR(one.failure_log2(), -40, 1e-9);
}

// One prime of q_0 meets all errors of the key to the ephemeral secret, two digits of 27 bits hardly any:
// what they add to the variance is N / 12 sigma^2 (q_0 / P)^2, and what CoeffToSlot and the division to q_0
// round.
TEST(IntegerBootstrap, CountsTheErrorsOfTheKeyToTheEphemeralSecret) {
  BootstrapSettings settings = integer_bootstrap_preset("bfv11-test");
  settings.degree = std::size_t{1} << 14;
  const auto variance = [&](double last_bits) {
    settings.last_bits = last_bits;
    const rlwe::Parameters parameters = parameters_for_bootstrapping(rlwe::Scheme::bfv, 257, settings);
    return std::exp2(-2 * IntegerBootstrap(parameters, {.passes = 1}).precision_bits());
  };
  const auto n = static_cast<double>(settings.degree);
  const double key = n / 12 * 3.19 * 3.19, division = (1 + 2 * n / 3) / 12,
               scale = std::exp2(50 - settings.ratio_bits);
  EXPECT_NEAR((variance(50) - variance(54)) * scale * scale / (key + division * (1 - 0x1p-8)), 1, 0.2);
}

TEST(IntegerBootstrap, ProductsOfAllKindsBootstrapTheirOperands) {
  const std::uint64_t t = 257;
  ExactSession<Bfv> session(t);
  const Values values = session.client.uniform(session.client.degree());
  Ciphertext x = session.encrypt(values);
  const double low = Bfv::capacity(x) - session.plan.kept_budget() - 3;
  const auto is_refreshed = [&](const Ciphertext& result, const Values& expected) {
    EXPECT_EQ(session.decrypt(result), expected);
    return Bfv::guaranteed(result) > session.plan.kept_budget();
  };
  x.meta.noise_log2 = low;
  const rlwe::Plaintext plain = session.client.encode(values, {}, rlwe::Encoding::coefficients);
  const Values square = polynomial_product(values, values, t);
  EXPECT_TRUE(is_refreshed(session.automatic.multiply_plain(x, plain), square));
  EXPECT_EQ(session.automatic.bootstraps(), 1U);
  EXPECT_TRUE(is_refreshed(session.automatic.square(x), square));
  EXPECT_EQ(session.automatic.bootstraps(), 2U);  // once, though it is both operands
  const Ciphertext fresh = session.encrypt(values);
  EXPECT_TRUE(is_refreshed(session.automatic.multiply(fresh, x), square));
  EXPECT_EQ(session.automatic.bootstraps(), 3U);  // the fresh one would gain nothing
  EXPECT_TRUE(is_refreshed(session.automatic.multiply_scalar(x, 100), session.client.scale(values, 100)));
  EXPECT_EQ(session.automatic.bootstraps(), 4U);
  const Ciphertext sum = session.automatic.add(x, x);
  EXPECT_EQ(session.decrypt(sum), session.client.add(values, values));
  EXPECT_EQ(session.automatic.bootstraps(), 4U);
  // One that has what it needs stays as it is.
  static_cast<void>(session.automatic.square(fresh));
  EXPECT_EQ(session.automatic.bootstraps(), 4U);
}

}  // namespace
}  // namespace hemera::circuits::exact::integer_bootstrap_tests
