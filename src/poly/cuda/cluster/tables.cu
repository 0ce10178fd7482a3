// Tables of clusters' steps, from plans.
#include <algorithm>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/fused/tables.hpp"

namespace hemera::poly::cuda {
namespace {

// Times the end factor of a limb.
std::uint64_t raised(Arithmetic arithmetic, const arith::Modulus& q, std::uint64_t value) {
  return arithmetic == Arithmetic::m64 ? q.multiply(value, q.power(2, 64)) : value;
}

}  // namespace

bool FusedTables::transforms(const RnsBase& base) const {
  return std::all_of(base.indices().begin(), base.indices().end(),
                     [&](std::uint32_t index) { return (*ring_)[index].root != 0; });
}

const ClusterModUp& FusedTables::in_clusters(const ModUp& plan) const {
  return cluster_mod_ups_.of(plan.identity(), [&] {
    ClusterModUp tables;
    const std::size_t limbs = plan.base().size(), digits = plan.digits().size();
    if (!can_cluster(ring_->log_degree() - 8) || !transforms(plan.extended()) ||
        plan.extended().size() > limbs_per_launch || digits > max_fused_digits) {
      return tables;
    }
    for (const GadgetDigit& digit : plan.digits()) {
      if (digit.width != 0 || digit.moduli.size() > max_cluster_sources) return tables;
    }
    const Arithmetic of_base = arithmetic_(plan.base());
    const Arithmetic of_special = arithmetic_(plan.extended().without(plan.base()));
    std::vector<std::uint64_t> factors(limbs), product_factors(limbs), shifts(limbs);
    std::vector<std::uint32_t> own_digits(plan.extended().size(), no_digit);
    std::vector<LimbConversion> conversions(plan.extended().size() * digits);
    for (std::size_t d = 0; d < digits; ++d) {
      const BaseConversion& conversion = plan.conversions()[d];
      const std::vector<std::uint32_t>& own = plan.own_positions()[d];
      tables.key_digits.push_back(static_cast<std::uint16_t>(plan.digits()[d].key_digit));
      for (std::size_t i = 0; i < own.size(); ++i) {
        const arith::Modulus& q = plan.extended().modulus(own[i]);
        own_digits[own[i]] = static_cast<std::uint32_t>(d);
        factors[own[i]] = conversion.inverse_punctured()[i].operand;
        product_factors[own[i]] = raised(of_base, q, factors[own[i]]);
        shifts[own[i]] = (q.value() - 1) / 2;
      }
      for (std::size_t j = 0; j < conversion.target().size(); ++j) {
        const std::uint32_t limb = plan.other_positions()[d][j];
        const arith::Modulus& q = conversion.target().modulus(j);
        const Arithmetic chosen = limb < limbs ? of_base : of_special;
        const auto end = [&](std::uint64_t value) { return raised(chosen, q, value); };
        LimbConversion& to = conversions[limb * digits + d];
        to.sources = static_cast<std::uint32_t>(own.size());
        to.single = own.size() == 1 ? 1 : 0;
        // M64 gets 2^64 times the digits.
        const std::uint64_t raise = raised(chosen, q, 1);
        for (std::size_t i = 0; i < own.size(); ++i) {
          to.source[i].weight = end(q.multiply(conversion.punctured()[j][i], raise));
          to.source[i].modulus = plan.extended().modulus(own[i]).value();
          to.source[i].limb = own[i];
        }
        const std::uint64_t minus_shift = q.negate(conversion.center_shift()[j]);
        to.minus_shift = to.single != 0 ? minus_shift : end(q.multiply(minus_shift, raise));
        to.factor = end(raise);
      }
    }
    // A limb that no digit has.
    if (std::count(own_digits.begin(), own_digits.end(), no_digit) !=
        static_cast<std::ptrdiff_t>(plan.extended().size() - limbs)) {
      return tables;
    }
    tables.scaled = scaled(of_base, plan.base(), factors, shifts);
    tables.scaled_product = scaled(of_base, plan.base(), product_factors, shifts);
    tables.conversions = upload(conversions);
    tables.key_limbs = upload(plan.key_positions());
    tables.own_digits = upload(own_digits);
    tables.usable = true;
    return tables;
  });
}

const ClusterDivision& FusedTables::in_clusters(const Division& plan) const {
  return cluster_divisions_.of(plan.conversion().identity(), [&] {
    ClusterDivision tables;
    const BaseConversion& conversion = plan.conversion();
    const std::size_t dropped = plan.dropped().size();
    if (!can_cluster(ring_->log_degree() - 8) || plan.multiplies() || plan.target().empty() ||
        dropped > max_cluster_sources || !transforms(plan.source()) ||
        plan.source().size() > limbs_per_launch) {
      return tables;
    }
    // The exact conversion of several moduli has a quotient; a single one converts by its centred residue.
    const bool has_quotient = dropped > 1, has_correction = !plan.plaintext().empty();
    std::vector<std::uint64_t> factors, shifts;
    for (std::size_t i = 0; i < dropped; ++i) {
      factors.push_back(conversion.inverse_punctured()[i].operand);
      shifts.push_back(has_quotient ? 0 : (plan.dropped().modulus(i).value() - 1) / 2);
    }
    std::vector<LimbConversion> conversions;
    for (std::size_t j = 0; j < plan.target().size(); ++j) {
      const arith::Modulus& q = plan.target().modulus(j);
      const auto end = [&](std::uint64_t value) { return raised(arithmetic_(plan.target()), q, value); };
      LimbConversion to{};
      for (std::size_t i = 0; i < dropped; ++i) {
        to.source[i] = {.weight = end(conversion.punctured()[j][i]),
                        .quotient_factor = conversion.quotient_factors()[i],
                        .plain_weight = has_correction ? conversion.punctured()[plan.target().size()][i] : 0,
                        .modulus = plan.dropped().modulus(i).value(),
                        .quotient_shift = static_cast<std::uint32_t>(plan.dropped().modulus(i).bits() - 1),
                        .limb = static_cast<std::uint32_t>(i),
                        .unused = 0};
      }
      std::uint64_t minus_shift = has_quotient ? 0 : q.negate(conversion.center_shift()[j]);
      if (has_correction) {
        const std::uint64_t product = plan.dropped_product()[j].operand;
        to.correction_weight = end(product);
        minus_shift =
            q.subtract(minus_shift, q.multiply(product, plan.plaintext_conversion().center_shift()[j]));
      }
      to.sources = static_cast<std::uint32_t>(dropped);
      to.single = dropped == 1 && !has_correction ? 1 : 0;
      to.minus_shift = to.single != 0 ? minus_shift : end(minus_shift);
      to.minus_product = has_quotient ? end(q.negate(conversion.product()[j])) : 0;
      to.factor = end(1);
      to.has_quotient = has_quotient ? 1 : 0;
      to.has_correction = has_correction ? 1 : 0;
      conversions.push_back(to);
    }
    tables.scaled = scaled(arithmetic_(plan.dropped()), plan.dropped(), factors, shifts);
    tables.conversions = upload(conversions);
    if (has_correction) tables.correction = correction_of(plan);
    tables.usable = true;
    return tables;
  });
}

}  // namespace hemera::poly::cuda
