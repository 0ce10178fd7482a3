// Bootstrapping of CKKS ciphertexts: from the user's lowest level back to the highest.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

class EvalMod;
class PrecisionModel;
class Refinement;

/// Mean and worst of -log2 |error| over slots, at most 60. Both are NaN where an error is.
struct Precision {
  double mean_bits = 0, worst_bits = 0;
};
/// ParameterError unless there are as many values of both, and at least one.
Precision precision_of(std::span<const std::complex<double>> found,
                       std::span<const std::complex<double>> expected);

struct BootstrapOptions {
  /// Of the ciphertexts, a power of two from 2; 0: all N/2.
  std::size_t slots = 0;
  /// Whether slots are real: imaginary parts are dropped, and EvalMod does half the work. Slots first only.
  bool real = false;
  /// Bootstraps one after the other, each of the magnified error of those before: precision adds up, as far
  /// as the scale holds it, and so does time. Each beyond the first takes a level from the result.
  std::size_t iterations = 1;
  /// Whether both parts of at most N/4 complex slots go through EvalMod side by side, as one ciphertext of
  /// twice the slots: that takes about three quarters of the time, and, with slots first, a level of the
  /// result (in the standard order SlotToCoeff's first matrix joins them).
  bool merges_parts = false;
  /// Bytes that its keys may take in memory: matrices are taken step by step, with fewer keys, where that
  /// makes them fit; as few matrices as will do, for it takes time. 0: no limit.
  std::size_t key_memory_limit = 0;
};

/// A plan (docs/bootstrapping.md). Immutable.
class Bootstrap : public Plan {
 public:
  /// ParameterError for parameters that parameters_for_bootstrapping did not make, and for a number of slots
  /// that is no power of two from 2 to N/2, for real slots in the standard order, for iterations that leave
  /// no level, and for more than add a bit; OutOfMemoryError, which names the least that will do, where the
  /// keys do not fit their limit.
  explicit Bootstrap(const rlwe::Parameters& parameters, const BootstrapOptions& options = {});

  [[nodiscard]] std::size_t slots() const { return slots_; }
  [[nodiscard]] bool is_real() const { return real_; }
  [[nodiscard]] bool merges_parts() const { return merges_parts_; }
  [[nodiscard]] BootstrapOrder order() const { return order_; }
  /// The level of what is bootstrapped, the user's lowest; higher ones are brought down to it.
  [[nodiscard]] std::size_t input_level() const { return input_level_; }
  /// The user's highest, but for a level for each iteration beyond the first.
  [[nodiscard]] std::size_t result_level() const { return fresh_level_ - factors_log2_.size(); }
  [[nodiscard]] std::size_t iterations() const { return factors_log2_.size() + 1; }
  /// log2 of what each iteration beyond the first magnifies the difference by: the precision up to there,
  /// less a margin.
  [[nodiscard]] const std::vector<int>& factors_log2() const { return factors_log2_; }
  /// The matrices, in their order.
  [[nodiscard]] const std::vector<LinearTransform>& slots_to_coefficients() const { return to_coefficients_; }
  [[nodiscard]] const std::vector<LinearTransform>& coefficients_to_slots() const { return to_slots_; }
  /// log2 of the probability that a coefficient is beyond the range of EvalMod, in one bootstrap.
  [[nodiscard]] double failure_log2() const { return failure_log2_; }
  /// What a bootstrap makes of values in the clear, with the noise that theory gives each step: within a bit
  /// of encrypted ones in precision (docs/bootstrapping.md). ParameterError unless there are as many as
  /// slots.
  [[nodiscard]] std::vector<std::complex<double>> simulate(std::span<const std::complex<double>> values,
                                                           std::uint64_t seed = 0) const;
  /// That of uniform values in the unit square (or interval).
  [[nodiscard]] Precision expected_precision() const;

 private:
  friend class PreparedBootstrap;

  void plan_iterations(std::size_t iterations);
  [[nodiscard]] std::vector<KeyNeed> trace_needs(const rlwe::Parameters& parameters) const;
  void tell_needs(const rlwe::Parameters& parameters);
  void tell_cost(const rlwe::Parameters& parameters);
  void fit_keys(const rlwe::Parameters& parameters, std::size_t limit);
  [[nodiscard]] std::vector<std::complex<double>> uniform_values() const;
  /// That of uniform values, beside that of the inputs.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t slots_;
  bool real_, merges_parts_;
  BootstrapOrder order_;
  std::size_t input_level_, fresh_level_, top_level_, eval_mod_level_;
  std::vector<LinearTransform> to_coefficients_, to_slots_;
  std::shared_ptr<const EvalMod> eval_mod_;
  std::shared_ptr<const PrecisionModel> model_;
  std::vector<LinearTransform> join_;  // of merged parts, slots first: one, or none
  std::vector<int> factors_log2_;
  std::vector<std::vector<std::size_t>>
      trace_;                      // rotations that each step adds up, of the slots' repetitions
  rlwe::GadgetPrimes top_gadget_;  // of the trace's keys
  rlwe::GadgetPrimes to_ephemeral_, from_ephemeral_;
  double failure_log2_;
};

/// The same with its plaintexts in a context's memory.
class PreparedBootstrap {
 public:
  /// MismatchError for a context of other parameters.
  PreparedBootstrap(std::shared_ptr<const rlwe::Context> context, const Bootstrap& plan);

  [[nodiscard]] const Bootstrap& plan() const { return plan_; }
  /// The same slots at the user's highest level. Slots must have real and imaginary parts from -1 to 1: up to
  /// a quarter of the ratio q_0 / scale the error grows with their cube, beyond it the result is wrong. Where
  /// a larger bound is declared (Metadata::largest), values are divided before and multiplied after, which
  /// takes a level above the input's and as many bits of precision as the factor has; RangeError for one
  /// above 2 without such a level, and for one too large for it. MissingKeyError names what lacks,
  /// MismatchError other slots, LevelError a lower level, ScaleError another scale than the level's.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;

 private:
  void check(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in) const;
  [[nodiscard]] double divisor(const rlwe::Ciphertext& in) const;
  [[nodiscard]] rlwe::Ciphertext fitted(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                        double divisor) const;
  [[nodiscard]] rlwe::Ciphertext of_small(const ckks::Evaluator& evaluator, rlwe::Ciphertext x) const;
  [[nodiscard]] rlwe::Ciphertext raised(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& low) const;
  [[nodiscard]] rlwe::Ciphertext reduced(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x) const;

  [[nodiscard]] rlwe::Ciphertext once(const ckks::Evaluator& evaluator, rlwe::Ciphertext x) const;

  std::shared_ptr<const rlwe::Context> context_;
  Bootstrap plan_;
  std::vector<PreparedLinearTransform> to_coefficients_, to_slots_, join_;
  std::vector<std::shared_ptr<const Refinement>> refinements_;
  /// X^(N/2), at the levels where EvalMod begins and ends: for parts that it takes as a batch.
  rlwe::Plaintext i_before_, i_joined_;
};

}  // namespace hemera::circuits
