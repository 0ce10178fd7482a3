// The operations of every scheme's evaluator; a scheme supplies products, plaintext arithmetic and levels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/operand_copies.hpp"
#include "hemera/rlwe/scalar.hpp"
#include "hemera/rlwe/scale_policy.hpp"

namespace hemera::rlwe {

/// When a product of two ciphertexts goes back from size 3 to 2.
enum class Relinearization : std::uint8_t {
  eager,  ///< by multiply and square themselves
  lazy,   ///< when an operation needs size 2 (the next multiplication, a rotation, sending)
};

/// Two operands ready to be multiplied, at one level, and the metadata of their product. A plaintext is the
/// polynomial that multiplies the components.
struct Factors {
  poly::ConstPolyView a, b;
  /// BFV and BGV, in place of b: a plaintext modulo t that its sum lifts, with the others.
  poly::ConstPolyView integers = {};
  Metadata meta;
  std::vector<poly::Poly> held;  // copies that the views see

  /// Keeps a copy, if there is one, for as long as this lives.
  void hold(poly::Poly copy) {
    if (copy) held.push_back(std::move(copy));
  }
  /// Components of the product.
  [[nodiscard]] std::size_t size() const { return a.shape.components + b.shape.components - 1; }
};

/// Evaluates on ciphertexts with evaluation keys and without any secret. Stateless beyond its keys: any
/// number of threads may use one evaluator. Operations throw MismatchError if an operand belongs to another
/// context, and MissingKeyError, which says how to make the key, if a key is not there. The `..._inplace`
/// forms change an operand; the others return a new ciphertext.
class Evaluator {
 public:
  Evaluator(ContextPointer context, EvaluationKeys keys,
            Relinearization relinearization = Relinearization::eager);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  [[nodiscard]] const ContextPointer& context() const { return context_; }
  [[nodiscard]] const EvaluationKeys& keys() const { return keys_; }

  // --- Linear. Levels, scales and correction factors are aligned first, as the rescaling policy says. ---
  [[nodiscard]] Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  [[nodiscard]] Ciphertext subtract(const Ciphertext& a, const Ciphertext& b) const;
  void add_inplace(Ciphertext& a, const Ciphertext& b) const;
  void subtract_inplace(Ciphertext& a, const Ciphertext& b) const;
  void negate_inplace(Ciphertext& a) const;
  [[nodiscard]] Ciphertext negate(const Ciphertext& a) const;
  /// The sum of all terms. Throws ParameterError if there is none.
  [[nodiscard]] Ciphertext add_many(std::span<const Ciphertext* const> terms) const;

  // --- Plaintexts and scalars. ---
  virtual void add_plain_inplace(Ciphertext& a, const Plaintext& b) const = 0;
  virtual void subtract_plain_inplace(Ciphertext& a, const Plaintext& b) const = 0;
  [[nodiscard]] Ciphertext multiply_plain(const Ciphertext& a, const Plaintext& b) const;
  void multiply_plain_inplace(Ciphertext& a, const Plaintext& b) const { a = multiply_plain(a, b); }
  [[nodiscard]] Ciphertext add_plain(const Ciphertext& a, const Plaintext& b) const;
  [[nodiscard]] Ciphertext subtract_plain(const Ciphertext& a, const Plaintext& b) const;
  /// A number is given as it is: `evaluator.add_scalar(x, 5)`. Throws ParameterError for one that the scheme
  /// does not have (Scalar::integer).
  virtual void add_scalar_inplace(Ciphertext& a, const Scalar& b) const = 0;
  virtual void multiply_scalar_inplace(Ciphertext& a, const Scalar& b) const = 0;
  [[nodiscard]] Ciphertext add_scalar(const Ciphertext& a, const Scalar& b) const;
  [[nodiscard]] Ciphertext multiply_scalar(const Ciphertext& a, const Scalar& b) const;

  // --- Products. ---
  [[nodiscard]] Ciphertext multiply(const Ciphertext& a, const Ciphertext& b) const;
  [[nodiscard]] Ciphertext square(const Ciphertext& a) const { return multiply(a, a); }
  /// The sum of a[i] b[i], as by multiply_plain or multiply of each and add, but in one pass over the
  /// operands, and relinearized once as a sum. Products whose levels, scales or correction factors differ are
  /// summed separately and aligned as addends. Throws ParameterError unless a and b have one size, at least
  /// 1.
  [[nodiscard]] Ciphertext dot(std::span<const Ciphertext* const> a,
                               std::span<const Plaintext* const> b) const;
  [[nodiscard]] Ciphertext dot(std::span<const Ciphertext* const> a,
                               std::span<const Ciphertext* const> b) const;
  void relinearize_inplace(Ciphertext& a) const;
  /// a^exponent, exponent >= 1, in ceil(log2 exponent) levels.
  [[nodiscard]] Ciphertext power(const Ciphertext& a, std::uint64_t exponent) const;
  /// The product of all factors, as a balanced tree. Throws ParameterError if there is none.
  [[nodiscard]] Ciphertext multiply_many(std::span<const Ciphertext* const> factors) const;

  // --- Levels. ---
  /// CKKS: rescale; BFV, BGV: modulus switch: one level down. Throws LevelError at the last one.
  [[nodiscard]] virtual Ciphertext rescale(const Ciphertext& a) const = 0;
  void rescale_inplace(Ciphertext& a) const { a = rescale(a); }
  /// Down to `level`, keeping the values (CKKS: dropping limbs; BFV and BGV: modulus switching).
  void drop_to_level_inplace(Ciphertext& a, std::size_t level) const;
  /// Down to `level` as the rescaling policy aligns operands: where it scales up, with the scale of the level
  /// (which takes a rescaling), else as drop_to_level_inplace.
  [[nodiscard]] Ciphertext lower_to_level(const Ciphertext& a, std::size_t level) const;
  void lower_to_level_inplace(Ciphertext& a, std::size_t level) const;
  /// The smallest form to send: relinearized, rescaled and at the lowest level whose base holds the result
  /// safely.
  [[nodiscard]] Ciphertext shrink(const Ciphertext& a) const;

  // --- Slots. ---
  /// Slots turn left by `steps`, any sign (BFV and BGV: within the two rows): slot i of the result is slot i
  /// + steps. Uses one key if it is there, otherwise the fewest power-of-two steps.
  [[nodiscard]] Ciphertext rotate(const Ciphertext& a, std::int64_t steps) const;
  /// The steps whose keys `rotate(steps)` will use with these keys: {steps} or a sum of signed powers of two.
  /// Throws MissingKeyError when the keys do not suffice.
  [[nodiscard]] std::vector<std::int64_t> rotation_plan(std::int64_t steps, const Ciphertext& a) const;
  /// Rotations by each of `steps` with one ModUp; keys for each are needed.
  [[nodiscard]] std::vector<Ciphertext> rotate_hoisted(const Ciphertext& a,
                                                       std::span<const std::int64_t> steps) const;
  /// CKKS: conjugate; BFV and BGV: exchange the rows.
  [[nodiscard]] Ciphertext conjugate(const Ciphertext& a) const;
  /// Every slot becomes the sum of all slots, padding among them (BFV and BGV: over both rows).
  [[nodiscard]] Ciphertext sum_slots(const Ciphertext& a) const;
  /// The ciphertext under the secret that `key` ends at.
  [[nodiscard]] Ciphertext reencrypt(const Ciphertext& a, const SwitchingKey& key) const;

 protected:
  /// Multiplies the residues by the step's factor, which leaves the values unchanged, and updates the noise.
  virtual void multiply_by_factor(Ciphertext& a, const ScaleStep& step) const = 0;
  /// The remaining steps for a sum of operands at one level: BGV balances their correction factors.
  [[nodiscard]] virtual ScaleWays balanced(const Metadata& a, const Metadata& b) const;
  /// Operands of size 2 (the same object twice for a square), or an operand and a plaintext: their copies in
  /// `copies` where there are any. New ones go there.
  [[nodiscard]] virtual Factors factors(const Ciphertext& a, const Ciphertext& b,
                                        OperandCopies& copies) const = 0;
  [[nodiscard]] virtual Factors factors(const Ciphertext& a, const Plaintext& b,
                                        OperandCopies& copies) const = 0;
  /// An operand of a sum refreshed before it, if the evaluator does that, because the sum would be too noisy
  /// and most of the noise is the operand's. `own` and `other` are the operands' metadata as they are added.
  [[nodiscard]] virtual std::optional<Ciphertext> refreshed_addend(const Ciphertext& a, const Metadata& own,
                                                                   const Metadata& other) const;
  /// The same for a sum of this many ciphertexts that are as noisy as `a`.
  [[nodiscard]] virtual std::optional<Ciphertext> refreshed_for_sum(const Ciphertext& a,
                                                                    std::size_t terms) const;
  /// The sum of products, all of ciphertexts or all with plaintexts, which has the metadata `meta`. With a
  /// key, which products of ciphertexts may have, it is relinearized.
  [[nodiscard]] virtual Ciphertext sum_products(std::span<const Factors> products, Metadata meta,
                                                const SwitchingKey* key) const;
  /// Lowest level that holds the result safely.
  [[nodiscard]] virtual std::size_t smallest_safe_level(const Ciphertext& a) const = 0;

  /// Marks a result whose guaranteed noise budget is spent, and warns of it (set_warning_handler).
  virtual void notice(Ciphertext& result, const char* operation) const;

  /// Takes all steps; if it throws, `a` is unchanged.
  void take_steps(Ciphertext& a, std::span<const ScaleStep> steps) const;
  /// `a` itself if there are no steps, otherwise a copy after them, kept in `storage`.
  const Ciphertext& stepped(const Ciphertext& a, std::span<const ScaleStep> steps, Ciphertext& storage) const;

  void require(const Ciphertext& a, const char* operation) const;
  /// `a` itself if it has size 2, otherwise a relinearized copy, kept in `storage`.
  const Ciphertext& at_size_two(const Ciphertext& a, Ciphertext& storage) const;
  /// The keys for ciphertexts at `level`; they live as long as this.
  [[nodiscard]] const SwitchingKey& galois_key(std::uint64_t element, std::int64_t steps,
                                               std::size_t level) const;
  [[nodiscard]] const SwitchingKey& relinearization_key(std::size_t level) const;

 private:
  [[nodiscard]] Ciphertext noticed(Ciphertext result, const char* operation) const;
  [[nodiscard]] const SwitchingKey& find_key(const KeyRole& role, std::size_t level,
                                             const std::string& what) const;
  void combine_aligned(Ciphertext& out, const Ciphertext& a, const Ciphertext& b, bool subtract) const;
  /// The same without notice of its result.
  void combine_operands(Ciphertext& out, const Ciphertext& a, const Ciphertext& b, bool subtract) const;
  /// The operands of `multiply` checked, at size 2 and ready.
  [[nodiscard]] Factors checked_factors(const Ciphertext& a, const Ciphertext& b, OperandCopies& copies,
                                        const char* operation) const;
  [[nodiscard]] Factors checked_factors(const Ciphertext& a, const Plaintext& b, OperandCopies& copies,
                                        const char* operation) const;
  /// The sum of one or more products that may be added as they are; relinearized if there is a key.
  [[nodiscard]] Ciphertext sum_aligned(std::span<const Factors> products, const SwitchingKey* key,
                                       const char* operation) const;
  /// Adds products of any kind to `sum`, which may be empty.
  void add_products(Ciphertext& sum, std::vector<Factors> products) const;
  template <typename Operand>
  [[nodiscard]] Ciphertext sum_of_products(std::span<const Ciphertext* const> a,
                                           std::span<const Operand* const> b) const;

  ContextPointer context_;
  EvaluationKeys keys_;
  Relinearization relinearization_;
};

/// The rotations whose keys `sum_slots` uses for ciphertexts of `slots` slots.
std::vector<std::int64_t> rotations_for_sum(const Parameters& parameters, std::size_t slots);
/// The fewest signed power-of-two steps (modulo `period`) that make up each rotation, as one sorted set.
std::vector<std::int64_t> rotations_needed(std::span<const std::int64_t> steps, std::size_t period);

}  // namespace hemera::rlwe
