#include "hemera/poly/plans.hpp"

namespace hemera::poly {

ScaledProduct::ScaledProduct(const RnsBase& base, const RnsBase& auxiliary, std::uint64_t factor)
    : base_(base),
      auxiliary_(auxiliary),
      all_(base.united(auxiliary)),
      to_auxiliary_(base, auxiliary, BaseConversion::Kind::exact),
      to_base_(auxiliary, base, BaseConversion::Kind::exact),
      rounding_(base, auxiliary),
      division_(all_, base) {
  for (std::size_t i = 0; i < all_.size(); ++i) factors_.push_back(all_.modulus(i).reduce(factor));
}

}  // namespace hemera::poly
