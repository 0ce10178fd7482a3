// Search in encrypted databases: scores beside sums of integers, noise beside the formula.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "circuits/search_support.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {
namespace {

using Integers = std::vector<std::int64_t>;

const Session& owner() {
  static const Session only(false, true);
  return only;
}

double square_of(const Integers& values) {
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// Deviations of found scores [query, block * N] from `factor` times the products of rows [row, dims] that lie
// from place `first` on.
std::vector<double> noise_of(const Integers& found, std::size_t stride, std::size_t first,
                             const Integers& expected, std::size_t rows, double factor) {
  std::vector<double> noise;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    noise.push_back(static_cast<double>(found[i / rows * stride + first + i % rows]) -
                    factor * static_cast<double>(expected[i]));
  }
  return noise;
}

TEST(EncryptedSearch, ScoresAreSumsOfIntegers) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), dims = 37, count = 3;
  const int shift = 4;
  const Integers first = random_integers<std::int64_t>(degree * dims, 127, 1),
                 second = random_integers<std::int64_t>(900 * dims, 127, 2);
  const Integers queries = random_integers<std::int64_t>(count * dims, std::int64_t{1} << 26, 3);
  EncryptedDatabase database(o.context, dims);
  database.resize(1);
  database.place(0, 0, encrypt_rows(o.secret, first, dims, shift));
  database.resize(2);
  database.place(1, 0, encrypt_rows(o.secret, second, dims, shift));
  EXPECT_EQ(database.memory_bytes(), 2 * dims * 2 * degree * 8);
  const Query query = encrypt(o.secret, queries, dims, 0);
  for (const int dropped : {0, 22}) {
    const Answer answer = database.answer(query, o.keys, dropped);
    EXPECT_EQ(answer.blocks, 2U);
    EXPECT_EQ(answer.count, count);
    const Integers found = decrypt(o.secret, answer);
    const double block_square = square_of(first);
    const double predicted = noise_deviation(
        o.context->parameters(),
        {.row_square = block_square / static_cast<double>(degree),
         .block_square = block_square,
         .dropped_bits = dropped,
         .encrypted = {
             {.row_scale = std::exp2(shift), .query_square = square_of(queries) / count, .dims = dims}}});
    const auto noise =
        noise_of(found, 2 * degree, 0, products_of(first, queries, dims), degree, std::exp2(shift));
    EXPECT_LT(std::abs(std::log2(deviation(noise) / predicted)), 0.3) << dropped;
    for (const double error :
         noise_of(found, 2 * degree, degree, products_of(second, queries, dims), 900, std::exp2(shift))) {
      ASSERT_LT(std::abs(error), 8 * predicted);
    }
    for (std::size_t r = 900; r < degree; ++r) {
      ASSERT_LT(std::abs(static_cast<double>(found[degree + r])), 8 * predicted);
    }
  }
}

TEST(EncryptedSearch, EachSourceOfNoiseHasItsFormula) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), dims = 64;
  // The query's expansion; the rows' errors times the query; errors times errors, where all is zero.
  struct Case {
    std::int64_t rows, query;
    int shift;
  };
  for (const Case& tested : {Case{127, 1 << 10, 12}, Case{1, 1 << 30, 0}, Case{0, 0, 0}}) {
    const Integers rows = random_integers<std::int64_t>(degree * dims, tested.rows, 4);
    const Integers queries = random_integers<std::int64_t>(dims, tested.query, 5);
    EncryptedDatabase database(o.context, dims);
    database.resize(1);
    database.place(0, 0, encrypt_rows(o.secret, rows, dims, tested.shift));
    const Integers found = decrypt(o.secret, database.answer(encrypt(o.secret, queries, dims, 0), o.keys, 0));
    const double block_square = square_of(rows);
    const double predicted = noise_deviation(
        o.context->parameters(),
        {.row_square = block_square / static_cast<double>(degree),
         .block_square = block_square,
         .encrypted = {
             {.row_scale = std::exp2(tested.shift), .query_square = square_of(queries), .dims = dims}}});
    const auto noise =
        noise_of(found, degree, 0, products_of(rows, queries, dims), degree, std::exp2(tested.shift));
    EXPECT_LT(std::abs(std::log2(deviation(noise) / predicted)), 0.3) << tested.query;
  }
}

TEST(EncryptedSearch, ExactScoresRoundToIntegers) {
  const Session o(true, true);
  const std::size_t degree = o.context->degree(), dims = 24, rows = 700;
  const Integers entries = random_integers<std::int64_t>(rows * dims, 128, 6);
  const Integers queries = random_integers<std::int64_t>(2 * dims, 127, 7);
  constexpr int row_shift = 20, query_shift = 52;  // scores are below 2^19
  EncryptedDatabase database(o.context, dims);
  database.resize(1);
  database.place(0, 0, encrypt_rows(o.secret, entries, dims, row_shift));
  const double factor = std::ldexp(1.0, row_shift + query_shift) / o.context->parameters().ratio(1);
  const Integers expected = products_of(entries, queries, dims);
  const Integers found =
      decrypt(o.secret, database.answer(encrypt(o.secret, queries, dims, query_shift), o.keys, 8));
  std::vector<std::int16_t> clear(queries.begin(), queries.end());
  const rlwe::IntegerMatrix matrix(o.context, 2, dims, clear);
  const Integers in_the_clear =
      decrypt(o.secret, database.answer(matrix, std::uint64_t{1} << query_shift, 8));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t at = i / rows * degree + i % rows;
    ASSERT_EQ(std::llround(static_cast<double>(found[at]) / factor), expected[i]);
    ASSERT_EQ(std::llround(static_cast<double>(in_the_clear[at]) / factor), expected[i]);
  }
}

TEST(EncryptedSearch, QueriesInTheClearHaveTheRowsErrorsAlone) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), dims = 40, count = 2;
  const Integers rows = random_integers<std::int64_t>(2 * degree * dims, 127, 8);
  const Integers queries = random_integers<std::int64_t>(count * dims, 30'000, 9);
  constexpr std::uint64_t factor = 12'345;
  EncryptedDatabase database(o.context, dims);
  const std::span<const std::int64_t> all(rows);
  for (std::size_t block = 0; block < 2; ++block) {
    database.resize(block + 1);  // two allocations
    database.place(block, 0,
                   encrypt_rows(o.secret, all.subspan(block * degree * dims, degree * dims), dims, 0));
  }
  const std::vector<std::int16_t> values(queries.begin(), queries.end());
  const rlwe::IntegerMatrix matrix(o.context, count, dims, values);
  const Integers found = decrypt(o.secret, database.answer(matrix, factor, 0));
  const double predicted = noise_deviation(
      o.context->parameters(),
      {.encrypted = {{.query_square = factor * double{factor} * square_of(queries) / count, .dims = 0}}});
  const auto noise = noise_of(found, 2 * degree, 0, products_of(rows, queries, dims), 2 * degree, factor);
  EXPECT_LT(std::abs(std::log2(deviation(noise) / predicted)), 0.1);
}

TEST(EncryptedSearch, RowsArePlacedBehindOthers) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), dims = 5;
  const Integers queries = random_integers<std::int64_t>(dims, std::int64_t{1} << 30, 10);
  EncryptedDatabase database(o.context, dims);
  database.resize(2);
  std::vector<Integers> parts;
  std::size_t first = 0;
  constexpr double row_scale = 8;
  for (const std::size_t rows : {degree - 100, std::size_t{1}, std::size_t{99}}) {
    parts.push_back(random_integers<std::int64_t>(rows * dims, 127, rows));
    database.place(1, first, encrypt_rows(o.secret, parts.back(), dims, 3));
    first += rows;
  }
  const Integers one = random_integers<std::int64_t>(dims, 127, 11);
  database.place(0, 0, encrypt_rows(o.secret, one, dims, 3));
  const Query query = encrypt(o.secret, queries, dims, 0);
  const NoiseSources sources{
      .row_square = dims * 127 * 127 / 3.0,
      .block_square = static_cast<double>(degree) * dims * 127 * 127 / 3.0,
      .encrypted = {
          {.row_scale = row_scale, .query_square = square_of(queries), .dims = dims, .messages = 3}}};
  const double predicted = noise_deviation(o.context->parameters(), sources);
  const auto check = [&](std::size_t block) {
    const Integers found = decrypt(o.secret, database.answer(query, o.keys, 0));
    std::vector<double> noise;
    std::size_t at = block * degree;
    for (const Integers& part : parts) {
      const Integers expected = products_of(part, queries, dims);
      for (const double error : noise_of(found, 2 * degree, at, expected, expected.size(), row_scale))
        noise.push_back(error);
      at += expected.size();
    }
    EXPECT_LT(std::abs(std::log2(deviation(noise) / predicted)), 0.3);
    return found;
  };
  const Integers found = check(1);
  EXPECT_LT(std::abs(static_cast<double>(found[0] - 8 * products_of(one, queries, dims)[0])), 8 * predicted);
  database.move_block(0, 1);
  check(0);
  // As a file has them.
  EncryptedDatabase again(o.context, dims);
  again.resize(2);
  for (std::size_t block = 0; block < 2; ++block) again.set_residues(block, database.residues(block));
  EXPECT_EQ(again.answer(query, o.keys, 3).numbers, database.answer(query, o.keys, 3).numbers);
  check(1);
  database.place(1, 0, encrypt_rows(o.secret, one, dims, 3));  // replaces all of the block
  const Integers after = decrypt(o.secret, database.answer(query, o.keys, 0));
  EXPECT_LT(std::abs(static_cast<double>(after[degree + 1])), 8 * predicted);
}

TEST(EncryptedSearch, ManyBlocksAreSwitchedInParts) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), blocks = 258;
  EncryptedDatabase database(o.context, 1);
  database.resize(blocks);
  const Integers entries = random_integers<std::int64_t>(blocks, 127, 14);
  for (std::size_t block = 0; block < blocks; ++block) {
    database.place(block, 0, encrypt_rows(o.secret, std::span(entries).subspan(block, 1), 1, 7));
  }
  const Integers found =
      decrypt(o.secret, database.answer(encrypt(o.secret, Integers{std::int64_t{1} << 31}, 1, 0), o.keys, 0));
  for (std::size_t block = 0; block < blocks; ++block) {
    ASSERT_EQ(std::llround(std::ldexp(static_cast<double>(found[block * degree]), -38)), entries[block]);
  }
}

TEST(EncryptedSearch, OtherSecretsReadNothing) {
  const Session& o = owner();
  rlwe::SecretKey other = rlwe::generate_secret_key(o.context);
  const std::size_t dims = 4;
  const Integers rows = random_integers<std::int64_t>(10 * dims, 127, 12),
                 queries = random_integers<std::int64_t>(dims, 1 << 26, 13);
  const EncryptedRows sent = encrypt_rows(o.secret, rows, dims, 4);
  EXPECT_NE(sent.seed.seed.bytes, encrypt_rows(o.secret, rows, dims, 4).seed.seed.bytes);
  EncryptedDatabase database(o.context, dims);
  database.resize(1);
  database.place(0, 0, sent);
  const Integers expected = products_of(rows, queries, dims);
  const auto largest_error = [&](const rlwe::SecretKey& asking, const rlwe::EvaluationKeys& keys,
                                 const rlwe::SecretKey& reading) {
    const Integers found = decrypt(reading, database.answer(encrypt(asking, queries, dims, 0), keys, 0));
    double largest = 0;
    for (std::size_t r = 0; r < 10; ++r) {
      largest = std::max(largest, std::abs(static_cast<double>(found[r] - 16 * expected[r])));
    }
    return std::log2(largest);
  };
  EXPECT_LT(largest_error(o.secret, o.keys, o.secret), 34);
  EXPECT_GT(largest_error(other, generate_keys(other, true), other), 44);
  EXPECT_GT(largest_error(o.secret, o.keys, other), 44);
  EXPECT_GT(largest_error(other, o.keys, o.secret), 44);
}

// Several messages in one pass: each with the bits of a pass of its own, relinearized by its own keys.
TEST(EncryptedSearch, MessagesShareAPass) {
  const Session& o = owner();
  const rlwe::SecretKey other = rlwe::generate_secret_key(o.context);
  const rlwe::EvaluationKeys other_keys = generate_keys(other, true);
  const std::size_t dims = 3;
  EncryptedDatabase database(o.context, dims);
  database.resize(2);
  for (std::size_t block = 0; block < 2; ++block) {
    database.place(block, 0,
                   encrypt_rows(o.secret, random_integers<std::int64_t>(7 * dims, 127, block), dims, 3));
  }
  const Query two = encrypt(o.secret, random_integers<std::int64_t>(2 * dims, 1 << 20, 5), dims, 0);
  const Query one = encrypt(other, random_integers<std::int64_t>(dims, 1 << 20, 6), dims, 0);
  const std::vector<KeyedQuery> keyed{{two, o.keys}, {one, other_keys}};
  std::vector<Answer> found{empty_answer(*o.context, 2, 2, 2), empty_answer(*o.context, 1, 2, 2)};
  const std::vector<AnswerHalves> places{found[0].halves(), found[1].halves()};
  database.answer(keyed, {.dropped_bits = 2}, places);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i].numbers, database.answer(keyed[i].query, keyed[i].keys, 2).numbers);
  }
  const rlwe::EvaluationKeys galois_alone = generate_keys(other);
  const std::vector<KeyedQuery> lacking{{two, o.keys}, {one, galois_alone}};
  EXPECT_THROW(database.answer(lacking, {}, places), MissingKeyError);
}

TEST(EncryptedSearch, WhatDoesNotFitIsRefused) {
  const Session& o = owner();
  const std::size_t degree = o.context->degree(), dims = 3;
  const Integers rows(4 * dims, 1);
  EXPECT_THROW(static_cast<void>(encrypt_rows(o.secret, {}, dims, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(encrypt_rows(o.secret, rows, 5, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(encrypt_rows(o.secret, rows, 0, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(encrypt_rows(o.secret, Integers(degree + 1), 1, 0)), ParameterError);
  EXPECT_THROW(EncryptedDatabase(o.context, 0), ParameterError);
  EXPECT_THROW(EncryptedDatabase(o.context, degree + 1), ParameterError);
  const EncryptedRows sent = encrypt_rows(o.secret, rows, dims, 0);
  EncryptedDatabase database(o.context, dims);
  const Query query = encrypt(o.secret, Integers(dims, 1), dims, 0);
  const rlwe::IntegerMatrix clear(o.context, 1, dims, std::vector<std::int16_t>(dims));
  EXPECT_THROW(static_cast<void>(database.answer(query, o.keys, 0)), MismatchError);
  EXPECT_THROW(static_cast<void>(database.answer(clear, 1, 0)), MismatchError);
  EXPECT_THROW(database.place(0, 0, sent), ParameterError);
  database.resize(1);
  EXPECT_THROW(database.place(1, 0, sent), ParameterError);
  EXPECT_THROW(database.place(0, degree - 3, sent), ParameterError);
  EXPECT_THROW(database.place(0, degree + 1, sent), ParameterError);
  EXPECT_THROW(database.place(0, 0, encrypt_rows(o.secret, rows, 2, 0)), ParameterError);
  EncryptedRows damaged = sent;
  damaged.numbers.back() = o.context->base(0).modulus(0).value();
  EXPECT_THROW(database.place(0, 0, damaged), FormatError);
  damaged.numbers.pop_back();
  EXPECT_THROW(database.place(0, 0, damaged), MismatchError);
  std::vector<std::uint64_t> residues(2 * dims * degree);
  database.set_residues(0, residues);
  residues.back() = o.context->base(0).modulus(0).value();
  EXPECT_THROW(database.set_residues(0, residues), FormatError);
  residues.pop_back();
  EXPECT_THROW(database.set_residues(0, residues), MismatchError);
  database.place(0, degree - 4, sent);
  database.place(0, 0, sent);
  EXPECT_THROW(static_cast<void>(database.answer(query, generate_keys(o.secret), 0)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(database.answer(query, o.keys, 41)), ParameterError);
  EXPECT_THROW(static_cast<void>(database.answer(encrypt(o.secret, Integers(4), 4, 0), o.keys, 0)),
               MismatchError);
  const rlwe::IntegerMatrix longer(o.context, 1, 4, std::vector<std::int16_t>(4));
  EXPECT_THROW(static_cast<void>(database.answer(longer, 1, 0)), MismatchError);
  const Session other(false, true);
  EXPECT_THROW(static_cast<void>(database.answer(query, other.keys, 0)), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits::search
