// Products with matrices on the device beside those on the CPU: the same bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hemera/circuits/linear/matrix_batch_product.hpp"
#include "hemera/circuits/linear/packed_rows_product.hpp"
#include "hemera/circuits/linear/periodic_transform.hpp"
#include "hemera/circuits/linear/plain_matrix_product.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/integer_matrix.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "schemes/ckks_support.hpp"
#include "test_device.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;

rlwe::Parameters parameters() { return ckks::small_parameters(2, 2); }

struct Client {
  std::shared_ptr<const rlwe::Context> context = rlwe::Context::make(parameters());
  rlwe::SecretKey secret = rlwe::generate_secret_key(context);

  [[nodiscard]] Ciphertext encrypt(const ckks::Values& values, std::size_t batch) const {
    return ckks::encrypt(ckks::Encoder(context).encode(values, {batch}), secret);
  }
};

TEST(MatricesOnDevices, RowsHaveTheSameBytes) {
  const Client client;
  const auto device = tests::make_context(parameters());
  std::mt19937_64 random(1);
  std::vector<double> weights(std::size_t{9} * 20);
  for (double& weight : weights) weight = std::uniform_real_distribution<double>(-1, 1)(random);
  const Ciphertext x = client.encrypt(ckks::random_values(20 * 512, 2), 20);
  for (const int bits : {8, 16}) {
    const PlainMatrixProduct plan(parameters(), 9, 20, weights, {.bits = bits});
    const auto bytes = [&](const std::shared_ptr<const rlwe::Context>& context, const Ciphertext& in) {
      return io::save(
          PreparedPlainMatrixProduct(context, plan)(ckks::Evaluator(context, {.context = context}), in));
    };
    EXPECT_EQ(bytes(device, io::load_ciphertext(device, io::save(x))), bytes(client.context, x)) << bits;
  }
}

TEST(MatricesOnDevices, IntegersHaveTheSameBytes) {
  const rlwe::Parameters own = bfv::parameters_from_bits({.degree = 1024,
                                                          .plain_modulus = 12289,
                                                          .prime_bits = {50, 50},
                                                          .special_bits = {50},
                                                          .digits = 0,
                                                          .security = std::nullopt});
  const rlwe::ContextPointer cpu = rlwe::Context::make(own), device = tests::make_context(own);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(cpu);
  std::mt19937_64 random(3);
  std::vector<std::int64_t> values(7 * 1024);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 12289);
  const Ciphertext x = bfv::encrypt(integer::Encoder(cpu).encode(values, {7}, rlwe::Encoding::slots), secret);
  std::vector<std::int16_t> w(std::size_t{5} * 7);
  for (std::int16_t& value : w) value = static_cast<std::int16_t>(random());
  const auto bytes = [&](const std::shared_ptr<const rlwe::Context>& context, const Ciphertext& in) {
    return io::save(rlwe::multiply_matrix({context, 5, 7, w}, in));
  };
  EXPECT_EQ(bytes(device, io::load_ciphertext(device, io::save(x))), bytes(cpu, x));
}

TEST(MatricesOnDevices, BatchesOfProductsHaveTheSameBytes) {
  constexpr std::size_t d = 4;
  const Client client;
  const auto device = tests::make_context(parameters());
  const MatrixBatchProduct plan(parameters(), d);
  const rlwe::EvaluationKeys keys = plan.generate_keys(client.secret);
  const Ciphertext z = client.encrypt(ckks::random_values(d * 512, 4), d);
  const Ciphertext x = client.encrypt(ckks::random_values(d * 512, 5), d);
  const auto bytes = [&](const std::shared_ptr<const rlwe::Context>& context, const rlwe::EvaluationKeys& own,
                         const Ciphertext& left, const Ciphertext& right) {
    return io::save(PreparedMatrixBatchProduct(context, plan)(ckks::Evaluator(context, own), left, right));
  };
  EXPECT_EQ(bytes(device, io::load_evaluation_keys(device, io::save(keys)),
                  io::load_ciphertext(device, io::save(z)), io::load_ciphertext(device, io::save(x))),
            bytes(client.context, keys, z, x));
}

TEST(MatricesOnDevices, PackedRowsHaveTheSameBytes) {
  const Client client;
  const auto device = tests::make_context(parameters());
  const ckks::Values random = ckks::random_values(20 * 20, 6);
  std::vector<double> weights;
  for (const ckks::Complex& value : random) weights.push_back(value.real());
  const PackedRowsProduct plan(parameters(), 20, 20, weights, 64);
  const rlwe::EvaluationKeys keys = plan.generate_keys(client.secret);
  const Ciphertext x =
      client.encrypt(ckks::random_values(plan.input_ciphertexts() * 512, 7), plan.input_ciphertexts());
  const auto bytes = [&](const std::shared_ptr<const rlwe::Context>& context, const rlwe::EvaluationKeys& own,
                         const Ciphertext& in) {
    return io::save(PreparedPackedRowsProduct(context, plan)(ckks::Evaluator(context, own), in));
  };
  EXPECT_EQ(bytes(device, io::load_evaluation_keys(device, io::save(keys)),
                  io::load_ciphertext(device, io::save(x))),
            bytes(client.context, keys, x));
}

// Rows and columns enough for products on tensor cores, and diagonals of a smaller ring.
TEST(MatricesOnDevices, PeriodicTransformsHaveTheSameBytes) {
  const rlwe::Parameters own = ckks::parameters_for(
      {.depth = 1, .scale_bits = 40, .slots = 2048, .digits = 2, .degree = 4096, .security = std::nullopt});
  const rlwe::ContextPointer cpu = rlwe::Context::make(own), device = tests::make_context(own);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(cpu);
  const ckks::Values random = ckks::random_values(100 * 40, 8);
  std::vector<double> weights;
  for (const ckks::Complex& value : random) weights.push_back(value.real());
  const Ciphertext x =
      ckks::encrypt(ckks::Encoder(cpu).encode(ckks::random_values(2 * 2048, 9), {2}), secret);
  for (const bool kept : {true, false}) {
    const PeriodicTransform plan(own, 100, 40, weights, 32, {.baby_steps = 4, .kept = kept});
    const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
    const auto bytes = [&](const std::shared_ptr<const rlwe::Context>& context,
                           const rlwe::EvaluationKeys& keys_there, const Ciphertext& in) {
      return io::save(PreparedPeriodicTransform(context, plan)(ckks::Evaluator(context, keys_there), in));
    };
    EXPECT_EQ(bytes(device, io::load_evaluation_keys(device, io::save(keys)),
                    io::load_ciphertext(device, io::save(x))),
              bytes(cpu, keys, x))
        << kept;
  }
}

}  // namespace
}  // namespace hemera::circuits
