// A search on the device beside one on the CPU: the same answers, bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "hemera/circuits/search/database.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/sha256.hpp"
#include "test_device.hpp"

namespace hemera::circuits::search {
namespace {

class SearchOnDevices : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Scores, SearchOnDevices, testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "exact" : "approximate"; });

TEST_P(SearchOnDevices, AnswersHaveTheSameBits) {
  constexpr std::size_t dims = 5, count = 2;
  const auto on_cpu = rlwe::Context::make(parameters(GetParam()));
  const auto on_device = tests::make_context(parameters(GetParam()));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(on_cpu);
  const rlwe::EvaluationKeys keys = generate_keys(secret);
  std::mt19937_64 random(1);
  std::vector<std::int64_t> values(count * dims);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> 24);
  const Query query = encrypt(secret, values, dims, 0);
  std::vector<std::int8_t> rows(100 * dims);
  for (std::int8_t& entry : rows) entry = static_cast<std::int8_t>(random());
  const auto answer = [&](const std::shared_ptr<const rlwe::Context>& context,
                          const rlwe::EvaluationKeys& own) {
    Database database(context, dims);
    database.resize(1);
    database.resize(2);
    database.set_block(0, rows);
    database.set_block(1, std::span(rows).first(40 * dims));
    return database.answer(query, own, 3).numbers;
  };
  EXPECT_EQ(answer(on_device, io::load_evaluation_keys(on_device, io::save(keys))), answer(on_cpu, keys));
  // The device's client, the CPU's server and back.
  const rlwe::SecretKey same = io::load_secret_key(on_device, io::save(secret));
  Answer from_cpu{.count = count, .blocks = 2, .dropped_bits = 3, .numbers = answer(on_cpu, keys)};
  EXPECT_EQ(decrypt(same, from_cpu), decrypt(secret, from_cpu));
}

TEST_P(SearchOnDevices, ClientsShareAPass) {
  constexpr std::size_t dims = 3;
  const auto on_cpu = rlwe::Context::make(parameters(GetParam()));
  const auto on_device = tests::make_context(parameters(GetParam()));
  std::mt19937_64 random(3);
  std::vector<std::int8_t> rows(50 * dims);
  for (std::int8_t& entry : rows) entry = static_cast<std::int8_t>(random());
  std::vector<Query> queries;
  std::vector<rlwe::EvaluationKeys> on_host, moved;
  for (const std::size_t count : {1U, 2U}) {
    const rlwe::SecretKey secret = rlwe::generate_secret_key(on_cpu);
    on_host.push_back(generate_keys(secret));
    moved.push_back(io::load_evaluation_keys(on_device, io::save(on_host.back())));
    queries.push_back(encrypt(secret, std::vector<std::int64_t>(count * dims, 1 << 20), dims, 0));
  }
  const auto answer = [&](const std::shared_ptr<const rlwe::Context>& context,
                          const std::vector<rlwe::EvaluationKeys>& keys) {
    Database database(context, dims);
    database.resize(1);
    database.set_block(0, rows);
    const std::vector<KeyedQuery> keyed{{queries[0], keys[0]}, {queries[1], keys[1]}};
    std::vector<Answer> found{empty_answer(*context, 1, 1, 3), empty_answer(*context, 2, 1, 3)};
    database.answer(keyed, {.dropped_bits = 3}, std::array{found[0].halves(), found[1].halves()});
    return std::vector{found[0].numbers, found[1].numbers};
  };
  EXPECT_EQ(answer(on_device, moved), answer(on_cpu, on_host));
}

// Packed, and of prepared queries: their products with rows of bytes are the device's as well. Halves have
// more than one part of a copy.
TEST_P(SearchOnDevices, PreparedAnswersHaveTheSameBits) {
  constexpr std::size_t dims = 3;
  const std::size_t blocks = GetParam() ? 27 : 54;
  const auto on_cpu = rlwe::Context::make(parameters(GetParam()));
  const auto on_device = tests::make_context(parameters(GetParam()));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(on_cpu);
  const rlwe::EvaluationKeys keys = generate_keys(secret);
  std::mt19937_64 random(3);
  std::vector<std::int64_t> values(dims);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> 24);
  const Query query = encrypt(secret, values, dims, 0);
  std::vector<std::int8_t> rows(200 * dims);
  for (std::int8_t& entry : rows) entry = static_cast<std::int8_t>(random());
  const Packing packing{.dropped_bits = 11, .width = 5};
  const auto answers = [&](const std::shared_ptr<const rlwe::Context>& context,
                           const rlwe::EvaluationKeys& own) {
    Database database(context, dims);
    database.resize(1);
    database.resize(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
      database.set_block(block, std::span(rows).first((200 - block) * dims));
    }
    const std::size_t half = database.half_bytes(1, packing.width), pieces = runtime::checksum_pieces(half);
    EXPECT_GT(half, std::size_t{1} << 20);
    std::vector<std::byte> answer(2 * half), finished(2 * half);
    std::vector<std::uint64_t> checksums(2 * pieces), of_finished(2 * pieces);
    const auto place = [&](auto& bytes, auto& own_checksums, std::size_t first) {
      return AnswerHalf{std::span(bytes).subspan(first * half, half),
                        std::span(own_checksums).subspan(first * pieces, pieces)};
    };
    database.answer(query, own, packing, {place(answer, checksums, 0), place(answer, checksums, 1)});
    database.finish(database.prepare(query.seed, own, packing, place(finished, of_finished, 1)), query,
                    place(finished, of_finished, 0));
    EXPECT_EQ(answer, finished);
    EXPECT_EQ(checksums, of_finished);
    return std::pair{answer, checksums};
  };
  EXPECT_EQ(answers(on_device, io::load_evaluation_keys(on_device, io::save(keys))), answers(on_cpu, keys));
}

TEST_P(SearchOnDevices, AnswersOfEncryptedRowsHaveTheSameBits) {
  constexpr std::size_t dims = 3, count = 2;
  const auto on_cpu = rlwe::Context::make(parameters(GetParam()));
  const auto on_device = tests::make_context(parameters(GetParam()));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(on_cpu);
  const rlwe::EvaluationKeys keys = generate_keys(secret, true);
  std::mt19937_64 random(2);
  std::vector<std::int64_t> values(count * dims), rows(40 * dims);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> 30);
  for (std::int64_t& entry : rows) entry = static_cast<std::int8_t>(random());
  const Query query = encrypt(secret, values, dims, 0);
  const EncryptedRows first = encrypt_rows(secret, rows, dims, 2);
  const EncryptedRows second = encrypt_rows(secret, rows, dims, 2);
  const auto answers = [&](const std::shared_ptr<const rlwe::Context>& context,
                           const rlwe::EvaluationKeys& own) {
    EncryptedDatabase database(context, dims);
    database.resize(1);
    database.place(0, 0, first);
    database.place(0, 40, second);
    database.resize(2);
    database.place(1, 0, second);
    const std::vector<std::int16_t> clear{1, -300, 7, 0, 2, 500};
    const rlwe::IntegerMatrix matrix(context, count, dims, clear);
    return std::vector{database.answer(query, own, 3).numbers, database.answer(matrix, 77, 3).numbers,
                       database.residues(0)};
  };
  EXPECT_EQ(answers(on_device, io::load_evaluation_keys(on_device, io::save(keys))), answers(on_cpu, keys));
  // The device's owner, the CPU's server.
  const rlwe::SecretKey same = io::load_secret_key(on_device, io::save(secret));
  EncryptedDatabase database(on_cpu, dims);
  database.resize(1);
  const int shift = GetParam() ? 78 : 30;
  database.place(0, 0, encrypt_rows(same, rows, dims, shift));
  const rlwe::IntegerMatrix matrix(on_cpu, 1, dims, std::vector<std::int16_t>{0, 1, 0});
  const auto found = decrypt(secret, database.answer(matrix, 1, 0));
  double unit = std::ldexp(1.0, shift);
  if (GetParam()) unit /= on_cpu->parameters().ratio(1);
  for (std::size_t r = 0; r < 40; ++r) {
    EXPECT_EQ(std::llround(static_cast<double>(found[r]) / unit), rows[r * dims + 1]);
  }
}

}  // namespace
}  // namespace hemera::circuits::search
