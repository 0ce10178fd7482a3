// One run of a function through its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "circuits/functions/function_rows.hpp"
#include "hemera/arith/two_doubles.hpp"
#include "hemera/circuits/functions/function_plan.hpp"

namespace hemera::circuits {

inline constexpr const char* function_operation = "function";

/// The residues of a number at a scale. Throws ParameterError if it does not fit the base.
std::vector<std::uint64_t> scaled_number(const arith::TwoDoubles& value, const arith::TwoDoubles& scale,
                                         const poly::RnsBase& base);
/// The constant of a step, a real number, at the step's scale; `after`: at that of its result.
std::vector<std::uint64_t> scaled_constant(const FunctionStep& step, const poly::RnsBase& base,
                                           bool after = false);

class PreparedFunction::Evaluation {
 public:
  /// The prepared function and the evaluator must outlive this. `part`: of two that are joined later.
  Evaluation(const PreparedFunction& prepared, const ckks::Evaluator& evaluator,
             std::optional<Part> part = {})
      : prepared_(prepared), context_(*prepared.context_), evaluator_(evaluator), part_(part) {}

  /// Inputs that stay as they are, and outlive this.
  void take(std::span<const rlwe::Ciphertext* const> inputs);
  /// Inputs at the plan's level and scale, whose memory is used again.
  void take(std::vector<rlwe::Ciphertext> inputs);
  std::vector<rlwe::Ciphertext> run();
  /// The result, from the sum of both parts' products.
  rlwe::Ciphertext joined(const rlwe::Ciphertext& sum);

 private:
  using Value = Function::Value;

  struct Held {
    const rlwe::Ciphertext* outside = nullptr;  // an input that is used as it is
    rlwe::Metadata meta = {};
    std::shared_ptr<poly::Poly> poly = nullptr;          // of the value, or of a batch of values
    std::size_t first = 0;                               // where in a batch it begins
    std::map<std::size_t, rlwe::Ciphertext> lower = {};  // copies at lower levels
  };

  const rlwe::Ciphertext* fitted(const rlwe::Ciphertext& input);
  [[nodiscard]] std::vector<double> result_bounds() const;
  rlwe::Ciphertext output(Value value);

  // Values.
  [[nodiscard]] const rlwe::Metadata& meta(Value value) const;
  [[nodiscard]] const poly::RnsBase& base(Value value) const;
  [[nodiscard]] poly::ConstPolyView whole(Value value) const;
  [[nodiscard]] rlwe::Ciphertext copied(Value value) const;
  const rlwe::Ciphertext& at(Value value, std::size_t level);
  poly::ConstPolyView view(Value value, std::size_t level);
  void store(rlwe::Ciphertext result, const FunctionStep& step);
  void release(std::size_t step, const std::vector<std::size_t>& last);
  [[nodiscard]] rlwe::Metadata metadata(const FunctionStep& step) const;
  [[nodiscard]] static rlwe::Metadata waiting(rlwe::Metadata result, const FunctionStep& step);

  void run_step(std::size_t number, const std::vector<std::size_t>& last);
  [[nodiscard]] bool is_even(const FunctionRow& row) const;
  /// The result of a rescaled step, at the beginning of an array of several.
  [[nodiscard]] Held rescaled_in(std::shared_ptr<poly::Poly> results, const FunctionStep& step) const;
  void run_batch(const FunctionRow& row, const std::vector<std::size_t>& last);
  void run_sums(const FunctionRow& row, const std::vector<std::size_t>& last);
  std::size_t lower_along(std::size_t step, std::size_t end, const poly::PolyView& results, std::size_t first,
                          std::size_t count);

  // Sums (function_sums.cpp).
  rlwe::Ciphertext sum(std::size_t number);
  rlwe::Ciphertext unjoined(std::size_t number);
  rlwe::Ciphertext joined(std::size_t number);
  /// The end of a joined sum with this metadata.
  rlwe::Ciphertext divided(const poly::ConstPolyView& joined, rlwe::Metadata before,
                           const FunctionStep& step);
  void map(std::size_t number, bool is_last);
  void multiply(const poly::PolyView& out, const FunctionStep& step);
  void add_numbers(const poly::PolyView& out, std::size_t number);
  void add_plaintexts(rlwe::Ciphertext& sum, std::size_t number);
  /// Adds the constant of a step to the first components of sums with plaintexts.
  void add_constant(const poly::PolyView& first, std::size_t number);
  /// Whether the product and its division are one operation.
  [[nodiscard]] bool is_single(const FunctionStep& step) const;
  void multiply_relinearize(const poly::PolyView& out, const FunctionStep& step);
  void relinearize(const poly::PolyView& out, const poly::ConstPolyView& products, std::size_t level,
                   std::size_t result_level) const;
  [[nodiscard]] std::shared_ptr<const rlwe::SwitchingKey> key(std::size_t level) const;

  const PreparedFunction& prepared_;
  const rlwe::Context& context_;
  const ckks::Evaluator& evaluator_;
  std::optional<Part> part_;
  std::vector<std::unique_ptr<rlwe::Ciphertext>> fitted_;
  std::vector<Held> values_;
  std::vector<double> largest_;  // declared bounds of the inputs
};

}  // namespace hemera::circuits
