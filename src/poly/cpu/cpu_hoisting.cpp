// Sums of rotations times plaintexts, in blocks that stay in a near cache.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/repeat.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// Entries of a task's blocks: of two components in the second-level cache, and long enough for keys to come
// from memory in order.
constexpr std::size_t largest_block = 4096;

struct Block {
  alignas(64) std::array<Limb, largest_block> switched[2];
  alignas(64) std::array<Limb, largest_block> turned[2];
  alignas(64) std::array<Limb, largest_block> factors;
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
  const std::size_t limbs = plan.base().size();
  const std::size_t degree = ring()->degree();
  const std::size_t groups = degree / 8;
  auto* const sources = reinterpret_cast<std::uint32_t*>(
      workspace.take(terms.size() * groups * sizeof(std::uint32_t)));  // [term, group]
  if (workspace.measures()) return;

  struct Orders {
    alignas(64) std::array<std::uint64_t, 64> lanes;
  };
  std::vector<Orders> orders(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) orders[t].lanes = orders_of_groups(terms[t].galois_element);
  parallel_for(queue, terms.size(), terms.size() * degree, [&](std::size_t t) {
    if (terms[t].galois_element != 1) find_groups(sources + t * groups, terms[t].galois_element, 0, groups);
  });
  const auto is_part = [&](const HoistedTerm& term, std::size_t g) {
    return term.factors.empty() || term.factors[g].data != nullptr;
  };

  // The switched entries [first, first + count) of a term, with what is added to them.
  const auto switch_block = [&](const HoistedTerm& term, Block& block, std::size_t b, std::size_t j,
                                std::size_t first, std::size_t count) {
    const arith::Modulus& q = extended.modulus(j);
    const std::array<Limb*, 2> to = {block.switched[0].data(), block.switched[1].data()};
    if (term.digits.data == nullptr) {
      for (Limb* const entries : to) std::memset(entries, 0, count * sizeof(Limb));
    } else {
      std::vector<const Limb*> digits(plan.digits().size());
      for (std::size_t d = 0; d < digits.size(); ++d) digits[d] = term.digits.limb<Limb>(b, d, j);
      key_inner_product_part(to, digits, term.key, plan, j, first, count);
    }
    if (term.addend.data == nullptr) return;
    const bool whole = term.addend.shape.limbs == extended.size();
    if (!whole && j >= limbs) return;
    for (std::size_t c = 0; c < term.addend.shape.components; ++c) {
      const Limb* added = term.addend.limb<Limb>(b, c, j) + first;
      if (!whole) {
        kernels_.multiply_scalar(block.factors.data(), added, {special[j], q}, count, q);
        added = block.factors.data();
      }
      kernels_.add(to[c], to[c], added, count, q);
    }
  };

  PolyShape shape = out.front().shape;  // both components at once
  shape.components = 1;
  const std::size_t weight = terms.size() * (4 * plan.digits().size() + 8 + 4 * out.size());
  for_each_part(
      queue, shape, weight,
      [&](std::size_t b, std::size_t, std::size_t j, std::size_t begin, std::size_t entries) {
        Block block;
        const arith::Modulus& q = extended.modulus(j);
        const std::size_t count = std::min(entries, largest_block);
        for (std::size_t first = begin; first < begin + entries; first += count) {
          std::vector<bool> begun(out.size());
          for (std::size_t t = 0; t < terms.size(); ++t) {
            const HoistedTerm& term = terms[t];
            bool used = false;
            for (std::size_t g = 0; g < out.size(); ++g) used = used || is_part(term, g);
            if (!used) continue;
            const auto* value = &block.switched;
            if (term.galois_element == 1) {
              switch_block(term, block, b, j, first, count);
            } else {
              const std::uint32_t* const from = sources + t * groups + first / 8;
              switch_block(term, block, b, j, from[0] & ~(count - 1), count);
              std::array<std::uint32_t, largest_block / 8> within;
              for (std::size_t k = 0; k < count / 8; ++k) {
                within[k] = from[k] & static_cast<std::uint32_t>(count - 1);
              }
              for (std::size_t c = 0; c < 2; ++c) {
                kernels_.permute_groups(block.turned[c].data(), block.switched[c].data(), within.data(),
                                        orders[t].lanes.data(), count);
              }
              value = &block.turned;
            }
            for (std::size_t g = 0; g < out.size(); ++g) {
              if (!is_part(term, g)) continue;
              const Limb* factors = nullptr;
              if (!term.factors.empty()) {
                const ConstPolyView& given = term.factors[g];
                const std::size_t run = degree / given.shape.degree;
                factors = given.limb<Limb>(b, 0, j) + first / run;
                if (run > 1) {
                  repeat(std::span(block.factors).first(count), given.limb<Limb>(b, 0, j), run, first);
                  factors = block.factors.data();
                }
              }
              for (std::size_t c = 0; c < 2; ++c) {
                Limb* const to = out[g].limb<Limb>(b, c, j) + first;
                const Limb* const from = (*value)[c].data();
                if (factors != nullptr) {
                  (begun[g] ? kernels_.multiply_add : kernels_.multiply)(to, from, factors, count, q);
                } else if (begun[g]) {
                  kernels_.add(to, to, from, count, q);
                } else {
                  std::memcpy(to, from, count * sizeof(Limb));
                }
              }
              begun[g] = true;
            }
          }
          for (std::size_t g = 0; g < out.size(); ++g) {
            for (std::size_t c = 0; c < 2 && !begun[g]; ++c) {
              std::memset(out[g].limb<Limb>(b, c, j) + first, 0, count * sizeof(Limb));
            }
          }
        }
      });
}

}  // namespace hemera::poly::cpu
