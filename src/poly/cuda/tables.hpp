// Constants of a ring in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "hemera/poly/ring.hpp"
#include "hemera/runtime/memory.hpp"
#include "poly/cuda/tuning.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::poly::cuda {

/// An array in device memory, filled once from the host.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  /// Throws DeviceError in a recording: tables are made when an operation first runs.
  DeviceArray(const std::shared_ptr<runtime::Memory>& memory, const runtime::cuda::Streams& streams,
              const std::vector<T>& values) {
    streams.refuse_recording("making the tables of an operation", "run the circuit once before");
    buffer_ = runtime::Buffer(memory, values.empty() ? sizeof(T) : values.size() * sizeof(T));
    if (values.empty()) return;
    runtime::cuda::check(cudaMemcpyAsync(buffer_.data(), values.data(), values.size() * sizeof(T),
                                         cudaMemcpyHostToDevice, streams.current().get()),
                         "upload constants");
  }
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }

 private:
  runtime::Buffer buffer_;
};

/// Whether it takes a modulus.
bool takes(Arithmetic arithmetic, const arith::Modulus& q);

struct U64;
struct M64;
struct F64;

/// Calls run(std::type_identity<A>) for the arithmetic A of that name.
template <typename Run>
void with_arithmetic(Arithmetic arithmetic, const Run& run) {
  switch (arithmetic) {
    case Arithmetic::f64:
      return run(std::type_identity<F64>{});
    case Arithmetic::m64:
      return run(std::type_identity<M64>{});
    default:
      return run(std::type_identity<U64>{});
  }
}

/// The factors of one arithmetic for every modulus that it takes.
template <class A>
struct TransformTables {
  DeviceArray<typename A::Modulus> moduli;  // [ring modulus]
  DeviceArray<typename A::Twiddle> forward;
  DeviceArray<typename A::Twiddle> inverse;
  DeviceArray<typename A::Fold> folds;  // [ring modulus]
};

/// A ring's moduli as kernels need them, and the tables of transforms, made when first used.
class RingTables {
 public:
  RingTables(std::shared_ptr<const Ring> ring, std::shared_ptr<runtime::Memory> memory,
             std::shared_ptr<const runtime::cuda::Streams> streams);

  /// [ring modulus].
  [[nodiscard]] const arith::Modulus* moduli() const { return moduli_.data(); }
  template <class A>
  [[nodiscard]] const TransformTables<A>& transforms() const;

 private:
  template <class A>
  struct Lazy {
    std::once_flag once;
    TransformTables<A> tables;
  };
  template <class A>
  Lazy<A>& lazy() const;
  template <class A>
  void fill(TransformTables<A>& tables) const;

  struct Transforms;

 public:
  ~RingTables();

 private:
  std::shared_ptr<const Ring> ring_;
  std::shared_ptr<runtime::Memory> memory_;
  std::shared_ptr<const runtime::cuda::Streams> streams_;
  DeviceArray<arith::Modulus> moduli_;
  std::unique_ptr<Transforms> transforms_;
};

}  // namespace hemera::poly::cuda
