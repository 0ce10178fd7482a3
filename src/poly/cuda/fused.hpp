// Key-switching and division in few passes over memory: conversions run in the column pass of the next
// transform, and row passes end in what is done with the values.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/plan_tables.hpp"

namespace hemera::poly::cuda {

/// Rings whose columns take two rounds that fit the registers.
inline bool can_fuse(int log_rows) { return log_rows >= 5 && log_rows <= 8; }

/// Calls run(std::integral_constant<int, log_rows>) for such a ring.
template <typename Run>
void with_fused_rows(int log_rows, const Run& run) {
  switch (log_rows) {
    case 5:
      return run(std::integral_constant<int, 5>{});
    case 6:
      return run(std::integral_constant<int, 6>{});
    case 7:
      return run(std::integral_constant<int, 7>{});
    default:
      return run(std::integral_constant<int, 8>{});
  }
}

/// Most sources of a conversion by tensor cores: four a step.
inline constexpr unsigned max_fused_sources = 12;

/// Most digits whose rows a block of threads has in its shared memory.
inline constexpr unsigned max_fused_digits = 48;

/// Four targets that one block of threads converts to.
struct ColumnJob {
  struct Target {
    std::uint32_t ring_index;
    std::uint32_t limb;    // of the output
    std::uint32_t stored;  // 0: filled up to four
    std::uint32_t unused;
    std::uint64_t minus_shift;
    std::uint64_t minus_product;  // what a quotient counts
    std::uint64_t factor;         // of a single source, see reduce_word
  };
  std::uint32_t component;                  // of the output, added to the input's
  std::uint32_t source[max_fused_sources];  // limbs of the scaled residues; the last one fills up
  Target target[4];
};

/// Conversions from scaled residues to limbs, with the columns of their transform, for the arithmetic of the
/// targets.
struct ColumnTables {
  DeviceArray<ColumnJob> jobs;
  /// Bytes of the weights as the tensor cores take them: [job, step, column tile, 2, lane].
  DeviceArray<std::uint32_t> fragments;
  unsigned job_count = 0;
  bool has_quotient = false;
  unsigned quotient_limb = 0;  // of the scratch
  unsigned steps = 0;          // of four sources; 0: each target has one source, of weight 1
};

/// Limbs that are taken to scaled residues by an inverse transform.
struct ScaledTables {
  DeviceArray<std::uint64_t> roots;   // [limb]: two factors of the arithmetic, see inverse_columns
  DeviceArray<std::uint64_t> shifts;  // [limb]: (a - 1) / 2 where scaled residues are centred, else 0
};

/// Rows of scratch that follow the scaled residues: the quotient of an exact conversion, and BGV's
/// correction.
struct ExtraTables {
  DeviceArray<ConversionSource> sources;
  DeviceArray<std::uint64_t> weights;  // modulo t, [source]
  unsigned source_count = 0;
  bool quotient = false;
  bool correction = false;
  arith::Modulus plain;
  std::uint64_t minus_product = 0;  // modulo t
  std::uint64_t minus_shift = 0;
  std::uint64_t negative_inverse = 0;  // -D^-1 modulo t
};

struct FusedModUp {
  bool usable = false;
  ScaledTables scaled;
  ScaledTables scaled_product;  // of what scaled_inverse_transform makes of two factors
  // Made for the arithmetics of the level's base and of the special limbs; M64 gets 2^64 times the digits.
  ColumnTables base;
  ColumnTables special;
  std::vector<std::uint16_t> key_digits;  // [digit]
  DeviceArray<std::uint32_t> key_limbs;
  DeviceArray<std::uint32_t> own_digits;
};

struct FusedDivision {
  bool usable = false;
  ScaledTables scaled;
  ExtraTables extra;
  ColumnTables columns;
  unsigned scratch_limbs = 0;
};

/// Inverse transform of limbs, whose positions in `in` are `positions`, into scaled residues in paired order:
/// limbs 0, 1, ... of `out`. `between` is scratch of as many limbs. With a `factor` it is the products of the
/// values of both, which the tables then know of (2^-64 of the product in M64).
void scaled_inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                              const PolyView& between, const ConstPolyView& in, const ConstPolyView& factor,
                              const std::vector<std::uint32_t>& positions, const RnsBase& base,
                              const ScaledTables& scaled);

/// Adds the extra rows to `scratch`.
void extra_rows(const Launcher& launcher, const PolyView& scratch, const ExtraTables& tables);

/// The jobs of `tables` for `components` components of the scratch: lazy values between the passes of a
/// transform.
void convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                     const ConstPolyView& scratch, unsigned components, const ColumnTables& tables);

/// Rows of `delta`, which is lazy, and the end of the division: out = (x - delta) / D.
void finish_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& delta, const Division& plan);

/// What key switches start from: a polynomial and what is added to the result (no data: nothing), or two
/// ciphertexts, for whose tensor product the last component and the first two stand.
struct SwitchInput {
  ConstPolyView in = {};
  ConstPolyView addend = {};
  ConstPolyView left = {};
  ConstPolyView right = {};

  [[nodiscard]] bool is_product() const { return left.data != nullptr; }
};

/// One key, and where the result goes.
struct SwitchRows {
  PolyView out;
  ConstPolyView key;
  ConstPolyView delta = {};  // lazy, [batch, component, limb]
  std::uint64_t galois_element = 1;
};

/// Most keys of one launch.
inline constexpr unsigned keys_per_launch = 4;

/// Rows of the digits, and their inner products with the keys: limbs first ... first + out.shape.limbs - 1 of
/// the extended base. `digits` is lazy; the limbs that a digit has come from the input, which has the level's
/// base. Without `down` the sums are stored; else the switches are ended: with the rows of delta, out = (sum
/// - delta) / P + addend, and the automorphism of that.
void rows_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& digits,
                        const SwitchInput& input, std::span<const SwitchRows> switches,
                        const FusedModUp& tables, const RnsBase& extended, std::size_t first,
                        const Division* down);

}  // namespace hemera::poly::cuda
