// How a bootstrap runs: ModRaise, CoeffToSlot, a function and SlotToCoeff, in an order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "circuits/bootstrap/interleaving.hpp"
#include "circuits/bootstrap/roots_of_unity.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// ModRaise, from level 0, and the trace that keeps the coefficients of repeated slots.
struct RaiseStage {
  std::size_t level = 0;  ///< that is raised to
  /// Keys to an ephemeral secret at level 0 and back at `level`; without them nothing is switched.
  std::optional<KeyNeed> to_ephemeral = std::nullopt, from_ephemeral = std::nullopt;
  /// Rotations whose results each step adds to its input, by keys with the gadget.
  std::vector<std::vector<std::size_t>> trace = {};
  rlwe::GadgetPrimes gadget = {};
  /// A whole number that the result is multiplied by, before it is rescaled by a level. Without it nothing
  /// is rescaled.
  std::optional<double> factor = std::nullopt;
  double scale = 0;  ///< of the result, whose slots are (m / q_0 + I) times a number of the layout's choice
};

/// One bootstrap: levels and scales of all of its steps.
struct BootstrapStages {
  BootstrapOrder order = BootstrapOrder::standard;
  RaiseStage raise;
  std::vector<LinearTransform> to_slots, to_coefficients;
  /// Roots of unity, in the place of ModRaise, CoeffToSlot and the function.
  std::optional<RootsStage> roots = std::nullopt;
  /// A function of twice the real parts of the slots, and of the imaginary ones where they are apart.
  std::optional<FunctionPlan> function = std::nullopt;
  /// Whether real and imaginary parts are two, as a batch.
  bool takes_apart = false;
  /// Whether the function is given i times these parts.
  bool turns_parts = false;
  double shift = 0;                        ///< that is added to these parts, at the function's scale
  double function_scale = 0;               ///< that its result is read at
  std::vector<LinearTransform> join = {};  ///< of parts that were side by side
  /// How many ciphertexts are bootstrapped at once, and their interleaving. The matrices of several are those
  /// of MatrixShape, and the order is slots first.
  std::size_t together = 1;
  Interleaving::Shape interleaving = {};
};

/// The stages that are left where others have the matrices' plaintexts.
BootstrapStages without_matrices(BootstrapStages stages);

/// The products of matrices with `x`, one after the other.
rlwe::Ciphertext through(const std::vector<PreparedLinearTransform>& transforms,
                         const ckks::Evaluator& evaluator, rlwe::Ciphertext x);

/// The stages with their plaintexts in a context's memory.
class BootstrapEngine {
 public:
  using Part = PreparedFunction::Part;
  BootstrapEngine(rlwe::ContextPointer context, BootstrapStages stages);

  /// Bootstraps from level 0, or, slots first, from the level of the first matrix. `to_coefficients`: in
  /// place of its own matrices. Takes as many elements of a batch at once as the stages say. Throws
  /// MissingKeyError if a key is missing.
  [[nodiscard]] rlwe::Ciphertext operator()(
      const ckks::Evaluator& evaluator, rlwe::Ciphertext x,
      const std::vector<PreparedLinearTransform>* to_coefficients = nullptr) const;

  // The steps between matrices, for engines without these.
  [[nodiscard]] rlwe::Ciphertext raised(const rlwe::EvaluationKeys& keys, const rlwe::Ciphertext& low) const;
  [[nodiscard]] rlwe::Ciphertext reduced(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x) const;
  /// Whether reduced() has two parts, whose products part() gives, for their sum to be joined.
  [[nodiscard]] bool joins_parts() const { return stages_.function && stages_.function->joins_parts(); }
  [[nodiscard]] rlwe::Ciphertext part(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x,
                                      Part which) const;
  [[nodiscard]] rlwe::Ciphertext joined(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& sum) const;

 private:
  [[nodiscard]] rlwe::Ciphertext together(const ckks::Evaluator& evaluator, rlwe::Ciphertext x,
                                          const std::vector<PreparedLinearTransform>& to_coefficients) const;
  /// Twice the parts of `x`, as the function takes them: a batch where they are two.
  [[nodiscard]] rlwe::Ciphertext taken_apart(const rlwe::Ciphertext& x, const rlwe::Ciphertext& conjugate,
                                             std::span<const Part> parts) const;

  rlwe::ContextPointer context_;
  BootstrapStages stages_;  // without the matrices
  std::vector<PreparedLinearTransform> to_slots_, to_coefficients_, join_;
  std::optional<PreparedFunction> function_;
  std::optional<RootsOfUnity> roots_;
  std::optional<Interleaving> interleaving_;
  rlwe::Plaintext i_, minus_i_;  ///< X^(N/2), where parts are taken apart or turned
};

}  // namespace hemera::circuits
