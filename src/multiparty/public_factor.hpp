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

/// The residues of an array in standard order, [batch, component, limb, N], in memory of the host.
class HostWords {
 public:
  HostWords(const rlwe::Context& context, const poly::ConstPolyView& from, poly::Form form);
  [[nodiscard]] std::span<std::uint64_t> all() const { return {words_.get(), count_}; }
  /// Whether those of another array are the same; takes the same time wherever they differ.
  [[nodiscard]] bool equal(const rlwe::Context& context, const poly::ConstPolyView& view,
                           poly::Form form) const;

 private:
  std::size_t count_;
  std::unique_ptr<std::uint64_t[]> words_;  // not set before: threads write its pages
};

/// Polynomials in memory of their own, with SHA-256 of each.
///
/// A share's flooding is named by these digests. If what is multiplied differed from what is hashed (another
/// stream's write, a fault), two shares would have one flooding for two products, and their difference would
/// be the piece. So the polynomials are read where they are multiplied: before, to be hashed, and after, to
/// be compared, word by word, with what was hashed. Where a product is computed twice, with polynomials that
/// are drawn twice, comparing the second ones is enough: a change of the first ones alone is in one product
/// alone.
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
  [[nodiscard]] const poly::Poly& polynomials() const { return rho_; }
  /// out = rho * secret, in this form; [count, 1, limb, N].
  void multiply(const poly::PolyView& out, const poly::ConstPolyView& secret,
                poly::Form form = poly::Form::coefficient) const;
  /// After products. Throws DeviceError if the polynomials are no longer those that were hashed.
  void require_unchanged() const;

 private:
  struct Hashed {
    HostWords words;
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

/// Uploads of zeros in full, e - rho secret, of the polynomials from `first` on: [count, 1, limb, N] in
/// coefficient form. `secret`: in evaluation form. Nothing is hashed: secret and errors serve one message
/// alone.
poly::Poly upload_of_zeros(const rlwe::Context& context, const poly::Seed& public_seed,
                           const poly::Poly& secret, const poly::Seed& errors, std::size_t first,
                           std::size_t count);

}  // namespace hemera::multiparty
