// The transforms of each arithmetic: canonical in, canonical out, in place or not.
#pragma once

#include "poly/cpu/limb_tables.hpp"

namespace hemera::poly::cpu::avx512 {

/// q < 2^50.
void forward_transform52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void forward_transform_of_sum52(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                                const arith::ShoupFactor& factor, std::uint64_t shift,
                                const LimbTables& tables);
void forward_transform_of_sum64(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                                const arith::ShoupFactor& factor, std::uint64_t shift,
                                const LimbTables& tables);
void inverse_transform52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void forward_columns52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables,
                       std::size_t first, std::size_t count);
void forward_row52(std::uint64_t* data, const LimbTables& tables, std::size_t row);
void inverse_row52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row);
void inverse_columns52(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count);
/// q < 2^61.
void forward_transform64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void inverse_transform64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void forward_columns64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables,
                       std::size_t first, std::size_t count);
void forward_row64(std::uint64_t* data, const LimbTables& tables, std::size_t row);
void inverse_row64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row);
void inverse_columns64(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count);

}  // namespace hemera::poly::cpu::avx512
