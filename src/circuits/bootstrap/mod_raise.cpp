#include "circuits/bootstrap/mod_raise.hpp"

#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using poly::Form;

// The centred residues of one component, in coefficient form over `from`, in evaluation form over `to`.
poly::Poly lifted(const rlwe::Context& context, const poly::ConstPolyView& in, const poly::RnsBase& from,
                  const poly::RnsBase& to) {
  poly::Poly out = context.make_poly(in.shape.batch, 1, to, Form::evaluation);
  context.backend().convert(context.queue(), out.view(), in, context.exact_conversion(from, to));
  context.backend().forward_transform(context.queue(), out.view(), std::as_const(out).view(), to);
  return out;
}

}  // namespace

rlwe::Ciphertext mod_raise(const rlwe::Ciphertext& in, const rlwe::SwitchingKey& to_ephemeral,
                           const rlwe::SwitchingKey& from_ephemeral, std::size_t level) {
  if (in.meta.level != 0 || in.size() != 2) {
    throw MismatchError("raising the modulus: needs a ciphertext of size 2 at level 0, not of size " +
                        std::to_string(in.size()) + " at level " + std::to_string(in.meta.level));
  }
  const rlwe::Context& context = *in.context;
  rlwe::Ciphertext sparse = rlwe::reencrypt(in, to_ephemeral);
  const poly::RnsBase& low = context.base(0);
  const poly::PolyView view = sparse.poly.view();
  context.backend().inverse_transform(context.queue(), view, view, low);

  rlwe::Metadata meta = in.meta;
  meta.level = level;
  meta.scale = last_modulus(context.parameters());
  const poly::RnsBase& extended = from_ephemeral.gadget->mod_up(level).extended();
  const poly::ConstPolyView c = std::as_const(sparse.poly).view();
  rlwe::Digits digits{.context = in.context,
                      .gadget = from_ephemeral.gadget,
                      .meta = std::move(meta),
                      .first = lifted(context, c.components(0, 1), low, context.base(level)),
                      .digits = lifted(context, c.components(1, 1), low, extended)};
  return rlwe::mod_down(rlwe::switch_extended(digits, from_ephemeral));
}

}  // namespace hemera::circuits
