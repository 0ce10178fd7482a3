// Numbers and plaintexts among ciphertexts, however they are given: the judge is plain arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hemera/hemera.hpp"
#include "hemera/rlwe/scalar.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using rlwe::Scalar;

constexpr std::int64_t t = 65537;

class IntegerScalars : public ::testing::TestWithParam<rlwe::Scheme> {
 protected:
  static rlwe::Parameters parameters() {
    const integer::CircuitRequest request{
        .depth = 2, .plain_modulus = t, .slots = 4, .degree = 1024, .security = {}};
    return GetParam() == rlwe::Scheme::bfv ? bfv::parameters_for(request) : bgv::parameters_for(request);
  }
  rlwe::ContextPointer context_ = rlwe::Context::make(parameters(), {}, {.threads = 1});
  rlwe::SecretKey secret_ = rlwe::generate_secret_key(context_);
  rlwe::EvaluationKeys keys_ = rlwe::generate_keys(secret_, {});
  std::unique_ptr<rlwe::Evaluator> evaluator_ = any_scheme::make_evaluator(context_, keys_);
  integer::Encoder encoder_{context_};
  Ciphertext x_ = any_scheme::encrypt(encoder_.encode(std::vector<std::int64_t>{7, -3, 0}), keys_);

  std::vector<std::int64_t> opened(const Ciphertext& y) const {
    auto values = encoder_.decode(any_scheme::decrypt(y, secret_));
    values.resize(3);
    return values;
  }
};

TEST_P(IntegerScalars, MeanTheSameNumberHoweverItIsGiven) {
  const std::vector<std::int64_t> sum{12, 2, 5}, product{35, -15, 0};
  Ciphertext y = x_.clone();
  evaluator_->add_scalar_inplace(y, {5});
  EXPECT_EQ(opened(y), sum);
  y = x_.clone();
  evaluator_->multiply_scalar_inplace(y, {5});
  EXPECT_EQ(opened(y), product);
  const std::vector<Scalar> fives{5,   5U,   5L,   std::uint8_t{5},   std::uint64_t{5}, std::int64_t{5 - t},
                                  5.0, 5.0F, 5.0L, std::complex(5.0), {5, 0},           {5.0, 0.0}};
  for (const Scalar& five : fives) {
    EXPECT_EQ(opened(evaluator_->add_scalar(x_, five)), sum);
    EXPECT_EQ(opened(evaluator_->multiply_scalar(x_, five)), product);
  }
}

// Modulo t, up to the last numbers that 64 bits hold.
TEST_P(IntegerScalars, AreTakenModuloThePlaintextModulus) {
  const auto reduced = [](std::int64_t n, std::int64_t value) {
    const auto wide = static_cast<__int128_t>(n) + value;
    auto rest = static_cast<std::int64_t>(wide % t);
    if (rest < 0) rest += t;
    return rest > t / 2 ? rest - t : rest;
  };
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t n : {least, least + 1, -t, -t / 2, std::int64_t{0}, t / 2, t - 1, t, t + 1, most}) {
    const std::vector<std::int64_t> expected{reduced(n, 7), reduced(n, -3), reduced(n, 0)};
    EXPECT_EQ(opened(evaluator_->add_scalar(x_, n)), expected) << n;
  }
  // The last doubles on both sides.
  EXPECT_EQ(opened(evaluator_->add_scalar(x_, -0x1p63))[2], reduced(least, 0));
  const double below = std::nextafter(0x1p63, 0);
  EXPECT_EQ(opened(evaluator_->add_scalar(x_, below))[2], reduced(static_cast<std::int64_t>(below), 0));
}

TEST_P(IntegerScalars, RefuseWhatIsNoWholeNumber) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<Scalar> refused{0.5,
                                    -2.5,
                                    std::nextafter(5.0, 6.0),
                                    0x1p63,
                                    std::nextafter(-0x1p63, -infinite),
                                    infinite,
                                    -infinite,
                                    std::nan(""),
                                    std::complex(5.0, 1.0),
                                    {5, 1},
                                    {5, std::nan("")}};
  for (const Scalar& number : refused) {
    for (const bool adds : {true, false}) {
      Ciphertext y = x_.clone();
      tests::expect_error<ParameterError>(
          [&] {
            adds ? evaluator_->add_scalar_inplace(y, number) : evaluator_->multiply_scalar_inplace(y, number);
            return 0;
          },
          {adds ? "add_scalar" : "multiply_scalar", "whole numbers", "CKKS"});
      EXPECT_EQ(opened(y), opened(x_));
    }
  }
  EXPECT_THROW(Scalar(std::uint64_t{1} << 63), ParameterError);
  EXPECT_NO_THROW(Scalar((std::uint64_t{1} << 63) - 1));
}

// Numbers of the result's own kind decide nothing: text becomes none, and no number is made of nothing.
static_assert(!std::is_constructible_v<Scalar, const char*>);
static_assert(!std::is_constructible_v<Scalar, std::nullptr_t>);
static_assert(!std::is_default_constructible_v<Scalar>);

INSTANTIATE_TEST_SUITE_P(Schemes, IntegerScalars, ::testing::Values(rlwe::Scheme::bfv, rlwe::Scheme::bgv));

TEST(CkksScalars, MeanTheSameNumberHoweverTheyAreGiven) {
  const auto context = rlwe::Context::make(
      ckks::parameters_for({.depth = 2, .slots = 2, .degree = 1024, .security = {}}), {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  const ckks::Evaluator evaluator(context, keys);
  const ckks::Encoder encoder(context);
  using Complex = std::complex<double>;
  const std::vector<Complex> values{{0.25, 0.5}, {-0.75, 0}};
  const Ciphertext x = ckks::encrypt(encoder.encode(values), keys);
  struct Case {
    Scalar number;
    Complex value;
  };
  for (const auto& [number, value] :
       {Case{3, 3.0}, Case{3U, 3.0}, Case{3.0F, 3.0}, Case{0.5, 0.5}, Case{-0.125L, -0.125},
        Case{{1, 2}, {1, 2}}, Case{{0.5, -0.25}, {0.5, -0.25}}, Case{Complex(0, 1), {0, 1}},
        Case{true, 1.0}}) {
    EXPECT_EQ(number.value(), value);
    const auto sum = encoder.decode(ckks::decrypt(evaluator.add_scalar(x, number), secret));
    const auto product = encoder.decode(ckks::decrypt(evaluator.multiply_scalar(x, number), secret));
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_LT(std::abs(sum[i] - (values[i] + value)), 1e-6) << value;
      EXPECT_LT(std::abs(product[i] - values[i] * value), 1e-5) << value;
    }
  }
}

class PlainSums : public ::testing::Test {
 protected:
  rlwe::ContextPointer context_ = rlwe::Context::make(
      ckks::parameters_for({.depth = 3, .slots = 4, .degree = 1024, .security = {}}), {}, {.threads = 1});
  rlwe::SecretKey secret_ = rlwe::generate_secret_key(context_);
  rlwe::EvaluationKeys keys_ = rlwe::generate_keys(secret_, {});
  ckks::Evaluator evaluator_{context_, keys_};
  ckks::Encoder encoder_{context_};
  std::vector<double> values_{0.5, -0.75, 0.25, 1};
  std::vector<double> terms_{2, -1, 0.125, 3};
  Ciphertext x_ = ckks::encrypt(encoder_.encode(values_), keys_);
  std::size_t top_ = context_->parameters().highest_user_level();

  // Checks x^power + terms and x^power - terms.
  void expect_sums(const Ciphertext& power_of_x, int power, const rlwe::Plaintext& terms) {
    const auto sum = encoder_.decode_real(ckks::decrypt(evaluator_.add_plain(power_of_x, terms), secret_));
    const auto difference =
        encoder_.decode_real(ckks::decrypt(evaluator_.subtract_plain(power_of_x, terms), secret_));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      EXPECT_NEAR(sum[i], std::pow(values_[i], power) + terms_[i], 1e-6);
      EXPECT_NEAR(difference[i], std::pow(values_[i], power) - terms_[i], 1e-6);
    }
  }
};

TEST_F(PlainSums, OfProductsThatWaitForTheirRescale) {
  const Ciphertext square = evaluator_.square(x_);
  EXPECT_GT(square.meta.noise_scale_degree, 1);
  expect_sums(square, 2, encoder_.encode(terms_));
  expect_sums(square, 2, encoder_.encode(terms_, {}, square.meta.level, square.meta.scale));
  const Ciphertext fourth = evaluator_.square(square);
  for (std::size_t level = fourth.meta.level; level <= top_; ++level) {
    expect_sums(fourth, 4, encoder_.encode(terms_, {}, level));
  }
  // What is computed from the sum is right, too.
  const Ciphertext sum = evaluator_.add_plain(square, encoder_.encode(terms_));
  const auto found = encoder_.decode_real(ckks::decrypt(evaluator_.square(sum), secret_));
  for (std::size_t i = 0; i < values_.size(); ++i) {
    EXPECT_NEAR(found[i], std::pow(values_[i] * values_[i] + terms_[i], 2), 1e-5);
  }
}

TEST_F(PlainSums, OfOtherScalesAreRefusedWithTheWay) {
  for (const double away : {1 + 0x1p-30, 1 - 0x1p-30, 1.5, 0.75, 2.5, 1e-3}) {
    const rlwe::Plaintext plain = encoder_.encode(terms_, {}, top_, x_.meta.scale / away);
    const double ratio = x_.meta.scale / plain.meta.scale;
    tests::expect_error<ScaleError>([&] { return evaluator_.add_plain(x_, plain); },
                                    {"encode(values, {}, y.meta.level, y.meta.scale)", "rescale"});
    EXPECT_NE(ratio, std::round(ratio));
  }
  // An integer times the scale is brought together; a fraction of it is not.
  expect_sums(x_, 1, encoder_.encode(terms_, {}, top_, x_.meta.scale / 1024));
  EXPECT_THROW(
      static_cast<void>(evaluator_.add_plain(x_, encoder_.encode(terms_, {}, top_, x_.meta.scale * 2))),
      ScaleError);
  // The way that the text names.
  const Ciphertext y = evaluator_.rescale(evaluator_.square(x_));
  expect_sums(y, 2, encoder_.encode(terms_, {}, y.meta.level, y.meta.scale));
}

TEST_F(PlainSums, RealNumbersAreEncodedInRows) {
  // Three of each row become four slots, the last one 0.
  const std::vector<double> rows{1, 2, 3, -4, -5, -6};
  const rlwe::Plaintext plain = encoder_.encode(rows, {2});
  EXPECT_EQ(plain.meta.slots, 4U);
  const auto found = encoder_.decode_real(plain);
  const std::vector<double> expected{1, 2, 3, 0, -4, -5, -6, 0};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-9);
  for (const rlwe::BatchShape& batch : {rlwe::BatchShape{4}, {0}, {7}}) {
    EXPECT_THROW(static_cast<void>(encoder_.encode(rows, batch)), ParameterError);
  }
  EXPECT_THROW(static_cast<void>(encoder_.encode(std::vector<double>{})), ParameterError);
}

TEST(ErrorTexts, NameTheWayOut) {
  for (const int wanted : {0, 64, 100, 127, 129, 191, 257}) {
    const std::vector<std::string> classes{"128, 192, 256", std::to_string(wanted)};
    tests::expect_error<ParameterError>([&] { return ckks::parameters_for({.security = wanted}); }, classes);
    tests::expect_error<ParameterError>([&] { return bfv::parameters_for({.security = wanted}); }, classes);
    tests::expect_error<ParameterError>([&] { return bgv::parameters_for({.security = wanted}); }, classes);
  }
  for (const int wanted : {128, 192, 256}) {
    EXPECT_NO_THROW(static_cast<void>(ckks::parameters_for({.security = wanted})));
  }
  const auto context = rlwe::Context::make(bfv::parameters_for({.slots = 64, .degree = 1024, .security = {}}),
                                           {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  const bfv::Evaluator evaluator(context, keys);
  const Ciphertext x = bfv::encrypt(bfv::Encoder(context).encode(std::vector<std::int64_t>(64, 1)), secret);
  const auto text_of = [&](std::int64_t steps) {
    return tests::refusal<MissingKeyError>([&] { return evaluator.rotate(x, steps); });
  };
  // A power of two is the sum of itself alone: nothing else is named.
  EXPECT_TRUE(tests::says(text_of(2), "[2]"));
  EXPECT_FALSE(tests::says(text_of(2), "or those of rotations"));
  EXPECT_TRUE(tests::says(text_of(3), "or those of rotations"));
  const auto bytes = io::save(keys);
  EXPECT_EQ(tests::refusal<MismatchError>([&] { return io::load_secret_key(context, bytes); }),
            "the file holds evaluation keys where a secret key was expected");
  const auto key = io::save(secret);
  EXPECT_EQ(tests::refusal<MismatchError>([&] { return io::load_evaluation_keys(context, key); }),
            "the file holds a secret key where evaluation keys were expected");
}

}  // namespace
}  // namespace hemera
