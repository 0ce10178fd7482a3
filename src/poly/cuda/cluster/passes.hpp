// Key-switching and division of small rings, whose kernels are each a whole transform in a cluster of thread
// blocks (cluster.cuh): conversions, rows, products and divisions are made on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "poly/cuda/fused/passes.hpp"

namespace hemera::poly::cuda {

/// Rings of N = 2^10 to 2^13.
inline bool can_cluster(int log_rows) { return log_rows >= 2 && log_rows <= 5; }

/// Most sources of a conversion: their products are summed in 128 bits.
inline constexpr unsigned max_cluster_sources = 8;

/// One conversion to one limb. Constants have the limb's end factor (M64: 2^64, see M64::lower).
struct alignas(16) LimbConversion {
  struct Source {
    std::uint64_t weight;
    std::uint64_t quotient_factor;
    std::uint64_t plain_weight;  // modulo t, of BGV's correction
    std::uint64_t modulus;
    std::uint32_t quotient_shift;
    std::uint32_t limb;  // of the scaled residues
    std::uint64_t unused;
  };
  Source source[max_cluster_sources];
  std::uint64_t minus_shift;
  std::uint64_t minus_product;      // added once for each unit of the quotient
  std::uint64_t correction_weight;  // added once for each unit of the correction
  std::uint64_t factor;             // of a single source, see reduce_word
  std::uint32_t sources;            // 0: the limb is the digit's own
  std::uint32_t single;  // one source of weight 1, shifted before it is multiplied, and no correction
  std::uint32_t has_quotient;
  std::uint32_t has_correction;
};

struct ClusterModUp {
  bool usable = false;
  ScaledTables scaled;
  ScaledTables scaled_product;              // of products
  DeviceArray<LimbConversion> conversions;  // [limb of the extended base, digit]
  std::vector<std::uint16_t> key_digits;    // [digit]
  DeviceArray<std::uint32_t> key_limbs;     // [limb of the extended base]
  DeviceArray<std::uint32_t> own_digits;    // the same
};

struct ClusterDivision {
  bool usable = false;
  ScaledTables scaled;
  DeviceArray<LimbConversion> conversions;  // [limb of the target]
  Correction correction;
};

/// Scaled residues, coefficient by coefficient in order: limb i of `out` is limb limbs[i].position of `in`,
/// times that of `factor`, if it has data.
void cluster_scaled(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& in, const ConstPolyView& factor, std::span<const ScaledLimb> limbs,
                    const ScaledTables& scaled);

/// The end of a division from scaled residues of the dropped limbs: out = (in - delta) / D.
void cluster_divide(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& in, const ConstPolyView& remainders, const Division& plan,
                    const ClusterDivision& tables);

/// Inner products of groups of digits with keys, over limbs first ... of the extended base, taken to scaled
/// residues: the `out` of switch i is [batch, 2, limb], and the other groups' follow `part_stride` words
/// apart.
void cluster_remainders(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& residues,
                        std::span<const SwitchRows> switches, unsigned parts, std::size_t part_stride,
                        const ClusterModUp& up, const RnsBase& extended, std::size_t first,
                        const ScaledTables& scaled);
/// How many groups there should be, by parts_of_remainders.
unsigned cluster_parts(const Launcher& launcher, std::size_t digits, std::size_t polynomials);

/// The remainders of a division in this many parts.
struct ClusterRemainders {
  const Division* plan;
  const ClusterDivision* tables;
  unsigned parts;
  std::size_t part_stride;
};

/// Inner products of all digits with keys, over limbs first ... first + out.shape.limbs - 1, in evaluation
/// form: stored (no `down`), or divided with the remainders, which are `delta` of each switch, and added to,
/// and the automorphism of that. Begins before the kernel before has ended: all that it reads but the
/// remainders was there before that.
void cluster_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& residues,
                           const SwitchInput& input, std::span<const SwitchRows> switches,
                           const ClusterModUp& up, const RnsBase& extended, std::size_t first,
                           const ClusterRemainders* down);

/// Rings whose operands of BFV's product clusters take: those that passes take as well.
inline constexpr int cluster_operands_log_rows = 5;

/// Values of both operands to scaled residues in paired order, as scaled_rows and scaled_columns: limbs from
/// the middle on are those of `second`.
void cluster_operands(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                      const ConstPolyView& first, const ConstPolyView& second,
                      std::span<const ScaledLimb> limbs, const ScaledTables& scaled);

/// Rings of up to 2^(8 + this) coefficients whose integers clusters lift.
inline constexpr int cluster_lift_log_rows = 6;
inline bool can_lift_in_cluster(int log_rows) { return log_rows >= 2 && log_rows <= cluster_lift_log_rows; }

/// The centred representatives of factor * in modulo t, times scalars[limb] (none: 1), in evaluation form,
/// plus `addend` (no data: nothing), which may be `out`: [batch, 1, limb, N]; `in` has one limb.
void cluster_lift(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& in, const arith::Modulus& plain, std::uint64_t factor,
                  std::span<const std::uint64_t> scalars, const ConstPolyView& addend, const RnsBase& base);

/// Shared memory of a block of cluster_remainders and cluster_inner_product, for this many digits.
std::size_t cluster_switch_bytes(int log_rows, std::size_t digits, const LaunchSizes& sizes);

}  // namespace hemera::poly::cuda
