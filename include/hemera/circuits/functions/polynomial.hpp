// Polynomials with plain coefficients: parts of functions of encrypted values.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemera::circuits {

/// A plain factor: one number for every slot, or one for each.
using Coefficient = std::vector<std::complex<double>>;

/// The basis of the coefficients: the powers of x, or the Chebyshev polynomials T_k(t) of t in [-1, 1], to
/// which an interval is mapped.
enum class Basis : std::uint8_t { power, chebyshev };

/// The real values from `low` to `high`.
struct Interval {
  double low = -1;
  double high = 1;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// t = factor x + shift, which maps an interval to [-1, 1].
struct AffineMap {
  double factor = 1;
  double shift = 0;
};
AffineMap map_of(const Interval& interval);

/// `count`: the number of polynomials. `width`: numbers in each coefficient, 1 or one for each slot (a power
/// of two).
struct PolynomialShape {
  std::size_t count = 1;
  std::size_t width = 1;
};

/// One or more polynomials of the same x. Immutable.
class Polynomial {
 public:
  /// coefficients: [count, degree + 1, width], row-major, lowest power first. `interval` holds the values of
  /// x: with the Chebyshev basis it is mapped to [-1, 1]; with the power basis it is only the range for
  /// expected errors. Throws ParameterError for coefficients that are not finite or do not fill the shape,
  /// and intervals that are empty or not finite.
  Polynomial(std::vector<std::complex<double>> coefficients, Basis basis, Interval interval = {},
             PolynomialShape shape = {});

  [[nodiscard]] std::size_t count() const { return shape_.count; }
  [[nodiscard]] std::size_t width() const { return shape_.width; }
  /// The highest power with a coefficient that is not zero.
  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] Basis basis() const { return basis_; }
  [[nodiscard]] const Interval& interval() const { return interval_; }
  [[nodiscard]] const std::vector<std::complex<double>>& coefficients() const { return coefficients_; }
  [[nodiscard]] std::span<const std::complex<double>> coefficient(std::size_t which, std::size_t power) const;
  /// Whether the map of the interval takes a level of its own; otherwise it is taken by the scale of x.
  [[nodiscard]] bool maps_by_product() const;
  /// The same polynomial, whose map takes no level while the scales of its powers differ by at most `bits`
  /// bits (2 unless set): rounding takes as many bits of its precision. Throws ParameterError unless the
  /// number is from 0 to 60.
  [[nodiscard]] Polynomial with_map_bits(double bits) const;
  /// Levels that it takes: ceil(log2(degree + 1)), at least 1, and one more if maps_by_product().
  [[nodiscard]] std::size_t depth() const;
  /// The value in the clear, by Horner's rule or Clenshaw's.
  [[nodiscard]] std::complex<double> evaluate(std::size_t which, std::complex<double> x,
                                              std::size_t slot = 0) const;

 private:
  std::vector<std::complex<double>> coefficients_;
  Basis basis_;
  Interval interval_;
  PolynomialShape shape_;
  double map_bits_ = 2;
  std::size_t powers_ = 0;  // of which coefficients were given
  std::size_t degree_ = 0;
};

}  // namespace hemera::circuits
