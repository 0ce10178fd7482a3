// Which steps the operations of the CUDA backend take, as data: pure functions of an operation's shape, of
// its plans' tables, and of the card. Runs follow them. Host C++: no header of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "poly/cuda/forcing.hpp"

namespace hemera::poly::cuda {

/// Most keys of one launch.
inline constexpr unsigned keys_per_launch = 4;
/// Most pairs of one launch, and most batches of them.
inline constexpr std::size_t pairs_per_launch = 16;
inline constexpr std::size_t pair_batches_per_launch = 1 << 14;
/// Most parts of scaled residues: digits that clusters have in groups, each its part of the sums.
inline constexpr unsigned max_parts = 4;
/// Most thread blocks of a cluster on every device that has clusters.
inline constexpr std::size_t max_cluster_limbs = 8;
/// Shared memory of a block that has rows of digits: of each of them, or of each delta, and of what it may
/// have besides.
inline constexpr std::size_t row_group_bytes = 4096;
inline constexpr std::size_t row_factor_bytes = 4352;

/// Shared memory of a block that converts columns of the largest ring, N = 2^17, in Shoup's products.
inline constexpr std::size_t conversion_bytes_of_largest_ring = 166016;
/// Most sources of a conversion whose sums of products of halves are exact (fused/half_products.cuh).
inline constexpr std::size_t max_half_sources = 14;
/// The largest ring (log N) whose inverse columns, conversions and columns are one kernel.
inline constexpr int largest_inverse_conversion = 16;

// --- Launches, whatever they are part of. ---

/// What they go by in a ring.
struct LaunchSizes {
  int carve_out = -1;             // of passes, see LaunchShape
  int conversion_carve_out = -1;  // of conversions with columns
  std::size_t computed_quotient_sources = 0;
  std::size_t few_rows = 0;
  std::size_t least_blocks_of_four = 0;
  std::size_t shared_bytes = 0;  // that a block may have
  std::size_t hoisted_shared_bytes = 0;
  std::size_t cluster_blocks = 0;
  std::size_t cluster_blocks_of_remainders = 0;
  std::size_t most_cluster_results = 1;
  std::size_t most_cluster_key_bytes = 0;
  std::size_t half_sources = 0;  // most of a conversion by products of halves
};
LaunchSizes launch_sizes(unsigned log_degree, const Choices& choices);

/// Whether blocks that convert columns have room: cards of 99 KB a block lack it at N = 2^17.
bool conversions_have_room(unsigned log_degree, const LaunchSizes& sizes);

/// What a base conversion with columns multiplies on the tensor cores: bytes of residues, as integers, or
/// halves of residues below 2^50, as doubles.
enum class Products : std::uint8_t { bytes, halves };
struct ConversionShape {
  Arithmetic arithmetic = Arithmetic::u64;  // of the targets
  std::size_t sources = 0;
  int source_bits = 64;            // of the largest source
  bool computes_quotient = false;  // from the residues
};
Products products_of(const ConversionShape& shape, const LaunchSizes& sizes);

/// How many results a cluster of this many blocks takes, one or 2, 4, ...: few while there are
/// multiprocessors left. `clusters`: how many there are for each result.
unsigned results_of_cluster(unsigned results, std::size_t clusters, unsigned blocks,
                            const LaunchSizes& sizes);

/// The groups of digits in which clusters make the sums over the special limbs, of this many polynomials.
unsigned parts_of_remainders(std::size_t digits, std::size_t polynomials, unsigned blocks,
                             const LaunchSizes& sizes);

/// How many steps, of up to four digits and two addends, a launch of hoisted products for this many outputs
/// takes: their lists stand in shared memory with two stages of rows.
std::size_t hoisted_steps(std::size_t outputs, const LaunchSizes& sizes);

// --- ModUp, and sums of its digits' products with a key. ---

/// A ModUp with its inner product, and what its plan's tables have.
struct SumShape {
  std::size_t batch = 1;
  std::size_t extended = 0;  // limbs of the extended base
  std::size_t digits = 0;
  bool packed_key = false;
  bool passes = false;            // the tables serve two passes
  bool clusters = false;          // the same of clusters
  std::size_t cluster_bytes = 0;  // shared memory of their blocks
};
Way way_of(const SumShape& shape, const Choices& choices);

// --- Divisions. ---

/// The steps between the limbs that a division drops and its remainders.
struct RemainderShape {
  unsigned log_degree = 0;
  std::size_t dropped = 0;
  bool single = false;          // each remainder is of one limb, in the arithmetic of both
  bool quotient_alone = false;  // rows that follow the scaled residues are the quotient, and no correction
};
struct RemainderSchedule {
  bool joins_columns = false;        // one kernel: inverse columns, conversion, columns
  bool quotient_in_cluster = false;  // the quotient comes with the scaled residues
  bool operator==(const RemainderSchedule&) const = default;
};
RemainderSchedule schedule_of(const RemainderShape& shape, const Choices& choices);

struct DivisionShape {
  std::size_t limbs = 0;  // of a batch: of one component
  bool passes = false;    // the tables serve two passes
  bool clusters = false;
};
Way way_of(const DivisionShape& shape, const Choices& choices);

// --- Key switches. ---

struct SwitchShape {
  SumShape sum;
  unsigned log_degree = 0;
  std::size_t keys = 1;
  std::size_t special = 0;     // limbs
  std::size_t of_dropped = 0;  // limbs of the level's base that the division drops as well
  bool lowers = false;         // the division ends in another base than the level's
  /// Where it lowers, sums and remainders of a limb meet in one arithmetic, and special limbs are not kept.
  bool meets = true;
  Arithmetic of_base = Arithmetic::u64;
  Arithmetic of_special = Arithmetic::u64;
  bool division_passes = false;    // the division's tables serve two passes
  bool division_clusters = false;  // the same of clusters
  // Where it runs in passes:
  std::size_t base_jobs = 0;    // of the digits' conversion to the base
  std::size_t joined_jobs = 0;  // of those to base and special limbs in one; 0: they can not be joined
  bool joins_columns = false;   // these begin with the columns of the inverse transform
};
struct SwitchSchedule {
  Way way = Way::unfused;
  // In passes:
  bool joins = false;             // the digits' conversions to base and special limbs are one launch
  bool converts_beside = false;   // that to the base begins beside that to the special limbs, not after
  bool inverts = false;           // special limbs' sums go through the rows of their inverse transform
  std::size_t keys_together = 1;  // of one launch
  bool operator==(const SwitchSchedule&) const = default;
};
Way way_of(const SwitchShape& shape, const Choices& choices);
SwitchSchedule schedule_of(const SwitchShape& shape, const Choices& choices);

// --- Products of BFV, and messages. ---

struct ProductShape {
  std::size_t batch = 1;
  std::size_t limbs = 0;          // of Q
  bool passes = false;            // the tables serve two passes
  bool cluster_operands = false;  // the ring is one whose operands clusters take
};
struct ProductSchedule {
  Way way = Way::unfused;
  bool operands_in_clusters = false;
  bool operator==(const ProductSchedule&) const = default;
};
ProductSchedule schedule_of(const ProductShape& shape, const Choices& choices);

/// How many pairs of operands, each of `batch` and of this many bytes, are lifted at a time.
std::size_t pairs_together(std::size_t pairs, std::size_t batch, std::size_t bytes, const Choices& choices);

/// Whether clusters lift integers modulo t, of `inputs` polynomials into this many limbs of a batch; `open`:
/// the ring is one that they take.
bool lifts_in_clusters(bool open, std::size_t inputs, std::size_t limbs, const Choices& choices);

// --- Products of matrices. ---

/// A matrix of integers of this many bytes, and residues that it multiplies.
struct MatrixShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t bytes = 1;
  std::uint64_t largest = 0;  // of the primes
  std::size_t limbs = 0;
  std::size_t residue_bytes = 0;  // of all limbs, as products of bytes have them
  bool warpgroups = true;         // the library has their kernels
};
/// Rows of combine; products of bytes on the tensor cores, by warps that split the words that they read, or
/// by warpgroups, of words that are split before; or by these of remainders modulo numbers of a byte.
enum class MatrixWay : std::uint8_t { combine, warps, warpgroups, remainders };
struct MatrixSchedule {
  MatrixWay way = MatrixWay::combine;
  std::size_t columns_per_sum = 0;  // whose products of bytes are summed before they are reduced
  unsigned divisors = 0;            // that remainders are taken modulo
  bool operator==(const MatrixSchedule&) const = default;
};
MatrixSchedule schedule_of(const MatrixShape& shape, const Choices& choices);

/// Whether a way is not above the forced one.
bool allows(Way way, const Choices& choices);

/// The arithmetic of transforms, of those that take all moduli of a base. Shoup's products always do.
Arithmetic arithmetic_of(bool takes_m64, bool takes_f64, const Tuning& tuning);

}  // namespace hemera::poly::cuda
