#include "poly/embedding_tables.hpp"

#include <gtest/gtest.h>

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {
namespace {

using Real = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<320, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

bool is_nearest(const Real& exact, double rounded) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Real error = abs(exact - rounded);
  return error <= abs(exact - std::nextafter(rounded, infinity)) &&
         error <= abs(exact - std::nextafter(rounded, -infinity));
}

// Index of a root as a power of exp(2 pi i / 2N): entry 2^l + b has 5^reverse(b) * 2N / 2^(l + 3).
std::size_t exponent_of(std::size_t entry, std::size_t degree) {
  int level = 0;
  while (entry >> (level + 1) != 0) ++level;
  const std::size_t order = std::size_t{1} << (level + 3);
  std::size_t power = 1;
  for (std::size_t j = arith::reverse_bits(entry - (std::size_t{1} << level), level); j > 0; --j) {
    power = power * 5 % order;
  }
  return power * (2 * degree / order);
}

TEST(EmbeddingTables, RootsAreCorrectlyRoundedAtRandomIndices) {
  constexpr std::size_t degree = std::size_t{1} << 17;
  const auto roots = embedding_roots(degree);
  ASSERT_EQ(roots.size(), degree / 2);
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t entry =
        trial < 64 ? 1 + static_cast<std::size_t>(trial) : 1 + random() % (degree / 2 - 1);
    const Real angle = boost::math::constants::two_pi<Real>() * exponent_of(entry, degree) / (2 * degree);
    EXPECT_TRUE(is_nearest(cos(angle), roots[entry].real())) << entry;
    EXPECT_TRUE(is_nearest(sin(angle), roots[entry].imag())) << entry;
  }
}

// All, by powers of one root: 320 bits leave an error far below the distance of any entry to a midpoint.
TEST(EmbeddingTables, EveryRootIsCorrectlyRounded) {
  constexpr std::size_t degree = std::size_t{1} << 14;
  const auto roots = embedding_roots(degree);
  const Real angle = boost::math::constants::two_pi<Real>() / (2 * degree);
  const Real cosine = cos(angle), sine = sin(angle);
  std::vector<std::size_t> entry_of(2 * degree, 0);
  for (std::size_t entry = 1; entry < roots.size(); ++entry) entry_of[exponent_of(entry, degree)] = entry;
  Real x = 1, y = 0;
  std::size_t seen = 0;
  for (std::size_t k = 0; k < 2 * degree; ++k) {
    if (const std::size_t entry = entry_of[k]; entry != 0) {
      ++seen;
      ASSERT_TRUE(is_nearest(x, roots[entry].real()) && is_nearest(y, roots[entry].imag())) << entry;
    }
    const Real next = x * cosine - y * sine;
    y = x * sine + y * cosine;
    x = next;
  }
  EXPECT_EQ(seen, roots.size() - 1);
}

TEST(EmbeddingTables, ASmallerDegreeHasAPrefixOfTheTable) {
  const auto large = embedding_roots(std::size_t{1} << 17);
  for (std::size_t degree = 2; degree <= (std::size_t{1} << 16); degree *= 2) {
    const auto small = embedding_roots(degree);
    ASSERT_EQ(small.size(), degree / 2);
    EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin())) << degree;
  }
}

TEST(EmbeddingTables, RefusesADegreeThatIsNoPowerOfTwo) {
  EXPECT_THROW(embedding_roots(1000), ParameterError);
  EXPECT_THROW(embedding_roots(1), ParameterError);
}

}  // namespace
}  // namespace hemera::poly
