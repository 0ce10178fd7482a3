// CUDA's stream as a queue, and the pool of device memory that is ordered by it.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::runtime::cuda {

/// A stream of one device. While one thread records a graph in it, the others wait.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

  /// Held by whoever gives the stream work. Waits while another thread records.
  [[nodiscard]] std::shared_lock<std::shared_mutex> enter() const;
  /// Whether the calling thread records.
  [[nodiscard]] bool records_here() const { return recorder_.load() == std::this_thread::get_id(); }
  /// Throws DeviceError that names the operation if the calling thread records.
  void refuse_recording(const char* operation, const char* reason) const;

 private:
  friend class Recorder;

  int device_;
  cudaStream_t stream_ = nullptr;
  mutable std::shared_mutex mutex_;
  mutable std::atomic<std::thread::id> recorder_{};
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
/// later in the stream. All users of the memory must therefore run in this stream.
///
/// While a thread records, its blocks belong to the recording: they are reused within it alone, because a
/// replay uses the same addresses again. So do blocks that it releases.
class StreamMemory final : public Memory {
 public:
  /// `limit`: bytes that may be taken from the device in all, blocks kept for reuse included; 0: as many as
  /// there are.
  explicit StreamMemory(std::shared_ptr<const Stream> stream, std::size_t limit = 0)
      : stream_(std::move(stream)), limit_(limit) {}
  ~StreamMemory() override;

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, stream_->device()}; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy) noexcept override;
  [[nodiscard]] std::size_t used() const override;

 private:
  friend class Recorder;
  friend class Recording;
  using Kept = std::map<std::size_t, std::vector<std::byte*>>;  // by bytes
  struct Arena {
    Kept free;
    std::vector<std::pair<std::byte*, std::size_t>>
        parked;  // released, and not to be written within the recording
  };

  std::byte* take(Kept& kept, std::size_t block_bytes);
  std::byte* allocate_block(std::size_t bytes, std::size_t block_bytes);
  /// The blocks of an arena become ordinary ones.
  void dissolve(const std::shared_ptr<Arena>& arena) noexcept;
  void give_back_kept() noexcept;
  [[noreturn]] void fail(std::size_t bytes) const;

  const std::shared_ptr<const Stream> stream_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  Kept kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t used_ = 0;
  std::shared_ptr<Arena> recording_;  // that of the thread that records
  std::unordered_map<std::byte*, std::shared_ptr<Arena>> owners_;
};

}  // namespace hemera::runtime::cuda
