// Matrices times encrypted vectors (CKKS), by their diagonals.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hemera/circuits/linear/diagonals.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

struct SwitchCost;

/// Given rotations, as those of a client's keys.
struct RotationSteps {
  /// Baby and giant steps, 0 included if it is one; below the number of slots. Each diagonal is taken by the
  /// first giant and baby step whose sum, modulo the number of slots, is its number.
  std::vector<std::size_t> baby, giant;
  /// Not 0: every giant step is a multiple of this one, and they are taken one after the other by its key
  /// alone, from the farthest one on (Horner's rule).
  std::size_t giant_unit = 0;
};

struct LinearTransformOptions {
  /// Level of the vectors; default: the user's highest. The result is one lower, with that level's scale.
  std::optional<std::size_t> level = std::nullopt;
  /// Whether the result is rescaled. If not, it is at the vectors' level with the scale of a product there.
  bool rescaled = true;
  /// The scale at which diagonals are encoded, for a result that is not rescaled. 0: the one that gives the
  /// result the scale of a product there.
  double plaintext_scale = 0;
  /// The gadget of its keys; default: the parameters' for the level. A level above the user's needs one.
  std::optional<rlwe::GadgetPrimes> gadget = std::nullopt;
  /// Rotations that share one ModUp; a power of two. 0: the number that costs least.
  std::size_t baby_steps = 0;
  /// Members that share out the giant steps (SharedLinearTransform): the cost is one member's giant steps,
  /// and all baby steps.
  std::size_t members = 1;
  /// Two keys alone, of one baby and one giant step, which are taken again and again: less memory, more time
  /// and noise. A third one where the diagonals lie around number 0, as those of -1 and 1.
  bool fewest_keys = false;
  /// Baby steps that share one ModUp with fewest_keys, a power of two: k keys in place of the one of a baby
  /// step, whose steps 1 to k - 1 begin at every k-th.
  std::size_t hoisted_steps = 1;
  /// Steps in place of the transform's own choice, and so of baby_steps and fewest_keys.
  std::optional<RotationSteps> steps = std::nullopt;
  /// As SlotCircuitOptions::own_keys, with as many special primes as cost least. Instead of a gadget.
  bool own_keys = false;
  /// How the diagonals are wrapped. With `result_period` the product's slots so far apart are summed at the
  /// end, and the result repeats with that period. With `vector_period` vectors have this many slots. Not for
  /// a result that is not rescaled, and not with a gadget.
  Wrapping wrapping = {};
  /// Whether diagonals are encoded on the host to more bits than doubles have
  /// (ckks::Encoder::encode_precisely_over).
  bool precise = false;
};

/// A plan: a matrix, and how its product with an encrypted vector is taken. Baby steps are rotations with one
/// ModUp, giant steps rotations of sums; both stay over Q u P, and one division ends it, which rescales too
/// (J.-P. Bossuat, C. Mouchet, J. Troncoso-Pastoriza, J.-P. Hubaux, "Efficient bootstrapping for approximate
/// homomorphic encryption with non-sparse keys", 2020/1203, section 4, algorithm 6). Immutable.
class LinearTransform : public Plan {
 public:
  /// `slots`: of the vectors, a power of two up to N/2. Throws
  /// - ParameterError for another number of slots; diagonals of another length (1 or `slots`) or index, or
  ///   none; entries that are not finite; a diagonal that is no sum of the given steps; steps that are not
  ///   below `slots`, or together with baby_steps or fewest_keys;
  /// - LevelError for level 0 or one that is not there; without a gadget, for a level that is not above the
  ///   user's lowest and up to the highest;
  /// - MismatchError for another scheme than CKKS.
  /// - ParameterError for options that exclude each other, and for a scale that is not positive and finite.
  LinearTransform(const rlwe::Parameters& parameters, MatrixDiagonals diagonals, std::size_t slots,
                  const LinearTransformOptions& options = {});
  /// The product with the same matrix, which both hold, taken another way. Throws as the constructor does.
  [[nodiscard]] LinearTransform with(const LinearTransformOptions& options) const {
    return {parameters(), diagonals_, slots_, options};
  }
  /// Throws as the constructor does for slots, level and options, before there are diagonals.
  static void require_options(const rlwe::Parameters& parameters, std::size_t slots,
                              const LinearTransformOptions& options);

  /// Slots of the result, and of its diagonals.
  [[nodiscard]] std::size_t slots() const { return slots_; }
  [[nodiscard]] std::size_t vector_slots() const { return vector_slots_; }
  [[nodiscard]] const MatrixDiagonals& diagonals() const { return *diagonals_; }
  [[nodiscard]] bool has_fewest_keys() const { return fewest_keys_; }
  [[nodiscard]] std::size_t hoisted_steps() const { return hoisted_steps_; }
  /// Whether each step is a giant one: with fewest_keys, by one key.
  [[nodiscard]] bool has_giant_steps_alone() const { return baby_steps_ == 1; }
  /// Whether there are no giant steps.
  [[nodiscard]] bool has_one_step() const { return groups_.size() == 1 && groups_.begin()->first == 0; }
  [[nodiscard]] bool is_precise() const { return precise_; }
  [[nodiscard]] bool is_rescaled() const { return rescaled_; }
  [[nodiscard]] const rlwe::GadgetPrimes& gadget() const { return gadget_; }
  /// The scale at which diagonals are encoded.
  [[nodiscard]] double plaintext_scale() const { return plaintext_scale_; }
  /// Key switches of a product, and the extensions of digits that they take.
  struct Turns {
    std::size_t switches = 0, extensions = 0;
  };
  [[nodiscard]] Turns turns() const;
  /// The rotations that need a key, ascending.
  [[nodiscard]] const std::vector<std::size_t>& rotations() const { return rotations_; }
  /// The product in the clear. Throws ParameterError for another number of values.
  [[nodiscard]] std::vector<std::complex<double>> evaluate_clear(
      std::span<const std::complex<double>> values) const;

 private:
  friend class PreparedLinearTransform;
  friend class SharedLinearTransform;
  friend class TransformGrid;
  friend class PreparedTransformGrid;

  LinearTransform(const rlwe::Parameters& parameters, std::shared_ptr<const MatrixDiagonals> diagonals,
                  std::size_t slots, const LinearTransformOptions& options);

  /// Terms of one giant step: baby step to diagonal.
  using Group = std::map<std::size_t, std::size_t>;
  /// The baby steps of all groups, by giant step.
  [[nodiscard]] static std::set<std::size_t> babies_of(const std::map<std::size_t, Group>& groups);

  /// The gadget that costs least, of those over the level's primes alone and the parameters'.
  void choose_gadget(const LinearTransformOptions& options);
  /// Returns the cost in words of memory traffic.
  double choose_groups(const LinearTransformOptions& options);
  /// The same of steps one after the other, without diagonals and ends.
  double choose_steps(const LinearTransformOptions& options, const SwitchCost& cost);
  /// The place in the chain of baby steps where this one begins, and how many strides it takes from there.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place_of(std::size_t baby) const {
    return {baby / stride_ / hoisted_steps_, baby / stride_ % hoisted_steps_};
  }
  void take_steps(const RotationSteps& steps);
  /// Turns of steps one after the other, with giant steps of a unit; `turns_back`: with a turn of the sum.
  [[nodiscard]] Turns chained(const std::map<std::size_t, Group>& groups, std::size_t giant_unit,
                              bool turns_back) const;
  [[nodiscard]] std::map<std::size_t, Group> split(std::size_t start, std::size_t steps) const;
  void choose_rotations();
  /// The rotations of baby steps and giant steps of these groups, ascending.
  [[nodiscard]] std::vector<std::size_t> turns_of(const std::map<std::size_t, Group>& groups) const;
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// Errors of products of vectors with values of magnitude 1: rounding of the inputs, of the encoded
  /// diagonals and of the result, and noise of the rotations. The mean is over the slots.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::shared_ptr<const MatrixDiagonals> diagonals_;  // shared by copies
  std::size_t slots_, vector_slots_, result_period_;
  bool fewest_keys_, precise_;
  bool rescaled_;
  bool own_keys_;
  std::size_t hoisted_steps_;   // 1: each baby step begins with the one before
  std::size_t stride_ = 1;      // of which every diagonal's number is a multiple
  std::size_t baby_steps_ = 1;  // in strides
  std::size_t start_ = 0;       // of which the sum is turned at the end, with few keys
  std::size_t giant_unit_ = 0;  // of which giant steps are taken one after the other; 0: each by its own key
  rlwe::GadgetPrimes gadget_;
  std::map<std::size_t, Group> groups_;  // by giant step, from `start_` on
  std::vector<std::size_t> turns_;       // the rotations without those of `fold_`
  std::vector<std::size_t> rotations_;   // all of them
  std::optional<SlotCircuit> fold_;      // the sum at the end, of wrapped diagonals
  double switching_ = 0;                 // of a key switch, without its division
  double plaintext_scale_ = 0;           // at which diagonals are encoded
};

/// The result period for a matrix of this many rows with diagonals of these numbers that costs least, by
/// counts of whole circuits: 0 if that is not to wrap them. `options`: those of the transform, for all slots.
std::size_t cheapest_result_period(const rlwe::Parameters& parameters, std::span<const std::size_t> numbers,
                                   std::size_t rows, std::size_t slots,
                                   const LinearTransformOptions& options);

/// The giant steps of one of several members: those whose number is `member` modulo `members`.
struct TransformShare {
  std::size_t member = 0, members = 1;
};

/// The same with its plaintexts in a context's memory, encoded once over Q u P and stored by one period.
class PreparedLinearTransform {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedLinearTransform(rlwe::ContextPointer context, const LinearTransform& plan)
      : PreparedLinearTransform(std::move(context), plan, {}) {}
  PreparedLinearTransform(PreparedLinearTransform&&) = default;
  PreparedLinearTransform& operator=(PreparedLinearTransform&&) = default;
  PreparedLinearTransform(const PreparedLinearTransform&) = delete;
  PreparedLinearTransform& operator=(const PreparedLinearTransform&) = delete;
  ~PreparedLinearTransform() = default;

  [[nodiscard]] const LinearTransform& plan() const { return plan_; }
  /// The product with each vector of the batch. The vector may be at a higher level, and wait for its
  /// rescale. Its declared bound is multiplied by the largest sum of magnitudes in a row of the matrix. Keys
  /// of another gadget will do if it has the same special primes and serves the level. Throws
  /// MissingKeyError, which names the rotations without a key, MismatchError for other slots, LevelError for
  /// a lower level.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& vector) const;

 private:
  friend class PreparedTransformGrid;
  friend class SharedLinearTransform;

  /// A transform with the plaintexts of a share alone.
  PreparedLinearTransform(rlwe::ContextPointer context, const LinearTransform& plan,
                          const TransformShare& share);

  /// One key for each rotation, of one gadget.
  struct RotationKeys {
    rlwe::GadgetPointer gadget;
    std::map<std::size_t, std::shared_ptr<const rlwe::SwitchingKey>> of;
  };

  /// A diagonal, and how far it is turned to the left before it is encoded.
  struct Place {
    std::size_t number, turn;
  };

  void encode(std::span<const Place> places);
  /// The keys of `taken`, of a gadget that there are keys of for all `rotations`.
  [[nodiscard]] RotationKeys keys_among(const rlwe::EvaluationKeys& keys,
                                        const std::vector<std::size_t>& rotations,
                                        const std::vector<std::size_t>& taken) const;
  /// The vector at the plan's level: itself, or a copy in `storage`.
  [[nodiscard]] const rlwe::Ciphertext& input(const ckks::Evaluator& evaluator,
                                              const rlwe::Ciphertext& vector,
                                              rlwe::Ciphertext& storage) const;
  /// The products of `x`, which input() gave, over Q u P: those of the share.
  [[nodiscard]] rlwe::ExtendedCiphertext products(const ckks::Evaluator& evaluator,
                                                  const rlwe::Ciphertext& x) const;
  /// The result, from the sum of the products of all shares. `largest`: the bound of the vector.
  [[nodiscard]] rlwe::Ciphertext finished(const ckks::Evaluator& evaluator,
                                          const rlwe::ExtendedCiphertext& sum, double largest) const;
  [[nodiscard]] rlwe::ExtendedCiphertext turned(const RotationKeys& keys, const rlwe::ExtendedCiphertext& in,
                                                std::size_t rotation) const;
  /// No key for a rotation by 0.
  [[nodiscard]] rlwe::Turn turn_by(const RotationKeys& keys, std::size_t rotation) const;
  /// A term for each baby step of some groups, with their plaintexts, and what `start` sets.
  using TermStart = std::function<void(std::size_t baby, rlwe::HoistedTerm& term)>;
  [[nodiscard]] std::vector<rlwe::HoistedTerm> terms_of(std::size_t first, std::size_t count,
                                                        const TermStart& start) const;
  [[nodiscard]] rlwe::ExtendedCiphertext by_all_keys(const RotationKeys& keys,
                                                     const rlwe::Ciphertext& x) const;
  /// Adds sums of the groups from `first` on, each turned by its giant step, to those of later groups, which
  /// are there or not: by Horner's rule with the key of a unit. The sum stands at the step of group `first`,
  /// or of group 0 at its place.
  void add_giants(std::optional<rlwe::ExtendedCiphertext>& sum, const RotationKeys& keys,
                  const rlwe::ExtendedSums& inner, std::size_t first, std::size_t unit) const;
  [[nodiscard]] rlwe::ExtendedCiphertext step_by_step(const RotationKeys& keys,
                                                      const rlwe::Ciphertext& x) const;

  rlwe::ContextPointer context_;
  LinearTransform plan_;
  std::map<std::size_t, LinearTransform::Group> groups_;  // of the share
  std::vector<std::size_t> turns_;                        // rotations of the share
  bool is_complex_ = false;                               // of one entry at least
  rlwe::GadgetPointer gadget_;
  std::map<std::size_t, rlwe::Plaintext> plaintexts_;  // by diagonal
  std::optional<PreparedSlotCircuit> fold_;
  double largest_row_ = 0;  // the largest sum of the magnitudes of a row's entries
};

}  // namespace hemera::circuits
