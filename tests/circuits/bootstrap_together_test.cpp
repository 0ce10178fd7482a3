// Bootstraps of several sparse ciphertexts at once, beside what went in and what the model expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "circuits/bootstrap/dft_factors.hpp"
#include "circuits/bootstrap_support.hpp"
#include "hemera/circuits/automatic.hpp"
#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"
#include "hemera/runtime/error.hpp"
#include "host_words.hpp"

namespace hemera::circuits::bootstrap_together_tests {
namespace {

BootstrapSettings insecure(const char* preset) {
  BootstrapSettings settings = bootstrap_preset(preset);
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  return settings;
}
BootstrapSettings one_matrix() { return insecure("n15-40"); }
BootstrapSettings large_scale() {
  BootstrapSettings settings = small_settings();
  settings.levels = 5;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  return settings;
}

struct Case {
  const char* name;
  BootstrapOptions options;
  BootstrapSettings (*settings)() = small_settings;
};

class BootstrapTogether : public ::testing::TestWithParam<Case> {
 protected:
  rlwe::Parameters parameters = parameters_for_bootstrapping(GetParam().settings());
  Bootstrap plan{parameters, GetParam().options};
  std::size_t together = plan.together();
  std::size_t slots = plan.slots();

  [[nodiscard]] Values real_if_so(Values values) const {
    for (Complex& value : values) {
      if (plan.is_real()) value.imag(0);
    }
    return values;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Plans, BootstrapTogether,
    ::testing::Values(
        Case{"AllOfTheRing", {.slots = 64, .together = 16}}, Case{"Two", {.slots = 512, .together = 2}},
        Case{"FewestSlots", {.slots = 2, .together = 16}},
        Case{"NoPowerOfTwo", {.slots = 64, .together = 11}},
        Case{"LessThanTheRing", {.slots = 32, .together = 7}},
        Case{"MergedLessThanTheRing", {.slots = 32, .merges_parts = true, .together = 3}},
        Case{"FewKeys", {.slots = 64, .together = 16, .key_memory_limit = 57 << 20}},
        Case{"OneMatrix", {.slots = 32, .real = true, .together = 8}, one_matrix},
        Case{"RealIterations", {.slots = 64, .real = true, .iterations = 2, .together = 6}, large_scale}),
    [](const auto& tested) { return std::string(tested.param.name); });

// The judge are the values that went in. Each ciphertext has others, so that none may take another's place.
TEST_P(BootstrapTogether, HasThePrecisionOfTheModel) {
  const BootstrapSession session(parameters, plan);
  const auto expected_of = [&](const Values& values, std::size_t run) {
    Values all;
    for (std::size_t i = 0; i < values.size(); i += slots) {
      const std::vector<Complex> found = plan.simulate(std::span(values).subspan(i, slots), 1000 * run + i);
      all.insert(all.end(), found.begin(), found.end());
    }
    return real_if_so(std::move(all));
  };
  const std::size_t count = together * slots;
  Values ones(count, 1), single(count);
  for (std::size_t i = 0; i < count; ++i) single[i] = i % slots == i / slots % slots ? 1 : 0;
  struct Kind {
    const char* name;
    Values values;
  };
  const std::vector<Kind> kinds{
      {"uniform", real_if_so(ckks::random_values(count, 5))}, {"ones", ones}, {"single", single}};
  const std::size_t runs = count < 256 ? 6 : 1;
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const Precision found = averaged(
        [&](std::size_t) {
          return real_if_so(session.client.decrypt(
              session.prepared(session.evaluator, session.encrypt(kind.values, {together}))));
        },
        kind.values, runs);
    const Precision expected =
        averaged([&](std::size_t i) { return expected_of(kind.values, i); }, kind.values, runs);
    EXPECT_NEAR(found.mean_bits, expected.mean_bits, 1);
    EXPECT_NEAR(found.worst_bits, expected.worst_bits, 1.5);
    EXPECT_GT(found.mean_bits, plan.expected_precision().mean_bits - 1);
    EXPECT_GT(found.worst_bits, plan.expected_precision().worst_bits - 1.5);
  }
}

// Batches of any number and shape, one of them twice.
TEST_P(BootstrapTogether, TakesBatchesOfAnyNumber) {
  const BootstrapSession session(parameters, plan);
  const double limit = std::exp2(1.5 - plan.expected_precision().worst_bits);
  std::vector<rlwe::BatchShape> shapes{{}, {1}, {together - 1}, {together + 1}, {2, together}};
  if (together <= 8) shapes.push_back({3, together + 1, 1});
  for (const rlwe::BatchShape& shape : shapes) {
    SCOPED_TRACE(rlwe::to_text(shape));
    const Values values = real_if_so(ckks::random_values(rlwe::batch_count(shape) * slots, 7));
    const rlwe::Ciphertext in = session.encrypt(values, shape);
    for (int i = shape.empty() ? 0 : 1; i < 2; ++i) {
      const rlwe::Ciphertext out = session.prepared(session.evaluator, in);
      EXPECT_EQ(out.meta.batch, shape);
      EXPECT_EQ(out.meta.slots, slots);
      EXPECT_EQ(out.meta.level, plan.result_level());
      EXPECT_EQ(out.meta.noise_scale_degree, 1);
      EXPECT_NEAR(out.meta.scale / plan.ends().result_scale, 1, 0x1p-40);
      EXPECT_LT(ckks::largest_difference(real_if_so(session.client.decrypt(out)), values), limit);
    }
  }
}

TEST_P(BootstrapTogether, TakesOneLevelMoreThanItsIterations) {
  const std::size_t iterations = plan.iterations() - 1;
  EXPECT_EQ(plan.result_level(), parameters.highest_user_level() - 1 - iterations);
  EXPECT_EQ(plan.result_slots(), plan.slots());
}

TEST(BootstrapTogetherPlan, LeavesTheLevelsOfMergedParts) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap merged(parameters, {.slots = 64, .merges_parts = true});
  EXPECT_EQ(Bootstrap(parameters, {.slots = 64, .together = 16}).result_level(), merged.result_level());
  EXPECT_EQ(Bootstrap(parameters, {.slots = 64, .merges_parts = true, .together = 8}).result_level(),
            merged.result_level());
}

// A group takes one ModRaise and one EvalMod, whatever their number: those of one ciphertext of all slots.
// Before them is SlotToCoeff of each, after them a switch for each but one, and one matrix.
TEST(BootstrapTogetherPlan, HasOneEvalModForAll) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  constexpr std::size_t slots = 64, together = 16;
  const Bootstrap plan(parameters, {.slots = slots, .together = together}), all(parameters);
  EXPECT_EQ(plan.cost().products, all.cost().products);
  std::size_t each = 0;
  for (const LinearTransform& matrix : plan.slots_to_coefficients()) each += matrix.cost().key_products;
  std::size_t of_all = 0;
  for (const LinearTransform& matrix : all.slots_to_coefficients()) of_all += matrix.cost().key_products;
  // 16 diagonals of the matrix that interleaves: 4 x 4 or 8 x 2 baby and giant steps.
  const std::size_t others = all.cost().key_products - of_all + together * each + together - 1;
  EXPECT_GE(plan.cost().key_products, others + 6);
  EXPECT_LE(plan.cost().key_products, others + 8);
  EXPECT_DOUBLE_EQ(plan.failure_log2(), all.failure_log2());
  EXPECT_EQ(plan.cost().work.rbegin()->second, all.cost().work.rbegin()->second);
}

// Polynomials in Y^R, as sums of powers of their coefficients: interleaved they have the slots that long
// stages make of the slots of each.
TEST(BootstrapTogetherPlan, LongStagesGiveInterleavedPolynomials) {
  constexpr std::size_t slots = 32, blocks = 4, each = slots / blocks;
  const Values coefficients = ckks::random_values(2 * slots, 9);
  const auto root = [](std::size_t slot) {  // of X^(2 slots) + 1
    std::size_t power = 1;
    for (std::size_t i = 0; i < slot; ++i) power = power * 5 % (4 * slots);
    return std::polar(1.0, std::numbers::pi * static_cast<double>(power) / static_cast<double>(2 * slots));
  };
  Values interleaved(slots), separate(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const Complex y = root(slot);
    for (std::size_t k = 0; k < 2 * slots; ++k) {
      interleaved[slot] += coefficients[k].real() * std::pow(y, static_cast<double>(k));
    }
  }
  for (std::size_t number = 0; number < blocks; ++number) {
    const std::size_t block = number == 1 ? 2 : number == 2 ? 1 : number;  // two bits, reversed
    for (std::size_t at = 0; at < each; ++at) {
      const Complex z = std::pow(root(at), static_cast<double>(blocks));
      for (std::size_t k = 0; k < 2 * each; ++k) {
        separate[block * each + at] +=
            coefficients[blocks * k + number].real() * std::pow(z, static_cast<double>(k));
      }
    }
  }
  Values found(slots);
  const Diagonals stages = long_stages(slots, 3);
  EXPECT_EQ(stages.size(), blocks);
  for (const auto& [number, diagonal] : stages) {
    for (std::size_t k = 0; k < slots; ++k) found[k] += diagonal[k] * separate[(k + number) % slots];
  }
  EXPECT_LT(ckks::largest_difference(found, interleaved), 1e-12);
}

// At the input level SlotToCoeff's matrices divide; above it the way down does.
TEST(BootstrapTogetherPlan, DividesByMagnitudes) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 64, .together = 6});
  constexpr double magnitude = 100;
  const BootstrapSession session(parameters, plan, magnitude);
  const Values values = ckks::random_values(6 * plan.slots(), 11, magnitude / 2);
  const double limit = magnitude * std::exp2(1.5 - plan.expected_precision().worst_bits);
  EXPECT_LT(std::exp2(-plan.expected_precision(magnitude).worst_bits), limit);
  const auto error = [&](const rlwe::Ciphertext& in) {
    return session.client.error(session.prepared(session.evaluator, in), values);
  };
  EXPECT_LT(error(session.encrypt(values, {6})), limit);
  const rlwe::Ciphertext high = ckks::encrypt(
      session.client.encoder->encode(values, {6}, plan.input_level() + 2), session.client.secret);
  EXPECT_LT(error(high), limit);
}

// Operands of one circuit go through as one batch where they are alike: beside the bits of that batch.
TEST(BootstrapTogetherPlan, OperandsThatWaitTogetherAreOneBatch) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 8, .together = 4});
  const BootstrapSession session(parameters, plan, 1);
  const AutomaticBootstraps automatic(
      std::make_shared<const PreparedBootstrap>(session.client.context, plan, 1), session.evaluator.keys());
  const Values values = ckks::random_values(5 * 8, 13);
  const rlwe::Ciphertext all = session.encrypt(values, {5});
  rlwe::Ciphertext pair = rlwe::slice(all, 1, 2);
  rlwe::reshape_inplace(pair, {1, 2});
  rlwe::Ciphertext declared = rlwe::take(all, 4);
  declared.meta.largest = 0.5;
  const rlwe::Ciphertext first = rlwe::take(all, 0), last = rlwe::take(all, 3);
  const rlwe::Ciphertext high = ckks::encrypt(
      session.client.encoder->encode(Values(8, 0.5), {}, plan.input_level() + 4), session.client.secret);
  const std::vector<const rlwe::Ciphertext*> operands{&first, &high, &pair, &first, &declared, &last};
  const Operands found = automatic.refreshed(operands, 1);
  EXPECT_EQ(automatic.evaluator()->bootstraps(), 5U);
  ASSERT_EQ(found.bootstrapped.size(), 4U);
  EXPECT_EQ(found.each[1], &high);
  EXPECT_EQ(found.each[0], found.each[3]);
  EXPECT_EQ(found.each[2]->meta.batch, (rlwe::BatchShape{1, 2}));
  EXPECT_EQ(found.each[4]->meta.largest, 0.5);
  const auto are_equal = [](const rlwe::Ciphertext& a, const rlwe::Ciphertext& b) {
    return tests::host_words(*a.context, a.poly) == tests::host_words(*b.context, b.poly);
  };
  // Three operands of four elements, and the one that declares a bound.
  const rlwe::Ciphertext batch = session.prepared(session.evaluator, rlwe::slice(all, 0, 4));
  EXPECT_TRUE(are_equal(*found.each[0], rlwe::take(batch, 0)));
  EXPECT_TRUE(are_equal(*found.each[2], rlwe::slice(batch, 1, 2)));
  EXPECT_TRUE(are_equal(*found.each[5], rlwe::take(batch, 3)));
  EXPECT_TRUE(are_equal(*found.each[4], session.prepared(session.evaluator, declared)));
  // Magnitudes of their own separate them.
  const Operands apart = automatic.refreshed(std::array{&first, &last}, 1, std::array{1.0, 2.0});
  EXPECT_TRUE(are_equal(*apart.each[0], session.prepared(session.evaluator, first)));
}

TEST(BootstrapTogetherPlan, RefusesWhatDoesNotFit) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const auto refused = [&](const BootstrapOptions& options) {
    EXPECT_THROW(Bootstrap(parameters, options), ParameterError);
  };
  refused({.slots = 64, .together = 0});
  refused({.slots = 64, .together = 17});
  refused({.slots = 64, .merges_parts = true, .together = 9});
  refused({.together = 2});
  refused({.slots = 64, .merges_parts = true, .joins_parts = false, .together = 2});
  EXPECT_THROW(Bootstrap(parameters_for_bootstrapping(standard_order()), {.slots = 64, .together = 2}),
               ParameterError);
  EXPECT_THROW(
      Bootstrap(parameters_for_bootstrapping(bootstrap_preset("test-exact")), {.slots = 64, .together = 2}),
      ParameterError);

  const Bootstrap plan(parameters, {.slots = 8, .together = 4});
  const BootstrapSession session(parameters, plan);
  const auto boot = [&](const rlwe::Ciphertext& x) { return session.prepared(session.evaluator, x); };
  EXPECT_THROW(boot(session.encrypt(Values(64, 0.5), {4})), MismatchError);  // 16 slots each
  EXPECT_THROW(boot({}), MismatchError);
  rlwe::Ciphertext low = session.encrypt(Values(32, 0.5), {4});
  EXPECT_THROW(boot(session.evaluator.multiply(low, low)), ScaleError);
  session.evaluator.rescale_inplace(low);
  EXPECT_THROW(boot(low), LevelError);
  // Keys of one by one lack the steps that take the values apart.
  const BootstrapSession one_by_one(parameters, Bootstrap(parameters, {.slots = 8}));
  const PreparedBootstrap prepared(one_by_one.client.context, plan);
  EXPECT_THROW(static_cast<void>(prepared(one_by_one.evaluator, one_by_one.encrypt(Values(32, 0.5), {4}))),
               MissingKeyError);
  const std::vector members{session.client.context, session.client.context};
  EXPECT_THROW(SharedBootstrap(members, plan), ParameterError);
  EXPECT_THROW(static_cast<void>(SharedBootstrap::work(plan)), ParameterError);
}

TEST(BootstrapTogetherPlan, KeepsTheSecurityOfThePresets) {
  for (const char* name : {"n16-40", "n16-45", "n15-31", "n15-34"}) {
    SCOPED_TRACE(name);
    const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset(name));
    const Bootstrap plan(parameters, {.slots = 1024, .together = 4});
    for (const KeyNeed& need : plan.needed_keys()) {
      EXPECT_GE(parameters.security(need.gadget), rlwe::Security::at_least_128);
    }
    EXPECT_LT(plan.failure_log2(), -128);
  }
}

}  // namespace
}  // namespace hemera::circuits::bootstrap_together_tests
