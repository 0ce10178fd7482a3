// Circuits whose operands are bootstrapped by themselves where they have too few levels left (CKKS).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/functions/function_stages.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// Operands of a circuit, after those with too few levels were bootstrapped.
struct Operands {
  /// One for each operand: the operand itself, or an element of `bootstrapped`.
  std::vector<const rlwe::Ciphertext*> each;
  /// Each distinct operand once, however often it is given.
  std::vector<rlwe::Ciphertext> bootstrapped;
};

/// A function of any depth in a context. It keeps what its evaluations plan: its stages
/// (function_stages.hpp), and the circuits of the levels that came last. Any number of threads may use it at
/// once.
class StagedFunction {
 public:
  /// Throws ParameterError if the function has no outputs.
  StagedFunction(rlwe::ContextPointer context, Function function);

  [[nodiscard]] const Function& function() const { return function_; }

 private:
  friend class AutomaticBootstraps;

  using Stages = std::shared_ptr<const std::vector<FunctionStage>>;
  /// Levels of the first stage and of the others, number of the stage, level and scale of its inputs.
  using Place = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, double>;

  [[nodiscard]] Stages stages(std::size_t first_levels, std::size_t levels) const;
  [[nodiscard]] std::shared_ptr<const PreparedFunction> circuit(const Function& stage,
                                                                const Place& place) const;

  rlwe::ContextPointer context_;
  Function function_;
  mutable runtime::ForkSafeMutex mutex_;
  mutable std::map<std::pair<std::size_t, std::size_t>, Stages> stages_;
  mutable std::vector<std::pair<Place, std::shared_ptr<const PreparedFunction>>> circuits_;  // last used last
};

/// Evaluates circuits with a bootstrap: an operand that has too few of the user's levels left for a circuit
/// is bootstrapped before it (docs/bootstrapping.md, "Automatic mode"). Immutable but for its counts; any
/// number of threads may use it at once.
class AutomaticBootstraps {
 public:
  /// Throws MismatchError if the keys belong to another context than the bootstrap, ParameterError for one to
  /// exponentials.
  AutomaticBootstraps(std::shared_ptr<const PreparedBootstrap> bootstrap, rlwe::EvaluationKeys keys,
                      rlwe::Relinearization relinearization = rlwe::Relinearization::eager);

  /// The evaluator of all other operations. Its products of ciphertexts bootstrap their operands, and it
  /// counts what was bootstrapped (ckks::Evaluator::bootstraps).
  [[nodiscard]] const std::shared_ptr<const ckks::Evaluator>& evaluator() const { return evaluator_; }
  [[nodiscard]] const PreparedBootstrap& bootstrap() const { return *bootstrap_; }
  /// The user's levels from one bootstrap to the next.
  [[nodiscard]] std::size_t levels_left() const;

  /// The operands of a circuit that takes `levels` of the user's levels, bootstrapped where fewer are left
  /// (ckks::Evaluator::refreshed); with a plan of several ciphertexts together those of equal metadata as one
  /// batch. `magnitudes`: bounds on the values of each operand that declares none;
  /// empty: the bootstrap's magnitude. Throws ParameterError unless there are none or as many as operands.
  [[nodiscard]] Operands refreshed(std::span<const rlwe::Ciphertext* const> operands, std::size_t levels,
                                   std::span<const double> magnitudes = {}) const;

  /// Products by a plaintext and by a number. A whole number takes no level, and bootstraps nothing.
  [[nodiscard]] rlwe::Ciphertext multiply(const rlwe::Ciphertext& x, const rlwe::Plaintext& factor) const;
  [[nodiscard]] rlwe::Ciphertext multiply(const rlwe::Ciphertext& x, const rlwe::Scalar& factor) const;
  /// The sum of a[i] b[i] in one pass, each distinct operand bootstrapped once. Throws ParameterError unless
  /// there are as many a as b, at least one.
  [[nodiscard]] rlwe::Ciphertext dot(std::span<const rlwe::Ciphertext* const> a,
                                     std::span<const rlwe::Ciphertext* const> b) const;

  /// A circuit of operands that are bootstrapped before it if they are below its level. Throws what the
  /// circuit and the bootstrap throw.
  [[nodiscard]] rlwe::Ciphertext apply(const PreparedLinearTransform& transform,
                                       const rlwe::Ciphertext& vector) const;
  [[nodiscard]] rlwe::Ciphertext apply(const PreparedSlotCircuit& circuit, const rlwe::Ciphertext& x) const;
  [[nodiscard]] rlwe::Ciphertext apply(const PreparedMatrixVectorProduct& product,
                                       const rlwe::Ciphertext& matrix, const rlwe::Ciphertext& vector) const;
  [[nodiscard]] rlwe::Ciphertext apply(const PreparedMatrixProduct& product, const rlwe::Ciphertext& left,
                                       const rlwe::Ciphertext& right) const;
  [[nodiscard]] std::vector<rlwe::Ciphertext> apply(const PreparedFunction& function,
                                                    std::span<const rlwe::Ciphertext* const> inputs) const;
  /// A function of any depth. Inputs with fewer levels left than its depth are bootstrapped; where the depth
  /// is more than a bootstrap leaves, the function is cut into stages, and the values between them are
  /// bootstrapped, the inputs too unless the levels that they have left save a bootstrap.
  ///
  /// Throws LevelError if a single polynomial is deeper than what a bootstrap leaves; RangeError if a
  /// declared bound is beyond an interval; MismatchError if the number of inputs is another one.
  [[nodiscard]] std::vector<rlwe::Ciphertext> apply(const StagedFunction& function,
                                                    std::span<const rlwe::Ciphertext* const> inputs) const;

 private:
  /// An operand that is bootstrapped, and the bound on its values where it declares none.
  struct Waiting {
    const rlwe::Ciphertext* operand;
    double magnitude;
  };
  [[nodiscard]] bool needs_refresh(const rlwe::Ciphertext& x, std::size_t levels) const;
  /// Operands that are bootstrapped as one batch, and others alone.
  [[nodiscard]] std::vector<std::vector<Waiting>> in_batches(std::span<const Waiting> waiting) const;
  /// Operands that are alike, bootstrapped as one batch.
  [[nodiscard]] std::vector<rlwe::Ciphertext> bootstrapped(std::span<const Waiting> alike,
                                                           std::size_t levels) const;
  /// The user's levels from `level` down to where bootstraps begin.
  [[nodiscard]] std::size_t levels_from(std::size_t level) const;
  [[nodiscard]] std::vector<rlwe::Ciphertext> in_stages(
      const StagedFunction& function, std::span<const rlwe::Ciphertext* const> inputs) const;

  std::shared_ptr<const PreparedBootstrap> bootstrap_;
  ckks::Evaluator::Refresh refresh_;
  std::shared_ptr<const ckks::Evaluator> evaluator_;
};

}  // namespace hemera::circuits
