// Sums, copies and masks of slots (CKKS): rotations that are added up, and products by 0 and 1.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// Slots in blocks of `count` times `stride`, which follow each other: a block is a matrix of `count` rows
/// and `stride` columns, row by row. Each of its columns is summed, or filled from one of its values, by
/// itself. With a stride of 1 a block is a row of slots. Both are powers of two, and a block fits the slots.
struct Blocks {
  std::size_t count = 1;
  std::size_t stride = 1;
};

struct SlotCircuitOptions {
  /// Level of the ciphertexts; default: the user's highest.
  std::optional<std::size_t> level = std::nullopt;
  /// log2(count) keys for each sum or copy, in place of a few more for fewer steps.
  bool fewest_keys = false;
  /// Keys over the primes of the levels where they are used, and no others. They are shorter and take less
  /// time than the parameters' own keys for these levels, which serve all levels below too.
  bool own_keys = false;
};

/// A plan: rotations of the ciphertext are summed, the sum is multiplied by a mask of 0 and 1, and rotations
/// of the product are summed; any of the three may be missing. A sum of n rotations by the multiples of a
/// step is a row of sums of 2, 4, 8 or 16, each from the one before; the rotations of one of those share one
/// ModUp and one division (hoisting: S. Halevi, V. Shoup, 2018/244). Without a mask ciphertexts below the
/// plan's level stay where they are. Immutable.
class SlotCircuit : public Plan {
 public:
  /// The sum of each column in the first row of its block; with `everywhere` in all rows, which takes a mask
  /// unless a block has all slots. Without `everywhere` rows after the first have sums that run on into the
  /// next block. Throws LevelError for a level that is not the user's, or has fewer user levels below it than
  /// the depth; ParameterError for blocks that do not fit; MismatchError for another scheme than CKKS: here
  /// and below.
  static SlotCircuit inner_sum(const rlwe::Parameters& parameters, std::size_t slots, const Blocks& blocks,
                               bool everywhere = false, const SlotCircuitOptions& options = {});
  /// Row `position` of each block in all rows of the block. `others_are_zero`: the other rows are zero
  /// already; no mask then, and no level. Throws ParameterError also for a row that is not there.
  static SlotCircuit replication(const rlwe::Parameters& parameters, std::size_t slots, const Blocks& blocks,
                                 std::size_t position = 0, bool others_are_zero = false,
                                 const SlotCircuitOptions& options = {});
  /// The slots for which `kept` is true; 0 in the others. The result has exactly the scale of its level.
  /// Throws ParameterError unless there is one for each slot, their number a power of two.
  static SlotCircuit mask(const rlwe::Parameters& parameters, std::vector<bool> kept,
                          const SlotCircuitOptions& options = {});

  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// The rotations that need a key, ascending. Their keys have the gadgets of the levels where they are used;
  /// others that serve these levels will do.
  [[nodiscard]] std::vector<std::size_t> rotations() const;
  /// The values in the clear, by the same rotations. Throws ParameterError for another number of values.
  [[nodiscard]] std::vector<std::complex<double>> evaluate_clear(
      std::span<const std::complex<double>> values) const;

 private:
  friend class PreparedSlotCircuit;

  /// Rotations that are added to the ciphertext itself.
  using Step = std::vector<std::size_t>;

  SlotCircuit(const rlwe::Parameters& parameters, std::size_t slots, const SlotCircuitOptions& options);
  [[nodiscard]] rlwe::GadgetPrimes gadget_at(std::size_t level) const;
  [[nodiscard]] std::vector<Step> steps_of(const Blocks& blocks, std::size_t position, std::size_t level,
                                           bool to_left) const;
  void choose_ends();
  [[nodiscard]] std::vector<Input> inputs() const override;
  [[nodiscard]] Evaluation bound(const rlwe::ContextPointer& context) const override;
  [[nodiscard]] std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                            std::size_t level) const override;
  /// For ciphertexts with values of magnitude 1: rounding of the inputs and of divisions, noise of the
  /// rotations, and rounding of the encoded mask.
  [[nodiscard]] ExpectedError error_from(double input_error) const override;

  std::size_t slots_;
  bool fewest_keys_, own_keys_;
  std::vector<Step> before_, after_;                   // the mask
  std::vector<bool> kept_;                             // empty: no mask
  double plaintext_scale_ = 0;                         // of the mask
  double switching_before_ = 0, switching_after_ = 0;  // of a key switch, without its division
};

/// The same with its mask in a context's memory.
class PreparedSlotCircuit {
 public:
  /// Throws MismatchError for a context of other parameters.
  PreparedSlotCircuit(rlwe::ContextPointer context, const SlotCircuit& plan);

  [[nodiscard]] const SlotCircuit& plan() const { return plan_; }
  /// The circuit of each element of the batch. The ciphertext may be at a higher level, and wait for its
  /// rescale. Throws MissingKeyError, which names the missing keys; MismatchError for other slots; LevelError
  /// for a level below that of a mask.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;

 private:
  [[nodiscard]] rlwe::Ciphertext summed(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x,
                                        const SlotCircuit::Step& step) const;

  rlwe::ContextPointer context_;
  SlotCircuit plan_;
  std::shared_ptr<const rlwe::Plaintext> mask_;  // may be null
};

/// The same polynomials read with another number of slots, as a copy. n slots of a ring of degree N are N/2
/// slots in which they repeat: so with more slots the values repeat, exactly. With fewer it is right if the
/// values repeat already, up to noise; other values can no longer be distinguished. No operation on residues.
/// Throws ParameterError unless the number is a power of two up to N/2; MismatchError for another scheme than
/// CKKS.
rlwe::Ciphertext with_slots(const rlwe::Ciphertext& x, std::size_t slots);

}  // namespace hemera::circuits
