#include "rlwe/fresh_randomness.hpp"

#include <utility>

namespace hemera::rlwe {

std::uint64_t error_factor(const Context& context) {
  return context.scheme() == Scheme::bgv ? context.parameters().plain_modulus() : 1;
}

poly::RandomStream sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                               const poly::RnsBase& base, const poly::ConstPolyView& addend,
                               std::span<const poly::GadgetTerm> terms) {
  const poly::RandomStream errors{poly::Seed::fresh(), 0}, uniform{poly::Seed::fresh(), 0};
  const poly::RlweSampling from{.errors = errors,
                                .uniform = uniform,
                                .distribution = context.error_distribution(),
                                .factor = error_factor(context)};
  const poly::Backend& backend = context.backend();
  with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
    auto workspace =
        context.make_workspace(backend.sample_rlwe_workspace(out.shape), runtime::Secrecy::secret);
    backend.sample_rlwe(context.queue(), out, s, from, base, addend, terms, workspace);
  });
  return uniform;
}

void with_restricted(const Context& context, const poly::Poly& whole, const poly::RnsBase& base,
                     const std::function<void(const poly::ConstPolyView&)>& use) {
  const auto positions = whole.base().positions(base);
  std::size_t prefix = 0;
  while (prefix < positions.size() && positions[prefix] == prefix) ++prefix;
  if (prefix == positions.size()) return use(whole.view().limbs(0, prefix));
  poly::Poly part =
      context.make_poly(whole.shape().batch, whole.shape().components, base, whole.form(), whole.secrecy());
  // Neighbours go together.
  for (std::size_t first = 0, last = 0; first < positions.size(); first = last) {
    for (last = first + 1; last < positions.size() && positions[last] == positions[last - 1] + 1;) ++last;
    context.backend().copy(context.queue(), part.view().limbs(first, last - first),
                           whole.view().limbs(positions[first], last - first));
  }
  use(std::as_const(part).view());
}

}  // namespace hemera::rlwe
