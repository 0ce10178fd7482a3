// The backend's interface to the kernels: functions that launch them. One file of kernels each.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "poly/cuda/schedule.hpp"
#include "poly/cuda/tables.hpp"
#include "poly/cuda/views.cuh"

namespace hemera::poly::cuda {

/// Where kernels run, the constants of their ring, and what their launches go by.
struct Launcher {
  cudaStream_t stream;
  const RingTables* tables;
  unsigned log_degree;
  const LaunchSizes* sizes = nullptr;

  [[nodiscard]] unsigned degree() const { return 1U << log_degree; }
  [[nodiscard]] int log_rows() const { return static_cast<int>(log_degree) - 8; }
};

/// The moduli of limbs first, first + 1, ... of a base, at most limbs_per_launch.
LimbModuli limb_moduli(const RnsBase& base, std::size_t first, std::size_t count);
/// The same part of one word a limb.
LimbWords limb_words(std::span<const std::uint64_t> words, std::size_t first, std::size_t count);

/// The work of one launch: a grid has room for 2^16 - 1 polynomials, and its parameters for 64 limbs.
struct Part {
  std::size_t first_batch;
  std::size_t batches;
  std::size_t first_limb;
  std::size_t limbs;

  /// The part of a view whose batch broadcasts if it is 1; and its batches with all of their limbs.
  template <typename View>
  [[nodiscard]] View of(const View& view) const {
    return batches_of(view).limbs(first_limb, limbs);
  }
  template <typename View>
  [[nodiscard]] View batches_of(const View& view) const {
    return view.shape.batch == 1 ? view : view.batches(first_batch, batches);
  }
};

/// Calls body(part) for parts that make up the shape.
template <typename Body>
void for_each_launch(const PolyShape& shape, const Body& body) {
  constexpr std::size_t most_polynomials = 65535;
  const std::size_t most_batches = std::max<std::size_t>(1, most_polynomials / shape.components);
  for (std::size_t batch = 0; batch < shape.batch; batch += most_batches) {
    for (std::size_t limb = 0; limb < shape.limbs; limb += limbs_per_launch) {
      body(Part{batch, std::min(most_batches, shape.batch - batch), limb,
                std::min<std::size_t>(limbs_per_launch, shape.limbs - limb)});
    }
  }
}

/// The same where all limbs of a polynomial belong together: parts of the batch alone.
template <typename Body>
void for_each_batch_part(PolyShape shape, const Body& body) {
  shape.limbs = 1;
  for_each_launch(shape, body);
}

/// Calls run(std::integral_constant<int, log_rows>), for log_rows from `least` to `most`: by default those of
/// all rings.
template <int least = 2, int most = 9, typename Run>
void with_log_rows(int log_rows, const Run& run) {
  if constexpr (least < most) {
    if (log_rows != least) return with_log_rows<least + 1, most>(log_rows, run);
  }
  run(std::integral_constant<int, least>{});
}

// --- transform.cu: canonical in and out; `in` may be `out`. ---
/// `left_out`, in device memory: for each limb a component that is left as it is; may be null.
void forward_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                       const ConstPolyView& in, const RnsBase& base, const std::uint32_t* left_out = nullptr);
void inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                       const ConstPolyView& in, const RnsBase& base);
/// The second pass of forward_transform alone: `in`, which may be `out`, has lazy values from its columns.
/// Plus `addend` (no data: nothing), of the output's shape, which may be `out`.
void forward_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& in, const RnsBase& base, const std::uint32_t* left_out = nullptr,
                  const ConstPolyView& addend = {});

// --- element_wise.cu ---
void binary(const Launcher& launcher, Binary operation, const PolyView& out, const ConstPolyView& a,
            const ConstPolyView& b, const RnsBase& base);
void negate(const Launcher& launcher, const PolyView& out, const ConstPolyView& a, const RnsBase& base);
void multiply_scalar(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                     std::span<const std::uint64_t> scalars, const RnsBase& base);
/// Adds to every entry, or to entry 0 of each limb alone.
void add_scalar(const Launcher& launcher, const PolyView& out, const ConstPolyView& a,
                std::span<const std::uint64_t> scalars, bool every_entry, const RnsBase& base);
/// A sum of multiples, and a constant in the first component. One launch for up to 6 of them.
void combine(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
             std::span<const std::vector<std::uint64_t>> scalars, std::span<const std::uint64_t> added,
             const RnsBase& base);
/// Backend::inner_products with b that are all stored by the same number of fewer entries, one batch each.
void repeated_products(const Launcher& launcher, std::span<const PolyView> out,
                       std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                       std::span<const std::uint64_t> added, const RnsBase& base);
/// A sum of tensor products, and a constant in the first component. One launch for up to 48 of them.
void inner_product(const Launcher& launcher, const PolyView& out, std::span<const ConstPolyView> a,
                   std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                   const RnsBase& base);
/// Broadcasts; of whole limbs in any words to any others, as `reorder`.
void copy(const Launcher& launcher, const PolyView& out, const ConstPolyView& in);
void fill_zero(const Launcher& launcher, const PolyView& out);
/// Between the standard order of evaluations and the backend's; out is not `in`.
void reorder(const Launcher& launcher, const PolyView& out, const ConstPolyView& in);

// --- parts.cu: as hemera/poly/backend.hpp says; checked. ---
void split_parts(const Launcher& launcher, const PolyView& out, const ConstPolyView& in, const RnsBase& base);
// --- component_transform.cu: the same. ---
void transform_components(const Launcher& launcher, const PolyView& values, const ConstPolyView& roots,
                          const ConstPolyView& factors, ComponentOrder order, const RnsBase& base);
// --- packing.cu: the same. ---
void pack_rounded(const Launcher& launcher, std::span<std::byte> out, const ConstPolyView& in,
                  int dropped_bits, int width);

// --- automorphism.cu: out is not `in`. ---
void automorphism_values(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                         std::uint64_t galois_element);
void automorphism_coefficients(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                               std::uint64_t galois_element, const RnsBase& base);

}  // namespace hemera::poly::cuda
