// Conversions with columns on the host, before they are uploaded.
#pragma once

#include <algorithm>
#include <cstring>

#include "poly/cuda/fused/half_products.cuh"
#include "poly/cuda/fused/tables.hpp"

namespace hemera::poly::cuda {

/// Bits of the largest modulus.
inline int bits_of(const RnsBase& base) {
  int most = 0;
  for (std::size_t i = 0; i < base.size(); ++i) most = std::max(most, base.modulus(i).bits());
  return most;
}

/// The words of a factor after others.
template <typename Twiddle>
void append(std::vector<std::uint64_t>& words, const Twiddle& twiddle) {
  std::uint64_t copied[sizeof twiddle / sizeof(std::uint64_t)];
  std::memcpy(copied, &twiddle, sizeof twiddle);
  words.insert(words.end(), std::begin(copied), std::end(copied));
}

/// Conversions to targets in groups of four.
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
  // The weight of a source in the quotient of an exact conversion.
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
  Quotient quotient = Quotient::none;
  int source_bits = 64;    // of the largest source
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
  static std::uint64_t addend(const Target& target, const ColumnTables& tables, Arithmetic arithmetic);
  static void append_halves(std::vector<double>& halves, const std::vector<Target>& targets, unsigned steps);
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
inline void FusedTables::HostColumns::append_fragments(std::vector<std::uint32_t>& fragments,
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

// The same of halves, see half_products.cuh. Column g belongs to part g % 2 of target g / 2, row 4h + t to
// half h of source t of the step.
inline void FusedTables::HostColumns::append_halves(std::vector<double>& halves,
                                                    const std::vector<Target>& targets, unsigned steps) {
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned h = 0; h < 2; ++h) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned g = lane / 4, source = 4 * step + lane % 4;
        double weight = 0;
        if (g / 2 < targets.size() && source < targets[g / 2].weights.size()) {
          const Target& target = targets[g / 2];
          const arith::Modulus& q = target.modulus;
          const std::uint64_t power = q.multiply(target.factor, q.power(2, h == 0 ? 0 : 25));
          const Parts parts =
              parts_of(static_cast<double>(q.centered(q.multiply(target.weights[source], power))));
          weight = (g % 2 == 0 ? parts.low : parts.high) * (h == 0 ? 1 : 0x1p-25);
        }
        halves.push_back(weight);
      }
    }
  }
}

// The addend of a target's sum: the halves of residues lack a constant. A single source is shifted before it
// is multiplied.
inline std::uint64_t FusedTables::HostColumns::addend(const Target& target, const ColumnTables& tables,
                                                      Arithmetic arithmetic) {
  if (tables.steps == 0) return target.minus_shift;
  const arith::Modulus& q = target.modulus;
  const std::uint64_t factor = target.end_factor(arithmetic);
  std::uint64_t sum = q.multiply(target.minus_shift, factor);
  if (tables.products == Products::halves) {
    const std::uint64_t lacking = q.multiply(half_offset % q.value(), factor);
    for (const std::uint64_t weight : target.weights) sum = q.add(sum, q.multiply(weight, lacking));
  }
  return sum;
}

}  // namespace hemera::poly::cuda
