// Polynomials as sums of their parts, which are polynomials in a power of X; and keys from parts of a secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// f = sum over u < d of X^u f_u(X^d), for polynomials f over one base. Immutable.
class PartSplitter {
 public:
  /// `parts`: d, a power of two from 2 to N/64, so that a part may be stored by N/d entries
  /// (poly::PolyShape). Throws ParameterError for others.
  PartSplitter(const std::shared_ptr<const Context>& context, const poly::RnsBase& base, std::size_t parts);

  [[nodiscard]] std::size_t parts() const { return parts_; }
  /// Calls `take` once for each u, in any order, with f_u(X^d) in the shape and form of `f`, which is in
  /// evaluation form. By halves: g(W) = g_0(W^2) + W g_1(W^2), where g(-W) is an automorphism's image.
  void split(const poly::ConstPolyView& f, runtime::Secrecy secrecy,
             const std::function<void(std::size_t u, const poly::ConstPolyView& part)>& take) const;
  /// f_0(X^d) alone, in the place of f, which is in evaluation form.
  void keep_first(const poly::PolyView& f) const;

 private:
  void split(const poly::ConstPolyView& f, std::size_t step, std::size_t first, runtime::Secrecy secrecy,
             const std::function<void(std::size_t u, const poly::ConstPolyView& part)>& take) const;

  std::shared_ptr<const Context> context_;
  poly::RnsBase base_;
  std::size_t parts_;
  std::vector<std::uint64_t> half_;
  std::vector<poly::Poly> turns_;  // X^-step / 2, for step = 1, 2, 4, ...
};

/// The secret from which a key of parts starts: the part s_u(X^d) of the ciphertexts' secret s, or s_u(X^d)
/// s.
struct SecretPart {
  std::size_t parts = 2;  ///< d
  std::size_t index = 0;  ///< u
  bool times_secret = false;

  friend bool operator==(const SecretPart&, const SecretPart&) = default;
};
/// Its key's role, which ends at the ciphertexts' secret; and the part of a role, if it is one.
KeyRole part_role(const SecretPart& part);
std::optional<SecretPart> part_of(const KeyRole& role);

/// The keys of these parts, all of one d, with this gadget. Throws ParameterError for parts of several d, or
/// of one that PartSplitter does not take.
std::vector<SwitchingKey> generate_part_keys(const SecretKey& secret, const std::vector<SecretPart>& parts,
                                             const std::shared_ptr<const Gadget>& gadget);

}  // namespace hemera::rlwe
