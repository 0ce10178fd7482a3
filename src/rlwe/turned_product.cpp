#include "hemera/rlwe/turned_product.hpp"

#include <array>
#include <span>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

constexpr const char* operation = "multiply_turned";

void require_keys(const Context& context, std::size_t level, const TurnedProductKeys& keys) {
  const std::array both{keys.galois, keys.product};
  require_each(std::span<const SwitchingKey* const>(both), operation);
  for (const SwitchingKey* key : both) {
    require_same_context(context, *key->context, operation);
    if (key->gadget->serves(level)) continue;
    throw LevelError("multiply_turned: the key is limited to level " + std::to_string(key->level()) +
                     ", but the ciphertext is at level " + std::to_string(level) +
                     "; make keys for its level");
  }
  if (keys.galois->gadget != keys.product->gadget) {
    throw MismatchError("multiply_turned: the keys have different gadgets; make both with one");
  }
}

}  // namespace

ExtendedCiphertext multiply_turned(const ContextPointer& shared, const poly::ConstPolyView& c, Metadata meta,
                                   std::uint64_t galois_element, const TurnedProductKeys& keys) {
  const Context& context = *shared;
  const std::size_t level = meta.level, batch = c.shape.batch;
  require_keys(context, level, keys);
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(level);
  const GadgetPointer& gadget = keys.galois->gadget;
  const poly::ModUp& up = gadget->mod_up(level);

  poly::Poly image = context.make_poly(batch, 2, base, Form::evaluation);
  const std::uint64_t inverse = arith::inverse(galois_element, 2 * context.degree());
  backend.automorphism(queue, image.view(), c, inverse, Form::evaluation, base);
  const poly::ConstPolyView y = std::as_const(image).view();
  // The components under phi^-1(s), and the two that keys lead to it: y_0 c_1, then y_1 c_1.
  poly::Poly kept = context.make_poly(batch, 2, base, Form::evaluation);
  backend.multiply(queue, kept.view(), y, c.components(0, 1), base);
  poly::Poly switched = context.make_poly(2 * batch, 1, base, Form::evaluation);
  for (std::size_t i = 0; i < 2; ++i) {
    backend.multiply(queue, switched.view().batches(i * batch, batch), y.components(i, 1), c.components(1, 1),
                     base);
  }
  poly::Poly digits = context.make_poly(2 * batch, up.digits().size(), up.extended(), Form::evaluation);
  auto workspace = context.make_workspace();
  backend.mod_up(queue, digits.view(), std::as_const(switched).view(), up, Form::evaluation, workspace);
  const poly::ConstPolyView split = std::as_const(digits).view();
  const std::array<poly::HoistedTerm, 2> terms{poly::HoistedTerm{.digits = split.batches(0, batch),
                                                                 .key = keys.galois->poly.view(),
                                                                 .addend = std::as_const(kept).view(),
                                                                 .galois_element = galois_element},
                                               poly::HoistedTerm{.digits = split.batches(batch, batch),
                                                                 .key = keys.product->poly.view(),
                                                                 .galois_element = galois_element}};

  const double switching = product_switching_noise_log2(context, *gadget, level);
  for (std::size_t i = 0; i < 2; ++i) meta.noise_log2 = sum_noise_log2(context, meta.noise_log2, switching);
  ExtendedCiphertext result{shared, gadget, std::move(meta),
                            context.make_poly(batch, 2, up.extended(), Form::evaluation)};
  const poly::PolyView out = result.poly.view();
  backend.hoisted_products(queue, std::span(&out, 1), terms, up, gadget->special_residues(level), workspace);
  return result;
}

}  // namespace hemera::rlwe
