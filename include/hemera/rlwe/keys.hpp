// Secret, public and evaluation keys.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/gadget.hpp"

namespace hemera::rlwe {

/// The secret polynomial s, in evaluation form over Context::key_base(). Its memory is zeroed on release.
struct SecretKey {
  ContextPointer context;
  poly::Poly poly;  // [1, 1, limb, N]
};

/// An encryption of zero: (-a s + e, a) (BGV: t e). The polynomial's base is the key's own:
/// Context::public_key_base() for keys made here, any primes of Context::key_base() for those of others.
struct PublicKey {
  ContextPointer context;
  poly::Poly poly;  // [1, 2, limb, N], evaluation form
  /// The uniform half a is this stream.
  std::optional<poly::RandomStream> seed;

  /// The security of its modulus, the product of its base.
  [[nodiscard]] Security security() const;
};

/// Throws MissingKeyError: a set of keys has no public key.
[[noreturn]] void throw_null(const PublicKey*);

/// Switches a component of a ciphertext from one secret to another, at the levels that its gadget serves:
/// digit d holds (-a_d s_to + e_d + P g_d s_from, a_d) over the gadget's modulus (BGV: t e_d), where the
/// gadget element g_d is 2^shift modulo the digit's primes and 0 modulo the others.
struct SwitchingKey {
  ContextPointer context;
  GadgetPointer gadget;
  poly::Poly poly;  // [digit, 2, limb, N], evaluation form, in words of Context::key_word or matrix_key_word
  std::optional<poly::RandomStream> seed;

  /// The highest level of ciphertexts that it switches.
  [[nodiscard]] std::size_t level() const { return gadget->highest_level(); }
  /// The security of its modulus, if the secret that it ends at has the distribution of the parameters.
  [[nodiscard]] Security security() const;
};

/// The role of a switching key in a set: from s_from^power to the image of s_to under 1/galois_element. With
/// both a power 2 and an element, it is from the product of s_from and that image. Secrets are numbered: 0 is
/// the secret of the ciphertexts; others belong to a circuit.
struct KeyRole {
  std::uint32_t power = 1;
  std::uint64_t galois_element = 1;
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  static KeyRole relinearization() { return {.power = 2}; }
  static KeyRole galois(std::uint64_t element) { return {.galois_element = element}; }
  /// The key of a ciphertext times its image (rlwe/turned_product.hpp).
  static KeyRole turned_product(std::uint64_t element) { return {.power = 2, .galois_element = element}; }

  /// Higher powers first, then by element: the order of files.
  friend std::strong_ordering operator<=>(const KeyRole& a, const KeyRole& b) {
    return std::tie(b.power, a.galois_element, a.from, a.to) <=>
           std::tie(a.power, b.galois_element, b.from, b.to);
  }
  friend bool operator==(const KeyRole&, const KeyRole&) = default;
};

/// A switching key that a circuit uses: its role, and its gadget.
struct KeyNeed {
  KeyRole role;
  GadgetPrimes gadget;

  friend bool operator==(const KeyNeed&, const KeyNeed&) = default;
};

/// Keys without values, made and noted at each request: for contexts of the device `ledger`.
class AskedKeys {
 public:
  /// The requests by level: the highest level of each role.
  using Levels = std::map<KeyRole, std::size_t>;

  /// The gadget of a key that is asked for by a level; empty: the level's default one.
  using Choice = std::function<std::optional<GadgetPrimes>(const KeyRole&, std::size_t level)>;

  explicit AskedKeys(ContextPointer context, Choice choice = {})
      : context_(std::move(context)), choice_(std::move(choice)) {}

  [[nodiscard]] std::shared_ptr<const SwitchingKey> find(const KeyRole& role, std::size_t level);
  [[nodiscard]] std::shared_ptr<const SwitchingKey> find(const KeyRole& role, const GadgetPrimes& gadget);

  [[nodiscard]] Levels levels() const;
  /// The requests with a gadget of their own, or with one by the choice.
  [[nodiscard]] std::vector<std::pair<KeyRole, GadgetPrimes>> gadgets() const;

 private:
  std::shared_ptr<const SwitchingKey> made(const KeyRole& role, const GadgetPointer& gadget);

  ContextPointer context_;
  Choice choice_;
  mutable std::mutex mutex_;
  Levels levels_;
  std::vector<std::pair<KeyRole, GadgetPrimes>> gadgets_;
  std::map<std::pair<KeyRole, GadgetPrimes>, std::shared_ptr<const SwitchingKey>> keys_;
};

/// Keys of another context of the same parameters, copied to one's own at first use, and kept. Thread-safe.
class KeyCopies {
 public:
  /// The copy, in `target`: always the same context for one key. Throws DeviceError if a graph is being
  /// captured and the key was not used before.
  [[nodiscard]] std::shared_ptr<const SwitchingKey> in(const ContextPointer& target,
                                                       const std::shared_ptr<const SwitchingKey>& key);
  /// The copy if it was made; else null.
  [[nodiscard]] std::shared_ptr<const SwitchingKey> find(
      const std::shared_ptr<const SwitchingKey>& key) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::shared_ptr<const SwitchingKey>, std::shared_ptr<const SwitchingKey>> copies_;
};

/// The keys that a server needs to evaluate; none of them decrypts. Switching keys are found by their role
/// and by the level that their gadget must serve.
struct EvaluationKeys {
  /// One key for each gadget.
  using SwitchingKeys = std::map<GadgetPrimes, std::shared_ptr<const SwitchingKey>>;

  ContextPointer context;
  /// Null in a set without one, as those of plans; following it then throws MissingKeyError.
  runtime::CheckedPointer<const PublicKey> public_key;
  std::map<KeyRole, SwitchingKeys> switching;
  /// Used in place of `switching` if it is not null.
  std::shared_ptr<AskedKeys> asked;
  /// If it is not null, keys in `switching` may be another context's: `find` gives their copies.
  std::shared_ptr<KeyCopies> copies;

  /// Adds a key, replacing one of the same role and gadget. Throws MismatchError for another context's key.
  void add(const KeyRole& role, std::shared_ptr<const SwitchingKey> key);
  /// The keys that `other` has and this set lacks.
  void merge(const EvaluationKeys& other);
  [[nodiscard]] bool has(const KeyRole& role) const { return asked != nullptr || switching.contains(role); }
  [[nodiscard]] bool has(const KeyRole& role, const GadgetPrimes& gadget) const;
  /// The cheapest key of this role for ciphertexts at `level`; null if there is none.
  [[nodiscard]] std::shared_ptr<const SwitchingKey> find(const KeyRole& role, std::size_t level) const;
  /// The key of this role and gadget; null if it is not there.
  [[nodiscard]] std::shared_ptr<const SwitchingKey> find(const KeyRole& role,
                                                         const GadgetPrimes& gadget) const;
  /// The Galois elements that have a key of the ciphertexts' secret, ascending.
  [[nodiscard]] std::vector<std::uint64_t> galois_elements() const;
  /// Bytes of the keys in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// The security of the weakest key; empty without keys.
  [[nodiscard]] std::optional<Security> security() const;

 private:
  /// A key of `switching` in the own context, copied if it has to be; and if it is there, else null.
  [[nodiscard]] std::shared_ptr<const SwitchingKey> own(const KeyRole& role,
                                                        const std::shared_ptr<const SwitchingKey>& key) const;
  [[nodiscard]] std::shared_ptr<const SwitchingKey> held(
      const KeyRole& role, const std::shared_ptr<const SwitchingKey>& key) const;
};

/// A fresh secret of the context's distribution.
SecretKey generate_secret_key(const ContextPointer& context);

PublicKey generate_public_key(const SecretKey& secret);

/// A key from s_from to s_to with this gadget, one of the context's (Context::gadget).
SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, GadgetPointer gadget);
/// A key with the default gadget for levels up to `level`.
SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, std::size_t level);

/// s^2 -> s.
SwitchingKey generate_relinearization_key(const SecretKey& secret, GadgetPointer gadget);
SwitchingKey generate_relinearization_key(const SecretKey& secret, std::size_t level);

/// Key of one Galois element (odd, below 2N; throws ParameterError otherwise).
SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element, GadgetPointer gadget);
SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element, std::size_t level);

/// Keys to an ephemeral secret of fixed Hamming weight and back (J.-P. Bossuat, J. Troncoso-Pastoriza, J.-P.
/// Hubaux, "Bootstrapping for approximate homomorphic encryption with negligible failure-probability by using
/// sparse-secret encapsulation", 2022/024, section 3). The ephemeral secret exists only within the call.
struct EncapsulationKeys {
  std::shared_ptr<const SwitchingKey> to_ephemeral;    // s -> ephemeral
  std::shared_ptr<const SwitchingKey> from_ephemeral;  // ephemeral -> s
};
/// `narrow`: the gadget of the key under the ephemeral secret, over one or two ciphertext primes and at
/// most one special one (throws ParameterError otherwise). Its security depends on that modulus and the
/// weight; throws SecurityError if that is below the security that the parameters ask for. `wide`: the gadget
/// of the key back.
EncapsulationKeys generate_encapsulation_keys(const SecretKey& secret, std::size_t weight,
                                              const GadgetPointer& narrow, const GadgetPointer& wide);
/// The weight of ephemeral secrets where no other is named, and the largest.
inline constexpr std::size_t usual_ephemeral_weight = 32, largest_ephemeral_weight = 1024;
/// The number of an ephemeral secret in roles of keys: 1 of the usual weight, else first_ephemeral_secret and
/// the weight.
inline constexpr std::uint32_t ephemeral_secret = 1, first_ephemeral_secret = std::uint32_t{1} << 28;
/// ParameterError for a weight of 0, and above the largest.
std::uint32_t ephemeral_secret_of(std::size_t weight);
/// The weight of the ephemeral secret of this number; empty: it is of another secret.
std::optional<std::size_t> ephemeral_weight_of(std::uint32_t secret);
/// BFV and BGV: the number of the ciphertexts' secret in roles of a circuit's keys, which belong to the
/// circuit's context (Context::circuit). Their errors are no multiples of t.
inline constexpr std::uint32_t circuit_secret = 2;

/// Whether a key of this role belongs to the circuit's context.
bool is_of_circuit(const KeyRole& role);
/// The role, in a set of the ciphertexts' context, of a key that has this one in the circuit's.
KeyRole circuit_role(KeyRole role);
/// The reverse.
KeyRole role_in_circuit(KeyRole role);
/// The context that keys of a role belong to in a set of this one: itself, or its circuit's.
const ContextPointer& key_context(const ContextPointer& context, const KeyRole& role);
/// The same secret in the circuit's context, a copy.
SecretKey circuit_secret_key(const SecretKey& secret);
/// A circuit's keys as a set of its own context, with their roles there, and back. Keys are shared.
EvaluationKeys circuit_keys(const EvaluationKeys& keys);
EvaluationKeys keys_with_circuit(const ContextPointer& context, const EvaluationKeys& circuit);

struct KeyRequest {
  bool public_key = true;
  bool relinearization = true;
  /// Slot rotations; each gets the key of its Galois element.
  std::vector<std::int64_t> rotations = {};
  /// CKKS conjugation, BFV and BGV exchange of rows.
  bool conjugation = false;
  /// Highest level of the Galois keys; empty: the user's highest.
  std::optional<std::size_t> galois_level = std::nullopt;
};
EvaluationKeys generate_keys(const SecretKey& secret, const KeyRequest& request);

/// Fills the uniform half (component 1) of a key's or ciphertext's polynomial from its seed: the rule of
/// poly/random.hpp with polynomial index = batch index.
void expand_uniform_half(const Context& context, poly::Poly& poly, const poly::RandomStream& seed);

}  // namespace hemera::rlwe
