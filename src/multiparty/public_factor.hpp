// The public polynomials of a list or of a ciphertext, which secrets are multiplied by, and what keeps them
// the ones that were hashed.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/multiparty/federation.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::multiparty {

/// Polynomials in memory of their own, with SHA-256 of each.
///
/// A share's flooding is named by these digests. If what is multiplied differed from what is hashed (another
/// stream's write, a fault), two shares would have one flooding for two products, and their difference would
/// be the piece. So the polynomials are hashed where they are multiplied, before and after.
class PublicFactor {
 public:
  /// Polynomials `first` to `first + count - 1` of the public stream.
  PublicFactor(const rlwe::Context& context, const poly::Seed& seed, std::size_t first, std::size_t count);
  /// Copies of these, [batch, 1, limb, N] over `base` in evaluation form. SHA-256 is of the moduli before the
  /// residues of each.
  PublicFactor(const rlwe::Context& context, const poly::ConstPolyView& copied, const poly::RnsBase& base);

  [[nodiscard]] const std::vector<Sha256Digest>& digests() const { return digests_; }
  [[nodiscard]] poly::Poly& polynomials() { return rho_; }
  /// out = rho * secret, in this form; [count, 1, limb, N]. Throws DeviceError if the polynomials are no
  /// longer those that were hashed.
  void multiply(const poly::PolyView& out, const poly::ConstPolyView& secret,
                poly::Form form = poly::Form::coefficient) const;

 private:
  [[nodiscard]] std::vector<Sha256Digest> hashed() const;

  const rlwe::Context& context_;
  poly::Poly rho_;
  std::vector<std::uint64_t> moduli_;  // that are hashed
  std::vector<Sha256Digest> digests_;
};

/// Uploads of zeros in full, e - rho secret, of the polynomials from `first` on: [count, 1, limb, N] in
/// coefficient form. `secret`: in evaluation form. Nothing is hashed: secret and errors serve one message
/// alone.
poly::Poly upload_of_zeros(const rlwe::Context& context, const poly::Seed& public_seed,
                           const poly::Poly& secret, const poly::Seed& errors, std::size_t first,
                           std::size_t count);

}  // namespace hemera::multiparty
