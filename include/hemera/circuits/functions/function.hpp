// Functions of encrypted values, slot by slot, as data: sums of products, and polynomials.
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "hemera/circuits/functions/polynomial.hpp"

namespace hemera::circuits {

/// A straight-line function of one or more inputs. It knows neither parameters nor levels: its depth, its
/// error and its values in the clear are known before there are any. A FunctionPlan makes a circuit of it.
class Function {
 public:
  /// The number of a value: inputs first, then the results of `add`.
  using Value = std::size_t;
  struct Product {
    Value a, b;
  };
  struct Term {
    Value value;
    Coefficient factor;
    /// The rest of a factor that is one real number, less its double. Values in the clear do without.
    double rest = 0;
  };
  /// factor (sum of products) + sum of terms + constant: one level. `factor` is 1, 2 or -1.
  struct Sum {
    int factor = 1;
    std::vector<Product> products = {};
    std::vector<Term> terms = {};
    Coefficient constant = {0};
    double constant_rest = 0;  ///< as Term::rest
    /// Where it is given, the sum takes no level. It has no products, and its factors are real numbers for
    /// all slots. They are rounded to as many bits after the point, from 1 to 60, by which the sum's scale is
    /// larger than that of its values; 0: one term, whose factor (above 0) the scale takes.
    std::optional<int> fraction_bits = std::nullopt;
  };
  /// The values of polynomials of x, one after the other.
  struct OfPolynomial {
    Value x;
    Polynomial polynomial;
  };

  /// The intervals that hold the inputs.
  explicit Function(std::vector<Interval> inputs);
  /// Polynomials of one input, their values the outputs.
  explicit Function(const Polynomial& polynomial);

  /// ParameterError for values that are not there, other factors, a sum of nothing, numbers that are not
  /// finite, coefficients of another number of slots than those before, or a sum without a level that needs
  /// one; the function stays as it was.
  Value add(Sum sum);
  /// The number of the first polynomial's value; the others follow.
  Value add(Value x, Polynomial polynomial);
  /// The outputs of another function of these values, one for each of its inputs. Its own intervals, error
  /// and bounds are not taken over. Throws ParameterError for another number of values, and as the others.
  std::vector<Value> add(const Function& other, std::span<const Value> inputs);
  void set_outputs(std::vector<Value> outputs);
  /// A bound on its distance from the approximated function, for inputs in their intervals.
  void set_error(double error) { error_ = error; }
  /// Bounds on the magnitude of the approximated outputs, for inputs in their intervals. Without them, bounds
  /// follow from the coefficients. Throws ParameterError unless there is one for each output.
  void set_largest(std::vector<double> largest);

  [[nodiscard]] const std::vector<Interval>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::variant<Sum, OfPolynomial>>& parts() const { return parts_; }
  [[nodiscard]] const std::vector<Value>& outputs() const { return outputs_; }
  [[nodiscard]] double error() const { return error_; }
  /// Empty unless set.
  [[nodiscard]] const std::vector<double>& largest() const { return largest_; }
  /// The same, or where they are not set, bounds that follow from the coefficients.
  [[nodiscard]] std::vector<double> bounds() const;
  /// Whether it is right outside its intervals as well: made of exact polynomials of the power basis, without
  /// any of the Chebyshev basis.
  [[nodiscard]] bool is_unbounded() const { return is_of_powers_ && error_ == 0; }
  /// Throws RangeError if values of these magnitudes, one bound for each input (infinite: not known), may lie
  /// beyond both ends of an interval.
  void require_in_intervals(std::span<const double> largest) const;
  /// Numbers in each coefficient: 1, or the number of slots.
  [[nodiscard]] std::size_t width() const { return kind_.width; }
  /// Whether real inputs have real outputs.
  [[nodiscard]] bool is_real() const { return kind_.is_real; }
  /// Levels that it takes.
  [[nodiscard]] std::size_t depth() const;
  /// Levels that one of its values takes. Throws ParameterError for a value that is not there.
  [[nodiscard]] std::size_t depth_of(Value value) const;
  /// [output][slot] from [input][slot]. Throws ParameterError for another number of inputs, rows of different
  /// length, or of another one than the width.
  [[nodiscard]] std::vector<std::vector<std::complex<double>>> evaluate(
      std::span<const std::vector<std::complex<double>>> inputs) const;

 private:
  struct Kind {
    std::size_t width = 1;
    bool is_real = true;
  };

  void require(Value value) const;
  /// The kind together with coefficients of `width` numbers each.
  [[nodiscard]] static Kind with(Kind kind, std::span<const std::complex<double>> coefficients,
                                 std::size_t width);

  std::vector<Interval> inputs_;
  std::vector<std::variant<Sum, OfPolynomial>> parts_;
  std::vector<Value> outputs_;
  std::vector<std::size_t> depths_;  // of each value
  Kind kind_;
  bool is_of_powers_ = false;
  double error_ = 0;
  std::vector<double> largest_;
};

}  // namespace hemera::circuits
