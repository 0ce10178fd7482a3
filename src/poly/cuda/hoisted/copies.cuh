// Which rows the steps of hoisted products read, and the warp that asks for them.
#pragma once

#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/hoisted/layout.cuh"
#include "poly/cuda/stages.cuh"

namespace hemera::poly::cuda::hoisted {

/// A row to copy: its address, and in the bits that are 0 there its words (row_size >> log_run) and whether
/// nobody else will read it soon. 0: none.
struct Row {
  static constexpr std::uint64_t log_run_bits = 7, once_bit = 8;
  std::uint64_t bits = 0;

  __device__ __forceinline__ static Row of(const void* words, unsigned log_run, bool once) {
    return {reinterpret_cast<std::uint64_t>(words) | log_run | (once ? once_bit : 0)};
  }
  [[nodiscard]] __device__ __forceinline__ const void* address() const {
    return reinterpret_cast<const void*>(bits & ~(log_run_bits | once_bit));
  }
  [[nodiscard]] __device__ __forceinline__ unsigned bytes() const {
    return row_size * sizeof(std::uint64_t) >> (bits & log_run_bits);
  }
  [[nodiscard]] __device__ __forceinline__ bool is_read_once() const { return (bits & once_bit) != 0; }
};

/// The facts of a step that a block's threads need.
struct Step {
  std::uint32_t element;
  std::uint8_t digits;
  std::uint8_t addends;
  bool scaled;   // the addends
  bool is_last;  // of its term
};

template <unsigned outputs>
__device__ __forceinline__ unsigned addends_of(const Pass<outputs>& pass, const Term& term, unsigned limb) {
  return term.addend.data != nullptr && pass.first_limb + limb < term.addend_limbs ? term.addend_components
                                                                                   : 0U;
}

/// Digits of a term's step.
template <unsigned outputs>
__device__ __forceinline__ unsigned digits_of(const Pass<outputs>& pass, const Term& term,
                                              unsigned step_of_term) {
  if (term.digits.data == nullptr) return 0;
  const unsigned left = pass.digits - step_of_term * digits_at_once;
  return left < digits_at_once ? left : digits_at_once;
}

/// `batch`: of the block's first ciphertext.
template <class Stored, unsigned ciphertexts, unsigned outputs>
__device__ __forceinline__ Row row_of(const Pass<outputs>& pass, unsigned batch, unsigned row, unsigned limb,
                                      unsigned step, unsigned slot) {
  constexpr unsigned rows_of_digit = BlockShape<ciphertexts>::rows_of_digit;
  const unsigned k = step / pass.layout.steps_of_term, step_of_term = step % pass.layout.steps_of_term;
  const Term& term = pass.terms[k];
  const bool is_last = step_of_term == pass.layout.steps_of_term - 1;
  const bool once = gridDim.x == 1;
  if (slot >= pass.layout.first_factor) {
    const Factor& factor = pass.factors[k][slot - pass.layout.first_factor];
    if (!is_last || factor.values.data == nullptr || factor.log_run >= log_row_size) return {};
    return Row::of(factor.values.limb(batch, 0, limb) + (row * row_size >> factor.log_run), factor.log_run,
                   once);
  }
  const unsigned from = permuted(row * row_size, term.element, pass.log_degree) / row_size * row_size;
  const unsigned first_addend = rows_of_digit * digits_of(pass, term, step_of_term);
  if (slot < first_addend) {
    const unsigned d = step_of_term * digits_at_once + slot / rows_of_digit, c = slot % rows_of_digit;
    if (c >= 2) return Row::of(term.digits.limb(batch + c - 2, d, limb) + from, 0, false);
    const std::size_t word = term.key.word(pass.key_digits[d], c, pass.key_limbs[limb]) + from;
    return Row::of(Stored::row(term.key.data, word), 0, once);
  }
  const unsigned c = (slot - first_addend) / ciphertexts, other = (slot - first_addend) % ciphertexts;
  if (!is_last || c >= addends_of(pass, term, limb)) return {};
  return Row::of(term.addend.limb(batch + other, c, limb) + from, 0, false);
}

template <unsigned outputs>
__device__ __forceinline__ Step step_of(const Pass<outputs>& pass, unsigned limb, unsigned step) {
  const Term& term = pass.terms[step / pass.layout.steps_of_term];
  const unsigned step_of_term = step % pass.layout.steps_of_term;
  return {.element = term.element,
          .digits = static_cast<std::uint8_t>(digits_of(pass, term, step_of_term)),
          .addends = static_cast<std::uint8_t>(addends_of(pass, term, limb)),
          .scaled = term.scaled,
          .is_last = step_of_term == pass.layout.steps_of_term - 1};
}

/// Called by a warp: asks for the rows of all steps, ahead of their use as far as there are stages.
template <class Stored, unsigned ciphertexts>
__device__ __forceinline__ void ask_for_rows(const StageBarriers& barriers, const Layout& layout,
                                             const Row* rows, const Step* steps, std::uint64_t* stages) {
  using Shape = StageShape<Stored, ciphertexts>;
  // A lane for each slot: the digits' rows, two addends, eight factors.
  static_assert(Shape::rows_of_digit * digits_at_once + 2 * ciphertexts + 8 <= 32);
  const unsigned lane = threadIdx.x % 32;
  const auto request = [&](unsigned step, unsigned stage) {
    unsigned bytes = 0;
    if (lane < layout.slots) {
      const Row from = rows[step * layout.slots + lane];
      if (from.bits != 0) {
        const unsigned digits = Shape::even ? 0 : steps[step].digits;
        bytes = Shape::is_key(digits, lane) ? Stored::row_bytes : from.bytes();
        barriers.copy(stage, stages + stage * Shape::words(layout) + Shape::slot(layout, digits, lane),
                      from.address(), bytes, from.is_read_once());
      }
    }
    barriers.end_copies(stage, bytes);
  };
  for (unsigned step = 0; step < layout.stages; ++step) request(step, step);
  barriers.keep_step();
  StagePlace before;
  for (unsigned step = 1; step < layout.steps; ++step) {
    barriers.keep_step();
    if (step - 1 + layout.stages >= layout.steps) continue;
    barriers.wait_empty(before);
    request(step - 1 + layout.stages, before.stage);
    before.advance(layout.stages);
  }
}

}  // namespace hemera::poly::cuda::hoisted
