// Switching keys in the making: whole, or digit by digit for files, which need not hold a whole one.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// What a switching key is made of: its two secrets over the gadget's modulus, and the streams of its errors
/// and of its uniform half. A secret given by reference must outlive the maker; what is made of it is zeroed
/// on release.
class KeyMaker {
 public:
  /// A key from one secret to another. Throws MismatchError for secrets, or a gadget, of two contexts.
  KeyMaker(const SecretKey& from, const SecretKey& to, GadgetPointer gadget);
  /// A key of the secret and its own powers and images: KeyRole::relinearization, galois or
  /// turned_product. Throws ParameterError for an element that is not odd and below 2N.
  KeyMaker(const SecretKey& secret, const KeyRole& role, GadgetPointer gadget);
  /// The same of a secret that the maker holds.
  KeyMaker(SecretKey&& secret, const KeyRole& role, GadgetPointer gadget);

  [[nodiscard]] const ContextPointer& context() const { return context_; }
  [[nodiscard]] const GadgetPointer& gadget() const { return gadget_; }
  /// The stream of the uniform half.
  [[nodiscard]] const poly::RandomStream& seed() const { return uniform_; }
  [[nodiscard]] std::size_t digits() const { return gadget_->digits().size(); }

  /// Writes the digits from `first` on, as many as `out`, [digit, 2, limb, N] over the gadget's modulus, has
  /// room for. One digit is the same whenever it is made.
  void make(const poly::PolyView& out, std::size_t first) const;
  /// The whole key.
  [[nodiscard]] SwitchingKey key() const;

 private:
  KeyMaker(const std::shared_ptr<const SecretKey>& from, GadgetPointer gadget);
  KeyMaker(const std::shared_ptr<const SecretKey>& secret, const KeyRole& role, GadgetPointer gadget);
  // The same, unless its limbs do not begin with those of the gadget's modulus: then a copy of these.
  [[nodiscard]] std::shared_ptr<const poly::Poly> over_gadget(std::shared_ptr<const poly::Poly> secret) const;

  ContextPointer context_;
  GadgetPointer gadget_;
  std::shared_ptr<const poly::Poly> from_, to_;
  poly::RandomStream errors_, uniform_;
};

}  // namespace hemera::rlwe
