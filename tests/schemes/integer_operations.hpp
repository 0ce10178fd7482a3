// Properties 1 to 9 of BFV and BGV: every operation on ciphertexts is the operation on integers modulo t.
#pragma once

#include <functional>
#include <utility>

#include "host_words.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {

template <typename S>
class IntegerOperations : public ::testing::Test {};
TYPED_TEST_SUITE_P(IntegerOperations);

// 1. Decryption inverts encryption, with the public and with the secret key, in slots and in coefficients.
TYPED_TEST_P(IntegerOperations, DecryptionInvertsEncryption) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    for (const Values& values : session.inputs()) {
      session.expect(session.encrypt(values), values);
      session.expect(session.encrypt(values, {}, rlwe::Encoding::coefficients), values);
      const rlwe::Ciphertext symmetric = S::encrypt(session.encode(values), session.secret);
      session.expect(symmetric, values);
      EXPECT_TRUE(symmetric.seed.has_value());
    }
  }
}

// 2. Addition, subtraction and negation act value by value.
TYPED_TEST_P(IntegerOperations, SumsAreSums) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    const auto& evaluator = session.evaluator;
    const Values b = session.uniform();
    const rlwe::Ciphertext y = session.encrypt(b);
    for (const Values& a : session.inputs()) {
      const rlwe::Ciphertext x = session.encrypt(a);
      session.expect(evaluator.add(x, y), session.add(a, b));
      session.expect(evaluator.subtract(x, y), session.subtract(a, b));
      session.expect(evaluator.subtract(y, x), session.subtract(b, a));
      session.expect(evaluator.negate(x), session.negate(a));
      session.expect(evaluator.add(x, x), session.add(a, a));
      rlwe::Ciphertext inplace = x.clone();
      evaluator.add_inplace(inplace, y);
      evaluator.subtract_inplace(inplace, x);
      evaluator.negate_inplace(inplace);
      session.expect(inplace, session.negate(b));
      const std::vector<const rlwe::Ciphertext*> terms = {&x, &y, &x};
      session.expect(evaluator.add_many(terms), session.add(session.add(a, b), a));
    }
  }
}

// 3. Plaintexts and scalars: sums and products.
TYPED_TEST_P(IntegerOperations, PlaintextsAndScalars) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    const auto& evaluator = session.evaluator;
    const Values a = session.uniform();
    const rlwe::Ciphertext x = session.encrypt(a);
    for (const Values& b : session.inputs()) {
      const rlwe::Plaintext plain = session.encode(b);
      session.expect(evaluator.add_plain(x, plain), session.add(a, b));
      session.expect(evaluator.subtract_plain(x, plain), session.subtract(a, b));
      session.expect(evaluator.multiply_plain(x, plain), session.multiply(a, b));
    }
    const auto half = static_cast<std::int64_t>(setting.t / 2);
    for (const std::int64_t factor :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, half, -half, std::int64_t{1} << 62}) {
      session.expect(evaluator.multiply_scalar(x, factor), session.scale(a, factor));
      // A number is the constant polynomial: every slot gets it, or coefficient 0.
      const std::uint64_t number = session.t.reduce_signed(factor);
      const bool in_slots = session.natural_encoding() == rlwe::Encoding::slots;
      session.expect(evaluator.add_scalar(x, factor),
                     session.add(a, in_slots ? session.constant(number) : session.single(0, number)));
    }
  }
}

// 3. Plaintexts that were made ready for one level: used there and nowhere else, with the same bits.
TYPED_TEST_P(IntegerOperations, PlaintextsForOneLevel) {
  using S = TypeParam;
  using integer::Use;
  constexpr bool apart = S::scheme == rlwe::Scheme::bfv;  // products take another form than sums
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    const auto& evaluator = session.evaluator;
    const Values a = session.uniform(), b = session.uniform(), c = session.uniform();
    const rlwe::Ciphertext x = session.encrypt(a);
    const auto encode = [&](const Values& values, rlwe::BatchShape batch, std::size_t level, Use use) {
      return session.encoder.encode(std::vector<std::int64_t>(values.begin(), values.end()), batch,
                                    session.natural_encoding(), level, use);
    };
    const auto joined = [](Values first, const Values& second) {
      first.insert(first.end(), second.begin(), second.end());
      return first;
    };
    const auto residues = [&](const rlwe::Ciphertext& of) {
      return tests::host_words(*session.context, of.poly);
    };
    const std::size_t lowest = session.context->parameters().lowest_user_level();
    for (const Use use : {Use::products, Use::sums, Use::both}) {
      for (std::size_t level = lowest; level <= x.meta.level; ++level) {
        SCOPED_TRACE(level);
        const rlwe::Plaintext plain = encode(b, {}, level, use);
        EXPECT_EQ(plain.lifted != nullptr, use != Use::sums || !apart);
        EXPECT_EQ(plain.placed != nullptr, use != Use::products && apart);
        session.expect(evaluator.multiply_plain(x, plain), session.multiply(a, b));
        // The other message, ready for this level: it is what is added.
        rlwe::Plaintext other = session.encode(c);
        other.lifted = plain.lifted;
        other.placed = plain.placed;
        const bool multiplies = level == x.meta.level && plain.lifted != nullptr;
        session.expect(evaluator.multiply_plain(x, other), session.multiply(a, multiplies ? b : c));
        std::vector<rlwe::Ciphertext> operands;
        operands.push_back(x.clone());
        if (level < x.meta.level) {
          operands.push_back(x.clone());
          evaluator.drop_to_level_inplace(operands.back(), level);
        }
        // An operand of BGV with another correction factor.
        if (level + 1 == x.meta.level) operands.push_back(evaluator.rescale(x));
        for (const rlwe::Ciphertext& operand : operands) {
          const auto unready = session.encode(b);
          const rlwe::Ciphertext more = evaluator.add_plain(operand, plain),
                                 less = evaluator.subtract_plain(operand, plain);
          session.expect(more, session.add(a, b));
          session.expect(less, session.subtract(a, b));
          EXPECT_EQ(residues(more), residues(evaluator.add_plain(operand, unready)));
          EXPECT_EQ(residues(less), residues(evaluator.subtract_plain(operand, unready)));
          EXPECT_EQ(more.meta.noise_log2, evaluator.add_plain(operand, unready).meta.noise_log2);
          const bool fits = apart || operand.meta.correction == session.context->scales().level_factor(level);
          const bool taken = operand.meta.level == level && fits && (!apart || use != Use::products);
          session.expect(evaluator.add_plain(operand, other), session.add(a, taken ? b : c));
          session.expect(evaluator.subtract_plain(operand, other), session.subtract(a, taken ? b : c));
        }
        // Batches, and elements of one, which take along what is ready.
        const rlwe::Plaintext exchanged =
            rlwe::gather(encode(joined(b, c), {2}, level, use), std::vector<std::size_t>{1, 0}, {2});
        EXPECT_EQ(exchanged.placed != nullptr, plain.placed != nullptr);
        const rlwe::Ciphertext& low = operands.size() > 1 ? operands[1] : operands[0];
        session.expect(evaluator.add_plain(low, exchanged), joined(session.add(a, c), session.add(a, b)));
        const rlwe::Ciphertext two = evaluator.add_plain(low, exchanged);
        session.expect(evaluator.add_plain(two, plain),
                       joined(session.add(session.add(a, c), b), session.add(session.add(a, b), b)));
        session.expect(evaluator.subtract_plain(two, exchanged), joined(a, a));
        session.expect(evaluator.subtract_plain(two, session.encode(b)),
                       joined(session.subtract(session.add(a, c), b), a));
      }
    }
  }
}

// 3. A plaintext made ready for one level serves ciphertexts of every other one, lower or higher, with the
// bits of a plaintext that was not made ready.
TYPED_TEST_P(IntegerOperations, PlaintextsForOtherLevels) {
  using S = TypeParam;
  using integer::Use;
  for (const std::uint64_t t : {std::uint64_t{65537}, std::uint64_t{1} << 16}) {
    SCOPED_TRACE(t);
    Session<S> session(test_chain<S>(t, 4));
    const auto& evaluator = session.evaluator;
    const Values a = session.uniform(), b = session.uniform(), c = session.uniform();
    const rlwe::Ciphertext x = session.encrypt(a);
    const rlwe::Plaintext unready = session.encode(b), unready_other = session.encode(c);
    const auto residues = [&](const rlwe::Ciphertext& of) {
      return tests::host_words(*session.context, of.poly);
    };
    using Operation = std::function<rlwe::Ciphertext(const rlwe::Ciphertext&, const rlwe::Plaintext&)>;
    const std::vector<Operation> operations = {
        [&](const auto& y, const auto& plain) { return evaluator.add_plain(y, plain); },
        [&](const auto& y, const auto& plain) { return evaluator.subtract_plain(y, plain); },
        [&](const auto& y, const auto& plain) { return evaluator.multiply_plain(y, plain); },
        [&](const auto& y, const auto& plain) {
          return evaluator.dot(std::vector{&y, &y}, std::vector{&unready, &plain});
        }};
    const std::size_t lowest = session.context->parameters().lowest_user_level();
    for (const Use use : {Use::products, Use::sums, Use::both}) {
      for (std::size_t ready = lowest; ready <= x.meta.level; ++ready) {
        const rlwe::Plaintext plain = session.encoder.encode(std::vector<std::int64_t>(b.begin(), b.end()),
                                                             {}, session.natural_encoding(), ready, use);
        // With the ready forms of b, which only its own level may take.
        rlwe::Plaintext other = session.encode(c);
        other.lifted = plain.lifted;
        other.placed = plain.placed;
        for (std::size_t level = lowest; level <= x.meta.level; ++level) {
          if (level == ready) continue;
          SCOPED_TRACE("ready for " + std::to_string(ready) + ", used at " + std::to_string(level));
          rlwe::Ciphertext y = x.clone();
          evaluator.drop_to_level_inplace(y, level);
          session.expect(operations[0](y, plain), session.add(a, b));
          session.expect(operations[1](y, plain), session.subtract(a, b));
          session.expect(operations[0](y, other), session.add(a, c));
          session.expect(operations[1](y, other), session.subtract(a, c));
          for (const Operation& operation : operations) {
            EXPECT_EQ(residues(operation(y, plain)), residues(operation(y, unready)));
            EXPECT_EQ(residues(operation(y, other)), residues(operation(y, unready_other)));
          }
        }
      }
    }
  }
}

// 4. Products, squares and their sums; lazily relinearized ones too.
TYPED_TEST_P(IntegerOperations, ProductsAreProducts) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    const auto& evaluator = session.evaluator;
    const Values b = session.uniform();
    const rlwe::Ciphertext y = session.encrypt(b);
    for (const Values& a : session.inputs()) {
      const rlwe::Ciphertext x = session.encrypt(a);
      const Values product = session.multiply(a, b);
      const rlwe::Ciphertext xy = evaluator.multiply(x, y);
      EXPECT_EQ(xy.size(), 2U);
      session.expect(xy, product);
      session.expect(evaluator.square(x), session.multiply(a, a));
      session.expect(evaluator.multiply(x, x.clone()), session.multiply(a, a));
      // A product of depth 2, and a sum of results of different depth.
      session.expect(evaluator.multiply(xy, y), session.multiply(product, b));
      session.expect(evaluator.add(xy, x), session.add(product, a));
      session.expect(evaluator.subtract(x, xy), session.subtract(a, product));
    }
    Session<S> lazy(test_chain<S>(setting.t, setting.primes), false, rlwe::Relinearization::lazy);
    const rlwe::Ciphertext u = lazy.encrypt(b);
    rlwe::Ciphertext triple = lazy.evaluator.multiply(u, u);
    EXPECT_EQ(triple.size(), 3U);
    lazy.expect(triple, lazy.multiply(b, b));
    lazy.expect(lazy.evaluator.add(triple, u), lazy.add(lazy.multiply(b, b), b));
    lazy.expect(lazy.evaluator.subtract(u, triple), lazy.subtract(b, lazy.multiply(b, b)));
    lazy.expect(lazy.evaluator.multiply(triple, u), lazy.multiply(lazy.multiply(b, b), b));
    lazy.evaluator.relinearize_inplace(triple);
    EXPECT_EQ(triple.size(), 2U);
    lazy.expect(triple, lazy.multiply(b, b));
  }
}

// 6. Rotations turn both rows, conjugation exchanges them, sums run over all slots; hoisted rotations agree.
TYPED_TEST_P(IntegerOperations, RotationsAndSums) {
  using S = TypeParam;
  struct Case {
    std::uint64_t t, generator;
  };
  for (const auto& [t, generator] : {Case{65537, 5}, Case{65537, 3}, Case{7681, 5}, Case{7681, 3}}) {
    auto literal = test_chain<S>(t, 3).literal();
    literal.galois_generator = generator;
    Session<S> session(rlwe::Parameters(literal), true);
    const auto& evaluator = session.evaluator;
    const std::size_t row = session.places() / 2;
    for (const Values& a : session.inputs()) {
      const rlwe::Ciphertext x = session.encrypt(a);
      for (const std::int64_t steps : {0, 1, -1, 3, 256, -200, 511}) {
        session.expect(evaluator.rotate(x, steps), session.rotate(a, steps));
      }
      Values swapped(a.begin() + static_cast<std::ptrdiff_t>(row), a.end());
      swapped.insert(swapped.end(), a.begin(), a.begin() + static_cast<std::ptrdiff_t>(row));
      session.expect(evaluator.conjugate(x), swapped);
      std::uint64_t total = 0;
      for (const std::uint64_t value : a) total = session.t.add(total, value);
      session.expect(evaluator.sum_slots(x), session.constant(total));
      const std::vector<std::int64_t> steps = {1, 4, 64};
      const auto hoisted = evaluator.rotate_hoisted(x, steps);
      for (std::size_t i = 0; i < steps.size(); ++i) session.expect(hoisted[i], session.rotate(a, steps[i]));
    }
  }
}

// 10. Inner products are sums of products, at no more noise than one by one.
TYPED_TEST_P(IntegerOperations, InnerProducts) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes));
    const auto& evaluator = session.evaluator;
    std::vector<rlwe::Ciphertext> x, y;
    std::vector<rlwe::Plaintext> plain;
    std::vector<const rlwe::Ciphertext*> left, right;
    std::vector<const rlwe::Plaintext*> weights;
    Values expected = session.constant(0);
    rlwe::Ciphertext by_plain, by_cipher;
    constexpr std::size_t terms = 3;
    for (std::size_t i = 0; i < terms; ++i) {
      const Values a = i == 0 ? session.constant(session.t.value() - 1) : session.uniform();
      const Values b = session.uniform();
      expected = session.add(expected, session.multiply(a, b));
      x.push_back(session.encrypt(a));
      y.push_back(session.encrypt(b));
      plain.push_back(session.encode(b));
      rlwe::Ciphertext first = evaluator.multiply_plain(x.back(), plain.back());
      rlwe::Ciphertext second = evaluator.multiply(x.back(), y.back());
      by_plain = i == 0 ? std::move(first) : evaluator.add(by_plain, first);
      by_cipher = i == 0 ? std::move(second) : evaluator.add(by_cipher, second);
    }
    for (std::size_t i = 0; i < terms; ++i) {
      left.push_back(&x[i]);
      right.push_back(&y[i]);
      weights.push_back(&plain[i]);
    }
    const rlwe::Ciphertext weighted = evaluator.dot(left, weights);
    session.expect(weighted, expected);
    EXPECT_NEAR(weighted.meta.noise_log2, by_plain.meta.noise_log2, 1e-9);
    const rlwe::Ciphertext product = evaluator.dot(left, right);
    EXPECT_EQ(product.size(), 2U);
    session.expect(product, expected);
    session.expect(by_cipher, expected);
    EXPECT_LE(product.meta.noise_log2, by_cipher.meta.noise_log2 + 1e-9);
    EXPECT_EQ(product.meta.level, by_cipher.meta.level);
    EXPECT_EQ(product.meta.correction, by_cipher.meta.correction);
    const auto one = std::span(left).first(1);
    session.expect(evaluator.dot(one, one), session.decrypt(evaluator.square(x[0])));
  }
}

// 11. Also of operands of different levels and batches, and left unrelinearized.
TYPED_TEST_P(IntegerOperations, InnerProductsOfUnlikeOperands) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 5));
  const auto& evaluator = session.evaluator;
  const std::size_t n = session.degree();
  const Values a = session.uniform(), b = session.uniform(), c = session.uniform(3 * n);
  const rlwe::Encoding slots = rlwe::Encoding::slots;
  const rlwe::Ciphertext x = session.encrypt(a), y = session.encrypt(b), z = session.encrypt(c, {3}, slots);
  const rlwe::Ciphertext xy = evaluator.multiply(x, y);  // BGV: at another level, with another correction
  rlwe::Ciphertext low = y.clone();
  evaluator.drop_to_level_inplace(low, 2);
  const rlwe::Plaintext weight = session.encode(b), weights = session.encode(c, {3}, slots);

  const std::vector<const rlwe::Ciphertext*> left = {&x, &xy, &low, &z};
  Values expected = session.multiply(c, a);  // z x
  expected = session.add(expected, session.multiply(a, a));
  expected = session.add(expected, session.multiply(session.multiply(a, b), b));
  expected = session.add(expected, session.multiply(b, b));
  const std::vector<const rlwe::Ciphertext*> right = {&x, &y, &low, &x};
  const rlwe::Ciphertext product = evaluator.dot(left, right);
  EXPECT_EQ(product.meta.batch, (rlwe::BatchShape{3}));
  session.expect(product, expected);

  // One of them is lifted already, beside one that is not.
  const rlwe::Plaintext ready =
      session.encoder.encode(std::vector<std::int64_t>(b.begin(), b.end()), {}, slots, x.meta.level);
  const rlwe::Plaintext other = session.encode(a);
  const std::vector<const rlwe::Ciphertext*> factors = {&x, &xy, &low, &z, &x, &y};
  const std::vector<const rlwe::Plaintext*> plain = {&weights, &weight, &weight, &ready, &weight, &other};
  Values weighted = session.multiply(c, a);
  weighted = session.add(weighted, session.multiply(session.multiply(a, b), b));
  weighted = session.add(weighted, session.multiply(b, b));
  weighted = session.add(weighted, session.multiply(c, b));
  weighted = session.add(weighted, session.scale(session.multiply(a, b), 2));
  session.expect(evaluator.dot(factors, plain), weighted);

  const std::vector<const rlwe::Ciphertext*> two = {&x, &y};
  Session<S> lazy(test_chain<S>(65537, 5), false, rlwe::Relinearization::lazy);
  const rlwe::Ciphertext u = lazy.encrypt(b);
  const rlwe::Ciphertext square = lazy.evaluator.square(u);
  const std::vector<const rlwe::Ciphertext*> sizes = {&u, &square}, twice = {&u, &u};
  const rlwe::Ciphertext sum = lazy.evaluator.dot(sizes, twice);
  EXPECT_EQ(sum.size(), 3U);
  const Values second = lazy.multiply(b, b);
  lazy.expect(sum, lazy.add(second, lazy.multiply(second, b)));
  const rlwe::Plaintext lazy_weight = lazy.encode(b);
  const std::vector<const rlwe::Plaintext*> lazy_weights = {&lazy_weight, &lazy_weight};
  lazy.expect(lazy.evaluator.dot(sizes, lazy_weights), lazy.add(second, lazy.multiply(second, b)));

  const std::vector<const rlwe::Ciphertext*> none;
  expect_error<ParameterError>([&] { return evaluator.dot(none, none); }, {"0 and 0"});
  expect_error<ParameterError>([&] { return evaluator.dot(left, two); }, {"4 and 2"});
  const rlwe::Ciphertext coefficients = session.encrypt(b, {}, rlwe::Encoding::coefficients);
  const std::vector<const rlwe::Ciphertext*> mixed = {&x, &coefficients};
  expect_error<MismatchError>([&] { return evaluator.dot(mixed, two); }, {"dot", "encode both"});
  expect_error<MismatchError>([&] { return evaluator.dot(mixed, mixed); }, {"encode both"});
  const rlwe::Ciphertext pair = session.encrypt(session.uniform(2 * n), {2}, slots);
  const std::vector<const rlwe::Ciphertext*> batches = {&z, &pair};
  expect_error<MismatchError>([&] { return evaluator.dot(batches, two); }, {"{3}", "{2}"});
}

REGISTER_TYPED_TEST_SUITE_P(IntegerOperations, DecryptionInvertsEncryption, SumsAreSums, PlaintextsAndScalars,
                            PlaintextsForOneLevel, PlaintextsForOtherLevels, ProductsAreProducts,
                            RotationsAndSums, InnerProducts, InnerProductsOfUnlikeOperands);

}  // namespace hemera::testing
