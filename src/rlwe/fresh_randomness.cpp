#include "rlwe/fresh_randomness.hpp"

#include <vector>

namespace hemera::rlwe {

std::uint64_t error_factor(const Context& context) {
  return context.scheme() == Scheme::bgv ? context.parameters().plain_modulus() : 1;
}

void sample_errors(const Context& context, const poly::PolyView& out, const poly::RandomStream& secret,
                   const poly::RnsBase& base) {
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  backend.sample_error(queue, out, secret, context.error_distribution(), base);
  if (const std::uint64_t factor = error_factor(context); factor != 1) {
    std::vector<std::uint64_t> residues;
    for (std::size_t limb = 0; limb < base.size(); ++limb) {
      residues.push_back(base.modulus(limb).reduce(factor));
    }
    backend.multiply_scalar(queue, out, out, residues, base);
  }
  backend.forward_transform(queue, out, out, base);
}

poly::Poly restrict_to(const Context& context, const poly::Poly& whole, const poly::RnsBase& base) {
  const auto positions = whole.base().positions(base);
  poly::Poly part =
      context.make_poly(whole.shape().batch, whole.shape().components, base, whole.form(), whole.secrecy());
  for (std::size_t limb = 0; limb < positions.size(); ++limb) {
    context.backend().copy(context.queue(), part.view().limbs(limb, 1),
                           whole.view().limbs(positions[limb], 1));
  }
  return part;
}

}  // namespace hemera::rlwe
