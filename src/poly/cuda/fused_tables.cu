#include <algorithm>
#include <cstring>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/fused_tables.hpp"

namespace hemera::poly::cuda {
// Conversions to targets in groups of four.
struct FusedTables::HostColumns {
  struct Target {
    std::uint32_t ring_index;
    std::uint32_t limb;
    arith::Modulus modulus;
    std::vector<std::uint64_t> weights;  // [source]
    std::uint64_t minus_shift;
    std::uint64_t minus_product = 0;
    std::uint64_t factor = 1;  // of all of them
  };
  struct Group {
    std::uint32_t component;
    std::vector<std::uint32_t> sources;
    std::vector<Target> targets;  // at most four
  };
  std::vector<Group> groups;

  void add(std::uint32_t component, const std::vector<std::uint32_t>& sources,
           const std::vector<Target>& targets) {
    for (std::size_t i = 0; i < targets.size(); i += 4) {
      const auto first = targets.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = targets.begin() + static_cast<std::ptrdiff_t>(std::min(i + 4, targets.size()));
      groups.push_back({component, sources, {first, last}});
    }
  }
};

ColumnTables FusedTables::upload(const HostColumns& host, Arithmetic arithmetic) const {
  std::size_t most = 0;
  for (const auto& group : host.groups) most = std::max(most, group.sources.size());
  ColumnTables tables;
  tables.steps = most == 1 ? 0 : static_cast<unsigned>((most + 3) / 4);
  tables.job_count = static_cast<unsigned>(host.groups.size());
  // M64 ends a conversion by 2^-64.
  const auto factor_of = [&](const HostColumns::Target& target) {
    const arith::Modulus& q = target.modulus;
    return arithmetic == Arithmetic::m64 ? q.multiply(q.power(2, 64), target.factor) : target.factor;
  };
  std::vector<ColumnJob> jobs;
  std::vector<std::uint32_t> fragments;
  for (const auto& group : host.groups) {
    ColumnJob job{};
    job.component = group.component;
    for (std::size_t i = 0; i < max_fused_sources; ++i) {
      job.source[i] = group.sources[std::min(i, group.sources.size() - 1)];
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& target = group.targets[std::min(i, group.targets.size() - 1)];
      const arith::Modulus& q = target.modulus;
      const std::uint64_t factor = factor_of(target);
      // A single source is shifted before it is multiplied.
      job.target[i] = {
          .ring_index = target.ring_index,
          .limb = target.limb,
          .stored = i < group.targets.size() ? 1U : 0U,
          .unused = 0,
          .minus_shift = tables.steps == 0 ? target.minus_shift : q.multiply(target.minus_shift, factor),
          .minus_product = q.multiply(target.minus_product, factor),
          .factor = factor};
    }
    jobs.push_back(job);
    // See tensor_core.cuh. Column g of tile n belongs to byte 2n + g % 2 of target g / 2; row 16 r + 4t + b
    // to byte 4r + b of source t of the step.
    for (unsigned step = 0; step < tables.steps; ++step) {
      for (unsigned n = 0; n < 4; ++n) {
        for (unsigned r = 0; r < 2; ++r) {
          for (unsigned lane = 0; lane < 32; ++lane) {
            const unsigned g = lane / 4, source = 4 * step + lane % 4, byte_of_sum = 2 * n + g % 2;
            const auto& target = group.targets[std::min<std::size_t>(g / 2, group.targets.size() - 1)];
            std::uint32_t word = 0;
            for (unsigned b = 0; b < 4 && source < group.sources.size(); ++b) {
              const std::uint64_t power =
                  target.modulus.multiply(factor_of(target), target.modulus.power(2, 8 * (4 * r + b)));
              const std::uint64_t weight = target.modulus.multiply(target.weights[source], power);
              word |= static_cast<std::uint32_t>(weight >> (8 * byte_of_sum) & 0xff) << (8 * b);
            }
            fragments.push_back(word);
          }
        }
      }
    }
  }
  tables.jobs = upload(jobs);
  tables.fragments = upload(fragments);
  return tables;
}

bool FusedTables::takes(const RnsBase& target, std::size_t most_sources) const {
  if (!can_fuse(ring_->log_degree() - 8) || most_sources > max_fused_sources || target.empty()) return false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    // Below, the quotient of F64's fold would leave its range.
    if (arithmetic_(target) == Arithmetic::f64 && target.modulus(i).bits() < 30) return false;
    if ((*ring_)[target.index(i)].root == 0) return false;
  }
  return true;
}

ScaledTables FusedTables::scaled(const RnsBase& base, const std::vector<std::uint64_t>& factors,
                                 const std::vector<std::uint64_t>& shifts) const {
  ScaledTables tables;
  tables.shifts = upload(shifts);
  std::vector<std::uint64_t> words;
  const auto append = [&]<class A>(std::type_identity<A>) {
    for (std::size_t i = 0; i < base.size(); ++i) {
      const RingModulus& entry = (*ring_)[base.index(i)];
      const arith::Modulus& q = entry.modulus;
      const std::uint64_t inverse_root = arith::inverse(entry.root, q.value());
      const std::uint64_t scale = q.multiply(arith::inverse(ring_->degree(), q.value()), factors[i]);
      const std::uint64_t root = q.multiply(scale, q.power(inverse_root, ring_->degree() / 2));
      for (const std::uint64_t value : {scale, root}) {
        const typename A::Twiddle twiddle = A::twiddle(value, q);
        std::uint64_t copied[sizeof twiddle / sizeof(std::uint64_t)];
        std::memcpy(copied, &twiddle, sizeof twiddle);
        words.insert(words.end(), std::begin(copied), std::end(copied));
      }
    }
  };
  with_arithmetic(arithmetic_(base), append);
  tables.roots = upload(words);
  return tables;
}

const FusedModUp& FusedTables::of(const ModUp& plan) const {
  return mod_ups_.of(plan.identity(), [&] {
    FusedModUp tables;
    std::size_t most = 0;
    for (const GadgetDigit& digit : plan.digits()) {
      if (digit.width != 0) return tables;
      most = std::max(most, digit.moduli.size());
    }
    const std::size_t limbs = plan.base().size();
    const RnsBase specials = plan.extended().without(plan.base());
    if (!takes(plan.base(), most) || (!specials.empty() && !takes(specials, most)) ||
        plan.digits().size() > max_fused_digits) {
      return tables;
    }

    std::vector<std::uint64_t> factors(limbs), product_factors(limbs), shifts(limbs);
    const Arithmetic arithmetics[2] = {arithmetic_(plan.base()), arithmetic_(specials)};
    const auto raise = [](Arithmetic arithmetic, const arith::Modulus& q) {
      return arithmetic == Arithmetic::m64 ? q.power(2, 64) : 1;
    };
    std::vector<std::uint16_t> key_digits;
    std::vector<std::uint32_t> own_digits(plan.extended().size(), no_digit);
    HostColumns base, special;
    for (std::size_t d = 0; d < plan.digits().size(); ++d) {
      const BaseConversion& conversion = plan.conversions()[d];
      key_digits.push_back(static_cast<std::uint16_t>(plan.digits()[d].key_digit));
      const std::vector<std::uint32_t>& own = plan.own_positions()[d];
      for (std::size_t i = 0; i < own.size(); ++i) {
        own_digits[own[i]] = static_cast<std::uint32_t>(d);
        const arith::Modulus& q = plan.extended().modulus(own[i]);
        factors[own[i]] = conversion.inverse_punctured()[i].operand;
        product_factors[own[i]] = q.multiply(factors[own[i]], raise(arithmetics[0], q));
        shifts[own[i]] = (q.value() - 1) / 2;
      }
      std::vector<HostColumns::Target> targets[2];
      for (std::size_t j = 0; j < conversion.target().size(); ++j) {
        const std::uint32_t limb = plan.other_positions()[d][j];
        const arith::Modulus& b = conversion.target().modulus(j);
        const unsigned part = limb < limbs ? 0 : 1;
        targets[part].push_back({.ring_index = conversion.target().index(j),
                                 .limb = limb,
                                 .modulus = b,
                                 .weights = conversion.punctured()[j],
                                 .minus_shift = b.negate(conversion.center_shift()[j]),
                                 .factor = raise(arithmetics[part], b)});
      }
      base.add(static_cast<std::uint32_t>(d), own, targets[0]);
      special.add(static_cast<std::uint32_t>(d), own, targets[1]);
    }
    // A limb that no digit has is transformed with the others, and not used.
    for (std::size_t i = 0; i < limbs; ++i) {
      if (own_digits[i] == no_digit) return tables;
    }
    tables.scaled = scaled(plan.base(), factors, shifts);
    tables.scaled_product = scaled(plan.base(), product_factors, shifts);
    tables.base = upload(base, arithmetics[0]);
    tables.special = upload(special, arithmetics[1]);
    tables.key_digits = std::move(key_digits);
    tables.key_limbs = upload(plan.key_positions());
    tables.own_digits = upload(own_digits);
    tables.usable = true;
    return tables;
  });
}

const FusedDivision& FusedTables::of(const Division& plan) const {
  return divisions_.of(plan.conversion().identity(), [&] {
    FusedDivision tables;
    const BaseConversion& conversion = plan.conversion();
    const std::size_t dropped = plan.dropped().size();
    const std::size_t targets = plan.target().size();
    const bool has_plaintext = !plan.plaintext().empty();
    // The exact conversion of several moduli has a quotient; a single one converts by its centred residue.
    const bool has_quotient = dropped > 1;
    const std::size_t sources = dropped + (has_plaintext ? 1 : 0);
    if (plan.adds_primes() || !takes(plan.target(), sources) || !takes(plan.dropped(), sources))
      return tables;

    std::vector<std::uint64_t> factors, shifts;
    std::vector<ConversionSource> extra;
    for (std::size_t i = 0; i < dropped; ++i) {
      const arith::Modulus& d = plan.dropped().modulus(i);
      factors.push_back(conversion.inverse_punctured()[i].operand);
      shifts.push_back(has_quotient ? 0 : (d.value() - 1) / 2);
      extra.push_back({.scale = {},
                       .modulus = d.value(),
                       .shift = 0,
                       .quotient_factor = conversion.quotient_factors()[i],
                       .quotient_shift = static_cast<std::uint32_t>(d.bits() - 1),
                       .limb = static_cast<std::uint32_t>(i)});
    }
    std::vector<std::uint32_t> source_limbs;
    for (std::uint32_t i = 0; i < sources; ++i) source_limbs.push_back(i);
    std::vector<HostColumns::Target> host_targets;
    for (std::size_t j = 0; j < targets; ++j) {
      const arith::Modulus& b = plan.target().modulus(j);
      HostColumns::Target target{.ring_index = plan.target().index(j),
                                 .limb = static_cast<std::uint32_t>(j),
                                 .modulus = b,
                                 .weights = conversion.punctured()[j],
                                 .minus_shift = has_quotient ? 0 : b.negate(conversion.center_shift()[j]),
                                 .minus_product = has_quotient ? b.negate(conversion.product()[j]) : 0};
      if (has_plaintext) {
        const std::uint64_t product = plan.dropped_product()[j].operand;
        target.weights.push_back(product);
        target.minus_shift = b.subtract(target.minus_shift,
                                        b.multiply(product, plan.plaintext_conversion().center_shift()[j]));
      }
      host_targets.push_back(std::move(target));
    }
    HostColumns columns;
    columns.add(0, source_limbs, host_targets);
    tables.scaled = scaled(plan.dropped(), factors, shifts);
    tables.columns = upload(columns, arithmetic_(plan.target()));
    tables.columns.has_quotient = has_quotient;
    tables.columns.quotient_limb = static_cast<unsigned>(sources);
    tables.scratch_limbs = static_cast<unsigned>(sources + (has_quotient ? 1 : 0));
    tables.extra.sources = upload(extra);
    tables.extra.source_count = static_cast<unsigned>(dropped);
    tables.extra.quotient = has_quotient;
    tables.extra.correction = has_plaintext;
    if (has_plaintext) {
      const arith::Modulus& t = plan.plaintext().modulus(0);
      tables.extra.plain = t;
      tables.extra.weights = upload(conversion.punctured()[targets]);
      tables.extra.minus_product = t.negate(conversion.product()[targets]);
      tables.extra.minus_shift = has_quotient ? 0 : t.negate(conversion.center_shift()[targets]);
      tables.extra.negative_inverse = plan.negative_inverse_plain();
    }
    tables.usable = true;
    return tables;
  });
}

}  // namespace hemera::poly::cuda
