// Launches of key-switching.
#pragma once

#include <cstdint>
#include <span>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/plan_tables.hpp"

namespace hemera::poly::cuda {

/// Copies the limbs of a level's base to the digits that they belong to: out [batch, digit, limb of the
/// extended base].
void copy_own_limbs(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                    const ModUpTables& tables);

/// out[c] = sum over digits of digits[d] key[key digit of d][c].
void key_inner_product(const Launcher& launcher, const PolyView& out, const ConstPolyView& digits,
                       const ConstPolyView& key, const RnsBase& extended, const ModUpTables& tables);

/// Backend::hoisted_products, any number of terms and outputs; this many terms go together.
inline constexpr unsigned hoisted_terms_per_launch = 32;
void hoisted_products(const Launcher& launcher, Arithmetic arithmetic, std::span<const PolyView> out,
                      std::span<const HoistedTerm> terms, const ModUp& plan, const ModUpTables& tables,
                      std::span<const std::uint64_t> special);

}  // namespace hemera::poly::cuda
