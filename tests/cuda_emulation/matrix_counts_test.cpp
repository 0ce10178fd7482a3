// What searches and products of matrices ask of the device: kernels, and copies from and to the host.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "counted.hpp"
#include "hemera/circuits/linear/matrix_batch_product.hpp"
#include "hemera/circuits/search/database.hpp"
#include "schemes/ckks_support.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using namespace circuits::search;

// The query goes up, the packed answer comes down; what lies between waits for nothing.
TEST(EmulationCounts, SearchesCopyOnceEachWay) {
  constexpr std::size_t dims = 8;
  for (const bool exact : {false, true}) {
    const auto context = tests::make_context(parameters(exact));
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const rlwe::EvaluationKeys keys = generate_keys(secret);
    const auto levels = static_cast<std::size_t>(std::countr_zero(context->degree()));
    Database database(context, dims);
    database.resize(2);
    for (const std::size_t block : {0, 1}) database.set_block(block, std::vector<std::int8_t>(3 * dims, 1));
    const Query query = encrypt(secret, std::vector<std::int64_t>(dims, 5), dims, 20);
    const Packing packing{.dropped_bits = 16, .width = 4};
    const std::size_t half = database.half_bytes(1, packing.width);
    std::vector<std::byte> bytes(2 * half);
    const AnswerHalves out{.b = {std::span(bytes).first(half)}, .a = {std::span(bytes).subspan(half)}};
    const auto answer = [&] { database.answer(query, keys, packing, out); };
    answer();
    const Counts counts = counted(answer);
    EXPECT_EQ(counts.copies_to_device, 1U);
    EXPECT_EQ(counts.copies_to_host, 1U);
    // The host waits for the copy's event, the copy's stream for the kernels.
    EXPECT_EQ(counts.synchronizations, 0U);
    EXPECT_EQ(counts.stream_waits, 1U);
    EXPECT_EQ(counts.allocations, 0U);
    EXPECT_LE(counts.kernels, 5 * levels + 5);

    std::vector<PreparedAnswer> prepared;
    for (int i = 0; i < 2; ++i) prepared.push_back(database.prepare(query.seed, keys, packing, out.a));
    std::size_t next = 0;
    const auto finish = [&] { database.finish(std::move(prepared[next++]), query, out.b); };
    finish();
    const Counts of_prepared = counted(finish);
    EXPECT_EQ(of_prepared.copies_to_device, 1U);
    EXPECT_EQ(of_prepared.copies_to_host, 1U);
    EXPECT_EQ(of_prepared.synchronizations, 0U);
    EXPECT_EQ(of_prepared.stream_waits, 1U);
    // For b alone: products, sums with prepared ones, a division with two primes, and packing.
    EXPECT_LE(of_prepared.kernels, exact ? 6U : 3U);
  }
}

// Kernels of a product of pairs: those of its parts are as many for matrices of any size.
TEST(EmulationCounts, PartsOfPairsTakeAsManyKernelsForAnySize) {
  std::vector<std::size_t> kernels;
  for (const std::size_t d : {4, 16}) {
    const rlwe::Parameters parameters = ckks::small_parameters(3, 2);
    const auto context = tests::make_context(parameters);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const circuits::MatrixBatchProduct plan(parameters, d);
    const ckks::Evaluator evaluator(context, rlwe::generate_needed_keys(secret, plan.needed_keys()));
    const circuits::PreparedMatrixBatchProduct product(context, plan);
    const rlwe::Ciphertext x =
        ckks::encrypt(ckks::Encoder(context).encode(ckks::random_values(d * 512, 1), {d}), secret);
    const auto multiply = [&] { return product(evaluator, x, x); };
    multiply();
    kernels.push_back(counted(multiply).kernels);
  }
  // Copies of the keys' digits into their order are left: two kinds of d keys, and two digits or three.
  EXPECT_LE(kernels[1] - kernels[0], 2 * (16 - 4) * 3);
}

}  // namespace
}  // namespace hemera::testing
