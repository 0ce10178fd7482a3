// The split form of the discrete Galois transform for primes below 2^50, with 52-bit multiplies.
#include <algorithm>

#include "multiply/avx512/split52_passes.hpp"
#include "multiply/diagonal.hpp"

namespace hemera::multiply {
namespace {

using namespace split52;

// Pairs that are worked off pass by pass: half of the first-level cache. Larger blocks go down one pass and
// are divided.
constexpr std::size_t together = 256;
constexpr std::size_t most_factors = 8;

Twiddles52 pointers(const SplitFactors& factors) { return {factors.operands, factors.quotients}; }

// Neighbouring blocks of `length` pairs before pass number `pass`; first: 2^level + block of the first one.
struct Blocks {
  int pass;
  std::size_t first;
  std::size_t count;
  std::size_t length;
};

template <int headroom>
void forward_one_pass(Word* values, const Blocks& blocks, bool canonical, const forward::Constants& constants,
                      const SplitTables& tables) {
  const bool last = canonical && blocks.pass + 1 == tables.passes;
  const int stages = tables.stages[blocks.pass];
  // A reduction at every stage, or one a pass.
  constexpr unsigned in_two = headroom == 2 ? 0b11 : 0b1;
  constexpr unsigned in_three = headroom == 2 ? 0b111 : 0b1;
  auto* pass = last ? forward_pass<3, in_three, true> : forward_pass<3, in_three, false>;
  if (stages == 2) pass = last ? forward_pass<2, in_two, true> : forward_pass<2, in_two, false>;
  pass(values, blocks.first, blocks.count, blocks.length >> stages, pointers(tables.twiddles), constants);
}

template <int headroom>
void inverse_one_pass(Word* values, const Blocks& blocks, const inverse::Constants& constants,
                      const SplitTables& tables) {
  const int stages = tables.stages[blocks.pass];
  auto* pass = stages == 2 ? inverse_pass<headroom, 2> : inverse_pass<headroom, 3>;
  pass(values, blocks.first, blocks.count, blocks.length >> stages, pointers(tables.inverse_twiddles),
       constants);
}

// body(words before it, blocks) for each group of blocks that the next pass works on together.
template <typename Body>
void for_each_group(const Blocks& blocks, int stages, const Body& body) {
  const std::size_t parts = blocks.count << stages;
  const std::size_t length = blocks.length >> stages;
  const std::size_t group = blocks.count * blocks.length <= together
                                ? parts
                                : std::max<std::size_t>(1, std::min(parts, together / length));
  for (std::size_t part = 0; part < parts; part += group) {
    body(pair * length * part, Blocks{blocks.pass + 1, (blocks.first << stages) + part, group, length});
  }
}

// All passes from blocks.pass on.
template <int headroom>
void forward_blocks(Word* values, const Blocks& blocks, bool canonical, const forward::Constants& constants,
                    const SplitTables& tables) {
  forward_one_pass<headroom>(values, blocks, canonical, constants, tables);
  if (blocks.pass + 1 == tables.passes) return;
  for_each_group(blocks, tables.stages[blocks.pass], [&](std::size_t at, const Blocks& next) {
    forward_blocks<headroom>(values + at, next, canonical, constants, tables);
  });
}

// The same backwards.
template <int headroom>
void inverse_blocks(Word* values, const Blocks& blocks, const inverse::Constants& constants,
                    const SplitTables& tables) {
  if (blocks.pass + 1 < tables.passes) {
    for_each_group(blocks, tables.stages[blocks.pass], [&](std::size_t at, const Blocks& next) {
      inverse_blocks<headroom>(values + at, next, constants, tables);
    });
  }
  inverse_one_pass<headroom>(values, blocks, constants, tables);
}

template <int headroom>
void forward_begin(Word* values, const Word* coefficients, const forward::Constants& constants,
                   const SplitTables& tables) {
  forward_sweep<headroom>(values, coefficients, tables.pairs, tables.weights, pointers(tables.first),
                          constants);
}

template <int headroom>
void inverse_end(Word* coefficients, const Word* values, const inverse::Constants& constants,
                 const SplitTables& tables) {
  inverse_sweep<headroom>(coefficients, values, tables.pairs, tables.inverse_weights,
                          pointers(tables.inverse_first), constants);
}

template <int headroom>
void run_forward(Word* values, const Word* coefficients, const SplitTables& tables) {
  const auto constants = forward::Constants::make<headroom>(tables.modulus);
  forward_begin<headroom>(values, coefficients, constants, tables);
  forward_blocks<headroom>(values, {0, 1, 1, tables.pairs}, true, constants, tables);
}

template <int headroom>
void run_inverse(Word* coefficients, Word* values, const SplitTables& tables) {
  const auto constants = inverse::Constants::make(tables.modulus, headroom);
  inverse_blocks<headroom>(values, {0, 1, 1, tables.pairs}, constants, tables);
  inverse_end<headroom>(coefficients, values, constants, tables);
}

// Everything from the second pass of the forward transforms to the last but one of the inverse ones is done
// on one part of the values at a time, which then stays in the cache.
template <int headroom>
void run_tensor_product(Word* const* out, const Word* const* a, std::size_t left, const Word* const* b,
                        std::size_t right, bool square, Word* scratch, const SplitTables& tables) {
  const auto constants = forward::Constants::make<headroom>(tables.modulus);
  const auto inverse_constants = inverse::Constants::make(tables.modulus, headroom);
  const std::size_t degree = pair * tables.pairs;
  const std::size_t factors = square ? left : left + right;
  const std::size_t components = left + right - 1;
  Word* values[2 * most_factors];
  Word* products[2 * most_factors];
  const Blocks whole{0, 1, 1, tables.pairs};
  for (std::size_t i = 0; i < factors; ++i, scratch += degree) {
    values[i] = scratch;
    forward_begin<headroom>(scratch, i < left ? a[i] : b[i - left], constants, tables);
    forward_one_pass<headroom>(scratch, whole, true, constants, tables);
  }
  for (std::size_t c = 0; c < components; ++c, scratch += degree) products[c] = scratch;

  const std::size_t parts = std::size_t{1} << tables.stages[0];
  const std::size_t length = tables.pairs >> tables.stages[0];
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t at = pair * length * part;
    const Blocks block{1, parts + part, 1, length};
    for (std::size_t i = 0; i < factors; ++i) {
      // Below 2^49 one factor of a product need not be canonical.
      const bool canonical = headroom == 2 || square || i >= left;
      forward_blocks<headroom>(values[i] + at, block, canonical, constants, tables);
    }
    const Word* from_a[most_factors];
    const Word*
        from_b[most_factors];  // in reverse, so that the terms of a component are two rows of neighbours
    for (std::size_t i = 0; i < left; ++i) from_a[i] = values[i] + at;
    for (std::size_t j = 0; j < right; ++j) from_b[right - 1 - j] = values[(square ? 0 : left) + j] + at;
    for (std::size_t c = 0; c < components; ++c) {
      const Diagonal terms = diagonal(c, left, right);
      split52::sum_of_products(products[c] + at, from_a + terms.first, from_b + (right - 1 + terms.first - c),
                               terms.count, pair * length, tables.modulus);
      inverse_blocks<headroom>(products[c] + at, block, inverse_constants, tables);
    }
  }
  for (std::size_t c = 0; c < components; ++c) {
    inverse_one_pass<headroom>(products[c], whole, inverse_constants, tables);
    inverse_end<headroom>(out[c], products[c], inverse_constants, tables);
  }
}

void forward_any(Word* values, const Word* coefficients, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_forward<2> : run_forward<3>)(values, coefficients, tables);
}
void inverse_any(Word* coefficients, Word* values, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_inverse<2> : run_inverse<3>)(coefficients, values, tables);
}
void sum_of_products_any(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                         const SplitTables& tables) {
  split52::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}
void tensor_product_any(Word* const* out, const Word* const* a, std::size_t left, const Word* const* b,
                        std::size_t right, bool square, Word* scratch, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_tensor_product<2> : run_tensor_product<3>)(out, a, left, b, right,
                                                                                square, scratch, tables);
}

}  // namespace

const SplitKernels& avx512_split_kernels() {
  static constexpr SplitKernels table = {forward_any, inverse_any, sum_of_products_any, tensor_product_any};
  return table;
}

}  // namespace hemera::multiply
