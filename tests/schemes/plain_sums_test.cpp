// CKKS: sums with plaintexts of other levels and scales, next to plain arithmetic; and texts of errors that
// name the way out.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hemera/hemera.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;

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
  EXPECT_NE(text_of(2).find("[2]"), std::string::npos) << text_of(2);
  EXPECT_EQ(text_of(2).find("or those of rotations"), std::string::npos) << text_of(2);
  EXPECT_NE(text_of(3).find("or those of rotations"), std::string::npos) << text_of(3);
  const auto bytes = io::save(keys);
  EXPECT_EQ(tests::refusal<MismatchError>([&] { return io::load_secret_key(context, bytes); }),
            "the file holds evaluation keys where a secret key was expected");
  const auto key = io::save(secret);
  EXPECT_EQ(tests::refusal<MismatchError>([&] { return io::load_evaluation_keys(context, key); }),
            "the file holds a secret key where evaluation keys were expected");
}

}  // namespace
}  // namespace hemera
