// The ring Z_q[X]/(X^N + 1) for every modulus a context uses, and RNS bases as choices among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly {

inline constexpr std::size_t min_degree = std::size_t{1} << 10;
inline constexpr std::size_t max_degree = std::size_t{1} << 17;

/// How a residue is stored; the numbers are those of files. A base has one word; buffers, views and files
/// carry it. u50 is for keys alone, in the memory of backends that have kernels for it (Backend::stores):
/// every 256 entries of a limb are their low 32 bits, then the 16 bits above these, then the two highest
/// ones, those of four entries a byte.
enum class Word : std::uint8_t { u32 = 4, u64 = 8, u50 = 50 };
/// Moduli of residues in words of this kind are below 2^word_bits.
constexpr int word_bits(Word word) { return word == Word::u50 ? 50 : 8 * static_cast<int>(word); }
/// Bytes of this many residues; of u50 a multiple of four.
constexpr std::size_t stored_bytes(Word word, std::size_t residues) {
  return word == Word::u50 ? residues / 4 * 25 : residues * static_cast<std::size_t>(word);
}

/// The meaning of the N entries of a limb: coefficients, or values at the odd powers of the root. Standard
/// evaluation order: entry i is the value at root^(2 reverse_bits(i) + 1).
enum class Form : std::uint8_t { coefficient = 0, evaluation = 1 };

/// A modulus of the ring with its primitive 2N-th root of unity; root 0 means that the modulus has no
/// negacyclic transform (a plaintext modulus of coefficient encoding).
///
/// A plaintext modulus may have a primitive 2n-th root for n < N instead; `values` is n. Its transform is of
/// the n coefficients at multiples of N/n alone, as a polynomial in X^(N/n), and each value fills N/n
/// neighbouring entries. The inverse adds such entries up, so that one of them is the value and the others
/// are 0; coefficients in between are 0.
struct RingModulus {
  arith::Modulus modulus;
  std::uint64_t root = 0;
  std::size_t values = 0;  ///< 0: N

  /// n in a ring of this degree.
  [[nodiscard]] std::size_t values_in(std::size_t degree) const { return values == 0 ? degree : values; }

  friend bool operator==(const RingModulus&, const RingModulus&) = default;
};

/// The degree N and all moduli that a context uses: ciphertext primes, special primes, auxiliary primes of
/// BFV and the plaintext modulus. Immutable; a backend is made for one ring and keeps tables for each
/// modulus.
class Ring {
 public:
  /// Throws ParameterError if N is no power of two in [2^10, 2^17], if a modulus is outside [2, 2^61) or
  /// appears twice, if `values` is no power of two from 2 to N, or if a root is not a primitive 2N-th (2n-th)
  /// root of unity.
  static std::shared_ptr<const Ring> make(std::size_t degree, std::vector<RingModulus> moduli);

  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] int log_degree() const { return log_degree_; }
  [[nodiscard]] std::span<const RingModulus> moduli() const { return moduli_; }
  [[nodiscard]] const RingModulus& operator[](std::size_t index) const { return moduli_[index]; }
  /// Index of a modulus. Throws ParameterError if the ring does not have it.
  [[nodiscard]] std::uint32_t index_of(std::uint64_t modulus) const;

 private:
  Ring(std::size_t degree, std::vector<RingModulus> moduli);

  std::size_t degree_;
  int log_degree_;
  std::vector<RingModulus> moduli_;
};

/// An ordered list of distinct moduli of a ring, by index. A level of a modulus chain is such a base.
class RnsBase {
 public:
  RnsBase() = default;
  /// Throws ParameterError on an index outside the ring or one that appears twice.
  RnsBase(std::shared_ptr<const Ring> ring, std::vector<std::uint32_t> indices);

  [[nodiscard]] const std::shared_ptr<const Ring>& ring() const { return ring_; }
  [[nodiscard]] std::size_t size() const { return indices_.size(); }
  [[nodiscard]] bool empty() const { return indices_.empty(); }
  [[nodiscard]] std::span<const std::uint32_t> indices() const { return indices_; }
  [[nodiscard]] std::uint32_t index(std::size_t limb) const { return indices_[limb]; }
  [[nodiscard]] const arith::Modulus& modulus(std::size_t limb) const {
    return (*ring_)[indices_[limb]].modulus;
  }
  /// The values of the moduli, in order.
  [[nodiscard]] std::vector<std::uint64_t> values() const;
  [[nodiscard]] Word word() const { return Word::u64; }
  /// log2 of the product of the moduli.
  [[nodiscard]] double log2() const;
  /// The product of other moduli, modulo each of these.
  [[nodiscard]] std::vector<std::uint64_t> residues_of_product(const RnsBase& factors) const;

  [[nodiscard]] bool contains(std::uint32_t ring_index) const;
  /// Position of a ring modulus in this base. Throws MismatchError if it is not there.
  [[nodiscard]] std::size_t position(std::uint32_t ring_index) const;
  /// For each limb of `part` its position in this base. Throws MismatchError unless `part` is a subset.
  [[nodiscard]] std::vector<std::uint32_t> positions(const RnsBase& part) const;

  /// This base followed by the limbs of `other` that it lacks.
  [[nodiscard]] RnsBase united(const RnsBase& other) const;
  /// The limbs of this base that `other` lacks, in order.
  [[nodiscard]] RnsBase without(const RnsBase& other) const;
  /// The limbs of this base that `other` has, in order.
  [[nodiscard]] RnsBase intersected(const RnsBase& other) const;

  friend bool operator==(const RnsBase& a, const RnsBase& b) {
    return a.ring_ == b.ring_ && a.indices_ == b.indices_;
  }

 private:
  std::shared_ptr<const Ring> ring_;
  std::vector<std::uint32_t> indices_;
};

}  // namespace hemera::poly
