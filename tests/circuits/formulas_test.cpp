// Every number that a plan reports, beside the formula of its page (docs/circuits.md, docs/bootstrapping.md),
// the paper's, or what is measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <type_traits>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/ephemeral_sum.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/function_support.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::formulas_tests {
namespace {

rlwe::Parameters parameters() { return ckks::small_parameters(6, 2); }

// --- Functions: error(), depth() and the bound of results ---

struct Family {
  const char* name;
  // An interval by its ends, from two numbers in (0, 1).
  std::function<Interval(double, double)> interval;
  std::function<Function(const Interval&, double)> make;
  RealFunction exact;
};

// Approximations are measured at samples: between them they may be a little worse.
constexpr double between_samples = 1 + 1e-3;

// error() is a bound, within the tolerance: for random intervals and tolerances.
TEST(FunctionFormula, ErrorsAreBoundsWithinTheTolerance) {
  const auto around = [](double u, double v) { return Interval{-8 * u - 0.1, 8 * v + 0.1}; };
  // Ends from near 0 up to 1,000, a factor of up to 256 apart.
  const auto above = [](double u, double v) {
    const double high = std::exp2(20 * u - 10);
    return Interval{high * std::exp2(-8 * v - 0.1), high};
  };
  const auto below = [&](double u, double v) {
    const Interval mirrored = above(u, v);
    return Interval{-mirrored.high, -mirrored.low};
  };
  const std::vector<Family> families = {
      {"sigmoid", around, sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", around, hyperbolic_tangent, [](double x) { return std::tanh(x); }},
      {"gelu", around, gelu, [](double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }},
      {"exp", around, exponential, [](double x) { return std::exp(x); }},
      {"log", above, logarithm, [](double x) { return std::log(x); }},
      {"inverse", above, inverse, [](double x) { return 1 / x; }},
      {"inverse below 0", below, inverse, [](double x) { return 1 / x; }},
      {"square root", above, square_root, [](double x) { return std::sqrt(x); }}};
  std::mt19937_64 generator(17);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::size_t made = 0, tried = 0;
  for (const Family& family : families) {
    for (int i = 0; i < 25; ++i) {
      const Interval interval = family.interval(uniform(generator), uniform(generator));
      // Relative to the largest value, or its results would be exact or have no digit.
      const double size =
          std::max(std::abs(family.exact(interval.low)), std::abs(family.exact(interval.high)));
      const double tolerance = size * std::exp2(-3 - 9 * uniform(generator));
      SCOPED_TRACE(std::string(family.name) + " on [" + std::to_string(interval.low) + ", " +
                   std::to_string(interval.high) + "] within " + std::to_string(tolerance));
      ++tried;
      std::optional<Function> found;
      try {
        found = family.make(interval, tolerance);
      } catch (const ParameterError&) {
        continue;  // no polynomial within the tolerance: it says so
      }
      ++made;
      EXPECT_LE(found->error(), tolerance);
      const Values x = spread(interval, 1001);
      const Values y = found->evaluate(Rows{x}).front();
      double worst = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        worst = std::max(worst, std::abs(y[k] - family.exact(x[k].real())));
      }
      EXPECT_LE(worst, found->error() * between_samples + 1e-12 * size);
      // A bound that is much larger tells nothing.
      EXPECT_GE(worst, found->error() / 16);
    }
  }
  EXPECT_GT(2 * made, tried);
}

// Newton's iterations for the inverse root, whose error grows with the root of the interval's upper end.
TEST(FunctionFormula, ErrorsOfRootsOfLargeValues) {
  constexpr double high = 1000;
  bool iterates = false;
  for (int bits = 10; bits <= 20; ++bits) {
    const double tolerance = std::sqrt(high) * std::exp2(-bits);
    const Function function = square_root({1e-4 * high, high}, tolerance);
    iterates = iterates || function.parts().size() > 1;
    EXPECT_LE(function.error(), tolerance) << bits;
    const Values x = spread({1e-4 * high, high}, 1001);
    const Values y = function.evaluate(Rows{x}).front();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(y[i] - std::sqrt(x[i].real())));
    }
    EXPECT_LE(worst, function.error() * between_samples);
  }
  EXPECT_TRUE(iterates);
}

TEST(FunctionFormula, ErrorsOfComparisons) {
  for (const double gap : {0.25, 0.01}) {
    for (const double tolerance : {0.125, 0x1p-8}) {
      for (const double largest : {0.5, 1.0, 6.0}) {
        SCOPED_TRACE(std::to_string(gap) + " " + std::to_string(tolerance) + " " + std::to_string(largest));
        const Function of_one = sign(gap, tolerance, largest), of_two = compare(gap, tolerance, largest);
        const Function larger = maximum(tolerance / 4 * largest, largest);
        double of_sign = 0, of_compare = 0, of_maximum = 0;
        const Values a = spread({-largest, largest}, 4001), b = spread({-largest, largest}, 4001, 1777);
        const Values signs = of_one.evaluate(Rows{a}).front(), steps = of_two.evaluate(Rows{a, b}).front(),
                     most = larger.evaluate(Rows{a, b}).front();
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double x = a[i].real(), y = b[i].real();
          if (std::abs(x) >= gap) of_sign = std::max(of_sign, std::abs(signs[i].real() - (x > 0 ? 1 : -1)));
          if (std::abs(x - y) >= gap) {
            of_compare = std::max(of_compare, std::abs(steps[i].real() - (x > y ? 1 : 0)));
          }
          of_maximum = std::max(of_maximum, std::abs(most[i].real() - std::max(x, y)));
        }
        EXPECT_LE(of_sign, of_one.error() * between_samples);
        EXPECT_LE(of_one.error(), tolerance);
        EXPECT_LE(of_compare, of_two.error() * between_samples);
        EXPECT_LE(of_two.error(), tolerance);
        EXPECT_LE(of_maximum, larger.error() * between_samples);
        EXPECT_LE(larger.error(), tolerance / 4 * largest);
        EXPECT_GE(of_sign, of_one.error() / 4);
        EXPECT_GE(of_compare, of_two.error() / 4);
      }
    }
  }
}

// --- Bootstraps ---

// Density of a sum of n uniforms on [-1/2, 1/2] at the half-integer j + 1/2 - n/2: B(n - 1, j) / (2^(n - 1)
// (n - 1)!), with B the Eulerian numbers of type B, B(n, k) = (2 k + 1) B(n - 1, k) + (2 n - 2 k + 1)
// B(n - 1, k - 1): all terms positive, unlike those of the closed formula.
std::vector<double> densities(std::size_t n) {
  std::vector<double> row = {1};
  for (std::size_t m = 1; m < n; ++m) {
    std::vector<double> next(m + 1);
    for (std::size_t k = 0; k <= m; ++k) {
      const auto left = static_cast<double>(2 * k + 1), right = static_cast<double>(2 * m - 2 * k + 1);
      next[k] =
          ((k < m ? left * row[k] : 0) + (k > 0 ? right * row[k - 1] : 0)) / (2 * static_cast<double>(m));
    }
    row = std::move(next);
  }
  return row;
}

// docs/bootstrapping.md, "ModRaise under an ephemeral secret": 2n * 2 (f(range) + f(range + 1) + ...), f the
// density of a sum of weight + 1 uniforms (J.-P. Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024,
// section 4).
TEST(BootstrapFormula, FailureIsTheTailOfASumOfUniforms) {
  for (const std::size_t weight : {32, 16, 64}) {
    const std::vector<double> f = densities(weight + 1);
    EXPECT_NEAR(std::accumulate(f.begin(), f.end(), 0.0), 1, 1e-12);
    // f[j] is at j + 1/2 - (weight + 1) / 2 = j - weight / 2.
    for (const std::size_t range : {std::size_t{4}, std::size_t{7}, weight / 2}) {
      double tail = 0;
      for (std::size_t j = weight / 2 + range; j < f.size(); ++j) tail += f[j];
      for (const std::size_t coefficients : {64, 65536}) {
        EXPECT_NEAR(failure_log2(range, weight, coefficients),
                    std::log2(2 * tail) + std::log2(static_cast<double>(coefficients)), 1e-6)
            << weight << " " << range;
      }
      EXPECT_NEAR(overflow_log2(range, weight), std::log2(f[weight / 2 + range]), 1e-6);
    }
  }
  // The number of the page.
  EXPECT_NEAR(failure_log2(16, 32, 65536), -132.7, 0.05);
}

// EvalMod takes a coefficient for each part of each slot, merged or not; of real slots it takes one.
TEST(BootstrapFormula, FailuresAreThoseOfTheCoefficientsThatAreReduced) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  for (const std::size_t slots : {2, 64}) {
    const double one = failure_log2(16, rlwe::usual_ephemeral_weight, 1) + std::log2(slots);
    EXPECT_NEAR(Bootstrap(own, {.slots = slots}).failure_log2(), one + 1, 1e-9);
    EXPECT_NEAR(Bootstrap(own, {.slots = slots, .merges_parts = true}).failure_log2(), one + 1, 1e-9);
    EXPECT_NEAR(Bootstrap(own, {.slots = slots, .real = true}).failure_log2(), one, 1e-9);
    EXPECT_NEAR(Bootstrap(own, {.slots = slots, .real = true, .iterations = 2}).failure_log2(), one + 1,
                1e-9);
  }
}

// Levels and scales that a cost tells: the user's lowest, and the highest less one for each iteration beyond
// the first, and for merged parts with slots first.
TEST(BootstrapFormula, LevelsOfACost) {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  BootstrapSettings standard = bootstrap_preset("test-40");
  standard.order = BootstrapOrder::standard;
  standard.last_bits = 49;
  standard.ratio_bits = 9;
  standard.slots_to_coefficients = {43, 43, 43};
  for (const auto& each : {settings, standard}) {
    const rlwe::Parameters own = parameters_for_bootstrapping(each);
    const rlwe::ScalePolicy scales(own);
    const bool is_slots_first = each.order == BootstrapOrder::slots_first;
    for (const bool merges : {false, true}) {
      for (std::size_t iterations = 1; iterations <= (is_slots_first ? 3U : 2U); ++iterations) {
        SCOPED_TRACE(std::to_string(iterations) + (merges ? " merged" : " apart"));
        const Bootstrap plan(own, {.slots = 64, .iterations = iterations, .merges_parts = merges});
        const Ends& ends = plan.ends();
        EXPECT_EQ(ends.level, own.lowest_user_level());
        EXPECT_EQ(plan.input_level(), ends.level);
        EXPECT_EQ(ends.result_level, own.lowest_user_level() + each.levels - (iterations - 1) -
                                         (merges && is_slots_first ? 1 : 0));
        EXPECT_EQ(ends.scale, scales.level_scale(ends.level));
        EXPECT_EQ(ends.result_scale, scales.level_scale(ends.result_level));
      }
    }
  }
}

// The best cubic for the arcsine misses it by what the next Chebyshev polynomial has, 3 top^5 / 640; the best
// line for the sine by theta^3 / 24 (T_3 has a quarter of the cube).
TEST(BootstrapFormula, TheSineAndItsArcsineAreMissedByTheNextTerm) {
  constexpr int points = 1000;
  for (const double bits : {4, 5, 6, 8, 9}) {
    SCOPED_TRACE(bits);
    const double ratio = std::exp2(bits), angle = 2 * std::numbers::pi / ratio, top = std::sin(angle);
    const Arcsine arcsine = fit_arcsine(ratio);
    double of_arcsine = 0, of_line = 0;
    for (int i = -points; i <= points; ++i) {
      const double u = static_cast<double>(i) / points, s = u * top;
      of_arcsine =
          std::max(of_arcsine, std::abs(s * (arcsine.constant + arcsine.square * s * s) - std::asin(s)));
      of_line = std::max(of_line, std::abs(std::sin(u * angle) * sine_slope(ratio) - u * angle));
    }
    const double best = 3 * std::pow(top, 5) / 640;
    EXPECT_LT(of_arcsine, 1.5 * best + 1e-16);
    EXPECT_GT(of_arcsine, 0.8 * best - 1e-16);
    EXPECT_NEAR(of_line, std::pow(angle, 3) / 24, 0.1 * std::pow(angle, 3) / 24);
  }
}

// An iteration beyond the first is a bootstrap more, and rescales of its own.
TEST(BootstrapFormula, CostsOfIterationsAddUp) {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  const rlwe::Parameters own = parameters_for_bootstrapping(settings);
  const Cost one = Bootstrap(own, {.slots = 64}).cost();
  for (const std::size_t iterations : {2, 3}) {
    const Bootstrap plan(own, {.slots = 64, .iterations = iterations});
    EXPECT_EQ(plan.cost().key_products, iterations * one.key_products);
    EXPECT_EQ(plan.cost().mod_ups, iterations * one.mod_ups);
    EXPECT_EQ(plan.cost().plain_products, iterations * one.plain_products);
    EXPECT_EQ(plan.cost().products, iterations * one.products);
    EXPECT_EQ(plan.cost().divisions, iterations * one.divisions);
    // A difference is rescaled twice and a sum once; later sums twice.
    EXPECT_EQ(plan.cost().rescales, iterations * one.rescales + 3 * (iterations - 1) - 1);
    EXPECT_EQ(plan.result_level(), own.highest_user_level() - (iterations - 1));
  }
}

// The whole is its parts: matrices, EvalMod, the two switches of the ephemeral secret, the trace and a
// conjugate, as docs/bootstrapping.md goes through them.
TEST(BootstrapFormula, CostsAreThoseOfTheParts) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const auto matrices = [](const Bootstrap& plan, auto number) {
    std::size_t sum = 0;
    for (const auto* row : {&plan.slots_to_coefficients(), &plan.coefficients_to_slots()}) {
      for (const LinearTransform& each : *row) sum += number(each.cost());
    }
    return sum;
  };
  const Bootstrap whole(own, {.slots = own.max_slots()}), few(own, {.slots = own.max_slots() / 8});
  const auto keys = [](const Cost& cost) { return cost.key_products; };
  const auto products = [](const Cost& cost) { return cost.plain_products; };
  // Numbers of EvalMod for each part: in b 2, in both factors that stand beside c^2 3 and 2, in c 2; -i
  // and i, by which the imaginary part is a sum of products, and i, by which it is multiplied; and the
  // special primes of the key from the ephemeral secret, by which c_0 is multiplied.
  EXPECT_EQ(whole.cost().plain_products, matrices(whole, products) + 2 * (2 + 3 + 2 + 2) + 3 + 1);
  // The trace of 8 repetitions: a step of 3 rotations, and one of 1.
  const std::size_t beside = whole.cost().key_products - matrices(whole, keys);
  EXPECT_EQ(few.cost().key_products - matrices(few, keys), beside + 4);
  const auto ups = [](const Cost& cost) { return cost.mod_ups; };
  const std::size_t beside_ups = whole.cost().mod_ups - matrices(whole, ups);
  EXPECT_EQ(few.cost().mod_ups - matrices(few, ups), beside_ups + 2);
  // Two keys of the ephemeral secret with one ModUp, a conjugate, and as many of both for EvalMod.
  EXPECT_EQ(beside, beside_ups + 1);
}

// --- Rounding and keys ---

// A division's rounding in a slot: 2n coefficients of variance (1 + |s|^2) / 12, |s|^2 = 2N/3 for uniform
// ternary secrets, h for weight h, N sigma^2 for Gaussian ones.
TEST(PlanFormula, RoundingOfADivision) {
  for (const std::size_t degree : {1024, 4096}) {
    const auto n = static_cast<double>(degree);
    for (const std::size_t slots : {8, 512}) {
      const auto coefficients = 2 * static_cast<double>(slots);
      EXPECT_DOUBLE_EQ(division_variance(degree, {}, slots), coefficients * (1 + 2 * n / 3) / 12);
      EXPECT_DOUBLE_EQ(division_variance(degree, {.weight = 64}, slots), coefficients * 65 / 12);
      EXPECT_DOUBLE_EQ(division_variance(degree, {.deviation = 3}, slots), coefficients * (1 + 9 * n) / 12);
    }
  }
}

// Bytes: of keys as they are made; of plaintexts as contexts hold them; of all for a batch.
TEST(PlanFormula, BytesAreThoseThatAreTaken) {
  const rlwe::Parameters own = parameters();
  constexpr std::size_t slots = 16;
  const Values matrix = ckks::random_values(slots * slots, 1);
  const LinearTransform transform(own, diagonals_of(matrix, slots, slots, slots), slots);
  std::vector<bool> kept(slots);
  kept[3] = true;
  const SlotCircuit mask = SlotCircuit::mask(own, kept);
  const MatrixProduct square(own, 4);
  Values wide(3 * slots, 0.25);
  wide[1] = 0.5;
  const FunctionPlan function(own, Function(Polynomial(wide, Basis::power, {}, {.width = slots})));
  const auto check = [&]<typename Prepared>(const auto& plan, std::type_identity<Prepared>) {
    const auto context = tests::make_context(own);
    const std::size_t before = context->memory_used();
    const Prepared prepared(context, plan);
    const std::size_t taken = context->memory_used() - before;
    const Cost& cost = plan.cost();
    // Blocks of memory are up to an eighth larger than what is in them.
    EXPECT_GE(taken, cost.plaintext_bytes);
    EXPECT_LE(taken, cost.plaintext_bytes * 9 / 8 + 4096);
    EXPECT_EQ(plan.memory_bytes(5), cost.key_bytes + cost.plaintext_bytes + 5 * cost.workspace_bytes);
  };
  check(transform, std::type_identity<PreparedLinearTransform>());
  check(mask, std::type_identity<PreparedSlotCircuit>());
  check(square, std::type_identity<PreparedMatrixProduct>());
  check(function, std::type_identity<PreparedFunction>());
}

// docs/circuits.md, "Encrypted matrices": counts of products, rotations and relinearizations.
TEST(PlanFormula, CountsOfMatrices) {
  const rlwe::Parameters own = parameters();
  for (const auto& [rows, columns, babies] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{16, 16, 4}, {4, 32, 2}, {32, 8, 8}}) {
    const MatrixVectorProduct plan(own, rows, columns, {.baby_steps = babies});
    const std::size_t m = std::min(rows, columns), groups = m / babies;
    // A sum over C / R rows at the end takes one rotation less than rows, or fewer steps.
    const Cost fold = rows < columns
                          ? SlotCircuit::inner_sum(own, columns, {.count = columns / rows, .stride = rows},
                                                   true, {.level = plan.result_level()})
                                .cost()
                          : Cost{};
    EXPECT_EQ(plan.cost().products, m);
    EXPECT_EQ(plan.cost().key_products, (babies + groups - 2) + groups + fold.key_products);
    EXPECT_EQ(plan.cost().mod_ups, (babies > 1 ? 1 : 0) + (groups - 1) + groups + fold.mod_ups);
    EXPECT_EQ(plan.cost().divisions, (babies + groups - 2) + groups + fold.divisions);
    EXPECT_EQ(plan.cost().rescales, 1 + fold.rescales);
  }
  for (const std::size_t d : {2, 4, 16}) {
    const MatrixProduct plan(own, d, {.packed = true});
    EXPECT_EQ(plan.cost().products, d);
    // 3 (d - 1) rotations and a relinearization.
    EXPECT_EQ(plan.cost().key_products, 3 * (d - 1) + 1);
    EXPECT_EQ(plan.ends().depth(), 2U);
  }
}

// Expected errors beside measured ones, where one of their terms is what counts.
TEST(PlanFormula, ErrorsOfMasksAndOfCoarseMatrices) {
  const rlwe::Parameters own = parameters();
  constexpr std::size_t slots = 512;
  // A mask that keeps one slot in 64, and copies it: the errors of the others are not copied.
  const SlotCircuit copies = SlotCircuit::replication(own, slots, {.count = 64, .stride = 1}, 5);
  const SlotCircuit few = SlotCircuit::replication(own, slots, {.count = 2, .stride = 1}, 1);
  const double large = 1e-3;  // of the inputs: nothing else counts
  // Every slot has one copy of one value: its error, and no other's.
  EXPECT_NEAR(copies.expected_error(large).mean / large, 1, 1e-3);
  EXPECT_NEAR(few.expected_error(large).mean / large, 1, 1e-3);
  const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 64, .stride = 1});
  EXPECT_NEAR(sum.expected_error(large).mean / (8 * large), 1, 1e-3);

  // Diagonals of ones: the error of the inputs grows with the norm of a row; without one it is the rounding
  // of the encoded diagonals, each 2n / 12 over the square of its scale.
  Diagonals ones;
  for (std::size_t i = 0; i < 16; ++i) ones[i] = Values(slots, 1);
  const LinearTransform plan(own, ones, slots);
  EXPECT_NEAR(plan.expected_error(large).mean / (4 * large), 1, 1e-3);
  EXPECT_NEAR(plan.expected_error(large).worst / (4 * large), 1, 1e-3);

  // With giant steps alone no rotation comes before the products. Exact inputs: what is left is the rounding
  // of 16 encoded diagonals, 2n / 12 each over the square of their scale, and that of the result.
  const LinearTransform coarse(own, ones, slots, {.baby_steps = 1});
  const rlwe::ScalePolicy scales(own);
  const Ends& ends = coarse.ends();
  const double encoded = ends.result_scale * scales.policy().scales[ends.level].divisor / ends.scale;
  const double rounding = division_error(own, slots) / ends.result_scale;
  const double variance = 16.0 * 2 * slots / 12 / (encoded * encoded) + rounding * rounding;
  EXPECT_NEAR(coarse.expected_error(0).mean / std::sqrt(variance), 1, 1e-9);
}

}  // namespace
}  // namespace hemera::circuits::formulas_tests
