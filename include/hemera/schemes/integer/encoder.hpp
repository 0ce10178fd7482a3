// Integers modulo t in slots or coefficients: the encoding of BFV and BGV.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::integer {

/// The operations that a plaintext of a known level is made ready for.
enum class Use : std::uint8_t { products, sums, both };

/// Encodes integers modulo t. With n = Parameters::max_slots(), slots are two rows of n/2: the first n/2
/// values are row 0, the others row 1; a rotation turns both rows. Slot i of row 0 is the value of the
/// polynomial at root^(g^i), slot i of row 1 that at root^(-g^i), g the Galois generator and root a primitive
/// 2N-th root of unity modulo t. N. Smart and F. Vercauteren, "Fully homomorphic SIMD operations", 2011/133.
///
/// Where t has a primitive 2n-th root alone, n < N, slots are those of the polynomials in Y = X^(N/n), which
/// sums, products and automorphisms map to such: values at the powers of that root for Y. Other coefficients
/// are encoded as 0 and are not decoded.
class Encoder {
 public:
  /// Throws ParameterError for a context of CKKS.
  explicit Encoder(rlwe::ContextPointer context);

  /// - `values`: [batch, count], row-major, count = values.size() / batch_count(batch) from 1 to the number
  /// of
  ///   slots, or N coefficients; missing values are 0. Each lies in (-t, t) and is taken modulo t.
  /// - The plaintext is for ciphertexts of all levels. With `level`, it is made ready for that `use` at that
  ///   level: it keeps one polynomial for products and one for sums; BGV needs one for both. Without, each
  ///   operation makes it ready.
  ///
  /// Throws ParameterError for values out of range or without slots, LevelError for a level above the top.
  [[nodiscard]] rlwe::Plaintext encode(std::span<const std::int64_t> values,
                                       const rlwe::BatchShape& batch = {},
                                       rlwe::Encoding encoding = rlwe::Encoding::slots,
                                       std::optional<std::size_t> level = std::nullopt,
                                       Use use = Use::both) const;
  /// Encodes values that already lie in the context's memory, in the context's queue, without a copy or a
  /// wait. So the range is not checked, and any 64-bit values are taken modulo t.
  [[nodiscard]] rlwe::Plaintext encode(const poly::IntegerView& values, const rlwe::BatchShape& batch,
                                       rlwe::Encoding encoding = rlwe::Encoding::slots,
                                       std::optional<std::size_t> level = std::nullopt,
                                       Use use = Use::both) const;
  /// [batch, count] values, count = plaintext.meta.slots; centred in [-(t-1)/2, t/2] if `is_signed`, else in
  /// [0, t). Throws NoiseError, which names the elements of the batch, for a decryption whose noise left less
  /// than one bit of budget (bfv.hpp).
  [[nodiscard]] std::vector<std::int64_t> decode(const rlwe::Plaintext& plaintext,
                                                 bool is_signed = true) const;
  struct Decoded {
    std::vector<std::int64_t> values;   ///< [batch, count]; 0 in doubtful elements
    std::vector<std::size_t> doubtful;  ///< elements of the batch that `decode` refuses; ascending
  };
  /// The same without the error: a wrong element does not affect the others.
  [[nodiscard]] Decoded decode_certain(const rlwe::Plaintext& plaintext, bool is_signed = true) const;
  /// Decodes to the context's memory, in the context's queue, without a copy or a wait. So no decryption is
  /// checked. Throws MismatchError unless there is room for [batch, count] values.
  void decode_to(const poly::IntegerView& values, const rlwe::Plaintext& plaintext,
                 bool is_signed = true) const;

 private:
  void collect(const poly::IntegerView& values, const poly::TakenAlong& along,
               const rlwe::Plaintext& plaintext, bool is_signed) const;

  rlwe::ContextPointer context_;
};

}  // namespace hemera::integer
