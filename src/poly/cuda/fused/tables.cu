#include <algorithm>

#include "poly/cuda/fused/host_columns.cuh"

namespace hemera::poly::cuda {

ColumnTables FusedTables::upload(HostColumns host, Arithmetic arithmetic) const {
  std::size_t most = 0;
  for (const auto& group : host.groups) most = std::max(most, group.sources.size());
  ColumnTables tables;
  // A single source without a weight is only reduced; in M64 it is multiplied anyway.
  const bool weighs = arithmetic != Arithmetic::m64 && host.has_factors();
  tables.steps = most == 1 && !weighs ? 0 : static_cast<unsigned>((most + 3) / 4);
  if (tables.steps == 0 && !host.by_source) host.regroup();
  tables.close = tables.steps == 0 && host.are_close();
  tables.job_count = static_cast<unsigned>(host.groups.size());
  tables.quotient = host.quotient;
  const bool computes = host.quotient == Quotient::computed || host.quotient == Quotient::chained;
  tables.products = products_of({.arithmetic = arithmetic,
                                 .sources = most,
                                 .source_bits = host.source_bits,
                                 .computes_quotient = computes},
                                sizes_);
  std::vector<ColumnJob> jobs;
  std::vector<std::uint32_t> fragments, links;
  std::vector<double> halves;
  for (const auto& group : host.groups) {
    ColumnJob job{};
    job.quotient_limb = group.exact.quotient_limb;
    for (std::size_t i = 0; i < group.exact.fractions.size(); ++i) {
      job.quotient_factor[i] = group.exact.fractions[i].factor;
      job.quotient_shift[i] = group.exact.fractions[i].shift;
    }
    for (std::size_t i = 0; i < max_fused_sources; ++i) {
      job.source[i] = group.sources[std::min(i, group.sources.size() - 1)];
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& target = group.targets[std::min(i, group.targets.size() - 1)];
      const arith::Modulus& q = target.modulus;
      const std::uint64_t factor = target.end_factor(arithmetic);
      job.target[i] = {.ring_index = target.ring_index,
                       .component = target.component,
                       .limb = target.limb,
                       .stored = i < group.targets.size() ? 1U : 0U,
                       .minus_shift = HostColumns::addend(target, tables, arithmetic),
                       .minus_product = q.multiply(target.minus_product, factor),
                       .factor = factor};
    }
    if (tables.products == Products::halves) {
      HostColumns::append_halves(halves, group.targets, tables.steps);
    } else {
      HostColumns::append_fragments(fragments, group.targets, tables.steps, arithmetic);
    }
    job.chained = group.link.targets.empty() ? 0 : 1;
    for (std::size_t i = 0; i < 4 && job.chained != 0; ++i) {
      const std::size_t place = std::min(i, group.link.targets.size() - 1);
      const auto& target = group.link.targets[place];
      const auto& [factor, shift] = group.link.fractions[place];
      job.link[i] = {.ring_index = target.ring_index,
                     .quotient_shift = shift,
                     .quotient_factor = i == place ? factor : 0,
                     .product = target.modulus.multiply(target.minus_product, target.end_factor(arithmetic))};
    }
    HostColumns::append_fragments(links, group.link.targets, 1, arithmetic);
    jobs.push_back(job);
  }
  tables.links = upload(links);
  tables.jobs = upload(jobs);
  tables.fragments = upload(fragments);
  tables.halves = upload(halves);
  return tables;
}

bool FusedTables::takes(const RnsBase& target, std::size_t most_sources) const {
  if (!can_fuse(ring_->log_degree() - 8) || most_sources > max_fused_sources || target.empty()) return false;
  if (!conversions_have_room(static_cast<unsigned>(ring_->log_degree()), sizes_)) return false;
  // Byte sums modulo smaller primes leave U64's range.
  constexpr int least_bits = 18;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if ((*ring_)[target.index(i)].root == 0 || target.modulus(i).bits() < least_bits) return false;
  }
  return true;
}

Quotient FusedTables::quotient_of(std::size_t sources) const {
  return sources <= sizes_.computed_quotient_sources ? Quotient::computed : Quotient::stored;
}

ScaledTables FusedTables::scaled(Arithmetic arithmetic, const RnsBase& base,
                                 const std::vector<std::uint64_t>& factors,
                                 const std::vector<std::uint64_t>& shifts) const {
  ScaledTables tables;
  tables.shifts = upload(shifts);
  std::vector<std::uint64_t> words;
  const auto fill = [&]<class A>(std::type_identity<A>) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const RingModulus& entry = (*ring_)[base.index(i % base.size())];
      const arith::Modulus& q = entry.modulus;
      const std::uint64_t inverse_root = arith::inverse(entry.root, q.value());
      const std::uint64_t scale = q.multiply(arith::inverse(ring_->degree(), q.value()), factors[i]);
      const std::uint64_t root = q.multiply(scale, q.power(inverse_root, ring_->degree() / 2));
      for (const std::uint64_t value : {scale, root}) append(words, A::twiddle(value, q));
    }
  };
  with_arithmetic(arithmetic, fill);
  tables.roots = upload(words);
  return tables;
}

const FusedModUp& FusedTables::of(const ModUp& plan) const {
  return mod_ups_.of(plan.identity(), [&] { return fused(plan, true); });
}

const FusedModUp& FusedTables::of_digits(const ModUp& plan) const {
  const RnsBase specials = plan.extended().without(plan.base());
  if (arithmetic_(plan.base()) != Arithmetic::m64 &&
      (specials.empty() || arithmetic_(specials) != Arithmetic::m64)) {
    return of(plan);
  }
  return digits_.of(plan.identity(), [&] { return fused(plan, false); });
}

FusedModUp FusedTables::fused(const ModUp& plan, bool for_products) const {
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
  const auto raise_digits = [&](Arithmetic arithmetic, const arith::Modulus& q) {
    return for_products ? raise(arithmetic, q) : 1;
  };
  std::vector<std::uint16_t> key_digits;
  std::vector<std::uint32_t> own_digits(plan.extended().size(), no_digit);
  HostColumns base, special;
  base.source_bits = special.source_bits = bits_of(plan.base());
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
                               .component = static_cast<std::uint32_t>(d),
                               .limb = limb,
                               .modulus = b,
                               .weights = conversion.punctured()[j],
                               .minus_shift = b.negate(conversion.center_shift()[j]),
                               .factor = raise_digits(arithmetics[part], b),
                               .source = plan.extended().modulus(own.front()).value()});
    }
    base.add(own, targets[0], {}, {});
    special.add(own, targets[1], {}, {});
  }
  // A limb that no digit has is transformed with the others, and not used.
  for (std::size_t i = 0; i < limbs; ++i) {
    if (own_digits[i] == no_digit) return tables;
  }
  tables.scaled = scaled(arithmetic_(plan.base()), plan.base(), factors, shifts);
  tables.scaled_product = scaled(arithmetic_(plan.base()), plan.base(), product_factors, shifts);
  tables.base = upload(base, arithmetics[0]);
  tables.special = upload(special, arithmetics[1]);
  tables.key_digits = std::move(key_digits);
  tables.key_limbs = upload(plan.key_positions());
  tables.own_digits = upload(own_digits);
  tables.usable = true;
  return tables;
}

const ColumnTables& FusedTables::joined(const ModUp& plan) const {
  return joined_mod_ups_.of(plan.identity(), [&] {
    const RnsBase specials = plan.extended().without(plan.base());
    const Arithmetic arithmetic = arithmetic_(plan.base());
    if (specials.empty() || arithmetic_(specials) != arithmetic) return ColumnTables{};
    HostColumns columns;
    columns.by_source = true;
    columns.source_bits = bits_of(plan.base());
    for (std::size_t d = 0; d < plan.digits().size(); ++d) {
      const BaseConversion& conversion = plan.conversions()[d];
      const std::vector<std::uint32_t>& own = plan.own_positions()[d];
      if (plan.digits()[d].width != 0) return ColumnTables{};
      std::vector<HostColumns::Target> targets;
      for (std::size_t j = 0; j < conversion.target().size(); ++j) {
        const arith::Modulus& b = conversion.target().modulus(j);
        targets.push_back({.ring_index = conversion.target().index(j),
                           .component = static_cast<std::uint32_t>(d),
                           .limb = plan.other_positions()[d][j],
                           .modulus = b,
                           .weights = conversion.punctured()[j],
                           .minus_shift = b.negate(conversion.center_shift()[j]),
                           .factor = arithmetic == Arithmetic::m64 ? b.power(2, 64) : 1,
                           .source = plan.extended().modulus(own.front()).value()});
      }
      columns.add(own, targets, {}, {});
    }
    return upload(columns, arithmetic);
  });
}

Correction FusedTables::correction_of(const Division& plan) {
  const BaseConversion& conversion = plan.conversion();
  const arith::Modulus& t = plan.plaintext().modulus(0);
  const std::size_t place = plan.target().size();  // of t among the conversion's targets
  const bool has_quotient = plan.dropped().size() > 1;
  return {.plain = t,
          .minus_product = t.negate(conversion.product()[place]),
          .minus_shift = has_quotient ? 0 : t.negate(conversion.center_shift()[place]),
          .negative_inverse = plan.negative_inverse_plain()};
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
    if (!takes(plan.target(), sources) || !takes(plan.dropped(), sources)) return tables;

    std::vector<std::uint64_t> factors, shifts;
    std::vector<ConversionSource> extra;
    for (std::size_t i = 0; i < dropped; ++i) {
      const arith::Modulus& d = plan.dropped().modulus(i);
      factors.push_back(
          d.multiply(conversion.inverse_punctured()[i].operand, plan.multiple_dropped()[i].operand));
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
                                 .minus_product = has_quotient ? b.negate(conversion.product()[j]) : 0,
                                 .source = plan.dropped().modulus(0).value()};
      // (E x - delta) / D as (x - delta / E) E / D.
      if (plan.multiplies() && plan.kept_positions()[j] >= 0) {
        target.factor = arith::inverse(
            b.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand), b.value());
      }
      if (has_plaintext) {
        const std::uint64_t product = plan.dropped_product()[j].operand;
        target.weights.push_back(product);
        target.minus_shift = b.subtract(target.minus_shift,
                                        b.multiply(product, plan.plaintext_conversion().center_shift()[j]));
      }
      host_targets.push_back(std::move(target));
    }
    const auto upload_columns = [&] {
      HostColumns columns;
      columns.source_bits = std::max(bits_of(plan.dropped()), bits_of(plan.plaintext()));
      // The correction modulo t needs the quotient before.
      columns.quotient = !has_quotient   ? Quotient::none
                         : has_plaintext ? Quotient::stored
                                         : quotient_of(sources);
      columns.add(source_limbs, host_targets,
                  {HostColumns::fractions(conversion), static_cast<std::uint32_t>(sources)}, {});
      return upload(std::move(columns), arithmetic_(plan.target()));
    };
    tables.scaled = scaled(arithmetic_(plan.dropped()), plan.dropped(), factors, shifts);
    tables.columns = upload_columns();
    if (plan.multiplies() && sources == 1 && tables.columns.steps != 0) {
      for (HostColumns::Target& target : host_targets) target.factor = 1;
      tables.without_multiple = upload_columns();
    }
    const bool stores = tables.columns.quotient == Quotient::stored;
    tables.scratch_limbs = static_cast<unsigned>(sources + (stores ? 1 : 0));
    tables.extra.sources = upload(extra);
    tables.extra.source_count = static_cast<unsigned>(dropped);
    tables.extra.quotient = stores;
    tables.extra.has_correction = has_plaintext;
    if (has_plaintext) {
      tables.extra.weights = upload(conversion.punctured()[targets]);
      tables.extra.correction = correction_of(plan);
    }
    tables.usable = true;
    return tables;
  });
}

}  // namespace hemera::poly::cuda
