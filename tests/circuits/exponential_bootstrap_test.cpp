// Bootstraps to exponentials, compared with those of the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/automatic.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

constexpr double full_turn = 2 * std::numbers::pi;

Complex turned(double t) { return std::polar(1.0, full_turn * (t - std::round(t))); }

// Integers from `low` to `high`, in both parts unless they are to be real.
Values whole_numbers(std::size_t count, double low, double high, bool real = false) {
  Values values = ckks::random_values(count, 5);
  for (Complex& value : values) {
    const auto whole = [&](double x) { return std::round(low + (x + 1) / 2 * (high - low)); };
    value = {whole(value.real()), real ? 0 : whole(value.imag())};
  }
  return values;
}

// Exponentials of real parts, then of imaginary ones.
Values exponentials(const Values& values, double ratio, bool real) {
  Values result;
  for (const Complex& value : values) result.push_back(turned(value.real() / ratio));
  for (std::size_t i = 0; i < values.size() && !real; ++i) result.push_back(turned(values[i].imag() / ratio));
  return result;
}

// log2 of the root mean square of the error of t = x / ratio.
double torus_error(const Values& found, const Values& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) sum += std::norm(found[i] - wanted[i]);
  return 0.5 * std::log2(sum / static_cast<double>(wanted.size())) - std::log2(full_turn);
}

BootstrapSettings exact_settings() { return bootstrap_preset("test-exact"); }

TEST(Exponential, IsOneForAnyRangeDegreeAndNumberOfDoublings) {
  struct Shape {
    std::size_t range, degree, doublings, levels, products;
  };
  for (const auto& [range, degree, doublings, levels, products] :
       std::initializer_list<Shape>{{16, 15, 3, 8, 14},
                                    {16, 12, 3, 8, 14},
                                    {4, 7, 3, 7, 10},
                                    {12, 20, 4, 10, 20},
                                    {16, 3, 6, 9, 10}}) {
    SCOPED_TRACE(std::to_string(range) + ", " + std::to_string(degree) + ", " + std::to_string(doublings));
    const EvalModSeries series = exponential_series(range, degree, doublings);
    EXPECT_EQ(series.coefficients.size(), 2 * degree + 2);
    const Function function = sine_function({.range = static_cast<double>(range),
                                             .series = series.coefficients,
                                             .doublings = doublings,
                                             .fraction_bits = 45,
                                             .arcsine = std::nullopt,
                                             .exponential = true});
    EXPECT_EQ(function.depth(), levels);
    const auto has_product = [](const auto& part) { return !std::get<Function::Sum>(part).products.empty(); };
    EXPECT_EQ(std::count_if(function.parts().begin(), function.parts().end(), has_product), products);
    double worst = 0;
    for (double t = -static_cast<double>(range); t <= static_cast<double>(range); t += 1.0 / 64) {
      const Values v{Complex(0, t / static_cast<double>(range))};
      worst =
          std::max(worst, std::abs(function.evaluate(std::vector<Values>{v}).front().front() - turned(t)));
    }
    const double bound = full_turn * std::exp2(series.error_log2.front());
    EXPECT_LT(worst, bound + 0x1p-40);
    EXPECT_GT(worst, bound / 16);  // the bound is that of the terms that are left out, one by one
  }
}

// docs/bootstrapping-algorithm.md: the relinearizations, and the errors, which grow where integers are rarer.
TEST(Exponential, NestedProductsHaveTheErrorsThatAreTold) {
  const SineShape shape{.exponential = true, .nested = true};
  const EvalModSeries series = checked_series(shape, 256, std::size_t{1} << 16);
  const Function function = sine_function({.range = 16,
                                           .series = series.coefficients,
                                           .doublings = 3,
                                           .fraction_bits = 0,
                                           .arcsine = std::nullopt,
                                           .exponential = true,
                                           .nested = true});
  EXPECT_EQ(function.depth(), 8U);
  const auto has_product = [](const auto& part) { return !std::get<Function::Sum>(part).products.empty(); };
  EXPECT_EQ(std::count_if(function.parts().begin(), function.parts().end(), has_product), 9);
  const std::vector<double> told = {-32.2, -32.2, -32.2, -32.2, -32.2, -32.2, -31.4, -31.1,
                                    -29.6, -27.2, -25.3, -23.7, -20.8, -20.1, -17.9, -17.3};
  for (std::size_t integer = 0; integer < told.size(); ++integer) {
    double worst = 0;
    for (int i = -64; i <= 64; ++i) {
      const double t = static_cast<double>(integer) + i / 128.0;
      for (const double of : {t, -t}) {
        const Values v{Complex(0, of / 16)};
        worst =
            std::max(worst, std::abs(function.evaluate(std::vector<Values>{v}).front().front() - turned(of)));
      }
    }
    EXPECT_LT(std::log2(worst / full_turn), told[integer]) << integer;
    EXPECT_NEAR(std::log2(worst / full_turn), series.error_log2[integer], 0.1) << integer;
  }
  EXPECT_LT(mean_error_log2(series, shape.weight), -32.2);
}

struct ExponentialBootstrap : ::testing::Test {
  // The error of encrypted slots beside the exponentials, and that of the model.
  static void compare(const BootstrapSettings& settings, const BootstrapOptions& options, double low,
                      double high, double within) {
    const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
    const Bootstrap plan(parameters, options);
    ASSERT_TRUE(plan.is_exponential());
    const BootstrapSession session(parameters, plan);
    const Values values = whole_numbers(plan.slots(), low, high, options.real);
    const Values wanted = exponentials(values, plan.ratio(), options.real);
    const rlwe::Ciphertext out = session.prepared(session.evaluator, session.encrypt(values));
    EXPECT_EQ(out.meta.level, plan.result_level());
    EXPECT_EQ(out.meta.batch, options.real ? rlwe::BatchShape{} : rlwe::BatchShape{2});
    EXPECT_TRUE(out.meta.is_complex);
    const double found = torus_error(session.client.decrypt(out), wanted);
    EXPECT_NEAR(found, torus_error(plan.simulate(values, 3), wanted), within);
    EXPECT_LT(found, -24);
  }
};

TEST_F(ExponentialBootstrap, HasTheErrorOfTheModel) {
  compare(exact_settings(), {}, 0, 0, 0.25);
  // The matrices' error is relative, and the model has a bit more of it than there is.
  compare(exact_settings(), {.real = true}, -128, 127, 0.6);
  compare(exact_settings(), {.slots = 64}, 0, 255, 1);
  compare(exact_settings(), {}, 0, 4000, 1.5);
}

TEST_F(ExponentialBootstrap, TakesOtherRatiosSeriesAndDoublings) {
  BootstrapSettings settings = exact_settings();
  settings.ratio_bits = 5;
  settings.last_bits = 46;
  compare(settings, {}, -16, 15, 1);
  settings = exact_settings();
  settings.sine_degree = 7;
  settings.doublings = 5;
  compare(settings, {}, 0, 255, 1);
  settings = exact_settings();
  settings.nested_sine = false;
  compare(settings, {}, 0, 0, 0.25);
}

TEST_F(ExponentialBootstrap, ItsSettingSaysWhatEvalModAdds) {
  for (const bool nested : {false, true}) {
    BootstrapSettings settings = exact_settings();
    settings.nested_sine = nested;
    settings.eval_mod_error = -25;  // of which everything else is a small part
    const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
    const Bootstrap plan(parameters);
    const BootstrapSession session(parameters, plan);
    const Values zeros(plan.slots(), 0), wanted(2 * plan.slots(), 1);
    EXPECT_NEAR(torus_error(session.bootstrapped(zeros), wanted), -25, 0.4) << nested;
  }
}

TEST_F(ExponentialBootstrap, TakesBatchesAndHigherLevels) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(exact_settings());
  const Bootstrap plan(parameters, {.slots = 16});
  const BootstrapSession session(parameters, plan);
  const Values values = whole_numbers(3 * 16, 0, 255);
  const rlwe::Ciphertext in =
      ckks::encrypt(session.client.encoder->encode(values, {3}, plan.result_level()), session.client.secret);
  const rlwe::Ciphertext out = session.prepared(session.evaluator, in);
  EXPECT_EQ(out.meta.batch, (rlwe::BatchShape{2, 3}));
  EXPECT_LT(torus_error(session.client.decrypt(out), exponentials(values, plan.ratio(), false)), -26);
}

TEST_F(ExponentialBootstrap, IsReadFromTheParameters) {
  for (const std::size_t doublings : {3, 4, 6}) {
    for (const std::size_t degree : {7, 15, 31}) {
      if (degree == 7 && doublings == 3) continue;  // too coarse a series
      BootstrapSettings settings = exact_settings();
      settings.sine_degree = degree;
      settings.doublings = doublings;
      settings.nested_sine = false;
      const BootstrapLayout layout(parameters_for_bootstrapping(settings));
      EXPECT_TRUE(layout.sine.exponential);
      EXPECT_FALSE(layout.arcsine);
      EXPECT_EQ(layout.sine.degree, degree);
      EXPECT_EQ(layout.sine.doublings, doublings);
      EXPECT_EQ(layout.constant_bits, settings.constant_bits);
    }
  }
  EXPECT_FALSE(BootstrapLayout(parameters_for_bootstrapping(small_settings())).sine.exponential);
}

TEST_F(ExponentialBootstrap, IsNestedByItselfWhereItFits) {
  const auto is_nested = [](const std::function<void(BootstrapSettings&)>& change) {
    BootstrapSettings settings = exact_settings();
    change(settings);
    const BootstrapLayout layout(parameters_for_bootstrapping(settings));
    EXPECT_TRUE(layout.sine.exponential);
    EXPECT_EQ(layout.constant_bits, layout.sine.nested ? 0 : settings.constant_bits);
    return layout.sine.nested;
  };
  EXPECT_TRUE(is_nested([](auto& settings) { settings.levels = 3; }));
  EXPECT_TRUE(is_nested([](auto& settings) { settings.eval_mod_error = -31; }));
  EXPECT_TRUE(is_nested([](auto& settings) { settings.ratio_bits = 1; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.eval_mod_error = -31.5; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.nested_sine = false; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.doublings = 4; }));
  EXPECT_FALSE(is_nested([](auto& settings) { settings.sine_degree = 14; }));
}

TEST_F(ExponentialBootstrap, RefusesWhatItHasNot) {
  const auto refuses = [](const std::function<void(BootstrapSettings&)>& change) {
    BootstrapSettings settings = exact_settings();
    change(settings);
    EXPECT_THROW(parameters_for_bootstrapping(settings), ParameterError);
  };
  refuses([](auto& settings) { settings.arcsine = true; });
  refuses([](auto& settings) { settings.order = BootstrapOrder::standard; });
  refuses([](auto& settings) { settings.doublings = 2; });
  refuses([](auto& settings) { settings.sine_degree = 3; });
  const rlwe::Parameters parameters = parameters_for_bootstrapping(exact_settings());
  EXPECT_THROW(Bootstrap(parameters, {.slots = 64, .merges_parts = true}), ParameterError);
  EXPECT_THROW(Bootstrap(parameters, {.iterations = 2}), ParameterError);
  const Bootstrap plan(parameters, {.slots = 16});
  const BootstrapSession session(parameters, plan);
  EXPECT_THROW(PreparedBootstrap(session.client.context, plan, 4.0), ParameterError);
  const auto prepared = std::make_shared<const PreparedBootstrap>(session.client.context, plan);
  EXPECT_THROW(AutomaticBootstraps(prepared, session.evaluator.keys()), ParameterError);
}

}  // namespace
}  // namespace hemera::circuits
