// The transform between slots and coefficients: kernels in doubles, one pass or two.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hemera/poly/views.hpp"
#include "poly/embedding_arithmetic.hpp"

namespace hemera::poly::cuda {

using Complex = double2;

inline unsigned log2_exact(std::size_t n) { return static_cast<unsigned>(std::countr_zero(n)); }

/// Calls body(first, count) for as many polynomials as a grid has room for.
template <typename Body>
void for_each_batch(std::size_t batch, const Body& body) {
  constexpr std::size_t most = 65535;
  for (std::size_t first = 0; first < batch; first += most) {
    body(first, static_cast<unsigned>(std::min(most, batch - first)));
  }
}

/// Where the products of values and a scale go, to the nearest integers modulo 2^64: m_0, m_1, ..., [batch,
/// 2n]. No data: nowhere.
struct RoundedValues {
  std::uint64_t* data = nullptr;
  Scale scale;
};

/// Slots to n times the values, which stand as w_i = m_i + i m_(i + n), [batch, n], and the largest pattern
/// of each batch.
void slots_to_values(cudaStream_t stream, Complex* values, const SlotView& slots, const Complex* roots,
                     unsigned long long* largest, const RoundedValues& rounded);
/// The reverse, without the division by n. Destroys the values. `largest`, if it is not null: [batch], all 0,
/// gets the largest patterns of the values.
void values_to_slots(cudaStream_t stream, const SlotView& slots, Complex* values, const Complex* roots,
                     unsigned long long* largest);

}  // namespace hemera::poly::cuda
