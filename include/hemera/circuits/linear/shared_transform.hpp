// One matrix times one encrypted vector (CKKS) on several devices: its giant steps are shared out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/poly/ledger.hpp"
#include "hemera/rlwe/exchange.hpp"

namespace hemera::circuits {

/// The work of a transform over members, counted without values.
struct SharedWork {
  std::vector<poly::Ledger::Entries> products;  ///< calls of each member that computes
  poly::Ledger::Entries finish;                 ///< calls of the first one after the sum
  std::size_t vector_bytes = 0;                 ///< that go to each other member
  std::size_t sum_bytes = 0;                    ///< that each adds up
};

/// A linear transform over members, contexts of the same parameters. Each of k members takes all baby steps
/// and every k-th giant step, the sums over Q u P are added up, and one division ends it. So results have the
/// bits of PreparedLinearTransform. A member has the plaintexts of its giant steps alone. Transforms with
/// fewest keys, or with giant steps by one key, are taken by the first member, since each of their steps
/// begins with the one before.
class SharedLinearTransform {
 public:
  /// `most`: members that compute, at most. Throws ParameterError without members, MismatchError for contexts
  /// of other parameters.
  SharedLinearTransform(std::span<const std::shared_ptr<const rlwe::Context>> members,
                        const LinearTransform& plan, const rlwe::ForMembers& each = rlwe::in_turn,
                        std::size_t most = SIZE_MAX);
  SharedLinearTransform(SharedLinearTransform&&) = default;
  SharedLinearTransform& operator=(SharedLinearTransform&&) = default;
  SharedLinearTransform(const SharedLinearTransform&) = delete;
  SharedLinearTransform& operator=(const SharedLinearTransform&) = delete;
  ~SharedLinearTransform() = default;

  [[nodiscard]] const LinearTransform& plan() const { return shares_.front().plan(); }
  /// Members that compute: at most as many as there are giant steps.
  [[nodiscard]] std::size_t members() const { return shares_.size(); }

  /// The product on the first member, of a vector of any context of the same parameters. `evaluators`: of the
  /// members, or of those that compute, with keys each. Throws as PreparedLinearTransform, and MismatchError
  /// for evaluators of other contexts.
  [[nodiscard]] rlwe::Ciphertext operator()(std::span<const ckks::Evaluator* const> evaluators,
                                            const rlwe::Ciphertext& vector,
                                            const rlwe::ForMembers& each = rlwe::in_turn) const;
  /// The product on every member that has an evaluator, of a vector that each of them has.
  [[nodiscard]] std::vector<rlwe::Ciphertext> on_all(std::span<const ckks::Evaluator* const> evaluators,
                                                     std::span<const rlwe::Ciphertext> vectors,
                                                     const rlwe::ForMembers& each = rlwe::in_turn) const;

  /// Throws ParameterError for no members.
  static SharedWork work(const LinearTransform& plan, std::size_t members);

 private:
  void require_members(std::span<const ckks::Evaluator* const> evaluators) const;
  /// A member's products, for the others to read, and the largest value of its vector.
  void begin(std::size_t member, const ckks::Evaluator& evaluator, const rlwe::Ciphertext& vector,
             rlwe::ExtendedCiphertext& sum, double& largest) const;

  std::vector<std::shared_ptr<const rlwe::Context>> contexts_;  // of all members
  std::vector<PreparedLinearTransform> shares_;                 // of those that compute
};

}  // namespace hemera::circuits
