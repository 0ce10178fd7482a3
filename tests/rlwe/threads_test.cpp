// Many contexts at once, and one context from many threads.
#include <gtest/gtest.h>

#include <thread>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "refusals.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

ckks::CircuitRequest small_circuit(std::size_t depth) {
  return {.depth = depth, .scale_bits = 40, .slots = 16, .degree = 1024, .security = std::nullopt};
}

// Squares the values 0 ... 15 / 16 on a context and returns the largest error.
double square_once(const std::shared_ptr<const Context>& context, const SecretKey& secret,
                   const ckks::Evaluator& evaluator) {
  std::vector<std::complex<double>> values;
  for (int i = 0; i < 16; ++i) values.emplace_back(i / 16.0);
  const ckks::Encoder encoder(context);
  const auto square = evaluator.square(ckks::encrypt(encoder.encode(values, {}), secret));
  const auto result = encoder.decode(ckks::decrypt(square, secret));
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(result[i] - values[i] * values[i]));
  }
  return largest;
}

void run_in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, OneContextFromManyThreads) {
  const auto context = tests::make_context(ckks::parameters_for(small_circuit(2)), 2);
  const SecretKey secret = generate_secret_key(context);
  const ckks::Evaluator evaluator(context, generate_keys(secret, {}));
  std::vector<double> errors(4, 1);
  run_in_threads(4, [&](int i) {
    double largest = 0;
    for (int round = 0; round < 5; ++round)
      largest = std::max(largest, square_once(context, secret, evaluator));
    errors[static_cast<std::size_t>(i)] = largest;
  });
  for (const double error : errors) EXPECT_LT(error, 0x1p-20);
}

TEST(Threads, ManyContextsAtOnce) {
  std::vector<double> errors(4, 1);
  run_in_threads(4, [&](int i) {
    const auto context =
        tests::make_context(ckks::parameters_for(small_circuit(static_cast<std::size_t>(i) + 1)), 2);
    const SecretKey secret = generate_secret_key(context);
    const ckks::Evaluator evaluator(context, generate_keys(secret, {}));
    errors[static_cast<std::size_t>(i)] = square_once(context, secret, evaluator);
  });
  for (const double error : errors) EXPECT_LT(error, 0x1p-20);
}

TEST(Threads, ContextsDoNotMix) {
  const auto first = tests::make_context(ckks::parameters_for(small_circuit(1)));
  const auto second = tests::make_context(ckks::parameters_for(small_circuit(1)));
  const auto third = tests::make_context(ckks::parameters_for(small_circuit(2)));
  const ckks::Encoder encoder(first);
  const std::vector<std::complex<double>> values(4, 0.5);
  const auto plaintext = encoder.encode(values, {});
  tests::expect_error<MismatchError>([&] { return ckks::encrypt(plaintext, generate_secret_key(second)); },
                                     {"two contexts of the same parameters"});
  tests::expect_error<MismatchError>([&] { return ckks::encrypt(plaintext, generate_secret_key(third)); },
                                     {first->parameters().short_fingerprint()});
}

TEST(Threads, ADeviceThatIsNotThereIsRefused) {
  const auto device = runtime::Device::parse("cuda:999");
  // What was asked for, and the way out.
  tests::expect_error<DeviceError>(
      [&] { return Context::make(ckks::parameters_for(small_circuit(1)), device); },
      {"'cuda:999' is not available", "'cpu'"});
}

TEST(Threads, AStreamIsForGpus) {
  const auto make = [](const ContextOptions& options) {
    return Context::make(ckks::parameters_for(small_circuit(1)), {}, options);
  };
  EXPECT_THROW(static_cast<void>(make({.stream = 0})), ParameterError);
}

}  // namespace
}  // namespace hemera::rlwe
