// Which way key switches, divisions and what else is fused run.
#include <cstdlib>
#include <string>
#include <string_view>

#include "hemera/runtime/error.hpp"
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/tuning.hpp"

namespace hemera::poly::cuda {

std::optional<Way> forced_way() {
  const char* given = std::getenv("HEMERA_CUDA_WAY");
  const std::string_view name = given == nullptr ? "" : given;
  if (name.empty()) return std::nullopt;
  if (name == "unfused") return Way::unfused;
  if (name == "passes") return Way::passes;
  if (name == "clusters") return Way::clusters;
  throw DeviceError("HEMERA_CUDA_WAY names an unknown way \"" + std::string(name) +
                    "\"; use one of: unfused, passes, clusters");
}

bool CudaBackend::takes_clusters(bool clusters, bool passes, std::size_t limbs_of_batch) const {
  if (!clusters || !allows(Way::clusters)) return false;
  return forced_way_.has_value() || !passes || limbs_of_batch <= tuning::most_cluster_limbs;
}

bool CudaBackend::takes_clusters(const ScaledProduct& plan, std::size_t batch) const {
  const bool clusters = cluster_shared_bytes_ != 0 && ring()->log_degree() - 8 == cluster_operands_log_rows;
  // Both components of both operands.
  return takes_clusters(clusters, true, 4 * batch * plan.base().size());
}

bool CudaBackend::lifts_in_clusters(const PolyShape& out) const {
  const bool clusters = cluster_shared_bytes_ != 0 && can_lift_in_cluster(ring()->log_degree() - 8);
  return takes_clusters(clusters, true, out.batch * out.limbs);
}

Way CudaBackend::way(const ModUp& up, std::size_t batch, Word key) const {
  const bool passes = allows(Way::passes) && fused_.of(up).usable;
  // Where clusters are quickest latency bounds, not memory.
  const bool clusters = key == Word::u64 && cluster_shared_bytes_ != 0 && fused_.in_clusters(up).usable &&
                        cluster_has_room(ring()->log_degree() - 8, up.digits().size(), cluster_shared_bytes_);
  if (takes_clusters(clusters, passes, batch * up.extended().size())) return Way::clusters;
  return passes ? Way::passes : Way::unfused;
}

Way CudaBackend::way(const Division& down, const PolyShape& in) const {
  const bool passes = allows(Way::passes) && fused_.of(down).usable;
  const bool clusters = cluster_shared_bytes_ != 0 && fused_.in_clusters(down).usable;
  if (takes_clusters(clusters, passes, in.batch * in.components / 2 * in.limbs)) return Way::clusters;
  return passes ? Way::passes : Way::unfused;
}

Way CudaBackend::way(const ModUp& up, const Division* down, std::size_t batch, Word key) const {
  if (down == nullptr) return Way::unfused;
  const bool passes = allows(Way::passes) && fused_.of(up).usable && fused_.of(*down).usable;
  const bool lowers = !(down->target() == up.base());
  if (!lowers && way(up, batch, key) == Way::clusters && fused_.in_clusters(*down).usable)
    return Way::clusters;
  // Sums and remainders of a limb meet in one arithmetic, and special limbs are not kept.
  const bool meets = !lowers || (arithmetic(down->target()) == arithmetic(up.base()) &&
                                 up.extended().without(up.base()).without(down->target()).size() ==
                                     up.extended().size() - up.base().size());
  return passes && meets ? Way::passes : Way::unfused;
}

}  // namespace hemera::poly::cuda
