#include <algorithm>
#include <cstring>
#include <numeric>

#include "poly/cuda/fused/host_columns.cuh"

namespace hemera::poly::cuda {
namespace {

template <typename Twiddle>
void append(std::vector<std::uint64_t>& words, const Twiddle& twiddle) {
  std::uint64_t copied[sizeof twiddle / sizeof(std::uint64_t)];
  std::memcpy(copied, &twiddle, sizeof twiddle);
  words.insert(words.end(), std::begin(copied), std::end(copied));
}

}  // namespace

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
    HostColumns columns;
    columns.source_bits = std::max(bits_of(plan.dropped()), bits_of(plan.plaintext()));
    // The correction modulo t needs the quotient before.
    columns.quotient = !has_quotient   ? Quotient::none
                       : has_plaintext ? Quotient::stored
                                       : quotient_of(sources);
    columns.add(source_limbs, host_targets,
                {HostColumns::fractions(conversion), static_cast<std::uint32_t>(sources)}, {});
    tables.scaled = scaled(arithmetic_(plan.dropped()), plan.dropped(), factors, shifts);
    tables.columns = upload(columns, arithmetic_(plan.target()));
    const bool stores = columns.quotient == Quotient::stored;
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

// Makes the tables of a product, step by step.
class FusedTables::ProductTables {
 public:
  ProductTables(const FusedTables& fused, const ScaledProduct& product, FusedProduct& result)
      : owner_(fused),
        plan_(product),
        tables_(result),
        q_(plan_.base()),
        p_(plan_.auxiliary()),
        limbs_(static_cast<std::uint32_t>(q_.size())),
        added_(static_cast<std::uint32_t>(p_.size())),
        up_(plan_.to_auxiliary()),
        back_(plan_.to_base()),
        up_fractions_(HostColumns::fractions(up_)),
        back_fractions_(HostColumns::fractions(back_)),
        chained_(std::max(limbs_, added_) <= 4) {}

  void make() {
    tables_.arithmetic = owner_.arithmetic_(plan_.all());
    scale_operands();
    const std::vector<HostColumns::Target> rescaled = rescaled_targets();
    if (!chained_) rescale(rescaled);
    lift(rescaled);
    find_remainder();
    scale_sums();
    tables_.usable = true;
  }

 private:
  void scale_operands() {
    std::vector<std::uint64_t> factors, seconds;
    for (std::uint32_t i = 0; i < limbs_; ++i) {
      const std::uint64_t factor = up_.inverse_punctured()[i].operand;
      factors.push_back(factor);
      seconds.push_back(q_.modulus(i).multiply(factor, plan_.rounding().multiple_dropped()[i].operand));
    }
    factors.insert(factors.end(), seconds.begin(), seconds.end());
    for (std::uint32_t i = 0; i < 2 * limbs_; ++i) {
      const auto index = static_cast<std::uint16_t>(q_.index(i % limbs_));
      tables_.inputs.push_back({index, static_cast<std::uint16_t>(i % limbs_)});
      tables_.both.push_back({index, static_cast<std::uint16_t>(i)});
    }
    tables_.operands =
        owner_.scaled(tables_.arithmetic, q_, factors, std::vector<std::uint64_t>(factors.size()));
  }

  // -delta / Q and then the scaled residue, in one factor; -(-Q) / Q = 1.
  [[nodiscard]] std::vector<HostColumns::Target> rescaled_targets() const {
    std::vector<HostColumns::Target> rescaled;
    for (std::uint32_t j = 0; j < added_; ++j) {
      const arith::Modulus& b = p_.modulus(j);
      const std::uint64_t scale = back_.inverse_punctured()[j].operand;
      const std::uint64_t factor = b.negate(b.multiply(plan_.rounding().inverse_dropped()[j].operand, scale));
      std::vector<std::uint64_t> weights;
      for (std::uint32_t i = 0; i < limbs_; ++i) weights.push_back(b.multiply(up_.punctured()[j][i], factor));
      rescaled.push_back({.ring_index = p_.index(j),
                          .limb = 2 * limbs_ + j,
                          .modulus = b,
                          .weights = std::move(weights),
                          .minus_shift = 0,
                          .minus_product = scale});
    }
    return rescaled;
  }

  [[nodiscard]] static std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> result(count);
    std::iota(result.begin(), result.end(), first);
    return result;
  }

  void rescale(const std::vector<HostColumns::Target>& rescaled) {
    HostColumns columns;  // whose kernel works out the quotients
    columns.quotient = Quotient::computed;
    columns.add(range(limbs_, limbs_), rescaled, {up_fractions_, 0}, {});
    tables_.rescale.columns = owner_.upload(columns, tables_.arithmetic);
    std::vector<RescaleTables::Fraction> fractions(4 * columns.groups.size());
    for (std::uint32_t j = 0; j < added_; ++j) {
      fractions[j] = {back_fractions_[j].factor, back_fractions_[j].shift, 0};
    }
    tables_.rescale.fractions = owner_.upload(fractions);
    tables_.rescale.sources = limbs_;
    tables_.rescale.quotient_limb = 2 * limbs_ + added_;
  }

  void lift(const std::vector<HostColumns::Target>& rescaled) {
    HostColumns columns;
    columns.quotient = chained_ ? Quotient::chained : Quotient::stored;
    columns.source_bits = bits_of(plan_.all());
    columns.add(range(0, limbs_), first_targets(), {up_fractions_, 2 * limbs_ + added_}, {});
    if (chained_) {
      columns.add(range(limbs_, limbs_), second_targets(), {up_fractions_, 0}, {rescaled, back_fractions_});
    } else {
      columns.add(range(2 * limbs_, added_), second_targets(), {back_fractions_, 2 * limbs_ + added_ + 1},
                  {});
    }
    tables_.lift = owner_.upload(columns, tables_.arithmetic);
    tables_.scratch_limbs = 2 * limbs_ + (chained_ ? 0 : added_ + 2);
  }

  [[nodiscard]] std::vector<HostColumns::Target> first_targets() const {
    std::vector<HostColumns::Target> first;
    for (std::uint32_t j = 0; j < added_; ++j) {
      const arith::Modulus& b = p_.modulus(j);
      first.push_back({.ring_index = p_.index(j),
                       .limb = j,
                       .modulus = b,
                       .weights = up_.punctured()[j],
                       .minus_shift = 0,
                       .minus_product = b.negate(up_.product()[j])});
    }
    return first;
  }

  // The lift of b' has t in its weights. Modulo a prime of P only that prime's own residue counts.
  [[nodiscard]] std::vector<HostColumns::Target> second_targets() const {
    std::vector<HostColumns::Target> second;
    for (std::uint32_t i = 0; i < limbs_ + added_; ++i) {
      const arith::Modulus& b = plan_.all().modulus(i);
      const std::uint64_t factor = plan_.factors()[i];
      HostColumns::Target target{.ring_index = plan_.all().index(i),
                                 .limb = added_ + i,
                                 .modulus = b,
                                 .weights = std::vector<std::uint64_t>(added_),
                                 .minus_shift = 0};
      if (i < limbs_) {
        for (std::uint32_t j = 0; j < added_; ++j) {
          target.weights[j] = b.multiply(back_.punctured()[i][j], factor);
        }
        target.minus_product = b.negate(b.multiply(back_.product()[i], factor));
      } else {
        const std::uint64_t scale = back_.inverse_punctured()[i - limbs_].operand;
        target.weights[i - limbs_] = b.multiply(arith::inverse(scale, b.value()), factor);
      }
      second.push_back(std::move(target));
    }
    return second;
  }

  // As the division's own, in the arithmetic of all limbs.
  void find_remainder() {
    const BaseConversion& down = plan_.division().conversion();
    std::vector<HostColumns::Target> ends;
    for (std::uint32_t i = 0; i < limbs_; ++i) {
      ends.push_back({.ring_index = q_.index(i),
                      .limb = i,
                      .modulus = q_.modulus(i),
                      .weights = down.punctured()[i],
                      .minus_shift = 0,
                      .minus_product = q_.modulus(i).negate(down.product()[i])});
    }
    HostColumns columns;
    columns.quotient = owner_.quotient_of(added_);
    columns.source_bits = bits_of(p_);
    columns.add(range(0, added_), ends, {HostColumns::fractions(down), added_}, {});
    tables_.remainder = owner_.upload(columns, tables_.arithmetic);
  }

  void scale_sums() {
    std::vector<std::uint64_t> scales;
    for (std::uint32_t j = 0; j < added_; ++j) {
      scales.push_back(plan_.division().conversion().inverse_punctured()[j].operand);
      tables_.sums.push_back({static_cast<std::uint16_t>(p_.index(j)), static_cast<std::uint16_t>(j)});
    }
    tables_.scaled_sums = owner_.scaled(tables_.arithmetic, p_, scales, std::vector<std::uint64_t>(added_));
    const auto product_factors = [&](const RnsBase& base, const auto& value) {
      std::vector<std::uint64_t> words;
      with_arithmetic(tables_.arithmetic, [&]<class A>(std::type_identity<A>) {
        for (std::size_t i = 0; i < base.size(); ++i) {
          const arith::Modulus& modulus = base.modulus(i);
          append(words, A::twiddle(value(i), modulus));
          append(words, A::twiddle(modulus.multiply(value(i), modulus.power(2, 62)), modulus));
        }
      });
      return owner_.upload(words);
    };
    tables_.sum_factors = product_factors(p_, [](std::size_t) { return std::uint64_t{1}; });
    tables_.end_factors =
        product_factors(q_, [&](std::size_t i) { return plan_.division().inverse_dropped()[i].operand; });
  }

  const FusedTables& owner_;
  const ScaledProduct& plan_;
  FusedProduct& tables_;
  const RnsBase &q_, &p_;
  std::uint32_t limbs_, added_;
  const BaseConversion &up_, &back_;
  std::vector<HostColumns::Fraction> up_fractions_, back_fractions_;
  // Of few primes the conversions are chained in registers; else a kernel stands between them, which finds
  // the quotients on its way.
  bool chained_;
};

const FusedProduct& FusedTables::of(const ScaledProduct& plan) const {
  return products_.of(plan.identity(), [&] {
    FusedProduct tables;
    // A single modulus converts without a quotient.
    const std::size_t limbs = plan.base().size(), added = plan.auxiliary().size();
    if (limbs < 2 || added < 2 || !takes(plan.all(), std::max(limbs, added)) || !of(plan.division()).usable) {
      return tables;
    }
    ProductTables(*this, plan, tables).make();
    return tables;
  });
}

}  // namespace hemera::poly::cuda
