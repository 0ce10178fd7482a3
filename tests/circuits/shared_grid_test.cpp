// Grids over members: the bits of one member, whose results other tests compare with dense matrices.
#include "hemera/circuits/linear/shared_grid.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "circuits/shared_support.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/member_threads.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using SharedBlocks = std::vector<std::vector<MatrixDiagonals>>;

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
    static_cast<void>(shared(of, std::vector<const Ciphertext*>{&a, &b}));
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
