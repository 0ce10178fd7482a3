// Products of matrices: functions that launch their kernels.
#pragma once

#include <cstddef>

#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// Bytes of a matrix of integers as `multiply_matrix` reads it.
std::size_t packed_matrix_bytes(const IntegerMatrixView& w);

/// Backend::multiply_matrix by products of bytes on the tensor cores. `packed`: scratch of
/// packed_matrix_bytes. The products of up to `columns_per_sum` columns, a multiple of 32, are summed before
/// they are reduced: see columns_per_sum in schedule.hpp.
void multiply_matrix(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const IntegerMatrixView& w, std::byte* packed, std::size_t columns_per_sum,
                     const RnsBase& base);

/// Backend::multiply_elements.
void multiply_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                       const ConstPolyView& b, const RnsBase& base);

}  // namespace hemera::poly::cuda
