#include "schemes/integer/plaintext.hpp"

#include <string>

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

std::vector<std::uint64_t> residues(std::int64_t value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) result[i] = base.modulus(i).reduce_signed(value);
  return result;
}

}  // namespace hemera::integer
