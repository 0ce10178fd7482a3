// Bootstraps over members: the values, and the bits of one member.
#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap_support.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/member_threads.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;

struct SharedBootstrapCase {
  const char* name;
  std::size_t members;
  BootstrapSettings (*settings)() = small_settings;
  BootstrapOptions options = {.slots = 64};
  std::optional<double> magnitude = std::nullopt;
  rlwe::BatchShape batch = {};
  std::vector<std::size_t> counts = {};
};

class SharedBootstraps : public ::testing::TestWithParam<SharedBootstrapCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, SharedBootstraps,
    ::testing::Values(
        SharedBootstrapCase{.name = "One", .members = 1},
        SharedBootstrapCase{.name = "DividedBatch", .members = 3, .magnitude = 4, .batch = {2}},
        SharedBootstrapCase{.name = "Real", .members = 4, .options = {.slots = 64, .real = true}},
        SharedBootstrapCase{
            .name = "MergedParts", .members = 2, .options = {.slots = 64, .merges_parts = true}},
        SharedBootstrapCase{.name = "Iterations", .members = 2, .options = {.slots = 64, .iterations = 2}},
        SharedBootstrapCase{.name = "StandardOrder", .members = 2, .settings = standard_order},
        SharedBootstrapCase{.name = "StepsOfTheirOwn", .members = 3, .counts = {2, 1, 3, 1, 1, 3, 2, 2}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(SharedBootstraps, HaveTheBitsOfOneMember) {
  const auto& [name, count, settings, options, magnitude, batch, counts] = GetParam();
  const rlwe::Parameters parameters = parameters_for_bootstrapping(settings());
  const Bootstrap plan(parameters, options);
  const BootstrapSession session(parameters, plan, magnitude);
  std::vector<std::shared_ptr<const rlwe::Context>> members{session.client.context};
  while (members.size() < count) members.push_back(tests::make_context(parameters, 1));
  std::vector<std::unique_ptr<ckks::Evaluator>> evaluators;
  std::vector<const ckks::Evaluator*> pointers;
  for (const auto& member : members) {
    evaluators.push_back(
        std::make_unique<ckks::Evaluator>(member, rlwe::copy_to(member, session.evaluator.keys())));
    pointers.push_back(evaluators.back().get());
  }
  Values values = ckks::random_values(plan.slots() * rlwe::batch_count(batch), 91, magnitude.value_or(1));
  if (plan.is_real()) {
    for (Complex& value : values) value.imag(0);
  }
  const Ciphertext x = session.encrypt(values, batch);
  const Ciphertext expected = session.prepared(session.evaluator, x);
  const SharedBootstrap shared(members, plan, magnitude, tests::in_threads, counts);
  EXPECT_EQ(shared.members(), count);
  const Ciphertext y = shared(pointers, rlwe::copy_to(members.back(), x), tests::in_threads);
  EXPECT_EQ(y.context, members.front());
  EXPECT_TRUE(io::save(y) == io::save(expected));
  EXPECT_LT(session.client.error(y, values), 0x1p-10 * magnitude.value_or(1));
  EXPECT_EQ(pointers.front()->bootstraps(), rlwe::batch_count(batch));
}

std::size_t steps_of(const Bootstrap& plan) {
  return 2 + plan.slots_to_coefficients().size() + plan.coefficients_to_slots().size();
}

TEST(SharedBootstraps, NameWhatClashes) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 16});
  const BootstrapSession session(parameters, plan);
  const std::vector members{session.client.context, tests::make_context(parameters, 1)};
  const SharedBootstrap shared(members, plan);
  const ckks::Evaluator second(members[1], rlwe::copy_to(members[1], session.evaluator.keys()));
  const ckks::Evaluator keyless(members[1], {});
  const Ciphertext x = session.encrypt(ckks::random_values(16, 92));
  using Evaluators = std::vector<const ckks::Evaluator*>;
  EXPECT_THROW(SharedBootstrap({}, plan), ParameterError);
  const std::vector<std::size_t> few{1, 1}, none(8, 0);
  EXPECT_THROW(SharedBootstrap(members, plan, {}, rlwe::in_turn, few), ParameterError);
  EXPECT_THROW(SharedBootstrap(members, plan, {}, rlwe::in_turn, std::span(none).first(steps_of(plan))),
               ParameterError);
  EXPECT_THROW(static_cast<void>(shared(Evaluators{&session.evaluator}, x)), MismatchError);
  EXPECT_THROW(static_cast<void>(shared(Evaluators{&second, &session.evaluator}, x)), MismatchError);
  EXPECT_THROW(static_cast<void>(shared(Evaluators{&session.evaluator, &second}, {})), MismatchError);
  EXPECT_THROW(static_cast<void>(shared(Evaluators{&session.evaluator, &keyless}, x)), MissingKeyError);
  EXPECT_NO_THROW(static_cast<void>(shared(Evaluators{&session.evaluator, &second}, x)));
}

// A member does what the counts say, and nothing else.
TEST(SharedBootstraps, StepsAreOnTheirMembers) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 512});
  std::vector<std::shared_ptr<const rlwe::Context>> members;
  std::vector<std::unique_ptr<ckks::Evaluator>> evaluators;
  std::vector<const ckks::Evaluator*> pointers;
  for (int i = 0; i < 2; ++i) {
    members.push_back(rlwe::Context::make(parameters, runtime::Device::parse("ledger")));
    evaluators.push_back(std::make_unique<ckks::Evaluator>(
        members.back(), plan.generate_keys(rlwe::generate_secret_key(members.back()))));
    pointers.push_back(evaluators.back().get());
  }
  rlwe::Metadata meta;
  meta.level = plan.input_level();
  meta.scale = members.front()->scales().level_scale(meta.level);
  meta.slots = plan.slots();
  const Ciphertext x = rlwe::make_ciphertext(members.front(), meta, 2);
  using Entries = poly::Ledger::Entries;
  // Products with keys alone: copies and sums are the exchange's.
  const auto with_keys = [](const Entries& entries) {
    Entries found;
    for (const auto& [entry, times] : entries) {
      if (entry.digits != 0) found.emplace(entry, times);
    }
    return found;
  };
  const auto of_second = [&](const std::vector<std::size_t>& counts) {
    const SharedBootstrap shared(members, plan, std::nullopt, rlwe::in_turn, counts);
    members[1]->ledger()->clear();
    static_cast<void>(shared(pointers, x));
    return with_keys(members[1]->ledger()->entries());
  };
  const auto share_of = [&](const LinearTransform& matrix) {
    return with_keys(SharedLinearTransform::work(matrix, 2).products.at(1));
  };
  // SlotToCoeff's three matrices, ModRaise, CoeffToSlot's three, EvalMod.
  EXPECT_EQ(of_second({1, 1, 1, 1, 1, 1, 1, 1}), Entries());
  EXPECT_EQ(of_second({1, 1, 1, 2, 1, 2, 1, 1}), share_of(plan.coefficients_to_slots()[1]));
  EXPECT_EQ(of_second({1, 1, 1, 1, 1, 1, 2, 1}), share_of(plan.coefficients_to_slots()[2]));
  EXPECT_EQ(of_second({1, 1, 1, 1, 1, 1, 1, 2}), with_keys(SharedBootstrap::work(plan).parts.at(1)));
}

// The steps' calls are those of the whole bootstrap: what members share is there once.
TEST(SharedBootstraps, WorkIsThatOfTheSteps) {
  const rlwe::Parameters parameters = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(parameters, {.slots = 64});
  const SharedBootstrapWork work = SharedBootstrap::work(plan);
  const auto calls_of = [](const poly::Ledger::Entries& entries, poly::Operation operation) {
    std::size_t calls = 0;
    for (const auto& [entry, times] : entries)
      calls += entry.operation == operation ? times * entry.batch : 0;
    return calls;
  };
  ASSERT_EQ(work.parts.size(), 2U);
  EXPECT_TRUE(work.is_slots_first);
  EXPECT_EQ(work.to_slots.size(), plan.coefficients_to_slots().size());
  EXPECT_EQ(work.to_coefficients.size(), plan.slots_to_coefficients().size());
  // A half has half of the products, but for those after the join.
  using poly::Operation;
  const std::size_t both = calls_of(work.both, Operation::multiply_relinearize);
  const std::size_t half = calls_of(work.parts[0], Operation::multiply_relinearize);
  EXPECT_EQ(half, calls_of(work.parts[1], Operation::multiply_relinearize));
  EXPECT_GT(half, 0U);
  EXPECT_EQ(both, 2 * half);
  EXPECT_FALSE(work.joined.empty());
  EXPECT_FALSE(work.raise.empty());
  // Three components over the primes of the level where parts are joined.
  EXPECT_EQ(work.part_bytes % (3 * parameters.degree() * 8), 0U);
  EXPECT_TRUE(SharedBootstrap::work(Bootstrap(parameters, {.slots = 64, .real = true})).parts.empty());
}

}  // namespace
}  // namespace hemera::circuits
