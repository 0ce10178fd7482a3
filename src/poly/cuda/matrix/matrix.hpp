// Products of matrices: functions that launch their kernels.
#pragma once

#include <cstddef>
#include <span>

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

/// Whether the library has the kernels of warpgroups, which are of compute capability 9.0 alone.
bool has_warpgroups();

/// Bytes of a matrix as `multiply_matrix_by_warpgroups` reads it.
std::size_t matrix_bytes_of_warpgroups(const IntegerMatrixView& w);

/// Bytes of a batch's split words: all, or at most `most` if that holds those of 32 entries.
std::size_t split_bytes_of_warpgroups(const PolyShape& shape, std::size_t degree, std::size_t columns,
                                      const RnsBase& base, std::size_t most);

/// The same by warpgroups, where the card has them. `packed`: scratch of matrix_bytes_of_warpgroups; `split`:
/// of split_bytes_of_warpgroups. `columns_per_sum` is a multiple of 128.
void multiply_matrix_by_warpgroups(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, std::byte* packed, std::span<std::byte> split,
                                   std::size_t columns_per_sum, std::size_t multiprocessors,
                                   const RnsBase& base);

/// Bytes of a matrix as `multiply_matrix_by_remainders` reads it, modulo this many numbers.
std::size_t matrix_bytes_of_remainders(const IntegerMatrixView& w, unsigned divisors);

/// Bytes of a batch's remainders: all, or at most `most` if that holds those of 256 entries.
std::size_t scratch_bytes_of_remainders(const PolyShape& shape, std::size_t degree,
                                        const IntegerMatrixView& w, unsigned divisors, std::size_t most);

/// The same by warpgroups, modulo this many numbers, MatrixSchedule::divisors, in sums of all columns.
/// `packed`: scratch of matrix_bytes_of_remainders; `scratch`: of scratch_bytes_of_remainders.
void multiply_matrix_by_remainders(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, unsigned divisors, std::byte* packed,
                                   std::span<std::byte> scratch, std::size_t multiprocessors,
                                   const RnsBase& base);

/// Backend::multiply_add_vector.
void multiply_add_vector(const Launcher& launcher, const PolyView& out, const IntegerMatrixView& w,
                         const ConstPolyView& in, const RnsBase& base);

/// Whether multiply_shared_elements takes these, and fills its blocks by half.
bool shares_elements(const PolyView& out, const ConstPolyView& a, const RnsBase& base);
/// Backend::multiply_elements where `a` is stored by fewer entries, over primes below 2^50.
void multiply_shared_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base);
/// Backend::multiply_elements.
void multiply_elements(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                       const ConstPolyView& b, const RnsBase& base);

}  // namespace hemera::poly::cuda
