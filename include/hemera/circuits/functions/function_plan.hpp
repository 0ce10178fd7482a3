// Circuits of functions: their keys and cost at a level, and their evaluation on ciphertexts.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hemera/circuits/functions/function.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

class Lowering;

struct FunctionPlanOptions {
  /// Level of the inputs; default: the user's highest.
  std::optional<std::size_t> level = std::nullopt;
  /// Scale of the inputs; default: the level's.
  std::optional<double> scale = std::nullopt;
  /// The rest of that scale beside its double; only with doubles_by_scale.
  double scale_rest = 0;
  /// Slots of the inputs, for the expected error; 0: the coefficients' number, or N/2.
  std::size_t slots = 0;
  /// Whether results of sums may have other scales than their levels' (see results()). Then factors of
  /// products only drop limbs; otherwise a division brings each to its level's scale. In a sum of several,
  /// the first factors of all but one are then to be sums of terms, or to begin with such.
  bool results_drift = false;
  /// Keys over the primes of the levels with products, and no others. They are shorter and take less time
  /// than one of the parameters' own keys, which serves all levels below too.
  bool own_keys = false;
  /// Whether sums of twice the products are these products at half the scale, at no cost: for chains whose
  /// levels have the scales that this leads to.
  bool doubles_by_scale = false;
  /// Whether inputs are stacks of real and imaginary parts, [2, ...], and the output is real + i imaginary,
  /// [...]: the last step, which has a product, joins the parts before its division, and so rounds once.
  /// Costs are those of both parts.
  bool joins_parts = false;
  /// Whether the last step, a sum with a product, leaves its rescale to those who take the only output: the
  /// result has the level and scale of that product, and the noise-scale degree 2.
  bool leaves_rescale = false;
  /// Whether levels may be others than the user's, as those of a bootstrap are.
  bool reserved_levels = false;
};

/// One step: factor (sum of products) + sum of terms + constant, relinearized once and rescaled once. Where
/// it is not rescaled it is a sum of terms, Function::Sum::fraction_bits, or the last step
/// (FunctionPlanOptions::leaves_rescale).
struct FunctionStep {
  /// Where products are taken; operands of higher levels drop limbs.
  std::size_t level = 0;
  /// The scale of the sum before its rescale: every product and term has exactly this scale, up to the
  /// rounding of doubles.
  double scale = 0;
  bool rescaled = true;
  int fraction_bits = 0;
  int factor = 1;
  /// Whether the scale takes a factor of 2.
  bool doubles_by_scale = false;
  std::vector<Function::Product> products = {};
  std::vector<Function::Term> terms = {};
  Coefficient constant = {0};
  double constant_rest = 0;  ///< Function::Sum::constant_rest
  /// Errors of the inputs' factors, which are rounded to multiples of 1 / scale, and the value of a single
  /// input at which that makes none.
  std::vector<double> factor_errors = {};
  double fixed = 0;
  std::size_t result_level = 0;
  double result_scale = 0;
  /// The rests of both scales beside their doubles, where the scales take factors of 2 (doubles_by_scale).
  double scale_rest = 0, result_scale_rest = 0;

  /// Whether it takes one term by its scale.
  [[nodiscard]] bool is_mapped() const { return !rescaled && fraction_bits == 0 && products.empty(); }
};

/// A relinearization key of several levels.
struct SharedKey {
  std::set<std::size_t> levels;
  rlwe::GadgetPrimes gadget;
};

/// A plan: how a function is taken at a level. Polynomials are split as p = q T_g + r, g a power of two (M.
/// Paterson, L. Stockmeyer, "On the number of nonscalar multiplications necessary to evaluate polynomials",
/// 1973; in the Chebyshev basis H. Chen, I. Chillotti, Y. Song, 2018/1043), with scales chosen from the
/// result down (J.-P. Bossuat, C. Mouchet, J. Troncoso-Pastoriza, J.-P. Hubaux, 2020/1203, section 5). All
/// that is added at one level is one sum here: one relinearization and one rescale. Sums of one level that
/// follow each other are a batch, which is relinearized and rescaled together. It needs a relinearization key
/// with the gadget of the highest level that has a product; none without products. Immutable.
class FunctionPlan : public Plan {
 public:
  /// LevelError where the level is not the user's, or has fewer user levels below it than the function's
  /// depth; ParameterError for parts that no last product joins, a number of slots that does not fit, scales
  /// out of range and functions without outputs; MismatchError for another scheme than CKKS; ScaleError for
  /// inputs of another scale than their level's, where products of one sum then have several.
  FunctionPlan(const rlwe::Parameters& parameters, Function function,
               const FunctionPlanOptions& options = {});

  [[nodiscard]] const Function& function() const { return function_; }
  [[nodiscard]] double scale() const { return ends_.scale; }
  /// The rest of the inputs' scale beside its double.
  [[nodiscard]] double scale_rest() const { return scale_rest_; }
  /// Level and scale of each output. Outputs of polynomials have exactly the scale of their level.
  [[nodiscard]] const std::vector<rlwe::PlainOperand>& results() const { return results_; }
  /// The steps in their order; step i makes value inputs + i, which products and terms name.
  [[nodiscard]] const std::vector<FunctionStep>& steps() const { return steps_; }
  /// The same with own_keys, and these keys for the products of their levels.
  [[nodiscard]] FunctionPlan with_shared_keys(std::vector<SharedKey> keys) const;
  /// Whether the last step joins real and imaginary parts.
  [[nodiscard]] bool joins_parts() const { return joins_parts_; }
  /// [output][slot] in the clear, by these steps. ParameterError as Function::evaluate.
  [[nodiscard]] std::vector<std::vector<std::complex<double>>> evaluate_clear(
      std::span<const std::vector<std::complex<double>>> inputs) const;

 private:
  friend class PreparedFunction;

  void lower(Lowering lowering);
  void round_factors();
  void require_levels(const rlwe::Parameters& parameters, const FunctionPlanOptions& options) const;
  /// Throws ParameterError unless the only output is the last step, which has a product.
  void require_last_product(const char* option) const;
  void leave_rescale();
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// Each rescale adds the rounding of its two components, which the derivative carries to the result. The
  /// mean is over the intervals, the worst place one of their values. Where noise takes values out of the
  /// interval of a polynomial that follows, or to where iterations grow, both are that of draws of it.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;
  /// The values of all inputs and steps, at numbers from -1 to 1 for the intervals of the inputs.
  [[nodiscard]] std::vector<std::complex<double>> values_at(const std::vector<double>& places,
                                                            std::size_t slot) const;
  /// Places where a polynomial that others follow is steep, and near them; near the ends of intervals.
  [[nodiscard]] std::vector<std::vector<double>> noisy_places() const;
  /// The largest error in a few draws of noise, each with the tails of that of all copies of the slots.
  [[nodiscard]] double drawn_error(double input_error) const;
  /// The last step that takes each value; the number of steps for outputs.
  [[nodiscard]] std::vector<std::size_t> last_uses() const;

  Function function_;
  bool own_keys_, joins_parts_;
  std::vector<SharedKey> shared_keys_ = {};
  double scale_rest_;
  std::size_t slots_;
  std::vector<FunctionStep> steps_;
  std::vector<std::size_t> outputs_;
  std::vector<std::size_t> polynomials_;  // the values of the function that are polynomials of others
  std::vector<rlwe::PlainOperand> results_;
  std::vector<double> largest_;  // of each output, over the intervals
};

/// The same with its coefficients encoded in a context's memory.
class PreparedFunction {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedFunction(rlwe::ContextPointer context, const FunctionPlan& plan);
  PreparedFunction(PreparedFunction&&) = default;
  PreparedFunction& operator=(PreparedFunction&&) = default;
  PreparedFunction(const PreparedFunction&) = delete;
  PreparedFunction& operator=(const PreparedFunction&) = delete;
  ~PreparedFunction() = default;

  [[nodiscard]] const FunctionPlan& plan() const { return plan_; }
  /// The outputs, each for the whole batch. Inputs may be at higher levels, wait for their rescale or be
  /// three components long. Throws MissingKeyError without a relinearization key, MismatchError for another
  /// number of inputs or of slots, LevelError for an input at a lower level, ScaleError for one of another
  /// scale at that level, RangeError for declared bounds (Metadata::largest) beyond an interval. Results have
  /// a bound where all inputs have one.
  [[nodiscard]] std::vector<rlwe::Ciphertext> operator()(
      const ckks::Evaluator& evaluator, std::span<const rlwe::Ciphertext* const> inputs) const;
  /// The same for inputs that are needed no more: their memory is given back after their last use.
  [[nodiscard]] std::vector<rlwe::Ciphertext> operator()(const ckks::Evaluator& evaluator,
                                                         std::vector<rlwe::Ciphertext> inputs) const;

  /// One of the parts that the last step joins.
  enum class Part : std::uint8_t { real, imaginary };
  /// The products of that step for one part alone, without the stack's first axis: those of the imaginary
  /// part are multiplied by i. The sum of both parts' (rlwe::add_from), which may come from several contexts,
  /// gives the result of the stack by joined(), to the bit. Throws as the operator, and MismatchError for a
  /// plan that joins no parts.
  [[nodiscard]] rlwe::Ciphertext part(const ckks::Evaluator& evaluator, rlwe::Ciphertext input,
                                      Part which) const;
  [[nodiscard]] rlwe::Ciphertext joined(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& sum) const;

 private:
  class Evaluation;

  void check(const ckks::Evaluator& evaluator, std::size_t inputs) const;
  void require_joining() const;

  rlwe::ContextPointer context_;
  FunctionPlan plan_;
  std::map<std::size_t, double> multiples_;  // by step that lowers a value: its factor before the division
  // Terms of each step, as residues where all are real numbers, else plaintexts; and constants that are not
  // one real number.
  std::map<std::size_t, std::vector<std::vector<std::uint64_t>>> numbers_;
  std::map<std::size_t, std::vector<rlwe::Plaintext>> factors_;
  std::map<std::size_t, rlwe::Plaintext> constants_;
  rlwe::Plaintext imaginary_unit_;  // at the level where parts are joined
};

}  // namespace hemera::circuits
