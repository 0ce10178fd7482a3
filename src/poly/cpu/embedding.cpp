#include "poly/cpu/embedding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <vector>

#include "poly/cpu/embedding_centering.hpp"
#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_scalar.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/embedding_arithmetic.hpp"
#include "poly/embedding_checks.hpp"
#include "poly/embedding_tables.hpp"

namespace hemera::poly::cpu {
namespace {

using runtime::ThreadPool;
using runtime::Workspace;

constexpr std::size_t wide_block = tuning::wide_embedding_block;
constexpr int max_narrow_bits = digit_bits;
// The digits of the largest double times the largest scale.
constexpr std::size_t max_digits = (1024 + 1024 + 1) / digit_bits + 1;

std::size_t log2_exact(std::size_t n) { return static_cast<std::size_t>(std::countr_zero(n)); }

// Whether the error of the rounded product value * scale is a double for every value that matters.
bool moderate(const Scale& scale) { return scale.value > 0x1p-400 && scale.value < 0x1p400; }

// The roots of the last levels, in the order that the leaf kernels read them: for each tile the roots of its
// tree, level by level, each a vector of real parts and one of imaginary parts.
std::vector<double> leaf_roots(std::size_t n, int log_width, const std::vector<std::complex<double>>& roots) {
  const std::size_t width = std::size_t{1} << log_width;
  std::vector<double> leaf;
  if (n < width * width) return leaf;
  const std::size_t tiles = n / (width * width);
  leaf.reserve(tiles * 2 * width * (width - 1));
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    for (int level = 0; level < log_width; ++level) {
      for (std::size_t block = 0; block < (std::size_t{1} << level); ++block) {
        const auto root = [&](std::size_t lane) {
          const std::size_t row = arith::reverse_bits(lane, log_width);
          return roots[((n / width + row * tiles + tile) << level) + block];
        };
        for (std::size_t lane = 0; lane < width; ++lane) leaf.push_back(root(lane).real());
        for (std::size_t lane = 0; lane < width; ++lane) leaf.push_back(root(lane).imag());
      }
    }
  }
  return leaf;
}

// An interval of the coefficients of X^0, X^gap, X^(2 gap), ...: those whose powers lie in the range of a
// task.
struct Range {
  std::size_t begin;  // power of X
  std::size_t end;
  std::size_t first;  // index of a coefficient
  std::size_t count;
};

Range task_range(std::size_t task, std::size_t degree, std::size_t gap) {
  const std::size_t size = std::min(tuning::embedding_range, degree);
  const std::size_t begin = task * size;
  const std::size_t first = (begin + gap - 1) / gap;
  return {begin, begin + size, first, (begin + size + gap - 1) / gap - first};
}

std::size_t tasks_per_polynomial(std::size_t degree) {
  return std::max<std::size_t>(1, degree / tuning::embedding_range);
}

// out[i gap] = values[i] within a range, zero in between.
void scatter(std::uint64_t* out, std::size_t gap, std::size_t first, const std::uint64_t* values,
             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[(first + i) * gap] = values[i];
}

// Coefficients times scale of any size: digits of 62 bits with the coefficient's sign, and Horner's rule
// modulo each limb from the highest of `digits` down. Constant-time but for the number of digits.
void embed_wide(const PolyView& out, std::size_t batch, const Range& range, std::size_t gap,
                const double* values, const Scale& scale, std::size_t digits, const RnsBase& base,
                const EmbeddingKernels& kernels, const Kernels& arithmetic, std::uint64_t* scratch) {
  auto* const digit = reinterpret_cast<std::int64_t*>(scratch);  // [digit, wide_block]
  std::uint64_t* const residues = scratch + max_digits * wide_block;
  std::uint64_t* const term = residues + wide_block;
  for (std::size_t done = 0; done < range.count; done += wide_block) {
    const std::size_t count = std::min(wide_block, range.count - done);
    for (std::size_t i = 0; i < wide_block; ++i) {
      const ScaledInteger value = scaled_integer(i < count ? values[done + i] : 0.0, scale);
      for (std::size_t d = 0; d < digits; ++d) digit[d * wide_block + i] = digit_of(value, d);
    }
    for (std::size_t limb = 0; limb < base.size(); ++limb) {
      const arith::Modulus& q = base.modulus(limb);
      const arith::ShoupFactor radix(q.reduce(std::uint64_t{1} << digit_bits), q);
      kernels.reduce(residues, digit + (digits - 1) * wide_block, wide_block, digit_bits, q);
      for (std::size_t d = digits - 1; d-- > 0;) {
        arithmetic.multiply_scalar(residues, residues, radix, wide_block, q);
        kernels.reduce(term, digit + d * wide_block, wide_block, digit_bits, q);
        arithmetic.add(residues, residues, term, wide_block, q);
      }
      scatter(out.limb<std::uint64_t>(batch, 0, limb), gap, range.first + done, residues, count);
    }
  }
}

void embed_narrow(const PolyView& out, std::size_t batch, const Range& range, std::size_t gap,
                  const double* values, const Scale& scale, int bits, const RnsBase& base,
                  const EmbeddingKernels& kernels, std::uint64_t* scratch) {
  auto* const integers = reinterpret_cast<std::int64_t*>(scratch);
  std::uint64_t* const residues = scratch + tuning::embedding_chunk;
  for (std::size_t done = 0; done < range.count; done += tuning::embedding_chunk) {
    const std::size_t count = std::min(tuning::embedding_chunk, range.count - done);
    kernels.round_scaled(integers, values + done, count, scale);
    for (std::size_t limb = 0; limb < base.size(); ++limb) {
      auto* const target = out.limb<std::uint64_t>(batch, 0, limb);
      if (gap == 1) {
        kernels.reduce(target + range.first + done, integers, count, bits, base.modulus(limb));
      } else {
        kernels.reduce(residues, integers, count, bits, base.modulus(limb));
        scatter(target, gap, range.first + done, residues, count);
      }
    }
  }
}

constexpr std::size_t embed_scratch_words =
    std::max(2 * tuning::embedding_chunk, (max_digits + 2) * wide_block);

std::size_t unembed_scratch_words(std::size_t limbs, int word_bits) {
  return center_scratch_words(limbs, max_centering_words(limbs, word_bits));
}

template <typename T>
T* take(Workspace& workspace, std::size_t count) {
  return reinterpret_cast<T*>(workspace.take(count * sizeof(T)));
}

const double* doubles(const std::vector<std::complex<double>>& values) {
  return reinterpret_cast<const double*>(values.data());
}

}  // namespace

struct Embedding::State {
  std::size_t degree;
  const EmbeddingKernels* kernels;
  const Kernels* arithmetic;
  std::vector<std::complex<double>> roots;
  std::vector<std::vector<double>> leaves;  // [log2 n]

  // The kernels for transforms of n values: those of the instruction set unless its squares do not fit.
  [[nodiscard]] const EmbeddingKernels& transforms(std::size_t n) const {
    return n >> (2 * kernels->log_width) != 0 ? *kernels : single_embedding_kernels();
  }
  [[nodiscard]] const double* leaf(std::size_t n) const { return leaves[log2_exact(n)].data(); }

  void forward(ThreadPool& pool, const SlotView& slots, double* coefficients) const;
  void inverse(ThreadPool& pool, const SlotView& slots, double* coefficients) const;
};

// One transform in three steps: the top levels by columns, then the blocks below, then the leaves by tiles.
// On one thread, or for few values, the steps of one transform run in one task; the operations are the same.
void Embedding::State::forward(ThreadPool& pool, const SlotView& slots, double* coefficients) const {
  const std::size_t n = slots.slots;
  const EmbeddingKernels& k = transforms(n);
  const int broadcast_levels = static_cast<int>(log2_exact(n)) - k.log_width;
  const std::size_t tiles = n >> (2 * k.log_width);
  const std::size_t words = slots.batch * n * tuning::slot_step_weight;
  const double* const root = doubles(roots);
  const auto real = [&](std::size_t b) { return coefficients + 2 * n * b; };
  const auto out = [&](std::size_t b) { return reinterpret_cast<double*>(slots.data + b * n); };
  if (n < tuning::least_divided_slots) {
    parallel_for(pool, slots.batch, words, [&](std::size_t b) {
      k.forward_block(real(b), real(b) + n, n, broadcast_levels, root, 1);
      k.forward_leaf(out(b), real(b), real(b) + n, n, 0, tiles, leaf(n));
    });
    return;
  }
  const std::size_t parts = std::size_t{1} << k.top_levels;
  const std::size_t length = n / parts;
  const auto top = [&](std::size_t b, std::size_t part) {
    k.forward_top(real(b), real(b) + n, n, length / parts * part, length / parts * (part + 1), root);
  };
  const auto block = [&](std::size_t b, std::size_t part) {
    double* const begin = real(b) + part * length;
    k.forward_block(begin, begin + n, length, broadcast_levels - k.top_levels, root, parts + part);
  };
  const auto leaves_of = [&](std::size_t b, std::size_t part) {
    k.forward_leaf(out(b), real(b), real(b) + n, n, tiles / parts * part, tiles / parts * (part + 1),
                   leaf(n));
  };
  if (slots.batch >= static_cast<std::size_t>(pool.threads())) {
    parallel_for(pool, slots.batch, words, [&](std::size_t b) {
      for (std::size_t part = 0; part < parts; ++part) top(b, part);
      for (std::size_t part = 0; part < parts; ++part) block(b, part);
      for (std::size_t part = 0; part < parts; ++part) leaves_of(b, part);
    });
    return;
  }
  const std::size_t tasks = slots.batch * parts;
  parallel_for(pool, tasks, words, [&](std::size_t i) { top(i / parts, i % parts); });
  parallel_for(pool, tasks, words, [&](std::size_t i) { block(i / parts, i % parts); });
  parallel_for(pool, tasks, words, [&](std::size_t i) { leaves_of(i / parts, i % parts); });
}

void Embedding::State::inverse(ThreadPool& pool, const SlotView& slots, double* coefficients) const {
  const std::size_t n = slots.slots;
  const EmbeddingKernels& k = transforms(n);
  const int broadcast_levels = static_cast<int>(log2_exact(n)) - k.log_width;
  const std::size_t tiles = n >> (2 * k.log_width);
  const std::size_t words = slots.batch * n * tuning::slot_step_weight;
  const double* const root = doubles(roots);
  const auto real = [&](std::size_t b) { return coefficients + 2 * n * b; };
  const auto in = [&](std::size_t b) { return reinterpret_cast<const double*>(slots.data + b * n); };
  if (n < tuning::least_divided_slots) {
    parallel_for(pool, slots.batch, words, [&](std::size_t b) {
      k.inverse_leaf(real(b), real(b) + n, in(b), n, 0, tiles, leaf(n));
      k.inverse_block(real(b), real(b) + n, n, broadcast_levels, root, 1);
    });
    return;
  }
  const std::size_t parts = std::size_t{1} << k.top_levels;
  const std::size_t length = n / parts;
  const auto leaves_of = [&](std::size_t b, std::size_t part) {
    k.inverse_leaf(real(b), real(b) + n, in(b), n, tiles / parts * part, tiles / parts * (part + 1), leaf(n));
  };
  const auto block = [&](std::size_t b, std::size_t part) {
    double* const begin = real(b) + part * length;
    k.inverse_block(begin, begin + n, length, broadcast_levels - k.top_levels, root, parts + part);
  };
  const auto top = [&](std::size_t b, std::size_t part) {
    k.inverse_top(real(b), real(b) + n, n, length / parts * part, length / parts * (part + 1), root);
  };
  if (slots.batch >= static_cast<std::size_t>(pool.threads())) {
    parallel_for(pool, slots.batch, words, [&](std::size_t b) {
      for (std::size_t part = 0; part < parts; ++part) leaves_of(b, part);
      for (std::size_t part = 0; part < parts; ++part) block(b, part);
      for (std::size_t part = 0; part < parts; ++part) top(b, part);
    });
    return;
  }
  const std::size_t tasks = slots.batch * parts;
  parallel_for(pool, tasks, words, [&](std::size_t i) { leaves_of(i / parts, i % parts); });
  parallel_for(pool, tasks, words, [&](std::size_t i) { block(i / parts, i % parts); });
  parallel_for(pool, tasks, words, [&](std::size_t i) { top(i / parts, i % parts); });
}

Embedding::Embedding(std::size_t degree, const char* isa) {
  check_embedding_degree(degree);
  auto state = std::make_unique<State>();
  state->degree = degree;
  state->kernels = &select_embedding_kernels(isa);
  state->arithmetic = &select_kernels(isa);
  state->roots = embedding_roots(degree);
  for (std::size_t n = 1; n <= degree / 2; n *= 2) {
    state->leaves.push_back(leaf_roots(n, state->kernels->log_width, state->roots));
  }
  state_ = std::move(state);
}

Embedding::~Embedding() = default;

void Embedding::embed(ThreadPool& pool, const PolyView& out, const SlotView& slots, double scale,
                      const RnsBase& base, Workspace& workspace) const {
  const std::size_t degree = state_->degree;
  const std::size_t n = slots.slots;
  const std::size_t gap = degree / (2 * n);
  const std::size_t tasks = tasks_per_polynomial(degree);
  const EmbeddingKernels& kernels = *state_->kernels;
  const Workspace::Frame frame(workspace);
  auto* const coefficients = take<double>(workspace, 2 * n * slots.batch);
  auto* const bits = take<int>(workspace, slots.batch);
  auto* const scratch = take<std::uint64_t>(workspace, out.shape.batch * tasks * embed_scratch_words);
  if (workspace.measures()) return;

  state_->inverse(pool, slots, coefficients);
  const Scale scale_over_n = divided_scale(scale, n);
  parallel_for(pool, slots.batch, 2 * n * slots.batch, [&](std::size_t b) {
    bits[b] = magnitude_bits(kernels.largest(coefficients + 2 * n * b, 2 * n), scale_over_n);
  });
  const std::size_t words =
      out.shape.batch * n * (tuning::slot_step_weight + tuning::slot_limb_weight * base.size());
  parallel_for(pool, out.shape.batch * tasks, words, [&](std::size_t i) {
    const std::size_t b = i / tasks;
    const std::size_t source = slots.batch == 1 ? 0 : b;
    const Range range = task_range(i % tasks, degree, gap);
    if (gap > 1) {
      for (std::size_t limb = 0; limb < base.size(); ++limb) {
        std::fill_n(out.limb<std::uint64_t>(b, 0, limb) + range.begin, range.end - range.begin, 0);
      }
    }
    const double* const values = coefficients + 2 * n * source + range.first;
    std::uint64_t* const own = scratch + i * embed_scratch_words;
    if (bits[source] <= max_narrow_bits && moderate(scale_over_n)) {
      embed_narrow(out, b, range, gap, values, scale_over_n, bits[source], base, kernels, own);
    } else {
      const auto digits = static_cast<std::size_t>(bits[source]) / digit_bits + 1;
      embed_wide(out, b, range, gap, values, scale_over_n, digits, base, kernels, *state_->arithmetic, own);
    }
  });
}

void Embedding::unembed(ThreadPool& pool, const SlotView& slots, const ConstPolyView& in, double scale,
                        const RnsBase& base, Workspace& workspace, double* largest) const {
  const std::size_t degree = state_->degree;
  const std::size_t n = slots.slots;
  const std::size_t gap = degree / (2 * n);
  const std::size_t tasks = tasks_per_polynomial(degree);
  const std::size_t limbs = base.size();
  const EmbeddingKernels& kernels = *state_->kernels;
  const std::size_t scratch_words = unembed_scratch_words(limbs, kernels.word_bits);
  const Workspace::Frame frame(workspace);
  auto* const coefficients = take<double>(workspace, 2 * n * slots.batch);
  auto* const constants = take<std::uint64_t>(workspace, centering_memory_words(limbs, kernels.word_bits));
  auto* const scratch = take<std::uint64_t>(workspace, slots.batch * tasks * scratch_words);
  auto* const pointers = take<const std::uint64_t*>(workspace, slots.batch * tasks * limbs);
  auto* const patterns = take<std::uint64_t>(workspace, slots.batch * tasks);
  if (workspace.measures()) return;
  const Centering centering = make_centering(base, scale, kernels.word_bits, constants);

  const std::size_t words = slots.batch * n * (tuning::slot_step_weight + tuning::slot_limb_weight * limbs);
  parallel_for(pool, slots.batch * tasks, words, [&](std::size_t i) {
    const std::size_t b = i / tasks;
    const Range range = task_range(i % tasks, degree, gap);
    patterns[i] = 0;
    if (range.count == 0) return;
    const std::uint64_t** const source = pointers + i * limbs;
    for (std::size_t limb = 0; limb < limbs; ++limb) {
      source[limb] = in.limb<std::uint64_t>(b, 0, limb) + range.first * gap;
    }
    double* const values = coefficients + 2 * n * b + range.first;
    kernels.center(values, source, gap, range.count, centering, scratch + i * scratch_words);
    if (largest != nullptr) patterns[i] = kernels.largest(values, range.count);
  });
  for (std::size_t b = 0; largest != nullptr && b < slots.batch; ++b) {
    largest[b] = std::bit_cast<double>(*std::max_element(patterns + b * tasks, patterns + (b + 1) * tasks));
  }
  state_->forward(pool, slots, coefficients);
}

}  // namespace hemera::poly::cpu
