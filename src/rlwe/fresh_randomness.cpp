#include "rlwe/fresh_randomness.hpp"

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {

poly::RandomStream sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                               const poly::RnsBase& base, const poly::ConstPolyView& addend,
                               std::span<const poly::GadgetTerm> terms) {
  const poly::RandomStream errors{poly::Seed::fresh(), 0}, uniform{poly::Seed::fresh(), 0};
  const poly::RlweSampling from{.errors = errors,
                                .uniform = uniform,
                                .distribution = context.error_distribution(),
                                .factor = error_factor(context.parameters())};
  const poly::Backend& backend = context.backend();
  with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
    auto workspace = context.make_workspace(runtime::Secrecy::secret);
    backend.sample_rlwe(context.queue(), out, s, from, base, addend, terms, workspace);
  });
  return uniform;
}

}  // namespace hemera::rlwe
