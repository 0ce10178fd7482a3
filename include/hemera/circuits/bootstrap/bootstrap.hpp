// Bootstrapping of CKKS ciphertexts: from the user's lowest level back to the highest.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
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

class BootstrapEngine;
struct BootstrapStages;
struct RootsStage;
class EvalMod;
class PrecisionModel;
class Refinement;

/// Mean and worst of -log2 |error| over slots. Both are NaN where an error is.
struct Precision {
  double mean_bits = 0, worst_bits = 0;
};
/// The precision by errors, at least one; smaller ones count as `least`.
Precision precision_of_errors(std::span<const std::complex<double>> errors, double least = 0x1p-120);
/// The precision of doubles, which have at most 60 bits. Throws ParameterError unless there are as many
/// values of both, and at least one.
Precision precision_of(std::span<const std::complex<double>> found,
                       std::span<const std::complex<double>> expected);

struct BootstrapOptions {
  /// Slots of the ciphertexts, a power of two from 2; 0: all N/2.
  std::size_t slots = 0;
  /// Whether slots are real: imaginary parts are dropped, and EvalMod does half the work. Slots first only.
  bool real = false;
  /// Bootstraps one after the other, each of the magnified error of those before: precision adds up, as far
  /// as the scale holds it, and so does time. Each beyond the first takes a level from the result.
  std::size_t iterations = 1;
  /// Whether both parts of at most N/4 complex slots go through EvalMod side by side, as one ciphertext of
  /// twice the slots: that takes about three quarters of the time, and, with slots first, a level of the
  /// result (in the standard order SlotToCoeff's first matrix joins them).
  ///
  /// Roots of unity (BootstrapSettings::blocks) merge the parts of all complex slots.
  bool merges_parts = false;
  /// Whether merged parts end as the complex slots they were. If not, the result of n slots a + i b has 2n
  /// real ones, (a, b), and keeps the level that joining them takes. Slots first and one iteration only.
  bool joins_parts = true;
  /// Ciphertexts of few slots that are bootstrapped at once, interleaved as one: a batch goes through in
  /// groups of this many, each in the time of one bootstrap of as many times the slots, or of the next power
  /// of two. It takes a level of the result (merged parts share it). Slots first, and not of exponentials or
  /// of parts that are not joined.
  std::size_t together = 1;
  /// Bytes that its keys may take in memory: matrices are taken step by step, with fewer keys, where that
  /// makes them fit; as few matrices as will do, for it takes time. 0: no limit.
  std::size_t key_memory_limit = 0;
  /// Bytes of keys that a client may upload (circuits::upload_bytes). Where all keys are more, the plan is
  /// the fastest, by counts of traffic, of those that fit: matrices by fewer keys, relinearization keys that
  /// levels share, and sums that stay turned until one matrix turns back for all. 0: no limit.
  std::size_t upload_limit = 0;
  /// The sine: integers |I| that it covers are below the range, and its series has this degree; 0: the
  /// largest that the levels take (BootstrapSettings::sine_degree). Its doublings follow from the levels.
  std::size_t sine_range = 16;
  std::size_t sine_degree = 0;
  /// Non-zero coefficients of the ephemeral secret, as BootstrapSettings::ephemeral_weight; with roots of
  /// unity it has blocks in their place.
  std::size_t ephemeral_weight = rlwe::usual_ephemeral_weight;
};

/// A plan (docs/bootstrapping.md). From coefficients (BootstrapOrder) the result is a batch [2, ...] of real
/// slots: of an input of n slots, whose polynomial in X^(N / 2n) has the coefficients a_0, a_1, ... times its
/// scale, slot i of the first is a_j and slot i of the second a_(j + n), where j has the log2(n) bits of i in
/// reverse. Its result is at the user's highest level, less a level for each iteration beyond the first.
/// Immutable.
class Bootstrap : public Plan {
 public:
  /// ParameterError for parameters that parameters_for_bootstrapping did not make, and for a number of slots
  /// that is no power of two from 2 to N/2, for real slots in the standard order, for iterations that leave
  /// no level, for more than add a bit, for iterations or merged parts of exponentials or from coefficients,
  /// for iterations of the sine itself,
  /// for parts that are not joined though they are not merged, or in the standard order or with iterations,
  /// for more ciphertexts at once than have room in N/2 slots (N/4 of merged parts), or in the standard
  /// order, of exponentials or of parts that are not joined, and for a sine that does not fit the levels, the
  /// ephemeral secret or the message. With roots of unity: for more values than have room, for several
  /// ciphertexts at once, and for the degree of a sine; OutOfMemoryError, which names the least that will do,
  /// where the keys do not fit their limit, and ParameterError, which does so, for a limit of what is
  /// uploaded.
  explicit Bootstrap(const rlwe::Parameters& parameters, const BootstrapOptions& options = {});

  [[nodiscard]] std::size_t slots() const { return slots_; }
  [[nodiscard]] bool is_real() const { return real_; }
  [[nodiscard]] bool merges_parts() const { return merges_parts_; }
  [[nodiscard]] bool joins_parts() const { return joins_parts_; }
  /// Slots of the result: those of the ciphertexts, or twice as many of parts that are not joined.
  [[nodiscard]] std::size_t result_slots() const { return joins_parts_ ? slots_ : 2 * slots_; }
  /// How many ciphertexts are bootstrapped at once. cost() and memory_bytes(1)'s workspace are for all.
  [[nodiscard]] std::size_t together() const { return together_; }
  [[nodiscard]] BootstrapOrder order() const { return order_; }
  /// Whether results are exp(2 pi i x / ratio()), of the slots' real parts, and of the imaginary ones after
  /// them: a batch of [2, ...] (BootstrapSettings::exponential). Real slots have one, [...].
  [[nodiscard]] bool is_exponential() const { return exponential_; }
  /// Whether results are the sine of the values itself, of a ratio below 3 bits
  /// (BootstrapSettings::ratio_bits; not in the standard order, which has it of coefficients). The model's
  /// errors are those beside this sine.
  [[nodiscard]] bool gives_sine() const;
  /// Whether real and imaginary parts, or the halves of the coefficients, are two results.
  [[nodiscard]] bool gives_parts() const { return exponential_ || from_coefficients(); }
  /// q_0 over the scale of the ciphertext that is raised.
  [[nodiscard]] double ratio() const { return ratio_; }
  /// Blocks of the ephemeral secret with roots of unity (BootstrapSettings::blocks); 0: by EvalMod.
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  /// The sine's range, the weight of the ephemeral secret, the degree of the sine's series, and the doublings
  /// of its angle; 0 without EvalMod.
  [[nodiscard]] std::size_t sine_range() const { return sine_range_; }
  [[nodiscard]] std::size_t ephemeral_weight() const { return blocks_ == 0 ? ephemeral_weight_ : 0; }
  [[nodiscard]] std::size_t sine_degree() const { return sine_degree_; }
  [[nodiscard]] std::size_t doublings() const { return doublings_; }
  /// The level of the input, the user's lowest; higher ones are brought down to it.
  [[nodiscard]] std::size_t input_level() const { return input_level_; }
  [[nodiscard]] std::size_t iterations() const { return factors_log2_.size() + 1; }
  /// log2 of the factor of the difference in each iteration beyond the first: the precision up to there, less
  /// a margin.
  [[nodiscard]] const std::vector<int>& factors_log2() const { return factors_log2_; }
  /// The matrices, in their order; roots of unity have no second row. With a limit of what is uploaded they
  /// may be turned (BootstrapOptions::upload_limit).
  [[nodiscard]] const std::vector<LinearTransform>& slots_to_coefficients() const { return to_coefficients_; }
  [[nodiscard]] const std::vector<LinearTransform>& coefficients_to_slots() const { return to_slots_; }
  /// log2 of the probability that a coefficient is beyond the range of EvalMod, in one bootstrap (of all that
  /// go together). Minus infinity of roots of unity, which have no range.
  [[nodiscard]] double failure_log2() const { return failure_log2_; }
  /// The bootstrap of values in the clear, with the noise that theory gives each step: within a bit of
  /// encrypted ones in precision (docs/bootstrapping.md). `magnitude`: that of PreparedBootstrap; errors are
  /// those of values at the input level, and about `magnitude` times as large as without it.
  ///
  /// Exponentials of complex slots: two for each, those of real parts first; so are parts that are not
  /// joined. From coefficients: so are those of values a_j + i a_(j + n), as the slots have them.
  ///
  /// Throws ParameterError unless there is a value for each slot, and as PreparedBootstrap for the magnitude.
  [[nodiscard]] std::vector<std::complex<double>> simulate(std::span<const std::complex<double>> values,
                                                           std::uint64_t seed = 0,
                                                           double magnitude = 1) const;
  /// The lower one of two kinds of input: values which are uniform in the square (or interval) of all up to
  /// the magnitude, at least 4,096 of them, and values which all are the magnitude, where the sine's error is
  /// largest and the same in each slot. Real slots count without the imaginary part, which nobody decodes.
  /// Exponentials: of uniform values up to half the ratio, whatever the magnitude.
  [[nodiscard]] Precision expected_precision(double magnitude = 1) const;

 private:
  friend class PreparedBootstrap;
  friend class SharedBootstrap;

  [[nodiscard]] bool from_coefficients() const { return order_ == BootstrapOrder::from_coefficients; }
  void check_together() const;
  void check_roots(const BootstrapOptions& options) const;
  /// Slots of the ciphertext that is raised.
  [[nodiscard]] std::size_t raised_slots() const;
  void plan_iterations(std::size_t iterations);
  void fit_keys(std::size_t limit);
  void fit_upload(std::size_t limit, std::size_t memory_limit);
  /// The matrices in the order of all_matrices(), whose sums stay turned but for one, which turns back for
  /// all. Empty where results are not the slots that went in.
  [[nodiscard]] std::vector<LinearTransform> owing_matrices() const;
  /// SlotToCoeff's, CoeffToSlot's, and those of merged parts.
  [[nodiscard]] std::vector<LinearTransform*> all_matrices();
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// The whole number, at least 1, that divides values up to a magnitude. Throws ParameterError unless the
  /// magnitude is finite and positive.
  static double divisor_for(double magnitude);
  /// The share of a divisor that each matrix of SlotToCoeff has. Throws RangeError if it is above 2^5.
  [[nodiscard]] double matrix_divisor(double divisor) const;
  /// factors_log2 where the matrices divide.
  [[nodiscard]] std::vector<int> factors_log2_of(double divisor) const;
  /// The stages of one iteration.
  [[nodiscard]] BootstrapStages stages() const;
  /// simulate()'s results less what an exact bootstrap gives, beyond the precision of the results as doubles.
  [[nodiscard]] std::vector<std::complex<double>> simulated_errors(
      std::span<const std::complex<double>> values, std::uint64_t seed, double magnitude) const;
  [[nodiscard]] std::vector<std::complex<double>> uniform_values(std::uint64_t seed) const;
  /// The results of an exact bootstrap.
  [[nodiscard]] std::vector<std::complex<double>> exact(std::vector<std::complex<double>> values) const;
  struct ModelRun {
    Precision precision{};
    double mean_square = 0;  // of the errors
  };
  /// A run of values up to 1, times the magnitude, with the model's noise of a seed.
  [[nodiscard]] ModelRun model_run(std::vector<std::complex<double>> values, double magnitude,
                                   std::uint64_t seed) const;
  /// The worse of uniform values and of all ones, in each number.
  [[nodiscard]] ModelRun worse_kind(double magnitude) const;
  /// Error of the worse kind, and of the inputs.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t slots_, together_, upload_limit_, ephemeral_weight_;
  bool real_, merges_parts_, joins_parts_;
  BootstrapOrder order_;
  bool exponential_;
  double ratio_;
  std::size_t input_level_, fresh_level_, top_level_;
  std::size_t sine_range_ = 0, sine_degree_ = 0, doublings_ = 0, blocks_ = 0;
  std::vector<LinearTransform> to_coefficients_, to_slots_;
  std::shared_ptr<const EvalMod> eval_mod_;
  std::shared_ptr<const RootsStage> roots_;  // in the place of eval_mod_
  std::shared_ptr<const PrecisionModel> model_;
  std::vector<LinearTransform> join_;  // of merged parts, slots first: one, or none
  std::vector<int> factors_log2_;
  std::vector<std::vector<std::size_t>>
      trace_;                      // rotations that each step adds up, of the slots' repetitions
  rlwe::GadgetPrimes top_gadget_;  // of the trace's keys
  rlwe::GadgetPrimes to_ephemeral_, from_ephemeral_;
  double last_modulus_;  // q_0
  double failure_log2_;
};

/// The same with its plaintexts in a context's memory.
class PreparedBootstrap {
 public:
  /// `magnitude`: a bound on the values' magnitude where a ciphertext declares none (Metadata::largest).
  /// Slots first, values up to it are bootstrapped at the input level, too: a second set of SlotToCoeff's
  /// plaintexts divides them, by the k-th root of the bound in each of k matrices. Empty: values that declare
  /// none are taken to be at most 1, and counted (ckks::Evaluator::undeclared_bootstraps).
  ///
  /// Throws MismatchError if the context has other parameters, ParameterError if the magnitude is not finite
  /// and positive, or given for exponentials, RangeError if a matrix would have to divide by more than 2^5.
  PreparedBootstrap(rlwe::ContextPointer context, const Bootstrap& plan,
                    std::optional<double> magnitude = std::nullopt)
      : PreparedBootstrap(std::move(context), plan, magnitude, true) {}

  [[nodiscard]] const Bootstrap& plan() const { return plan_; }
  /// The given magnitude; empty: none was.
  [[nodiscard]] std::optional<double> magnitude() const { return magnitude_; }
  /// The largest magnitude whose errors at the input level are in proportion to it: 1, or what was given,
  /// rounded up, if the order is slots first. (A declared bound of 2 is taken there anyway.)
  [[nodiscard]] double largest_at_input() const { return at_input_ ? at_input_->divisor : 1; }
  /// The same slots at the plan's result level; of a batch as many elements at once as it says. Slots must
  /// have real and imaginary parts from -1 to 1: up to a quarter of the ratio q_0 / scale the error grows
  /// with their cube, beyond it the result is wrong. Where a larger bound is declared (Metadata::largest, or
  /// `magnitude`), values are divided before and multiplied by the same whole number after, which takes no
  /// level of the result, and makes errors larger by that number. Values above the input level are divided on
  /// their way down to it. At the input level it takes a magnitude that was given above.
  ///
  /// Exponentials are of slots of any size, whatever bound is declared; their error grows with that of the
  /// matrices, which is relative.
  ///
  /// Throws RangeError if a bound above largest_at_input() and 2 comes without a level above the input's, or
  /// is too large for the levels above it; MissingKeyError, which names the keys, if some are missing;
  /// MismatchError if the slots differ; LevelError if the level is lower; ScaleError if the scale is not the
  /// level's.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;

 private:
  friend class SharedBootstrap;

  /// `has_matrices`: whether the engine has those of values up to 1.
  PreparedBootstrap(rlwe::ContextPointer context, const Bootstrap& plan, std::optional<double> magnitude,
                    bool has_matrices);

  /// The engine's steps, with its own matrices (null) or others in the place of SlotToCoeff's.
  using Engine =
      std::function<rlwe::Ciphertext(rlwe::Ciphertext, const std::vector<PreparedLinearTransform>*)>;

  /// SlotToCoeff's matrices over a number that divides values at the input level (empty: the engine's own,
  /// and 1), and iterations that allow for the larger relative error.
  struct Division {
    double divisor = 1;
    std::vector<PreparedLinearTransform> to_coefficients = {};
    std::vector<std::shared_ptr<const Refinement>> refinements = {};
  };

  [[nodiscard]] Division division_by(double divisor) const;
  void check(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in) const;
  [[nodiscard]] double bound_of(const rlwe::Ciphertext& in) const;
  /// Whether the values are divided by the matrices.
  [[nodiscard]] bool is_divided_at_input(const rlwe::Ciphertext& in) const;
  [[nodiscard]] double divisor(const rlwe::Ciphertext& in) const;
  [[nodiscard]] rlwe::Ciphertext fitted(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                        double divisor) const;
  /// The result for values up to the division's divisor.
  [[nodiscard]] rlwe::Ciphertext iterated(const ckks::Evaluator& evaluator, rlwe::Ciphertext x,
                                          const Division& division, const Engine& engine) const;
  [[nodiscard]] rlwe::Ciphertext once(const ckks::Evaluator& evaluator, rlwe::Ciphertext x,
                                      const Division& division, const Engine& engine) const;
  /// The bootstrap, by an engine.
  [[nodiscard]] rlwe::Ciphertext by(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                    const Engine& engine) const;

  rlwe::ContextPointer context_;
  Bootstrap plan_;
  std::shared_ptr<const BootstrapEngine> engine_;
  std::optional<double> magnitude_;
  Division none_;                     // of values up to 1
  std::optional<Division> at_input_;  // of values up to the magnitude
};

/// Makes the exponentials of a bootstrap of `values` real values by roots of unity (64 blocks), of zeros, and
/// forgets them: for measuring a device without the keys of such a bootstrap. Throws ParameterError if the
/// values do not fit, or no prime of the context is one that Backend::exponentials takes.
void run_exponentials(const rlwe::Context& context, std::size_t values);

}  // namespace hemera::circuits
