#include <algorithm>
#include <cstring>

#include "poly/cuda/arithmetic.cuh"
#include "poly/cuda/fused/tables.hpp"
#include "poly/cuda/tuning.hpp"

namespace hemera::poly::cuda {
namespace {

template <typename Twiddle>
void append(std::vector<std::uint64_t>& words, const Twiddle& twiddle) {
  std::uint64_t copied[sizeof twiddle / sizeof(std::uint64_t)];
  std::memcpy(copied, &twiddle, sizeof twiddle);
  words.insert(words.end(), std::begin(copied), std::end(copied));
}

}  // namespace

// Conversions to targets in groups of four.
struct FusedTables::HostColumns {
  struct Target {
    std::uint32_t ring_index;
    std::uint32_t component = 0;
    std::uint32_t limb;
    arith::Modulus modulus;
    std::vector<std::uint64_t> weights;  // [source]
    std::uint64_t minus_shift;
    std::uint64_t minus_product = 0;
    std::uint64_t factor = 1;  // of all of them
    std::uint64_t source = 0;  // modulus of a single one

    // M64 ends a conversion by 2^-64.
    [[nodiscard]] std::uint64_t end_factor(Arithmetic arithmetic) const {
      return arithmetic == Arithmetic::m64 ? modulus.multiply(modulus.power(2, 64), factor) : factor;
    }
  };
  // What a source counts in the quotient of an exact conversion.
  struct Fraction {
    std::uint64_t factor;
    std::uint32_t shift;
  };
  struct Exact {
    std::vector<Fraction> fractions = {};  // [source]; the last sources may have none
    std::uint32_t quotient_limb = 0;
  };
  // A first conversion, to at most four targets, which are the sources of the second one.
  struct Link {
    std::vector<Target> targets = {};
    std::vector<Fraction> fractions = {};  // [target]
  };
  struct Group {
    std::vector<std::uint32_t> sources;
    std::vector<Target> targets;  // at most four
    Exact exact;
    Link link = {};
  };
  std::vector<Group> groups;
  bool by_source = false;  // targets of single sources stand together by their source

  void add(const std::vector<std::uint32_t>& sources, const std::vector<Target>& targets, const Exact& exact,
           const Link& link) {
    for (std::size_t i = 0; i < targets.size(); i += 4) {
      const auto first = targets.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = targets.begin() + static_cast<std::ptrdiff_t>(std::min(i + 4, targets.size()));
      groups.push_back({sources, {first, last}, exact, link});
    }
  }

  [[nodiscard]] bool has_factors() const {
    return std::any_of(groups.begin(), groups.end(), [](const Group& group) {
      return std::any_of(group.targets.begin(), group.targets.end(),
                         [](const Target& target) { return target.factor != 1; });
    });
  }

  [[nodiscard]] bool are_close() const {
    return std::all_of(groups.begin(), groups.end(), [](const Group& group) {
      return std::all_of(group.targets.begin(), group.targets.end(), [](const Target& target) {
        return target.source != 0 && target.source / 3 < target.modulus.value();
      });
    });
  }

  /// Targets of one source each, four together whatever their sources.
  void regroup() {
    std::vector<Group> regrouped;
    for (const Group& group : groups) {
      for (const Target& target : group.targets) {
        if (regrouped.empty() || regrouped.back().targets.size() == 4) regrouped.emplace_back();
        regrouped.back().sources.push_back(group.sources.front());
        regrouped.back().targets.push_back(target);
      }
    }
    groups = std::move(regrouped);
  }

  static void append_fragments(std::vector<std::uint32_t>& fragments, const std::vector<Target>& targets,
                               unsigned steps, Arithmetic arithmetic);
  static std::vector<Fraction> fractions(const BaseConversion& conversion) {
    std::vector<Fraction> result;
    for (std::size_t i = 0; i < conversion.source().size(); ++i) {
      result.push_back({conversion.quotient_factors()[i],
                        static_cast<std::uint32_t>(conversion.source().modulus(i).bits() - 1)});
    }
    return result;
  }
};

// Weights as the tensor cores take them, see tensor_core.cuh. Column g of tile n belongs to byte 2n + g % 2
// of target g / 2; row 16 r + 4t + b to byte 4r + b of source t of the step.
void FusedTables::HostColumns::append_fragments(std::vector<std::uint32_t>& fragments,
                                                const std::vector<Target>& targets, unsigned steps,
                                                Arithmetic arithmetic) {
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned n = 0; n < 4; ++n) {
      for (unsigned r = 0; r < 2; ++r) {
        for (unsigned lane = 0; lane < 32; ++lane) {
          const unsigned g = lane / 4, source = 4 * step + lane % 4, byte_of_sum = 2 * n + g % 2;
          std::uint32_t word = 0;
          for (unsigned b = 0; b < 4 && g / 2 < targets.size(); ++b) {
            const Target& target = targets[g / 2];
            if (source >= target.weights.size()) break;
            const std::uint64_t power = target.modulus.multiply(target.end_factor(arithmetic),
                                                                target.modulus.power(2, 8 * (4 * r + b)));
            const std::uint64_t weight = target.modulus.multiply(target.weights[source], power);
            word |= static_cast<std::uint32_t>(weight >> (8 * byte_of_sum) & 0xff) << (8 * b);
          }
          fragments.push_back(word);
        }
      }
    }
  }
}

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
  std::vector<ColumnJob> jobs;
  std::vector<std::uint32_t> fragments, links;
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
      // A single source is shifted before it is multiplied.
      job.target[i] = {
          .ring_index = target.ring_index,
          .component = target.component,
          .limb = target.limb,
          .stored = i < group.targets.size() ? 1U : 0U,
          .minus_shift = tables.steps == 0 ? target.minus_shift : q.multiply(target.minus_shift, factor),
          .minus_product = q.multiply(target.minus_product, factor),
          .factor = factor};
    }
    HostColumns::append_fragments(fragments, group.targets, tables.steps, arithmetic);
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
  return tables;
}

bool FusedTables::takes(const RnsBase& target, std::size_t most_sources) const {
  if (!can_fuse(ring_->log_degree() - 8) || most_sources > max_fused_sources || target.empty()) return false;
  // Byte sums modulo smaller primes leave U64's range.
  constexpr int least_bits = 18;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if ((*ring_)[target.index(i)].root == 0 || target.modulus(i).bits() < least_bits) return false;
  }
  return true;
}

Quotient FusedTables::quotient_of(std::size_t sources) const {
  const std::size_t most = ring_->log_degree() <= tuning::largest_log_degree_of_small_rings
                               ? tuning::most_sources_of_computed_quotients_in_small_rings
                               : tuning::most_sources_of_computed_quotients;
  return sources <= most ? Quotient::computed : Quotient::stored;
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
    // The correction modulo t needs the quotient before.
    const Quotient quotient = !has_quotient   ? Quotient::none
                              : has_plaintext ? Quotient::stored
                                              : quotient_of(sources);
    columns.add(source_limbs, host_targets,
                {HostColumns::fractions(conversion), static_cast<std::uint32_t>(sources)}, {});
    tables.scaled = scaled(arithmetic_(plan.dropped()), plan.dropped(), factors, shifts);
    tables.columns = upload(columns, arithmetic_(plan.target()));
    tables.columns.quotient = quotient;
    tables.scratch_limbs = static_cast<unsigned>(sources + (quotient == Quotient::stored ? 1 : 0));
    tables.extra.sources = upload(extra);
    tables.extra.source_count = static_cast<unsigned>(dropped);
    tables.extra.quotient = quotient == Quotient::stored;
    tables.extra.has_correction = has_plaintext;
    if (has_plaintext) {
      tables.extra.weights = upload(conversion.punctured()[targets]);
      tables.extra.correction = correction_of(plan);
    }
    tables.usable = true;
    return tables;
  });
}

const FusedProduct& FusedTables::of(const ScaledProduct& plan) const {
  return products_.of(plan.identity(), [&] {
    FusedProduct tables;
    const RnsBase &q = plan.base(), &p = plan.auxiliary();
    const auto limbs = static_cast<std::uint32_t>(q.size()), added = static_cast<std::uint32_t>(p.size());
    // A single modulus converts without a quotient.
    if (limbs < 2 || added < 2 || !takes(plan.all(), std::max(limbs, added)) || !of(plan.division()).usable) {
      return tables;
    }
    tables.arithmetic = arithmetic_(plan.all());
    const BaseConversion& up = plan.to_auxiliary();
    const BaseConversion& back = plan.to_base();
    const std::vector<HostColumns::Fraction> up_fractions = HostColumns::fractions(up);
    const std::vector<HostColumns::Fraction> back_fractions = HostColumns::fractions(back);

    std::vector<std::uint64_t> factors, seconds;
    for (std::uint32_t i = 0; i < limbs; ++i) {
      const std::uint64_t factor = up.inverse_punctured()[i].operand;
      factors.push_back(factor);
      seconds.push_back(q.modulus(i).multiply(factor, plan.rounding().multiple_dropped()[i].operand));
    }
    factors.insert(factors.end(), seconds.begin(), seconds.end());
    for (std::uint32_t i = 0; i < 2 * limbs; ++i) {
      const auto index = static_cast<std::uint16_t>(q.index(i % limbs));
      tables.inputs.push_back({index, static_cast<std::uint16_t>(i % limbs)});
      tables.both.push_back({index, static_cast<std::uint16_t>(i)});
    }
    tables.operands = scaled(tables.arithmetic, q, factors, std::vector<std::uint64_t>(factors.size()));

    // -delta / Q and then the scaled residue, in one factor; -(-Q) / Q = 1.
    std::vector<HostColumns::Target> rescaled;
    for (std::uint32_t j = 0; j < added; ++j) {
      const arith::Modulus& b = p.modulus(j);
      const std::uint64_t scale = back.inverse_punctured()[j].operand;
      const std::uint64_t factor = b.negate(b.multiply(plan.rounding().inverse_dropped()[j].operand, scale));
      std::vector<std::uint64_t> weights;
      for (std::uint32_t i = 0; i < limbs; ++i) weights.push_back(b.multiply(up.punctured()[j][i], factor));
      rescaled.push_back({.ring_index = p.index(j),
                          .limb = 2 * limbs + j,
                          .modulus = b,
                          .weights = std::move(weights),
                          .minus_shift = 0,
                          .minus_product = scale});
    }
    std::vector<std::uint32_t> second_limbs;
    for (std::uint32_t i = 0; i < limbs; ++i) second_limbs.push_back(limbs + i);
    // Of few primes the conversions are chained in registers; else a kernel stands between them, which finds
    // the quotients on its way.
    const bool chained = std::max(limbs, added) <= 4;
    if (!chained) {
      HostColumns rescale;
      rescale.add(second_limbs, rescaled, {up_fractions, 0}, {});
      tables.rescale.columns = upload(rescale, tables.arithmetic);
      std::vector<RescaleTables::Fraction> fractions(4 * rescale.groups.size());
      for (std::uint32_t j = 0; j < added; ++j) {
        fractions[j] = {back_fractions[j].factor, back_fractions[j].shift, 0};
      }
      tables.rescale.fractions = upload(fractions);
      tables.rescale.sources = limbs;
      tables.rescale.quotient_limb = 2 * limbs + added;
    }

    // The lift of b' has t in its weights. Modulo a prime of P only that prime's own residue counts.
    std::vector<HostColumns::Target> first, second;
    for (std::uint32_t j = 0; j < added; ++j) {
      const arith::Modulus& b = p.modulus(j);
      first.push_back({.ring_index = p.index(j),
                       .limb = j,
                       .modulus = b,
                       .weights = up.punctured()[j],
                       .minus_shift = 0,
                       .minus_product = b.negate(up.product()[j])});
    }
    for (std::uint32_t i = 0; i < limbs + added; ++i) {
      const arith::Modulus& b = plan.all().modulus(i);
      const std::uint64_t factor = plan.factors()[i];
      HostColumns::Target target{.ring_index = plan.all().index(i),
                                 .limb = added + i,
                                 .modulus = b,
                                 .weights = std::vector<std::uint64_t>(added),
                                 .minus_shift = 0};
      if (i < limbs) {
        for (std::uint32_t j = 0; j < added; ++j) {
          target.weights[j] = b.multiply(back.punctured()[i][j], factor);
        }
        target.minus_product = b.negate(b.multiply(back.product()[i], factor));
      } else {
        const std::uint64_t scale = back.inverse_punctured()[i - limbs].operand;
        target.weights[i - limbs] = b.multiply(arith::inverse(scale, b.value()), factor);
      }
      second.push_back(std::move(target));
    }
    std::vector<std::uint32_t> first_limbs, rescaled_limbs;
    for (std::uint32_t i = 0; i < limbs; ++i) first_limbs.push_back(i);
    for (std::uint32_t j = 0; j < added; ++j) rescaled_limbs.push_back(2 * limbs + j);
    HostColumns lift;
    lift.add(first_limbs, first, {up_fractions, 2 * limbs + added}, {});
    if (chained) {
      lift.add(second_limbs, second, {up_fractions, 0}, {rescaled, back_fractions});
    } else {
      lift.add(rescaled_limbs, second, {back_fractions, 2 * limbs + added + 1}, {});
    }
    tables.lift = upload(lift, tables.arithmetic);
    tables.lift.quotient = chained ? Quotient::chained : Quotient::stored;
    tables.scratch_limbs = 2 * limbs + (chained ? 0 : added + 2);

    // As the division's own, in the arithmetic of all limbs.
    const BaseConversion& down = plan.division().conversion();
    std::vector<std::uint32_t> remainder_limbs;
    for (std::uint32_t j = 0; j < added; ++j) remainder_limbs.push_back(j);
    std::vector<HostColumns::Target> ends;
    for (std::uint32_t i = 0; i < limbs; ++i) {
      ends.push_back({.ring_index = q.index(i),
                      .limb = i,
                      .modulus = q.modulus(i),
                      .weights = down.punctured()[i],
                      .minus_shift = 0,
                      .minus_product = q.modulus(i).negate(down.product()[i])});
    }
    HostColumns remainder;
    remainder.add(remainder_limbs, ends, {HostColumns::fractions(down), added}, {});
    tables.remainder = upload(remainder, tables.arithmetic);
    tables.remainder.quotient = quotient_of(added);

    std::vector<std::uint64_t> scales;
    for (std::uint32_t j = 0; j < added; ++j) {
      scales.push_back(plan.division().conversion().inverse_punctured()[j].operand);
      tables.sums.push_back({static_cast<std::uint16_t>(p.index(j)), static_cast<std::uint16_t>(j)});
    }
    tables.scaled_sums = scaled(tables.arithmetic, p, scales, std::vector<std::uint64_t>(added));
    const auto product_factors = [&](const RnsBase& base, const auto& value) {
      std::vector<std::uint64_t> words;
      with_arithmetic(tables.arithmetic, [&]<class A>(std::type_identity<A>) {
        for (std::size_t i = 0; i < base.size(); ++i) {
          const arith::Modulus& modulus = base.modulus(i);
          append(words, A::twiddle(value(i), modulus));
          append(words, A::twiddle(modulus.multiply(value(i), modulus.power(2, 62)), modulus));
        }
      });
      return upload(words);
    };
    tables.sum_factors = product_factors(p, [](std::size_t) { return std::uint64_t{1}; });
    tables.end_factors =
        product_factors(q, [&](std::size_t i) { return plan.division().inverse_dropped()[i].operand; });
    tables.usable = true;
    return tables;
  });
}

}  // namespace hemera::poly::cuda
