// The host's views, bases and rings for kernels: plain structs, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::poly::cuda {

/// A view in device memory, [polynomial, limb, N] where polynomial = batch * components + component. Strides
/// count words and are 0 where an extent of 1 broadcasts. Words of other sizes than W's are reached by their
/// number (poly/cuda/stored_words.cuh).
template <typename W>
struct BasicDeviceView {
  W* data = nullptr;
  std::uint64_t batch_stride = 0;
  std::uint64_t component_stride = 0;
  std::uint64_t limb_stride = 0;

  __host__ __device__ W* limb(unsigned batch, unsigned component, unsigned limb_index) const {
    return data + word(batch, component, limb_index);
  }
  __host__ __device__ std::uint64_t word(unsigned batch, unsigned component, unsigned limb_index) const {
    return batch * batch_stride + component * component_stride + limb_index * limb_stride;
  }
};
using DeviceView = BasicDeviceView<std::uint64_t>;
using ConstDeviceView = BasicDeviceView<const std::uint64_t>;

inline DeviceView device_view(const PolyView& view) {
  return {reinterpret_cast<std::uint64_t*>(view.data), view.shape.batch == 1 ? 0 : view.batch_stride,
          view.shape.components == 1 ? 0 : view.component_stride, view.limb_stride};
}
inline ConstDeviceView device_view(const ConstPolyView& view) {
  return {reinterpret_cast<const std::uint64_t*>(view.data), view.shape.batch == 1 ? 0 : view.batch_stride,
          view.shape.components == 1 ? 0 : view.component_stride, view.limb_stride};
}

/// Limbs of one launch: bases with more limbs take several.
inline constexpr unsigned limbs_per_launch = 64;

/// Moduli of the limbs of a launch, as indices of the ring.
struct LimbModuli {
  std::uint16_t ring_index[limbs_per_launch];
};

/// One word a limb.
struct LimbWords {
  std::uint64_t word[limbs_per_launch];
};

}  // namespace hemera::poly::cuda
