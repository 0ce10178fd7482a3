// Automatic bootstraps, beside the values that went in.
#include "hemera/circuits/automatic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits::automatic_tests {
namespace {

using ckks::Complex;
using ckks::Values;
using rlwe::Ciphertext;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t slots = 16;

BootstrapSettings slots_first() {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 5;
  return settings;
}

BootstrapSettings standard_order() {
  BootstrapSettings settings = slots_first();
  settings.order = BootstrapOrder::standard;
  settings.last_bits = 49;
  settings.ratio_bits = 9;
  settings.slots_to_coefficients = {43, 43, 43};
  return settings;
}

// A scale of 59 bits, so that iterations gain precision.
BootstrapSettings large_scale() {
  BootstrapSettings settings = slots_first();
  settings.scale_bits = 59;
  settings.last_bits = 50;
  return settings;
}

Values values(double size, std::uint64_t seed = 7) {
  Values x = ckks::random_values(slots, seed, 0.7 * size);
  x.front() = {size, 0};
  return x;
}

Values product(const Values& a, const Values& b) {
  return ckks::map2(a, b, [](Complex x, Complex y) { return x * y; });
}

struct Server {
  explicit Server(const BootstrapSettings& settings, std::optional<double> magnitude = std::nullopt,
                  BootstrapOptions options = {.slots = slots})
      : parameters(parameters_for_bootstrapping(settings)),
        plan(parameters, options),
        client(parameters, {.public_key = true, .relinearization = true, .rotations = {1, 2, 4, 8}}) {
    keys = client.keys;
    keys.merge(plan.generate_keys(client.secret));
    use(magnitude);
  }

  // Binds anew, with the keys of these plans as well.
  void use(std::optional<double> magnitude, const std::vector<const Plan*>& plans = {}) {
    for (const Plan* each : plans) keys.merge(each->generate_keys(client.secret));
    prepared = std::make_shared<const PreparedBootstrap>(client.context, plan, magnitude);
    automatic.emplace(prepared, keys);
  }
  [[nodiscard]] const ckks::Evaluator& evaluator() const { return *automatic->evaluator(); }
  [[nodiscard]] std::size_t low() const { return plan.input_level(); }
  // With so many levels left.
  [[nodiscard]] Ciphertext encrypt(const Values& x, std::size_t left = 0, double largest = infinite,
                                   const rlwe::BatchShape& batch = {}) const {
    return ckks::encrypt(client.encoder->encode(x, batch, low() + left, {}, largest), client.secret);
  }
  [[nodiscard]] double difference(const Ciphertext& found, const Values& expected) const {
    return client.error(found, expected);
  }
  // The model's worst error of values up to 1.
  [[nodiscard]] double model() const { return std::exp2(-plan.expected_precision().worst_bits); }

  rlwe::Parameters parameters;
  Bootstrap plan;
  ckks::Session client;
  rlwe::EvaluationKeys keys;
  std::shared_ptr<const PreparedBootstrap> prepared;
  std::optional<AutomaticBootstraps> automatic;
};

// --- Magnitudes. ---

// Encrypted bootstraps are within 1.5 bits of the model (bootstrap_test.cpp). Each of k matrices divides by
// the k-th root, and its rounded entries are larger by as much in relation to the values.
constexpr double slack = 0x1p1 * 1.4142135623730951;

struct Case {
  const char* name;
  std::function<BootstrapSettings()> settings;
  BootstrapOptions options;
};

class Magnitudes : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Options, Magnitudes,
    ::testing::Values(
        Case{"FewSlots", slots_first, {.slots = slots}},
        Case{"RealSlots", slots_first, {.slots = slots, .real = true}},
        Case{"MergedSlots", slots_first, {.slots = slots, .merges_parts = true}},
        Case{"FewKeys", slots_first, {.slots = slots, .key_memory_limit = std::size_t{40} << 20}},
        Case{"TwoRealIterations", large_scale, {.slots = slots, .real = true, .iterations = 2}},
        Case{"ThreeIterations", large_scale, {.slots = slots, .iterations = 3}}),
    [](const auto& own) { return own.param.name; });

TEST_P(Magnitudes, AreAsPreciseAsOneInProportionAtTheLowestLevel) {
  Server server(GetParam().settings(), std::nullopt, GetParam().options);
  const auto& transforms = server.plan.slots_to_coefficients();
  const auto matrices = static_cast<double>(transforms.size());
  const auto has_few = [](const std::vector<LinearTransform>& row) {
    return std::any_of(row.begin(), row.end(), [](const auto& each) { return each.has_fewest_keys(); });
  };
  EXPECT_EQ(GetParam().options.key_memory_limit != 0,
            has_few(transforms) || has_few(server.plan.coefficients_to_slots()));
  for (const double magnitude : {1.5, 100.0, 1000.0}) {
    SCOPED_TRACE(magnitude);
    server.use(magnitude);
    Values x = values(magnitude);
    if (GetParam().options.real) {
      for (Complex& value : x) value.imag(0);
    }
    const double each = std::pow(std::ceil(magnitude), 1 / matrices);
    const double iterations = std::exp2(2 * static_cast<double>(server.plan.iterations() - 1));
    const double error = std::ceil(magnitude) * server.model() *
                         std::pow(each, static_cast<double>(server.plan.iterations())) * slack * iterations;
    // Undeclared, and declared.
    for (const double largest : {infinite, magnitude}) {
      const Ciphertext found = (*server.prepared)(server.evaluator(), server.encrypt(x, 0, largest));
      EXPECT_EQ(found.meta.level, server.plan.result_level());
      EXPECT_EQ(found.meta.largest, largest);
      EXPECT_LT(server.difference(found, x), error);
    }
  }
  EXPECT_EQ(server.evaluator().undeclared_bootstraps(), 0U);
}

// As before: the plan, its keys and its costs are those of values up to 1.
TEST(AutomaticMagnitudes, OfOneChangeNothing) {
  Server server(slots_first());
  const Ciphertext low = server.encrypt(values(1));
  const Ciphertext before = (*server.prepared)(server.evaluator(), low);
  for (const double magnitude : {0.25, 1.0}) {
    server.use(magnitude);
    const Ciphertext found = (*server.prepared)(server.evaluator(), low);
    EXPECT_EQ(server.client.decrypt(found), server.client.decrypt(before));
    EXPECT_EQ(server.prepared->largest_at_input(), 1);
  }
  server.use(99.5);
  EXPECT_EQ(server.prepared->largest_at_input(), 100);
  // A declared bound of 1 needs no division, and has the precision of one.
  const Ciphertext small = server.encrypt(values(1), 0, 1);
  EXPECT_EQ(server.client.decrypt((*server.prepared)(server.evaluator(), small)).size(), slots);
  EXPECT_LT(server.difference((*server.prepared)(server.evaluator(), small), values(1)),
            server.model() * slack);
}

// Above the lowest level the descent divides, without a loss.
TEST(AutomaticMagnitudes, AreDividedOnTheWayDown) {
  for (const auto& settings : {slots_first(), standard_order()}) {
    Server server(settings, 1000);
    for (const double largest : {infinite, 1000.0, 5000.0}) {
      const double size = std::isfinite(largest) ? largest : 1000;
      const Values x = values(size);
      const Ciphertext found = (*server.prepared)(server.evaluator(), server.encrypt(x, 1, largest));
      EXPECT_EQ(found.meta.level, server.plan.result_level());
      EXPECT_LT(server.difference(found, x), 1.25 * size * server.model() * slack);
    }
  }
}

TEST(AutomaticMagnitudes, ThatDoNotFitAreRefused) {
  Server server(slots_first(), 100);
  for (const double magnitude : {0.0, -1.0, infinite, std::nan("")}) {
    EXPECT_THROW(server.use(magnitude), ParameterError);
  }
  const auto matrices = static_cast<int>(server.plan.slots_to_coefficients().size());
  EXPECT_EQ(tests::refusal<RangeError>([&] { server.use(std::exp2(5 * matrices)); }), "");
  const std::string text = tests::refusal<RangeError>([&] { server.use(std::exp2(5 * matrices) + 1); });
  EXPECT_TRUE(tests::says(text, "declare the values' bound"));
  server.use(100);
  const auto run = [&](double bound) {
    return tests::refusal<RangeError>(
        [&] { return (*server.prepared)(server.evaluator(), server.encrypt(values(1), 0, bound)); });
  };
  EXPECT_EQ(run(100), "");
  EXPECT_TRUE(tests::says(run(100.5), "must be from -1 to 100"));
  // Nothing stands before ModRaise in the standard order.
  Server standard(standard_order(), 100);
  EXPECT_EQ(standard.prepared->largest_at_input(), 1);
  tests::expect_error<RangeError>(
      [&] { return (*standard.prepared)(standard.evaluator(), standard.encrypt(values(1))); },
      {"higher level"});
}

// --- Which operands are bootstrapped. ---

TEST(Automatic, ProductsOfLargeValuesAreRight) {
  for (const auto& settings : {slots_first(), standard_order()}) {
    Server server(settings, 100);
    const bool is_standard = settings.order == BootstrapOrder::standard;
    // In the standard order a level is kept, from which values are divided.
    const std::size_t left = is_standard ? 1 : 0;
    const Values a = values(100), b = values(0.5, 8);
    const Ciphertext x = server.encrypt(a, left), y = server.encrypt(b, left);
    const Ciphertext found = server.evaluator().multiply(x, y);
    EXPECT_EQ(server.evaluator().bootstraps(), 2U);
    EXPECT_EQ(server.evaluator().undeclared_bootstraps(), 0U);
    const double error = 100 * server.model() * std::cbrt(100) * slack;
    EXPECT_LT(server.difference(found, product(a, b)), error * (100 + 0.5));
    // A level more is enough.
    static_cast<void>(server.evaluator().multiply(server.encrypt(a, left + 1), server.encrypt(b, left + 1)));
    EXPECT_EQ(server.evaluator().bootstraps(), 2U);
  }
}

TEST(Automatic, DeclaredProductsKeepALevelForResultsThatNeedIt) {
  Server server(slots_first(), 100);
  const auto run = [&](double a, double b) {
    const std::uint64_t before = server.evaluator().bootstraps();
    static_cast<void>(
        server.evaluator().multiply(server.encrypt(values(1), 1, a), server.encrypt(values(1), 1, b)));
    return server.evaluator().bootstraps() - before;
  };
  EXPECT_EQ(run(1, 1), 0U);
  EXPECT_EQ(run(10, 10), 0U);
  EXPECT_EQ(run(10, 10.5), 2U);
  EXPECT_EQ(run(infinite, infinite), 0U);
}

TEST(Automatic, EachDistinctOperandIsBootstrappedOnce) {
  Server server(slots_first());
  const Ciphertext x = server.encrypt(values(1)), y = server.encrypt(values(1, 9)),
                   high = server.encrypt(values(1), 2);
  const Operands operands = server.automatic->refreshed(std::array{&x, &high, &x, &y}, 1);
  EXPECT_EQ(server.evaluator().bootstraps(), 2U);
  EXPECT_EQ(operands.bootstrapped.size(), 2U);
  EXPECT_EQ(operands.each[0], operands.each[2]);
  EXPECT_EQ(operands.each[1], &high);
  EXPECT_EQ(operands.each[3], &operands.bootstrapped[1]);
  EXPECT_LT(server.difference(*operands.each[3], values(1, 9)), server.model() * slack);
  EXPECT_THROW(static_cast<void>(server.automatic->refreshed(std::array{&x, &y}, 1, std::array{1.0})),
               ParameterError);
  static_cast<void>(server.evaluator().multiply(x, x));
  EXPECT_EQ(server.evaluator().bootstraps(), 3U);
}

TEST(Automatic, CountsEachOfABatchAndWhatNobodyDeclared) {
  Server server(slots_first());
  Values three;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const Complex& value : values(1, seed)) three.push_back(value);
  }
  const Ciphertext batch = server.encrypt(three, 0, infinite, {3});
  EXPECT_LT(server.difference((*server.prepared)(server.evaluator(), batch), three), server.model() * slack);
  EXPECT_EQ(server.evaluator().bootstraps(), 3U);
  EXPECT_EQ(server.evaluator().undeclared_bootstraps(), 3U);
  static_cast<void>((*server.prepared)(server.evaluator(), server.encrypt(values(1), 0, 1)));
  EXPECT_EQ(server.evaluator().bootstraps(), 4U);
  EXPECT_EQ(server.evaluator().undeclared_bootstraps(), 3U);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { return server.evaluator().square(server.encrypt(values(1))); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.evaluator().bootstraps(), 6U);
  server.use(1);
  static_cast<void>((*server.prepared)(server.evaluator(), batch));
  EXPECT_EQ(server.evaluator().bootstraps(), 3U);
  EXPECT_EQ(server.evaluator().undeclared_bootstraps(), 0U);
}

// --- Circuits. ---

TEST(Automatic, LinearCircuitsBootstrapWhatIsBelowTheirLevel) {
  Server server(slots_first());
  const std::size_t level = server.low() + 2;
  Values matrix = ckks::random_values(slots * slots, 5, 1.0 / slots);
  const LinearTransform transform(server.parameters, diagonals_of(matrix, slots, slots, slots), slots,
                                  {.level = level});
  std::vector<bool> kept(slots);
  for (std::size_t i = 0; i < 4; ++i) kept[i] = true;
  const SlotCircuit mask = SlotCircuit::mask(server.parameters, kept, {.level = level});
  const SlotCircuit sum =
      SlotCircuit::inner_sum(server.parameters, slots, {.count = 4, .stride = 1}, false, {.level = level});
  const MatrixVectorProduct vectors(server.parameters, 4, slots, {.level = level});
  server.use(std::nullopt, {&transform, &mask, &sum, &vectors});
  const auto& context = server.client.context;
  const Values x = values(1);
  const Ciphertext low = server.encrypt(x, 1);
  const double error = 4 * server.model() * slack;

  const PreparedLinearTransform prepared(context, transform);
  EXPECT_LT(server.difference(server.automatic->apply(prepared, low), transform.evaluate_clear(x)), error);
  EXPECT_EQ(server.evaluator().bootstraps(), 1U);
  static_cast<void>(server.automatic->apply(prepared, server.encrypt(x, 2)));
  EXPECT_EQ(server.evaluator().bootstraps(), 1U);

  EXPECT_LT(server.difference(server.automatic->apply(PreparedSlotCircuit(context, mask), low),
                              mask.evaluate_clear(x)),
            error);
  EXPECT_EQ(server.evaluator().bootstraps(), 2U);

  Values packed = ckks::random_values(4 * slots, 6, 0.25);
  const Values entries = vectors.pack(packed);
  const Ciphertext rows = ckks::encrypt(server.client.encoder->encode(entries, {vectors.diagonals()}, level),
                                        server.client.secret);
  const Ciphertext product =
      server.automatic->apply(PreparedMatrixVectorProduct(context, vectors), rows, low);
  Values found = server.client.decrypt(product);
  for (std::size_t row = 0; row < 4; ++row) {
    Complex expected = 0;
    for (std::size_t i = 0; i < slots; ++i) expected += packed[row * slots + i] * x[i];
    EXPECT_LT(std::abs(found[row] - expected), 16 * error);
  }
  EXPECT_EQ(server.evaluator().bootstraps(), 3U);  // the matrix has levels enough
}

TEST(Automatic, FunctionsBootstrapTheirInputsAndTheirMiddle) {
  Server server(slots_first(), 8);
  const std::size_t levels = server.automatic->levels_left();
  EXPECT_EQ(levels, 5U);
  Values x = values(1);
  for (Complex& value : x) value = std::abs(value.real()) < 0.125 ? 0.5 : value.real();
  // A function of one stage.
  const Function cube(Polynomial({0.0, 0.5, 0.0, 0.25}, Basis::power, {-1, 1}, {}));
  const StagedFunction small(server.client.context, cube);
  const auto clear = cube.evaluate(std::array{x}).front();
  for (const std::size_t left : {0, 1, 2}) {
    const Ciphertext in = server.encrypt(x, left);
    const auto found = server.automatic->apply(small, std::array{&in});
    EXPECT_LT(server.difference(found.front(), clear), 0x1p-14);
  }
  EXPECT_EQ(server.evaluator().bootstraps(), 2U);
  const FunctionPlan plan(server.parameters, cube, {.level = server.low() + 2});
  const Ciphertext in = server.encrypt(x, 1, 1);
  const auto planned =
      server.automatic->apply(PreparedFunction(server.client.context, plan), std::array{&in});
  EXPECT_LT(server.difference(planned.front(), clear), 0x1p-14);
  EXPECT_EQ(server.evaluator().bootstraps(), 3U);

  // A function of several stages.
  const Function steps = sign(0.125, 0x1p-8, 1);
  ASSERT_GT(steps.depth(), levels);
  const StagedFunction signs(server.client.context, steps);
  for (const std::size_t left : {0, 3, 5}) {
    const Ciphertext input = server.encrypt(x, left);
    const auto found = server.automatic->apply(signs, std::array{&input});
    ASSERT_EQ(found.size(), 1U);
    Values expected = x;
    for (Complex& value : expected) value = value.real() < 0 ? -1 : 1;
    EXPECT_LT(server.difference(found.front(), expected), 0x1p-7);
  }

  // One ciphertext as both inputs is bootstrapped once.
  const Function larger = maximum(0.5, 8);
  const StagedFunction both(server.client.context, larger);
  for (const double largest : {infinite, 8.0}) {
    const Ciphertext a = server.encrypt(values(4), 1, largest);
    Values real = values(4);
    for (Complex& value : real) value.imag(0);
    const Ciphertext r = server.encrypt(real, 1, largest);
    const auto found = server.automatic->apply(both, std::array{&r, &r});
    EXPECT_LT(server.difference(found.front(), real), 0.6);
    EXPECT_THROW(static_cast<void>(server.automatic->apply(both, std::array{&a})), MismatchError);
  }
  const Ciphertext beyond = server.encrypt(values(1), 1, 9);
  EXPECT_THROW(static_cast<void>(server.automatic->apply(both, std::array{&beyond, &beyond})), RangeError);
  EXPECT_THROW(StagedFunction(server.client.context, Function({{-1, 1}})), ParameterError);
}

TEST(Automatic, ProductsByNumbersPlaintextsAndSumsOfProducts) {
  Server server(slots_first());
  const Values x = values(1), y = values(0.5, 9);
  const Ciphertext low = server.encrypt(x), other = server.encrypt(y);
  const double error = 2 * server.model() * slack;
  EXPECT_LT(server.difference(server.automatic->multiply(low, rlwe::Scalar{0.5, -0.25}),
                              product(x, Values(slots, {0.5, -0.25}))),
            error);
  EXPECT_EQ(server.evaluator().bootstraps(), 1U);
  EXPECT_EQ(server.automatic->multiply(low, rlwe::Scalar(3)).meta.level, server.low());
  EXPECT_EQ(server.evaluator().bootstraps(), 1U);
  const rlwe::Plaintext plain = server.client.encoder->encode(y, {});
  EXPECT_LT(server.difference(server.automatic->multiply(low, plain), product(x, y)), error);
  EXPECT_EQ(server.evaluator().bootstraps(), 2U);
  const Ciphertext sum = server.automatic->dot(std::array{&low, &low}, std::array{&low, &other});
  EXPECT_LT(server.difference(sum, ckks::map2(product(x, x), product(x, y), std::plus<>())), 2 * error);
  EXPECT_EQ(server.evaluator().bootstraps(), 4U);
  EXPECT_THROW(static_cast<void>(server.automatic->dot({}, {})), ParameterError);
}

TEST(Automatic, KeysOfOtherParametersAreRefused) {
  const Server server(slots_first());
  const ckks::Session other(ckks::small_parameters(2));
  EXPECT_THROW(AutomaticBootstraps(server.prepared, other.keys), MismatchError);
}

// Later stages take what was bootstrapped for an earlier one.
TEST(Automatic, InputsOfSeveralStagesAreBootstrappedOnce) {
  Server server(slots_first());
  Function function({{-1, 1}});
  Function::Value y = function.add({.products = {{0, 0}}});
  for (int i = 0; i < 7; ++i) y = function.add({.products = {{y, 0}}});
  function.set_outputs({y});
  ASSERT_GT(function.depth(), server.automatic->levels_left());
  const StagedFunction ninth(server.client.context, function);
  const Values x = values(1);
  const Ciphertext low = server.encrypt(x);
  const Ciphertext found = std::move(server.automatic->apply(ninth, std::array{&low}).front());
  // The input, and the value between the two stages.
  EXPECT_EQ(server.evaluator().bootstraps(), 2U);
  Values expected = x;
  for (int i = 0; i < 8; ++i) expected = product(expected, x);
  EXPECT_LT(server.difference(found, expected), 16 * server.model() * slack);
}

}  // namespace
}  // namespace hemera::circuits::automatic_tests
