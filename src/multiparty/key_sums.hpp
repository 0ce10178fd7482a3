// The keys that a group makes: what they are called, and the sums of the messages about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemera/multiparty/key_messages.hpp"
#include "hemera/poly/poly.hpp"
#include "multiparty/prf.hpp"

namespace hemera::multiparty {

inline constexpr std::uint32_t key_message_magic = 0x31474D48;  // "HMG1"

/// A key that is made.
struct KeySum {
  rlwe::KeyNeed need;
  rlwe::ContextPointer context;  ///< the key's own: that of the circuit for keys of bootstraps
  rlwe::KeyRole role;            ///< in that context
  rlwe::GadgetPointer gadget;
  Fields name;
  bool is_usual;      ///< a key of the ciphertexts with the default gadget, whose name has no more words
  poly::Poly first;   ///< [digit, 1, limb, N]; relinearization: the h, [digit, 2, limb, N]
  poly::Poly second;  ///< relinearization: [digit, 1, limb, N]

  /// Throws ParameterError for a role that a group does not make, SecurityError for a weak key.
  KeySum(const rlwe::ContextPointer& of_group, const rlwe::KeyNeed& of_need);

  [[nodiscard]] bool is_product() const { return role.power == 2; }
  [[nodiscard]] const poly::RnsBase& base() const { return gadget->modulus(); }
  [[nodiscard]] poly::Poly& of(int round) { return round == 1 ? first : second; }
};

struct KeyMessages::Sums {
  poly::Poly public_key;  // [1, 1, limb, N]
  std::vector<KeySum> keys;

  /// Throws what KeySum's constructor throws, and ParameterError for needs that come twice, and for keys of
  /// an ephemeral secret that are not one to it and one from it.
  Sums(const rlwe::ContextPointer& context, std::vector<rlwe::KeyNeed> needs);

  /// Bytes of a message's residues.
  [[nodiscard]] std::size_t bytes(const rlwe::Context& context, int round);
};

}  // namespace hemera::multiparty
