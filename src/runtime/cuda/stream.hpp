// CUDA's streams: one for each host thread that uses a backend, or the one that the user gave.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hemera/runtime/queue.hpp"

namespace hemera::runtime::cuda {

/// A stream of one device.
class Stream {
 public:
  /// Makes a stream, which does not wait for the default one, or takes `existing`, which stays its owner's.
  explicit Stream(int device, std::optional<cudaStream_t> existing = {});
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

  /// What is given to this stream from now on runs after what was given to `other`, of any device. Throws
  /// DeviceError.
  void wait_for(const Stream& other) const;
  /// Waits until all that was given has run. Throws DeviceError.
  void synchronize() const;

 private:
  int device_;
  bool owned_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;
  mutable std::mutex reaching_;
};

/// The streams that the operations of one backend run in. Each host thread has one of its own, made when it
/// is first used; from `most` threads on they share. A thread that records a graph does it in a further
/// stream, so that the others go on.
class Streams {
 public:
  static constexpr unsigned most = 16;
  /// Index of the stream that graphs are recorded in, where nothing runs.
  static constexpr unsigned recording = most;

  /// `only`: the stream of all threads, which stays its owner's.
  explicit Streams(int device, std::optional<cudaStream_t> only = {}) : device_(device), only_(only) {}

  [[nodiscard]] int device() const { return device_; }
  /// Which stream is the calling thread's.
  [[nodiscard]] unsigned index() const;
  [[nodiscard]] const Stream& at(unsigned index) const;
  /// The calling thread's.
  [[nodiscard]] const Stream& current() const { return at(index()); }
  /// Whether the calling thread records.
  [[nodiscard]] bool records_here() const { return recorder_.load() == std::this_thread::get_id(); }
  /// Throws DeviceError that names the operation if the calling thread records.
  void refuse_recording(const char* operation, const char* reason) const;
  /// Waits until all that any thread gave has run. Throws nothing: errors surface later.
  void drain() const noexcept;

 private:
  friend class Recorder;

  int device_;
  std::optional<cudaStream_t> only_;
  mutable std::array<std::atomic<const Stream*>, most + 1> streams_{};
  mutable std::mutex making_;
  mutable std::vector<std::unique_ptr<const Stream>> made_;
  mutable std::mutex recording_mutex_;  // one recording at a time
  mutable std::atomic<std::thread::id> recorder_{};
};

/// Operations that a thread gives to a queue run one after the other, in the thread's stream.
class StreamQueue final : public Queue {
 public:
  explicit StreamQueue(std::shared_ptr<const Streams> streams) : streams_(std::move(streams)) {}

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, streams_->device()}; }
  /// Throws DeviceError when an operation has failed on the device.
  void synchronize() override;
  [[nodiscard]] const Streams& streams() const { return *streams_; }

  [[nodiscard]] std::uintptr_t stream() const override;
  void wait_for_stream(std::uintptr_t stream) override;
  void make_stream_wait(std::uintptr_t stream) override;
  void synchronize_device() override;

 private:
  std::shared_ptr<const Streams> streams_;
};

}  // namespace hemera::runtime::cuda
