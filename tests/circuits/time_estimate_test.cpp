// Times of circuits, from tables that are made by hand and from those of a run.
#include "hemera/circuits/time_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {
namespace {

using poly::LedgerEntry;
using poly::Operation;

// A sum of this many limbs and polynomials, whose work is their product.
LedgerEntry sum_of(std::size_t limbs, std::size_t batch = 1, std::size_t degree = 1024, int bits = 40) {
  LedgerEntry entry{.operation = Operation::add, .degree = degree, .bits = bits, .batch = batch};
  for (std::uint32_t i = 0; i < limbs; ++i) entry.base.push_back(i);
  entry.target = limbs;
  return entry;
}

double seconds_of(const UnitTimes& times, const LedgerEntry& entry) { return times.seconds({{entry, 1}}); }

UnitTimes table(double waiting = 0) {
  return UnitTimes({{Operation::add, 1024, 40, 4, 10},
                    {Operation::add, 1024, 40, 2, 8},
                    {Operation::add, 1024, 40, 8, 30},
                    {Operation::add, 4096, 40, 4, 100},
                    {Operation::add, 1024, 60, 4, 1000}},
                   waiting);
}

TEST(TimeEstimate, IsLinearBetweenRows) {
  EXPECT_EQ(work_of(sum_of(4)), 4);
  EXPECT_EQ(work_of(sum_of(4, 3)), 12);
  EXPECT_EQ(seconds_of(table(), sum_of(2)), 8);
  EXPECT_EQ(seconds_of(table(), sum_of(3)), 9);
  EXPECT_EQ(seconds_of(table(), sum_of(4)), 10);
  EXPECT_EQ(seconds_of(table(), sum_of(6)), 20);
  EXPECT_EQ(seconds_of(table(), sum_of(2, 3)), 20);
}

TEST(TimeEstimate, GoesOnAlongALineBeyondTheRows) {
  EXPECT_EQ(seconds_of(table(), sum_of(16)), 60);  // in proportion: the line through 4 limbs is steeper
  EXPECT_EQ(seconds_of(table(), sum_of(1)), 7);    // with 4 limbs, the row of at least twice the work
  const UnitTimes flat({{Operation::add, 1024, 40, 2, 8}, {Operation::add, 1024, 40, 8, 14}});
  EXPECT_EQ(seconds_of(flat, sum_of(16)), 22);
  EXPECT_EQ(seconds_of(flat, sum_of(1)), 7);
  // Rows that fall with work are noise: times do not.
  const UnitTimes falling({{Operation::add, 1024, 40, 2, 8}, {Operation::add, 1024, 40, 8, 6}});
  EXPECT_EQ(seconds_of(falling, sum_of(16)), 6);
  EXPECT_EQ(seconds_of(falling, sum_of(1)), 8);
  // One row gives no line.
  const UnitTimes one({{Operation::add, 1024, 40, 2, 8}});
  EXPECT_EQ(seconds_of(one, sum_of(16)), 64);
  EXPECT_EQ(seconds_of(one, sum_of(1)), 4);
}

TEST(TimeEstimate, TakesTheNearestDegreeAndArithmetic) {
  EXPECT_EQ(seconds_of(table(), sum_of(4, 1, 4096)), 100);
  EXPECT_EQ(seconds_of(table(), sum_of(4, 1, 8192)), 200);
  EXPECT_EQ(seconds_of(table(), sum_of(4, 1, 1024, 55)), 1000);
  EXPECT_EQ(seconds_of(table(), sum_of(4, 1, 1024, 30)), 10);
  LedgerEntry other = sum_of(4);
  other.operation = Operation::copy;
  EXPECT_EQ(seconds_of(table(), other), 0);
}

// Tables that were measured before there were products of matrices.
TEST(TimeEstimate, TakesTheTimeOfDefaultsWhereAnOperationIsMissing) {
  LedgerEntry product = sum_of(4);
  product.operation = Operation::multiply_matrix;
  EXPECT_EQ(seconds_of(table(), product), 0);
  const double work = work_of(product);
  const UnitTimes before(
      {{Operation::combine, 1024, 40, work, 3}, {Operation::inner_product, 1024, 40, work, 5}});
  EXPECT_EQ(seconds_of(before, product), 3);
  const UnitTimes now(
      {{Operation::combine, 1024, 40, work, 3}, {Operation::multiply_matrix, 1024, 40, work, 2}});
  EXPECT_EQ(seconds_of(now, product), 2);
  // Defaults by the bytes that move.
  for (const auto& [missing, other] :
       {std::pair(Operation::multiply, Operation::add), std::pair(Operation::multiply_add, Operation::add),
        std::pair(Operation::automorphism, Operation::copy)}) {
    LedgerEntry entry = sum_of(4);
    entry.operation = missing;
    EXPECT_EQ(seconds_of(UnitTimes({{other, 1024, 40, work_of(entry), 7}}), entry), 7);
  }
  product.operation = Operation::multiply_elements;
  EXPECT_EQ(seconds_of(UnitTimes({{Operation::inner_product, 1024, 40, work_of(product), 5}}), product), 5);
}

TEST(TimeEstimate, AddsUpCalls) {
  EXPECT_EQ(table().seconds({{sum_of(2), 3}, {sum_of(4), 2}}), 3 * 8 + 2 * 10);
  EXPECT_EQ(table().seconds({}), 0);
}

TEST(TimeEstimate, WaitingIsFittedToARun) {
  EXPECT_EQ(seconds_of(table(3), sum_of(2)), 5);
  EXPECT_EQ(seconds_of(table(9), sum_of(2)), 0.8);  // a tenth is left
  const poly::Ledger::Entries run = {{sum_of(2), 3}, {sum_of(4), 2}};
  const double waiting = waiting_of(table().times(), run, 34);
  EXPECT_NEAR(waiting, 2, 1e-9);  // of five calls
  EXPECT_NEAR(UnitTimes(table().times(), waiting).seconds(run), 34, 1e-9);
  EXPECT_EQ(waiting_of(table().times(), run, 44), 0);
  EXPECT_EQ(waiting_of(table().times(), run, 100), 0);
}

TEST(TimeEstimate, TheShortestCallsTakeTheProgramsTime) {
  const UnitTimes times(table().times(), 3, 6);
  EXPECT_EQ(seconds_of(times, sum_of(2)), 6);
  EXPECT_EQ(seconds_of(times, sum_of(8)), 27);
  const poly::Ledger::Entries run = {{sum_of(2), 3}, {sum_of(8), 2}};
  const double least = least_of(table().times(), 3, run, 81);
  EXPECT_NEAR(least, 9, 1e-9);  // of three calls: 81 = 3 * 9 + 2 * 27
  EXPECT_EQ(least_of(table().times(), 3, run, 69), 0);
  EXPECT_EQ(least_of(table().times(), 3, run, 10), 0);
}

TEST(TimeEstimate, RowsAreRefusedThatAreNoTimes) {
  EXPECT_THROW(UnitTimes({}), ParameterError);
  EXPECT_THROW(UnitTimes({{Operation::add, 0, 40, 1, 1}}), ParameterError);
  EXPECT_THROW(UnitTimes({{Operation::add, 1024, 40, 0, 1}}), ParameterError);
  EXPECT_THROW(UnitTimes({{Operation::add, 1024, 40, 1, 0}}), ParameterError);
}

TEST(TimeEstimate, NeighboursShareARowWhereThereAreMany) {
  poly::Ledger::Times times;
  for (std::size_t limbs = 1; limbs <= 10; ++limbs) times[sum_of(limbs)] = static_cast<double>(limbs);
  times[sum_of(5, 2)] = 30;  // as much work as 10 limbs
  const auto all = unit_times(times), few = unit_times(times, 5);
  ASSERT_EQ(all.size(), 10U);
  EXPECT_EQ(all.back().seconds, 20);
  const auto copies = unit_times({{LedgerEntry{.operation = Operation::upload, .terms = 8}, 3}});
  EXPECT_EQ(seconds_of(UnitTimes(copies), LedgerEntry{.operation = Operation::upload, .terms = 8}), 3);
  ASSERT_EQ(few.size(), 5U);
  EXPECT_EQ(few.front().work, 1.5);
  EXPECT_EQ(few.front().seconds, 1.5);
}

TEST(TimeEstimate, TimesOfCallsAreTheirMeanOrTheLeast) {
  poly::Ledger ledger;
  for (const double seconds : {3.0, 1.0, 8.0}) ledger.note_time(sum_of(2), seconds);
  ledger.note_time(sum_of(5), 7);
  EXPECT_EQ(ledger.take_times(false), (poly::Ledger::Times{{sum_of(2), 4}, {sum_of(5), 7}}));
  EXPECT_TRUE(ledger.take_times(false).empty());
  for (const double seconds : {3.0, 1.0, 8.0}) ledger.note_time(sum_of(2), seconds);
  EXPECT_EQ(ledger.take_times(true), (poly::Ledger::Times{{sum_of(2), 1}}));
  EXPECT_TRUE(ledger.take_times(true).empty());
}

// The calls of a run, each waited for: no longer than the run, and most of it.
TEST(TimeEstimate, TimesOfARunAddUpToIt) {
  const rlwe::Parameters own = ckks::small_parameters(6, 3);
  const auto ledger = std::make_shared<poly::Ledger>();
  const auto context =
      rlwe::Context::make(own, {}, {.threads = 1, .ledger = ledger, .times_operations = true});
  const LinearTransform plan(own, diagonals_of(ckks::random_values(64 * 64, 4), 64, 64, 128), 128);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
  const rlwe::Ciphertext x =
      ckks::encrypt(ckks::Encoder(context).encode(ckks::random_values(128, 1), {}), secret);
  const PreparedLinearTransform prepared(context, plan);
  static_cast<void>(prepared(evaluator, x));
  ledger->clear();
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(prepared(evaluator, x));
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  const poly::Ledger::Entries entries = ledger->entries();
  const poly::Ledger::Times times = ledger->take_times(false);
  EXPECT_EQ(times.size(), entries.size());
  double sum = 0;
  for (const auto& [entry, calls] : entries) sum += static_cast<double>(calls) * times.at(entry);
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, whole.count());
  // The plan's own count, by the table of this run: the same calls.
  EXPECT_EQ(plan.cost().entries, entries);
  EXPECT_NEAR(UnitTimes(unit_times(times, entries.size())).seconds(plan.cost().entries), sum,
              1e-6 + 0.2 * sum);
}

}  // namespace
}  // namespace hemera::circuits
