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
#include "poly/cpu/tuning.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

using tuning::hoisted_terms_at_once;

struct Entries {
  alignas(64) std::array<Limb, tuning::hoisted_block> of[2];  // [component]
};

// A task's result from its terms.
struct Blocks {
  Entries switched;
  Entries turned[hoisted_terms_at_once];
  Entries sum;
  alignas(64) std::array<Limb, tuning::hoisted_block> factors[hoisted_terms_at_once];
};

}  // namespace

// An entry of the exponent e comes from where g e is, and the first bits of its index are the last ones of e:
// so an aligned block of entries comes from an aligned block, of which each term's switched entries are made,
// turned, and multiplied into the outputs.
class CpuBackend::HoistedProducts {
 public:
  // Takes its scratch.
  HoistedProducts(const CpuBackend& backend, std::span<const PolyView> out,
                  std::span<const HoistedTerm> terms, const ModUp& plan, Workspace& workspace)
      : backend_(backend),
        out_(out),
        terms_(terms),
        plan_(plan),
        degree_(backend.ring()->degree()),
        groups_(degree_ / 8),
        has_factors_(!terms.empty() && !terms.front().factors.empty()),
        sources_(
            reinterpret_cast<std::uint32_t*>(workspace.take(terms.size() * groups_ * sizeof(std::uint32_t)))),
        addends_(terms.size()) {
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const ConstPolyView& addend = terms[t].addend;
      addends_[t] = addend;
      if (addend.data == nullptr || addend.shape.limbs == plan.extended().size()) continue;
      const auto found = std::find_if(scaled_.begin(), scaled_.end(), [&](const auto& known) {
        return known.first.data == addend.data && known.first.shape == addend.shape;
      });
      if (found != scaled_.end()) {
        addends_[t] = found->second;
      } else {
        addends_[t] = scaled_.emplace_back(addend, take(workspace, addend.shape)).second;
      }
    }
  }

  void run(Queue& queue, std::span<const std::uint64_t> special) {
    for (const auto& [from, to] : scaled_) {
      backend_.do_unary(queue, Unary::multiply, to, from, special, plan_.base());
    }
    orders_.resize(terms_.size());
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      orders_[t].lanes = CpuBackend::orders_of_groups(terms_[t].galois_element);
    }
    parallel_for(queue, terms_.size(), terms_.size() * degree_, [&](std::size_t t) {
      const std::uint64_t element = terms_[t].galois_element;
      if (element != 1) backend_.find_groups(sources_ + t * groups_, element, 0, groups_);
    });
    const std::vector<std::size_t> needed = needed_terms();
    PolyShape shape = out_.front().shape;  // both components at once
    shape.components = 1;
    const std::size_t weight = terms_.size() * (4 * plan_.digits().size() + 8 + 4 * out_.size());
    for_each_part(queue, shape, weight,
                  [&](std::size_t b, std::size_t, std::size_t j, std::size_t begin, std::size_t entries) {
                    const auto blocks = std::make_unique_for_overwrite<Blocks>();
                    const std::size_t count = std::min(entries, tuning::hoisted_block);
                    for (std::size_t first = begin; first < begin + entries; first += count) {
                      make_block(needed, {b, j, first, count}, *blocks);
                    }
                  });
  }

 private:
  // Entries [first, first + count) of a limb of a polynomial.
  struct Place {
    std::size_t batch, limb, first, count;
  };
  struct Orders {
    alignas(64) std::array<std::uint64_t, 64> lanes;
  };

  [[nodiscard]] static bool is_part(const HoistedTerm& term, std::size_t g) {
    return term.factors.empty() || term.factors[g].data != nullptr;
  }

  // The terms that are part of an output.
  [[nodiscard]] std::vector<std::size_t> needed_terms() const {
    std::vector<std::size_t> needed;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      bool is_needed = false;
      for (std::size_t g = 0; g < out_.size(); ++g) is_needed = is_needed || is_part(terms_[t], g);
      if (is_needed) needed.push_back(t);
    }
    return needed;
  }

  void make_block(const std::vector<std::size_t>& needed, const Place& place, Blocks& blocks) const {
    std::vector<bool> begun(out_.size());
    for (std::size_t done = 0; done < needed.size(); done += hoisted_terms_at_once) {
      const auto chosen =
          std::span(needed).subspan(done, std::min(hoisted_terms_at_once, needed.size() - done));
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        turn_block(chosen[k], blocks.turned[k], blocks.switched, place);
      }
      for (std::size_t g = 0; g < out_.size(); ++g) {
        if (add_products(begun[g], chosen, blocks, g, place)) begun[g] = true;
      }
    }
    for (std::size_t g = 0; g < out_.size(); ++g) {
      if (begun[g]) continue;
      for (Limb* const to : output(g, place)) std::memset(to, 0, place.count * sizeof(Limb));
    }
  }

  [[nodiscard]] std::array<Limb*, 2> output(std::size_t g, const Place& place) const {
    const auto component = [&](std::size_t c) {
      return out_[g].limb<Limb>(place.batch, c, place.limb) + place.first;
    };
    return {component(0), component(1)};
  }

  // The switched entries of a term, with what is added to them.
  void switch_block(std::size_t t, Entries& entries, const Place& place) const {
    const HoistedTerm& term = terms_[t];
    const ConstPolyView& addend = addends_[t];
    const std::array<Limb*, 2> to = {entries.of[0].data(), entries.of[1].data()};
    if (term.digits.data == nullptr) {
      for (Limb* const component : to) std::memset(component, 0, place.count * sizeof(Limb));
    } else {
      std::vector<const Limb*> digits(plan_.digits().size());
      for (std::size_t d = 0; d < digits.size(); ++d) {
        digits[d] = term.digits.limb<Limb>(place.batch, d, place.limb);
      }
      backend_.key_inner_product_part(to, digits, term.key, plan_, place.limb, place.first, place.count);
    }
    if (addend.data == nullptr || place.limb >= addend.shape.limbs) return;
    for (std::size_t c = 0; c < addend.shape.components; ++c) {
      backend_.kernels_.add(to[c], to[c], addend.limb<Limb>(place.batch, c, place.limb) + place.first,
                            place.count, plan_.extended().modulus(place.limb));
    }
  }

  void turn_block(std::size_t t, Entries& turned, Entries& switched, const Place& place) const {
    if (terms_[t].galois_element == 1) return switch_block(t, turned, place);
    const std::size_t count = place.count;
    const std::uint32_t* const from = sources_ + t * groups_ + place.first / 8;
    switch_block(t, switched, {place.batch, place.limb, from[0] & ~(count - 1), count});
    std::array<std::uint32_t, tuning::hoisted_block / 8> within;
    for (std::size_t k = 0; k < count / 8; ++k) within[k] = from[k] & static_cast<std::uint32_t>(count - 1);
    for (std::size_t c = 0; c < 2; ++c) {
      backend_.kernels_.permute_groups(turned.of[c].data(), switched.of[c].data(), within.data(),
                                       orders_[t].lanes.data(), count);
    }
  }

  // Writes into output g, or adds to it, the products of the turned entries of some terms by its factors.
  // False if none of them is part of it.
  bool add_products(bool adds, std::span<const std::size_t> chosen, Blocks& blocks, std::size_t g,
                    const Place& place) const {
    const Kernels& kernels = backend_.kernels_;
    const std::array<Limb*, 2> to = output(g, place);
    const std::size_t count = place.count;
    const arith::Modulus& q = plan_.extended().modulus(place.limb);
    std::array<const Limb*, hoisted_terms_at_once> factors;
    std::array<std::array<const Limb*, hoisted_terms_at_once>, 2> values;
    std::size_t used = 0;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const HoistedTerm& term = terms_[chosen[k]];
      if (!is_part(term, g)) continue;
      for (std::size_t c = 0; c < 2; ++c) values[c][used] = blocks.turned[k].of[c].data();
      if (!term.factors.empty()) {
        const ConstPolyView& given = term.factors[g];
        const Limb* const words = given.limb<Limb>(place.batch, 0, place.limb);
        const std::size_t run = degree_ / given.shape.degree;
        factors[used] = words + place.first / run;
        if (run > 1) {
          repeat(std::span(blocks.factors[used]).first(count), words, run, place.first);
          factors[used] = blocks.factors[used].data();
        }
      }
      ++used;
    }
    if (used == 0) return false;
    for (std::size_t c = 0; c < 2; ++c) {
      if (has_factors_ && used > 1) {
        Limb* const sum = adds ? blocks.sum.of[c].data() : to[c];
        kernels.inner_product(sum, values[c].data(), factors.data(), used, count, q);
        if (adds) kernels.add(to[c], to[c], sum, count, q);
      } else if (has_factors_) {
        if (adds) kernels.multiply_add(to[c], values[c][0], factors[0], to[c], count, q);
        if (!adds) kernels.multiply(to[c], values[c][0], factors[0], count, q);
      } else {
        if (adds) kernels.add(to[c], to[c], values[c][0], count, q);
        if (!adds) std::memcpy(to[c], values[c][0], count * sizeof(Limb));
        for (std::size_t k = 1; k < used; ++k) kernels.add(to[c], to[c], values[c][k], count, q);
      }
    }
    return true;
  }

  const CpuBackend& backend_;
  std::span<const PolyView> out_;
  std::span<const HoistedTerm> terms_;
  const ModUp& plan_;
  std::size_t degree_;
  std::size_t groups_;
  bool has_factors_;        // all terms, or none
  std::uint32_t* sources_;  // [term, group]
  std::vector<ConstPolyView> addends_;
  // Each addend over the level's base, and where it is times P: terms mostly have the same one.
  std::vector<std::pair<ConstPolyView, PolyView>> scaled_;
  std::vector<Orders> orders_;
};

void CpuBackend::do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                     std::span<const HoistedTerm> terms, const ModUp& plan,
                                     std::span<const std::uint64_t> special, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  HoistedProducts products(*this, out, terms, plan, workspace);
  if (!workspace.measures()) products.run(queue, special);
}

}  // namespace hemera::poly::cpu
