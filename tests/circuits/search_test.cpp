// Search by encrypted queries: expansions beside exact polynomials, scores beside sums of integers, and noise
// beside the formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "circuits/search_support.hpp"
#include "hemera/circuits/search/database.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::circuits::search {
namespace {

const Session& session() {
  static const Session only;
  return only;
}

// A database of these rows, whose last block may have fewer than N.
struct Filled : Database {
  Filled(const Session& s, std::span<const std::int8_t> entries, std::size_t dims)
      : Database(s.context, dims) {
    const std::size_t block = s.context->degree() * dims;
    resize((entries.size() + block - 1) / block);
    for (std::size_t i = 0; i < blocks(); ++i) {
      set_block(i, entries.subspan(i * block, std::min(block, entries.size() - i * block)));
    }
  }
};

// The phases of ciphertexts [batch, 2, limb, N] at the top level of one prime, centred: [batch, N].
std::vector<std::int64_t> phases(const Session& s, const poly::Poly& ciphertexts) {
  const std::size_t batch = ciphertexts.shape().batch, degree = s.context->degree();
  rlwe::Metadata meta;
  meta.batch = {batch};
  meta.level = s.context->top_level();
  rlwe::Ciphertext copy = rlwe::make_ciphertext(s.context, meta, 2);
  s.context->backend().copy(s.context->queue(), copy.poly.view(), ciphertexts.view());
  const poly::Poly phase = rlwe::decrypt_phase(copy, s.secret, poly::Form::coefficient);
  std::vector<std::uint64_t> residues(batch * degree);
  s.context->backend().download(s.context->queue(), residues, phase.view(), poly::Form::coefficient);
  s.context->queue().synchronize();
  std::vector<std::int64_t> result;
  for (const std::uint64_t residue : residues) {
    result.push_back(s.context->base(meta.level).modulus(0).centered(residue));
  }
  return result;
}

TEST(Search, ParametersHaveThe128BitsOfTheTable) {
  for (const bool exact : {false, true}) {
    const rlwe::Parameters found = parameters(exact);
    EXPECT_GE(found.security(), rlwe::Security::at_least_128);
    EXPECT_EQ(found.degree(), exact ? 8192U : 4096U);
    EXPECT_EQ(found.levels(), exact ? 2U : 1U);
    for (const auto& level : found.literal().levels) {
      for (const std::uint64_t prime : level) EXPECT_LT(prime, std::uint64_t{1} << 48);
    }
  }
}

TEST(Search, ElementsAreThoseThatHalveWhatIsLeft) {
  EXPECT_EQ(galois_elements(16), (std::vector<std::uint64_t>{17, 9, 5, 3}));
}

TEST(Search, NumbersLieAsFarApartAsTheyCan) {
  EXPECT_EQ(QueryLayout(4096, 1).stride, 4096U);
  EXPECT_EQ(QueryLayout(4096, 5).stride, 512U);
  EXPECT_EQ(QueryLayout(4096, 128).stride, 32U);
  EXPECT_EQ(QueryLayout(4096, 129).stride, 16U);
  EXPECT_EQ(QueryLayout(4096, 4096).stride, 1U);
  EXPECT_THROW(QueryLayout(4096, 0), ParameterError);
  EXPECT_THROW(QueryLayout(4096, 4097), ParameterError);
}

class ExpansionOf : public ::testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

INSTANTIATE_TEST_SUITE_P(Sizes, ExpansionOf,
                         ::testing::Values(std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 1}, std::pair{5, 3},
                                           std::pair{64, 1}, std::pair{100, 3}, std::pair{300, 1},
                                           std::pair{200, 5}));

TEST_P(ExpansionOf, IsAConstantForEachNumber) {
  const Session& s = session();
  const auto [dims, count] = GetParam();
  const std::size_t degree = s.context->degree();
  const auto values = random_integers<std::int64_t>(count * dims, std::int64_t{1} << 40, dims);
  const Query query = encrypt(s.secret, values, dims, 3);
  EXPECT_EQ(query.numbers.size(), count * dims);
  const poly::Poly expanded = Expansion(s.context, dims)(query, s.keys);
  ASSERT_EQ(expanded.shape(), (poly::PolyShape{dims * count, 2, 1, degree}));
  std::vector<std::int64_t> found = phases(s, expanded);
  std::vector<double> constants, others;
  for (std::size_t at = 0; at < dims * count; ++at) {
    const std::int64_t value = values[at % count * dims + at / count] * 8;
    constants.push_back(static_cast<double>(found[at * degree] - value));
    for (std::size_t k = 1; k < degree; ++k) others.push_back(static_cast<double>(found[at * degree + k]));
  }
  // As a database whose one row has the norm 1.
  const double constant = noise_deviation(s.context->parameters(), {.row_square = 1, .block_square = 1});
  const double other = noise_deviation(s.context->parameters(), {.row_square = 0, .block_square = 1});
  for (const double value : constants) ASSERT_LT(std::abs(value), 6 * constant);
  // Multiples of high powers of two have up to N / 2 - 1 times the variance of a switch, and the mean (2 N -
  // 1) / 3.
  for (const double value : others) ASSERT_LT(std::abs(value), 8 * other);
  // Few coefficients have most of the noise of one expansion.
  EXPECT_LT(std::abs(std::log2(deviation(others) / other)), dims * count < 15 ? 0.8 : 0.3);
  if (constants.size() >= 100) {
    EXPECT_LT(std::abs(std::log2(deviation(constants) / constant)), 0.3);
  }
}

TEST(Search, ScoresAreSumsOfIntegers) {
  const Session& s = session();
  const std::size_t degree = s.context->degree(), dims = 37, rows = degree + 1000, count = 2;
  const auto entries = random_integers<std::int8_t>(rows * dims, 127, 1);
  const auto values = random_integers<std::int64_t>(count * dims, std::int64_t{1} << 26, 2);
  Filled database(s, entries, dims);
  EXPECT_EQ(database.memory_bytes(), 2 * degree * (8 * dims + 48));
  const Query query = encrypt(s.secret, values, dims, 0);
  const Answer whole = database.answer(query, s.keys, 0);
  const std::vector<std::int64_t> scores = products_of(entries, values, dims);
  for (const int dropped : {0, 14}) {
    const Answer answer = database.answer(query, s.keys, dropped);
    ASSERT_EQ(answer.numbers.size(), whole.numbers.size());
    for (std::size_t i = 0; i < whole.numbers.size(); ++i) {
      ASSERT_EQ(answer.numbers[i], (whole.numbers[i] + (std::uint64_t{1} << dropped) / 2) >> dropped);
    }
    const std::vector<std::int64_t> found = decrypt(s.secret, answer);
    ASSERT_EQ(found.size(), count * 2 * degree);
    double block_square = 0;
    for (std::size_t i = 0; i < degree * dims; ++i) block_square += entries[i] * entries[i];
    const double row_square = block_square / static_cast<double>(degree);
    const double expected =
        noise_deviation(s.context->parameters(),
                        {.row_square = row_square, .block_square = block_square, .dropped_bits = dropped});
    std::vector<double> noise;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t r = 0; r < 2 * degree; ++r) {
        const std::int64_t score = r < rows ? scores[i * rows + r] : 0;
        const double error = static_cast<double>(found[i * 2 * degree + r] - score);
        ASSERT_LT(std::abs(error), 8 * expected) << i << " " << r;
        if (r < degree) noise.push_back(error);
      }
    }
    EXPECT_LT(std::abs(std::log2(deviation(noise) / expected)), 0.3) << dropped;
  }
}

TEST(Search, ExactScoresRoundToIntegers) {
  const Session s(true);
  const std::size_t degree = s.context->degree(), dims = 24;
  const auto entries = random_integers<std::int8_t>(degree * dims, 127, 3);
  const auto values = random_integers<std::int64_t>(dims, 127, 4);
  Filled database(s, entries, dims);
  constexpr int shift = 74;  // scores are below 2^19
  const Answer answer = database.answer(encrypt(s.secret, values, dims, shift), s.keys, 0);
  const double factor = std::ldexp(s.context->parameters().ratio(1), -shift);
  const std::vector<std::int64_t> found = decrypt(s.secret, answer);
  const std::vector<std::int64_t> scores = products_of(entries, values, dims);
  std::vector<double> noise;
  for (std::size_t r = 0; r < degree; ++r) {
    ASSERT_EQ(std::llround(static_cast<double>(found[r]) * factor), scores[r]);
    noise.push_back(static_cast<double>(found[r]) - static_cast<double>(scores[r]) / factor);
  }
  // The division to level 0 leaves its own rounding alone.
  EXPECT_LT(std::abs(std::log2(deviation(noise) / noise_deviation(s.context->parameters(), {1e5, 1e9}))),
            0.3);
}

// An answer in two steps.
Answer finished(const Database& database, const Session& s, const Query& query) {
  Answer found = empty_answer(*s.context, 1, database.blocks(), 0);
  database.finish(database.prepare(query.seed, s.keys, {}, found.halves().a), query, found.halves().b);
  return found;
}

TEST(Search, PreparedAnswersHaveTheSameBits) {
  for (const bool exact : {false, true}) {
    const Session s(exact);
    const std::size_t degree = s.context->degree(), dims = exact ? 6 : 521, rows = degree + 3;
    auto entries = random_integers<std::int8_t>(rows * dims, 127, 5);
    std::fill_n(entries.begin(), dims, -128);
    Filled database(s, entries, dims);
    // Seed first, message later.
    Query query = encrypt(s.secret, std::vector<std::int64_t>(dims), dims, 0);
    Answer found = empty_answer(*s.context, 1, 2, 7);
    PreparedAnswer prepared = database.prepare(query.seed, s.keys, {7, 8}, found.halves().a);
    add_message(*s.context, query, random_integers<std::int64_t>(dims, 1 << 20, 6), 2);
    // The largest products of a row with it.
    for (std::size_t l = 0; l < s.context->base(s.context->top_level()).size(); ++l) {
      query.numbers[l * dims] = s.context->base(s.context->top_level()).modulus(l).value() - 1;
    }
    database.finish(std::move(prepared), query, found.halves().b);
    EXPECT_EQ(found.numbers, database.answer(query, s.keys, 7).numbers);
  }
}

// Queries of several clients in one pass: each by its own keys, with the bits of a pass of its own.
TEST(Search, ClientsShareAPassAndNoKeys) {
  for (const bool exact : {false, true}) {
    const Session s(exact);
    const rlwe::SecretKey other = rlwe::generate_secret_key(s.context);
    const rlwe::EvaluationKeys other_keys = generate_keys(other);
    const std::size_t degree = s.context->degree(), dims = 5, rows = degree + 2;
    Filled database(s, random_integers<std::int8_t>(rows * dims, 127, 8), dims);
    const auto query_of = [&](const rlwe::SecretKey& secret, std::size_t count, std::uint64_t seed) {
      return encrypt(secret, random_integers<std::int64_t>(count * dims, 1 << 20, seed), dims, 0);
    };
    const std::vector<Query> queries{query_of(s.secret, 2, 1), query_of(other, 3, 2),
                                     query_of(s.secret, 1, 3)};
    const std::vector<KeyedQuery> keyed{{queries[0], s.keys}, {queries[1], other_keys}, {queries[2], s.keys}};
    std::vector<Answer> found;
    for (const KeyedQuery& each : keyed) found.push_back(empty_answer(*s.context, each.query.count, 2, 4));
    std::vector<AnswerHalves> places;
    for (Answer& answer : found) places.push_back(answer.halves());
    database.answer(keyed, {.dropped_bits = 4}, places);
    for (std::size_t i = 0; i < keyed.size(); ++i) {
      EXPECT_EQ(found[i].numbers, database.answer(keyed[i].query, keyed[i].keys, 4).numbers);
    }
    EXPECT_THROW(database.answer(keyed, {.dropped_bits = 4}, std::span(places).first(2)), MismatchError);
    std::swap(places[0], places[1]);
    EXPECT_THROW(database.answer(keyed, {.dropped_bits = 4}, places), MismatchError);
    const Query longer = encrypt(s.secret, std::vector<std::int64_t>(dims + 1), dims + 1, 0);
    const std::vector<KeyedQuery> mixed{{queries[0], s.keys}, {longer, s.keys}};
    EXPECT_THROW(database.answer(mixed, {}, std::span(places).first(2)), MismatchError);
    const Expansion expansion(s.context, dims);
    EXPECT_THROW(static_cast<void>(expansion(mixed)), MismatchError);
    EXPECT_THROW(database.answer(std::vector<KeyedQuery>{}, {}, {}), MismatchError);
  }
}

TEST(Search, LongestProductsOfRowsAreExact) {
  const Session& s = session();
  const std::size_t dims = 600;
  const std::vector<std::int8_t> row(dims, -128);
  Filled database(s, row, dims);
  Query query = encrypt(s.secret, std::vector<std::int64_t>(dims), dims, 0);
  // All ones in their lowest 15 bits, and below the prime.
  std::fill(query.numbers.begin(), query.numbers.end(), (std::uint64_t{1} << 47) - 1);
  EXPECT_EQ(finished(database, s, query).numbers, database.answer(query, s.keys, 0).numbers);
}

TEST(Search, MessagesAreAddedToEachOfSeveralQueries) {
  const Session s(true);
  constexpr std::size_t dims = 3, count = 2;
  const std::vector<std::int8_t> identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Filled database(s, identity, dims);
  const std::vector<std::int64_t> first{1, -2, 3, -4, 5, -6}, second{10, 20, 30, 40, 50, 60};
  Query query = encrypt(s.secret, first, dims, 70);
  add_message(*s.context, query, second, 71);
  const auto found = decrypt(s.secret, database.answer(query, s.keys, 0));
  const double factor = std::ldexp(s.context->parameters().ratio(1), -70);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < dims; ++r) {
      const auto score = std::llround(static_cast<double>(found[i * s.context->degree() + r]) * factor);
      EXPECT_EQ(score, first[i * dims + r] + 2 * second[i * dims + r]);
    }
  }
  EXPECT_THROW(add_message(*s.context, query, {first.data(), 3}, 0), MismatchError);
}

TEST(Search, PreparedAnswersServeWhatTheyWereMadeFor) {
  const Session& s = session();
  constexpr std::size_t dims = 3;
  const std::vector<std::int8_t> rows(4 * dims, 1);
  const std::vector<std::int64_t> zeros(2 * dims);
  const std::span<const std::int64_t> one = std::span(zeros).first(dims);
  Filled database(s, rows, dims);
  const Query query = encrypt(s.secret, one, dims, 0);
  Answer found = empty_answer(*s.context, 1, 1, 0);
  const auto prepare = [&] { return database.prepare(query.seed, s.keys, {}, found.halves().a); };
  const auto finish = [&](const Query& wrong) { database.finish(prepare(), wrong, found.halves().b); };
  finish(query);
  EXPECT_THROW(finish(encrypt(s.secret, zeros, dims, 0)), MismatchError);
  EXPECT_THROW(finish(encrypt(s.secret, one.first(2), 2, 0)), MismatchError);
  Query damaged = query;
  damaged.numbers[2] = s.context->base(0).modulus(0).value();
  EXPECT_THROW(finish(damaged), FormatError);
  const AnswerHalf shorter{found.halves().b.bytes.first(8)};
  EXPECT_THROW(database.finish(prepare(), query, shorter), MismatchError);
  EXPECT_THROW(static_cast<void>(database.prepare(query.seed, s.keys, {}, shorter)), MismatchError);
  EXPECT_THROW(static_cast<void>(database.prepare(query.seed, s.keys, {41, 8}, found.halves().a)),
               ParameterError);
  PreparedAnswer before = prepare();
  database.resize(2);
  database.set_block(1, rows);
  tests::expect_error<MismatchError>([&] { database.finish(std::move(before), query, found.halves().b); },
                                     {"prepared for 1 blocks"});
}

// Blocks that came one by one, a block that is changed, and one that is no more: their bytes as well.
TEST(Search, PreparedAnswersFollowChanges) {
  const Session& s = session();
  const std::size_t degree = s.context->degree(), dims = 17;
  const auto entries = random_integers<std::int8_t>(3 * degree * dims, 127, 9);
  const auto block = [&](std::size_t i, std::size_t rows) {
    return std::span<const std::int8_t>(entries).subspan(i * degree * dims, rows * dims);
  };
  Database database(s.context, dims);
  const Query query = encrypt(s.secret, random_integers<std::int64_t>(dims, 1000, 3), dims, 20);
  const auto expect_same = [&] {
    EXPECT_EQ(finished(database, s, query).numbers, database.answer(query, s.keys, 0).numbers);
  };
  for (std::size_t i = 0; i < 3; ++i) {
    database.resize(i + 1);
    database.set_block(i, block(i, i == 2 ? 5 : degree));
    expect_same();
  }
  database.set_block(1, block(0, 7));
  expect_same();
  database.resize(2);
  expect_same();
  database.resize(4);
  database.set_block(2, block(2, 1));
  database.set_block(3, block(1, degree));
  expect_same();
}

TEST(Search, AnswersArePackedInFewerBytes) {
  const Session& s = session();
  const std::size_t degree = s.context->degree(), dims = 5;
  Database database(s.context, dims);
  database.resize(2);
  for (const std::size_t block : {0, 1}) {
    database.set_block(block, random_integers<std::int8_t>(degree * dims, 127, static_cast<int>(block) + 1));
  }
  const Query query = encrypt(s.secret, random_integers<std::int64_t>(2 * dims, 1000, 3), dims, 20);
  for (const Packing packing : {Packing{16, 4}, Packing{8, 5}, Packing{40, 1}}) {
    const Answer whole = database.answer(query, s.keys, packing.dropped_bits);
    const auto width = static_cast<std::size_t>(packing.width);
    const std::size_t half = whole.numbers.size() / 2 * width;
    ASSERT_EQ(database.half_bytes(2, packing.width), half);
    std::vector<std::byte> packed(2 * half);
    std::vector<std::uint64_t> checksums(2 * runtime::checksum_pieces(half));
    const auto place = [&](std::size_t first) {
      const std::size_t pieces = checksums.size() / 2;
      return AnswerHalf{std::span(packed).subspan(first * half, half),
                        std::span(checksums).subspan(first * pieces, pieces)};
    };
    const AnswerHalves places{.b = place(0), .a = place(1)};
    database.answer(query, s.keys, packing, places);
    for (std::size_t i = 0; i < whole.numbers.size(); ++i) {
      for (std::size_t byte = 0; byte < width; ++byte) {
        ASSERT_EQ(std::to_integer<unsigned>(packed[i * width + byte]), whole.numbers[i] >> 8 * byte & 255);
      }
    }
    // Pieces begin anew in each half.
    for (const AnswerHalf& each : {places.b, places.a}) {
      for (std::size_t i = 0; i < each.checksums.size(); ++i) {
        const std::size_t begin = i << 16;
        EXPECT_EQ(
            each.checksums[i],
            runtime::checksum(0, each.bytes.subspan(begin, std::min(half - begin, std::size_t{1} << 16))));
      }
    }
    const AnswerHalf shorter{std::span(packed).first(half - 1)};
    const AnswerHalf unchecked{places.a.bytes, places.a.checksums.first(0)};
    const AnswerHalf too_few{places.a.bytes, {checksums.data(), checksums.size() / 2 + 1}};
    database.answer(query, s.keys, packing, {places.b, unchecked});
    for (const AnswerHalf& wrong : {shorter, too_few}) {
      EXPECT_THROW(database.answer(query, s.keys, packing, {places.b, wrong}), MismatchError);
      EXPECT_THROW(database.answer(query, s.keys, packing, {wrong, places.a}), MismatchError);
    }
    EXPECT_THROW(database.answer(query, s.keys, {packing.dropped_bits, 9}, places), ParameterError);
    EXPECT_THROW(database.answer(query, s.keys, {packing.dropped_bits, 0}, places), ParameterError);
  }
}

TEST(Search, BlocksAreSetAnewAndGivenBack) {
  const Session& s = session();
  const std::size_t degree = s.context->degree(), dims = 3;
  Database database(s.context, dims);
  const auto scores_of = [&](std::size_t block) {
    const std::vector<std::int64_t> one{std::int64_t{1} << 33, 0, 0};
    const auto found = decrypt(s.secret, database.answer(encrypt(s.secret, one, dims, 0), s.keys, 0));
    std::vector<std::int64_t> result;
    for (std::size_t r = 0; r < 3; ++r) {
      result.push_back(std::llround(std::ldexp(static_cast<double>(found[block * degree + r]), -33)));
    }
    return result;
  };
  const std::vector<std::int8_t> a{1, 9, 9, 2, 9, 9, 3, 9, 9}, b{-7, 9, 9};
  using Scores = std::vector<std::int64_t>;
  database.resize(1);
  database.set_block(0, a);
  EXPECT_EQ(scores_of(0), (Scores{1, 2, 3}));
  database.resize(3);
  database.set_block(1, b);
  database.set_block(2, a);
  EXPECT_EQ(scores_of(0), (Scores{1, 2, 3}));
  EXPECT_EQ(scores_of(1), (Scores{-7, 0, 0}));
  EXPECT_EQ(scores_of(2), (Scores{1, 2, 3}));
  database.set_block(0, b);
  EXPECT_EQ(scores_of(0), (Scores{-7, 0, 0}));
  database.resize(2);  // two blocks share a part
  EXPECT_EQ(database.memory_bytes(), 3 * degree * (8 * dims + 16));
  EXPECT_EQ(scores_of(1), (Scores{-7, 0, 0}));
  database.resize(1);
  EXPECT_EQ(database.memory_bytes(), degree * (8 * dims + 16));
  EXPECT_THROW(database.set_block(1, a), ParameterError);
  EXPECT_THROW(database.set_block(0, std::vector<std::int8_t>(4)), ParameterError);
  EXPECT_THROW(database.set_block(0, std::vector<std::int8_t>((degree + 1) * dims)), ParameterError);
}

TEST(Search, RefusesWhatDoesNotFit) {
  const Session& s = session();
  const std::vector<std::int64_t> values(6, 1);
  EXPECT_THROW(static_cast<void>(encrypt(s.secret, values, 4, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(encrypt(s.secret, {}, 4, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(encrypt(s.secret, values, 0, 0)), ParameterError);
  const Query query = encrypt(s.secret, values, 3, 0);
  rlwe::EvaluationKeys few = s.keys;
  few.switching.erase(rlwe::KeyRole::galois(5));
  EXPECT_THROW(static_cast<void>(Expansion(s.context, query.dims)(query, few)), MissingKeyError);
  Query damaged = query;
  damaged.numbers.back() = s.context->base(0).modulus(0).value();
  EXPECT_THROW(static_cast<void>(Expansion(s.context, damaged.dims)(damaged, s.keys)), FormatError);
  damaged.numbers.pop_back();
  EXPECT_THROW(static_cast<void>(Expansion(s.context, damaged.dims)(damaged, s.keys)), MismatchError);
  Database database(s.context, 3);
  EXPECT_THROW(static_cast<void>(database.answer(query, s.keys, 0)), MismatchError);
  database.resize(1);
  database.set_block(0, {});
  EXPECT_THROW(static_cast<void>(database.answer(encrypt(s.secret, values, 2, 0), s.keys, 0)), MismatchError);
  const Session other;
  EXPECT_THROW(static_cast<void>(database.answer(query, other.keys, 0)), MismatchError);
  EXPECT_THROW(static_cast<void>(database.answer(query, s.keys, 41)), ParameterError);
  Answer answer = database.answer(query, s.keys, 4);
  answer.numbers[0] = std::uint64_t{1} << 45;
  EXPECT_THROW(static_cast<void>(decrypt(s.secret, answer)), FormatError);
  answer.numbers.pop_back();
  EXPECT_THROW(static_cast<void>(decrypt(s.secret, answer)), MismatchError);
}

}  // namespace
}  // namespace hemera::circuits::search
