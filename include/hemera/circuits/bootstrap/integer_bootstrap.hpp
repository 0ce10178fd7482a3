// Bootstrapping of BFV and BGV: the noise of a ciphertext goes through a CKKS bootstrap and is subtracted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/schemes/integer/evaluator.hpp"

namespace hemera::circuits {

/// The settings of a preset for BFV and BGV: "bfv16-32", "bfv16-40" (four doublings, more bits a pass),
/// "bfv15-22" (N = 2^15, fewer bits a pass), and "bfv11-test" and "bfv11-test-40", which are not secure.
/// - `terms`: of the secret (rlwe::SecretDistribution): as many ephemeral secrets of the preset's weight add
///   up, one of each piece of a group, and the sine covers the integers of their sum.
/// ParameterError, which lists them, for another name, and for more terms than a sine covers.
BootstrapSettings integer_bootstrap_preset(const std::string& name, std::size_t terms = 1);

/// Parameters of BFV or BGV with the user's levels and, above them, those of a bootstrap in the standard
/// order. `plain_modulus`: t, prime or not. Throws what parameters_for_bootstrapping of CKKS throws, and
/// ParameterError for CKKS, for the order slots-first, for user's levels that are not each a part of the next
/// higher one (whole primes of 50 bits are), and for a t that the last level does not hold or that is a
/// multiple of a prime.
rlwe::Parameters parameters_for_bootstrapping(rlwe::Scheme scheme, std::uint64_t plain_modulus,
                                              const BootstrapSettings& settings);

struct IntegerBootstrapOptions {
  /// CKKS bootstraps one after the other, each of the noise left, magnified; 0: as few as have the budget.
  std::size_t passes = 0;
  /// Guaranteed bits of the result; 0: those of one product of ciphertexts and of the next bootstrap.
  double budget = 0;
  /// -log2 of the probability that a result's noise is beyond its bound, from 40 to 128.
  int failure_bits = 40;
  /// Whether ciphertexts are in slots alone. With n < N slots (rlwe::integer_slots) only the coefficients at
  /// multiples of N/n are then bootstrapped, which takes less time; others lose their noise by the trace.
  bool slots_only = false;
};

/// A plan (docs/exact-bootstrapping.md). With t times the ciphertext, brought to q_0, its message is gone,
/// and its noise is what a CKKS bootstrap takes: the result, times a whole number, is subtracted from the
/// ciphertext (J. Kim, J. Seo, Y. Song, 2024/109). Works for any t. All budgets are guaranteed ones, in bits.
/// Immutable.
class IntegerBootstrap {
 public:
  /// ParameterError for parameters that have no levels of a bootstrap, for passes or a budget that the user's
  /// modulus does not hold, and with `slots_only` for a plaintext modulus without slots, or with two.
  explicit IntegerBootstrap(const rlwe::Parameters& parameters, const IntegerBootstrapOptions& options = {});

  [[nodiscard]] const rlwe::Parameters& parameters() const { return parameters_; }
  /// The CKKS bootstrap of a pass, of Parameters::circuit().
  [[nodiscard]] const Bootstrap& circuit() const { return circuit_; }
  [[nodiscard]] std::size_t passes() const { return shifts_.size(); }
  /// log2 of the factor by which each pass magnifies the noise.
  [[nodiscard]] const std::vector<int>& shifts() const { return shifts_; }
  [[nodiscard]] std::size_t result_level() const { return parameters_.highest_user_level(); }
  [[nodiscard]] bool slots_only() const { return slots_only_; }
  /// N over the number of coefficients that are bootstrapped.
  [[nodiscard]] std::size_t repetitions() const {
    return circuit_.parameters().max_slots() / circuit_.slots();
  }
  /// log2 of q_0 over the largest noise that is raised.
  [[nodiscard]] double ratio_bits() const { return ratio_bits_; }
  /// -log2 of the deviation of a coefficient's error after the last pass, over the largest noise that it
  /// takes: by the model of bootstraps, in the first pass for noise that is uniform up to that, in others for
  /// what a pass leaves.
  [[nodiscard]] double precision_bits() const { return passes() == 1 ? first_bits_ : later_bits_; }
  /// The budget of the input, and of the result.
  [[nodiscard]] double needed_budget() const { return ratio_bits_ - 1; }
  [[nodiscard]] double budget_left() const;
  /// The budget that automatic products' results keep, so that sums of eight can still be bootstrapped.
  [[nodiscard]] double kept_budget() const { return needed_budget() + 3; }
  /// Metadata::noise_log2 of the result.
  [[nodiscard]] double result_noise_log2() const;
  /// Squares, one after the other, between two bootstraps.
  [[nodiscard]] std::size_t products() const;
  /// log2 of the probability that a bootstrap's result is wrong, or its noise beyond the bound.
  [[nodiscard]] double failure_log2() const;

  /// The cost of all passes, for a ciphertext at the user's highest level. A run without values counts it
  /// when it is first read.
  [[nodiscard]] const Cost& cost() const;
  /// The keys, with the roles that they have in the ciphertexts' context.
  [[nodiscard]] std::vector<KeyNeed> needed_keys() const;
  [[nodiscard]] std::size_t memory_bytes(std::size_t batch = 1) const;
  /// Checks the memory as Plan's.
  void require_memory(const rlwe::Context& context, std::size_t batch = 1) const;
  [[nodiscard]] rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret) const;

 private:
  friend class PreparedIntegerBootstrap;

  void require_parameters(const rlwe::Context& context, const char* operation) const;
  [[nodiscard]] double budget_of(double noise_log2, std::size_t level) const;
  /// Level and noise of the square of an operand.
  struct Noise {
    std::size_t level;
    double log2;
  };
  [[nodiscard]] Noise squared(const Noise& operand) const;
  /// log2 of the whole number that takes a pass's result to the noise.
  [[nodiscard]] double factor_log2(int shift) const;
  [[nodiscard]] bool holds(const IntegerBootstrapOptions& options) const;
  /// Keys of the rotations that keep X^(N/n), each of twice the steps of the one before, at the user's level.
  [[nodiscard]] std::vector<KeyNeed> trace_keys() const;

  struct Counted {
    std::once_flag once;
    Cost cost;
  };
  void count(Cost& cost) const;

  rlwe::Parameters parameters_;
  bool slots_only_;
  Bootstrap circuit_;
  std::vector<int> shifts_ = {0};
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();  // of copies as well
  double ratio_bits_;
  double first_bits_, later_bits_;  // of precision
  int failure_bits_;
};

/// The same with its plaintexts in a context's memory.
class PreparedIntegerBootstrap {
 public:
  /// Throws MismatchError if the context has other parameters.
  PreparedIntegerBootstrap(rlwe::ContextPointer context, const IntegerBootstrap& plan);

  [[nodiscard]] const IntegerBootstrap& plan() const { return plan_; }
  /// The same integers at the user's highest level, with the noise bound of the plan. Each element of a batch
  /// is bootstrapped.
  ///
  /// Throws, before anything runs: NoiseError if the guaranteed budget is less than the plan needs,
  /// LevelError above the user's levels, MissingKeyError if keys are missing, MismatchError for another
  /// context, and for values in coefficients if the plan is for slots only.
  [[nodiscard]] rlwe::Ciphertext operator()(const integer::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;
  /// The refresh of evaluators that bootstrap operands of products by themselves: bfv::Evaluator and
  /// bgv::Evaluator. Results of products keep IntegerBootstrap::kept_budget.
  static integer::Evaluator::Refresh refresh(std::shared_ptr<const PreparedIntegerBootstrap> bootstrap);

 private:
  /// Residues of a level's primes.
  using Residues = std::vector<std::uint64_t>;

  void check(const integer::Evaluator& evaluator, const rlwe::Ciphertext& in) const;
  /// The plan's keys as a set of the circuit's context. MissingKeyError if one is not there.
  [[nodiscard]] rlwe::EvaluationKeys circuit_keys(const rlwe::EvaluationKeys& keys) const;
  /// The noise of x, times t 2^shift and brought to q_0, as a ciphertext of the circuit.
  [[nodiscard]] rlwe::Ciphertext noise_of(const rlwe::Ciphertext& x, int shift) const;
  /// x at the user's highest level less the noise.
  [[nodiscard]] rlwe::Ciphertext corrected(const rlwe::Ciphertext& x, const rlwe::Ciphertext& noise,
                                           int shift) const;
  [[nodiscard]] Residues negative_factor(int shift) const;
  /// x without the coefficients that are not bootstrapped: they are noise alone.
  [[nodiscard]] rlwe::Ciphertext projected(const ckks::Evaluator& circuit, rlwe::Ciphertext x) const;

  rlwe::ContextPointer context_;
  IntegerBootstrap plan_;
  PreparedBootstrap circuit_;
  std::vector<std::shared_ptr<const poly::Division>> divisions_;  // [level]: to level 0; none from there
};

}  // namespace hemera::circuits
