// The transforms of each arithmetic: canonical in, canonical out, in place or not.
#pragma once

#include "poly/cpu/limb_tables.hpp"

namespace hemera::poly::cpu::avx512 {

/// q < 2^50.
void forward_transform52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void inverse_transform52(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
/// q < 2^61.
void forward_transform64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);
void inverse_transform64(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables);

}  // namespace hemera::poly::cpu::avx512
