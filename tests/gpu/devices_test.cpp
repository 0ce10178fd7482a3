// Objects that go from device to device, and several devices at once: the tests' device and all other GPUs
// that there are, or itself again where it is alone.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/rlwe/exchange.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;
using Bytes = std::vector<std::byte>;

std::vector<runtime::Device> devices() {
  std::vector<runtime::Device> result = {tests::device()};
  for (const runtime::CudaDevice& found : runtime::find_cuda_devices().devices) {
    const runtime::Device device{runtime::Device::Kind::cuda, found.index};
    if (found.problem.empty() && device != result.front()) result.push_back(device);
  }
  if (result.size() == 1) result.push_back(result.front());
  return result;
}

rlwe::Parameters ckks_parameters() {
  return ckks::parameters_from_bits({.degree = 1024,
                                     .prime_bits = {45, 45, 45},
                                     .special_bits = {46, 46},
                                     .scale = 0x1p38,
                                     .digits = 2,
                                     .security = std::nullopt});
}

// The same operations wherever the context is.
Bytes circuit(const rlwe::Evaluator& evaluator, const Ciphertext& x) {
  Ciphertext value = evaluator.multiply(x, x);
  for (int i = 0; i < 3; ++i) value = evaluator.add(evaluator.rotate(value, 1), value);
  return io::save(value);
}

TEST(SchemesOnDevices, ObjectsKeepTheirBitsFromDeviceToDevice) {
  const auto all = devices();
  const auto parameters = ckks_parameters();
  const auto cpu = rlwe::Context::make(parameters, {}, {.threads = 1});
  const auto first = rlwe::Context::make(parameters, all.at(0));
  const auto second = rlwe::Context::make(parameters, all.at(1));

  const rlwe::SecretKey secret = rlwe::generate_secret_key(first);
  const auto keys = rlwe::generate_keys(secret, {.rotations = {1}, .galois_level = 1});
  const Plaintext plain =
      ckks::Encoder(first).encode(std::vector<std::complex<double>>(1024, {0.5, -0.25}), {2});
  const Ciphertext x = any_scheme::encrypt(plain, secret);  // has a seed

  for (const auto& target : {second, cpu}) {
    SCOPED_TRACE(target->memory()->device().name());
    EXPECT_TRUE(io::save(rlwe::copy_to(target, secret)) == io::save(secret));
    EXPECT_TRUE(io::save(rlwe::copy_to(target, keys)) == io::save(keys));
    const auto relinearization = keys.find(rlwe::KeyRole::relinearization(), 0);
    EXPECT_TRUE(io::save(rlwe::copy_to(target, *relinearization)) == io::save(*relinearization));
    EXPECT_TRUE(io::save(rlwe::copy_to(target, plain)) == io::save(plain));
    EXPECT_TRUE(io::save(rlwe::copy_to(target, x)) == io::save(x));
    // And back.
    EXPECT_TRUE(io::save(rlwe::copy_to(first, rlwe::copy_to(target, x))) == io::save(x));
    EXPECT_EQ(rlwe::copy_to(target, secret).poly.secrecy(), runtime::Secrecy::secret);
  }

  const auto others = rlwe::Context::make(bfv::parameters_from_bits({.degree = 1024,
                                                                     .plain_modulus = 65537,
                                                                     .prime_bits = {45, 45},
                                                                     .special_bits = {46},
                                                                     .security = std::nullopt}),
                                          all.at(1));
  EXPECT_THROW(static_cast<void>(rlwe::copy_to(others, x)), MismatchError);
}

// GPUs and the CPU as members of one sum: the bits are those of a sum on the CPU.
TEST(SchemesOnDevices, SumsAndCopiesOverDevicesHaveTheBitsOfOne) {
  const auto parameters = ckks_parameters();
  const auto cpu = rlwe::Context::make(parameters, {}, {.threads = 1});
  const auto all = devices();
  std::vector<std::shared_ptr<const rlwe::Context>> members;
  for (std::size_t i = 0; i < 3; ++i) members.push_back(rlwe::Context::make(parameters, all[i % all.size()]));
  members.push_back(cpu);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(cpu);
  const auto evaluator = any_scheme::make_evaluator(cpu, rlwe::generate_keys(secret, {}));
  for (const rlwe::BatchShape& batch : {rlwe::BatchShape{}, rlwe::BatchShape{3}}) {
    std::vector<Ciphertext> terms;
    const std::vector<std::complex<double>> values(512 * rlwe::batch_count(batch), {0.5, -0.25});
    Ciphertext expected;
    for (const auto& member : members) {
      const Ciphertext x = any_scheme::encrypt(ckks::Encoder(cpu).encode(values, batch), secret);
      expected = terms.empty() ? x.clone() : evaluator->add(expected, x);
      terms.push_back(rlwe::copy_to(member, x));
    }
    for (const Ciphertext& copy : rlwe::broadcast(members, terms[1])) {
      EXPECT_TRUE(io::save(copy) == io::save(terms[1]));
    }
    rlwe::all_reduce(terms);
    for (const Ciphertext& sum : terms) EXPECT_TRUE(io::save(sum) == io::save(expected));
    rlwe::add_from(terms[1], terms[2]);
    EXPECT_TRUE(io::save(terms[1]) == io::save(evaluator->add(expected, expected)));
  }
}

TEST(SchemesOnDevices, DevicesAndThreadsWorkAtOnce) {
  const auto all = devices();
  const auto parameters = ckks_parameters();
  const auto cpu = rlwe::Context::make(parameters, {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(cpu);
  const auto keys = rlwe::generate_keys(secret, {.rotations = {1}});
  const auto evaluator = any_scheme::make_evaluator(cpu, keys);
  const Ciphertext x = any_scheme::encrypt(
      ckks::Encoder(cpu).encode(std::vector<std::complex<double>>(1024, {0.5, -0.25}), {2}), secret);
  const Bytes expected = circuit(*evaluator, x);

  // A context on each device, used by two threads each, which share its keys and input.
  struct Side {
    std::unique_ptr<rlwe::Evaluator> evaluator;
    Ciphertext x;
  };
  std::vector<Side> sides;
  for (const runtime::Device device : all) {
    const auto context = rlwe::Context::make(parameters, device);
    sides.push_back(
        {any_scheme::make_evaluator(context, rlwe::copy_to(context, keys)), rlwe::copy_to(context, x)});
  }
  std::vector<Bytes> results(2 * sides.size() * 2);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2 * sides.size(); ++t) {
    threads.emplace_back([&, t] {
      // Threads change from device to device.
      for (std::size_t i = 0; i < 2; ++i) {
        const Side& side = sides[(t + i) % sides.size()];
        results[2 * t + i] = circuit(*side.evaluator, side.x);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& result : results) EXPECT_TRUE(result == expected);
}

TEST(SchemesOnDevices, ContextsOfDifferentDegreesDoNotDisturbEachOther) {
  const auto device = devices().front();
  const auto small = ckks_parameters();
  const auto large = ckks::parameters_from_bits({.degree = 2048,
                                                 .prime_bits = {45, 45, 45},
                                                 .special_bits = {46, 46},
                                                 .scale = 0x1p38,
                                                 .digits = 2,
                                                 .security = std::nullopt});
  struct Side {
    std::unique_ptr<rlwe::Evaluator> evaluator;
    Ciphertext x;
    Bytes alone;
  };
  std::vector<Side> sides;
  for (const auto& parameters : {small, large}) {
    const auto context = rlwe::Context::make(parameters, device);
    const auto secret = rlwe::generate_secret_key(context);
    Side side{
        .evaluator = any_scheme::make_evaluator(context, rlwe::generate_keys(secret, {.rotations = {1}})),
        .x = {},
        .alone = {}};
    const Plaintext plain = ckks::Encoder(context).encode(
        std::vector<std::complex<double>>(context->degree() / 2, {0.5, -0.25}), {});
    side.x = any_scheme::encrypt(plain, secret);
    side.alone = circuit(*side.evaluator, side.x);
    sides.push_back(std::move(side));
  }
  for (int round = 0; round < 2; ++round) {
    const Ciphertext a = sides[0].evaluator->multiply(sides[0].x, sides[0].x);
    const Ciphertext b = sides[1].evaluator->multiply(sides[1].x, sides[1].x);
    EXPECT_TRUE(circuit(*sides[1].evaluator, sides[1].x) == sides[1].alone);
    EXPECT_TRUE(circuit(*sides[0].evaluator, sides[0].x) == sides[0].alone);
  }
}

// Kernels that keep a row of every digit take more shared memory the higher the level is. What a thread asks
// of the driver for its launch must not be taken back by another one before that launch.
TEST(SchemesOnDevices, ThreadsAtOtherLevelsWorkAtOnce) {
  const auto parameters = ckks::parameters_from_bits({.degree = 4096,
                                                      .prime_bits = std::vector<int>(24, 45),
                                                      .special_bits = {46},
                                                      .scale = 0x1p38,
                                                      .security = std::nullopt});
  const auto context = rlwe::Context::make(parameters, devices().front());
  const auto secret = rlwe::generate_secret_key(context);
  const auto evaluator = any_scheme::make_evaluator(context, rlwe::generate_keys(secret, {.rotations = {1}}));
  const Plaintext plain =
      ckks::Encoder(context).encode(std::vector<std::complex<double>>(2048, {0.5, -0.25}), {});
  Ciphertext inputs[] = {any_scheme::encrypt(plain, secret), {}};
  inputs[1] = evaluator->lower_to_level(inputs[0], 15);
  const Bytes alone[] = {circuit(*evaluator, inputs[0]), circuit(*evaluator, inputs[1])};
  std::size_t right[2] = {}, runs[2] = {};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);  // an emulated card is slow
  std::string problems[2];
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        try {
          do {
            right[t] += circuit(*evaluator, inputs[t]) == alone[t] ? 1 : 0;
          } while (++runs[t] < 300 && std::chrono::steady_clock::now() < end);
        } catch (const Error& error) {
          problems[t] = error.what();
        }
      });
    }
  }
  EXPECT_EQ(problems[0] + problems[1], "");
  EXPECT_EQ(right[0], runs[0]);
  EXPECT_EQ(right[1], runs[1]);
}

}  // namespace
}  // namespace hemera::testing
