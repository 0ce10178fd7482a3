// Defaults (docs/design.md): copies of polynomials, within a backend and between two.
#include <algorithm>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/defaults/position_runs.hpp"

namespace hemera::poly {

ConstPolyView Backend::gather(Queue& queue, const ConstPolyView& in,
                              const std::vector<std::uint32_t>& positions, const PolyView& scratch) const {
  if (positions.back() - positions.front() + 1 == positions.size() &&
      std::is_sorted(positions.begin(), positions.end())) {
    return in.limbs(positions.front(), positions.size());
  }
  for_each_run(positions, [&](std::size_t first, std::size_t position, std::size_t count) {
    do_copy(queue, scratch.limbs(first, count), in.limbs(position, count));
  });
  return scratch.limbs(0, positions.size());
}

void Backend::do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                           const ConstPolyView& in, Form form) const {
  std::vector<std::uint64_t> host(in.shape.words());
  const runtime::ZeroedAtEnd zeroed{std::span(host)};  // it may be a key
  source.download(source_queue, host, in, form);
  source_queue.synchronize();
  upload(queue, out, host, form);
}

bool Backend::read_from(Queue& /*queue*/, const Backend& /*source*/, Queue& /*source_queue*/,
                        const std::function<void()>& /*operations*/) const {
  return false;
}

}  // namespace hemera::poly
