// Ephemeral binary secrets in blocks, and encryptions of their coefficients: for bootstraps by roots of unity
// (ePrint 2025/651).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// z(X^(N / degree)) for z of a ring of this degree, in `blocks` blocks of consecutive coefficients. Each
/// block has a single 1, at a uniform place; all else is 0. Both are powers of two, degree <= N.
struct BlockSecret {
  std::size_t degree = 0;
  std::size_t blocks = 0;

  [[nodiscard]] std::size_t length() const { return degree / blocks; }
  friend bool operator==(const BlockSecret&, const BlockSecret&) = default;
};

/// The slots in which encryptions have the coefficients of z, for `values` values: coefficient r u + v of
/// block k, u = places(), is in slots j + values (k + blocks v), j < values, of encryption r. All N/2 slots
/// are taken unless a block has fewer coefficients than there are places.
struct BlockSlots {
  BlockSecret secret;
  std::size_t values = 0;  ///< a power of two, values * blocks <= N/2

  /// Places of a block in one encryption, for slots in all: a power of two.
  [[nodiscard]] std::size_t places(std::size_t slots) const;
  /// The number of encryptions.
  [[nodiscard]] std::size_t encryptions(std::size_t slots) const;
  friend bool operator==(const BlockSlots&, const BlockSlots&) = default;
};

/// Numbers of such secrets, and of their encryptions, in roles begin here; they hold the shape.
inline constexpr std::uint32_t first_block_secret = std::uint32_t{1} << 30;

/// The role of the key from the ciphertexts' secret to z, and that of an encryption: a key from its
/// plaintext, which is an encryption of P times the plaintext. Products with it, divided by P, have no error
/// of it. The plaintext's scale is that of its level.
KeyRole to_block_role(const BlockSlots& slots);
KeyRole block_role(const BlockSlots& slots, std::size_t number);
/// The shape of such a role, and the number of an encryption.
std::optional<BlockSlots> to_block_of(const KeyRole& role);
struct BlockEncryption {
  BlockSlots slots;
  std::size_t number = 0;
};
std::optional<BlockEncryption> block_of(const KeyRole& role);

/// Keys of one fresh secret z in the making, one after the other: z exists as long as this object.
class BlockKeyMaker {
 public:
  /// Throws as generate_block_keys.
  BlockKeyMaker(const SecretKey& secret, const BlockSlots& slots, GadgetPointer narrow, GadgetPointer wide);
  BlockKeyMaker(const BlockKeyMaker&) = delete;
  BlockKeyMaker& operator=(const BlockKeyMaker&) = delete;
  ~BlockKeyMaker();

  /// The key to z, and that of an encryption; made before the next call.
  [[nodiscard]] KeyMaker to_block();
  [[nodiscard]] KeyMaker encryption(std::size_t number);

 private:
  const SecretKey& secret_;
  BlockSlots slots_;
  GadgetPointer narrow_, wide_;
  std::vector<std::uint64_t> places_;  // of each block's 1
  std::optional<SecretKey> end_;       // of the key in the making: z, or a plaintext
};

/// Both kinds of keys, of one fresh secret z, which exists only within the call.
struct BlockKeys {
  std::shared_ptr<const SwitchingKey> to_block;
  std::vector<std::shared_ptr<const SwitchingKey>> encryptions;  ///< in the order of `numbers`
};
/// `narrow`: the gadget of the key under z, over one ciphertext prime and at most one special one; `wide`:
/// that of the encryptions, one digit. Throws ParameterError for other gadgets and for shapes out of range,
/// SecurityError if `narrow` has more bits than the estimates of such secrets allow
/// (max_log_modulus_of_blocks) and the parameters ask for security.
BlockKeys generate_block_keys(const SecretKey& secret, const BlockSlots& slots,
                              std::span<const std::size_t> numbers, const GadgetPointer& narrow,
                              const GadgetPointer& wide);

}  // namespace hemera::rlwe
