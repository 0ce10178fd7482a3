// Which way key switches and divisions run.
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::poly::cuda {

// Where both ways are open, clusters are quicker while they fill the device once: measured at N = 2^13 with
// batches of 8 ciphertexts of four primes (a tenth quicker) and of 16 (level).
bool CudaBackend::prefers_clusters(std::size_t limbs_of_batch, bool passes_too) {
  constexpr std::size_t most = 48;
  return !passes_too || limbs_of_batch <= most;
}

CudaBackend::Way CudaBackend::way(const ModUp& up, std::size_t batch) const {
  const bool passes = fused_.of(up).usable;
  if (cluster_shared_bytes_ != 0 && fused_.in_clusters(up).usable &&
      cluster_has_room(ring()->log_degree() - 8, up.digits().size(), cluster_shared_bytes_) &&
      prefers_clusters(batch * up.extended().size(), passes)) {
    return Way::clusters;
  }
  return passes ? Way::passes : Way::unfused;
}

CudaBackend::Way CudaBackend::way(const Division& down, const PolyShape& in) const {
  const bool passes = fused_.of(down).usable;
  if (cluster_shared_bytes_ != 0 && fused_.in_clusters(down).usable &&
      prefers_clusters(in.batch * in.components / 2 * in.limbs, passes)) {
    return Way::clusters;
  }
  return passes ? Way::passes : Way::unfused;
}

CudaBackend::Way CudaBackend::way(const ModUp& up, const Division* down, std::size_t batch) const {
  if (down == nullptr) return Way::unfused;
  const bool passes = fused_.of(up).usable && fused_.of(*down).usable;
  if (way(up, batch) == Way::clusters && fused_.in_clusters(*down).usable) return Way::clusters;
  return passes ? Way::passes : Way::unfused;
}

}  // namespace hemera::poly::cuda
