// The keys, operations and memory that a circuit takes, counted before it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemera/poly/ledger.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/needed_keys.hpp"

namespace hemera::ckks {
class Evaluator;
}

namespace hemera::circuits {

using rlwe::KeyNeed;

/// Limbs (N words each) that operations of one kind go through, all together: what their time depends on.
struct Work {
  std::size_t mod_ups = 0;       ///< of digits, over Q u P
  std::size_t key_products = 0;  ///< of the keys' components
  std::size_t divisions = 0;     ///< that are divided, by P, by a level's divisor or by both
  std::size_t products = 0;      ///< that are multiplied with another one, or with a number

  Work& operator+=(const Work& other);
  friend bool operator==(const Work&, const Work&) = default;
};

/// Levels and scales where a circuit begins and ends; of several results the first one's at the lowest level.
struct Ends {
  std::size_t level = 0;
  double scale = 0;
  std::size_t result_level = 0;
  double result_scale = 0;

  /// Levels used; negative for circuits that give levels back.
  [[nodiscard]] std::ptrdiff_t depth() const {
    return static_cast<std::ptrdiff_t>(level) - static_cast<std::ptrdiff_t>(result_level);
  }
};

/// The operations of one evaluation of a circuit, for each element of a batch, and the bytes that it takes.
struct Cost {
  std::size_t key_products = 0;     ///< inner products of digits with a key
  std::size_t mod_ups = 0;          ///< extensions of digits
  std::size_t divisions = 0;        ///< by P, with the rescale in it or not
  std::size_t plain_products = 0;   ///< products with plaintexts, and with numbers other than 1 in sums
  std::size_t products = 0;         ///< of ciphertexts, before they are relinearized
  std::size_t rescales = 0;         ///< that are not part of a division by P
  std::size_t key_bytes = 0;        ///< of all keys, in memory
  std::size_t plaintext_bytes = 0;  ///< of encoded matrices and coefficients, which stay in memory
  /// The most bytes of values in between, results and scratch at one time: exactly those of a CPU.
  std::size_t workspace_bytes = 0;
  /// The work by the level at which it is done.
  std::map<std::size_t, Work> work;
  /// The calls of the backend.
  poly::Ledger::Entries entries;

  /// The work of all levels.
  [[nodiscard]] Work total_work() const;
};

/// Errors that rounding leaves in the slots of a result: the root mean square of complex numbers, and that in
/// the worst place.
struct ExpectedError {
  double mean = 0;
  double worst = 0;
};

/// Bytes that keys for these needs take in memory.
std::size_t key_bytes(std::size_t degree, std::span<const KeyNeed> needs);

/// Bytes of the residues of a file of these keys, which a client uploads: packed, without the half that seeds
/// stand for. Headers come on top, some hundred bytes a key.
std::size_t upload_bytes(std::size_t degree, std::span<const KeyNeed> needs);

/// The rotations (to the left, below N/2) whose Galois elements are those of needs; others are left out.
std::map<std::uint64_t, std::size_t> rotation_steps(const rlwe::Parameters& parameters,
                                                    std::span<const KeyNeed> needs);

/// The gadget of a key over the primes of one level alone, with at most `special` special primes: of a
/// rotation or the conjugation, or with `power` 2 of a product. ParameterError where the security leaves room
/// for none.
rlwe::GadgetPrimes own_gadget(const rlwe::Parameters& parameters, std::uint32_t power, std::size_t level,
                              std::size_t special);
/// The `special` that gives the gadget of a need, which serves levels up to this one; empty where it is the
/// level's default gadget. ParameterError for any other gadget.
std::optional<std::size_t> own_special_primes(const rlwe::Parameters& parameters, const KeyNeed& need,
                                              std::size_t level);

/// The key of a need, of that gadget exactly. MissingKeyError, which names the plan, where it is not there.
std::shared_ptr<const rlwe::SwitchingKey> require_key(const rlwe::EvaluationKeys& keys, const KeyNeed& need,
                                                      const std::string& plan = "the plan");

/// The common part of all circuits before they run. Immutable.
///
/// Keys and costs come from a run of the circuit on the device `ledger`, at the first question for either;
/// copies of a plan share it. Any thread may ask.
class Plan {
 public:
  virtual ~Plan() = default;

  [[nodiscard]] const rlwe::Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const Ends& ends() const { return ends_; }
  [[nodiscard]] std::size_t level() const { return ends_.level; }
  [[nodiscard]] std::size_t result_level() const { return ends_.result_level; }
  [[nodiscard]] const Cost& cost() const;
  /// The keys that it takes, and no others.
  [[nodiscard]] const std::vector<KeyNeed>& needed_keys() const;
  /// The slots' complex errors, by a model (each plan says which). `input_error`: the inputs' root mean
  /// square; empty: that of fresh encryptions with the public key.
  [[nodiscard]] ExpectedError expected_error(std::optional<double> input_error = {}) const;

  /// Bytes of keys, plaintexts and workspace together, for a batch of this many.
  [[nodiscard]] std::size_t memory_bytes(std::size_t batch = 1) const;
  /// Throws OutOfMemoryError where a context's device, or its memory limit, has less left than that: ask
  /// before keys are made.
  /// Throws MismatchError for a context of other parameters.
  void require_memory(const rlwe::Context& context, std::size_t batch = 1) const;

  /// All needed keys. Throws, before any is made: MismatchError for a secret of other parameters,
  /// SecurityError for a key weaker than they insist on, OutOfMemoryError where the secret's context has no
  /// room for them.
  [[nodiscard]] rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret) const;

  /// Throws MismatchError, which names the operation, for a context of other parameters.
  void require_parameters(const rlwe::Context& context, const char* operation) const;

 protected:
  /// An input of one evaluation, at the plan's level and scale unless it has its own.
  struct Input {
    std::size_t slots;
    rlwe::BatchShape batch = {};
    std::optional<std::size_t> level = std::nullopt;
  };
  /// One evaluation, of a plan that is bound to a context.
  using Evaluation =
      std::function<void(const ckks::Evaluator&, std::span<const rlwe::Ciphertext* const> inputs)>;

  explicit Plan(const rlwe::Parameters& parameters);
  Plan(const Plan&) = default;
  Plan(Plan&&) = default;
  Plan& operator=(const Plan&) = default;
  Plan& operator=(Plan&&) = default;

  [[nodiscard]] virtual std::vector<Input> inputs() const = 0;
  [[nodiscard]] virtual Evaluation bound(const rlwe::ContextPointer& context) const = 0;
  /// The gadget of a key that an evaluation asks for by the level where it is used. Empty: the default one of
  /// the highest level where the role is used.
  [[nodiscard]] virtual std::optional<rlwe::GadgetPrimes> gadget_of(const rlwe::KeyRole& role,
                                                                    std::size_t level) const;
  /// expected_error of inputs with this error.
  [[nodiscard]] virtual ExpectedError error_from(double input_error) const = 0;

  /// Throws OutOfMemoryError where a context has no room for plaintexts and the workspace of one evaluation
  /// (`binding`), or for the workspace of a batch, and MissingKeyError for a key that is needed and not
  /// there. A context of the device `ledger` has room.
  void require_binding(const rlwe::Context& context, const char* operation) const;
  void require_workspace(const rlwe::Context& context, std::size_t batch, const char* operation) const;
  /// `plan`: what the error names.
  void require_keys(const rlwe::Context& context, const rlwe::EvaluationKeys& keys,
                    const std::string& plan = "the plan") const;
  /// Sets the ends of a circuit that takes `depth` of the user's levels, with their scales; by default from
  /// the highest one. Throws LevelError, which names the circuit, where they are not there.
  void take_user_levels(std::optional<std::size_t> level, std::size_t depth, const std::string& circuit);
  /// For a constructor that changes what was counted.
  void count_again() { counted_ = std::make_shared<Counted>(); }

  Ends ends_;
  /// The error of a division in a slot, a root mean square times the scale: that of a fresh encryption, too.
  double rounding_ = 0;

 private:
  struct Counted {
    std::once_flag once;
    /// The context of the run that counts, which may not ask for the results; else null.
    std::atomic<const rlwe::Context*> context = nullptr;
    Cost cost;
    std::vector<KeyNeed> needs;
  };

  [[nodiscard]] const Counted& counted() const;
  void count(Counted& result) const;

  rlwe::Parameters parameters_;
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
};

/// Throws MismatchError unless the context has the parameters that a plan was made for.
void require_parameters(const rlwe::Context& context, const rlwe::Parameters& plan, const char* operation);

/// Throws OutOfMemoryError where a context's device, or its memory limit, has fewer bytes left than `what`
/// takes. `ways_out`: further ones, for the message, each behind "; ".
void require_room(const rlwe::Context& context, std::size_t bytes, const std::string& what,
                  const std::string& ways_out = {});

}  // namespace hemera::circuits
