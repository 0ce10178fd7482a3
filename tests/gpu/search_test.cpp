// A search on the device beside one on the CPU: the same answers, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hemera/circuits/search/database.hpp"
#include "hemera/io/objects.hpp"
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

}  // namespace
}  // namespace hemera::circuits::search
