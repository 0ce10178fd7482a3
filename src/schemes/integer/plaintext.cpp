#include "schemes/integer/plaintext.hpp"

#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::integer {

void require_same_encoding(rlwe::Encoding a, rlwe::Encoding b, const char* operation) {
  if (a == b) return;
  const bool slots = a == rlwe::Encoding::slots;
  throw MismatchError(std::string(operation) + ": one operand is encoded in " +
                      (slots ? "slots" : "coefficients") + ", the other in " +
                      (slots ? "coefficients" : "slots") + "; encode both alike");
}

namespace {

poly::Poly lift(const rlwe::Context& context, std::span<const poly::ConstPolyView> messages,
                std::size_t level, const Placement& placement, runtime::Secrecy secrecy) {
  const poly::RnsBase& base = context.base(level);
  poly::Poly lifted = context.make_poly(messages.size() * messages.front().shape.batch, 1, base,
                                        poly::Form::evaluation, secrecy);
  auto workspace = context.make_workspace(secrecy);
  context.backend().lift_integers(context.queue(), lifted.view(), messages, placement.factor,
                                  placement.scalars, context.exact_conversion(context.plain_base(), base),
                                  workspace);
  return lifted;
}

}  // namespace

Placement placement_in_high_bits(const rlwe::Context& context, std::size_t level) {
  const arith::Modulus& t = context.plain_base().modulus(0);
  const poly::RnsBase& base = context.base(level);
  Placement result{.factor = t.reduce(std::uint64_t{1}), .scalars = {}, .in_low_bits = false};
  for (std::size_t i = 0; i < base.size(); ++i) {
    result.factor = t.multiply(result.factor, t.reduce(base.modulus(i).value()));
    result.scalars.push_back(context.negative_plain_inverses()[base.index(i)]);
  }
  return result;
}

poly::Poly place(const rlwe::Context& context, const rlwe::Plaintext& plaintext, std::size_t level,
                 const Placement& placement, runtime::Secrecy secrecy) {
  rlwe::require_certain(plaintext);
  const poly::ConstPolyView message = plaintext.poly.view();
  return lift(context, std::span(&message, 1), level, placement, secrecy);
}

poly::Poly place_factors(const rlwe::Context& context, std::span<const poly::ConstPolyView> messages,
                         std::size_t level, runtime::Secrecy secrecy) {
  return lift(context, messages, level, {.factor = context.scales().level_factor(level)}, secrecy);
}

void make_ready(rlwe::Plaintext& plaintext, std::size_t level, Use use, runtime::Secrecy secrecy) {
  const rlwe::Context& context = *plaintext.context;
  using Lifted = rlwe::Plaintext::Lifted;
  // In the low bits both are messages times a factor: that of the level.
  const bool apart = context.scheme() == rlwe::Scheme::bfv;
  if (use != Use::sums || !apart) {
    const poly::ConstPolyView message = std::as_const(plaintext.poly).view();
    plaintext.lifted = std::make_shared<const Lifted>(
        Lifted{level, place_factors(context, std::span(&message, 1), level, secrecy)});
  }
  if (use != Use::products && apart) {
    plaintext.placed = std::make_shared<const Lifted>(
        Lifted{level, place(context, plaintext, level, placement_in_high_bits(context, level), secrecy)});
  }
}

const poly::Poly* ready_term(const rlwe::Plaintext& plaintext, std::size_t level,
                             const Placement& placement) {
  const bool apart = !placement.in_low_bits;
  const auto& ready = apart ? plaintext.placed : plaintext.lifted;
  if (ready == nullptr || ready->level != level) return nullptr;
  const bool fits = apart || placement.factor == plaintext.context->scales().level_factor(level);
  return fits ? &ready->poly : nullptr;
}

std::vector<std::uint64_t> residues(std::int64_t value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) result[i] = base.modulus(i).reduce_signed(value);
  return result;
}

}  // namespace hemera::integer
