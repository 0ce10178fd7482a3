// Sums, copies and masks of slots, beside loops over values.
#include "hemera/circuits/linear/slot_circuit.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits::slot_circuit_tests {
namespace {

using ckks::Complex;
using ckks::Values;

constexpr std::size_t slots = 64;

rlwe::Parameters parameters() { return ckks::small_parameters(3, 2); }

// Row `row` of the block of slot i, in the column of slot i.
std::size_t in_block(std::size_t i, const Blocks& blocks, std::size_t row) {
  const std::size_t size = blocks.count * blocks.stride;
  return i / size * size + row * blocks.stride + i % blocks.stride;
}

Values sums(const Values& x, const Blocks& blocks) {
  Values result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t row = 0; row < blocks.count; ++row) result[i] += x[in_block(i, blocks, row)];
  }
  return result;
}

Values copies(const Values& x, const Blocks& blocks, std::size_t position) {
  Values result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[in_block(i, blocks, position)];
  return result;
}

struct SlotCase {
  const char* name;
  std::function<SlotCircuit(const SlotCircuitOptions&)> plan;
  std::function<Values(const Values&)> expected;
  std::function<bool(std::size_t)> is_told;  // whether the result in a slot is said to be that
  std::size_t depth;
};

bool everywhere(std::size_t /*slot*/) { return true; }

std::vector<SlotCase> slot_cases() {
  const auto sum = [](const char* name, Blocks blocks, bool all, std::size_t depth) {
    return SlotCase{name,
                    [=](const SlotCircuitOptions& options) {
                      return SlotCircuit::inner_sum(parameters(), slots, blocks, all, options);
                    },
                    [=](const Values& x) { return sums(x, blocks); },
                    [=](std::size_t i) { return all || i % (blocks.count * blocks.stride) < blocks.stride; },
                    depth};
  };
  const auto copy = [](const char* name, Blocks blocks, std::size_t position) {
    return SlotCase{name,
                    [=](const SlotCircuitOptions& options) {
                      return SlotCircuit::replication(parameters(), slots, blocks, position, false, options);
                    },
                    [=](const Values& x) { return copies(x, blocks, position); }, everywhere, 1};
  };
  const auto is_kept = [](std::size_t i) { return i % 3 == 1; };
  return {
      sum("SumOfEight", {8, 1}, false, 0),
      sum("SumOfColumns", {4, 8}, false, 0),
      sum("SumEverywhere", {16, 1}, true, 1),
      sum("SumOfColumnsEverywhere", {4, 4}, true, 1),
      sum("SumOfAllSlots", {slots, 1}, true, 0),
      sum("SumOfAllColumns", {8, 8}, true, 0),
      copy("CopyOfTheFirst", {8, 1}, 0),
      copy("CopyOfTheFifth", {16, 1}, 5),
      copy("CopyOfTheLastRow", {4, 8}, 3),
      copy("CopyOverAllSlots", {slots, 1}, 42),
      {"Mask",
       [=](const SlotCircuitOptions& options) {
         std::vector<bool> kept(slots);
         for (std::size_t i = 0; i < slots; ++i) kept[i] = is_kept(i);
         return SlotCircuit::mask(parameters(), kept, options);
       },
       [=](const Values& x) {
         Values result = x;
         for (std::size_t i = 0; i < slots; ++i) result[i] *= is_kept(i) ? 1 : 0;
         return result;
       },
       everywhere, 1},
  };
}

class SlotCircuitTest : public ::testing::TestWithParam<SlotCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, SlotCircuitTest, ::testing::ValuesIn(slot_cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(SlotCircuitTest, IsWhatItSays) {
  const SlotCase& tested = GetParam();
  const ckks::Session client(parameters(), {.public_key = true, .relinearization = true});
  // A copy over all slots has one error: a batch has enough of them for a mean.
  constexpr std::size_t batch = 16;
  const Values x = ckks::random_values(batch * slots, 11);
  for (const auto& [level, fewest_keys, own_keys] :
       {std::tuple{3U, false, false}, {2U, true, false}, {2U, false, true}}) {
    SCOPED_TRACE((fewest_keys ? "fewest keys" : own_keys ? "own keys" : "all keys"));
    const SlotCircuit plan = tested.plan({.level = level, .fewest_keys = fewest_keys, .own_keys = own_keys});
    EXPECT_EQ(plan.ends().depth(), tested.depth);
    rlwe::EvaluationKeys keys = client.keys;
    keys.merge(generate_needed_keys(client.secret, plan.needed_keys()));
    const ckks::Evaluator evaluator(client.context, keys);
    const PreparedSlotCircuit prepared(client.context, plan);
    const rlwe::Ciphertext y = prepared(evaluator, client.encrypt(x, {batch}));
    EXPECT_EQ(y.meta.level, plan.result_level());
    EXPECT_EQ(y.meta.noise_scale_degree, 1);
    EXPECT_TRUE(client.context->scales().close(y.meta.scale, plan.ends().result_scale));
    const Values found = client.decrypt(y);
    double squares = 0;
    std::size_t count = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      const Values one(x.begin() + static_cast<std::ptrdiff_t>(b * slots),
                       x.begin() + static_cast<std::ptrdiff_t>((b + 1) * slots));
      const Values expected = tested.expected(one), clear = plan.evaluate_clear(one);
      for (std::size_t i = 0; i < slots; ++i) {
        if (tested.is_told(i)) {
          EXPECT_LT(std::abs(clear[i] - expected[i]), 1e-12) << i;
        }
        const double error = std::abs(found[b * slots + i] - clear[i]);
        EXPECT_LT(error, ckks::tolerance);
        squares += error * error;
        ++count;
      }
    }
    const double measured = std::sqrt(squares / static_cast<double>(count));
    const ExpectedError modelled = plan.expected_error();
    EXPECT_LT(std::abs(std::log2(measured / modelled.mean)), 1) << measured << " " << modelled.mean;
    EXPECT_GE(modelled.worst, modelled.mean);
  }
}

TEST(SlotCircuit, TakesFewerStepsOrFewerKeys) {
  const Blocks blocks{64, 1};
  const SlotCircuit quick = SlotCircuit::inner_sum(parameters(), 512, blocks);
  const SlotCircuit small = SlotCircuit::inner_sum(parameters(), 512, blocks, false, {.fewest_keys = true});
  EXPECT_EQ(small.rotations(), (std::vector<std::size_t>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(small.cost().mod_ups, 6U);
  EXPECT_EQ(small.cost().key_products, 6U);
  EXPECT_EQ(quick.rotations(), (std::vector<std::size_t>{1, 2, 3, 4, 8, 12, 16, 32, 48}));
  EXPECT_EQ(quick.cost().mod_ups, 3U);
  EXPECT_EQ(quick.cost().divisions, 3U);
  EXPECT_GT(quick.cost().key_bytes, small.cost().key_bytes);
}

// Levels of parameters for bootstrapping have primes of their own, so keys for all levels below are long.
TEST(SlotCircuit, OwnKeysAreOverThePrimesOfTheirLevelAlone) {
  const rlwe::Parameters levels = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const std::size_t level = levels.lowest_user_level() + 3;
  const auto sum = [&](bool own_keys) {
    return SlotCircuit::inner_sum(levels, slots, {16, 1}, false, {.level = level, .own_keys = own_keys});
  };
  const SlotCircuit own = sum(true), usual = sum(false);
  ASSERT_FALSE(own.needed_keys().empty());
  for (const KeyNeed& need : own.needed_keys()) {
    EXPECT_EQ(need.gadget.base, levels.literal().levels.at(level));
    EXPECT_EQ(need.gadget.digits.size(), 1U);
  }
  EXPECT_LT(2 * own.cost().key_bytes, usual.cost().key_bytes);
  EXPECT_LT(own.cost().work.at(level).key_products, usual.cost().work.at(level).key_products);
}

TEST(SlotCircuit, TakesOtherKeysOfSeveralGadgets) {
  // Some rotations have keys of the highest level, others of the one below alone.
  const SlotCircuit plan = SlotCircuit::replication(parameters(), slots, {16, 1}, 9);
  const ckks::Session client(parameters(), {.public_key = true, .relinearization = true});
  rlwe::EvaluationKeys keys = client.keys;
  bool is_top = false;
  for (const std::size_t rotation : plan.rotations()) {
    const std::uint64_t element = client.context->galois_element(static_cast<std::int64_t>(rotation));
    keys.add(rlwe::KeyRole::galois(element),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_galois_key(
                 client.secret, element, client.context->gadget((is_top = !is_top) ? 3 : 2))));
  }
  const ckks::Evaluator evaluator(client.context, keys);
  const Values x = ckks::random_values(slots, 13);
  const rlwe::Ciphertext y = PreparedSlotCircuit(client.context, plan)(evaluator, client.encrypt(x));
  EXPECT_LT(client.error(y, copies(x, {16, 1}, 9)), ckks::tolerance);
}

TEST(SlotCircuit, LeavesTheMaskOutWhereItIsNotNeeded) {
  const SlotCircuit plan = SlotCircuit::replication(parameters(), slots, {8, 2}, 3, true);
  EXPECT_EQ(plan.ends().depth(), 0U);
  EXPECT_EQ(plan.cost().plaintext_bytes, 0U);
  Values x(slots);
  for (std::size_t i = 0; i < slots; ++i) x[i] = i / 2 % 8 == 3 ? static_cast<double>(i) : 0;
  EXPECT_LT(ckks::largest_difference(plan.evaluate_clear(x), copies(x, {8, 2}, 3)), 1e-12);
}

TEST(SlotCircuit, RefusesWhatDoesNotFit) {
  const auto refused = [](const Blocks& blocks, std::size_t count = slots) {
    EXPECT_THROW(static_cast<void>(SlotCircuit::inner_sum(parameters(), count, blocks)), ParameterError)
        << blocks.count << " " << blocks.stride << " " << count;
  };
  refused({3, 1});
  refused({4, 3});
  refused({2 * slots, 1});
  refused({8, slots / 4});
  refused({1, 2 * slots});
  refused({0, 1});
  refused({1, 0});
  refused({2, 1}, 3);
  refused({2, 1}, 1024);
  EXPECT_THROW(static_cast<void>(SlotCircuit::replication(parameters(), slots, {4, 1}, 4)), ParameterError);
  EXPECT_THROW(static_cast<void>(SlotCircuit::mask(parameters(), std::vector<bool>(3, true))),
               ParameterError);
  EXPECT_THROW(static_cast<void>(SlotCircuit::mask(parameters(), std::vector<bool>(4, true), {.level = 0})),
               LevelError);
  EXPECT_THROW(static_cast<void>(SlotCircuit::inner_sum(parameters(), slots, {4, 1}, false, {.level = 4})),
               LevelError);
  EXPECT_THROW(
      static_cast<void>(SlotCircuit::inner_sum(parameters(), slots, {4, 1}).evaluate_clear(Values(3))),
      ParameterError);
}

// A row alone is its sum and its copy: no key, no level, no work. The widest blocks are all slots.
TEST(SlotCircuit, BlocksOfOneRowStayAsTheyAre) {
  const ckks::Session client(parameters());
  const Values x = ckks::random_values(slots, 21);
  const rlwe::Ciphertext encrypted = client.encrypt(x);
  for (const std::size_t stride : {std::size_t{1}, std::size_t{8}, slots}) {
    for (const SlotCircuit& plan : {SlotCircuit::inner_sum(parameters(), slots, {1, stride}),
                                    SlotCircuit::inner_sum(parameters(), slots, {1, stride}, true),
                                    SlotCircuit::replication(parameters(), slots, {1, stride})}) {
      EXPECT_TRUE(plan.needed_keys().empty());
      EXPECT_EQ(plan.ends().depth(), 0U);
      EXPECT_EQ(plan.cost().key_bytes, 0U);
      EXPECT_TRUE(plan.cost().work.empty());
      EXPECT_EQ(plan.evaluate_clear(x), x);
      const rlwe::Ciphertext y = PreparedSlotCircuit(client.context, plan)(*client.evaluator, encrypted);
      EXPECT_EQ(y.meta.level, encrypted.meta.level);
      EXPECT_LT(client.error(y, x), ckks::tolerance);
    }
  }
  EXPECT_NO_THROW(static_cast<void>(SlotCircuit::inner_sum(parameters(), slots, {8, slots / 8})));
  EXPECT_NO_THROW(static_cast<void>(SlotCircuit::inner_sum(parameters(), slots, {slots, 1})));
  EXPECT_NO_THROW(static_cast<void>(SlotCircuit::replication(parameters(), slots, {4, 1}, 3)));
}

// Every row of blocks of every size, within all slots and beside others.
TEST(SlotCircuit, CopiesEveryRow) {
  const Values x = ckks::random_values(slots, 22);
  for (const Blocks& blocks : {Blocks{2, 1}, Blocks{4, 4}, Blocks{8, 8}, Blocks{32, 1}, Blocks{64, 1}}) {
    for (std::size_t row = 0; row < blocks.count; ++row) {
      for (const bool fewest_keys : {false, true}) {
        const SlotCircuit plan =
            SlotCircuit::replication(parameters(), slots, blocks, row, false, {.fewest_keys = fewest_keys});
        EXPECT_EQ(plan.evaluate_clear(x), copies(x, blocks, row)) << blocks.count << " " << row;
        if (fewest_keys) {
          EXPECT_EQ(plan.rotations().size(), static_cast<std::size_t>(std::countr_zero(blocks.count)));
        }
      }
    }
  }
}

TEST(WithSlots, RepeatsValuesOfABatchAndTakesThemBack) {
  const ckks::Session client(parameters());
  const Values given = ckks::random_values(3 * 4, 20);
  const rlwe::Ciphertext x = client.encrypt(given, {3}), wide = with_slots(x, slots);
  EXPECT_EQ(wide.meta.batch, rlwe::BatchShape{3});
  const Values repeated = client.decrypt(wide);
  ASSERT_EQ(repeated.size(), 3 * slots);
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    EXPECT_LT(std::abs(repeated[i] - given[i / slots * 4 + i % 4]), ckks::tolerance) << i;
  }
  EXPECT_LT(client.error(with_slots(wide, 4), given), ckks::tolerance);
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{3}, 2 * parameters().max_slots()}) {
    EXPECT_THROW(static_cast<void>(with_slots(x, wrong)), ParameterError) << wrong;
  }
}

// With other slots all of them count; with the same number nothing changes. Everything else stays.
TEST(WithSlots, OtherSlotsAreAllFilled) {
  const ckks::Session client(parameters());
  const Values given = {{0.5, 0}, {-0.25, 1}, {1, 0}, {0, 0}};
  for (const auto padding : {rlwe::Padding::zeros, rlwe::Padding::unknown, rlwe::Padding::uniform}) {
    rlwe::Ciphertext x = client.encrypt(given);
    client.evaluator->lower_to_level_inplace(x, 2);
    x.meta.filled = 3;
    x.meta.padding = padding;
    x.meta.largest = 7;
    x.meta.is_complex = true;
    for (const std::size_t count : {1, 2, 4, 8, 512}) {
      const rlwe::Ciphertext y = with_slots(x, count);
      rlwe::Metadata expected = x.meta;
      expected.slots = count;
      if (count != 4) {
        // All alike stay so; of others nothing is known but that they are there.
        expected.filled = 0;
        if (padding != rlwe::Padding::uniform) expected.padding = rlwe::Padding::zeros;
      }
      EXPECT_EQ(y.meta.filled, expected.filled) << count;
      EXPECT_EQ(y.meta.padding, expected.padding) << count;
      EXPECT_EQ(y.meta.slots, count);
      EXPECT_EQ(y.meta.level, expected.level);
      EXPECT_EQ(y.meta.scale, expected.scale);
      EXPECT_EQ(y.meta.largest, 7);
      EXPECT_TRUE(y.meta.is_complex);
      EXPECT_EQ(y.meta.noise_scale_degree, expected.noise_scale_degree);
      const Values found = client.decrypt(y);
      ASSERT_EQ(found.size(), count);
      for (std::size_t i = 0; count >= 4 && i < count; ++i) {
        EXPECT_LT(std::abs(found[i] - given[i % 4]), ckks::tolerance) << i;
      }
    }
  }
}

}  // namespace
}  // namespace hemera::circuits::slot_circuit_tests
