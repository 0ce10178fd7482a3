// Products of matrices, in blocks that stay in a near cache. Blocks are packed: polynomials are powers of two
// apart, so that the same entries of many of them would share few lines of a cache.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/tuning.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// All blocks of entries of the components and limbs of an output, each a task, for which a thread has scratch
// of its own.
class Blocks {
 public:
  // `weight`: as for for_each_limb, of all rows of the output together.
  Blocks(runtime::Queue& queue, const PolyShape& out, std::size_t entries, std::size_t weight,
         bool by_component)
      : pool_(pool_of(queue)),
        limbs_(out.limbs),
        entries_(entries),
        blocks_of_limb_(out.degree / entries),
        count_((by_component ? out.components : 1) * out.limbs * blocks_of_limb_),
        words_(count_ * entries * weight) {}

  [[nodiscard]] std::vector<Limb*> take(runtime::Workspace& workspace, std::size_t words) const {
    std::vector<Limb*> scratch(std::min(count_, static_cast<std::size_t>(threads_for(pool_, words_))));
    for (Limb*& slot : scratch) slot = reinterpret_cast<Limb*>(workspace.take(words * sizeof(Limb)));
    return scratch;
  }

  // body(component, limb, first entry, slot of scratch)
  template <typename Body>
  void run(const Body& body) const {
    pool_.parallel_for_slots(
        count_,
        [&](std::size_t i, std::size_t slot) {
          const std::size_t row = i / blocks_of_limb_;
          body(row / limbs_, row % limbs_, i % blocks_of_limb_ * entries_, slot);
        },
        threads_worth(words_));
  }

 private:
  runtime::ThreadPool& pool_;
  std::size_t limbs_, entries_, blocks_of_limb_, count_, words_;
};

// Rows of a block are too short for processors to notice that they follow each other: this many are on their
// way from memory at a time.
constexpr std::size_t ahead = 8;
void prefetch(const Limb* words, std::size_t count) {
  for (std::size_t n = 0; n < count; n += packed_tile) __builtin_prefetch(words + n);
}

// Copies words and adds them to sums.
void copy_and_add(Limb* __restrict to, Limb* __restrict sums, const Limb* __restrict from) {
  for (std::size_t i = 0; i < packed_tile; ++i) {
    to[i] = from[i];
    sums[i] += from[i];
  }
}

// Packs the entries [first, first + count) of the columns of a block, and sums them.
void pack(Limb* words, Limb* sums, const ConstPolyView& in, std::size_t begin, std::size_t columns,
          std::size_t component, std::size_t limb, std::size_t first, std::size_t count) {
  std::fill_n(sums, count, 0);
  for (std::size_t j = 0; j < columns; ++j) {
    if (j + ahead < columns) {
      prefetch(in.limb<Limb>(begin + j + ahead, component, limb) + first, count);
    }
    const Limb* from = in.limb<Limb>(begin + j, component, limb) + first;
    for (std::size_t n = 0; n < count; n += packed_tile) {
      copy_and_add(words + (n / packed_tile * columns + j) * packed_tile, sums + n, from + n);
    }
  }
}

// The integers of a row from a column on, as words of 32 bits.
void widen(std::int32_t* out, const IntegerMatrixView& w, std::size_t row, std::size_t begin,
           std::size_t columns) {
  const std::byte* from = w.host + (row * w.columns + begin) * static_cast<std::size_t>(w.bytes);
  const auto widen_as = [&](auto integer) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::memcpy(&integer, from + j * sizeof(integer), sizeof(integer));
      out[j] = integer;
    }
  };
  static_assert(std::endian::native == std::endian::little);
  w.bytes == 1 ? widen_as(std::int8_t{}) : widen_as(std::int16_t{});
}

// Entries of a block of this many columns: more where they are few, as each block widens all integers.
std::size_t matrix_block(std::size_t columns) {
  std::size_t block = tuning::most_matrix_block;
  while (block > tuning::least_matrix_block && block * columns > tuning::matrix_block_words) block /= 2;
  return block;
}

// All rows of a block of columns.
void add_block(const Kernels& kernels, const PolyView& out, const PackedRows& in, const IntegerMatrixView& w,
               std::size_t begin, std::size_t component, std::size_t limb, std::size_t first,
               const arith::Modulus& q) {
  std::array<std::int32_t, packed_row_group * most_packed_columns> weights;
  for (std::size_t row = 0; row < w.rows; row += packed_row_group) {
    const std::size_t rows = std::min(packed_row_group, w.rows - row);
    std::array<Limb*, packed_row_group> to;
    for (std::size_t r = 0; r < rows; ++r) {
      to[r] = out.limb<Limb>(row + r, component, limb) + first;
      widen(&weights[r * in.columns], w, row + r, begin, in.columns);
    }
    kernels.multiply_integers(to.data(), in, weights.data(), rows, begin != 0, q);
  }
}

}  // namespace

void CpuBackend::do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const IntegerMatrixView& w, const RnsBase& base,
                                    Workspace& workspace) const {
  if (w.rows < tuning::least_packed_rows) {
    return Backend::do_multiply_matrix(queue, out, in, w, base, workspace);
  }
  const Workspace::Frame frame(workspace);
  const std::size_t most_columns = std::min(w.columns, most_packed_columns);
  const std::size_t block = matrix_block(most_columns);
  const Blocks blocks(queue, out.shape, block, w.rows * w.columns / tuning::integers_per_addition + 1, true);
  const std::vector<Limb*> scratch = blocks.take(workspace, (most_columns + 1) * block);
  if (workspace.measures()) return;
  blocks.run([&](std::size_t component, std::size_t limb, std::size_t first, std::size_t slot) {
    Limb* const words = scratch[slot];
    Limb* const sums = words + most_columns * block;
    for (std::size_t begin = 0; begin < w.columns; begin += most_columns) {
      const std::size_t columns = std::min(most_columns, w.columns - begin);
      pack(words, sums, in, begin, columns, component, limb, first, block);
      add_block(kernels_, out, {words, sums, columns, block}, w, begin, component, limb, first,
                base.modulus(limb));
    }
  });
}

namespace {

// One block of entries of a limb: terms of a and b by the block, sums by the inner product of limbs.
class ElementBlock {
 public:
  static constexpr std::size_t count = tuning::element_block;
  static constexpr std::size_t most_terms = tuning::element_terms;
  static constexpr std::size_t most_columns = tuning::element_columns;

  // Takes scratch of words_for(a, out).
  ElementBlock(const Kernels& kernels, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
               const arith::Modulus& q, std::size_t limb, std::size_t first, Limb* scratch)
      : kernels_(kernels),
        out_(out),
        a_(a),
        b_(b),
        q_(q),
        limb_(limb),
        first_(first),
        log_run_(static_cast<unsigned>(std::countr_zero(out.shape.degree / a.shape.degree))),
        terms_(std::min(a.shape.components, most_terms)),
        columns_(std::min(out.shape.components, most_columns)),
        packed_(scratch) {
    ones_.fill(1);
  }

  static std::size_t words_for(const ConstPolyView& a, const PolyView& out) {
    return (std::min(out.shape.components, most_columns) + 1) * std::min(a.shape.components, most_terms) *
           count;
  }

  void run() {
    for (std::size_t term = 0; term < a_.shape.components; term += terms_) {
      for (std::size_t column = 0; column < out_.shape.components; column += columns_) {
        add(term, std::min(terms_, a_.shape.components - term), column,
            std::min(columns_, out_.shape.components - column));
      }
    }
  }

 private:
  Limb* packed(std::size_t row, std::size_t term) { return packed_ + (row * terms_ + term) * count; }

  // Adds some terms to some columns of all rows; a row of a is packed after the columns of b.
  void add(std::size_t term, std::size_t terms, std::size_t column, std::size_t columns) {
    for (std::size_t j = 0; j < terms; ++j) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (j + ahead < terms) {
          prefetch(b_.limb<Limb>(term + j + ahead, column + c, limb_) + first_, count);
        }
        std::memcpy(packed(c, j), b_.limb<Limb>(term + j, column + c, limb_) + first_, count * sizeof(Limb));
      }
    }
    std::vector<const Limb*> left(terms), right(terms);
    if (term != 0) {
      left.push_back(nullptr);  // the sum so far
      right.push_back(ones_.data());
    }
    for (std::size_t r = 0; r < out_.shape.batch; ++r) {
      for (std::size_t j = 0; j < terms; ++j) {
        if (log_run_ != 0) {
          repeat(packed(columns_, j), a_.limb<Limb>(r, term + j, limb_));
          left[j] = packed(columns_, j);
          continue;
        }
        left[j] = a_.limb<Limb>(r, term + j, limb_) + first_;
        if (columns == 1) continue;
        if (j + ahead < terms) prefetch(a_.limb<Limb>(r, term + j + ahead, limb_) + first_, count);
        std::memcpy(packed(columns_, j), left[j], count * sizeof(Limb));
        left[j] = packed(columns_, j);
      }
      for (std::size_t c = 0; c < columns; ++c) {
        Limb* to = out_.limb<Limb>(r, column + c, limb_) + first_;
        for (std::size_t j = 0; j < terms; ++j) right[j] = packed(c, j);
        if (term != 0) left.back() = to;
        kernels_.inner_product(to, left.data(), right.data(), left.size(), count, q_);
      }
    }
  }

  // This block's entries of a limb that is stored by one of each 2^log_run.
  void repeat(Limb* to, const Limb* stored) const {
    for (std::size_t i = 0; i < count; ++i) to[i] = stored[(first_ + i) >> log_run_];
  }

  const Kernels& kernels_;
  const PolyView& out_;
  const ConstPolyView &a_, &b_;
  const arith::Modulus& q_;
  std::size_t limb_, first_;
  unsigned log_run_;
  std::size_t terms_, columns_;
  Limb* packed_;
  alignas(64) std::array<Limb, count> ones_;
};

}  // namespace

void CpuBackend::do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                      const ConstPolyView& b, const RnsBase& base,
                                      Workspace& workspace) const {
  const std::size_t sums = out.shape.batch * out.shape.components;
  // A matrix that is used once need not be packed.
  if (sums == 1) return Backend::do_multiply_elements(queue, out, a, b, base, workspace);
  const Workspace::Frame frame(workspace);
  const Blocks blocks(queue, out.shape, ElementBlock::count,
                      sums * a.shape.components * tuning::product_weight, false);
  const std::vector<Limb*> scratch = blocks.take(workspace, ElementBlock::words_for(a, out));
  if (workspace.measures()) return;
  blocks.run([&](std::size_t, std::size_t limb, std::size_t first, std::size_t slot) {
    ElementBlock(kernels_, out, a, b, base.modulus(limb), limb, first, scratch[slot]).run();
  });
}

}  // namespace hemera::poly::cpu
