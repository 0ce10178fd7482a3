// Sums of rotations times plaintexts, in blocks that stay in a near cache.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/repeat.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// Entries of a task's blocks, which stay in the second-level cache, and are enough for keys to come from
// memory in order; and terms whose products are summed before they are reduced.
constexpr std::size_t largest_block = 2048;
constexpr std::size_t terms_at_once = 4;

struct Entries {
  alignas(64) std::array<Limb, largest_block> of[2];  // [component]
};

// What a task makes of its terms.
struct Blocks {
  Entries switched;
  Entries turned[terms_at_once];
  Entries sum;
  alignas(64) std::array<Limb, largest_block> factors[terms_at_once];
};

}  // namespace

// An entry of the exponent e comes from where g e is, and the first bits of its index are the last ones of e:
// so an aligned block of entries comes from an aligned block, of which each term's switched entries are made,
// turned, and multiplied into the outputs.
void CpuBackend::do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                     std::span<const HoistedTerm> terms, const ModUp& plan,
                                     std::span<const std::uint64_t> special, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const RnsBase& extended = plan.extended();
  const std::size_t degree = ring()->degree();
  const std::size_t groups = degree / 8;
  auto* const sources = reinterpret_cast<std::uint32_t*>(
      workspace.take(terms.size() * groups * sizeof(std::uint32_t)));  // [term, group]
  // Each addend over the level's base, times P: terms mostly have the same one.
  std::vector<std::pair<ConstPolyView, PolyView>> scaled;
  std::vector<ConstPolyView> addends(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const ConstPolyView& addend = terms[t].addend;
    addends[t] = addend;
    if (addend.data == nullptr || addend.shape.limbs == extended.size()) continue;
    const auto found = std::find_if(scaled.begin(), scaled.end(), [&](const auto& known) {
      return known.first.data == addend.data && known.first.shape == addend.shape;
    });
    if (found != scaled.end()) {
      addends[t] = found->second;
    } else {
      addends[t] = scaled.emplace_back(addend, take(workspace, addend.shape)).second;
    }
  }
  if (workspace.measures()) return;
  for (const auto& [from, to] : scaled) do_multiply_scalar(queue, to, from, special, plan.base());

  struct Orders {
    alignas(64) std::array<std::uint64_t, 64> lanes;
  };
  std::vector<Orders> orders(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) orders[t].lanes = orders_of_groups(terms[t].galois_element);
  parallel_for(queue, terms.size(), terms.size() * degree, [&](std::size_t t) {
    if (terms[t].galois_element != 1) find_groups(sources + t * groups, terms[t].galois_element, 0, groups);
  });
  const bool has_factors = !terms.empty() && !terms.front().factors.empty();  // all terms, or none
  const auto is_part = [&](const HoistedTerm& term, std::size_t g) {
    return term.factors.empty() || term.factors[g].data != nullptr;
  };

  // The switched entries [first, first + count) of a term, with what is added to them.
  const auto switch_block = [&](std::size_t t, Entries& entries, std::size_t b, std::size_t j,
                                std::size_t first, std::size_t count) {
    const HoistedTerm& term = terms[t];
    const ConstPolyView& addend = addends[t];
    const std::array<Limb*, 2> to = {entries.of[0].data(), entries.of[1].data()};
    if (term.digits.data == nullptr) {
      for (Limb* const component : to) std::memset(component, 0, count * sizeof(Limb));
    } else {
      std::vector<const Limb*> digits(plan.digits().size());
      for (std::size_t d = 0; d < digits.size(); ++d) digits[d] = term.digits.limb<Limb>(b, d, j);
      key_inner_product_part(to, digits, term.key, plan, j, first, count);
    }
    if (addend.data == nullptr || j >= addend.shape.limbs) return;
    for (std::size_t c = 0; c < addend.shape.components; ++c) {
      kernels_.add(to[c], to[c], addend.limb<Limb>(b, c, j) + first, count, extended.modulus(j));
    }
  };
  const auto turn_block = [&](std::size_t t, Entries& turned, Entries& switched, std::size_t b, std::size_t j,
                              std::size_t first, std::size_t count) {
    if (terms[t].galois_element == 1) return switch_block(t, turned, b, j, first, count);
    const std::uint32_t* const from = sources + t * groups + first / 8;
    switch_block(t, switched, b, j, from[0] & ~(count - 1), count);
    std::array<std::uint32_t, largest_block / 8> within;
    for (std::size_t k = 0; k < count / 8; ++k) within[k] = from[k] & static_cast<std::uint32_t>(count - 1);
    for (std::size_t c = 0; c < 2; ++c) {
      kernels_.permute_groups(turned.of[c].data(), switched.of[c].data(), within.data(),
                              orders[t].lanes.data(), count);
    }
  };
  // Into out, or added to it, the products of the turned entries of some terms by the factors of output g.
  const auto add_products = [&](const std::array<Limb*, 2>& to, bool adds,
                                std::span<const std::size_t> chosen, Blocks& blocks, std::size_t g,
                                std::size_t b, std::size_t j, std::size_t first, std::size_t count) {
    const arith::Modulus& q = extended.modulus(j);
    std::array<const Limb*, terms_at_once> factors;
    std::array<std::array<const Limb*, terms_at_once>, 2> values;
    std::size_t used = 0;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const HoistedTerm& term = terms[chosen[k]];
      if (!is_part(term, g)) continue;
      for (std::size_t c = 0; c < 2; ++c) values[c][used] = blocks.turned[k].of[c].data();
      if (!term.factors.empty()) {
        const ConstPolyView& given = term.factors[g];
        const std::size_t run = degree / given.shape.degree;
        factors[used] = given.limb<Limb>(b, 0, j) + first / run;
        if (run > 1) {
          repeat(std::span(blocks.factors[used]).first(count), given.limb<Limb>(b, 0, j), run, first);
          factors[used] = blocks.factors[used].data();
        }
      }
      ++used;
    }
    if (used == 0) return false;
    for (std::size_t c = 0; c < 2; ++c) {
      if (has_factors && used > 1) {
        Limb* const sum = adds ? blocks.sum.of[c].data() : to[c];
        kernels_.inner_product(sum, values[c].data(), factors.data(), used, count, q);
        if (adds) kernels_.add(to[c], to[c], sum, count, q);
      } else if (has_factors) {
        if (adds) kernels_.multiply_add(to[c], values[c][0], factors[0], to[c], count, q);
        if (!adds) kernels_.multiply(to[c], values[c][0], factors[0], count, q);
      } else {
        if (adds) kernels_.add(to[c], to[c], values[c][0], count, q);
        if (!adds) std::memcpy(to[c], values[c][0], count * sizeof(Limb));
        for (std::size_t k = 1; k < used; ++k) kernels_.add(to[c], to[c], values[c][k], count, q);
      }
    }
    return true;
  };

  // Those that are part of an output.
  std::vector<std::size_t> needed;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    bool is_needed = false;
    for (std::size_t g = 0; g < out.size(); ++g) is_needed = is_needed || is_part(terms[t], g);
    if (is_needed) needed.push_back(t);
  }
  PolyShape shape = out.front().shape;  // both components at once
  shape.components = 1;
  const std::size_t weight = terms.size() * (4 * plan.digits().size() + 8 + 4 * out.size());
  for_each_part(
      queue, shape, weight,
      [&](std::size_t b, std::size_t, std::size_t j, std::size_t begin, std::size_t entries) {
        const auto blocks = std::make_unique_for_overwrite<Blocks>();
        const std::size_t count = std::min(entries, largest_block);
        for (std::size_t first = begin; first < begin + entries; first += count) {
          std::vector<bool> begun(out.size());
          const auto at = [&](std::size_t g) {
            return std::array{out[g].limb<Limb>(b, 0, j) + first, out[g].limb<Limb>(b, 1, j) + first};
          };
          for (std::size_t done = 0; done < needed.size(); done += terms_at_once) {
            const auto chosen =
                std::span(needed).subspan(done, std::min(terms_at_once, needed.size() - done));
            for (std::size_t k = 0; k < chosen.size(); ++k) {
              turn_block(chosen[k], blocks->turned[k], blocks->switched, b, j, first, count);
            }
            for (std::size_t g = 0; g < out.size(); ++g) {
              if (add_products(at(g), begun[g], chosen, *blocks, g, b, j, first, count)) begun[g] = true;
            }
          }
          for (std::size_t g = 0; g < out.size(); ++g) {
            if (begun[g]) continue;
            for (Limb* const to : at(g)) std::memset(to, 0, count * sizeof(Limb));
          }
        }
      });
}

}  // namespace hemera::poly::cpu
