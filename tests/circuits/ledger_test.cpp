// Circuits on a backend that counts and computes nothing: the same operations and bytes as where they run.
#include "hemera/poly/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/counted_cost.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/circuits/time_estimate.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using poly::Operation;

// An input: its slots, and its level where that is not the plan's.
struct Input {
  std::size_t slots;
  std::optional<std::size_t> level = std::nullopt;
};

// What a run of a circuit asked of its backend.
struct Run {
  poly::Ledger::Entries entries;
  Cost cost;
  std::size_t peak = 0;             // of bytes, above those before
  std::size_t plaintext_bytes = 0;  // that binding took
};

template <typename Prepared, typename Plan>
Run run(const Plan& plan, const rlwe::Parameters& parameters, runtime::Device device,
        const std::vector<Input>& given, std::size_t batch) {
  const auto ledger = std::make_shared<poly::Ledger>();
  const auto context = rlwe::Context::make(parameters, device, {.threads = 2, .ledger = ledger});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
  const ckks::Encoder encoder(context);
  std::vector<rlwe::Ciphertext> inputs;
  for (const Input& each : given) {
    const ckks::Values values = ckks::random_values(batch * each.slots, each.slots, 0.5);
    inputs.push_back(
        ckks::encrypt(encoder.encode(values, {batch}, each.level.value_or(plan.level())), secret));
  }
  std::vector<const rlwe::Ciphertext*> pointers;
  for (const rlwe::Ciphertext& input : inputs) pointers.push_back(&input);

  Run result;
  const std::size_t unbound = context->memory_used();
  const Prepared prepared(context, plan);
  result.plaintext_bytes = context->memory_used() - unbound;
  const std::function<void()> evaluate = [&] {
    if constexpr (std::is_invocable_v<const Prepared&, const ckks::Evaluator&, decltype(pointers)>) {
      static_cast<void>(prepared(evaluator, pointers));
    } else if constexpr (std::is_invocable_v<const Prepared&, const ckks::Evaluator&, const rlwe::Ciphertext&,
                                             const rlwe::Ciphertext&>) {
      static_cast<void>(prepared(evaluator, inputs[0], inputs[1]));
    } else {
      static_cast<void>(prepared(evaluator, inputs[0]));
    }
  };
  evaluate();  // constants of levels and keys are made at the first run
  ledger->clear();
  const std::size_t before = context->memory_used();
  context->memory()->reset_peak();
  evaluate();
  result.entries = ledger->entries();
  result.cost = counted_cost(*context, result.entries);
  result.peak = context->memory()->peak() - before;
  return result;
}

std::string describe(const poly::Ledger::Entries& entries) {
  std::string text;
  for (const auto& [entry, count] : entries) {
    text += std::string(name(entry.operation)) + " x " + std::to_string(count) + ": " +
            std::to_string(entry.base.size()) + " to " + std::to_string(entry.target) + " limbs, batch " +
            std::to_string(entry.batch) + ", terms " + std::to_string(entry.terms) + "\n";
  }
  return text;
}

template <typename Prepared, typename Plan>
void expect_same(const Plan& plan, const rlwe::Parameters& parameters, const std::vector<Input>& given,
                 std::size_t batch = 1) {
  const Run counted = run<Prepared>(plan, parameters, runtime::Device::parse("ledger"), given, batch);
  const Run ran = run<Prepared>(plan, parameters, runtime::Device::parse("cpu"), given, batch);
  EXPECT_FALSE(ran.entries.empty());
  EXPECT_EQ(describe(counted.entries), describe(ran.entries));
  EXPECT_EQ(counted.entries, ran.entries);
  EXPECT_EQ(counted.peak, ran.peak);
  EXPECT_EQ(counted.plaintext_bytes, ran.plaintext_bytes);
  const Cost& told = plan.cost();
  EXPECT_EQ(told.key_products * batch, ran.cost.key_products);
  EXPECT_EQ(told.mod_ups * batch, ran.cost.mod_ups);
  EXPECT_EQ(told.divisions * batch, ran.cost.divisions);
  EXPECT_EQ(told.rescales * batch, ran.cost.rescales);
  EXPECT_EQ(told.plaintext_bytes, counted.plaintext_bytes);
  if (batch == 1) {
    EXPECT_EQ(told.workspace_bytes, ran.peak);
  }
}

rlwe::Parameters small() { return ckks::small_parameters(8, 3); }

TEST(Ledger, TransformsAreCountedAsTheyRun) {
  for (const bool fewest_keys : {false, true}) {
    for (const std::size_t batch : {1, 3}) {
      const LinearTransform plan(small(), diagonals_of(ckks::random_values(64 * 64, 4), 64, 64, 128), 128,
                                 {.fewest_keys = fewest_keys});
      expect_same<PreparedLinearTransform>(plan, small(), {{128}}, batch);
    }
  }
}

TEST(Ledger, FunctionsAreCountedAsTheyRun) {
  for (const bool own_keys : {false, true}) {
    const FunctionPlan plan(small(), sigmoid({-8, 8}, 0x1p-12), {.own_keys = own_keys});
    expect_same<PreparedFunction>(plan, small(), {{64}}, 2);
  }
}

TEST(Ledger, MatricesAndSumsAreCountedAsTheyRun) {
  const MatrixProduct product(small(), 8);
  expect_same<PreparedMatrixProduct>(product, small(), {{product.slots()}, {product.slots()}});
  const SlotCircuit sum = SlotCircuit::inner_sum(small(), 64, {.count = 16, .stride = 2}, true);
  expect_same<PreparedSlotCircuit>(sum, small(), {{64}}, 2);
}

TEST(Ledger, BootstrapsAreCountedAsTheyRun) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  for (const BootstrapOptions& options : std::initializer_list<BootstrapOptions>{
           {}, {.slots = 2}, {.slots = 64, .real = true}, {.slots = 32, .merges_parts = true}}) {
    const Bootstrap plan(parameters, options);
    expect_same<PreparedBootstrap>(plan, parameters, {{plan.slots()}});
  }
}

TEST(Ledger, IterationsAreCountedAsTheyRun) {
  BootstrapSettings settings = bootstrap_preset("test-40");
  settings.levels = 4;
  settings.scale_bits = 59;
  settings.last_bits = 50;
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
  for (const std::size_t iterations : {2, 3}) {
    for (const bool real : {false, true}) {
      const Bootstrap plan(parameters, {.slots = 64, .real = real, .iterations = iterations});
      expect_same<PreparedBootstrap>(plan, parameters, {{plan.slots()}});
    }
  }
}

// The key of a circuit's own level serves no users' levels, or the highest alone, whichever comes first.
TEST(Ledger, KeysServeEveryLevelThatAsksForThem) {
  std::size_t serving_the_highest = 0;
  for (const char* preset : {"test-40", "n16-59"}) {
    BootstrapSettings settings = bootstrap_preset(preset);
    settings.degree = 4096;
    settings.levels = 12;
    settings.digits = 4;
    settings.nested_sine = false;
    settings.coefficients_to_slots.assign(3, 48);
    settings.security = std::nullopt;
    const rlwe::Parameters parameters = parameters_for_bootstrapping(settings);
    const auto context = rlwe::Context::make(parameters, runtime::Device::parse("ledger"));
    const rlwe::KeyRole role = rlwe::KeyRole::galois(context->conjugation_element());
    const Bootstrap plan(parameters, {.slots = 64});
    const auto& of_plan = plan.needed_keys();
    const auto own =
        std::find_if(of_plan.begin(), of_plan.end(), [&](const KeyNeed& need) { return need.role == role; });
    ASSERT_NE(own, of_plan.end());
    const auto gadget = context->gadget(own->gadget);
    const std::size_t highest = gadget->highest_level(), level = parameters.highest_user_level();
    ASSERT_GT(highest, level);
    ASSERT_FALSE(gadget->serves(level - 4));
    serving_the_highest += gadget->serves(level) ? 1 : 0;
    for (const bool first : {false, true}) {
      rlwe::AskedKeys asked(context);
      if (first) static_cast<void>(asked.find(role, own->gadget));
      for (const std::size_t at : {level, level - 4}) static_cast<void>(asked.find(role, at));
      if (!first) static_cast<void>(asked.find(role, own->gadget));
      static_cast<void>(asked.find(role, highest));
      const std::vector<KeyNeed> needs = needs_of(*context, asked);
      ASSERT_EQ(needs.size(), 2U);
      // Not of a level of the circuit's, which takes a larger key.
      const bool is_there = first && gadget->serves(level);
      EXPECT_EQ(needs.back().gadget, parameters.default_gadget(is_there ? level - 4 : level));
      for (const std::size_t at : {highest, level, level - 4}) {
        EXPECT_TRUE(std::any_of(needs.begin(), needs.end(),
                                [&](const KeyNeed& need) {
                                  return need.role == role && context->gadget(need.gadget)->serves(at);
                                }))
            << preset << " " << at;
      }
    }
  }
  EXPECT_EQ(serving_the_highest, 1U);
}

// What products of matrices are noted as, and count: of three rows, five terms and two components or columns.
TEST(Ledger, ProductsOfMatricesAreCounted) {
  const auto ledger = std::make_shared<poly::Ledger>();
  const auto context =
      rlwe::Context::make(small(), runtime::Device::parse("ledger"), {.threads = 1, .ledger = ledger});
  const poly::RnsBase& base = context->base(context->top_level());
  const auto poly = [&](std::size_t batch, std::size_t components) {
    return poly::Poly(context->memory(), batch, components, base, poly::Form::evaluation);
  };
  poly::Poly out = poly(3, 2);
  const poly::Poly in = poly(5, 2), a = poly(3, 5);
  const runtime::Buffer device(context->memory(), 3 * 5 * 2);
  const std::vector<std::byte> host(3 * 5 * 2);
  const poly::IntegerMatrixView w{
      .data = device.data(), .host = host.data(), .rows = 3, .columns = 5, .bytes = 2};
  runtime::Workspace space(context->memory());
  const poly::Backend& backend = context->backend();
  for (const bool of_integers : {true, false}) {
    SCOPED_TRACE(of_integers);
    ledger->clear();
    if (of_integers) {
      backend.multiply_matrix(context->queue(), out.view(), in.view(), w, base, space);
    } else {
      backend.multiply_elements(context->queue(), out.view(), a.view(), in.view(), base, space);
    }
    const poly::Ledger::Entries entries = ledger->entries();
    ASSERT_EQ(entries.size(), 1U);
    const poly::LedgerEntry& entry = entries.begin()->first;
    EXPECT_EQ(entry.operation, of_integers ? Operation::multiply_matrix : Operation::multiply_elements);
    EXPECT_STREQ(name(entry.operation), of_integers ? "multiply_matrix" : "multiply_elements");
    EXPECT_EQ(entry.batch, 3U);
    EXPECT_EQ(entry.terms, 5U);
    EXPECT_EQ(entry.components, 2U);
    EXPECT_EQ(entry.right, of_integers ? 2U : 0U);
    EXPECT_EQ(entry.target, base.size());
    const Cost cost = counted_cost(*context, entries);
    EXPECT_EQ(cost.plain_products, of_integers ? 3U * 5 : 3U * 5 * 2);
    EXPECT_EQ(cost.work.at(context->top_level()).products, 3 * 5 * 2 * base.size());
    const auto limbs = static_cast<double>(base.size());
    EXPECT_EQ(work_of(entry), 3 * 2 * limbs * (of_integers ? 5 * 2 + 1 : 5 + 1));
  }
}

TEST(Ledger, ValuesAreNotThere) {
  const auto context = rlwe::Context::make(small(), runtime::Device::parse("ledger"));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::PublicKey key = rlwe::generate_public_key(secret);
  const ckks::Encoder encoder(context);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(ckks::random_values(8, 1), {}), key);
  EXPECT_THROW(static_cast<void>(encoder.decode(ckks::decrypt(x, secret))), DeviceError);
}

}  // namespace
}  // namespace hemera::circuits
