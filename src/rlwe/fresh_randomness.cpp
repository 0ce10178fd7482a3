#include "rlwe/fresh_randomness.hpp"

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {

poly::RandomStream sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                               const poly::RnsBase& base, const poly::ConstPolyView& addend,
                               std::span<const poly::GadgetTerm> terms) {
  const poly::RandomStream errors{poly::Seed::fresh(), 0}, uniform{poly::Seed::fresh(), 0};
  sample_rlwe(context, out, secret, base, {.errors = errors, .uniform = uniform}, addend, terms);
  return uniform;
}

void sample_rlwe(const Context& context, const poly::PolyView& out, const poly::Poly& secret,
                 const poly::RnsBase& base, const GivenStreams& given, const poly::ConstPolyView& addend,
                 std::span<const poly::GadgetTerm> terms) {
  const poly::RlweSampling from{.errors = given.errors,
                                .uniform = given.uniform,
                                .distribution = context.error_distribution(),
                                .factor = error_factor(context.parameters())};
  const poly::Backend& backend = context.backend();
  with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
    auto workspace = context.make_workspace(runtime::Secrecy::secret);
    backend.sample_rlwe(context.queue(), out, s, from, base, addend, terms, workspace);
  });
}

std::vector<poly::GadgetTerm> gadget_terms(const Gadget& gadget) {
  const poly::RnsBase& base = gadget.modulus();
  std::vector<poly::GadgetTerm> terms;
  for (const poly::GadgetDigit& digit : gadget.digits()) {
    for (std::size_t limb = 0; limb < digit.moduli.size(); ++limb) {
      const arith::Modulus& q = digit.moduli.modulus(limb);
      const std::size_t position = base.position(digit.moduli.index(limb));  // the gadget's base comes first
      const std::uint64_t power = q.power(2, static_cast<std::uint64_t>(digit.shift));
      terms.push_back({digit.key_digit, position, q.multiply(power, gadget.special_residues()[position])});
    }
  }
  return terms;
}

}  // namespace hemera::rlwe
