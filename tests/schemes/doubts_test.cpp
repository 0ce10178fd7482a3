// Decryptions that are not certain: which elements of a batch are named, and what is shown of the others.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"
#include "schemes/integer_support.hpp"

namespace hemera {
namespace {

// The elements of a batch whose bits are set, ascending.
std::vector<std::size_t> elements_of(std::size_t mask) {
  std::vector<std::size_t> elements;
  for (std::size_t i = 0; mask >> i != 0; ++i) {
    if ((mask >> i & 1) != 0) elements.push_back(i);
  }
  return elements;
}

template <typename S>
class IntegerDoubts : public ::testing::Test {};
using BothSchemes = ::testing::Types<testing::Bfv, testing::Bgv>;
TYPED_TEST_SUITE(IntegerDoubts, BothSchemes);

// Every set of rows of four: those are zeros and named, and the others are what was encrypted.
TYPED_TEST(IntegerDoubts, AreOfTheRowsThatAreSpentAndOfNoOther) {
  using S = TypeParam;
  const testing::Session<S> session(testing::test_chain<S>(65537, 2));
  for (const std::size_t count : {std::size_t{5}, session.degree()}) {
    for (const auto encoding : {rlwe::Encoding::slots, rlwe::Encoding::coefficients}) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(static_cast<int>(encoding)));
      std::vector<testing::Values> values;
      std::vector<rlwe::Ciphertext> good, spent;
      for (std::size_t row = 0; row < 4; ++row) {
        testing::Values& each = values.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i) each[i] = 1 + row + 4 * i;
        good.push_back(session.encrypt(each, {}, encoding));
        rlwe::Ciphertext x = good.back().clone();
        for (int i = 0; i < 20 && S::budget(x, session.secret) > 0; ++i) {
          session.evaluator.multiply_scalar_inplace(x, 30000);
        }
        session.evaluator.multiply_scalar_inplace(x, 30000);
        spent.push_back(std::move(x));
      }
      for (std::size_t mask = 0; mask < 16; ++mask) {
        std::vector<const rlwe::Ciphertext*> rows;
        std::vector<std::int64_t> expected;
        for (std::size_t row = 0; row < 4; ++row) {
          const bool is_spent = (mask >> row & 1) != 0;
          rows.push_back(is_spent ? &spent[row] : &good[row]);
          for (const std::uint64_t value : values[row]) {
            expected.push_back(is_spent ? 0 : static_cast<std::int64_t>(value));
          }
        }
        const rlwe::Plaintext plain = S::decrypt(rlwe::stack(rows), session.secret);
        for (const bool is_signed : {false, true}) {
          const auto decoded = session.encoder.decode_certain(plain, is_signed);
          EXPECT_EQ(decoded.doubtful, elements_of(mask)) << mask;
          EXPECT_EQ(decoded.values, expected) << mask;
          if (mask == 0) {
            EXPECT_EQ(session.encoder.decode(plain, is_signed), expected);
          } else {
            EXPECT_THROW(static_cast<void>(session.encoder.decode(plain, is_signed)), NoiseError) << mask;
          }
        }
        // Rows that are gathered keep their own doubt, in whatever order, number and repetition.
        for (const auto& indices : std::vector<std::vector<std::size_t>>{
                 {0}, {3}, {3, 2, 1, 0}, {2, 3}, {1, 1, 0}, {3, 0, 3, 2, 1, 1}}) {
          std::vector<std::size_t> doubtful;
          std::vector<std::int64_t> gathered;
          for (std::size_t i = 0; i < indices.size(); ++i) {
            if ((mask >> indices[i] & 1) != 0) doubtful.push_back(i);
            const auto row = std::span(expected).subspan(indices[i] * count, count);
            gathered.insert(gathered.end(), row.begin(), row.end());
          }
          const auto decoded =
              session.encoder.decode_certain(rlwe::gather(plain, indices, {indices.size()}), true);
          EXPECT_EQ(decoded.doubtful, doubtful) << mask << " " << indices.size();
          EXPECT_EQ(decoded.values, gathered) << mask << " " << indices.size();
        }
      }
    }
  }
}

rlwe::Parameters ckks_parameters(std::optional<int> range_bits = std::nullopt) {
  return ckks::parameters_for(
      {.depth = 2, .slots = 512, .range_bits = range_bits, .degree = 1024, .security = std::nullopt});
}

// A constant row has one coefficient that is not small: 1.5 million is above a quarter of 2^22.
TEST(CkksDoubts, AreOfTheRowsThatWrapAndOfNoOther) {
  const ckks::Session session(ckks_parameters());
  const std::size_t top = session.context->parameters().highest_user_level();
  for (const std::size_t slots : {std::size_t{1}, std::size_t{4}, std::size_t{512}}) {
    for (std::size_t mask = 0; mask < 16; ++mask) {
      SCOPED_TRACE(std::to_string(slots) + " " + std::to_string(mask));
      ckks::Values values;
      for (std::size_t row = 0; row < 4; ++row) {
        const ckks::Complex value(static_cast<double>(row) + 1, -2);
        values.insert(values.end(), slots, (mask >> row & 1) != 0 ? 1500000 : value);
      }
      rlwe::Ciphertext x = ckks::encrypt(session.encoder->encode(values, {4}, top), *session.keys.public_key);
      session.evaluator->adjust_to_level_inplace(x, 0);
      const rlwe::Plaintext plain = ckks::decrypt(x, session.secret);
      const auto decoded = session.encoder->decode_certain(plain);
      EXPECT_EQ(decoded.doubtful, elements_of(mask));
      ASSERT_EQ(decoded.values.size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if ((mask >> (i / slots) & 1) != 0) {
          ASSERT_TRUE(std::isnan(decoded.values[i].real()) && std::isnan(decoded.values[i].imag())) << i;
        } else {
          ASSERT_LT(std::abs(decoded.values[i] - values[i]), 1e-4) << i;
        }
      }
      if (mask == 0) {
        EXPECT_NO_THROW(static_cast<void>(session.encoder->decode(plain)));
      } else {
        EXPECT_THROW(static_cast<void>(session.encoder->decode(plain)), NoiseError);
      }
    }
  }
}

// What another key opens is anything: at every level, however few slots there are, and in every row. Once for
// parameters whose spare bits tell, and once for those that have none.
TEST(CkksDoubts, TellAnotherSecretKeyForAnyNumberOfSlots) {
  for (const auto& range_bits : {std::optional<int>(), std::optional<int>(10)}) {
    const ckks::Session session(ckks_parameters(range_bits));
    ASSERT_EQ(ckks::checks_range(session.context->parameters()), !range_bits.has_value());
    const rlwe::SecretKey other = rlwe::generate_secret_key(session.context);
    for (std::size_t slots = 1; slots <= 512; slots *= 8) {
      const ckks::Values values = ckks::random_values(2 * slots, slots);
      const rlwe::Ciphertext top = session.encrypt(values, {2});
      for (std::size_t level = 0; level <= top.meta.level; ++level) {
        SCOPED_TRACE(std::to_string(slots) + " " + std::to_string(level));
        rlwe::Ciphertext x = top.clone();
        session.evaluator->adjust_to_level_inplace(x, level);
        EXPECT_LT(session.error(x, values), ckks::tolerance);
        const auto decoded = session.encoder->decode_certain(ckks::decrypt(x, other));
        EXPECT_EQ(decoded.doubtful, (std::vector<std::size_t>{0, 1}));
        EXPECT_THROW(static_cast<void>(session.encoder->decode(ckks::decrypt(x, other))), NoiseError);
        EXPECT_THROW(static_cast<void>(session.encoder->decode(ckks::decrypt(rlwe::take(x, 1), other))),
                     NoiseError);
      }
    }
  }
}

}  // namespace
}  // namespace hemera
