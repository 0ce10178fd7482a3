#include "poly/cuda/plan_tables.hpp"

#include <algorithm>

namespace hemera::poly::cuda {

struct PlanTables::HostConversion {
  std::vector<ConversionSource> sources;
  std::vector<ConversionTarget> targets;
  std::vector<std::uint64_t> weights;
  std::vector<ConversionJob> jobs;

  // Limbs of the input and the output for each source and target.
  void add(const BaseConversion& plan, const std::vector<std::uint32_t>& source_limbs,
           const std::vector<std::uint32_t>& target_limbs, std::uint32_t component) {
    // A single modulus converts exactly by its centred residue.
    const bool centered = plan.kind() == BaseConversion::Kind::approximate || plan.source().size() == 1;
    const auto first_source = static_cast<std::uint32_t>(sources.size());
    const auto count = static_cast<std::uint32_t>(plan.source().size());
    for (std::size_t i = 0; i < count; ++i) {
      const arith::Modulus& a = plan.source().modulus(i);
      sources.push_back({.scale = plan.inverse_punctured()[i],
                         .modulus = a.value(),
                         .shift = centered ? (a.value() - 1) / 2 : 0,
                         .quotient_factor = plan.quotient_factors()[i],
                         .quotient_shift = static_cast<std::uint32_t>(a.bits() - 1),
                         .limb = source_limbs[i]});
    }
    const auto first_target = static_cast<std::uint32_t>(targets.size());
    for (std::size_t j = 0; j < plan.target().size(); ++j) {
      const arith::Modulus& b = plan.target().modulus(j);
      targets.push_back({.modulus = b,
                         .minus_product = b.value() - plan.product()[j],
                         .minus_shift = centered ? b.value() - plan.center_shift()[j] : 0,
                         .weights = static_cast<std::uint32_t>(weights.size()),
                         .limb = target_limbs[j]});
      weights.insert(weights.end(), plan.punctured()[j].begin(), plan.punctured()[j].end());
    }
    for (auto j = first_target; j < targets.size(); j += targets_per_job) {
      const auto rest = static_cast<std::uint32_t>(targets.size()) - j;
      jobs.push_back({.first_source = first_source,
                      .sources = count,
                      .first_target = j,
                      .targets = std::min(rest, targets_per_job),
                      .component = component,
                      .has_quotient = centered ? 0U : 1U});
    }
  }
};

ConversionTables PlanTables::upload(const HostConversion& host) const {
  return {.sources = upload(host.sources),
          .targets = upload(host.targets),
          .weights = upload(host.weights),
          .jobs = upload(host.jobs),
          .job_count = static_cast<unsigned>(host.jobs.size())};
}

namespace {

std::vector<std::uint32_t> all_limbs(const RnsBase& base) {
  std::vector<std::uint32_t> limbs(base.size());
  for (std::size_t i = 0; i < limbs.size(); ++i) limbs[i] = static_cast<std::uint32_t>(i);
  return limbs;
}

}  // namespace

const ConversionTables& PlanTables::of(const BaseConversion& plan) const {
  return conversions_.of(plan.identity(), [&] {
    HostConversion host;
    host.add(plan, all_limbs(plan.source()), all_limbs(plan.target()), 0);
    return upload(host);
  });
}

const RoundingTables& PlanTables::of(const ScaleAndRound& plan) const {
  return roundings_.of(plan.identity(), [&] {
    std::vector<RoundingSource> sources;
    for (std::size_t i = 0; i < plan.divided().size(); ++i) {
      const std::uint32_t limb = plan.divided_positions()[i];
      sources.push_back({.scale = plan.inverse_punctured()[limb],
                         .modulus = plan.source().modulus(limb).value(),
                         .fraction_high = plan.fraction_high()[i],
                         .fraction_low = plan.fraction_low()[i],
                         .limb = limb});
    }
    std::vector<RoundingTarget> targets;
    std::vector<std::uint64_t> weights;
    for (std::size_t j = 0; j < plan.target().size(); ++j) {
      const arith::Modulus& b = plan.target().modulus(j);
      const std::int32_t kept = plan.target_positions()[j];
      targets.push_back({.modulus = b,
                         .kept_scale = kept < 0 ? arith::ShoupFactor{}
                                                : plan.inverse_punctured()[static_cast<std::size_t>(kept)],
                         .kept_factor = kept < 0 ? 0 : plan.kept_factor()[j],
                         .power_48 = b.reduce(std::uint64_t{1} << 48),
                         .kept_limb = kept < 0 ? 0 : static_cast<std::uint32_t>(kept),
                         .limb = static_cast<std::uint32_t>(j)});
      weights.insert(weights.end(), plan.whole()[j].begin(), plan.whole()[j].end());
    }
    return RoundingTables{.sources = upload(sources),
                          .targets = upload(targets),
                          .weights = upload(weights),
                          .source_count = static_cast<unsigned>(sources.size()),
                          .target_count = static_cast<unsigned>(targets.size())};
  });
}

const ModUpTables& PlanTables::of(const ModUp& plan) const {
  return mod_ups_.of(plan.identity(), [&] {
    ModUpTables tables;
    HostConversion host;
    std::vector<std::uint32_t> key_digits;
    std::vector<std::uint32_t> own_digits(plan.extended().size(), no_digit);
    for (std::size_t d = 0; d < plan.digits().size(); ++d) {
      const GadgetDigit& digit = plan.digits()[d];
      key_digits.push_back(static_cast<std::uint32_t>(digit.key_digit));
      if (digit.width != 0) {
        tables.windowed = true;
        continue;
      }
      // The base comes first in `extended`, so an own limb has the same position in both.
      host.add(plan.conversions()[d], plan.own_positions()[d], plan.other_positions()[d],
               static_cast<std::uint32_t>(d));
      for (const std::uint32_t limb : plan.own_positions()[d])
        own_digits[limb] = static_cast<std::uint32_t>(d);
    }
    tables.conversions = upload(host);
    tables.key_digits = upload(key_digits);
    tables.key_limbs = upload(plan.key_positions());
    tables.own_digits = upload(own_digits);
    return tables;
  });
}

}  // namespace hemera::poly::cuda
