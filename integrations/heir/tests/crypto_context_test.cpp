// The context of HEIR's programs, beside plain arithmetic and Hemera's own evaluators.
#include "hemera_heir/crypto_context.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "session.hpp"

namespace hemera::heir {
namespace {

using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

Parameters reals(std::size_t slots = 16, std::size_t depth = 3) {
  Parameters parameters;
  parameters.depth = depth;
  parameters.slots = slots;
  parameters.degree = 1024;
  parameters.security = {};
  return parameters;
}
Parameters integers(Scheme scheme, std::size_t slots = 16) {
  Parameters parameters = reals(slots, 2);
  parameters.scheme = scheme;
  parameters.plain_modulus = 65537;
  return parameters;
}

void expect_near(const Doubles& found, const Doubles& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

Doubles ramp(std::size_t count = 16) {
  Doubles result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(0.1 * static_cast<double>(i) - 0.5);
  return result;
}

TEST(HeirContext, RepeatsNumbersInTheSlots) {
  const Session ckks(reals(), {});
  const auto pair = ckks.client.encrypt(ckks.client.encode(Doubles{1, -2}), ckks.key);
  EXPECT_EQ(pair->meta.slots, 16u);
  expect_near(ckks.decrypted<double>(pair, 5), {1, -2, 1, -2, 1});
  for (const Scheme scheme : {Scheme::bfv, Scheme::bgv}) {
    const Session exact(integers(scheme), {.rotations = {3}});
    // Rotations never leave the period, whatever the ring: both rows hold it all over.
    const auto in = exact.client.encrypt(exact.client.encode(Integers{1, 2, -3, 4}), exact.key);
    for (const std::int64_t steps : {3, -13, 19}) {
      EXPECT_EQ(exact.decrypted<std::int64_t>(exact.server.rotate(in, steps), 6),
                (Integers{4, 1, 2, -3, 4, 1}));
    }
  }
}

TEST(HeirContext, TakesAnyNumberType) {
  const Session exact(integers(Scheme::bgv), {});
  const std::vector<bool> flags = {true, false};
  EXPECT_EQ(exact.decrypted<std::int16_t>(exact.client.encrypt(exact.client.encode(flags), exact.key), 4),
            (std::vector<std::int16_t>{1, 0, 1, 0}));
  const Session ckks(reals(), {});
  const auto found = ckks.decrypted<float>(
      ckks.client.encrypt(ckks.client.encode(std::vector<std::int16_t>{3, -4}), ckks.secret), 2);
  EXPECT_NEAR(found[0], 3, 1e-6);
  EXPECT_NEAR(found[1], -4, 1e-6);
}

TEST(HeirContext, RefusesNumbersThatDoNotRepeat) {
  const CryptoContext cc(reals());
  EXPECT_THROW((void)cc.encode(Doubles{1, 2, 3}), ParameterError);
  EXPECT_THROW((void)cc.encode(Doubles{}), ParameterError);
  EXPECT_THROW((void)cc.encode(Doubles(32, 1.0)), ParameterError);
  EXPECT_THROW((void)cc.decode<double>(cc.encode(Doubles{1}), 17), ParameterError);
  EXPECT_THROW(CryptoContext{reals(12)}, ParameterError);
}

TEST(HeirContext, RotatesByStepsOfAnySign) {
  const Doubles x = ramp();
  const Session ckks(reals(), {.rotations = {-3, 16 + 5, 16}});
  const auto in = ckks.client.encrypt(ckks.client.encode(x), ckks.key);
  for (const std::int64_t steps : {-3, 13, 5, -11, 21, 0, 16, -32}) {
    Doubles expected;
    for (std::int64_t i = 0; i < 16; ++i)
      expected.push_back(x[static_cast<std::size_t>(((i + steps) % 16 + 16) % 16)]);
    expect_near(ckks.decrypted<double>(ckks.server.rotate(in, steps), 16), expected);
    expect_near(ckks.decrypted<double>(ckks.server.rotate_hoisted(in, {0, steps, 5})[1], 16), expected);
  }
  // No key for 1, and none that add up to it: the error of the evaluator, which names the key.
  EXPECT_THROW((void)ckks.server.rotate(in, 1), MissingKeyError);
}

TEST(HeirContext, HasNoKeysBeforeTheyAreMade) {
  const Session ckks(reals(), {});
  const auto in = ckks.client.encrypt(ckks.client.encode(ramp()), ckks.key);
  EXPECT_THROW((void)ckks.client.add(in, in), MissingKeyError);
  EXPECT_THROW((void)ckks.client.keys(), MissingKeyError);
  // Without a relinearization key products stay as they are.
  const auto square = ckks.server.multiply(in, in);
  EXPECT_EQ(square->size(), 3u);
  EXPECT_THROW((void)ckks.server.relinearize(square), MissingKeyError);
  EXPECT_THROW((void)ckks.server.bootstrap(in), ParameterError);
}

TEST(HeirContext, RelinearizesWhenAsked) {
  for (const Scheme scheme : {Scheme::ckks, Scheme::bfv, Scheme::bgv}) {
    const Parameters parameters = scheme == Scheme::ckks ? reals() : integers(scheme);
    const Session session(parameters, {.relinearization = true});
    const auto in = session.client.encrypt(session.client.encode(Integers{3, -2}), session.key);
    const auto square = session.server.multiply(in, in);
    EXPECT_EQ(square->size(), 3u);
    EXPECT_EQ(session.server.relinearize(square)->size(), 2u);
    // The operand is as it was.
    EXPECT_EQ(square->size(), 3u);
    expect_near(session.decrypted<double>(session.server.relinearize(session.server.add(square, square)), 2),
                {18, 8});
  }
}

TEST(HeirContext, AddsPlaintextsBeforeAndAfterRescaling) {
  const Session ckks(reals(), {.relinearization = true});
  const Doubles x = ramp();
  const auto in = ckks.client.encrypt(ckks.client.encode(x), ckks.key);
  // One plaintext meets three levels and scales.
  const Plaintext half = ckks.server.encode(Doubles{0.5, -0.25});
  const auto product = ckks.server.relinearize(ckks.server.multiply(in, in));
  EXPECT_EQ(product->meta.noise_scale_degree, 2);
  const auto before = ckks.server.add(product, half);
  EXPECT_EQ(before->meta.level, product->meta.level);
  EXPECT_EQ(before->meta.noise_scale_degree, 2);
  // At the same level, with the scale of the input.
  const auto next = ckks.server.add(in, half);
  EXPECT_EQ(next->meta.level, product->meta.level);
  const auto sum = ckks.server.rescale(before);
  const auto difference = ckks.server.subtract(sum, half);
  const auto factor = ckks.server.rescale(ckks.server.multiply(difference, half));
  const auto negative = ckks.server.negate(ckks.server.subtract(factor, in));
  Doubles expected;
  for (std::size_t i = 0; i < x.size(); ++i)
    expected.push_back(x[i] - x[i] * x[i] * (i % 2 == 0 ? 0.5 : -0.25));
  expect_near(ckks.decrypted<double>(negative, 16), expected);
  expect_near(ckks.decrypted<double>(in, 16), x);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i] + (i % 2 == 0 ? 0.5 : -0.25);
  expect_near(ckks.decrypted<double>(next, 16), expected);
}

TEST(HeirContext, RescalesProductsAlone) {
  const Session ckks(reals(), {.relinearization = true});
  const auto in = ckks.client.encrypt(ckks.client.encode(ramp()), ckks.key);
  EXPECT_EQ(ckks.server.rescale(in), in);
  const auto product = ckks.server.relinearize(ckks.server.multiply(in, in));
  const auto rescaled = ckks.server.rescale(product);
  EXPECT_EQ(rescaled->meta.level + 1, product->meta.level);
  EXPECT_EQ(ckks.server.rescale(rescaled), rescaled);
  const Session exact(integers(Scheme::bgv), {});
  const auto integer = exact.client.encrypt(exact.client.encode(Integers{1}), exact.key);
  EXPECT_EQ(exact.server.rescale(integer), integer);
}

TEST(HeirContext, EvaluatesChebyshevSeries) {
  const Session ckks(reals(16, 4), {.relinearization = true});
  const Doubles x = ramp(), coefficients = {0.25, 0.5, 0, -0.75, 0.125};
  const auto in = ckks.client.encrypt(ckks.client.encode(x), ckks.key);
  const auto series = [&](double t) {
    double sum = 0;
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      sum += coefficients[k] * std::cos(static_cast<double>(k) * std::acos(t));
    }
    return sum;
  };
  Doubles expected, mapped;
  for (const double value : x) expected.push_back(series(value));
  for (const double value : x) mapped.push_back(series(value / 2));
  expect_near(ckks.decrypted<double>(ckks.server.chebyshev(in, coefficients), 16), expected);
  expect_near(ckks.decrypted<double>(ckks.server.chebyshev(in, coefficients, -2, 2), 16), mapped);
  const Session exact(integers(Scheme::bfv), {.relinearization = true});
  const auto integer = exact.client.encrypt(exact.client.encode(Integers{1}), exact.key);
  EXPECT_THROW((void)exact.server.chebyshev(integer, coefficients), MismatchError);
}

TEST(HeirContext, TakesKeysThatWereMadeElsewhere) {
  const Session ckks(reals(), {.relinearization = true, .rotations = {1}});
  // The server's context holds what `with_keys` of a client's keys has, and no secret.
  const CryptoContext server = ckks.client.with_keys(rlwe::EvaluationKeys(ckks.server.keys()));
  const auto in = ckks.client.encrypt(ckks.client.encode(ramp()), ckks.key);
  expect_near(ckks.decrypted<double>(server.rotate(in, 1), 2), {-0.4, -0.3});
  const CryptoContext other{reals(32)};
  EXPECT_THROW((void)other.with_keys(rlwe::EvaluationKeys(ckks.server.keys())).add(in, in), MismatchError);
}

TEST(HeirContext, IsUsedByManyThreads) {
  const Session ckks(reals(), {.relinearization = true, .rotations = {1}});
  const Plaintext half = ckks.server.encode(Doubles{0.5});
  std::vector<std::thread> threads;
  std::vector<Doubles> found(4);
  for (std::size_t k = 0; k < found.size(); ++k) {
    threads.emplace_back([&, k] {
      const auto in = ckks.client.encrypt(ckks.client.encode(Doubles{static_cast<double>(k)}), ckks.key);
      found[k] = ckks.decrypted<double>(ckks.server.rotate(ckks.server.multiply(in, half), 1), 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k][0], 0.5 * static_cast<double>(k), 1e-6);
}

TEST(HeirParameters, FollowTheProgram) {
  Parameters program;
  program.depth = 4;
  program.slots = 2048;
  program.scale_bits = 45;
  program.first_bits = 60;
  const rlwe::Parameters parameters = parameters_for(program);
  EXPECT_EQ(parameters.scheme(), Scheme::ckks);
  EXPECT_EQ(parameters.highest_user_level(), 4u);
  EXPECT_GE(parameters.max_slots(), 2048u);
  EXPECT_GE(rlwe::bits(parameters.security()), 128);
  EXPECT_NEAR(std::log2(parameters.scale()), 45, 0.01);
  // The last base: scale and range, and the bits that Hemera spares for ranges from 12 bits on.
  EXPECT_NEAR(parameters.log_modulus(0), 60 + ckks::spare_bits, 1.5);
  program.first_bits = 50;
  EXPECT_NEAR(parameters_for(program).log_modulus(0), 50, 1.5);
  Parameters exact = integers(Scheme::bfv, 4096);
  EXPECT_EQ(parameters_for(exact).plain_modulus(), 65537u);
  // 4096 values in each of the two rows.
  EXPECT_GE(parameters_for(exact).max_slots(), 8192u);
  exact.plain_modulus = 65539;
  EXPECT_THROW((void)parameters_for(exact), ParameterError);
  program.bootstrap = "no-such-preset";
  EXPECT_THROW((void)parameters_for(program), ParameterError);
}

TEST(HeirConstants, RepeatAndRun) {
  EXPECT_EQ(repeated<int>(7, {1, 2, 3}), (std::vector<int>{1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(repeated_rows<int>(4, {{1, 2}, {3, 4, 5}}), (std::vector<int>{1, 2, 1, 2, 3, 4, 5, 3}));
  EXPECT_EQ(runs<float>({{2, 1.5F}, {0, 9}, {3, -1}}), (std::vector<float>{1.5F, 1.5F, -1, -1, -1}));
  EXPECT_EQ(runs<bool>({{1, true}, {2, false}}), (std::vector<bool>{true, false, false}));
}

TEST(HeirConstants, ComeFromFiles) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "hemera_heir_constants.bin";
  const std::vector<std::int32_t> numbers = {1, -2, 300000};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 4));
  EXPECT_EQ(load_resource<std::int32_t>(path.string(), 3), numbers);
  EXPECT_EQ(load_resource<bool>(path.string(), 3), (std::vector<bool>{true, false, false}));
  EXPECT_THROW((void)load_resource<std::int32_t>(path.string(), 4), FormatError);
  std::filesystem::remove(path);
  EXPECT_THROW((void)load_resource<bool>(path.string(), 1), FormatError);
}

}  // namespace
}  // namespace hemera::heir
