// Parameters made ready on a device: the ring, its backend and the constants of every level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/arith/two_doubles.hpp"
#include "hemera/poly/ledger.hpp"
#include "hemera/poly/modulus_chain.hpp"
#include "hemera/poly/plans.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/poly/ring_multiplier.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/checked_pointer.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {
class Backend;
}

namespace hemera::rlwe {

class Context;
/// Throws MismatchError: there is no context, as in an object that was moved from.
[[noreturn]] void throw_null(const Context*);
using ContextPointer = runtime::CheckedPointer<const Context>;

/// How residues of switching keys are stored in a GPU's memory. Files and results have the same bits. On the
/// CPU all are as eight_byte.
enum class Storage : std::uint8_t {
  automatic,   ///< keys of the matrices of circuits packed, from N = 2^15 on
  eight_byte,  ///< in words of eight bytes
  packed,      ///< in 50 bits, 22 % less memory and traffic, for primes below 2^50
  six_byte [[deprecated("use packed")]] = packed,
};

/// Where a GPU's switching keys, and the plaintexts of prepared circuits, are kept. Files and results have
/// the same bits.
enum class KeyPlace : std::uint8_t {
  device,
  host,  ///< pinned memory, which kernels read over the bus: for cards with little memory; on the CPU as
         ///< device
};

/// The automorphism of a rotation by N/2 steps and more.
enum class LongRotations : std::uint8_t {
  within_rows,  ///< the automorphism of the steps modulo N/2
  /// As OpenFHE has them. BFV and BGV: from N/2 steps on, either way, the rows are exchanged, too. CKKS: by
  /// 2N - 1 steps, the conjugation.
  openfhe,
};

/// Options of a context on a device.
struct ContextOptions {
  /// Threads of the CPU backend, and of copies between the host and a GPU. 0: one for each processor of the
  /// process; for copies, as many as make them faster.
  int threads = 0;
  /// Multiplies the ring elements of ciphertext products in place of the backend's transforms
  /// (hemera/multiply/engines.hpp), with the same bits; on the CPU.
  std::shared_ptr<const poly::RingMultiplier> multiplier = nullptr;
  /// Bytes that the backend may take of its device, including those kept for reuse. 0: no limit but the
  /// device's memory.
  std::size_t memory_limit = 0;
  /// A cudaStream_t as a number: all operations run in it, and it must outlive the context. Without one each
  /// host thread has a stream of its own.
  std::optional<std::uintptr_t> stream = std::nullopt;
  Storage storage = Storage::automatic;
  KeyPlace keys = KeyPlace::device;
  /// For Evaluator::rotate and its keys. Sessions with OpenFHE have `openfhe`.
  LongRotations long_rotations = LongRotations::within_rows;
  /// Notes the operations of this context's backend. The device `ledger`, where nothing else is done, has
  /// one in any case.
  std::shared_ptr<poly::Ledger> ledger = nullptr;
  /// Whether operations are waited for, and their times noted (poly::Ledger::times).
  bool times_operations = false;
};

/// One division of a multiple, from a level to a lower one whose base may have primes of its own. Together
/// with the multiple's factor it gives any scale, and it rounds once.
struct Descent {
  poly::Division division;
  arith::TwoDoubles quotient;  ///< the divisor: the primes that it drops over those that it adds
};

/// Immutable and shared; any number may live at once, used from any threads.
class Context {
 public:
  /// Throws DeviceError if the device is not there, or is no CPU and there is a multiplier. Throws
  /// ParameterError if a stream is given elsewhere than on a GPU, or if, with packed storage on any device, a
  /// ciphertext, special or key prime has more than 50 bits.
  static ContextPointer make(Parameters parameters, runtime::Device device = {}, ContextOptions options = {});

  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] Scheme scheme() const { return parameters_.scheme(); }
  /// BFV and BGV with levels of a circuit: the CKKS context by which that computes, of Parameters::circuit(),
  /// on the same ring, backend and queue. Made at its first use, and kept. Throws ParameterError for other
  /// parameters.
  [[nodiscard]] const ContextPointer& circuit() const;
  [[nodiscard]] std::size_t degree() const { return parameters_.degree(); }
  /// Defined in hemera/poly/backend.hpp, which its callers include.
  [[nodiscard]] const poly::Backend& backend() const { return *backend_; }
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& memory() const;
  /// Bytes of the device's memory that objects of this context hold now.
  [[nodiscard]] std::size_t memory_used() const { return memory()->used(); }
  /// Where switching keys and plaintexts of circuits are kept; memory() itself unless they are on the host
  /// (KeyPlace::host).
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& key_memory() const;
  [[nodiscard]] bool keys_on_host() const { return key_memory() != memory(); }
  /// The queue that operations of this context run in: in order for each thread.
  [[nodiscard]] runtime::Queue& queue() const { return *queue_; }

  /// Null: the backend's own transforms.
  [[nodiscard]] const poly::RingMultiplier* multiplier() const { return multiplier_.get(); }
  /// Backend::tensor_product in evaluation form, by the multiplier if there is one.
  void tensor_product(const poly::PolyView& out, const poly::ConstPolyView& a, const poly::ConstPolyView& b,
                      const poly::RnsBase& base) const;
  /// Backend::inner_product in evaluation form, by the multiplier if any and both sides are ciphertexts.
  void inner_product(const poly::PolyView& out, std::span<const poly::ConstPolyView> a,
                     std::span<const poly::ConstPolyView> b, const poly::RnsBase& base,
                     std::span<const std::uint64_t> added = {}) const;

  [[nodiscard]] const poly::ModulusChain& chain() const { return chain_; }
  [[nodiscard]] std::size_t top_level() const { return chain_.top(); }
  /// Throws LevelError for a level above the top, as the other functions of a level do.
  [[nodiscard]] const poly::RnsBase& base(std::size_t level) const { return chain_.base(level); }
  /// The base of secret keys: every ciphertext prime, special prime and further key prime.
  [[nodiscard]] const poly::RnsBase& key_base() const { return key_base_; }
  /// The base of the public keys that this context makes; foreign public keys may have another one.
  [[nodiscard]] const poly::RnsBase& public_key_base() const { return public_key_base_; }
  /// The default gadget of keys for levels up to `level`. Throws LevelError for a level that is not there.
  [[nodiscard]] GadgetPointer gadget(std::size_t level) const;
  /// A gadget of any primes of this context's keys. Equal gadgets are one object as long as one is in use.
  /// Throws ParameterError for other primes, or digits that are no partition.
  [[nodiscard]] GadgetPointer gadget(const GadgetPrimes& primes) const;
  /// The one modulus t of BFV and BGV (empty for CKKS).
  [[nodiscard]] const poly::RnsBase& plain_base() const { return plain_base_; }
  /// BFV: -t^-1 modulo each prime of key_base.
  [[nodiscard]] const std::vector<std::uint64_t>& negative_plain_inverses() const {
    return negative_plain_inverses_;
  }
  /// BFV: auxiliary primes for multiplication, enough for every variant.
  [[nodiscard]] const poly::RnsBase& auxiliary() const { return auxiliary_; }

  /// The ledger that notes this context's operations; null if there is none.
  [[nodiscard]] const std::shared_ptr<poly::Ledger>& ledger() const { return ledger_; }

  /// The words of switching keys; and, in sets of keys, of those that matrices of circuits have for
  /// themselves: of gadgets of their own, from a secret to one of its images.
  [[nodiscard]] poly::Word key_word() const { return key_word_; }
  [[nodiscard]] poly::Word matrix_key_word() const { return matrix_key_word_; }

  /// The error distribution of keys and encryptions.
  [[nodiscard]] const poly::ErrorDistribution& error_distribution() const { return error_distribution_; }

  /// The exact conversion from one base of this context's ring to another.
  [[nodiscard]] const poly::BaseConversion& exact_conversion(const poly::RnsBase& source,
                                                             const poly::RnsBase& target) const;
  /// BFV: the rounding of t / Q that ends a decryption.
  [[nodiscard]] const poly::ScaleAndRound& decryption(std::size_t level) const;
  /// The rescale or modulus switch to the next lower level (level > 0; throws LevelError for 0).
  [[nodiscard]] const poly::Division& rescale(std::size_t level) const;
  /// The same of a multiple. Each factor's plan is made at its first use, and kept: circuits use few factors.
  [[nodiscard]] const poly::Division& rescale(std::size_t level, double factor) const;
  /// The descent from level `high` to `low` < `high`. Made at its first use.
  [[nodiscard]] const Descent& descent(std::size_t high, std::size_t low) const;
  /// The division that ends an encryption at `level` with a public key over `key_base`: by the key's primes
  /// that no level of the user has. Null when there are none. Throws LevelError when the key lacks primes of
  /// the level.
  [[nodiscard]] const poly::Division* encryption_division(std::size_t level,
                                                          const poly::RnsBase& key_base) const;
  /// The rules for scales and levels of this context's ciphertexts.
  [[nodiscard]] const ScalePolicy& scales() const { return scales_; }

  /// A polynomial in this context's memory. `entries`: stored entries of a limb, 0: all. `word`: their size.
  [[nodiscard]] poly::Poly make_poly(std::size_t batch, std::size_t components, const poly::RnsBase& base,
                                     poly::Form form, runtime::Secrecy secrecy = runtime::Secrecy::open,
                                     std::size_t entries = 0, poly::Word word = poly::Word::u64) const {
    return {memory(), batch, components, base, form, secrecy, entries, word};
  }
  /// Scratch in this context's memory; each operation that gets it makes room for its own.
  [[nodiscard]] runtime::Workspace make_workspace(runtime::Secrecy secrecy = runtime::Secrecy::open) const {
    return runtime::Workspace(memory(), secrecy);
  }

  /// As Parameters::galois_element; a long rotation may have an element of its own (LongRotations).
  [[nodiscard]] std::uint64_t galois_element(std::int64_t steps) const;
  /// Whether a rotation by `steps` differs from that by `steps` modulo N/2 (LongRotations).
  [[nodiscard]] bool is_long_rotation(std::int64_t steps) const;
  [[nodiscard]] LongRotations long_rotations() const { return long_rotations_; }
  [[nodiscard]] std::uint64_t conjugation_element() const { return parameters_.conjugation_element(); }

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  Context(Parameters parameters, runtime::Device device, ContextOptions options);
  /// Over primes of another context's ring, on its backend and queue.
  Context(Parameters parameters, const Context& whole);

  struct Plans;
  /// Bases and divisions of the parameters, once there are a backend and its ring.
  void make_bases(const std::shared_ptr<const poly::Ring>& ring, std::span<const std::uint64_t> auxiliary);
  void choose_key_words(Storage storage);

  /// t where divisions must keep multiples of t multiples (BGV), else empty.
  [[nodiscard]] const poly::RnsBase& switching_plain_base() const;

  Parameters parameters_;
  ScalePolicy scales_;
  poly::ErrorDistribution error_distribution_;
  std::shared_ptr<poly::Ledger> ledger_;
  std::shared_ptr<const poly::Backend> backend_;
  std::shared_ptr<const poly::RingMultiplier> multiplier_;
  std::shared_ptr<runtime::Queue> queue_;
  poly::ModulusChain chain_;
  poly::RnsBase key_base_;
  poly::RnsBase public_key_base_;
  poly::RnsBase plain_base_;
  std::vector<std::uint64_t> negative_plain_inverses_;
  poly::RnsBase auxiliary_;
  poly::Word key_word_ = poly::Word::u64, matrix_key_word_ = poly::Word::u64;
  LongRotations long_rotations_;
  std::vector<std::unique_ptr<const poly::Division>> rescale_;
  std::unique_ptr<Plans> plans_;
};

/// MismatchError unless both are one context. Objects move between contexts of equal parameters as bytes.
void require_same_context(const Context& a, const Context& b, const char* operation);

}  // namespace hemera::rlwe
