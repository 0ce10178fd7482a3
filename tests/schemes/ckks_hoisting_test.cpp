// Double hoisting: a matrix-vector product whose sums stay over Q u P, with one division at the end
// (2020/1203, section 4).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

// y = M x by its diagonals: y = sum_j rot_(j b)( sum_i p_(j, i) rot_i(x) ), p_(j, i) the diagonal j b + i
// turned back by j b.
class CkksDoubleHoisting : public ::testing::TestWithParam<Stored> {};

INSTANTIATE_TEST_SUITE_P(Plaintexts, CkksDoubleHoisting, ::testing::Values(Stored::whole, Stored::one_period),
                         [](const auto& stored) {
                           return stored.param == Stored::whole ? "Whole" : "OnePeriod";
                         });

TEST_P(CkksDoubleHoisting, AMatrixTimesAVectorWithOneDivision) {
  constexpr std::size_t slots = 16, baby = 4;
  const Session session(small_parameters(3, 2));
  const rlwe::Context& context = *session.context;
  const std::size_t level = context.top_level();
  // The keys live over one level's base alone.
  rlwe::GadgetPrimes primes = context.parameters().default_gadget(level);
  const auto gadget = context.gadget(primes);
  std::map<std::size_t, rlwe::SwitchingKey> keys;
  for (std::size_t step = 1; step < baby; ++step) {
    keys.emplace(step, rlwe::generate_galois_key(
                           session.secret, context.galois_element(static_cast<std::int64_t>(step)), gadget));
  }
  for (std::size_t giant = baby; giant < slots; giant += baby) {
    keys.emplace(giant,
                 rlwe::generate_galois_key(session.secret,
                                           context.galois_element(static_cast<std::int64_t>(giant)), gadget));
  }
  const auto element = [&](std::size_t step) {
    return context.galois_element(static_cast<std::int64_t>(step));
  };
  const Values matrix = random_values(slots * slots, 41);
  const Values x = random_values(slots, 42);
  const Ciphertext encrypted = session.encrypt(x);
  const double scale = context.scales().level_scale(level);
  const poly::RnsBase& extended = gadget->mod_up(level).extended();

  // Baby steps: one ModUp, then each key's product, not divided.
  const rlwe::Digits digits = rlwe::decompose(encrypted, gadget);
  std::vector<rlwe::ExtendedCiphertext> rotated;
  rotated.push_back(rlwe::extend(encrypted, gadget));
  for (std::size_t i = 1; i < baby; ++i) {
    rotated.push_back(rlwe::switch_extended(digits, keys.at(i), element(i)));
  }
  rlwe::ExtendedCiphertext sum;
  for (std::size_t giant = 0; giant < slots; giant += baby) {
    rlwe::ExtendedCiphertext inner;
    for (std::size_t i = 0; i < baby; ++i) {
      Values diagonal(slots);
      for (std::size_t k = 0; k < slots; ++k) {
        const std::size_t row = (k + slots - giant) % slots;
        diagonal[k] = matrix[row * slots + (row + giant + i) % slots];
      }
      const rlwe::Plaintext plain =
          session.encoder->encode_over(extended, diagonal, {}, level, scale, GetParam());
      rlwe::multiply_plain_add(inner, rotated[i], plain);
    }
    if (giant != 0) inner = rlwe::switch_extended(inner, keys.at(giant), element(giant));
    if (giant == 0) {
      sum = std::move(inner);
    } else {
      rlwe::add_inplace(sum, inner);
    }
  }
  EXPECT_EQ(sum.meta.noise_scale_degree, 2);
  const Ciphertext result = rlwe::mod_down_rescaled(sum);
  EXPECT_EQ(result.meta.level, level - 1);
  EXPECT_EQ(result.meta.noise_scale_degree, 1);

  Values expected(slots, 0);
  for (std::size_t row = 0; row < slots; ++row) {
    for (std::size_t column = 0; column < slots; ++column) {
      expected[row] += matrix[row * slots + column] * x[column];
    }
  }
  EXPECT_LT(largest_difference(session.decrypt(result), expected), tolerance);
  // Divided first and rescaled afterwards: the same values.
  const Ciphertext apart = session.evaluator->rescale(rlwe::mod_down(sum));
  EXPECT_LT(largest_difference(session.decrypt(apart), session.decrypt(result)), tolerance);
}

// Rows that are encoded as one batch are the plaintexts of each alone, exactly.
TEST(CkksPeriodicPlaintext, IsEncodedAloneAsInABatch) {
  const Session session(small_parameters(2, 2));
  const rlwe::Context& context = *session.context;
  const poly::RnsBase& base = context.gadget(1)->mod_up(1).extended();
  for (const std::size_t slots : {std::size_t{1}, std::size_t{64}, std::size_t{256}, std::size_t{512}}) {
    for (const Stored stored : {Stored::whole, Stored::one_period}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
        const Values values = random_values(count * slots, slots);
        const auto rows = session.encoder->encode_each_over(base, values, count, 1, 0x1p30, stored, HUGE_VAL);
        ASSERT_EQ(rows.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const auto alone = session.encoder->encode_over(base, std::span(values).subspan(i * slots, slots),
                                                          {}, 1, 0x1p30, stored, HUGE_VAL);
          EXPECT_EQ(rows[i].poly.shape(), alone.poly.shape());
          EXPECT_EQ(rows[i].meta.batch, alone.meta.batch);
          EXPECT_EQ(rows[i].meta.slots, slots);
          EXPECT_EQ(rows[i].meta.scale, alone.meta.scale);
          EXPECT_EQ(session.encoder->decode(rows[i]), session.encoder->decode(alone)) << slots << " " << i;
        }
      }
    }
  }
  EXPECT_THROW(static_cast<void>(session.encoder->encode_each_over(base, Values(12, 1), 5, 1, 0x1p30)),
               ParameterError);
}

// A plaintext that is stored by one period is the same one to every operation.
TEST(CkksPeriodicPlaintext, IsTheSameToEveryOperation) {
  for (const std::size_t slots : {std::size_t{1}, std::size_t{64}, std::size_t{256}}) {
    const Session session(small_parameters(2, 2));
    const rlwe::Context& context = *session.context;
    const std::size_t level = context.top_level();
    const rlwe::Metadata fresh = session.encrypt(Values{1}).meta;
    const Values values = random_values(2 * slots, 51);
    const auto encode = [&](Stored stored) {
      return session.encoder->encode_over(context.base(level), values, {2}, level, fresh.scale, stored);
    };
    const rlwe::Plaintext whole = encode(Stored::whole), period = encode(Stored::one_period);
    EXPECT_EQ(period.poly.bytes() * context.degree(), whole.poly.bytes() * period_entries(slots));
    EXPECT_EQ(session.encoder->decode(period), session.encoder->decode(whole));
    const auto gathered = [](const rlwe::Plaintext& plain) {
      return rlwe::gather(plain, std::vector<std::size_t>{1, 0}, {2});
    };
    EXPECT_EQ(session.encoder->decode(gathered(period)), session.encoder->decode(gathered(whole)));
    EXPECT_EQ(session.encoder->decode(rlwe::copy_to(session.context, period)),
              session.encoder->decode(whole));
    EXPECT_LT(largest_difference(session.decrypt(encrypt(period, session.secret)), values), tolerance);

    const auto same = [&](const Ciphertext& a, const Ciphertext& b) {
      EXPECT_EQ(a.meta.scale, b.meta.scale);
      EXPECT_EQ(session.decrypt(a), session.decrypt(b)) << slots;
    };
    const auto sum = [&](const Ciphertext& a, const rlwe::Plaintext& b) {
      Ciphertext result = a.clone();
      session.evaluator->add_plain_inplace(result, b);
      return result;
    };
    const Ciphertext x = session.encrypt(values, {2});
    const Ciphertext lower = session.evaluator->multiply_plain(x, whole);
    same(sum(x, period), sum(x, whole));
    for (const Ciphertext* operand : {&x, &lower}) {
      same(session.evaluator->multiply_plain(*operand, period),
           session.evaluator->multiply_plain(*operand, whole));
      same(session.evaluator->dot(std::vector{operand, operand}, std::vector{&period, &period}),
           session.evaluator->dot(std::vector{operand, operand}, std::vector{&whole, &whole}));
    }
    // Some stored by one period, some whole.
    same(session.evaluator->dot(std::vector{&x, &x}, std::vector{&period, &whole}),
         session.evaluator->dot(std::vector{&x, &x}, std::vector{&whole, &whole}));
  }
}

// A number is what encoding it in one slot gives.
TEST(CkksPeriodicPlaintext, OfANumber) {
  const Session session(small_parameters(2, 2));
  const Encoder& encoder = *session.encoder;
  for (const Complex number :
       {Complex(0.3), Complex(-1e-9), Complex(0), Complex(2, -0.7), Complex(1 << 18)}) {
    const double scale = std::exp2(40.25);
    const rlwe::Plaintext found = encoder.encode_number(number, 1, scale);
    EXPECT_EQ(found.poly.shape().degree, period_entries(1));
    EXPECT_EQ(found.meta.level, 1U);
    EXPECT_EQ(found.meta.largest, std::abs(number));
    const rlwe::Plaintext expected = encoder.encode(std::span(&number, 1), {}, 1, scale);
    EXPECT_EQ(encoder.decode(found), encoder.decode(expected));
  }
  EXPECT_THROW(static_cast<void>(encoder.encode_number(NAN, 1, 0x1p40)), ParameterError);
  EXPECT_THROW(static_cast<void>(encoder.encode_number(1e30, 0, 0x1p40)), ParameterError);
}

// Full slots have no shorter period.
TEST(CkksPeriodicPlaintext, OfAllSlotsIsWhole) {
  const Session session(small_parameters(2, 2));
  const rlwe::Context& context = *session.context;
  const Values values = random_values(context.degree() / 2, 52);
  const rlwe::Plaintext plain =
      session.encoder->encode_over(context.base(0), values, {}, 0, 0x1p30, Stored::one_period);
  EXPECT_TRUE(plain.poly.is_whole());
}

// Over the special primes as well, at the ciphertext's level or above it: the limbs of its level count, in
// sums and in products.
TEST(CkksEncodeOver, PlaintextsOfMorePrimesAreFactorsAndTerms) {
  const Session session(small_parameters(3, 2));
  const rlwe::Context& context = *session.context;
  const Values values = random_values(8, 53), factors = random_values(8, 54);
  for (const std::size_t level : {3, 2, 1}) {
    Ciphertext x = session.encrypt(values);
    session.evaluator->lower_to_level_inplace(x, level);
    for (const std::size_t own : {level, std::size_t{3}}) {
      for (const std::size_t of : {own, std::size_t{3}}) {
        SCOPED_TRACE(std::to_string(level) + " " + std::to_string(own) + " " + std::to_string(of));
        for (const Stored stored : {Stored::whole, Stored::one_period}) {
          const rlwe::Plaintext over = session.encoder->encode_over(context.gadget(of)->mod_up(of).extended(),
                                                                    factors, {}, own, x.meta.scale, stored);
          const auto product = session.evaluator->multiply_plain(x, over);
          EXPECT_EQ(product.meta.level, level);
          EXPECT_LT(largest_difference(session.decrypt(session.evaluator->rescale(product)),
                                       map2(values, factors, std::multiplies<>())),
                    tolerance);
          Ciphertext sum = x.clone(), difference = x.clone();
          session.evaluator->add_plain_inplace(sum, over);
          EXPECT_LT(largest_difference(session.decrypt(sum), map2(values, factors, std::plus<>())),
                    tolerance);
          session.evaluator->subtract_plain_inplace(difference, over);
          EXPECT_LT(largest_difference(session.decrypt(difference), map2(values, factors, std::minus<>())),
                    tolerance);
        }
      }
    }
  }
}

// A bound that is negative or no number is none, here as for encode.
TEST(CkksEncodeOver, DeclaredBoundsAreAtLeastZero) {
  const Session session(small_parameters(1));
  const Values zeros(4);
  const poly::RnsBase& base = session.context->base(1);
  const auto over = [&](const Values& values, double largest) {
    return session.encoder->encode_over(base, values, {}, 1, 0x1p30, Stored::whole, largest).meta.largest;
  };
  const auto plain = [&](const Values& values, double largest) {
    return session.encoder->encode(values, {}, 1, 0x1p30, largest).meta.largest;
  };
  for (const double wrong : {-2.0, -0x1p-1074, static_cast<double>(NAN), -HUGE_VAL}) {
    EXPECT_THROW(static_cast<void>(over(zeros, wrong)), ParameterError) << wrong;
    EXPECT_THROW(static_cast<void>(plain(zeros, wrong)), ParameterError) << wrong;
  }
  for (const double right : {0.0, 0.5, HUGE_VAL}) {
    EXPECT_EQ(over(zeros, right), right);
    EXPECT_EQ(plain(zeros, right), right);
  }
  EXPECT_EQ(over({{3, 4}, 0}, 5), 5);
  EXPECT_THROW(static_cast<void>(over({{3, 4}, 0}, 4.99)), ParameterError);
}

}  // namespace
}  // namespace hemera::ckks
