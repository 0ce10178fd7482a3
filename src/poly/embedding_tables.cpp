#include "poly/embedding_tables.hpp"

#include <bit>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <string>

#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {
namespace {

// 160 bits: each root below is computed to an absolute error under 2^-150. Rounding it gives the correctly
// rounded double unless its exact value lies within that of a midpoint of two doubles; the tests compare with
// a wider computation.
using Real = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<160, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

struct Angle {
  Real cosine;
  Real sine;
};

// (cos, sin) of 2 pi k step / order for 0 <= k < count.
std::vector<Angle> angles(std::size_t count, std::size_t step, std::size_t order) {
  const Real unit = boost::math::constants::two_pi<Real>() * step / order;
  std::vector<Angle> result;
  result.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const Real angle = unit * k;
    result.push_back({cos(angle), sin(angle)});
  }
  return result;
}

// exp(2 pi i k / order) for 0 <= k <= order / 8, order a power of two >= 8: from two small tables by the
// addition theorem.
std::vector<std::complex<double>> first_octant(std::size_t order) {
  const std::size_t count = order / 8 + 1;
  const int bits = static_cast<int>(std::bit_width(count - 1));
  const std::size_t fine_count = std::size_t{1} << (bits / 2);
  const std::vector<Angle> fine = angles(fine_count, 1, order);
  const std::vector<Angle> coarse = angles((count + fine_count - 1) / fine_count, fine_count, order);
  std::vector<std::complex<double>> octant;
  octant.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const Angle& a = coarse[k / fine_count];
    const Angle& b = fine[k % fine_count];
    const Real cosine = a.cosine * b.cosine - a.sine * b.sine;
    const Real sine = a.sine * b.cosine + a.cosine * b.sine;
    octant.emplace_back(static_cast<double>(cosine), static_cast<double>(sine));
  }
  return octant;
}

// exp(2 pi i k / order) for any k, by reflection of the first octant: signs and exchanges only, so exactly as
// rounded.
std::complex<double> root(const std::vector<std::complex<double>>& octant, std::size_t k, std::size_t order) {
  const std::size_t quadrant = k / (order / 4);
  const std::size_t rest = k % (order / 4);
  std::complex<double> value = octant[rest <= order / 8 ? rest : order / 4 - rest];
  if (rest > order / 8) value = {value.imag(), value.real()};
  switch (quadrant) {
    case 0:
      return value;
    case 1:
      return {-value.imag(), value.real()};
    case 2:
      return {-value.real(), -value.imag()};
    default:
      return {value.imag(), -value.real()};
  }
}

}  // namespace

std::vector<std::complex<double>> embedding_roots(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < 2 || degree > (std::size_t{1} << 26)) {
    throw ParameterError("the embedding needs a degree that is a power of two in [2, 2^26], not " +
                         std::to_string(degree));
  }
  const std::size_t slots = degree / 2;
  const std::size_t order = 2 * degree < 8 ? 8 : 2 * degree;
  const std::vector<std::complex<double>> octant = first_octant(order);
  std::vector<std::complex<double>> roots(slots, {1.0, 0.0});
  std::vector<std::size_t> powers(slots, 1);  // 5^j modulo the order
  for (std::size_t j = 1; j < slots; ++j) powers[j] = powers[j - 1] * 5 % order;
  for (int level = 0; (std::size_t{1} << level) < slots; ++level) {
    const std::size_t blocks = std::size_t{1} << level;
    const std::size_t stride = order >> (level + 3);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t exponent = powers[arith::reverse_bits(b, level)] * stride % order;
      roots[blocks + b] = root(octant, exponent, order);
    }
  }
  return roots;
}

}  // namespace hemera::poly
