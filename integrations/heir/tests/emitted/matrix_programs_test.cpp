// HEIR's examples for CKKS on matrices, beside the same arithmetic on doubles.
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
namespace batch_matmul {
#include "batch_matmul.cpp"
}
namespace bicyclic_matmul {
#include "bicyclic_matmul.cpp"
}
namespace bicyclic_matmul_pt {
#include "bicyclic_matmul_pt.cpp"
}
namespace chained_matmul {
#include "chained_matmul.cpp"
}
namespace conv_1d {
#include "conv_1d.cpp"
}
namespace conv_2d {
#include "conv_2d.cpp"
}
namespace convolution {
#include "convolution.cpp"
}
namespace custom_arithmetization {
#include "custom_arithmetization.cpp"
}
namespace mnist {
#include "mnist.cpp"
}
HEMERA_END_PROGRAMS

namespace hemera::heir {
namespace {

using Floats = std::vector<float>;

/// Numbers from -1 to 1, which differ from one seed to the next.
Floats numbers(std::size_t count, double seed) {
  Floats result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(static_cast<float>(std::sin(seed + 0.7 * static_cast<double>(i))));
  return result;
}
/// [rows, inner] times [inner, columns].
std::vector<double> product(const float* a, const float* b, std::size_t rows, std::size_t inner,
                            std::size_t columns) {
  std::vector<double> result(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) {
      for (std::size_t j = 0; j < inner; ++j) {
        result[i * columns + k] +=
            static_cast<double>(a[i * inner + j]) * static_cast<double>(b[j * columns + k]);
      }
    }
  }
  return result;
}
template <typename Number>
void expect_near(const std::vector<Number>& found, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  EXPECT_LT(worst, bound);
}

TEST(HeirPrograms, BatchMatmul) {
  using namespace batch_matmul;
  const Session session(batch_matmul__generate_crypto_context, batch_matmul__configure_crypto_context);
  const Floats a = numbers(2 * 17 * 19, 0), b = numbers(2 * 19 * 21, 5);
  std::vector<double> expected;
  for (std::size_t batch = 0; batch < 2; ++batch) {
    const std::vector<double> one =
        product(a.data() + batch * 17 * 19, b.data() + batch * 19 * 21, 17, 19, 21);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  const auto out =
      batch_matmul::batch_matmul(session.server, batch_matmul__encrypt__arg0(session.client, a, session.key),
                                 batch_matmul__encrypt__arg1(session.client, b, session.key));
  expect_near(batch_matmul__decrypt__result0(session.client, out, session.secret), expected, 1e-5);
}

TEST(HeirPrograms, BicyclicMatmul) {
  using namespace bicyclic_matmul;
  const Session session(bicyclic_matmul__generate_crypto_context, bicyclic_matmul__configure_crypto_context);
  const Floats a = numbers(16 * 17, 1), b = numbers(17 * 19, 2);
  const auto out = bicyclic_matmul::bicyclic_matmul(
      session.server, bicyclic_matmul__encrypt__arg0(session.client, a, session.key),
      bicyclic_matmul__encrypt__arg1(session.client, b, session.key));
  expect_near(bicyclic_matmul__decrypt__result0(session.client, out, session.secret),
              product(a.data(), b.data(), 16, 17, 19), 1e-5);
}

TEST(HeirPrograms, BicyclicMatmulByPlainMatrix) {
  using namespace bicyclic_matmul_pt;
  const Session session(bicyclic_matmul_pt__generate_crypto_context,
                        bicyclic_matmul_pt__configure_crypto_context);
  const Floats a = numbers(13 * 14, 3), b = numbers(14 * 16, 4);
  const auto out = bicyclic_matmul_pt::bicyclic_matmul_pt(
      session.server, bicyclic_matmul_pt__encrypt__arg0(session.client, a, session.key), b);
  expect_near(bicyclic_matmul_pt__decrypt__result0(session.client, out, session.secret),
              product(a.data(), b.data(), 13, 14, 16), 1e-5);
}

/// The example's sums: eight of eight products with one row of diagonals each, turned by 512 slots more.
std::vector<double> by_diagonals(const std::vector<double>& x, const std::vector<double>& diagonals) {
  const std::size_t slots = x.size();
  std::vector<double> result(slots, 0.0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::size_t from = (slot + 512 * i) % slots;
      for (std::size_t j = 0; j < 8; ++j) {
        result[slot] += x[(from + 64 * j) % slots] * diagonals[(8 * i + j) * slots + from];
      }
    }
  }
  return result;
}

TEST(HeirPrograms, ChainedMatmul) {
  using namespace chained_matmul;
  const Session session(chained_matmul__generate_crypto_context, chained_matmul__configure_crypto_context);
  const auto doubles = [](std::size_t count, double seed) {
    const Floats floats = numbers(count, seed);
    return std::vector<double>(floats.begin(), floats.end());
  };
  const std::vector<double> x = doubles(4096, 1), first = doubles(64 * 4096, 2),
                            second = doubles(64 * 4096, 3);
  const auto out = chained_matmul::chained_matmul(
      session.server, chained_matmul__encrypt__arg0(session.client, x, session.key), first, second);
  expect_near(chained_matmul__decrypt__result0(session.client, out, session.secret),
              by_diagonals(by_diagonals(x, first), second), 1e-4);
}

TEST(HeirPrograms, Convolution1d) {
  using namespace conv_1d;
  const Session session(conv_1d__generate_crypto_context, conv_1d__configure_crypto_context);
  const Floats x = numbers(8, 1), filter = numbers(4, 2);
  std::vector<double> expected(5, 0.0);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 4; ++j)
      expected[i] += static_cast<double>(x[i + j]) * static_cast<double>(filter[j]);
  }
  const auto out = conv_1d::conv_1d(session.server, conv_1d__encrypt__arg0(session.client, x, session.key),
                                    filter, conv_1d__encrypt__zero__0(session.client, session.key));
  expect_near(conv_1d__decrypt__result0(session.client, out, session.secret), expected, 1e-6);
}

/// The polynomial that HEIR puts in the place of ReLU, as `--mlir-print-ir-after=polynomial-approximation`
/// shows it: a Chebyshev series on [-20, 20].
double relu(double x) {
  const double t = std::acos(x / 20);
  return 6.3393991028159498 + 10 * std::cos(t) + 4.3075053667521672 * std::cos(2 * t) -
         1.2656936164678267 * std::cos(4 * t);
}

TEST(HeirPrograms, NetworkOfTwoLayers) {
  using namespace mnist;
  Parameters parameters = mnist__parameters();
  parameters.security = {};
  const Session session(CryptoContext(parameters), mnist__configure_crypto_context);
  Floats x;
  for (std::size_t i = 0; i < 784; ++i)
    x.push_back(static_cast<float>(std::sin(0.013 * static_cast<double>(i * i)) / 2));
  const Floats w1 = numbers(512 * 784, 2), b1 = numbers(512, 3), b2 = numbers(10, 4);
  Floats w2 = numbers(10 * 512, 5);
  for (float& weight : w2) weight /= 16;
  std::vector<double> hidden = product(w1.data(), x.data(), 512, 784, 1);
  for (std::size_t i = 0; i < 512; ++i) {
    hidden[i] += static_cast<double>(b1[i]);
    ASSERT_LT(std::abs(hidden[i]), 20);
    hidden[i] = relu(hidden[i]);
  }
  std::vector<double> expected(b2.begin(), b2.end());
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < 512; ++j) expected[i] += static_cast<double>(w2[512 * i + j]) * hidden[j];
  }
  const auto out =
      mnist::mnist(session.server, w1, b1, w2, b2, mnist__encrypt__arg4(session.client, x, session.key),
                   mnist__encrypt__zero__0(session.client, session.key),
                   mnist__encrypt__zero__1(session.client, session.key));
  expect_near(mnist__decrypt__result0(session.client, out, session.secret), expected, 1e-3);
}

/// A [size, size] image by a [width, width] filter.
std::vector<double> convolved(const float* image, std::size_t size, const float* filter, std::size_t width) {
  std::vector<double> result;
  for (std::size_t row = 0; row + width <= size; ++row) {
    for (std::size_t column = 0; column + width <= size; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < width * width; ++i) {
        sum += static_cast<double>(image[(row + i / width) * size + column + i % width]) *
               static_cast<double>(filter[i]);
      }
      result.push_back(sum);
    }
  }
  return result;
}

TEST(HeirPrograms, Convolution2d) {
  using namespace conv_2d;
  const Session session(conv_2d__generate_crypto_context, conv_2d__configure_crypto_context);
  const Floats image = numbers(9, 1), filter = numbers(4, 2);
  const auto out =
      conv_2d::conv_2d(session.server, conv_2d__encrypt__arg0(session.client, image, session.key), filter);
  expect_near(conv_2d__decrypt__result0(session.client, out, session.secret),
              convolved(image.data(), 3, filter.data(), 2), 1e-6);
}

TEST(HeirPrograms, ConvolutionOfTwoFilters) {
  using namespace convolution;
  const Session session(convolution__generate_crypto_context, convolution__configure_crypto_context);
  const Floats image = numbers(16, 1), filters = numbers(18, 2);
  std::vector<double> expected = convolved(image.data(), 4, filters.data(), 3);
  const std::vector<double> second = convolved(image.data(), 4, filters.data() + 9, 3);
  expected.insert(expected.end(), second.begin(), second.end());
  const auto out =
      convolution::convolution(session.server, convolution__encrypt__arg0(session.client, image, session.key),
                               filters, convolution__encrypt__zero__0(session.client, session.key));
  expect_near(convolution__decrypt__result0(session.client, out, session.secret), expected, 1e-6);
}

TEST(HeirPrograms, CustomArithmetization) {
  using namespace custom_arithmetization;
  const Session session(matmul__generate_crypto_context, matmul__configure_crypto_context);
  const Floats x = numbers(16, 1), d0 = numbers(16, 2), d1 = numbers(16, 3), d2 = numbers(16, 4),
               d3 = numbers(16, 5);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t giant = (i + 8) % 16;
    expected.push_back(static_cast<double>(x[i]) * d0[i] + static_cast<double>(x[(i + 4) % 16]) * d1[i] +
                       static_cast<double>(x[giant]) * d2[giant] +
                       static_cast<double>(x[(giant + 4) % 16]) * d3[giant]);
  }
  const auto out =
      matmul(session.server, matmul__encrypt__arg0(session.client, x, session.key), d0, d1, d2, d3);
  expect_near(matmul__decrypt__result0(session.client, out, session.secret), expected, 1e-6);
}

}  // namespace
}  // namespace hemera::heir
