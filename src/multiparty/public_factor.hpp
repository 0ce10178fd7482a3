// The public polynomials of a list or of a ciphertext, which secrets are multiplied by, and what keeps them
// the ones that were hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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
/// be the piece. So the polynomials are read where they are multiplied, before and after: first to be hashed,
/// then to be compared, word by word, with what was hashed.
class PublicFactor {
 public:
  /// Polynomials `first` to `first + count - 1` of the public stream.
  PublicFactor(const rlwe::Context& context, const poly::Seed& seed, std::size_t first, std::size_t count);
  /// Copies of these, [batch, 1, limb, N] over `base` in evaluation form. SHA-256 is of the moduli before the
  /// residues of each.
  PublicFactor(const rlwe::Context& context, const poly::ConstPolyView& copied, const poly::RnsBase& base);

  /// The polynomials of a stream from `first` on, drawn anew for a second computation: with these digests,
  /// and compared after a product with what these are of.
  [[nodiscard]] PublicFactor redrawn(const poly::Seed& seed, std::size_t first) const;

  [[nodiscard]] const std::vector<Sha256Digest>& digests() const { return hashed_->digests; }
  [[nodiscard]] poly::Poly& polynomials() { return rho_; }
  /// out = rho * secret, in this form; [count, 1, limb, N]. Throws DeviceError if the polynomials are no
  /// longer those that were hashed.
  void multiply(const poly::PolyView& out, const poly::ConstPolyView& secret,
                poly::Form form = poly::Form::coefficient) const;

 private:
  struct Hashed {
    std::vector<std::uint64_t> words;  // [polynomial, limb, N]
    std::vector<Sha256Digest> digests;
  };
  PublicFactor(const rlwe::Context& context, poly::Poly polynomials, std::shared_ptr<const Hashed> hashed)
      : context_(context), rho_(std::move(polynomials)), hashed_(std::move(hashed)) {}
  static std::shared_ptr<const Hashed> hashed(const rlwe::Context& context, const poly::Poly& polynomials,
                                              const std::vector<std::uint64_t>& moduli);

  const rlwe::Context& context_;
  poly::Poly rho_;
  std::shared_ptr<const Hashed> hashed_;
};

/// Whether the residues of an array, in standard order, are these words; takes the same time wherever they
/// differ.
bool are_residues(const rlwe::Context& context, const poly::ConstPolyView& view, poly::Form form,
                  std::span<const std::uint64_t> words);

/// Uploads of zeros in full, e - rho secret, of the polynomials from `first` on: [count, 1, limb, N] in
/// coefficient form. `secret`: in evaluation form. Nothing is hashed: secret and errors serve one message
/// alone.
poly::Poly upload_of_zeros(const rlwe::Context& context, const poly::Seed& public_seed,
                           const poly::Poly& secret, const poly::Seed& errors, std::size_t first,
                           std::size_t count);

}  // namespace hemera::multiparty
