// Plaintexts and ciphertexts: arrays of polynomials with their metadata.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/metadata.hpp"

namespace hemera::rlwe {

/// An encoded message. BFV, BGV: residues modulo t in coefficient form, one limb; CKKS: residues over the
/// level's base in evaluation form, times the scale.
struct Plaintext {
  ContextPointer context;
  Metadata meta;
  poly::Poly poly;  // [batch, 1, limb, N]
  /// BFV and BGV, of a decryption: 64-bit integers in the context's memory. One of them is not 0 if less than
  /// one bit of the noise budget of an element was left. Null otherwise.
  std::shared_ptr<const runtime::Buffer> doubtful = nullptr;
  /// The message over the base of a level in evaluation form, as BFV and BGV take it.
  struct Lifted {
    std::size_t level = 0;
    poly::Poly poly;  // [batch, 1, limb, N]
  };
  /// BFV and BGV: the lifted message for products at one level, made with the plaintext; null: each product
  /// lifts the plaintext. Sums of BGV use it too.
  std::shared_ptr<const Lifted> lifted = nullptr;
  /// For sums of BFV: the polynomial that is added to component 0.
  std::shared_ptr<const Lifted> placed = nullptr;
};

/// An encrypted message: polynomials c_0 ... c_(size-1) with sum c_i s^i = message + noise. Evaluation form
/// over the base of its level.
struct Ciphertext {
  ContextPointer context;
  Metadata meta;
  poly::Poly poly;  // [batch, component, limb, N]
  /// Fresh symmetric encryption: component 1 is the uniform stream of this seed, and need not be sent.
  std::optional<poly::RandomStream> seed;

  [[nodiscard]] std::size_t size() const { return poly.shape().components; }
  /// A deep copy.
  [[nodiscard]] Ciphertext clone() const;
};

/// A ciphertext of `size` components at meta.level, residues unspecified.
Ciphertext make_ciphertext(ContextPointer context, Metadata meta, std::size_t size);

/// Elements [first, first + count) along the first axis of a batch; stacking of equal-shaped ones along a new
/// first axis; joining along the first axis. Throws MismatchError when shapes or metadata do not fit.
Ciphertext slice(const Ciphertext& a, std::size_t first, std::size_t count);
Ciphertext take(const Ciphertext& a, std::size_t index);
Ciphertext stack(const std::vector<const Ciphertext*>& parts);
Ciphertext concatenate(const std::vector<const Ciphertext*>& parts);
/// The elements of these flat indices (of the batch row by row, any number of times each) as a new batch of
/// this shape. Every index and every broadcast of arrays uses it. Throws MismatchError unless the indices
/// fill the shape and are in the batch. A plaintext that is lifted for a level stays so.
Ciphertext gather(const Ciphertext& a, std::span<const std::size_t> indices, BatchShape shape);
Plaintext gather(const Plaintext& a, std::span<const std::size_t> indices, BatchShape shape);
/// Gives the same elements another batch shape of equal count (throws MismatchError otherwise).
void reshape_inplace(Ciphertext& a, BatchShape shape);

}  // namespace hemera::rlwe
