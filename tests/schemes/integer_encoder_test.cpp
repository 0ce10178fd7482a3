// Properties of the integer encoder and of the exact measure of noise.
#include <limits>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "schemes/integer_support.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

// 1. Decoding inverts encoding for every shape, both signs and both encodings.
TEST(IntegerEncoderTest, DecodingInvertsEncoding) {
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<Bfv> session(test_chain<Bfv>(setting.t, 2));
    const auto limit = static_cast<std::int64_t>(setting.t);
    for (const auto encoding : {rlwe::Encoding::slots, rlwe::Encoding::coefficients}) {
      if (encoding == rlwe::Encoding::slots && !session.context->parameters().has_slots()) continue;
      const bool in_slots = encoding == rlwe::Encoding::slots;
      const std::size_t most = in_slots ? session.context->parameters().max_slots() : session.degree();
      for (const std::size_t count : {std::size_t{1}, std::size_t{17}, most}) {
        std::vector<std::int64_t> values(3 * count);
        for (auto& value : values) {
          value = static_cast<std::int64_t>(session.random() % (2 * setting.t - 1)) - (limit - 1);
        }
        values.front() = limit - 1;
        values.back() = 1 - limit;
        const rlwe::Plaintext plain = session.encoder.encode(values, {3}, encoding);
        EXPECT_EQ(plain.meta.slots, count);
        EXPECT_EQ(plain.meta.batch, (rlwe::BatchShape{3}));
        const auto unsigned_values = session.encoder.decode(plain, false);
        const auto signed_values = session.encoder.decode(plain);
        ASSERT_EQ(unsigned_values.size(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(unsigned_values[i], (values[i] + limit) % limit);
          EXPECT_EQ((signed_values[i] - values[i]) % limit, 0);
          EXPECT_LE(signed_values[i], limit / 2);
          EXPECT_GE(signed_values[i], -((limit - 1) / 2));
        }
      }
    }
  }
}

// 2. Slots are a ring homomorphism: the product of polynomials modulo t is the product slot by slot.
TEST(IntegerEncoderTest, SlotsMultiplyAsPolynomials) {
  Session<Bfv> session(test_chain<Bfv>(65537, 2));
  const Values a = session.uniform();
  const Values b = session.uniform();
  const auto coefficients = [&](const Values& values) {
    rlwe::Plaintext plain = session.encode(values);
    plain.meta.encoding = rlwe::Encoding::coefficients;
    const auto decoded = session.encoder.decode(plain, false);
    return Values(decoded.begin(), decoded.end());
  };
  const Values product = session.multiply(coefficients(a), coefficients(b), rlwe::Encoding::coefficients);
  EXPECT_EQ(coefficients(session.multiply(a, b)), product);
  // A constant in every slot is a constant polynomial.
  EXPECT_EQ(coefficients(session.constant(12345)), session.single(0, 12345));
}

// 3. What does not fit is refused.
TEST(IntegerEncoderTest, Refusals) {
  Session<Bfv> session(test_chain<Bfv>(65537, 2));
  const auto encode = [&](const std::vector<std::int64_t>& values, const rlwe::BatchShape& batch) {
    return session.encoder.encode(values, batch);
  };
  expect_error<ParameterError>([&] { encode({65537}, {}); }, {"65537"});
  expect_error<ParameterError>([&] { encode({0, -65537}, {}); }, {"65537"});
  expect_error<ParameterError>([&] { encode({std::numeric_limits<std::int64_t>::min()}, {}); }, {"65537"});
  expect_error<ParameterError>([&] { encode({}, {}); }, {"0 values"});
  expect_error<ParameterError>([&] { encode({1, 2, 3}, {2}); }, {"3 values", "{2}"});
  expect_error<ParameterError>([&] { encode({1}, {0}); }, {"{0}"});
  expect_error<ParameterError>([&] { encode(std::vector<std::int64_t>(1025, 0), {}); }, {"1025", "1024"});
  Session<Bfv> even(test_chain<Bfv>(1 << 16, 2));
  expect_error<ParameterError>([&] { return even.encoder.encode(std::vector<std::int64_t>{1}, {}); },
                               {"65536", "coefficient"});
  expect_error<MismatchError>([&] { return session.encoder.decode(even.encode({1})); }, {"contexts"});
  expect_error<MismatchError>([&] { return session.encoder.decode({}); }, {"empty"});
}

// 4. Values in the context's memory encode and decode like those of the host, and need not be in range.
TEST(IntegerEncoderTest, ValuesInTheContextsMemory) {
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<Bfv> session(test_chain<Bfv>(setting.t, 2));
    const rlwe::Context& context = *session.context;
    const auto encoding = session.natural_encoding();
    for (const std::size_t count : {std::size_t{1}, session.places() / 2 + 1, session.places()}) {
      std::vector<std::int64_t> values(3 * count), reduced;
      for (auto& value : values) value = static_cast<std::int64_t>(session.random());
      values.front() = std::numeric_limits<std::int64_t>::min();
      for (const auto value : values) {
        reduced.push_back(static_cast<std::int64_t>(session.t.reduce_signed(value)));
      }
      runtime::Buffer buffer(context.memory(), values.size() * sizeof(std::int64_t));
      const poly::IntegerView view{reinterpret_cast<std::int64_t*>(buffer.data()), 3, count};
      context.backend().upload_values(context.queue(), view.bytes(), std::as_bytes(std::span(values)));
      const rlwe::Plaintext plain = session.encoder.encode(view, {3}, encoding);
      EXPECT_EQ(plain.meta.batch, (rlwe::BatchShape{3}));
      EXPECT_EQ(session.encoder.decode(plain, false), reduced);
      for (const bool is_signed : {false, true}) {
        session.encoder.decode_to(view, session.encoder.encode(reduced, {3}, encoding), is_signed);
        std::vector<std::int64_t> decoded(values.size());
        context.backend().download_values(context.queue(), std::as_writable_bytes(std::span(decoded)),
                                          view.bytes());
        context.queue().synchronize();
        EXPECT_EQ(decoded, session.encoder.decode(plain, is_signed));
      }
      poly::IntegerView small = view;
      small.batch = 2;
      expect_error<MismatchError>([&] { session.encoder.decode_to(small, plain); },
                                  {"2 rows", "has 3 of " + std::to_string(count)});
      expect_error<ParameterError>([&] { return session.encoder.encode(view, {7}, encoding); },
                                   {std::to_string(3 * count), "{7}"});
    }
  }
}

// 5. The measure of noise is exact: against big integers, at the edges of the centred range too.
TEST(NoiseMeasureTest, LargestCoefficientIsExact) {
  for (const std::size_t primes : {std::size_t{1}, std::size_t{3}, std::size_t{25}}) {
    const auto context = tests::make_context(test_chain<Bfv>(65537, primes));
    const poly::RnsBase& base = context->base(context->top_level());
    const arith::BigInteger q = arith::product(base.values());
    std::mt19937_64 random(primes);
    const auto measure = [&](const arith::BigInteger& value, std::uint64_t factor) {
      const std::size_t n = context->degree();
      std::vector<std::uint64_t> host(base.size() * n, 0);
      for (std::size_t l = 0; l < base.size(); ++l) {
        host[l * n + 5] = arith::modulo(value, base.modulus(l).value());
      }
      poly::Poly x = context->make_poly(1, 1, base, poly::Form::coefficient);
      context->backend().upload(context->queue(), x.view(), host, poly::Form::coefficient);
      return rlwe::largest_coefficient_log2(*context, x, factor);
    };
    EXPECT_NEAR(measure(0, 1), 0, 1e-9);
    EXPECT_NEAR(measure(-1, 1), 0, 1e-9);
    EXPECT_NEAR(measure((q - 1) / 2, 1), base.log2() - 1, 1e-9);
    EXPECT_NEAR(measure((q + 1) / 2, 1), base.log2() - 1, 1e-9);
    for (int trial = 0; trial < 20; ++trial) {
      arith::BigInteger value = 0;
      for (std::size_t i = 0; i < primes; ++i) value = (value << 50) + (random() >> 14);
      value %= q;
      const std::uint64_t factor = random() % 65537 + 1;
      arith::BigInteger scaled = value * factor % q;
      if (scaled > q / 2) scaled = q - scaled;
      const double expected = arith::log2(scaled);
      const double measured = measure(value, factor);
      EXPECT_NEAR(measured, expected, 1e-9);
      EXPECT_GE(measured, expected);
    }
  }
}

// 6. The bounds on secrets hold for secrets: norm, and values at the roots.
TEST(NoiseBoundTest, SecretsAreWithinTheirBounds) {
  for (const std::size_t weight : {std::size_t{0}, std::size_t{64}}) {
    auto literal = test_chain<Bfv>(65537, 1).literal();
    literal.secret.weight = weight;
    const auto context = tests::make_context(rlwe::Parameters(literal));
    const std::size_t n = context->degree();
    const poly::RnsBase& base = context->base(0);
    for (int trial = 0; trial < 4; ++trial) {
      const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
      poly::Poly s = context->make_poly(1, 1, base, poly::Form::coefficient);
      context->backend().inverse_transform(context->queue(), s.view(), secret.poly.view().limbs(0, 1), base);
      std::vector<std::uint64_t> host(n);
      context->backend().download(context->queue(), host, std::as_const(s).view(), poly::Form::coefficient);
      context->queue().synchronize();
      double norm = 0;
      double largest = 0;
      std::vector<double> coefficients(n);
      for (std::size_t i = 0; i < n; ++i) {
        coefficients[i] = static_cast<double>(base.modulus(0).centered(host[i]));
        norm += coefficients[i] * coefficients[i];
      }
      for (std::size_t root = 0; root < n / 2; ++root) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double angle =
              std::acos(-1.0) * static_cast<double>((2 * root + 1) * i % (2 * n)) / static_cast<double>(n);
          sum += coefficients[i] * std::polar(1.0, angle);
        }
        largest = std::max(largest, std::abs(sum));
      }
      EXPECT_LE(0.5 * std::log2(norm), rlwe::secret_norm_log2(n, literal.secret) + 1e-12);
      EXPECT_LE(std::log2(largest), rlwe::secret_embedding_log2(n, literal.secret));
      // No looser than a few bits.
      EXPECT_GE(std::log2(largest), rlwe::secret_embedding_log2(n, literal.secret) - 3);
    }
  }
}

}  // namespace
}  // namespace hemera::testing
