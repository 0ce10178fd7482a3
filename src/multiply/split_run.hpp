// The order of the passes of a split transform, for any arithmetic: `Passes` has the passes and their
// constants (avx512/split52.cpp, avx512/split64.cpp, avx2/split50.cpp).
#pragma once

#include <algorithm>

#include "multiply/diagonal.hpp"
#include "multiply/split_kernels.hpp"

// Each instruction set's file has its own copy; nothing in it may be linked into code for other processors.
namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

// Pairs that are worked off pass by pass: half of the first-level cache. Larger blocks go down one pass and
// are divided.
constexpr std::size_t together = 256;
constexpr std::size_t pair = split_pair;
constexpr std::size_t most_factors = 8;

// Neighbouring blocks of `length` pairs before pass number `pass`; first: 2^level + block of the first one.
struct Blocks {
  int pass;
  std::size_t first;
  std::size_t count;
  std::size_t length;
};

template <typename Passes>
void forward_one_pass(Word* values, const Blocks& blocks, bool canonical,
                      const typename Passes::Forward& constants, const SplitTables& tables) {
  const bool last = canonical && blocks.pass + 1 == tables.passes;
  const int stages = tables.stages[blocks.pass];
  Passes::forward_pass(stages, last)(values, blocks.first, blocks.count, blocks.length >> stages,
                                     {tables.twiddles.operands, tables.twiddles.quotients}, constants);
}

template <typename Passes>
void inverse_one_pass(Word* values, const Blocks& blocks, const typename Passes::Inverse& constants,
                      const SplitTables& tables) {
  const int stages = tables.stages[blocks.pass];
  Passes::inverse_pass(stages)(values, blocks.first, blocks.count, blocks.length >> stages,
                               {tables.inverse_twiddles.operands, tables.inverse_twiddles.quotients},
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
template <typename Passes>
void forward_blocks(Word* values, const Blocks& blocks, bool canonical,
                    const typename Passes::Forward& constants, const SplitTables& tables) {
  forward_one_pass<Passes>(values, blocks, canonical, constants, tables);
  if (blocks.pass + 1 == tables.passes) return;
  for_each_group(blocks, tables.stages[blocks.pass], [&](std::size_t at, const Blocks& next) {
    forward_blocks<Passes>(values + at, next, canonical, constants, tables);
  });
}

// The same backwards.
template <typename Passes>
void inverse_blocks(Word* values, const Blocks& blocks, const typename Passes::Inverse& constants,
                    const SplitTables& tables) {
  if (blocks.pass + 1 < tables.passes) {
    for_each_group(blocks, tables.stages[blocks.pass], [&](std::size_t at, const Blocks& next) {
      inverse_blocks<Passes>(values + at, next, constants, tables);
    });
  }
  inverse_one_pass<Passes>(values, blocks, constants, tables);
}

template <typename Passes>
void forward_begin(Word* values, const Word* coefficients, const typename Passes::Forward& constants,
                   const SplitTables& tables) {
  Passes::forward_sweep(values, coefficients, tables.pairs, tables.weights,
                        {tables.first.operands, tables.first.quotients}, constants);
}

template <typename Passes>
void inverse_end(Word* coefficients, const Word* values, const typename Passes::Inverse& constants,
                 const SplitTables& tables) {
  Passes::inverse_sweep(coefficients, values, tables.pairs, tables.inverse_weights,
                        {tables.inverse_first.operands, tables.inverse_first.quotients}, constants);
}

template <typename Passes>
void run_forward(Word* values, const Word* coefficients, const SplitTables& tables) {
  const auto constants = Passes::make_forward(tables.modulus);
  forward_begin<Passes>(values, coefficients, constants, tables);
  forward_blocks<Passes>(values, {0, 1, 1, tables.pairs}, true, constants, tables);
}

template <typename Passes>
void run_inverse(Word* coefficients, Word* values, const SplitTables& tables) {
  const auto constants = Passes::make_inverse(tables.modulus);
  inverse_blocks<Passes>(values, {0, 1, 1, tables.pairs}, constants, tables);
  inverse_end<Passes>(coefficients, values, constants, tables);
}

// Everything from the second pass of the forward transforms to the last but one of the inverse ones is done
// on one part of the values at a time, which then stays in the cache.
template <typename Passes>
void run_tensor_product(Word* const* out, const Word* const* a, std::size_t left, const Word* const* b,
                        std::size_t right, bool square, Word* scratch, const SplitTables& tables) {
  const auto constants = Passes::make_forward(tables.modulus);
  const auto inverse_constants = Passes::make_inverse(tables.modulus);
  const std::size_t degree = pair * tables.pairs;
  const std::size_t factors = square ? left : left + right;
  const std::size_t components = left + right - 1;
  Word* values[2 * most_factors];
  Word* products[2 * most_factors];
  const Blocks whole{0, 1, 1, tables.pairs};
  for (std::size_t i = 0; i < factors; ++i, scratch += degree) {
    values[i] = scratch;
    forward_begin<Passes>(scratch, i < left ? a[i] : b[i - left], constants, tables);
    forward_one_pass<Passes>(scratch, whole, true, constants, tables);
  }
  for (std::size_t c = 0; c < components; ++c, scratch += degree) products[c] = scratch;

  const std::size_t parts = std::size_t{1} << tables.stages[0];
  const std::size_t length = tables.pairs >> tables.stages[0];
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t at = pair * length * part;
    const Blocks block{1, parts + part, 1, length};
    for (std::size_t i = 0; i < factors; ++i) {
      const bool canonical = !Passes::takes_any_left_factor || square || i >= left;
      forward_blocks<Passes>(values[i] + at, block, canonical, constants, tables);
    }
    const Word* from_a[most_factors];
    const Word*
        from_b[most_factors];  // in reverse, so that the terms of a component are two rows of neighbours
    for (std::size_t i = 0; i < left; ++i) from_a[i] = values[i] + at;
    for (std::size_t j = 0; j < right; ++j) from_b[right - 1 - j] = values[(square ? 0 : left) + j] + at;
    for (std::size_t c = 0; c < components; ++c) {
      const Diagonal terms = diagonal(c, left, right);
      Passes::sum_of_products(products[c] + at, from_a + terms.first, from_b + (right - 1 + terms.first - c),
                              terms.count, pair * length, tables.modulus);
      inverse_blocks<Passes>(products[c] + at, block, inverse_constants, tables);
    }
  }
  for (std::size_t c = 0; c < components; ++c) {
    inverse_one_pass<Passes>(products[c], whole, inverse_constants, tables);
    inverse_end<Passes>(out[c], products[c], inverse_constants, tables);
  }
}

template <typename Passes>
void run_sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                         const SplitTables& tables) {
  Passes::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}

template <typename Passes>
constexpr SplitKernels run_kernels(SplitFactorForm form) {
  return {form, run_forward<Passes>, run_inverse<Passes>, run_sum_of_products<Passes>,
          run_tensor_product<Passes>};
}

}  // namespace
}  // namespace hemera::multiply
