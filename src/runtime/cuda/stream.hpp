// CUDA's stream as a queue, and the pool of device memory that is ordered by it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::runtime::cuda {

/// A stream of one device.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

/// Operations given to the queues of one stream run one after the other, whichever thread gives them.
class StreamQueue final : public Queue {
 public:
  explicit StreamQueue(std::shared_ptr<const Stream> stream) : stream_(std::move(stream)) {}

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, stream_->device()}; }
  /// Throws DeviceError when an operation has failed on the device.
  void synchronize() override;
  [[nodiscard]] cudaStream_t stream() const { return stream_->get(); }

 private:
  std::shared_ptr<const Stream> stream_;
};

/// Memory of the stream's device. A released block is kept and may be handed out at once: its next user comes
/// later in the stream. All users of the memory must therefore run in this stream. `limit`: bytes that may be
/// taken from the device in all, blocks kept for reuse included; 0: as many as there are.
std::shared_ptr<Memory> make_stream_memory(std::shared_ptr<const Stream> stream, std::size_t limit = 0);

}  // namespace hemera::runtime::cuda
