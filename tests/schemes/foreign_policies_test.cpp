// Ciphertexts under the rescaling rules of OpenFHE: values are right, and levels, degrees, scales and factors
// are those of the tables, whichever operands met.
#include "rlwe/foreign_policies.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::foreign_policies_tests {
namespace {

using rlwe::OpenFhe;
using rlwe::Primes;

constexpr std::size_t degree = 4096;
constexpr std::uint64_t t = 65537;
const Primes ckks_primes = {1125899906826241, 1099512266753, 1099511480321, 1099511799809};
// 1 modulo t, as the fixed techniques of BGV need them.
const Primes bgv_primes = {35175245135873, 35174708256769, 35156991246337};

constexpr OpenFhe techniques[] = {OpenFhe::fixed_manual, OpenFhe::fixed_auto, OpenFhe::flexible_auto,
                                  OpenFhe::flexible_auto_ext};

// Parameters with a special prime, for keys.
rlwe::Parameters with_special_prime(const rlwe::Parameters& parameters) {
  rlwe::ParametersLiteral literal = parameters.literal();
  literal.special_primes = {1152921504606830593};
  literal.digits.clear();
  literal.roots.clear();
  return rlwe::Parameters(literal);
}

TEST(OpenFheTechniques, CkksValuesAndScales) {
  for (const OpenFhe technique : techniques) {
    const ckks::Session session(with_special_prime(rlwe::openfhe_ckks(technique, degree, ckks_primes, 40)));
    const ckks::Evaluator& ev = *session.evaluator;
    const bool manual = technique == OpenFhe::fixed_manual;
    const ckks::Values a = ckks::random_values(64, 51);
    const ckks::Values b = ckks::random_values(64, 52);
    const auto x = session.encrypt(a);
    const auto y = session.encrypt(b);
    auto product = ev.multiply(x, y);
    EXPECT_EQ(product.meta.noise_scale_degree, 2);
    if (manual) ev.rescale_inplace(product);
    // (x y + x) x, where OpenFHE's manual mode rescales by hand and drops limbs by itself.
    const auto sum = ev.add(product, x);
    const auto cube = ev.multiply(sum, x);
    const ckks::Values expected = ckks::map2(a, b, [](auto u, auto v) { return (u * v + u) * u; });
    EXPECT_LT(session.error(cube, expected), 0x1p-16) << static_cast<int>(technique);
    const rlwe::LevelScale& scales = session.context->scales().policy().scales[cube.meta.level];
    EXPECT_EQ(cube.meta.noise_scale_degree, 2);
    EXPECT_NEAR(cube.meta.scale / scales.product_scale, 1, 0x1p-30);
    // An integer costs a degree, as any other number.
    auto tripled = ev.multiply_scalar(x, 3);
    EXPECT_EQ(tripled.meta.noise_scale_degree, 2);
    EXPECT_LT(std::abs(session.decrypt(tripled)[5] - 3.0 * a[5]), 0x1p-16);
    auto turned = ev.multiply_scalar(x, {0, 1});
    EXPECT_EQ(turned.meta.noise_scale_degree, 2);
  }
}

TEST(OpenFheTechniques, BgvValuesAndFactors) {
  for (const OpenFhe technique : techniques) {
    const bool manual = technique == OpenFhe::fixed_manual;
    const Primes& primes = rlwe::is_fixed(technique) ? bgv_primes : ckks_primes;
    const auto context =
        tests::make_context(with_special_prime(rlwe::openfhe_bgv(technique, degree, primes, t)));
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
    const bgv::Evaluator ev(context, keys);
    const integer::Encoder encoder(context);
    const std::vector<std::int64_t> a = {3, -5, 1000, 32768}, b = {7, 11, -2, 5};
    const auto decrypted = [&](const rlwe::Ciphertext& x) {
      auto values = encoder.decode(bgv::decrypt(x, secret), false);
      values.resize(a.size());
      return values;
    };
    const auto expected = [&](auto formula) {
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const std::int64_t value = formula(a[i], b[i]) % static_cast<std::int64_t>(t);
        values.push_back(value < 0 ? value + static_cast<std::int64_t>(t) : value);
      }
      return values;
    };
    const auto modulo = [](std::int64_t value) { return value % static_cast<std::int64_t>(t); };
    const auto plain = encoder.encode(b, {}, rlwe::Encoding::slots);
    const auto x = bgv::encrypt(encoder.encode(a, {}, rlwe::Encoding::slots), *keys.public_key);
    const auto y = bgv::encrypt(plain, *keys.public_key);
    const auto& factors = context->scales().policy().factors;
    auto product = ev.multiply(x, y);
    EXPECT_EQ(product.meta.correction, factors[product.meta.level].product_factor);
    EXPECT_EQ(decrypted(product), expected([&](auto u, auto v) { return u * v; }));
    if (manual) ev.rescale_inplace(product);
    const auto sum = ev.add(product, x);
    EXPECT_EQ(decrypted(sum), expected([&](auto u, auto v) { return u * v + u; }));
    const auto cube = ev.multiply(sum, x);
    EXPECT_EQ(cube.meta.correction, factors[cube.meta.level].product_factor);
    EXPECT_EQ(decrypted(cube), expected([&](auto u, auto v) { return modulo(u * v + u) * u; }))
        << static_cast<int>(technique);
    // What is decrypted is as if encoded.
    const rlwe::Plaintext opened = bgv::decrypt(cube, secret);
    EXPECT_EQ(opened.meta.noise_scale_degree, plain.meta.noise_scale_degree);
    EXPECT_EQ(opened.meta.correction, plain.meta.correction);
    // A plaintext brings the factor of its level.
    const auto scaled = ev.multiply_plain(x, plain);
    EXPECT_EQ(scaled.meta.noise_scale_degree,
              x.meta.noise_scale_degree == 2 ? 2 : x.meta.noise_scale_degree + 1);
    EXPECT_EQ(scaled.meta.correction, factors[scaled.meta.level].product_factor);
    EXPECT_EQ(decrypted(scaled), expected([&](auto u, auto v) { return u * v; }));
    auto shifted = ev.add(x, y);
    ev.add_plain_inplace(shifted, plain);
    EXPECT_EQ(decrypted(shifted), expected([&](auto u, auto v) { return u + 2 * v; }));
  }
}

}  // namespace
}  // namespace hemera::foreign_policies_tests
