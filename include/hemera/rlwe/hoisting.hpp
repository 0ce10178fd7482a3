// Key-switching in parts: digits that serve many keys, and sums over Q u P that are divided once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// A ciphertext of size 2 ready for keys of one gadget: its second component split into digits, which are
/// extended to Q u P (ModUp), and its first one as it is. (S. Halevi and V. Shoup, "Faster homomorphic linear
/// transformations in HElib", 2018/244: hoisting.)
struct Digits {
  ContextPointer context;
  GadgetPointer gadget;
  Metadata meta;
  poly::Poly first;   // [batch, 1, limb of Q, N], evaluation form
  poly::Poly digits;  // [batch, digit, limb of Q u P, N], evaluation form
};

/// P times a ciphertext of size 2, over Q u P in evaluation form: sums and products with plaintexts are taken
/// here, and divided by P once. (J.-P. Bossuat, C. Mouchet, J. Troncoso-Pastoriza, J.-P. Hubaux, 2020/1203,
/// section 4: double hoisting.) The metadata is that of the ciphertext after the division.
struct ExtendedCiphertext {
  ContextPointer context;
  GadgetPointer gadget;
  Metadata meta;
  poly::Poly poly;  // [batch, 2, limb of Q u P, N]
};

/// The same ready for keys of its gadget: with the digits of its second component, which is divided by P.
struct SplitCiphertext {
  ExtendedCiphertext value;
  poly::Poly digits;  // as of `Digits`; without data: it is not switched
};

/// Errors of all that follows: MismatchError for other contexts, sizes, gadgets, levels or batches than
/// needed, LevelError for a level that the gadget does not serve.

/// One ModUp, for keys with this gadget.
Digits decompose(const Ciphertext& ciphertext, GadgetPointer gadget);

/// P (c_0, c_1): nothing is switched.
ExtendedCiphertext extend(const Ciphertext& ciphertext, GadgetPointer gadget);

/// The first of a chain of rotations (nothing is divided), and a later one.
SplitCiphertext split(const Ciphertext& ciphertext, GadgetPointer gadget);
SplitCiphertext split(ExtendedCiphertext extended);

/// The automorphism X -> X^g of the ciphertext switched by `key`, not yet divided: phi_g(sum_d digit_d key_d
/// + (P c_0, 0)). mod_down of it is apply_galois, bit for bit.
ExtendedCiphertext switch_extended(const Digits& digits, const SwitchingKey& key,
                                   std::uint64_t galois_element = 1);
/// The same of an extended ciphertext, whose second component alone is divided by P and split again: the
/// giant step of a baby-step giant-step sum.
ExtendedCiphertext switch_extended(const ExtendedCiphertext& in, const SwitchingKey& key,
                                   std::uint64_t galois_element);

/// a += b. Throws MismatchError if levels differ, ScaleError if scales differ by more than rounding.
void add_inplace(ExtendedCiphertext& a, const ExtendedCiphertext& b);
/// The product with a plaintext over Q u P (ckks::Encoder::encode_over of gadget.mod_up(level).extended()).
ExtendedCiphertext multiply_plain(const ExtendedCiphertext& a, const Plaintext& b);
/// sum += a b. An empty sum becomes the product.
void multiply_plain_add(ExtendedCiphertext& sum, const ExtendedCiphertext& a, const Plaintext& b);

/// A term of hoisted_products: the ciphertext turned by the key, or as it is (no key), times a plaintext over
/// Q u P for each sum (null: no part of it).
struct HoistedTerm {
  const SwitchingKey* key = nullptr;
  std::uint64_t galois_element = 1;
  std::vector<const Plaintext*> factors;
  std::size_t source = 0;  // the ciphertext's number, where there are several
};
/// Several extended ciphertexts of one batch shape and level, in one array: their second components can be
/// divided and split as one batch.
struct ExtendedSums {
  ContextPointer context;
  GadgetPointer gadget;
  std::vector<Metadata> meta;  // of each
  poly::Poly poly;             // [sum, batch; 2; limb of Q u P; N]
};
/// `count` sums of products of one ciphertext's rotations with plaintexts of one scale: the results of
/// switch_extended and multiply_plain_add, in one pass over the keys. All keys have this gadget.
ExtendedSums hoisted_products(const Ciphertext& in, GadgetPointer gadget, std::span<const HoistedTerm> terms,
                              std::size_t count);
/// The same of several sources of one gadget, level and batch. Throws ParameterError without a source, or for
/// a term of another one; MismatchError for a key and a source that was not split.
ExtendedSums hoisted_products(std::span<const SplitCiphertext> sources, std::span<const HoistedTerm> terms,
                              std::size_t count);

/// A copy of one of the sums.
ExtendedCiphertext sum_at(const ExtendedSums& sums, std::size_t number);

/// The key of the automorphism that turns a ciphertext or a sum (null: none).
struct Turn {
  const SwitchingKey* key = nullptr;
  std::uint64_t galois_element = 1;
};
/// The ciphertext turned by each (no key: as it is), over Q u P, after one ModUp: the baby steps, with the
/// bits of switch_extended and extend. All keys have this gadget.
ExtendedSums turned_each(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns);
/// The sum of switch_extended of each sum, in one pass: the giant steps. `turns`: one for each sum, those
/// without a key first.
ExtendedCiphertext turned_sum(const ExtendedSums& sums, std::span<const Turn> turns);

/// The sum of one ciphertext turned by each (no key: as it is), in one pass over the keys: a step of a trace
/// or of an inner sum. All keys have this gadget.
ExtendedCiphertext turned_sum(const Ciphertext& in, GadgetPointer gadget, std::span<const Turn> turns);
/// The same of an extended ciphertext, whose second component alone is divided by P on the way.
ExtendedCiphertext turned_sum(const ExtendedCiphertext& in, std::span<const Turn> turns);
ExtendedCiphertext turned_sum(const SplitCiphertext& in, std::span<const Turn> turns);
/// One of the sums, and `in` turned by a key, in one pass: a step of Horner's rule.
ExtendedCiphertext turned_onto(const ExtendedSums& sums, std::size_t number, const ExtendedCiphertext& in,
                               const SwitchingKey& key, std::uint64_t galois_element);

/// The division by P.
Ciphertext mod_down(const ExtendedCiphertext& extended);
/// The division by P and the rescale (modulus switch) to the next lower level, as one.
Ciphertext mod_down_rescaled(const ExtendedCiphertext& extended);

}  // namespace hemera::rlwe
