// The AVX-512 kernels that make up the table; the contracts are those of Kernels.
#pragma once

#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::avx512 {

void forward_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void inverse_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void forward_columns(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t first,
                     std::size_t count);
void forward_row(std::uint64_t* data, const LimbTables& tables, std::size_t row);
void inverse_row(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row);
void inverse_columns(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count);
void forward_transform_of_sum(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              const arith::ShoupFactor& factor, std::uint64_t shift,
                              const LimbTables& tables);

void add(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
         const arith::Modulus& q);
void subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const arith::Modulus& q);
void add_past_cache(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
                    const arith::Modulus& q);
void subtract_past_cache(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                         std::size_t count, const arith::Modulus& q);
void multiply_past_cache(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                         std::size_t count, const arith::Modulus& q);
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

void permute_groups(std::uint64_t* out, const std::uint64_t* in, const std::uint32_t* groups,
                    const std::uint64_t* lanes, std::size_t count);
bool place_groups(std::uint64_t* out, const std::int64_t* in, std::size_t stride, const std::uint32_t* groups,
                  const std::uint64_t* orders, std::size_t count, std::uint64_t bound);
void collect_groups(std::int64_t* out, std::size_t stride, const std::uint64_t* in,
                    const std::uint32_t* groups, const std::uint64_t* orders, std::size_t count,
                    std::uint64_t most, std::uint64_t q);

void inner_product(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                   std::size_t terms, std::size_t count, const arith::Modulus& q);
void inner_product_pair(std::uint64_t* out0, std::uint64_t* out1, const std::uint64_t* const* a,
                        const std::uint64_t* const* b0, const std::uint64_t* const* b1, std::size_t terms,
                        std::size_t count, const arith::Modulus& q);
void multiply_integers(std::uint64_t* const* out, const PackedRows& in, const std::int32_t* weights,
                       std::size_t rows, bool adds, const arith::Modulus& q);
void tensor_2x2(std::uint64_t* out0, std::uint64_t* out1, std::uint64_t* out2, const std::uint64_t* a0,
                const std::uint64_t* a1, const std::uint64_t* b0, const std::uint64_t* b1, std::size_t count,
                const arith::Modulus& q);

void scale_residues(std::uint64_t* y, const std::uint64_t* x, const arith::ShoupFactor& factor, bool center,
                    std::size_t count, const arith::Modulus& a);
bool quotient(std::uint64_t* v, const std::uint64_t* const* y, const std::uint64_t* r, const int* bits,
              std::size_t sources, std::size_t count);
void weighted_sum(std::uint64_t* out, const std::uint64_t* const* y, const std::uint64_t* weights,
                  std::size_t sources, std::uint64_t source_bound, const std::uint64_t* v,
                  std::uint64_t product, std::uint64_t shift, std::size_t count, const arith::Modulus& q);
bool rounded_fractions(std::uint64_t* low48, std::uint64_t* rest, const std::uint64_t* const* y,
                       const std::uint64_t* high, const std::uint64_t* low, std::size_t sources,
                       std::uint64_t source_bound, std::size_t count);
bool all_within(const std::int64_t* values, std::size_t count, std::uint64_t bound);
bool residues_within(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t bound);
bool one_outside(const std::uint64_t* words, std::uint64_t least, std::uint64_t most, std::size_t count);

}  // namespace hemera::poly::cpu::avx512
