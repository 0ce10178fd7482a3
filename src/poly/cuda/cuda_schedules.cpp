// The facts of plans and their tables that operations' schedules need.
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::poly::cuda {

SumShape CudaBackend::sum_shape(const ModUp& up, std::size_t batch, Word key) const {
  SumShape shape{.batch = batch,
                 .extended = up.extended().size(),
                 .digits = up.digits().size(),
                 .packed_key = key == Word::u50};
  shape.passes = allows(Way::passes, choices_) && fused_.of(up).usable;
  shape.clusters = choices_.tuning.clusters && allows(Way::clusters, choices_) && key == Word::u64 &&
                   fused_.in_clusters(up).usable;
  if (shape.clusters) {
    shape.cluster_bytes = cluster_switch_bytes(ring()->log_degree() - 8, shape.digits, sizes_);
  }
  return shape;
}

SwitchSchedule CudaBackend::schedule(const ModUp& up, const Division* down, const SwitchCount& count) const {
  if (down == nullptr || !count.pairs) return {};
  SwitchShape shape{.sum = sum_shape(up, count.batch, count.word),
                    .log_degree = static_cast<unsigned>(ring()->log_degree()),
                    .keys = count.keys,
                    .special = up.extended().size() - up.base().size(),
                    .lowers = !(down->target() == up.base()),
                    .of_base = arithmetic(up.base())};
  shape.division_passes = shape.sum.passes && fused_.of(*down).usable;
  shape.division_clusters = shape.sum.clusters && !shape.lowers && fused_.in_clusters(*down).usable;
  if (shape.lowers) {
    shape.of_dropped = down->dropped().size() - shape.special;
    shape.meets = arithmetic(down->target()) == shape.of_base &&
                  up.extended().without(up.base()).without(down->target()).size() == shape.special;
  }
  if (way_of(shape, choices_) == Way::passes) {
    const ColumnTables& joined = fused_.joined(up);
    shape.of_special = arithmetic(up.extended().indices().subspan(up.base().size()));
    shape.base_jobs = fused_.of(up).base.job_count;
    shape.joined_jobs = joined.job_count;
    shape.joins_columns = joined.steps == 0;
  }
  return schedule_of(shape, choices_);
}

RemainderSchedule CudaBackend::remainder_schedule(const Division& down, const ColumnTables& columns) const {
  const FusedDivision& fused = fused_.of(down);
  return schedule_of(
      RemainderShape{.log_degree = static_cast<unsigned>(ring()->log_degree()),
                     .dropped = down.dropped().size(),
                     .single = columns.steps == 0 && arithmetic(down.dropped()) == arithmetic(down.target()),
                     .quotient_alone = fused.extra.quotient && !fused.extra.has_correction},
      choices_);
}

Way CudaBackend::way(const Division& down, const PolyShape& in) const {
  return way_of(DivisionShape{.limbs = in.batch * in.components / 2 * in.limbs,
                              .passes = allows(Way::passes, choices_) && fused_.of(down).usable,
                              .clusters = choices_.tuning.clusters && fused_.in_clusters(down).usable},
                choices_);
}

ProductSchedule CudaBackend::schedule(const ScaledProduct& plan, std::size_t batch) const {
  return schedule_of(ProductShape{.batch = batch,
                                  .limbs = plan.base().size(),
                                  .passes = fused_.of(plan).usable,
                                  .cluster_operands = ring()->log_degree() - 8 == cluster_operands_log_rows},
                     choices_);
}

}  // namespace hemera::poly::cuda
