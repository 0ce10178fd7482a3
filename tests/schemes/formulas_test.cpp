// Every number that a scheme reports, beside the formula of its page: bounds on noise (docs/noise.md), what
// is shown to others (docs/ckks.md), and what follows from sizes.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "schemes/bfv/multiplier.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"
#include "schemes/noise_formulas.hpp"

namespace hemera::testing::formulas_tests {
namespace {

using rlwe::BfvMultiplication;
using rlwe::Ciphertext;

// 1.0823 of docs/noise.md is 1 / 0.9238 in the code.
constexpr double rounded_constants = 1e-3;

void expect_bound(const Ciphertext& x, double bound) {
  EXPECT_NEAR(x.meta.noise_log2, std::log2(bound), rounded_constants);
}

template <typename S>
void check_bounds(const rlwe::Parameters& parameters) {
  const Session<S> session(parameters, true), other(parameters);
  const Session<S> lazy(parameters, true, rlwe::Relinearization::lazy);
  const NoiseFormulas noise(*session.context);
  const auto& evaluator = session.evaluator;
  const std::size_t top = session.context->top_level();
  const auto natural = session.natural_encoding();
  const rlwe::Plaintext plain = session.encode(session.constant(2));
  const Ciphertext x = session.encrypt(session.constant(1)), y = S::encrypt(plain, session.secret);
  const double a = noise.fresh(true), b = noise.fresh(false);
  expect_bound(x, a);
  expect_bound(y, b);
  EXPECT_NEAR(S::guaranteed(x), noise.budget(a, top), rounded_constants);

  expect_bound(evaluator.add(x, y), a + b);
  expect_bound(evaluator.subtract(x, y), a + b);
  const std::vector<const Ciphertext*> three = {&x, &y, &x};
  expect_bound(evaluator.add_many(three), 2 * a + b);
  expect_bound(evaluator.negate(x), a);

  Ciphertext z = evaluator.add_plain(x, plain);
  expect_bound(z, a + noise.message(noise.t / 2));
  z = x.clone();
  evaluator.subtract_plain_inplace(z, plain);
  expect_bound(z, a + noise.message(noise.t / 2));
  const auto half = static_cast<std::int64_t>(parameters.plain_modulus() / 2);
  for (const std::int64_t number : {std::int64_t{1}, std::int64_t{-5}, half, half + 1, -half}) {
    SCOPED_TRACE(number);
    const auto t = static_cast<std::int64_t>(parameters.plain_modulus());
    const std::int64_t residue = ((number % t) + t) % t;
    const auto size = static_cast<double>(residue > t / 2 ? t - residue : residue);
    z = x.clone();
    evaluator.add_scalar_inplace(z, number);
    expect_bound(z, a + noise.message(size));
    z = x.clone();
    evaluator.multiply_scalar_inplace(z, number);
    expect_bound(z, a * size);
  }
  expect_bound(evaluator.multiply_plain(x, plain), a * noise.n * noise.t / 2);
  const std::vector<const Ciphertext*> two = {&x, &y};
  const std::vector<const rlwe::Plaintext*> plains = {&plain, &plain};
  expect_bound(evaluator.dot(two, plains), (a + b) * noise.n * noise.t / 2);

  // Products: BGV chooses the level; operands are switched down to it.
  const auto literal = parameters.literal();
  const std::size_t primes = literal.levels[top].size();
  double rho = 0.5, rounded = 0;
  if (literal.bfv_multiplication == BfvMultiplication::behz) rho = static_cast<double>(primes) / 2;
  if (literal.bfv_multiplication == BfvMultiplication::hps_over_q) {
    double auxiliary = 0;
    const poly::RnsBase& all = session.context->auxiliary();
    for (std::size_t i = 0; auxiliary < std::log2(noise.modulus(top)) - 2; ++i) {
      auxiliary += std::log2(static_cast<double>(all.modulus(i).value()));
    }
    rounded = noise.modulus(top) / std::exp2(auxiliary) * noise.rounding(2, 0.5);
  }
  const Ciphertext product = lazy.evaluator.multiply(lazy.encrypt(lazy.constant(1)),
                                                     S::encrypt(lazy.encode(lazy.constant(2)), lazy.secret));
  ASSERT_EQ(product.size(), 3U);
  const std::size_t level = product.meta.level;
  const double ab =
      noise.product(noise.lowered(a, top, level), noise.lowered(b, top, level), level, rho, rounded);
  expect_bound(product, ab);
  Ciphertext relinearized = product.clone();
  lazy.evaluator.relinearize_inplace(relinearized);
  expect_bound(relinearized, ab + noise.switching(level));
  expect_bound(evaluator.multiply(x, y), ab + noise.switching(level));
  expect_bound(
      evaluator.dot(two, std::vector<const Ciphertext*>{&y, &x}),
      ab + noise.product(noise.lowered(b, top, level), noise.lowered(a, top, level), level, rho, rounded) +
          noise.switching(level));
  if (level > 0) expect_bound(lazy.evaluator.rescale(product), noise.switched(ab, level, 3));
  // Operands with less noise than any fresh one has, and with so much that products of it count.
  for (const double bits : {0.0, std::log2(noise.modulus(top)) - 3}) {
    Ciphertext one = lazy.encrypt(lazy.constant(1)), other_one = one.clone();
    one.meta.noise_log2 = bits;
    other_one.meta.noise_log2 = bits - 1;
    for (const bool first : {true, false}) {
      const Ciphertext &u = first ? one : other_one, &v = first ? other_one : one;
      const Ciphertext uv = lazy.evaluator.multiply(u, v);
      const std::size_t at = uv.meta.level;
      if (at != top) continue;
      expect_bound(
          uv, noise.product(std::exp2(u.meta.noise_log2), std::exp2(v.meta.noise_log2), at, rho, rounded));
    }
  }
  // A sum of different factors multiplies both operands: by what its own factor is made of.
  Ciphertext switched = evaluator.rescale(x), beside = y.clone();
  evaluator.drop_to_level_inplace(beside, top - 1);
  switched.meta.correction = beside.meta.correction = 1;
  switched.meta.noise_log2 = 30;
  beside.meta.noise_log2 = 31;
  if (noise.is_bgv() && session.t.value() > 4) {
    switched.meta.correction = session.t.value() / 2 - 1 + (session.t.value() % 2 == 0 ? 0 : 1);
    while (std::gcd(switched.meta.correction, session.t.value()) != 1) ++switched.meta.correction;
    const Ciphertext sum = evaluator.add(switched, beside);
    const auto factor = [&](const Ciphertext& of) {
      const std::uint64_t inverse = arith::inverse(of.meta.correction, session.t.value());
      return std::abs(
          static_cast<double>(session.t.centered(session.t.multiply(sum.meta.correction, inverse))));
    };
    EXPECT_GT(factor(switched) * factor(beside), 1);
    expect_bound(sum, factor(switched) * 0x1p30 + factor(beside) * 0x1p31);
  }

  // Levels.
  expect_bound(evaluator.rescale(x), noise.switched(a, top));
  Ciphertext low = x.clone();
  evaluator.drop_to_level_inplace(low, 0);
  expect_bound(low, noise.lowered(a, top, 0));
  EXPECT_NEAR(S::guaranteed(low), noise.budget(noise.lowered(a, top, 0), 0), rounded_constants);
  const Ciphertext small = evaluator.shrink(x);
  expect_bound(small, noise.lowered(a, top, small.meta.level));
  if (natural == rlwe::Encoding::slots) {
    expect_bound(evaluator.rotate(x, 1), a + noise.switching(top));
    expect_bound(evaluator.conjugate(x), a + noise.switching(top));
    expect_bound(evaluator.rotate(low, 1), noise.lowered(a, top, 0) + noise.switching(0));
    const std::vector<std::int64_t> steps = {1, 2};
    for (const Ciphertext& each : evaluator.rotate_hoisted(x, steps)) {
      expect_bound(each, a + noise.switching(top));
    }
    // log2(N) sums of a rotation, the last of the exchanged rows.
    double sum = a;
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::countr_zero(parameters.degree())); ++i) {
      sum = 2 * sum + noise.switching(top);
    }
    expect_bound(evaluator.sum_slots(x), sum);
  }
  const rlwe::SwitchingKey key =
      rlwe::generate_switching_key(session.secret, rlwe::generate_secret_key(session.context), top);
  expect_bound(evaluator.reencrypt(x, key), a + noise.switching(top));
}

rlwe::Parameters with_variant(const rlwe::Parameters& parameters, BfvMultiplication variant) {
  auto literal = parameters.literal();
  literal.bfv_multiplication = variant;
  return rlwe::Parameters(std::move(literal));
}

TEST(NoiseFormula, OfEveryOperationOfBfv) {
  for (const BfvMultiplication variant :
       {BfvMultiplication::behz, BfvMultiplication::hps, BfvMultiplication::hps_over_q}) {
    SCOPED_TRACE(static_cast<int>(variant));
    check_bounds<Bfv>(with_variant(test_chain<Bfv>(65537, 4, 2, 2), variant));
    // The rounding of the division counts where t and the degree are small and primes many.
    check_bounds<Bfv>(with_variant(test_chain<Bfv>(3, 8, 1, 0, 1024, 30), variant));
  }
}

TEST(NoiseFormula, OfEveryOperationOfBgv) {
  check_bounds<Bgv>(test_chain<Bgv>(65537, 4, 2, 2));
  check_bounds<Bgv>(test_chain<Bgv>(std::uint64_t{1} << 16, 3));
  check_bounds<Bgv>(test_chain<Bgv>(3, 4, 1, 0, 1024, 30));
  // An even modulus that is small: its rounding is far from half of it.
  check_bounds<Bgv>(test_chain<Bgv>(4, 4, 1, 0, 1024, 30));
}

// docs/ckks.md, "How large the noise is".
void check_bounds_of_ckks(const rlwe::Context& context) {
  const NoiseFormulas noise(context);
  double scale = HUGE_VAL, switching = 0;
  for (std::size_t level = 0; level <= context.top_level(); ++level) {
    scale = std::min(scale, context.scales().level_scale(level));
    switching = std::max(switching, noise.switching(level));
  }
  const auto in_slots = [&](double x) { return std::sqrt(noise.n) * x / scale; };
  const double key_switch = in_slots(switching), rounding = in_slots(noise.rounding(2, 0.5));
  for (const double largest : {0.01, 1.0, 300.0}) {
    for (const std::size_t terms : {1, 7}) {
      const auto many = static_cast<double>(terms);
      double bound = in_slots(noise.fresh_error(true)) + key_switch;
      EXPECT_NEAR(ckks::noise_bound(context, 0, largest, terms) / (many * bound), 1, 1e-3);
      for (std::size_t depth = 1; depth <= context.top_level(); ++depth) {
        const double a = bound + rounding;
        bound = many * (2 * largest * a + std::sqrt(noise.n / 2) * a * a + 2 * key_switch) + rounding;
        EXPECT_NEAR(ckks::noise_bound(context, depth, largest, terms) / bound, 1, 1e-3) << depth;
      }
    }
  }
}

TEST(NoiseFormula, OfCircuitsOfCkks) {
  for (const std::size_t digits : {1, 3}) {
    check_bounds_of_ckks(*tests::make_context(ckks::small_parameters(3, digits)));
  }
}

// Levels that are no parts of each other: the lower one has the longer prime, so the noisier key switch.
TEST(NoiseFormula, OfCircuitsOfCkksWhoseLowerLevelsAreNoisier) {
  rlwe::ParametersLiteral literal =
      ckks::parameters_from_drops(
          {.degree = 1024, .last_bits = 49, .drops = {10}, .scale = 0x1p20, .security = std::nullopt})
          .literal();
  literal.special_primes.resize(1);  // little longer than the longest digit
  literal.roots.clear();
  literal.digits.clear();
  for (const auto& level : literal.levels) {
    for (const std::uint64_t prime : level) literal.digits.push_back({prime});
  }
  const auto context = tests::make_context(rlwe::Parameters(literal));
  const NoiseFormulas noise(*context);
  ASSERT_GT(noise.switching(0), 1.1 * noise.switching(context->top_level()));
  check_bounds_of_ckks(*context);
}

TEST(NoiseFormula, OfFlooding) {
  const ckks::Session session(ckks::small_parameters(2));
  const double n = 1024;
  for (const std::size_t slots : {8, 512}) {
    const Ciphertext x = session.encrypt(ckks::random_values(slots, 3));
    for (const double bound : {0x1p-30, 0x1p-20}) {
      for (const int bits : {1, 20, 41}) {
        for (const std::size_t shares : {1, 5}) {
          const double t = bound * x.meta.scale + std::sqrt(n) / 2;
          const double deviation = std::sqrt(12.0 * static_cast<double>(shares)) * std::exp2(bits / 2.0) * t;
          EXPECT_NEAR(ckks::sharing_deviation(x, bound, bits, shares) /
                          (std::sqrt(2.0 * static_cast<double>(slots)) * deviation / x.meta.scale),
                      1, 1e-12);
        }
      }
    }
  }
}

// Each of them decides the seed: floods of two decryptions that differ in one are no multiples of each other.
TEST(CkksFlooding, DependsOnEverythingThatIsAskedFor) {
  const ckks::Session session(ckks::parameters_for({.depth = 2,
                                                    .scale_bits = 60,
                                                    .slots = 512,
                                                    .sharing_bits = 40,
                                                    .degree = 1024,
                                                    .security = std::nullopt}));
  const Ciphertext x = session.encrypt(ckks::random_values(512, 4));
  struct Request {
    double bound = 0x1p-45;
    int bits = 40;
    std::size_t shares = 1;
  };
  const auto flood = [&](const Ciphertext& a, const Request& r) {
    const ckks::Values exact = session.encoder->decode(ckks::decrypt(a, session.secret));
    ckks::Values shown =
        session.encoder->decode(ckks::decrypt_for_sharing(a, session.secret, r.bound, r.bits, r.shares));
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] -= exact[i];
    return shown;
  };
  const auto correlation = [](const ckks::Values& a, const ckks::Values& b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      ab += (a[i] * std::conj(b[i])).real();
      aa += std::norm(a[i]);
      bb += std::norm(b[i]);
    }
    return std::abs(ab) / std::sqrt(aa * bb);
  };
  const ckks::Values base = flood(x, {});
  EXPECT_GT(correlation(base, flood(x, {})), 0.999);
  EXPECT_LT(correlation(base, flood(x, {.bits = 41})), 0.3);
  EXPECT_LT(correlation(base, flood(x, {.shares = 2})), 0.3);
  EXPECT_LT(correlation(base, flood(x, {.bound = 0x1.1p-45})), 0.3);
  for (const auto& change : std::vector<std::function<void(rlwe::Metadata&)>>{
           [](rlwe::Metadata& meta) { meta.scale *= 1.01; },
           [](rlwe::Metadata& meta) { meta.noise_scale_degree = 2; },
           [](rlwe::Metadata& meta) { meta.slots = 256; }}) {
    Ciphertext y = x.clone();
    change(y.meta);
    EXPECT_LT(correlation(base, flood(y, {})), 0.3);
  }
  Ciphertext low = x.clone();
  session.evaluator->drop_to_level_inplace(low, 1);
  EXPECT_LT(correlation(base, flood(low, {})), 0.3);
}

// A value whose coefficient is half the modulus is the first that wraps.
TEST(CkksEncoding, TakesValuesUpToHalfTheModulus) {
  const auto context = tests::make_context(ckks::small_parameters(1));
  const ckks::Encoder encoder(context);
  for (std::size_t level = 0; level <= context->top_level(); ++level) {
    const double half = std::exp2(context->base(level).log2() - 1 - 40);
    const auto encode = [&](double value) {
      return encoder.encode(ckks::Values(1, value), {}, level, 0x1p40, HUGE_VAL);
    };
    const auto encode_imaginary = [&](double value) {
      return encoder.encode(ckks::Values(1, {0, value}), {}, level, 0x1p40, HUGE_VAL);
    };
    for (const double value : {half * 1.001, half * 1.5, half * 3}) {
      EXPECT_THROW(static_cast<void>(encode(value)), ParameterError) << value / half;
      EXPECT_THROW(static_cast<void>(encode_imaginary(value)), ParameterError) << value / half;
      EXPECT_THROW(static_cast<void>(encode_imaginary(-value)), ParameterError) << value / half;
      EXPECT_THROW(static_cast<void>(encoder.encode_number(value, level, 0x1p40)), ParameterError);
    }
    for (const double value : {half * 0.999, half * 0.6, -half * 0.999}) {
      EXPECT_NEAR(encoder.decode(encode(value)).front().real() / value, 1, 1e-9) << value / half;
      EXPECT_NEAR(encoder.decode(encode_imaginary(value)).front().imag() / value, 1, 1e-9) << value / half;
      EXPECT_NEAR(encoder.decode(encoder.encode_number(value, level, 0x1p40)).front().real() / value, 1,
                  1e-9);
    }
  }
}

// --- BFV and BGV: spent budgets, and who says so ---

template <typename S>
struct SpentBudget : ::testing::Test {};
using BothSchemes = ::testing::Types<Bfv, Bgv>;
TYPED_TEST_SUITE(SpentBudget, BothSchemes);

// A bound that was made lower does not help: the true noise must leave as many bits as were asked for.
TYPED_TEST(SpentBudget, SharingMeasuresTheBitsThatWereAskedFor) {
  Session<TypeParam> session(test_chain<TypeParam>(65537, 3));
  Ciphertext x = session.encrypt(session.uniform());
  for (int i = 0; i < 50 && TypeParam::budget(x, session.secret) > 25; ++i) {
    session.evaluator.multiply_scalar_inplace(x, 16);
  }
  x.meta.noise_log2 = 0;
  ASSERT_GT(TypeParam::guaranteed(x), 60);
  const double truth = TypeParam::budget(x, session.secret);
  ASSERT_GE(truth, 10);
  EXPECT_NO_THROW(static_cast<void>(TypeParam::share(x, session.secret, static_cast<int>(truth))));
  EXPECT_THROW(static_cast<void>(TypeParam::share(x, session.secret, static_cast<int>(truth) + 1)),
               NoiseError);
  EXPECT_THROW(static_cast<void>(TypeParam::share(x, session.secret, 40)), NoiseError);
}

TYPED_TEST(SpentBudget, PlaintextsAreForLevelsThatThereAre) {
  Session<TypeParam> session(test_chain<TypeParam>(65537, 2));
  const std::vector<std::int64_t> values = {1, 2};
  const auto slots = rlwe::Encoding::slots;
  EXPECT_NO_THROW(static_cast<void>(session.encoder.encode(values, {}, slots, session.context->top_level())));
  EXPECT_THROW(static_cast<void>(session.encoder.encode(values, {}, slots, session.context->top_level() + 1)),
               LevelError);
}

// --- CKKS: bounds that are declared, and what an evaluator refreshes ---

// Which ciphertexts are refreshed before a circuit of so many levels, and what the refresh is given: one
// level more is left of values of a declared bound, and values of none are supposed to have the given
// magnitude.
TEST(CkksBounds, RefreshesComeInTimeAndKeepTheBound) {
  const ckks::Session session(ckks::small_parameters(4));
  const std::size_t top = session.context->top_level(), fresh_level = top - 1;
  std::vector<rlwe::Metadata> given;
  const ckks::Evaluator evaluator(
      session.context, session.keys, rlwe::Relinearization::eager,
      ckks::Evaluator::Refresh{[&](const ckks::Evaluator&, const Ciphertext& a) {
                                 given.push_back(a.meta);
                                 return ckks::encrypt(
                                     session.encoder->encode(session.decrypt(a), {}, fresh_level, {},
                                                             a.meta.largest),
                                     session.secret);
                               },
                               fresh_level});
  const ckks::Values x = {7, -6.5, 0.25, 1};
  for (const double largest : {8.0, HUGE_VAL}) {
    for (std::size_t level = 0; level <= top; ++level) {
      for (const std::size_t levels : {std::size_t{0}, std::size_t{1}, std::size_t{2}, top}) {
        SCOPED_TRACE(std::to_string(largest) + ", " + std::to_string(level) + " of " +
                     std::to_string(levels));
        given.clear();
        const bool is_declared = std::isfinite(largest);
        const Ciphertext in =
            ckks::encrypt(session.encoder->encode(x, {}, level, {}, largest), session.secret);
        const auto out = evaluator.refreshed(in, levels, 8);
        const std::size_t needed = levels + (is_declared && levels > 0 && level < fresh_level ? 1 : 0);
        EXPECT_EQ(out.has_value(), level < needed);
        ASSERT_EQ(given.size(), out ? 1U : 0U);
        if (!out) continue;
        EXPECT_EQ(given.front().level, level);
        // At the lowest level nothing makes values smaller: what is not declared stays so.
        EXPECT_EQ(given.front().largest, is_declared || level > 0 ? 8 : HUGE_VAL);
        EXPECT_EQ(out->meta.largest, largest);
        EXPECT_EQ(out->meta.level, fresh_level);
        EXPECT_LT(session.error(*out, x), 1e-4);
      }
    }
  }
}

// --- Sizes ---

TEST(SizeFormula, OfCiphertextsAndKeys) {
  for (const rlwe::Parameters& parameters :
       {test_chain<Bfv>(65537, 4, 2, 2), test_chain<Bgv>(65537, 3), ckks::small_parameters(3, 2)}) {
    const auto& literal = parameters.literal();
    const std::size_t top = literal.levels.back().size(), n = parameters.degree();
    EXPECT_EQ(parameters.ciphertext_bytes(), 2 * top * n * 8);
    EXPECT_EQ(parameters.switching_key_bytes(),
              literal.digits.size() * 2 * (top + literal.special_primes.size()) * n * 8);
    double all = 0, special = 0;
    for (const std::uint64_t prime : literal.levels.back()) all += std::log2(static_cast<double>(prime));
    for (const std::uint64_t prime : literal.special_primes) special += std::log2(static_cast<double>(prime));
    EXPECT_NEAR(parameters.log_modulus(parameters.levels() - 1), all, 1e-9);
    EXPECT_NEAR(parameters.log_union(), all, 1e-9);
    EXPECT_NEAR(parameters.log_special(), special, 1e-9);
    const auto context = tests::make_context(parameters);
    const auto secret = rlwe::generate_secret_key(context);
    const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.public_key = false, .rotations = {1, 2}});
    EXPECT_EQ(keys.memory_bytes(), 3 * parameters.switching_key_bytes());
  }
}

}  // namespace
}  // namespace hemera::testing::formulas_tests
