// HEIR's examples for CKKS on vectors, with loops and bootstraps, beside the same arithmetic on doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "session.hpp"

HEMERA_BEGIN_PROGRAMS
namespace dot_product_8f {
#include "dot_product_8f.cpp"
}
namespace dot_product_8f_debug {
#include "dot_product_8f_debug.cpp"
}
namespace loop {
#include "loop.cpp"
}
namespace parallel_rotations {
#include "parallel_rotations.cpp"
}
namespace rotations {
#include "rotations.cpp"
}
HEMERA_END_PROGRAMS

namespace hemera::heir {
namespace {

using Floats = std::vector<float>;

const Floats first = {0.1F, 0.2F, -0.3F, 0.4F, 0.5F, 0.6F, -0.7F, 0.8F};
const Floats second = {0.2F, 0.3F, 0.4F, -0.5F, 0.6F, 0.7F, 0.8F, 0.9F};

/// The example adds 0.1 to the product.
double dot() {
  double sum = 0.1;
  for (std::size_t i = 0; i < first.size(); ++i)
    sum += static_cast<double>(first[i]) * static_cast<double>(second[i]);
  return sum;
}

/// Whether a port saw these numbers.
bool saw(const std::vector<double>& expected) {
  return std::any_of(seen().begin(), seen().end(), [&](const Seen& port) {
    return std::equal(expected.begin(), expected.end(), port.numbers.begin(),
                      [](double a, double b) { return std::abs(a - b) < 1e-6; });
  });
}

TEST(HeirPrograms, DotProductOfReals) {
  using namespace dot_product_8f;
  const Session session(dot_product__generate_crypto_context, dot_product__configure_crypto_context);
  const auto a = dot_product__encrypt__arg0(session.client, first, session.key);
  const auto b = dot_product__encrypt__arg1(session.client, second, session.key);
  EXPECT_NEAR(
      dot_product__decrypt__result0(session.client, dot_product(session.server, a, b), session.secret), dot(),
      1e-6);
}

TEST(HeirPrograms, DebugPortsOfCkks) {
  using namespace dot_product_8f_debug;
  seen().clear();
  const Session session(dot_product__generate_crypto_context, dot_product__configure_crypto_context);
  const auto a = dot_product__encrypt__arg0(session.client, first, session.key);
  const auto b = dot_product__encrypt__arg1(session.client, second, session.key);
  const auto out = dot_product(session.server, session.secret, a, b);
  EXPECT_NEAR(dot_product__decrypt__result0(session.client, out, session.secret), dot(), 1e-6);
  std::vector<double> products;
  for (std::size_t i = 0; i < first.size(); ++i) {
    products.push_back(static_cast<double>(first[i]) * static_cast<double>(second[i]));
  }
  EXPECT_TRUE(saw(products));
  EXPECT_NEAR(seen().back().numbers[0], dot(), 1e-6);
  EXPECT_EQ(seen().front().attributes.at("debug.name"), "heir_debug_0");
}

Parameters small(std::size_t depth) {
  Parameters parameters;
  parameters.depth = depth;
  parameters.slots = 64;
  parameters.degree = 1024;
  parameters.security = {};
  return parameters;
}

/// Each of 25 results is the input, turned by one step more.
template <typename Run>
void turned(Run run) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step <= 25; ++step) steps.push_back(step);
  const Session session(small(1), {.rotations = steps});
  std::vector<double> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  const std::vector<Ciphertext> in = {session.client.encrypt(session.client.encode(x), session.key)};
  const std::vector<Ciphertext> out = run(session.server, in);
  ASSERT_EQ(out.size(), steps.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto found = session.decrypted<double>(out[k], 64);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(found[i], x[(i + k + 1) % 64], 1e-6);
  }
}

TEST(HeirPrograms, Rotations) { turned(rotations::rotations); }
TEST(HeirPrograms, ParallelRotations) { turned(parallel_rotations::parallel_rotations); }

TEST(HeirPrograms, LoopWithBootstraps) {
  seen().clear();
  const Session session(loop::loop__generate_crypto_context, loop::loop__configure_crypto_context);
  Floats x;
  for (int i = 0; i < 8; ++i) x.push_back(static_cast<float>(i) / 7);
  const auto in = loop::loop__encrypt__arg0(session.client, x, session.key);
  const auto out = loop::loop(session.server, session.secret, in);
  const Floats found = loop::loop__decrypt__result0(session.client, out, session.secret);
  for (std::size_t i = 0; i < 8; ++i) {
    double expected = 1;
    for (int step = 0; step < 8; ++step) expected = static_cast<double>(x[i]) * expected - 1;
    EXPECT_NEAR(found[i], expected, 1e-3);
  }
  EXPECT_GT(seen().size(), 20u);
}

}  // namespace
}  // namespace hemera::heir

HEMERA_DEBUG_PORTS(dot_product_8f_debug)
HEMERA_DEBUG_PORTS(loop)
