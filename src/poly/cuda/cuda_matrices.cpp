// Products of matrices: the way that the schedule chooses.
#include <algorithm>

#include "poly/cuda/cuda_backend.hpp"
#include "poly/cuda/matrix/kernels.hpp"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cuda {
namespace {

MatrixShape shape_of(const IntegerMatrixView& w, const RnsBase& base) {
  MatrixShape shape{.rows = w.rows,
                    .columns = w.columns,
                    .bytes = static_cast<std::size_t>(w.bytes),
                    .limbs = base.size(),
                    .warpgroups = cuda::has_warpgroups()};
  for (std::size_t i = 0; i < base.size(); ++i) {
    shape.largest = std::max(shape.largest, base.modulus(i).value());
    shape.residue_bytes += matrix::bytes_of(base.modulus(i));
  }
  return shape;
}

}  // namespace

void CudaBackend::do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                     const IntegerMatrixView& w, const RnsBase& base,
                                     Workspace& workspace) const {
  const MatrixSchedule schedule = schedule_of(shape_of(w, base), choices_);
  if (schedule.way == MatrixWay::combine)
    return Backend::do_multiply_matrix(queue, out, in, w, base, workspace);
  const Workspace::Frame frame(workspace);
  const std::size_t together = choices_.tuning.split_bytes_together, degree = ring()->degree();
  if (schedule.way == MatrixWay::remainders) {
    std::byte* const packed = workspace.take(matrix_bytes_of_remainders(w, schedule.divisors));
    const std::size_t bytes = scratch_bytes_of_remainders(in.shape, degree, w, schedule.divisors, together);
    std::byte* const scratch = workspace.take(bytes);
    if (workspace.measures()) return;
    return cuda::multiply_matrix_by_remainders(launcher(queue), out, in, w, schedule.divisors, packed,
                                               {scratch, bytes}, choices_.card.multiprocessors, base);
  }
  if (schedule.way == MatrixWay::warpgroups) {
    std::byte* const packed = workspace.take(matrix_bytes_of_warpgroups(w));
    const std::size_t bytes = split_bytes_of_warpgroups(in.shape, degree, w.columns, base, together);
    std::byte* const split = workspace.take(bytes);
    if (workspace.measures()) return;
    return cuda::multiply_matrix_by_warpgroups(launcher(queue), out, in, w, packed, {split, bytes},
                                               schedule.columns_per_sum, choices_.card.multiprocessors, base);
  }
  std::byte* const packed = workspace.take(packed_matrix_bytes(w));
  if (workspace.measures()) return;
  cuda::multiply_matrix(launcher(queue), out, in, w, packed, schedule.columns_per_sum, base);
}

void CudaBackend::do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                       const ConstPolyView& b, const RnsBase& base,
                                       Workspace& workspace) const {
  if (workspace.measures()) return;
  const auto multiply = choices_.tuning.fp64 && cuda::shares_elements(out, a, base)
                            ? cuda::multiply_shared_elements
                            : cuda::multiply_elements;
  multiply(launcher(queue), out, a, b, base);
}

void CudaBackend::do_multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                         const ConstPolyView& in, const RnsBase& base) const {
  cuda::multiply_add_vector(launcher(queue), out, w, in, base);
}

void CudaBackend::do_transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                          const ConstPolyView& factors, ComponentOrder order,
                                          const RnsBase& base, Workspace& workspace) const {
  if (workspace.measures()) return;
  cuda::transform_components(launcher(queue), values, roots, factors, order, base);
}

void CudaBackend::do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 const RnsBase& base) const {
  cuda::split_parts(launcher(queue), out, in, base);
}

}  // namespace hemera::poly::cuda
