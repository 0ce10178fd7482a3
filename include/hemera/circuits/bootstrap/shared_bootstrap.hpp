// One bootstrap on several devices: its matrices by giant steps, EvalMod by its two parts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/linear/shared_transform.hpp"
#include "hemera/rlwe/exchange.hpp"

namespace hemera::circuits {

/// The work of a bootstrap over members, counted without values, step by step in its order.
struct SharedBootstrapWork {
  poly::Ledger::Entries raise;               ///< of the first member
  std::vector<LinearTransform> to_slots;     ///< see SharedLinearTransform::work
  poly::Ledger::Entries both;                ///< of EvalMod on one member
  std::vector<poly::Ledger::Entries> parts;  ///< of each of two members; none where it has one part
  poly::Ledger::Entries joined;              ///< of the first member, after the parts' sum
  std::size_t part_bytes = 0;                ///< that the sum adds up
  std::size_t slots_bytes = 0;               ///< of EvalMod's input
  std::vector<LinearTransform> join, to_coefficients;
  bool is_slots_first = false;  ///< whether to_coefficients are the first step
};

/// A bootstrap over members, contexts of the same parameters, with the bits of PreparedBootstrap. All of them
/// share the matrices (SharedLinearTransform), and the first two EvalMod's real and imaginary parts, where
/// there are both. The first one does the rest. Where values are divided at the input level, the matrices
/// that divide are its own.
class SharedBootstrap {
 public:
  /// `counts`: members that compute each step, the first ones of all, in the order of the steps: ModRaise,
  /// CoeffToSlot's matrices, EvalMod, the join of merged parts, and SlotToCoeff's matrices first or last.
  /// Empty: all for matrices. Throws ParameterError without members, for another number of counts or
  /// counts of 0, and for a plan of several ciphertexts together; otherwise as PreparedBootstrap.
  SharedBootstrap(std::span<const std::shared_ptr<const rlwe::Context>> members, const Bootstrap& plan,
                  std::optional<double> magnitude = std::nullopt,
                  const rlwe::ForMembers& each = rlwe::in_turn, std::span<const std::size_t> counts = {});
  SharedBootstrap(SharedBootstrap&&) = default;
  SharedBootstrap& operator=(SharedBootstrap&&) = default;
  SharedBootstrap(const SharedBootstrap&) = delete;
  SharedBootstrap& operator=(const SharedBootstrap&) = delete;
  ~SharedBootstrap() = default;

  [[nodiscard]] std::size_t members() const { return contexts_.size(); }
  /// On the first member, of a ciphertext of any context of the same parameters. `evaluators`: of all
  /// members, with keys each. Throws as PreparedBootstrap, and MismatchError for evaluators of other
  /// contexts.
  [[nodiscard]] rlwe::Ciphertext operator()(std::span<const ckks::Evaluator* const> evaluators,
                                            const rlwe::Ciphertext& in,
                                            const rlwe::ForMembers& each = rlwe::in_turn) const;

  /// Throws ParameterError for a plan of several ciphertexts together.
  static SharedBootstrapWork work(const Bootstrap& plan);

 private:
  using Transforms = std::vector<SharedLinearTransform>;
  using Evaluators = std::span<const ckks::Evaluator* const>;

  /// Copies of one ciphertext, on the first members.
  using Copies = std::vector<rlwe::Ciphertext>;

  /// Copies on the first `count` members.
  void hold_on(Copies& x, std::size_t count, const rlwe::ForMembers& each) const;
  void pass_through(const Transforms& transforms, Evaluators evaluators, Copies& x,
                    const rlwe::ForMembers& each) const;
  void reduce(Evaluators evaluators, Copies& x, const rlwe::ForMembers& each) const;

  std::vector<std::shared_ptr<const rlwe::Context>> contexts_;
  bool is_slots_first_;
  PreparedBootstrap first_;                                      // whose engine has no matrices
  std::vector<std::shared_ptr<const BootstrapEngine>> engines_;  // of the first member, and the second
  Transforms to_slots_, to_coefficients_, join_;
};

}  // namespace hemera::circuits
