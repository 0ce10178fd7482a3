#include "poly/cuda/schedule.hpp"

#include <algorithm>

#include "poly/cuda/matrix/divisors.hpp"

namespace hemera::poly::cuda {
namespace {

// Whether clusters run this many limbs in all, where passes may run them, too.
bool takes_clusters(bool clusters, bool passes, std::size_t limbs, const Choices& choices) {
  const Tuning& tuning = choices.tuning;
  if (!clusters || !tuning.clusters || !allows(Way::clusters, choices)) return false;
  return tuning.way.has_value() || !passes || limbs <= tuning.most_cluster_limbs;
}

// How many digits and deltas a block has room for.
std::size_t row_groups_of_block(const Choices& choices) {
  const std::size_t bytes = choices.card.shared_bytes_of_block;
  return bytes < row_factor_bytes ? 0 : (bytes - row_factor_bytes) / row_group_bytes;
}

bool passes_have_room(std::size_t groups, const Choices& choices) {
  return allows(Way::passes, choices) && groups <= row_groups_of_block(choices);
}

bool clusters_have_room(const SumShape& shape, const Choices& choices) {
  return shape.clusters && !shape.packed_key && shape.cluster_bytes <= choices.card.shared_bytes_of_block;
}

std::size_t keys_together(const SwitchShape& shape, const Choices& choices) {
  const std::size_t polynomials = choices.tuning.polynomials_together, digits = shape.sum.digits;
  const std::size_t groups = std::min(choices.tuning.row_groups_together, row_groups_of_block(choices));
  const std::size_t most = std::min(polynomials / std::min(shape.sum.batch, polynomials),
                                    groups > digits ? (groups - digits) / 2 : 1);
  return std::min({shape.keys, std::max<std::size_t>(most, 1), std::size_t{keys_per_launch}});
}

// The number of moduli of a byte with which remainders determine the products; 0: more than there are.
unsigned divisors_of(const MatrixShape& shape) {
  // Sums of 32 bits hold 2^16 products of a remainder by one below 2^7 in size, and the largest of a matrix
  // of two bytes are below 2^15 q in size for each column.
  if (shape.bytes != 2 || shape.columns > std::size_t{1} << 16) return 0;
  const arith::uint128 most = (static_cast<arith::uint128>(shape.largest) << 15) * shape.columns;
  for (unsigned count = 1; count <= matrix::most_divisors; ++count) {
    if (most <= matrix::product_of_divisors(count) / 100 * 45) return count;
  }
  return 0;
}

// Where they are fewer than products of bytes, less what joining them takes.
unsigned divisors_that_pay(const MatrixShape& shape, const Tuning& tuning) {
  constexpr std::size_t joining = 2;
  if (shape.columns < tuning.least_columns_of_remainders) return 0;
  const unsigned divisors = divisors_of(shape);
  return (divisors + joining) * shape.limbs < shape.residue_bytes * shape.bytes ? divisors : 0;
}

}  // namespace

MatrixSchedule schedule_of(const MatrixShape& shape, const Choices& choices) {
  const Tuning& tuning = choices.tuning;
  if (shape.rows < tuning.least_rows_of_bytes) return {};
  const bool by_warpgroups = shape.warpgroups && tuning.least_rows_of_warpgroups != 0 &&
                             shape.rows >= tuning.least_rows_of_warpgroups;
  if (by_warpgroups) {
    const unsigned divisors = divisors_that_pay(shape, tuning);
    if (divisors != 0) {
      return {.way = MatrixWay::remainders, .columns_per_sum = shape.columns, .divisors = divisors};
    }
  }
  // What 32 bits hold of a byte times a signed one, and of two bytes' products, by
  // an unsigned and a signed one, in one sum: 255 (255 + 127) 2^14 < 2^31.
  constexpr std::size_t most_of_one = std::size_t{1} << 16, most_of_two = std::size_t{1} << 14;
  const std::size_t most =
      std::min(tuning.most_columns_per_sum, shape.bytes == 1 ? most_of_one : most_of_two);
  const std::size_t step = by_warpgroups ? 128 : 32;  // of the kernel
  return {.way = by_warpgroups ? MatrixWay::warpgroups : MatrixWay::warps,
          .columns_per_sum = std::max(most / step * step, step)};
}

bool allows(Way way, const Choices& choices) { return !choices.tuning.way || way <= *choices.tuning.way; }

Arithmetic arithmetic_of(bool takes_m64, bool takes_f64, const Tuning& tuning) {
  if (tuning.arithmetic == Arithmetic::u64) return Arithmetic::u64;
  if (tuning.arithmetic == Arithmetic::m64 && takes_m64) return Arithmetic::m64;
  if (takes_f64 && (tuning.fp64 || tuning.arithmetic == Arithmetic::f64)) return Arithmetic::f64;
  return takes_m64 ? Arithmetic::m64 : Arithmetic::u64;
}

LaunchSizes launch_sizes(unsigned log_degree, const Choices& choices) {
  const Tuning& tuning = choices.tuning;
  const auto carve_out = [&](bool prefers) {
    return prefers && tuning.carve_out != 0 ? static_cast<int>(tuning.carve_out) : -1;
  };
  return {.carve_out = carve_out(log_degree <= tuning.largest_log_degree_of_carve_out),
          .conversion_carve_out = carve_out(log_degree == tuning.log_degree_of_conversion_carve_out),
          .computed_quotient_sources = log_degree <= tuning.largest_log_degree_of_small_rings
                                           ? tuning.most_sources_of_computed_quotients_in_small_rings
                                           : tuning.most_sources_of_computed_quotients,
          .few_rows = tuning.few_rows,
          .least_blocks_of_four = tuning.least_blocks_of_four,
          .shared_bytes = choices.card.shared_bytes_of_block,
          .hoisted_shared_bytes = std::min(tuning.hoisted_shared_bytes, choices.card.shared_bytes_of_block),
          .cluster_blocks = tuning.cluster_blocks_of_device,
          .cluster_blocks_of_remainders = tuning.cluster_blocks_of_remainders,
          .most_cluster_results = tuning.most_cluster_results,
          .most_cluster_key_bytes = tuning.most_cluster_key_bytes,
          .half_sources = std::min(tuning.most_sources_of_halves, max_half_sources)};
}

bool conversions_have_room(unsigned log_degree, const LaunchSizes& sizes) {
  return log_degree < 17 || conversion_bytes_of_largest_ring <= sizes.shared_bytes;
}

Products products_of(const ConversionShape& shape, const LaunchSizes& sizes) {
  constexpr std::size_t sources_of_step = 4;
  const bool halves = shape.arithmetic == Arithmetic::f64 && shape.source_bits <= 50 &&
                      !shape.computes_quotient && shape.sources > sources_of_step &&
                      shape.sources <= sizes.half_sources;
  return halves ? Products::halves : Products::bytes;
}

unsigned results_of_cluster(unsigned results, std::size_t clusters, unsigned blocks,
                            const LaunchSizes& sizes) {
  unsigned together = 1;
  while (together < std::min<std::size_t>(results, sizes.most_cluster_results) &&
         clusters * ((results + together - 1) / together) * blocks > sizes.cluster_blocks) {
    together *= 2;
  }
  return together;
}

unsigned parts_of_remainders(std::size_t digits, std::size_t polynomials, unsigned blocks,
                             const LaunchSizes& sizes) {
  const std::size_t room =
      std::min({digits, std::size_t{max_parts}, sizes.cluster_blocks_of_remainders / (polynomials * blocks)});
  if (room <= 1) return 1;
  // Groups of equal size, but for the last one.
  const std::size_t group = (digits + room - 1) / room;
  return static_cast<unsigned>((digits + group - 1) / group);
}

std::size_t hoisted_steps(std::size_t outputs, const LaunchSizes& sizes) {
  constexpr std::size_t most = 128, row_bytes = 2048, barriers = 1024;
  // Four digits with two rows of a key each, two addends, and factors.
  const std::size_t rows = 4 * 3 + 2 + outputs, stages = 2 * rows * row_bytes + barriers;
  // A row's address and a step, of a word each.
  const std::size_t step_bytes = 8 * (rows + 1);
  return sizes.shared_bytes < stages
             ? 1
             : std::clamp<std::size_t>((sizes.shared_bytes - stages) / step_bytes, 1, most);
}

Way way_of(const SumShape& shape, const Choices& choices) {
  const bool passes = shape.passes && passes_have_room(shape.digits, choices);
  const bool clusters = clusters_have_room(shape, choices);
  if (takes_clusters(clusters, passes, shape.batch * shape.extended, choices)) return Way::clusters;
  return passes ? Way::passes : Way::unfused;
}

RemainderSchedule schedule_of(const RemainderShape& shape, const Choices& choices) {
  RemainderSchedule schedule;
  schedule.joins_columns = shape.single && shape.log_degree <= largest_inverse_conversion &&
                           shape.log_degree <= choices.tuning.largest_log_degree_of_joined_columns;
  schedule.quotient_in_cluster = !schedule.joins_columns && choices.tuning.clusters && shape.quotient_alone &&
                                 shape.dropped <= max_cluster_limbs;
  return schedule;
}

Way way_of(const DivisionShape& shape, const Choices& choices) {
  const bool passes = shape.passes && allows(Way::passes, choices);
  if (takes_clusters(shape.clusters, passes, shape.limbs, choices)) return Way::clusters;
  return passes ? Way::passes : Way::unfused;
}

Way way_of(const SwitchShape& shape, const Choices& choices) {
  if (!shape.lowers && shape.division_clusters && way_of(shape.sum, choices) == Way::clusters) {
    return Way::clusters;
  }
  // Two deltas of a key at least.
  const bool passes =
      shape.sum.passes && shape.division_passes && passes_have_room(shape.sum.digits + 2, choices);
  // With many digits each key reads those that are extended once.
  const bool reads_digits = shape.keys > 1 && shape.of_base == Arithmetic::u64 &&
                            shape.sum.digits > choices.tuning.most_digits_transformed_again;
  return passes && shape.meets && !reads_digits ? Way::passes : Way::unfused;
}

SwitchSchedule schedule_of(const SwitchShape& shape, const Choices& choices) {
  const Tuning& tuning = choices.tuning;
  SwitchSchedule schedule{.way = way_of(shape, choices)};
  if (schedule.way != Way::passes) return schedule;
  schedule.joins = shape.joined_jobs != 0 && shape.sum.batch * shape.joined_jobs <= tuning.most_joined_jobs &&
                   (shape.joins_columns ? shape.log_degree <= largest_inverse_conversion
                                        : shape.log_degree >= tuning.least_log_degree_of_joined_digits);
  schedule.converts_beside =
      !schedule.joins && shape.sum.batch * shape.base_jobs <= tuning.most_jobs_beside_conversion;
  schedule.inverts = shape.of_dropped == 0 && shape.of_special == Arithmetic::f64 &&
                     (shape.special == 1 || shape.log_degree >= tuning.least_log_degree_of_inverted_limbs) &&
                     shape.sum.batch * shape.special <= tuning.most_inverted_limbs;
  schedule.keys_together = keys_together(shape, choices);
  return schedule;
}

ProductSchedule schedule_of(const ProductShape& shape, const Choices& choices) {
  if (!shape.passes || !allows(Way::passes, choices)) return {};
  // Both components of both operands.
  return {.way = Way::passes,
          .operands_in_clusters =
              takes_clusters(shape.cluster_operands, true, 4 * shape.batch * shape.limbs, choices)};
}

std::size_t pairs_together(std::size_t pairs, std::size_t batch, std::size_t bytes, const Choices& choices) {
  return std::max<std::size_t>(1, std::min({pairs, pairs_per_launch, pair_batches_per_launch / batch,
                                            choices.tuning.lifted_bytes_together / bytes}));
}

bool lifts_in_clusters(bool open, std::size_t inputs, std::size_t limbs, const Choices& choices) {
  return inputs == 1 && takes_clusters(open, true, limbs, choices);
}

}  // namespace hemera::poly::cuda
