// The sizes at which the CUDA backend goes another way, by card. They change times, never results; sizes that
// kernels are built around stand with the kernels. Host C++: no header of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "poly/cuda/card.hpp"

namespace hemera::poly::cuda {

/// Which arithmetic a transform runs in: Shoup's products, Montgomery's, or FP64.
enum class Arithmetic : std::uint8_t { u64, m64, f64 };

/// How operations of a plan run: one by one; fused, in two passes a transform; or each transform in a cluster
/// of thread blocks.
enum class Way : std::uint8_t { unfused, passes, clusters };

/// The numbers that stand here are those of an H100 or H200, each with the measurement that set it:
/// microseconds on an H200 (docs/performance.md), graphs unless it says otherwise. tuning_of derives those of
/// other cards.
struct Tuning {
  /// Forced: wherever a plan and the device have this way open, else the next one below. None: the quickest.
  std::optional<Way> way = {};
  /// Forced: transforms run in it wherever it takes all moduli of a base. None: the quickest.
  std::optional<Arithmetic> arithmetic = {};

  /// Whether clusters are open.
  bool clusters = true;

  /// Whether primes below 2^50 run in FP64, which is worth its instructions where the device has at least an
  /// eighth as many units for it as for FP32. Else they run as larger primes do: in Montgomery's products
  /// where they are 1 modulo 2^32, in Shoup's otherwise.
  bool fp64 = true;

  /// Where clusters and two passes are both open (N = 2^13), clusters take batches of up to this many limbs
  /// in all, special ones included: they are quicker while they fill the device once. A rotation of BFV 2^13,
  /// 3 x 54 + 1: 59.9 in clusters for 74.7 in passes with 8 ciphertexts (32 limbs), 108.7 for 108.0 with 16.
  std::size_t most_cluster_limbs = 48;

  /// Keys of a hoisted switch go together until this many polynomials fill the device, and while their groups
  /// of rows (digits, and two deltas a key) leave room for three blocks' shared memory on a multiprocessor.
  /// Eight hoisted rotations: 1,010 for 1,802 one by one (CKKS 2^16, log Q 1373), 148 for 277 (2^14, 8 x 40).
  std::size_t polynomials_together = 8;
  std::size_t row_groups_together = 18;

  /// Hoisted switches in Shoup's products transform the rows of up to this many digits again for every four
  /// keys; with more, each key reads the extended digits. Transforming again is a quarter faster at 4 digits,
  /// 4 % slower at 14, 40 % slower at 15 (1,327 for BFV 2^15, 15 x 55; reading takes 919).
  std::size_t most_digits_transformed_again = 8;

  /// Up to this many jobs (of 32 blocks each), the digits' conversion to the base runs beside that to the
  /// special limbs: both fit the device in two rounds, which saves 5 of 124 at 12 limbs. More run beside the
  /// special limbs' rows, which saves 2 to 6.
  std::size_t most_jobs_beside_conversion = 16;

  /// Up to this many jobs, the digits' conversions to base and special limbs are one launch, those of digits
  /// of several primes from this degree on: a multiplication 118.6 for 119.8 at 12 limbs (CKKS 2^16, log Q
  /// 1373).
  std::size_t most_joined_jobs = 16;
  std::size_t least_log_degree_of_joined_digits = 16;

  /// In rings up to this one, conversions from single limbs begin with the columns of their inverse
  /// transform, again for every few targets: a rescaling 15.0 for 18.9 (CKKS 2^14, 8 x 40), a multiplication
  /// 169.1 for 172.9 (2^15, 14 x 59). At N = 2^16 a rescaling took 2.6 more.
  std::size_t largest_log_degree_of_joined_columns = 15;

  /// Up to this many special limbs of a batch, their sums go through the rows of their inverse transform
  /// where they are made, from this degree on, or where there is one: 117.1 for 118.6 at 12 limbs (CKKS
  /// 2^16). Rotations at 2^15, 16 x 36 with 8 special limbs, took 3.5 more.
  std::size_t most_inverted_limbs = 8;
  std::size_t least_log_degree_of_inverted_limbs = 16;

  /// Shared memory, in percent of a multiprocessor's (0: CUDA's choice), that the passes of rings up to this
  /// one prefer: where neighbours differ in it, the second one waits until the first has left. A
  /// rotation 40.4 for 42.9, eight hoisted ones 134 for 156, a rescaling 12.4 for 17.2, a sum of eight
  /// products, relinearized, 54.9 for 64.8 (CKKS 2^14, 8 x 40). At 2^15 single switches gain up to 6 %, but
  /// eight hoisted ones (14 x 59) and switches after sums, which did not prefer it then, lose 4; at 2^16 a
  /// switch lost 8 of 244.
  std::size_t carve_out = 58;
  std::size_t largest_log_degree_of_carve_out = 14;
  /// The same of conversions with columns, in rings of this one degree: a rotation 82.6 for 86.3, a product
  /// 213.6 for 217.2 (BFV 2^15, 16 x 36), 163.9 for 165.5 and 167.5 for 170.0 (CKKS 2^15, 14 x 59). At 2^16 a
  /// rotation took 2 of 231 more.
  std::size_t log_degree_of_conversion_carve_out = 15;

  /// From this many blocks on, a switch's last kernel runs four blocks on a multiprocessor at 64 registers
  /// instead of three: a rotation 236.9 for 239.0 (CKKS 2^16, log Q 1373), 87.4 for 89.1 (BFV 2^15, 16 x 36),
  /// eight hoisted ones 999 for 1,017. Montgomery's products gain nothing, products with their
  /// relinearization spill. In FP64 these blocks share their rows' factors in shared memory as well: a
  /// rotation 233.3 for 239.1.
  std::size_t least_blocks_of_four = 1024;

  /// Quotients of exact conversions are worked out for every four targets, instead of by a kernel of their
  /// own, from up to this many sources; in small rings from more. Set with the kernels of BFV's product
  /// (73614c6), where the kernel of their own takes 8.5 at 2^15, 15 x 55; the bounds were not measured alone.
  std::size_t most_sources_of_computed_quotients = 4;
  std::size_t most_sources_of_computed_quotients_in_small_rings = 8;
  std::size_t largest_log_degree_of_small_rings = 14;

  /// Conversions in FP64 from more than four sources, and up to this many (at most 14), multiply halves of
  /// residues on the FP64 tensor cores instead of bytes on the INT8 ones; 0: none. The 43 of a bootstrap
  /// (CKKS 2^16, "n16-40", on an H100) took 1,882 for 2,155 by bytes. Not measured from fewer sources, nor on
  /// other cards: those stay with bytes.
  std::size_t most_sources_of_halves = 14;

  /// Operands of a sum of BFV's products are lifted together while they and their scratch take up to this
  /// many bytes. Eight pairs one by one and together: 210 and 123 (2^13, 3 x 54), 418 and 243 (2^14, 8 x 36).
  /// Not measured at other bounds.
  std::size_t lifted_bytes_together = std::size_t{256} << 20;

  /// Below this many rows each has a warp where it would have half of one (not in FP64, whose rounds take too
  /// little). Set with the kernels of BFV's product (73614c6); not measured alone.
  std::size_t few_rows = 512;

  /// What clusters share a device by: blocks that it runs at a time (132 multiprocessors), those of them that
  /// the sums over the special limbs may take, beside which the sums over the base begin, and the most
  /// results of one cluster. Three kernels of 6.7, 14.4 and 15.6 alone are a rotation of 24.0 (BFV 2^13,
  /// 3 x 54 + 1).
  std::size_t cluster_blocks_of_device = 128;
  std::size_t cluster_blocks_of_remainders = 64;
  std::size_t most_cluster_results = 4;
  /// Key words wait in shared memory while digits are transformed, if they take up to this many bytes.
  std::size_t most_cluster_key_bytes = 32 * 1024;

  /// From this many rows on, matrices of integers multiply by bytes on the tensor cores, which take 16 rows
  /// at a time and read each word once for 64; fewer are rows of `combine`. Not measured.
  std::size_t least_rows_of_bytes = 2;
  /// From this many rows on, words become bytes in memory, once, and warpgroups multiply them, where the card
  /// has those of compute capability 9.0 and the library their kernels. 0: nowhere. Not measured: a warpgroup
  /// takes 64 rows.
  std::size_t least_rows_of_warpgroups = 48;
  /// From this many columns on, integers of two bytes are multiplied by remainders, where fewer products make
  /// up for joining them: at 4,096 columns of 49 bits 7.0 ms for 10.0, at 2,048 of 60 bits 4.9 for 5.7
  /// (H100). Not measured below.
  std::size_t least_columns_of_remainders = 1536;
  /// Bytes of words at a time.
  std::size_t split_bytes_together = std::size_t{256} << 20;
  /// Columns whose products of bytes are summed before they are reduced: at most as many as sums of 32 bits
  /// hold.
  std::size_t most_columns_per_sum = std::size_t{1} << 16;

  /// Values from and to the host go by way of pinned memory from this many bytes on, where the call ends when
  /// they are copied. Fewer are left to CUDA, which takes those that go up at once, so that encoding need not
  /// wait. Not measured: CUDA's own staging makes 5 to 12 GB/s, and a wait costs about 10.
  std::size_t least_staged_bytes = 512 * 1024;

  /// Pieces (Backend::download_pieces) are copied in parts of this many bytes: what the host does with the
  /// last one comes after the device. 4 MB in parts of 0.5 and of 2 MB took no less (an H100, 8 threads).
  std::size_t download_part_bytes = std::size_t{1} << 20;

  /// Stages of `hoisted_products` take shared memory up to this many bytes: three blocks share a
  /// multiprocessor's 228 KB, one of which each needs for itself.
  std::size_t hoisted_shared_bytes = 75 * 1024;

  bool operator==(const Tuning&) const = default;
};

/// The numbers for a card. Hopper's stand above; nothing was measured on another card, so theirs
/// follow from what the card has:
/// - sizes that fill the device: in proportion to its multiprocessors, 132 of which an H200 has;
/// - sizes in shared memory: for three blocks on a multiprocessor, and in proportion to what a block may
/// have;
/// - work that saves reading: in proportion to multiprocessors times clock by bandwidth;
/// - all else: as on Hopper.
Tuning tuning_of(const Card& card);

}  // namespace hemera::poly::cuda
