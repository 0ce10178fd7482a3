// Plaintexts and ciphertexts: arrays of polynomials with what is known about them.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// How numbers lie in a plaintext polynomial: one in each slot, or one in each coefficient (BFV and BGV).
enum class Encoding : std::uint8_t { slots = 0, coefficients = 1 };

/// Shape of a batch, as in NumPy: {} is a single object, {B} a row of B.
using BatchShape = std::vector<std::size_t>;
std::size_t batch_count(const BatchShape& shape);

/// What a plaintext or ciphertext carries beside its residues: one value each for the whole batch.
struct Metadata {
  BatchShape batch;
  std::size_t level = 0;
  /// CKKS: the factor between values and polynomial; 1 otherwise.
  double scale = 1;
  /// CKKS: 1, or 2 for a product not yet rescaled (automatic mode rescales before the next multiplication).
  int noise_scale_degree = 1;
  /// BGV: the decrypted residue is this factor times the value, modulo t; 1 otherwise.
  std::uint64_t correction = 1;
  /// Number of values in each object (a power of two for slots).
  std::size_t slots = 0;
  Encoding encoding = Encoding::slots;
  /// BFV, BGV: log2 of a bound on the noise's largest coefficient that holds except with probability 2^-40 a
  /// ciphertext (docs/noise.md); follows every operation, needs no secret. Unused (0) for CKKS.
  double noise_log2 = 0;
  /// CKKS: declared bound on the magnitude of the values, which follows every operation; infinite where none
  /// was declared (ParametersLiteral::largest, Encoder::encode). It comes from declarations alone, never from
  /// data: metadata is public.
  double largest = std::numeric_limits<double>::infinity();
};

/// An encoded message. BFV, BGV: residues modulo t in coefficient form, one limb; CKKS: residues over the
/// level's base in evaluation form, times the scale.
struct Plaintext {
  std::shared_ptr<const Context> context;
  Metadata meta;
  poly::Poly poly;  // [batch, 1, limb, N]
};

/// An encrypted message: polynomials c_0 ... c_(size-1) with sum c_i s^i = message + noise. Evaluation form
/// over the base of its level.
struct Ciphertext {
  std::shared_ptr<const Context> context;
  Metadata meta;
  poly::Poly poly;  // [batch, component, limb, N]
  /// Fresh symmetric encryption: component 1 is the uniform stream of this seed, and need not be sent.
  std::optional<poly::RandomStream> seed;

  [[nodiscard]] std::size_t size() const { return poly.shape().components; }
  /// A deep copy.
  [[nodiscard]] Ciphertext clone() const;
};

/// A ciphertext of `size` components at meta.level, residues unspecified.
Ciphertext make_ciphertext(std::shared_ptr<const Context> context, Metadata meta, std::size_t size);

/// The batch shape of an operation on two objects: equal shapes, or one of them single. MismatchError
/// otherwise.
BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation);

/// A shape as text: "(2, 3)".
std::string to_text(const BatchShape& shape);

/// Elements [first, first + count) along the first axis of a batch; stacking of equal-shaped ones along a new
/// first axis; joining along the first axis. MismatchError when shapes or metadata do not fit.
Ciphertext slice(const Ciphertext& a, std::size_t first, std::size_t count);
Ciphertext take(const Ciphertext& a, std::size_t index);
Ciphertext stack(const std::vector<const Ciphertext*>& parts);
Ciphertext concatenate(const std::vector<const Ciphertext*>& parts);
/// The same elements in another batch shape of equal count.
Ciphertext reshape(Ciphertext a, BatchShape shape);

}  // namespace hemera::rlwe
