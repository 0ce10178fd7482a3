// HEIR's examples for BFV and BGV, beside the same arithmetic on plain integers.
#include <gtest/gtest.h>

#include <algorithm>
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
namespace bfv_dot_product_8 {
#include "bfv_dot_product_8.cpp"
}
namespace bfv_dot_product_8_debug {
#include "bfv_dot_product_8_debug.cpp"
}
namespace bgv_dot_product_8_debug {
#include "bgv_dot_product_8_debug.cpp"
}
namespace bgv_dot_product_8_sk {
#include "bgv_dot_product_8_sk.cpp"
}
namespace binops {
#include "binops.cpp"
}
namespace box_blur {
#include "box_blur.cpp"
}
namespace ciphertext_plaintext_ops {
#include "ciphertext_plaintext_ops.cpp"
}
namespace cmux {
#include "cmux.cpp"
}
namespace ext_const {
#include "ext_const.cpp"
}
namespace simple_sum {
#include "simple_sum.cpp"
}
HEMERA_END_PROGRAMS

namespace hemera::heir {
namespace {

using Integers = std::vector<std::int64_t>;
using Shorts = std::vector<std::int16_t>;

const Shorts first = {1, -2, 3, 4, 5, -6, 7, 8};
const Shorts second = {2, 3, 4, -5, 6, 7, 8, 9};
std::int64_t dot() { return std::inner_product(first.begin(), first.end(), second.begin(), std::int64_t{0}); }

TEST(HeirPrograms, DotProductOfBfv) {
  using namespace bfv_dot_product_8;
  const Session session(dot_product__generate_crypto_context, dot_product__configure_crypto_context);
  EXPECT_EQ(session.client.context()->scheme(), Scheme::bfv);
  const auto a = dot_product__encrypt__arg0(session.client, first, session.key);
  const auto b = dot_product__encrypt__arg1(session.client, second, session.key);
  EXPECT_EQ(dot_product__decrypt__result0(session.client, dot_product(session.server, a, b), session.secret),
            dot());
}

TEST(HeirPrograms, DotProductOfSecretKeyEncryptions) {
  using namespace bgv_dot_product_8_sk;
  const Session session(dot_product__generate_crypto_context, dot_product__configure_crypto_context);
  const auto a = dot_product__encrypt__arg0(session.client, first, session.secret);
  const auto b = dot_product__encrypt__arg1(session.client, second, session.secret);
  EXPECT_EQ(dot_product__decrypt__result0(session.client, dot_product(session.server, a, b), session.secret),
            dot());
}

/// A debug port after each operation sees its result: the product first, the masked sum last.
template <typename Generate, typename Configure, typename Encrypt0, typename Encrypt1, typename Run,
          typename Decrypt>
void debugged(Generate generate, Configure configure, Encrypt0 encrypt0, Encrypt1 encrypt1, Run run,
              Decrypt decrypt) {
  seen().clear();
  const Session session(generate, configure);
  const auto a = encrypt0(session.client, first, session.key);
  const auto b = encrypt1(session.client, second, session.key);
  EXPECT_EQ(decrypt(session.client, run(session.server, session.secret, a, b), session.secret), dot());
  ASSERT_GE(seen().size(), 10u);
  EXPECT_TRUE(std::any_of(seen().begin(), seen().end(), [](const Seen& port) {
    return port.numbers == std::vector<double>{2, -6, 12, -20, 30, -42, 56, 72};
  }));
  EXPECT_EQ(seen().back().numbers[0], dot());
  EXPECT_EQ(seen().front().attributes.at("debug.name"), "heir_debug_0");
}

TEST(HeirPrograms, DebugPortsOfBfv) {
  using namespace bfv_dot_product_8_debug;
  debugged(dot_product__generate_crypto_context, dot_product__configure_crypto_context,
           dot_product__encrypt__arg0, dot_product__encrypt__arg1, dot_product,
           dot_product__decrypt__result0);
}

TEST(HeirPrograms, DebugPortsOfBgv) {
  using namespace bgv_dot_product_8_debug;
  debugged(dot_product__generate_crypto_context, dot_product__configure_crypto_context,
           dot_product__encrypt__arg0, dot_product__encrypt__arg1, dot_product,
           dot_product__decrypt__result0);
}

Shorts image() {
  Shorts pixels(256);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::int16_t>((37 * i + 11) % 256);
  return pixels;
}
/// A pixel of the image as a torus: rows and columns that are beyond it come back on the other side.
int pixel(const Shorts& pixels, int row, int column) {
  return pixels[static_cast<std::size_t>(((16 * row + column) % 256 + 256) % 256)];
}

TEST(HeirPrograms, BoxBlur) {
  const Session session(box_blur::box_blur__generate_crypto_context,
                        box_blur::box_blur__configure_crypto_context);
  const Shorts pixels = image();
  Shorts expected(256, 0);
  for (int at = 0; at < 256; ++at) {
    for (int i = -1; i <= 1; ++i) {
      for (int j = -1; j <= 1; ++j) {
        expected[static_cast<std::size_t>(at)] = static_cast<std::int16_t>(
            expected[static_cast<std::size_t>(at)] + pixel(pixels, at / 16 + i, at % 16 + j));
      }
    }
  }
  const auto in = box_blur::box_blur__encrypt__arg0(session.client, pixels, session.key);
  const auto out = box_blur::box_blur(session.server, in);
  EXPECT_EQ(box_blur::box_blur__decrypt__result0(session.client, out, session.secret), expected);
}

TEST(HeirPrograms, SimpleSum) {
  using namespace simple_sum;
  const Session session(simple_sum__generate_crypto_context, simple_sum__configure_crypto_context);
  Shorts numbers(32);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<std::int16_t>(100 - 13 * static_cast<int>(i));
  const auto in = simple_sum__encrypt__arg0(session.client, numbers, session.key);
  EXPECT_EQ(simple_sum__decrypt__result0(session.client, simple_sum::simple_sum(session.server, in),
                                         session.secret),
            std::accumulate(numbers.begin(), numbers.end(), 0));
}

TEST(HeirPrograms, Cmux) {
  const Session session(cmux::cmux__generate_crypto_context, cmux::cmux__configure_crypto_context);
  for (const bool condition : {false, true}) {
    const auto in = cmux::cmux__encrypt__arg2(session.client, condition, session.key);
    const auto out = cmux::cmux(session.server, 1234, -77, in);
    EXPECT_EQ(cmux::cmux__decrypt__result0(session.client, out, session.secret), condition ? 1234 : -77);
  }
}

Parameters of_three_levels() {
  Parameters parameters;
  parameters.scheme = Scheme::bgv;
  parameters.depth = 2;
  parameters.slots = 16;
  parameters.plain_modulus = 65537;
  parameters.degree = 1024;
  parameters.security = {};
  return parameters;
}

TEST(HeirPrograms, BinaryOperations) {
  const Session session(of_three_levels(), {.relinearization = true});
  const Integers a = {1, 2, 3, 4, 5, 6, 7, -8, 9, 10, 11, 12, 0, 100, -3, 1};
  const Integers b = {3, 2, 1, 4, -5, 6, 7, 8, 9, 10, 0, 12, 5, -99, 2, 2};
  Integers expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back((a[i] + b[i]) * (a[i] - b[i]));
  const auto result =
      binops::test_binops(session.server, session.client.encrypt(session.client.encode(a), session.key),
                          session.client.encrypt(session.client.encode(b), session.key));
  EXPECT_EQ(session.decrypted<std::int64_t>(result, 16), expected);
}

TEST(HeirPrograms, OperationsWithPlaintexts) {
  const Session session(of_three_levels(), {});
  const Integers a = {1, 2, 3, 4, 5, 6, 7, -8}, b = {3, 2, 1, 4, -5, 6, 7, 8}, c = {1, 0, 9, 4, 4, 2, -6, 5},
                 d = {1, 2, 1, -2, 1, 2, 1, 20};
  Integers expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back((a[i] + b[i] - c[i]) * d[i]);
  const auto result = ciphertext_plaintext_ops::test_ciphertext_plaintext_ops(
      session.server, session.client.encrypt(session.client.encode(a), session.key), session.server.encode(b),
      session.server.encode(c), session.server.encode(d));
  EXPECT_EQ(session.decrypted<std::int64_t>(result, 8), expected);
}

TEST(HeirPrograms, Constants) { EXPECT_EQ(ext_const::test_fn(), (std::vector<std::int32_t>{1, 2, 3, 4})); }

}  // namespace
}  // namespace hemera::heir

HEMERA_DEBUG_PORTS(bfv_dot_product_8_debug)
HEMERA_DEBUG_PORTS(bgv_dot_product_8_debug)
