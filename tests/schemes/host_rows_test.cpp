// Rows of numbers in the host's memory: real ones have the bits of complex ones without imaginary parts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "host_words.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera {
namespace {

using ckks::Complex;

// The doubles that NumPy would hand over.
std::vector<double> doubles_of(const ckks::Values& values, bool is_complex) {
  std::vector<double> result;
  for (const Complex& value : values) {
    result.push_back(value.real());
    if (is_complex) result.push_back(value.imag());
  }
  return result;
}

ckks::Values numbers(std::size_t count, bool is_complex) {
  ckks::Values values = ckks::random_values(count, 9);
  if (!is_complex) {
    for (Complex& value : values) value = value.real();
  }
  return values;
}

// With zeros up to `slots` in each row.
ckks::Values padded(const ckks::Values& values, std::size_t count, std::size_t slots) {
  ckks::Values result(values.size() / count * slots);
  for (std::size_t i = 0; i < values.size(); ++i) result[i / count * slots + i % count] = values[i];
  return result;
}

ckks::HostRows<const double> rows_of(const std::vector<double>& doubles, bool is_complex, std::size_t count) {
  return {doubles, is_complex, count};
}

TEST(CkksHostRows, HaveTheBitsOfComplexValues) {
  const ckks::Session session(ckks::small_parameters(2));
  for (const std::size_t slots : {std::size_t{1}, std::size_t{8}, std::size_t{512}}) {
    for (const std::size_t count : {std::size_t{1}, slots - slots / 3, slots}) {
      for (const bool is_complex : {false, true}) {
        SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(slots));
        const ckks::Values values = numbers(3 * count, is_complex);
        const std::vector<double> doubles = doubles_of(values, is_complex);
        const auto found =
            session.encoder->encode(rows_of(doubles, is_complex, count), slots, {3}, 1, 0x1p35, 4);
        const auto expected = session.encoder->encode(padded(values, count, slots), {3}, 1, 0x1p35, 4);
        EXPECT_EQ(tests::host_words(*session.context, found.poly),
                  tests::host_words(*session.context, expected.poly));
        EXPECT_EQ(found.meta.batch, expected.meta.batch);
        EXPECT_EQ(found.meta.largest, 4);

        const ckks::Values all = session.encoder->decode(expected);
        for (const bool as_complex : {false, true}) {
          std::vector<double> room(3 * count * (as_complex ? 2 : 1), 77);
          session.encoder->decode({room, as_complex, count}, found);
          ckks::Values first;
          for (std::size_t i = 0; i < 3 * count; ++i) first.push_back(all[i / count * slots + i % count]);
          EXPECT_EQ(room, doubles_of(first, as_complex));
        }
      }
    }
  }
}

TEST(CkksHostRows, AreCheckedAsComplexValuesAre) {
  const ckks::Session session(ckks::small_parameters(2));
  const ckks::Encoder& encoder = *session.encoder;
  const auto encode = [&](const std::vector<double>& doubles, bool is_complex, double largest) {
    return encoder.encode(rows_of(doubles, is_complex, 4), 4, {}, {}, {}, largest);
  };
  // The magnitude of 3 + 4i is 5; each part alone is smaller.
  const std::vector<double> complex = {0, 0, 3, -4, 0, 1, 0, 0}, real = {0, 1, -5, 2};
  EXPECT_NO_THROW(encode(complex, true, 5));
  EXPECT_THROW(encode(complex, true, 4.99), ParameterError);
  EXPECT_NO_THROW(encode(real, false, 5));
  EXPECT_THROW(encode(real, false, 4.99), ParameterError);
  // Any place of a row, whose numbers are looked at four at a time.
  for (const bool is_complex : {false, true}) {
    for (std::size_t place = 0; place < 7; ++place) {
      for (const double wrong : {std::nan(""), -std::numeric_limits<double>::infinity(), 0x1p200}) {
        std::vector<double> row(is_complex ? 14 : 7, 0.5);
        row[is_complex ? 2 * place + 1 : place] = wrong;
        EXPECT_THROW(static_cast<void>(encoder.encode(rows_of(row, is_complex, 7), 8, {})), ParameterError);
      }
    }
  }
  const std::vector<double> seven(7), eight(8);
  EXPECT_THROW(static_cast<void>(encoder.encode(rows_of(eight, false, 8), 4, {})), MismatchError);
  EXPECT_THROW(static_cast<void>(encoder.encode(rows_of(seven, false, 4), 4, {2})), MismatchError);
  EXPECT_THROW(static_cast<void>(encoder.encode(rows_of(eight, false, 0), 8, {})), MismatchError);
  EXPECT_THROW(static_cast<void>(encoder.encode(rows_of(eight, true, 8), 8, {})), MismatchError);

  const auto plain = encoder.encode(rows_of(eight, false, 4), 4, {2});
  std::vector<double> room(16);
  EXPECT_NO_THROW(encoder.decode({room, true, 4}, plain));
  EXPECT_THROW(encoder.decode({room, false, 4}, plain), MismatchError);
  EXPECT_THROW(encoder.decode({room, false, 8}, plain), MismatchError);
  EXPECT_THROW(encoder.decode({{room.data(), 0}, false, 0}, plain), MismatchError);
}

// A row that wraps is named and NaN, the others are as they are; nothing beyond the rows is written.
TEST(CkksHostRows, AreNanWhereTheyAreInDoubt) {
  const ckks::Session session(
      ckks::parameters_for({.depth = 2, .slots = 512, .degree = 1024, .security = std::nullopt}));
  const rlwe::SecretKey other = rlwe::generate_secret_key(session.context);
  for (const std::size_t slots : {std::size_t{4}, std::size_t{512}}) {
    const ckks::Values values = numbers(2 * slots, false);
    const rlwe::Plaintext good = ckks::decrypt(session.encrypt(values, {2}), session.secret);
    const rlwe::Plaintext wrong = ckks::decrypt(session.encrypt(values, {2}), other);
    const ckks::Values expected = session.encoder->decode(good);
    for (const bool as_complex : {false, true}) {
      for (const std::size_t count : {std::size_t{3}, slots}) {
        std::vector<double> room(2 * count * (as_complex ? 2 : 1) + 1, 77);
        const ckks::HostRows<double> rows{std::span(room).first(room.size() - 1), as_complex, count};
        EXPECT_TRUE(session.encoder->decode_certain(rows, good).empty());
        EXPECT_EQ(room[0], expected[0].real());
        EXPECT_EQ(room.back(), 77);
        EXPECT_EQ(session.encoder->decode_certain(rows, wrong), (std::vector<std::size_t>{0, 1}));
        for (const double value : rows.doubles) EXPECT_TRUE(std::isnan(value));
        EXPECT_EQ(room.back(), 77);
        EXPECT_THROW(session.encoder->decode(rows, wrong), NoiseError);
      }
    }
  }
}

}  // namespace
}  // namespace hemera
