#include "circuits/bootstrap/mod_raise.hpp"

#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/extended.hpp"

namespace hemera::circuits {
namespace {

using poly::Form;

// The centred residues of components over `from`, in coefficient form, as ones over `to` in evaluation form.
void lift(const rlwe::Context& context, const poly::PolyView& out, const poly::ConstPolyView& in,
          const poly::RnsBase& from, const poly::RnsBase& to) {
  context.backend().convert(context.queue(), out, in, context.exact_conversion(from, to));
  context.backend().forward_transform(context.queue(), out, out, to);
}

// Residues at level 0 in coefficient form.
poly::Poly coefficients(const rlwe::Ciphertext& in) {
  if (in.meta.level != 0 || in.size() != 2) {
    throw MismatchError("raising the modulus: needs a ciphertext of size 2 at level 0, not of size " +
                        std::to_string(in.size()) + " at level " + std::to_string(in.meta.level));
  }
  const rlwe::Context& context = *in.context;
  const poly::RnsBase& base = context.base(0);
  poly::Poly result = context.make_poly(in.poly.shape().batch, 2, base, Form::coefficient);
  context.backend().inverse_transform(context.queue(), result.view(), in.poly.view(), base);
  return result;
}

rlwe::Metadata raised(rlwe::Metadata meta, std::size_t level) {
  meta.level = level;
  return meta;
}

}  // namespace

rlwe::Ciphertext raise_modulus(const rlwe::Ciphertext& in, std::size_t level) {
  const poly::Poly low = coefficients(in);
  const rlwe::Context& context = *in.context;
  rlwe::Ciphertext result = rlwe::make_ciphertext(in.context, raised(in.meta, level), 2);
  lift(context, result.poly.view(), low.view(), context.base(0), context.base(level));
  return result;
}

rlwe::ExtendedCiphertext mod_raise(const rlwe::Ciphertext& in, const rlwe::SwitchingKey& to_ephemeral,
                                   const rlwe::SwitchingKey& from_ephemeral, std::size_t level) {
  const rlwe::Ciphertext sparse = rlwe::reencrypt(in, to_ephemeral);
  const rlwe::Context& context = *in.context;
  const poly::ModUp& up = from_ephemeral.gadget->mod_up(level);
  if (up.digits().size() > 1) {
    return rlwe::switch_extended(rlwe::decompose(raise_modulus(sparse, level), from_ephemeral.gadget),
                                 from_ephemeral);
  }
  const poly::Poly low = coefficients(sparse);
  // Both components at once: the first one's residues modulo the special primes are not read.
  poly::Poly lifted = context.make_poly(low.shape().batch, 2, up.extended(), Form::evaluation);
  lift(context, lifted.view(), low.view(), context.base(0), up.extended());
  const poly::ConstPolyView c = std::as_const(lifted).view();
  return rlwe::switch_lifted(in.context, from_ephemeral, raised(in.meta, level),
                             c.components(0, 1).limbs(0, context.base(level).size()), c.components(1, 1));
}

}  // namespace hemera::circuits
