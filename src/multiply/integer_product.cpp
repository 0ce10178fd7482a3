#include "multiply/integer_product.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "multiply/diagonal.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

// Pairs of blocks that are transformed forward, multiplied and transformed back while they are in the cache.
constexpr std::size_t block_pairs = 1024;

}  // namespace

IntegerProduct::IntegerProduct(const IntegerProductPlan& plan, Wrapping wrapping, std::size_t left,
                               std::size_t right, bool square, const InertKernels& kernels,
                               std::vector<InertTwiddles::Tables> tables,
                               const RemainderConstants& remainders, Word* scratch, runtime::ThreadPool& pool)
    : plan_(plan),
      wrapping_(wrapping),
      left_(left),
      right_(right),
      square_(square),
      kernels_(kernels),
      tables_(std::move(tables)),
      remainders_(remainders),
      next_(scratch),
      pool_(pool),
      pairs_(plan.length / inert_pair) {
  const std::size_t count = square ? left : left + right;
  for (std::size_t i = 0; i < count; ++i) digits_.push_back(take());
  for (std::size_t i = 0; i < count; ++i) factors_.push_back(take_row());
  if (left == 1 && right == 1) {
    // In the place of a; its residues in that of b.
    products_.push_back(factors_[0]);
    residues_ = square ? take_row() : factors_[1];
  } else {
    for (std::size_t c = 0; c < left + right - 1; ++c) products_.push_back(take_row());
    residues_ = factors_[0];
  }
  std::size_t pairs = pairs_;
  while (pairs > block_pairs) {
    const int stages = block_level_ == 0 && (std::countr_zero(pairs_) & 1) != 0 ? 3 : 2;
    passes_.push_back({block_level_, pairs, pairs >> stages});
    block_level_ += stages;
    pairs >>= stages;
  }
  block_ = pairs;
}

void IntegerProduct::run(IntegerOutputs out, IntegerFactors a, IntegerFactors b) {
  for (std::size_t i = 0; i < factors_.size(); ++i) split(digits_[i], i < left_ ? a[i] : b[i - left_]);
  const std::size_t n = tables_.size();
  for_columns(factors_.size() * n, pairs_, [&](std::size_t row, std::size_t first, std::size_t count) {
    const std::size_t i = row / n, t = row % n;
    kernels_.forward_sweep(factors_[i][t], digits_[i], tables_[t].view, first, count);
  });
  for (const Pass& pass : passes_) pass_over(pass, factors_, kernels_.forward_pass);
  multiply_blocks();
  for (auto pass = passes_.rbegin(); pass != passes_.rend(); ++pass) {
    pass_over(*pass, products_, kernels_.inverse_pass);
  }
  for (std::size_t c = 0; c < products_.size(); ++c) {
    for_columns(n, pairs_, [&](std::size_t t, std::size_t first, std::size_t count) {
      kernels_.inverse_sweep(residues_[t], products_[c][t], tables_[t].view, first, count);
    });
    if (wrapping_ == Wrapping::none) {
      recombine(out[c], residues_);
    } else {
      const Carry top = recombine(out[c].first(out[c].size() - 1), residues_);
      subtract_wrapped(out[c], top);
    }
  }
}

IntegerProduct::Row IntegerProduct::take_row() {
  Row row;
  for (std::size_t t = 0; t < tables_.size(); ++t) row.push_back(take());
  return row;
}

Word* IntegerProduct::take() { return std::exchange(next_, next_ + plan_.length); }

// body(row, first column, columns) for all columns of all rows.
template <typename Body>
void IntegerProduct::for_columns(std::size_t rows, std::size_t columns, const Body& body) {
  const std::size_t chunk = std::min<std::size_t>(columns, 512);
  const std::size_t chunks = columns / chunk;
  pool_.parallel_for(rows * chunks,
                     [&](std::size_t index) { body(index / chunks, index % chunks * chunk, chunk); });
}

void IntegerProduct::split(Word* digits, std::span<const Word> integer) {
  constexpr std::size_t chunk = 1 << 13;
  if (wrapping_ == Wrapping::modulo) {
    // 2^M is 2^b and digits 2^b - 1 above it.
    const Word top = integer.back();
    integer = integer.first(integer.size() - 1);
    if (top != 0) {
      const Word power = Word{1} << plan_.digit_bits;
      std::fill(digits, digits + plan_.length, power - 1);
      digits[0] = power;
      return;
    }
  }
  pool_.parallel_for((plan_.length + chunk - 1) / chunk, [&](std::size_t c) {
    split_digits(digits + c * chunk, integer, plan_.digit_bits, c * chunk,
                 std::min(chunk, plan_.length - c * chunk));
  });
}

void IntegerProduct::pass_over(const Pass& pass, std::span<const Row> rows, PassKernel kernel) {
  const std::size_t n = tables_.size();
  const std::size_t blocks = pairs_ / pass.length;
  for_columns(rows.size() * n * blocks, pass.part,
              [&](std::size_t index, std::size_t first, std::size_t count) {
                const std::size_t block = index % blocks, t = index / blocks % n, i = index / blocks / n;
                kernel(rows[i][t] + inert_pair * pass.length * block, pass.level, block, pass.length, first,
                       count, tables_[t].view);
              });
}

void IntegerProduct::multiply_blocks() {
  const std::size_t blocks = pairs_ / block_;
  pool_.parallel_for(tables_.size() * blocks, [&](std::size_t index) {
    const std::size_t t = index / blocks, block = index % blocks;
    const std::size_t at = inert_pair * block_ * block;
    const InertTables& tables = tables_[t].view;
    for (const Row& factor : factors_) {
      kernels_.forward_block(factor[t] + at, block_level_, block, block_, tables);
    }
    // b in reverse, so that the terms of a component are two rows of neighbours.
    std::vector<const Word*> a(left_), b(right_);
    for (std::size_t i = 0; i < left_; ++i) a[i] = factors_[i][t] + at;
    for (std::size_t j = 0; j < right_; ++j) b[right_ - 1 - j] = factors_[(square_ ? 0 : left_) + j][t] + at;
    for (std::size_t c = 0; c < products_.size(); ++c) {
      const Diagonal terms = diagonal(c, left_, right_);
      kernels_.multiply(products_[c][t] + at, a.data() + terms.first,
                        b.data() + (right_ - 1 + terms.first - c), terms.count, block_, tables);
      kernels_.inverse_block(products_[c][t] + at, block_level_, block, block_, tables);
    }
  });
}

Carry IntegerProduct::recombine(std::span<Word> out, const Row& residues) {
  constexpr std::size_t chunk = 1 << 12;
  const std::size_t n = tables_.size();
  const std::size_t chunk_words = chunk / 64 * static_cast<std::size_t>(plan_.digit_bits);
  const std::size_t chunks = (out.size() + chunk_words - 1) / chunk_words;
  std::vector<Carry> carries(chunks);
  std::vector<const arith::ShoupFactor*> inverses;
  for (const auto& row : remainders_.inverses) inverses.push_back(row.data());
  pool_.parallel_for(chunks, [&](std::size_t c) {
    Row rows;
    const std::size_t first = std::min(plan_.length, c * chunk);
    const std::size_t count = std::min(chunk, plan_.length - first);
    for (std::size_t t = 0; t < n; ++t) rows.push_back(residues[t] + first);
    kernels_.mixed_radix(rows.data(), remainders_.moduli.data(), inverses.data(), n, count);
    carries[c] = add_coefficients(
        out.subspan(c * chunk_words, std::min(chunk_words, out.size() - c * chunk_words)), rows.data(),
        remainders_.moduli.data(), n, wrapping_ == Wrapping::modulo, count, plan_.digit_bits);
  });
  Carry top = carries.back();
  for (std::size_t c = 0; c + 1 < chunks; ++c) {
    const Carry beyond = add_carry(out.subspan((c + 1) * chunk_words), carries[c]);
    add_carry(top.words, beyond);
  }
  return top;
}

}  // namespace hemera::multiply
