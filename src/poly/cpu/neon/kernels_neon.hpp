// The Advanced SIMD kernels that make up the table; the contracts are those of Kernels. Products modulo q of
// 50 or more bits are left to the scalar kernels: vectors lack the 64-bit multiply (docs/decisions/neon.md).
#pragma once

#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::neon {

void forward_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void inverse_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void forward_columns(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t first,
                     std::size_t count);
void forward_row(std::uint64_t* data, const LimbTables& tables, std::size_t row);
void inverse_row(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row);
void inverse_columns(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count);

void add(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
         const arith::Modulus& q);
void subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const arith::Modulus& q);
void negate(std::uint64_t* out, const std::uint64_t* a, std::size_t count, const arith::Modulus& q);
void multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const arith::Modulus& q);
void multiply_add(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                  const std::uint64_t* addend, std::size_t count, const arith::Modulus& q);
void multiply_scalar(std::uint64_t* out, const std::uint64_t* a, const arith::ShoupFactor& scalar,
                     std::size_t count, const arith::Modulus& q);
void add_scalar(std::uint64_t* out, const std::uint64_t* a, std::uint64_t scalar, std::size_t count,
                const arith::Modulus& q);
void subtract_multiply_scalar(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              const arith::ShoupFactor& scalar, std::size_t count, const arith::Modulus& q);

void inner_product(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                   std::size_t terms, std::size_t count, const arith::Modulus& q);
void multiply_integers(std::uint64_t* const* out, const PackedRows& in, const std::int32_t* weights,
                       std::size_t rows, bool adds, const arith::Modulus& q);
void tensor_2x2(std::uint64_t* out0, std::uint64_t* out1, std::uint64_t* out2, const std::uint64_t* a0,
                const std::uint64_t* a1, const std::uint64_t* b0, const std::uint64_t* b1, std::size_t count,
                const arith::Modulus& q);

void scale_residues(std::uint64_t* y, const std::uint64_t* x, const arith::ShoupFactor& factor, bool center,
                    std::size_t count, const arith::Modulus& a);
void weighted_sum(std::uint64_t* out, const std::uint64_t* const* y, const std::uint64_t* weights,
                  std::size_t sources, std::uint64_t source_bound, const std::uint64_t* v,
                  std::uint64_t product, std::uint64_t shift, std::size_t count, const arith::Modulus& q);
bool residues_within(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t bound);

}  // namespace hemera::poly::cpu::neon
