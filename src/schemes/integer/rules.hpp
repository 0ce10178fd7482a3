// The differences between BFV and BGV: the place of the message in a ciphertext, and its consequences.
#pragma once

#include <cstdint>
#include <vector>

#include "hemera/poly/views.hpp"
#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::integer {

/// How a message m modulo t lies in component 0 of a ciphertext: as the centred representative of factor * m
/// modulo t, times scalars[limb] (none: 1).
struct Placement {
  std::uint64_t factor = 1;
  std::vector<std::uint64_t> scalars;
  /// Whether the message lies in the low bits, where it counts as noise. In the high bits it is rounded by
  /// at most 1/2.
  bool in_low_bits = true;

  /// Moves to where the negative message lies.
  void negate(const poly::RnsBase& base) {
    scalars.resize(base.size(), 1);
    for (std::size_t i = 0; i < base.size(); ++i) scalars[i] = base.modulus(i).negate(scalars[i]);
  }
  /// log2 of the noise that comes with a message, given log2 of the largest magnitude of its centred
  /// representatives.
  [[nodiscard]] double noise_log2(double largest_log2) const { return in_low_bits ? largest_log2 : -1; }
};

/// The rules of one scheme. Stateless; one object serves all contexts.
class Rules {
 public:
  virtual ~Rules() = default;

  [[nodiscard]] virtual rlwe::Scheme scheme() const = 0;
  /// The placement for ciphertexts of this level and correction factor.
  [[nodiscard]] virtual Placement placement(const rlwe::Context& context,
                                            const rlwe::Metadata& meta) const = 0;
  /// Reads messages out of decrypted phases (message plus noise): `phase` over the base of meta.level, `out`
  /// over the plaintext modulus, both [batch, 1, limb, N] in coefficient form. `doubtful` as for
  /// Backend::convert: a row that is not 0 for each phase whose noise takes more than half of its room.
  virtual void read_message(const rlwe::Context& context, const poly::PolyView& out,
                            const poly::ConstPolyView& phase, const rlwe::Metadata& meta,
                            const poly::IntegerView& doubtful) const = 0;
  /// Phases times this integer, modulo Q, are noise times the same integer and no message (unless the message
  /// counts as noise).
  [[nodiscard]] virtual std::uint64_t noise_factor(std::uint64_t plain_modulus) const = 0;
  /// log2 of Q over the largest noise that decrypts.
  [[nodiscard]] virtual double room_log2(std::uint64_t plain_modulus) const = 0;
  /// The bits of budget that noise leaves at a modulus Q: below 0 where it is too large.
  [[nodiscard]] double budget(double log_modulus, double noise_log2, std::uint64_t plain_modulus) const {
    return log_modulus - room_log2(plain_modulus) - noise_log2;
  }
  /// The most by which a modulus switch rounds a coefficient.
  [[nodiscard]] virtual double switching_half_range(std::uint64_t plain_modulus) const = 0;
};

/// Throws ParameterError for CKKS.
const Rules& rules_of(rlwe::Scheme scheme);

/// Rules::room_log2 of messages in the low bits, whatever t is: Q over the largest noise that decrypts is 2.
inline constexpr double low_bits_room_log2 = 1;

}  // namespace hemera::integer
