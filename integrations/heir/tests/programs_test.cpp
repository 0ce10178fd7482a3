// Six of HEIR's examples that differ, beside the same arithmetic on plain numbers; emitted/ has the tests of
// the others.
#include <gtest/gtest.h>

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "session.hpp"

HEMERA_BEGIN_PROGRAMS
namespace batchnorm_sigmoid {
#include "programs/batchnorm_sigmoid.cpp"
}
namespace bgv_dot_product_8 {
#include "programs/bgv_dot_product_8.cpp"
}
namespace matvec {
#include "programs/matvec.cpp"
}
namespace roberts_cross {
#include "programs/roberts_cross.cpp"
}
namespace simple_ckks_bootstrapping {
#include "programs/simple_ckks_bootstrapping.cpp"
}
namespace validate_lower {
#include "programs/validate_lower.cpp"
}
HEMERA_END_PROGRAMS

namespace hemera::heir {
namespace {

using Floats = std::vector<float>;
using Shorts = std::vector<std::int16_t>;

TEST(HeirPrograms, DotProductOfBgv) {
  using namespace bgv_dot_product_8;
  const Shorts left = {1, -2, 3, 4, 5, -6, 7, 8}, right = {2, 3, 4, -5, 6, 7, 8, 9};
  const Session session(dot_product__generate_crypto_context, dot_product__configure_crypto_context);
  EXPECT_EQ(session.client.context()->scheme(), Scheme::bgv);
  const auto a = dot_product__encrypt__arg0(session.client, left, session.key);
  const auto b = dot_product__encrypt__arg1(session.client, right, session.key);
  EXPECT_EQ(dot_product__decrypt__result0(session.client, dot_product(session.server, a, b), session.secret),
            std::inner_product(left.begin(), left.end(), right.begin(), std::int64_t{0}));
}

TEST(HeirPrograms, OfThePage) {
  using namespace bgv_dot_product_8;
#include "page_program.inc"
  EXPECT_EQ(result, 240);
#include "page_context.inc"
  EXPECT_EQ(larger.context()->degree(), 32768u);
}

TEST(HeirPrograms, RobertsCross) {
  using namespace roberts_cross;
  const Session session(roberts_cross__generate_crypto_context, roberts_cross__configure_crypto_context);
  Shorts pixels(256);  // of at most 99, whose squares have 16 bits
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::int16_t>((37 * i + 11) % 100);
  // The image is a torus: what is beyond its last row comes back as the first one.
  const auto pixel = [&](int row, int column) {
    return pixels[static_cast<std::size_t>(((16 * row + column) % 256 + 256) % 256)];
  };
  Shorts expected;
  for (int at = 0; at < 256; ++at) {
    const int row = at / 16, column = at % 16;
    const int down = pixel(row - 1, column - 1) - pixel(row, column);
    const int up = pixel(row - 1, column) - pixel(row, column - 1);
    expected.push_back(static_cast<std::int16_t>(down * down + up * up));
  }
  const auto in = roberts_cross__encrypt__arg0(session.client, pixels, session.key);
  const auto out = roberts_cross::roberts_cross(session.server, in);
  EXPECT_EQ(roberts_cross__decrypt__result0(session.client, out, session.secret), expected);
}

TEST(HeirPrograms, MatrixVectorProduct) {
  using namespace matvec;
  const Session session(matvec__generate_crypto_context, matvec__configure_crypto_context);
  Floats x;
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i - 7) / 8);
  const auto out = matvec::matvec(session.server, matvec__encrypt__arg0(session.client, x, session.key),
                                  matvec__encrypt__zero__0(session.client, session.key));
  // Computed by NumPy from the matrix and the bias in the example's source.
  const std::vector<double> expected = {-2.012439011, 1.142745575,  -1.663565546, -0.470935630,
                                        1.338177916,  -0.799419132, -0.992602042, 0.805383879,
                                        0.341495494,  -0.468790790, -0.008480490, -0.526990789,
                                        2.185981890,  -0.458651750, -0.890237063, -0.987170734};
  const auto found = matvec__decrypt__result0(session.client, out, session.secret);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

TEST(HeirPrograms, Validation) {
  using namespace validate_lower;
  const Floats numbers = {0.1F, 0.2F, -0.3F, 0.4F, 0.5F, 0.6F, -0.7F, 0.8F};
  seen().clear();
  const Session session(test_validate_lower__generate_crypto_context,
                        test_validate_lower__configure_crypto_context);
  const auto in = test_validate_lower__encrypt__arg0(session.client, numbers, session.key);
  const auto out = test_validate_lower(session.server, session.secret, in);
  const Floats found = test_validate_lower__decrypt__result0(session.client, out, session.secret);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(found[i], 2 * numbers[i], 1e-6);
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_EQ(seen()[0].attributes.at("debug.name"), "input_val");
  EXPECT_EQ(seen()[1].attributes.at("debug.metadata"), "output_meta");
  EXPECT_NEAR(seen()[0].numbers[7], 0.8, 1e-6);
  EXPECT_NEAR(seen()[1].numbers[7], 1.6, 1e-6);
}

TEST(HeirPrograms, BatchNormalizationAndSigmoid) {
  using namespace batchnorm_sigmoid;
  const Session session(batchnorm_sigmoid__generate_crypto_context,
                        batchnorm_sigmoid__configure_crypto_context);
  for (const float x : {0.5F, -0.2F}) {
    const float mean = 0.1F, variance = 0.2F, gamma = 1, beta = 0.25F;
    const auto in = batchnorm_sigmoid__encrypt__arg0(session.client, x, session.key);
    const auto out = batchnorm_sigmoid::batchnorm_sigmoid(session.server, in, mean, variance, gamma, beta);
    const double normal = (x - mean) / std::sqrt(static_cast<double>(variance) + 1e-5) * gamma + beta;
    // The example's series have degree 3: its own test allows a tenth.
    EXPECT_NEAR(batchnorm_sigmoid__decrypt__result0(session.client, out, session.secret),
                1 / (1 + std::exp(-normal)), 0.1);
  }
}

/// On a ring that is not secure, of 8 slots.
Parameters bootstrapped(double magnitude) {
  Parameters parameters;
  parameters.depth = 2;
  parameters.slots = 8;
  parameters.degree = 1024;
  parameters.security = {};
  parameters.bootstrap = "test-40";
  parameters.bootstrap_magnitude = magnitude;
  return parameters;
}

TEST(HeirPrograms, Bootstrapping) {
  const Session session(bootstrapped(1), {.relinearization = true});
  const std::vector<double> x = {0.25, -0.5, 0.75, 1, 0, 0.125, -1, 0.625};
  Ciphertext used = session.client.encrypt(session.client.encode(x), session.key);
  const Plaintext one = session.server.encode(std::vector<double>{1});
  for (int i = 0; i < 2; ++i) used = session.server.rescale(session.server.multiply(used, one));
  const std::size_t top = session.client.context()->parameters().highest_user_level();
  EXPECT_EQ(used->meta.level, top - 2);
  const auto fresh = simple_ckks_bootstrapping::simple_ckks_bootstrapping(session.server, used);
  EXPECT_EQ(fresh->meta.level, top);
  const auto found = session.decrypted<double>(fresh, 8);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], x[i], 1e-4);
}

/// Values beyond 1 are divided before a bootstrap, where the program bounds them.
TEST(HeirPrograms, BootstrappingOfLargerValues) {
  const Session session(bootstrapped(16), {.relinearization = true});
  const std::vector<double> x = {16, -15.5, 0.25, 8, 0, -1, 12, 3};
  const Ciphertext in = session.client.encrypt(session.client.encode(x), session.key);
  const auto found =
      session.decrypted<double>(simple_ckks_bootstrapping::simple_ckks_bootstrapping(session.server, in), 8);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], x[i], 1e-3);
}

}  // namespace
}  // namespace hemera::heir

HEMERA_DEBUG_PORTS(validate_lower)
