#include "schemes/ckks/precise_embedding.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hemera::ckks {
namespace {

using arith::TwoDoubles;

PreciseComplex operator+(const PreciseComplex& a, const PreciseComplex& b) {
  return {a.real + b.real, a.imag + b.imag};
}
PreciseComplex operator-(const PreciseComplex& a, const PreciseComplex& b) {
  return {a.real + -b.real, a.imag + -b.imag};
}
PreciseComplex operator*(const PreciseComplex& a, const PreciseComplex& b) {
  return {a.real * b.real + -(a.imag * b.imag), a.real * b.imag + a.imag * b.real};
}
PreciseComplex conjugate(const PreciseComplex& a) { return {a.real, -a.imag}; }

TwoDoubles square_root(const TwoDoubles& a) {
  const double root = std::sqrt(a.value);
  const TwoDoubles rest = a + -(TwoDoubles{root} * TwoDoubles{root});
  return arith::exact_sum(root, rest.value / (2 * root));
}

// exp(2 pi i k / count), k < count, a power of two from 4 on: each the product of roots whose k are powers of
// two, and those by halving the angle.
std::vector<PreciseComplex> roots_of_unity(std::size_t count) {
  std::vector<PreciseComplex> roots(count);
  roots[0] = {{1}, {0}};
  PreciseComplex root{{0}, {1}};
  for (std::size_t k = count / 4; k > 0; k /= 2) {
    roots[k] = root;
    const TwoDoubles cosine = square_root((TwoDoubles{1} + root.real) * TwoDoubles{0.5});
    root = {cosine, root.imag / (TwoDoubles{2} * cosine)};
  }
  roots[count / 2] = {{-1}, {0}};
  for (std::size_t k = 3; k < count; ++k) {
    const std::size_t highest = std::bit_floor(k);
    if (k != highest) roots[k] = roots[highest] * roots[k - highest];
  }
  return roots;
}

// Butterflies of all strides with the roots exp(2 pi i 5^j / 8 half): from the longest stride to the
// shortest, (x, y) -> (x + y, (x - y) conj w), or back, (x, y) -> (x + w y, x - w y).
void butterflies(std::vector<PreciseComplex>& u, bool to_coefficients) {
  const std::size_t slots = u.size();
  const std::vector<PreciseComplex> roots = roots_of_unity(4 * slots);
  const auto stage = [&](std::size_t half) {
    std::size_t power = 1;  // 5^j modulo 8 half
    for (std::size_t j = 0; j < half; ++j) {
      const PreciseComplex& w = roots[power * (slots / (2 * half))];
      for (std::size_t a = j; a < slots; a += 2 * half) {
        const PreciseComplex x = u[a], y = u[a + half];
        if (to_coefficients) {
          u[a] = x + y;
          u[a + half] = (x - y) * conjugate(w);
        } else {
          const PreciseComplex turned = w * y;
          u[a] = x + turned;
          u[a + half] = x - turned;
        }
      }
      power = power * 5 % (8 * half);
    }
  };
  if (to_coefficients) {
    for (std::size_t half = slots / 2; half > 0; half /= 2) stage(half);
  } else {
    for (std::size_t half = 1; half < slots; half *= 2) stage(half);
  }
}

// Calls visit(k, k's bits in reverse) for k below a power of two.
template <typename Visit>
void for_reversed(std::size_t count, const Visit& visit) {
  std::size_t place = 0;
  for (std::size_t k = 0; k < count; ++k) {
    visit(k, place);
    std::size_t bit = count / 2;
    while (bit != 0 && (place & bit) != 0) {
      place ^= bit;
      bit /= 2;
    }
    place |= bit;
  }
}

arith::int128 rounded(const TwoDoubles& x) {
  const TwoDoubles whole = arith::nearest_integer(x);
  return static_cast<arith::int128>(whole.value) + static_cast<arith::int128>(whole.rest);
}

}  // namespace

std::vector<arith::int128> precise_coefficients(std::span<const PreciseComplex> values,
                                                const TwoDoubles& scale) {
  const std::size_t slots = values.size();
  std::vector<PreciseComplex> u(values.begin(), values.end());
  butterflies(u, true);
  // Coefficients k and n + k.
  const TwoDoubles factor = scale * TwoDoubles{1 / static_cast<double>(slots)};
  std::vector<arith::int128> result(2 * slots);
  for_reversed(slots, [&](std::size_t k, std::size_t place) {
    result[k] = rounded(u[place].real * factor);
    result[slots + k] = rounded(u[place].imag * factor);
  });
  return result;
}

std::vector<PreciseComplex> precise_slots(std::span<const TwoDoubles> coefficients) {
  const std::size_t slots = coefficients.size() / 2;
  std::vector<PreciseComplex> u(slots);
  for_reversed(slots, [&](std::size_t k, std::size_t place) {
    u[place] = {coefficients[k], coefficients[slots + k]};
  });
  butterflies(u, false);
  return u;
}

CenteredReader::CenteredReader(const poly::RnsBase& base) : base_(base), digits_(base.size()) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    const arith::Modulus& own = base.modulus(i);
    inverses_.emplace_back();
    for (std::size_t j = 0; j < i; ++j) {
      inverses_[i].push_back(arith::inverse(own.reduce(base.modulus(j).value()), own.value()));
    }
  }
}

TwoDoubles CenteredReader::operator()(const std::uint64_t* residues, std::size_t stride) {
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    const arith::Modulus& own = base_.modulus(i);
    std::uint64_t digit = residues[i * stride];
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t lower = own.reduce(digits_[j]);
      digit = own.multiply(digit >= lower ? digit - lower : digit + (own.value() - lower), inverses_[i][j]);
    }
    digits_[i] = digit;
  }
  // Half of an odd modulus has half of every modulus, rounded down, as its digits.
  bool is_negative = false;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    const std::uint64_t half = base_.modulus(i).value() / 2;
    if (digits_[i] == half) continue;
    is_negative = digits_[i] > half;
    break;
  }
  TwoDoubles magnitude{0};
  for (std::size_t i = digits_.size(); i-- > 0;) {
    const std::uint64_t q = base_.modulus(i).value();
    const std::uint64_t digit = is_negative ? q - 1 - digits_[i] : digits_[i];
    magnitude = magnitude * arith::exactly(q) + arith::exactly(digit);
  }
  return is_negative ? -(magnitude + TwoDoubles{1}) : magnitude;
}

}  // namespace hemera::ckks
