// Transforms and grids over members: the product of the matrix, and the bits of one member.
#include "hemera/circuits/linear/shared_transform.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "circuits/shared_support.hpp"
#include "hemera/circuits/linear/shared_grid.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/member_threads.hpp"

namespace hemera::circuits {
namespace {

using ckks::Values;
using rlwe::Ciphertext;
using SharedBlocks = std::vector<std::vector<MatrixDiagonals>>;

constexpr std::size_t shared_slots = 32;

rlwe::Parameters shared_parameters() { return ckks::small_parameters(3, 2); }

using TransformMembers = Members<LinearTransform, PreparedLinearTransform>;

struct SharedCase {
  const char* name;
  std::size_t rows, columns, members, computing;
  LinearTransformOptions options;
};

class SharedTransform : public ::testing::TestWithParam<SharedCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, SharedTransform,
    ::testing::Values(SharedCase{"One", 32, 32, 1, 1, {}}, SharedCase{"Two", 32, 32, 2, 2, {}},
                      SharedCase{"ThreeOfEightSteps", 32, 32, 3, 3, {.baby_steps = 4}},
                      SharedCase{"Four", 32, 32, 4, 4, {.members = 4}},
                      SharedCase{"MoreThanGiantSteps", 32, 32, 5, 2, {.baby_steps = 16}},
                      SharedCase{"BabyStepsAlone", 32, 32, 2, 1, {.baby_steps = 32}},
                      SharedCase{"GiantStepsAlone", 32, 32, 4, 4, {.baby_steps = 1}},
                      SharedCase{"FewestKeys", 32, 32, 3, 1, {.fewest_keys = true}},
                      SharedCase{"Wide", 5, 32, 2, 2, {.baby_steps = 8}},
                      SharedCase{"Wrapped", 8, 32, 2, 2, {.baby_steps = 4, .wrapping = {.result_period = 8}}},
                      SharedCase{"OwnKeys", 32, 32, 2, 2, {.own_keys = true}},
                      SharedCase{"NotRescaled", 32, 32, 2, 2, {.rescaled = false}},
                      SharedCase{"LowLevel", 32, 32, 3, 3, {.level = 1, .baby_steps = 8}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Giant steps by one key, from the farthest one on, as clients of other libraries take them.
TEST(SharedTransform, GiantStepsByOneKeyAreOneMembers) {
  Diagonals diagonals;
  for (const std::size_t number : {0, 1, 4, 5, 8, 9})
    diagonals[number] = ckks::random_values(shared_slots, number + 1);
  const LinearTransform plan(shared_parameters(), diagonals, shared_slots,
                             {.steps = RotationSteps{{0, 1}, {0, 4, 8}, 4}});
  const TransformMembers members(plan, 2, true);
  const SharedLinearTransform shared(members.own, plan);
  EXPECT_EQ(shared.members(), 1U);
  const Ciphertext vector = members.session.client.encrypt(ckks::random_values(shared_slots, 88));
  const auto expected = io::save(members.session.prepared(members.session.evaluator, vector));
  EXPECT_TRUE(io::save(shared(members.pointers, vector)) == expected);
}

TEST_P(SharedTransform, IsTheProductWithTheBitsOfOneMember) {
  const auto& [name, rows, columns, count, computing, options] = GetParam();
  const Values matrix = ckks::random_values(rows * columns, 81);
  const LinearTransform plan(
      shared_parameters(),
      diagonals_of(DenseMatrix<ckks::Complex>{rows, columns, matrix}, shared_slots, options.wrapping),
      shared_slots, options);
  const TransformMembers members(plan, count, true);
  const Values x = ckks::random_values(2 * shared_slots, 82);
  Ciphertext vector = members.session.client.encrypt(x, {2});
  vector.meta.largest = 3;
  const Ciphertext expected = members.session.prepared(members.session.evaluator, vector);
  const SharedLinearTransform shared(members.own, plan, tests::in_threads);
  EXPECT_EQ(shared.members(), computing);
  for (const rlwe::ForMembers& each :
       {rlwe::ForMembers(tests::in_threads), rlwe::ForMembers(rlwe::in_turn)}) {
    const Ciphertext y = shared(members.pointers, vector, each);
    EXPECT_EQ(y.context, members.own.front());
    EXPECT_TRUE(io::save(y) == io::save(expected));
    const auto copies = rlwe::broadcast(members.own, vector, each);
    for (const Ciphertext& own : shared.on_all(members.pointers, copies, each)) {
      EXPECT_TRUE(io::save(own) == io::save(expected));
    }
  }
  if (!plan.ends().depth()) return;
  const Values found = members.session.client.decrypt(expected);
  for (std::size_t b = 0; b < 2; ++b) {
    const auto at = static_cast<std::ptrdiff_t>(b * shared_slots);
    Values wanted = product(matrix, Values(x.begin() + at, x.begin() + at + shared_slots), rows, columns);
    const std::size_t period = options.wrapping.result_period;
    wanted.resize(period == 0 ? shared_slots : period);
    const auto length = static_cast<std::ptrdiff_t>(wanted.size());
    EXPECT_LT(ckks::largest_difference(Values(found.begin() + at, found.begin() + at + length), wanted),
              ckks::tolerance);
  }
}

// With 16 diagonals in steps of 4 each member has the baby steps 1, 2, 3 and its own giant steps: of three
// members 0 and 12, 4, and 8.
TEST(SharedTransform, MembersHaveTheKeysOfTheirSteps) {
  Diagonals diagonals;
  for (std::size_t number = 0; number < 16; ++number) {
    diagonals[number] = ckks::random_values(shared_slots, number + 1);
  }
  const LinearTransform plan(shared_parameters(), diagonals, shared_slots, {.baby_steps = 4});
  const TransformMembers members(plan, 4, true);
  const SharedLinearTransform shared({members.own.data(), 3}, plan);
  static_cast<void>(shared({members.pointers.data(), 3},
                           members.session.client.encrypt(ckks::random_values(shared_slots, 88))));
  const auto key = [&](std::size_t member, std::int64_t rotation) {
    const rlwe::EvaluationKeys& keys = members.evaluators[member]->keys();
    const auto role = rlwe::KeyRole::galois(members.own[member]->galois_element(rotation));
    const auto& source = keys.switching.at(role).begin()->second;
    return member == 0 ? source : keys.copies->find(source);
  };
  const std::vector<std::vector<std::int64_t>> expected = {{}, {1, 2, 3, 4}, {1, 2, 3, 8}, {}};
  for (std::size_t member = 1; member < expected.size(); ++member) {
    std::size_t bytes = 0;
    for (const std::int64_t rotation : expected[member]) {
      ASSERT_NE(key(member, rotation), nullptr) << member << " " << rotation;
      bytes += key(member, rotation)->poly.bytes();
    }
    const rlwe::EvaluationKeys& keys = members.evaluators[member]->keys();
    EXPECT_EQ(keys.memory_bytes() - (keys.public_key ? keys.public_key->poly.bytes() : 0), bytes) << member;
  }
}

// The vector comes from a member, from another context, and from a higher level.
TEST(SharedTransform, TakesVectorsOfAnyContext) {
  const LinearTransform plan(shared_parameters(),
                             diagonals_of(ckks::random_values(1024, 83), 32, 32, shared_slots), shared_slots,
                             {.level = 1});
  const TransformMembers members(plan, 3, true);
  const SharedLinearTransform shared(members.own, plan);
  const Ciphertext vector = members.session.client.encrypt(ckks::random_values(shared_slots, 84));
  ASSERT_GT(vector.meta.level, plan.level());
  const auto expected = io::save(members.session.prepared(members.session.evaluator, vector));
  const auto stranger = tests::make_context(shared_parameters(), 1);
  for (const auto& context : {members.own[0], members.own[2], stranger}) {
    EXPECT_TRUE(io::save(shared(members.pointers, rlwe::copy_to(context, vector))) == expected);
  }
}

// The member with most switches has fewer of them than one alone, and where steps were chosen for four
// members no more than where they were chosen for one.
TEST(SharedTransform, StepsAreChosenForTheNumberOfMembers) {
  const auto diagonals = diagonals_of(ckks::random_values(1024, 85), 32, 32, shared_slots);
  const LinearTransform one(shared_parameters(), diagonals, shared_slots);
  const LinearTransform four(shared_parameters(), diagonals, shared_slots, {.members = 4});
  EXPECT_THROW(LinearTransform(shared_parameters(), diagonals, shared_slots, {.members = 0}), ParameterError);
  // A giant step takes as long as ten baby steps with these two digits. So 8 diagonals are 7 baby steps, and
  // not 3 and a giant step, which one of the members has to take.
  Diagonals few;
  for (std::size_t number = 0; number < 8; ++number)
    few[number] = ckks::random_values(shared_slots, number + 1);
  EXPECT_EQ(LinearTransform(shared_parameters(), few, shared_slots, {.members = 4}).rotations(),
            (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7}));

  const auto longest = [&](const LinearTransform& plan, std::size_t count) {
    std::vector<std::shared_ptr<const rlwe::Context>> contexts;
    std::vector<std::unique_ptr<ckks::Evaluator>> evaluators;
    std::vector<const ckks::Evaluator*> pointers;
    for (std::size_t i = 0; i < count; ++i) {
      contexts.push_back(rlwe::Context::make(shared_parameters(), runtime::Device::parse("ledger")));
      const auto secret = rlwe::generate_secret_key(contexts.back());
      evaluators.push_back(std::make_unique<ckks::Evaluator>(contexts.back(), plan.generate_keys(secret)));
      pointers.push_back(evaluators.back().get());
    }
    const SharedLinearTransform shared(contexts, plan);
    rlwe::Metadata meta;
    meta.level = plan.level();
    meta.scale = plan.ends().scale;
    meta.slots = shared_slots;
    const Ciphertext x = rlwe::make_ciphertext(contexts.front(), meta, 2);
    for (const auto& context : contexts) context->ledger()->clear();
    static_cast<void>(shared(pointers, x));
    std::size_t most = 0;
    for (const auto& context : contexts) {
      std::size_t limbs = 0;
      for (const auto& [entry, times] : context->ledger()->entries()) limbs += entry.switched * times;
      most = std::max(most, limbs);
    }
    return most;
  };
  EXPECT_LE(longest(four, 4), longest(one, 4));
  EXPECT_LT(longest(one, 4), longest(one, 1));
}

TEST(SharedTransform, NamesWhatClashes) {
  const LinearTransform plan(shared_parameters(),
                             diagonals_of(ckks::random_values(1024, 86), 32, 32, shared_slots), shared_slots);
  const TransformMembers members(plan, 2, true);
  const SharedLinearTransform shared(members.own, plan);
  const Ciphertext vector = members.session.client.encrypt(ckks::random_values(shared_slots, 87));
  const std::span<const ckks::Evaluator* const> all(members.pointers);
  EXPECT_THROW(SharedLinearTransform({}, plan), ParameterError);
  EXPECT_THROW(static_cast<void>(shared(all.first(1), vector)), MismatchError);
  const std::vector<const ckks::Evaluator*> turned{all[1], all[0]};
  EXPECT_THROW(static_cast<void>(shared(turned, vector)), MismatchError);
  EXPECT_THROW(static_cast<void>(shared(all, {})), MismatchError);
  EXPECT_THROW(static_cast<void>(shared.on_all(all, std::span(&vector, 1))), MismatchError);
  const ckks::Evaluator keyless(members.own[1], {});
  const std::vector<const ckks::Evaluator*> without{all[0], &keyless};
  EXPECT_THROW(static_cast<void>(shared(without, vector)), MissingKeyError);
  const std::vector<std::shared_ptr<const rlwe::Context>> strangers{
      members.own[0], tests::make_context(ckks::small_parameters(2, 2))};
  EXPECT_THROW(SharedLinearTransform(strangers, plan), MismatchError);
}

constexpr std::size_t shared_grid_slots = 32;

rlwe::Parameters shared_grid_parameters() { return ckks::small_parameters(3, 2); }

// With two members the first one has both columns in rows 0 and 2, the second one no block of column 1.
SharedBlocks three_rows() {
  return {
      {random_diagonals(shared_grid_slots, {0, 3}, 1), random_diagonals(shared_grid_slots, {1, 9, 17}, 2)},
      {random_diagonals(shared_grid_slots, {0, 1, 2, 8, 31}, 3), {}},
      {{}, random_diagonals(shared_grid_slots, {5, 16}, 4)}};
}

using GridMembers = Members<TransformGrid, PreparedTransformGrid>;

TEST(SharedGrid, HasTheBitsOfOneMember) {
  const SharedBlocks column = {{random_diagonals(shared_grid_slots, {0, 1, 2, 8, 9, 10, 16, 31}, 5)},
                               {random_diagonals(shared_grid_slots, {0}, 6)}};
  const SharedBlocks row = {
      {random_diagonals(shared_grid_slots, {0, 7}, 7), random_diagonals(shared_grid_slots, {17}, 8)}};
  for (const SharedBlocks& blocks : {three_rows(), column, row}) {
    const TransformGrid plan(shared_grid_parameters(), blocks, shared_grid_slots, {.level = 2});
    const GridMembers members(plan, 4, false);
    std::vector<Ciphertext> inputs;
    std::vector<const Ciphertext*> vectors;
    for (std::size_t number = 0; number < plan.columns(); ++number) {
      inputs.push_back(
          members.session.client.encrypt(ckks::random_values(2 * shared_grid_slots, 60 + number), {2}));
      inputs.back().meta.largest = 2 + static_cast<double>(number);
    }
    // One of them lies elsewhere.
    inputs.back() = rlwe::copy_to(members.own.back(), inputs.back());
    std::vector<Ciphertext> at_home;
    std::vector<const Ciphertext*> home;
    for (const Ciphertext& input : inputs) at_home.push_back(rlwe::copy_to(members.own.front(), input));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      vectors.push_back(&inputs[i]);
      home.push_back(&at_home[i]);
    }
    const auto expected = members.session.prepared(members.session.evaluator, home);
    for (std::size_t count = 1; count <= 4; ++count) {
      SCOPED_TRACE(std::to_string(plan.rows()) + " rows on " + std::to_string(count));
      const SharedTransformGrid shared(std::span(members.own).first(count), plan, tests::in_threads);
      ASSERT_EQ(shared.members(), std::min(count, plan.rows()));
      const auto evaluators = std::span(members.pointers).first(shared.members());
      for (const auto& each : {rlwe::ForMembers(tests::in_threads), rlwe::ForMembers(rlwe::in_turn)}) {
        const auto found = shared(evaluators, vectors, each);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].context, members.own.front());
          EXPECT_TRUE(io::save(found[i]) == io::save(expected[i])) << i;
        }
      }
    }
  }
}

// The second of two members has five diagonals of row 1, and the rotations of that row alone.
TEST(SharedGrid, MembersHaveThePlaintextsAndKeysOfTheirRows) {
  const TransformGrid plan(shared_grid_parameters(), three_rows(), shared_grid_slots, {.level = 2});
  const TransformGrid second(shared_grid_parameters(), {{three_rows()[1][0]}}, shared_grid_slots,
                             {.level = 2});
  const GridMembers members(plan, 2, false);
  const std::size_t before = members.own[1]->memory()->used();
  const SharedTransformGrid shared(members.own, plan);
  const std::size_t held = members.own[1]->memory()->used() - before;
  const PreparedTransformGrid alone(members.own[1], second);
  EXPECT_EQ(members.own[1]->memory()->used() - before, 2 * held);
  const Ciphertext x = members.session.client.encrypt(ckks::random_values(shared_grid_slots, 3));
  static_cast<void>(shared(members.pointers, std::vector<const Ciphertext*>{&x, &x}));
  const rlwe::EvaluationKeys& keys = members.evaluators[1]->keys();
  const rlwe::EvaluationKeys& all = members.session.evaluator.keys();
  const std::size_t of_public = keys.public_key ? keys.public_key->poly.bytes() : 0;
  EXPECT_GT(keys.memory_bytes(), of_public);
  EXPECT_LT(keys.memory_bytes(), all.memory_bytes());
}

TEST(SharedGrid, RefusesAsOneMemberDoes) {
  const TransformGrid plan(shared_grid_parameters(), three_rows(), shared_grid_slots, {.level = 1});
  const GridMembers members(plan, 3, false);
  const SharedTransformGrid shared(std::span(members.own).first(2), plan);
  const auto evaluators = std::span(members.pointers).first(2);
  const Ciphertext x = members.session.client.encrypt(ckks::random_values(shared_grid_slots, 3));
  const auto apply = [&](std::span<const ckks::Evaluator* const> of, const Ciphertext& a,
                         const Ciphertext& b) {
    return shared(of, std::vector<const Ciphertext*>{&a, &b});
  };
  EXPECT_NO_THROW(apply(evaluators, x, x));
  EXPECT_THROW(static_cast<void>(shared(evaluators, std::vector<const Ciphertext*>{&x})), MismatchError);
  EXPECT_THROW(apply(members.pointers, x, x), MismatchError);
  EXPECT_THROW(apply(std::span(members.pointers).subspan(1), x, x), MismatchError);
  EXPECT_THROW(apply(evaluators, x, Ciphertext{}), MismatchError);
  // Column 1 is no part of the second member's row.
  const Ciphertext two = members.session.client.encrypt(ckks::random_values(2 * shared_grid_slots, 3), {2});
  EXPECT_THROW(apply(evaluators, x, two), MismatchError);
  Ciphertext low = x.clone(), other = x.clone();
  members.evaluators[0]->adjust_to_level_inplace(low, 0);
  EXPECT_THROW(apply(evaluators, x, low), LevelError);
  members.evaluators[0]->adjust_to_level_inplace(other, 1);
  other.meta.scale *= 2;
  Ciphertext same = x.clone();
  members.evaluators[0]->adjust_to_level_inplace(same, 1);
  EXPECT_THROW(apply(evaluators, same, other), ScaleError);
  EXPECT_THROW(SharedTransformGrid({}, plan), ParameterError);
}

TEST(SharedGrid, CountsTheWorkOfEachMember) {
  const TransformGrid plan(shared_grid_parameters(), three_rows(), shared_grid_slots);
  for (std::size_t members = 1; members <= 4; ++members) {
    const SharedGridWork work = SharedTransformGrid::work(plan, members);
    EXPECT_EQ(work.members.size(), std::min<std::size_t>(members, 3));
    for (const auto& entries : work.members) EXPECT_FALSE(entries.empty());
    // Two vectors of five limbs, three results of four; two components each.
    EXPECT_EQ(work.vectors_bytes, 2U * 5 * 2 * 1024 * 8);
    EXPECT_EQ(work.results_bytes, 3U * 4 * 2 * 1024 * 8);
  }
}

}  // namespace
}  // namespace hemera::circuits
