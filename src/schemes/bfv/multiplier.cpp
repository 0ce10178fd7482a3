#include "schemes/bfv/multiplier.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::bfv {

void Multiplier::sum_products(const rlwe::Context& context, const poly::PolyView& out,
                              std::span<const Operands> products) const {
  multiply(context, out, products.front());
  if (products.size() == 1) return;
  poly::Poly term = context.make_poly(out.shape.batch, 3, base(), poly::Form::evaluation);
  for (const Operands& operands : products.subspan(1)) {
    multiply(context, term.view(), operands);
    context.backend().add(context.queue(), out, out, std::as_const(term).view(), base());
  }
}

poly::RnsBase auxiliary_part(const rlwe::Context& context, std::size_t first, std::size_t count) {
  const poly::RnsBase& all = context.auxiliary();
  if (first + count > all.size()) {
    throw ParameterError("BFV multiplication needs " + std::to_string(first + count) +
                         " auxiliary primes, but the context has " + std::to_string(all.size()));
  }
  const auto indices = all.indices().subspan(first, count);
  return {all.ring(), std::vector<std::uint32_t>(indices.begin(), indices.end())};
}

poly::RnsBase auxiliary_of_size(const rlwe::Context& context, double bits) {
  const poly::RnsBase& all = context.auxiliary();
  double size = 0;
  std::size_t count = 0;
  while (size < bits && count < all.size()) {
    size += std::log2(static_cast<double>(all.modulus(count).value()));
    ++count;
  }
  if (size < bits) {
    throw ParameterError("BFV multiplication needs auxiliary primes of " + std::to_string(bits) +
                         " bits together, but the context's have " + std::to_string(size));
  }
  return auxiliary_part(context, 0, count);
}

double product_headroom_log2(const rlwe::Context& context) {
  return std::log2(static_cast<double>(context.parameters().plain_modulus())) +
         std::log2(static_cast<double>(context.degree()));
}

std::unique_ptr<const Multiplier> make_multiplier(const rlwe::Context& context, std::size_t level,
                                                  rlwe::BfvMultiplication variant) {
  switch (variant) {
    case rlwe::BfvMultiplication::behz:
      return make_behz(context, level);
    case rlwe::BfvMultiplication::hps:
      return make_hps(context, level);
    case rlwe::BfvMultiplication::hps_over_q:
      return make_hps_over_q(context, level);
    case rlwe::BfvMultiplication::none:
      break;
  }
  throw ParameterError("the parameters name no BFV multiplication; choose behz, hps or hps_over_q");
}

}  // namespace hemera::bfv
