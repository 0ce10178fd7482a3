// The tables of BFV's fused products.
#include <algorithm>
#include <numeric>

#include "poly/cuda/fused/host_columns.cuh"

namespace hemera::poly::cuda {

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
  // With few primes the conversions are chained in registers; else a kernel stands between them, which finds
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
