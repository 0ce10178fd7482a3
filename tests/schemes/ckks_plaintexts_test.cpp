// Plaintexts that are stored by one period, or over more primes than a level has.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::ckks {
namespace {

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
    EXPECT_LT(session.error(encrypt(period, session.secret), values), tolerance);

    const auto same = [&](const Ciphertext& a, const Ciphertext& b) {
      EXPECT_EQ(a.meta.scale, b.meta.scale);
      EXPECT_EQ(session.decrypt(a), session.decrypt(b)) << slots;
    };
    const auto sum = [&](const Ciphertext& a, const rlwe::Plaintext& b) {
      return session.evaluator->add_plain(a, b);
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
          EXPECT_LT(
              session.error(session.evaluator->rescale(product), map2(values, factors, std::multiplies<>())),
              tolerance);
          Ciphertext sum = x.clone(), difference = x.clone();
          session.evaluator->add_plain_inplace(sum, over);
          EXPECT_LT(session.error(sum, map2(values, factors, std::plus<>())), tolerance);
          session.evaluator->subtract_plain_inplace(difference, over);
          EXPECT_LT(session.error(difference, map2(values, factors, std::minus<>())), tolerance);
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
