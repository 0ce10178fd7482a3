// What a circuit needs and costs: told before it runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits {

/// A switching key that a circuit uses: what it does, and its gadget.
struct KeyNeed {
  rlwe::KeyRole role;
  rlwe::GadgetPrimes gadget;

  friend bool operator==(const KeyNeed&, const KeyNeed&) = default;
};

/// Limbs (N words each) that operations of one kind go through, all together: what their time depends on.
struct Work {
  std::size_t mod_ups = 0;       ///< of digits, over Q u P
  std::size_t key_products = 0;  ///< of the keys' components
  std::size_t divisions = 0;     ///< that are divided, by P, by a level's divisor or by both
  std::size_t products = 0;      ///< of the factors' products, plain or not

  Work& operator+=(const Work& other);
  friend bool operator==(const Work&, const Work&) = default;
};

/// What one evaluation of a circuit takes, for each element of a batch.
struct Cost {
  /// The level that it starts at, and the one of the result.
  std::size_t level = 0;
  std::size_t result_level = 0;
  std::size_t key_products = 0;    ///< inner products of digits with a key
  std::size_t mod_ups = 0;         ///< extensions of digits
  std::size_t divisions = 0;       ///< by P, with the rescale in it or not
  std::size_t plain_products = 0;  ///< products with plaintexts
  std::size_t key_bytes = 0;       ///< of all keys, in memory
  std::size_t plaintext_bytes = 0;
  std::size_t products = 0;  ///< of ciphertexts, before they are relinearized
  std::size_t rescales = 0;  ///< that are not part of a division by P
  /// Of values in between and of scratch, at most at once (docs/circuits.md).
  std::size_t workspace_bytes = 0;
  /// Scales of the inputs and of the result; of several results that of the first one at the result level.
  double scale = 0;
  double result_scale = 0;
  /// By the level at which it is done.
  std::map<std::size_t, Work> work;

  /// That of all levels.
  [[nodiscard]] Work total_work() const;
  /// Levels used, by circuits that give none back.
  [[nodiscard]] std::size_t depth() const { return level - result_level; }
  /// Adds the operations of a part, their work and the bytes of its plaintexts. Keys may be shared, and
  /// memory is used again: these are left.
  void add_operations(const Cost& part);
};

/// Errors that rounding leaves in the slots of a result: the root mean square of complex numbers, and that in
/// the worst place.
struct ExpectedError {
  double mean = 0;
  double worst = 0;
};

/// Bytes that keys for these needs take in memory.
std::size_t key_bytes(std::size_t degree, std::span<const KeyNeed> needs);

/// The rotations (to the left, below N/2) whose Galois elements are those of needs; other elements are left
/// out.
std::map<std::uint64_t, std::size_t> rotation_steps(const rlwe::Parameters& parameters,
                                                    std::span<const KeyNeed> needs);

/// Keys for these needs alone; EvaluationKeys::merge joins them with others. Needs of an ephemeral secret
/// come as two, to it and back, and share a fresh one. SecurityError for a gadget that is weaker than the
/// parameters insist on.
rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret, std::span<const KeyNeed> needs);

/// The key of a need, of that gadget exactly. MissingKeyError where it is not there.
std::shared_ptr<const rlwe::SwitchingKey> require_key(const rlwe::EvaluationKeys& keys, const KeyNeed& need);

/// What all circuits tell before they run. Immutable.
class Plan {
 public:
  virtual ~Plan() = default;

  [[nodiscard]] const Cost& cost() const { return cost_; }
  /// The keys that it takes, and no others.
  [[nodiscard]] const std::vector<KeyNeed>& needed_keys() const { return needed_keys_; }
  /// Of the slots' complex errors, by a model (each plan says which). `input_error`: of the inputs, a root
  /// mean square; empty: that of fresh encryptions with the public key.
  [[nodiscard]] ExpectedError expected_error(std::optional<double> input_error = {}) const;

  /// Of keys, plaintexts and workspace together, for a batch of so many.
  [[nodiscard]] std::size_t memory_bytes(std::size_t batch = 1) const;
  /// OutOfMemoryError where a context's device, or its memory limit, has less left than that: to be asked
  /// before keys are made.
  /// MismatchError for a context of other parameters.
  void require_memory(const rlwe::Context& context, std::size_t batch = 1) const;

  /// All needed keys. Before any is made: MismatchError for a secret of other parameters, SecurityError for a
  /// key weaker than they insist on, OutOfMemoryError where the secret's context has no room for them.
  [[nodiscard]] rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret) const;

  /// MismatchError, which names the operation, for a context of other parameters.
  void require_parameters(const rlwe::Context& context, const char* operation) const;

 protected:
  explicit Plan(const rlwe::Parameters& parameters);
  Plan(const Plan&) = default;
  Plan(Plan&&) = default;
  Plan& operator=(const Plan&) = default;
  Plan& operator=(Plan&&) = default;

  /// A key that is needed, unless it is in the list already.
  void add_need(KeyNeed need);
  /// expected_error of inputs with this error.
  [[nodiscard]] virtual ExpectedError error_from(double input_error) const = 0;

  std::vector<KeyNeed> needed_keys_;
  Cost cost_;
  /// Of a division in a slot, a root mean square times the scale: that of a fresh encryption, too.
  double rounding_ = 0;

 private:
  std::array<std::uint8_t, 32> fingerprint_;  // of the parameters
};

/// OutOfMemoryError where a context's device, or its memory limit, has less than so many bytes left for
/// `what`.
void require_room(const rlwe::Context& context, std::size_t bytes, const std::string& what);

}  // namespace hemera::circuits
