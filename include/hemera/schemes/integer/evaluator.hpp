// BFV's and BGV's evaluators in common: plaintexts and scalars modulo t, and levels by modulus switching.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::integer {

class Rules;

/// Evaluates on integers modulo t. A scheme supplies its rules (the place of the message, and the growth of
/// noise), the noise of its products and, if it needs to, the level and computation of products.
class Evaluator : public rlwe::Evaluator {
 public:
  void add_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const final;
  void subtract_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const final;
  void add_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const final;
  void multiply_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const final;
  /// Modulus switch one level down.
  [[nodiscard]] rlwe::Ciphertext rescale(const rlwe::Ciphertext& a) const final;

  /// Brings noise down: a bootstrap. Budgets are guaranteed ones, in bits.
  struct Refresh {
    std::function<rlwe::Ciphertext(const Evaluator&, const rlwe::Ciphertext&)> run;
    double needed = 0;  ///< that results of products keep: what the next bootstrap needs, and sums before it
    double left = 0;    ///< after a bootstrap
    double least = 0;   ///< that a bootstrap needs, and results of sums keep
  };
  /// The number of ciphertexts that were bootstrapped by this evaluator; each element of a batch counts.
  [[nodiscard]] std::uint64_t bootstraps() const { return bootstraps_.load(std::memory_order_relaxed); }
  /// Counts a bootstrap of `a`: for circuits that bootstrap.
  void count_bootstrap(const rlwe::Ciphertext& a) const;

 protected:
  /// Operands of products and sums whose result would keep less budget than `refresh` says are refreshed
  /// before: in a sum of products each once.
  /// Throws MismatchError for a context of another scheme than the rules'. The rules must outlive it.
  Evaluator(const Rules& rules, rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
            rlwe::Relinearization relinearization, Refresh refresh);

  void notice(rlwe::Ciphertext& result, const char* operation) const final;
  void multiply_by_factor(rlwe::Ciphertext& a, const rlwe::ScaleStep& step) const final;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Ciphertext& b,
                                      rlwe::OperandCopies& copies) const final;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Plaintext& b,
                                      rlwe::OperandCopies& copies) const final;
  [[nodiscard]] std::optional<rlwe::Ciphertext> refreshed_addend(const rlwe::Ciphertext& a,
                                                                 const rlwe::Metadata& own,
                                                                 const rlwe::Metadata& other) const final;
  [[nodiscard]] std::optional<rlwe::Ciphertext> refreshed_for_sum(const rlwe::Ciphertext& a,
                                                                  std::size_t terms) const final;
  /// As rlwe::Evaluator's, for plaintexts that are to be lifted as well.
  [[nodiscard]] rlwe::Ciphertext sum_products(std::span<const rlwe::Factors> products, rlwe::Metadata meta,
                                              const rlwe::SwitchingKey* key) const override;
  [[nodiscard]] std::size_t smallest_safe_level(const rlwe::Ciphertext& a) const final;

  /// The level at which to multiply, if the scheme has a better one than the rescaling policy.
  [[nodiscard]] virtual std::optional<std::size_t> product_level(const rlwe::Metadata& a,
                                                                 const rlwe::Metadata& b) const;
  /// log2 bound of the noise of the product of operands at one level, before relinearization.
  [[nodiscard]] virtual double product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const = 0;

 private:
  void combine_plain(rlwe::Ciphertext& a, const rlwe::Plaintext& b, bool subtract,
                     const char* operation) const;
  [[nodiscard]] rlwe::Factors factors_as_they_are(const rlwe::Ciphertext& a, const rlwe::Ciphertext& b) const;
  [[nodiscard]] rlwe::Factors factors_as_they_are(const rlwe::Ciphertext& a, const rlwe::Plaintext& b) const;
  [[nodiscard]] double budget(std::size_t level, double noise_log2) const;
  /// Whether a product with this noise, of a sum of this many, would keep less than the next refresh needs.
  [[nodiscard]] bool needs_refresh(std::size_t level, double noise_log2, std::size_t terms = 1) const;
  /// Empty where it would keep no more than there is.
  [[nodiscard]] std::optional<rlwe::Ciphertext> refreshed(const rlwe::Ciphertext& a) const;
  /// Empty as well where there is less than a refresh takes, which sums leave as it is.
  [[nodiscard]] std::optional<rlwe::Ciphertext> refreshed_if_possible(const rlwe::Ciphertext& a) const;
  /// Refreshes an operand's newest copy, unless that is in vain; returns whether it did.
  bool refresh_copy(const rlwe::Ciphertext& a, rlwe::OperandCopies& copies) const;

  const Rules* rules_;
  Refresh refresh_;
  mutable std::atomic<std::uint64_t> bootstraps_{0};
};

}  // namespace hemera::integer
