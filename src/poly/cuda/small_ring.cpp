#include "poly/cuda/small_ring.hpp"

#include <utility>
#include <vector>

#include "poly/scratch.hpp"

namespace hemera::poly::cuda {
namespace {

std::shared_ptr<const Ring> in_power_of_x(const Ring& whole, std::size_t degree) {
  std::vector<RingModulus> moduli;
  for (const RingModulus& entry : whole.moduli()) {
    const bool has_values = entry.root != 0 && entry.values_in(whole.degree()) == whole.degree();
    const std::uint64_t root =
        has_values ? entry.modulus.power(entry.root, whole.degree() / degree) : std::uint64_t{0};
    moduli.push_back({.modulus = entry.modulus, .root = root});
  }
  return Ring::make(degree, std::move(moduli));
}

}  // namespace

SmallRing::SmallRing(const Ring& whole, std::size_t degree, const std::shared_ptr<runtime::Memory>& memory,
                     const std::shared_ptr<const runtime::cuda::Streams>& streams, const Choices& choices)
    : ring_(in_power_of_x(whole, degree)),
      sizes_(launch_sizes(static_cast<unsigned>(ring_->log_degree()), choices)),
      tables_(ring_, memory, streams),
      embedding_(degree, memory, streams) {}

void SmallRing::embed(const Launcher& whole, Arithmetic arithmetic, const PolyView& out,
                      const SlotView& slots, double scale, const RnsBase& base,
                      runtime::Workspace& workspace) const {
  const runtime::Workspace::Frame frame(workspace);
  const Launcher where{whole.stream, &tables_, static_cast<unsigned>(ring_->log_degree()), &sizes_};
  const RnsBase own(ring_, {base.indices().begin(), base.indices().end()});
  PolyShape shape = out.shape;
  shape.degree = ring_->degree();
  const PolyView values = take(workspace, shape);
  embedding_.embed_columns(where, arithmetic, values, slots, scale, own, workspace);
  if (workspace.measures()) return;
  forward_rows(where, arithmetic, values, values, own);
  copy(where, out, values);
}

}  // namespace hemera::poly::cuda
