// Values, scales and files beyond doubles, against wide floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "hemera/io/container.hpp"
#include "hemera/io/describe.hpp"
#include "hemera/io/file.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

using Real =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>, boost::multiprecision::et_off>;

// Rows of numbers as pairs of doubles.
struct Rows {
  std::vector<double> values, rests;
  bool is_complex = false;
  std::size_t count = 0;

  Rows(std::size_t rows, std::size_t numbers, bool complex)
      : values(rows * numbers * (complex ? 2 : 1)),
        rests(values.size()),
        is_complex(complex),
        count(numbers) {}
  static Rows random(std::size_t rows, std::size_t numbers, bool complex, std::uint64_t seed) {
    Rows result(rows, numbers, complex);
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& value : result.values) value = uniform(generator);
    for (double& rest : result.rests) rest = std::ldexp(uniform(generator), -54);
    return result;
  }
  [[nodiscard]] HostRows<const double> given() const { return {values, is_complex, count}; }
  [[nodiscard]] HostRows<double> room() { return {values, is_complex, count}; }
  [[nodiscard]] Real number(std::size_t i) const { return Real(values[i]) + Real(rests[i]); }
};

rlwe::Plaintext encode(const Encoder& encoder, const Rows& rows, std::size_t slots,
                       const rlwe::BatchShape& batch = {}) {
  return encoder.encode(rows.given(), rows.rests, slots, batch);
}

Rows decoded(const Session& session, const Ciphertext& ciphertext, std::size_t count, bool complex) {
  Rows result(rlwe::batch_count(ciphertext.meta.batch), count, complex);
  session.encoder->decode(result.room(), result.rests, decrypt(ciphertext, session.secret));
  return result;
}

// log2 of the largest |found - expected(i)|.
template <typename Expected>
double largest_error(const Rows& found, const Expected& expected) {
  Real largest = 0;
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    largest = std::max(largest, Real(abs(found.number(i) - expected(i))));
  }
  return std::log2(static_cast<double>(largest) + 0x1p-200);
}

TEST(PreciseValues, ComeBackBeyondDoubles) {
  const Session session(small_parameters(2, 0, 90));
  for (const bool complex : {false, true}) {
    for (const auto& [rows, slots, count] :
         {std::tuple(1U, 512U, 512U), std::tuple(3U, 64U, 33U), std::tuple(2U, 1U, 1U)}) {
      const Rows given = Rows::random(rows, count, complex, slots);
      const rlwe::Plaintext plaintext = encode(*session.encoder, given, slots, {rows});
      EXPECT_EQ(plaintext.meta.slots, slots);
      Rows found(rows, count, complex);
      session.encoder->decode(found.room(), found.rests, plaintext);
      EXPECT_LT(largest_error(found, [&](std::size_t i) { return given.number(i); }), -82) << slots;
      // Encrypted at 2^90: the noise of an encryption is some 2^14 of a unit in a slot.
      const Rows decrypted = decoded(session, encrypt(plaintext, *session.keys.public_key), count, complex);
      EXPECT_LT(largest_error(decrypted, [&](std::size_t i) { return given.number(i); }), -70) << slots;
      // Doubles say the same as far as they go, and what they leave is below half a unit of their last bit.
      const Values doubles = session.encoder->decode(plaintext);
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t at = (row * count + i) * (complex ? 2 : 1);
          EXPECT_NEAR(doubles[row * slots + i].real(), found.values[at], 0x1p-50);
          EXPECT_LE(std::abs(found.rests[at]), 0x1p-53 * std::abs(found.values[at]));
        }
      }
    }
  }
}

// Coefficients of more bits than pairs of doubles have, as of terms of products that wait for their rescale.
TEST(PreciseValues, AreEncodedAtLargeScales) {
  const Session session(small_parameters(2, 0, 90));
  const Rows given = Rows::random(1, 512, true, 4);
  const rlwe::Plaintext plaintext =
      session.encoder->encode(given.given(), given.rests, 512, {}, 2, rlwe::Scale(0x1p180));
  Rows found(1, 512, true);
  session.encoder->decode(found.room(), found.rests, plaintext);
  EXPECT_LT(largest_error(found, [&](std::size_t i) { return given.number(i); }), -94);
}

// Differences of 2^-70 beside 1.
TEST(PreciseValues, SeeBitsThatDoublesLose) {
  const Session session(small_parameters(1, 0, 90));
  Rows given(1, 512, false);
  for (std::size_t i = 0; i < 512; ++i) {
    given.values[i] = 1;
    given.rests[i] = (i % 2 == 0 ? 0x1p-70 : -0x1p-70);
  }
  const rlwe::Plaintext plaintext = encode(*session.encoder, given, 512);
  for (const Complex& value : session.encoder->decode(plaintext)) EXPECT_NEAR(value.real(), 1, 0x1p-52);
  Rows found(1, 512, false);
  session.encoder->decode(found.room(), found.rests, plaintext);
  for (std::size_t i = 0; i < 512; ++i) EXPECT_NEAR(found.rests[i], given.rests[i], 0x1p-78) << i;
}

// Products, rescales, levels and sums keep exact scales: doubles of them leave 2^-53 of every value, and more
// after each square.
TEST(PreciseValues, KeepTheirBitsThroughProducts) {
  const Session session(small_parameters(3, 0, 90));
  const Evaluator& evaluator = *session.evaluator;
  const Rows given = Rows::random(1, 512, false, 5);
  const Ciphertext x = encrypt(encode(*session.encoder, given, 512), *session.keys.public_key);
  const Ciphertext square = evaluator.multiply(x, x);
  const Ciphertext low = evaluator.multiply(square, square);
  Ciphertext fourth = evaluator.rescale(low);
  const auto power = [&](std::size_t i, int n) { return Real(pow(given.number(i), n)); };
  EXPECT_LT(largest_error(decoded(session, square, 512, false), [&](std::size_t i) { return power(i, 2); }),
            -66);
  EXPECT_LT(largest_error(decoded(session, fourth, 512, false), [&](std::size_t i) { return power(i, 4); }),
            -66);
  EXPECT_NE(fourth.meta.scale.rest(), 0);
  // x comes down to the exact scale of the product that it is added to.
  const Ciphertext sum = evaluator.add(fourth, x);
  EXPECT_LT(largest_error(decoded(session, sum, 512, false),
                          [&](std::size_t i) { return Real(power(i, 4) + given.number(i)); }),
            -66);
  // A number is added at the exact scale.
  Ciphertext shifted = evaluator.add_scalar(fourth, 0.3);
  EXPECT_LT(largest_error(decoded(session, shifted, 512, false),
                          [&](std::size_t i) { return Real(power(i, 4) + Real(0.3)); }),
            -66);
  // Two levels at once.
  Ciphertext dropped = x.clone();
  evaluator.adjust_to_level_inplace(dropped, 1);
  EXPECT_LT(
      largest_error(decoded(session, dropped, 512, false), [&](std::size_t i) { return given.number(i); }),
      -66);
  // The double beside it is what it was: that of the level.
  EXPECT_EQ(double{dropped.meta.scale}, session.context->scales().level_scale(1));
}

// An operand at the exact scale of a ciphertext.
TEST(PreciseValues, AreAddedAtTheExactScale) {
  const Session session(small_parameters(2, 0, 90));
  const Evaluator& evaluator = *session.evaluator;
  const Rows given = Rows::random(1, 512, false, 6);
  const Ciphertext x = encrypt(encode(*session.encoder, given, 512), *session.keys.public_key);
  Ciphertext square = evaluator.rescale(evaluator.multiply(x, x));
  const rlwe::PlainOperand operand = session.context->scales().operand_of_sum(square.meta);
  EXPECT_EQ(operand.scale.rest(), square.meta.scale.rest());
  evaluator.add_plain_inplace(
      square, session.encoder->encode(given.given(), given.rests, 512, {}, operand.level, operand.scale));
  EXPECT_LT(largest_error(decoded(session, square, 512, false),
                          [&](std::size_t i) { return Real(given.number(i) * (given.number(i) + 1)); }),
            -66);
}

TEST(PreciseValues, GoThroughFiles) {
  const Session session(small_parameters(2, 0, 90));
  const Rows given = Rows::random(1, 512, false, 7);
  const Ciphertext x = encrypt(encode(*session.encoder, given, 512), *session.keys.public_key);
  const Ciphertext square = session.evaluator->rescale(session.evaluator->multiply(x, x));
  ASSERT_NE(square.meta.scale.rest(), 0);
  const std::vector<std::byte> file = io::save(square);
  EXPECT_EQ(io::describe(file).version, io::sixth_format);
  const Ciphertext loaded = io::load_ciphertext(session.context, file);
  EXPECT_EQ(double{loaded.meta.scale}, double{square.meta.scale});
  EXPECT_EQ(loaded.meta.scale.rest(), square.meta.scale.rest());
  EXPECT_EQ(io::save(loaded), file);
  // What earlier versions can express is written in them: fresh, and of scales that doubles tell.
  EXPECT_EQ(io::describe(io::save(x)).version, io::first_format);
  const Session usual(small_parameters(2));
  const Ciphertext y = usual.encrypt(random_values(512, 1));
  const Ciphertext product = usual.evaluator->rescale(usual.evaluator->multiply(y, y));
  EXPECT_EQ(product.meta.scale.rest(), 0);
  EXPECT_EQ(io::describe(io::save(product)).version, io::first_format);
  // Not yet rescaled it has a scale of 80 bits, of which nobody wants more than 40.
  EXPECT_EQ(usual.evaluator->multiply(y, y).meta.scale.rest(), 0);
}

// The nearest doubles of integers over a scale that is no power of two, up to both ends of a level.
TEST(Coefficients, ComeBackAsTheNearestDoubles) {
  const Session session(parameters_for({.depth = 2, .slots = 512, .degree = 1024, .security = {}}));
  const Encoder& encoder = *session.encoder;
  const double scale = 0x1p30 / 3;
  for (const std::size_t level : {0, 2}) {
    const double half = std::exp2(session.context->base(level).log2() - 1);
    const auto end = static_cast<std::int64_t>(std::min(half * (1 - 0x1p-50), 0x1p61));
    const std::vector<std::int64_t> integers = {end, -end, 0, -1, 5, 1, -end + 1, end - 1};
    const rlwe::Plaintext plain = encoder.encode_coefficients(integers, 4, {2}, level, scale);
    std::vector<double> found(2 * 1024);
    encoder.decode_coefficients(found, plain);
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t k = 0; k < 1024; ++k) {
        const Real wanted = k < 4 ? Real(integers[4 * row + k]) / Real(scale) : Real(0);
        EXPECT_EQ(found[1024 * row + k], static_cast<double>(wanted)) << level << " " << row << " " << k;
      }
    }
    EXPECT_TRUE(encoder.decode_certain_coefficients(found, plain).empty());
    EXPECT_THROW(encoder.decode_coefficients(std::span(found).first(2047), plain), MismatchError);
  }
}

TEST(Coefficients, AreInDoubtBehindAnotherKey) {
  const Session session(parameters_for({.depth = 1, .slots = 512, .degree = 1024, .security = {}}));
  const std::vector<std::int64_t> integers = {1, 2};
  const rlwe::Plaintext plain = session.encoder->encode_coefficients(integers, 1, {2}, 1, 0x1p20);
  const Ciphertext x = encrypt(plain, session.secret);
  const rlwe::SecretKey other = rlwe::generate_secret_key(session.context);
  std::vector<double> found(2 * 1024);
  session.encoder->decode_coefficients(found, decrypt(x, session.secret));
  EXPECT_NEAR(found[0] * 0x1p20, 1, 64);
  EXPECT_EQ(session.encoder->decode_certain_coefficients(found, decrypt(x, other)),
            (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(std::ranges::all_of(found, [](double each) { return std::isnan(each); }));
  EXPECT_THROW(session.encoder->decode_coefficients(found, decrypt(x, other)), NoiseError);
}

TEST(PreciseValues, AreRefusedWhereTheyCanNotBe) {
  const Session session(small_parameters(2, 0, 90));
  const Encoder& encoder = *session.encoder;
  Rows rows = Rows::random(1, 4, false, 8);
  const auto refused = [&](const char* words) {
    tests::expect_error<ParameterError>([&] { return encode(encoder, rows, 4); }, {words});
  };
  rows.rests[1] = 0x1p-40;  // a digit of the number, and no rest
  refused("what doubles leave");
  rows.rests[1] = std::nan("");
  refused("finite");
  rows.rests[1] = 0;
  rows.values[2] = HUGE_VAL;
  refused("finite");
  rows.values[2] = 0.5;
  EXPECT_NO_THROW(static_cast<void>(encode(encoder, rows, 4)));
  EXPECT_THROW(static_cast<void>(encoder.encode(rows.given(), std::span(rows.rests).first(3), 4, {})),
               MismatchError);
  EXPECT_THROW(static_cast<void>(encoder.encode(rows.given(), rows.rests, 2, {})), MismatchError);
  const rlwe::Plaintext plaintext = encode(encoder, rows, 4);
  EXPECT_THROW(encoder.decode(rows.room(), std::span(rows.rests).first(3), plaintext), MismatchError);
  // Slots of SEAL's.
  rlwe::ParametersLiteral literal = small_parameters(1).literal();
  literal.galois_generator = 3;
  const Encoder other(tests::make_context(rlwe::Parameters(literal)));
  EXPECT_THROW(static_cast<void>(encode(other, rows, 4)), ParameterError);
}

// As decoding to doubles: the others of a batch are right.
TEST(PreciseValues, AreInDoubtBehindAnotherKey) {
  const Session session(small_parameters(2, 0, 90));
  const Rows given = Rows::random(2, 512, false, 9);
  const rlwe::Plaintext plaintext = encode(*session.encoder, given, 512, {2});
  const rlwe::SecretKey other = rlwe::generate_secret_key(session.context);
  const rlwe::Plaintext wrong = decrypt(encrypt(plaintext, *session.keys.public_key), other);
  Rows found(2, 512, false);
  EXPECT_EQ(session.encoder->decode_certain(found.room(), found.rests, wrong),
            (std::vector<std::size_t>{0, 1}));
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    EXPECT_TRUE(std::isnan(found.values[i]) && std::isnan(found.rests[i])) << i;
  }
  EXPECT_THROW(session.encoder->decode(found.room(), found.rests, wrong), NoiseError);
}

}  // namespace
}  // namespace hemera::ckks
