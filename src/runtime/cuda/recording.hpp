// CUDA graphs: a sequence of operations that is recorded once and given to the device as one.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "runtime/cuda/stream_memory.hpp"

namespace hemera::runtime::cuda {

/// A memory of the device, and the part of it that a recording has for itself.
struct RecordedMemory {
  std::shared_ptr<StreamMemory> memory;
  std::shared_ptr<StreamMemory::Arena> arena = std::make_shared<StreamMemory::Arena>();
};

/// A recorded graph and the memory that it works in.
class Recording {
 public:
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Runs it in the calling thread's stream, after earlier replays. Throws DeviceError.
  void replay() const;

 private:
  friend class Recorder;
  Recording() = default;

  std::shared_ptr<const Streams> streams_;
  std::vector<RecordedMemory> memories_;
  cudaGraphExec_t graph_ = nullptr;
};

/// Records what the calling thread gives to its stream until `finish`, or until its destruction, which
/// abandons it. Other threads go on; their recordings wait. DeviceError for a second one in this thread.
class Recorder {
 public:
  /// `memories`: all that the operations use buffers of.
  Recorder(std::shared_ptr<const Streams> streams, std::vector<std::shared_ptr<StreamMemory>> memories);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Throws DeviceError if something that a graph can not have was given to the stream.
  [[nodiscard]] std::unique_ptr<Recording> finish();

 private:
  [[nodiscard]] cudaStream_t stream() const;
  void leave();

  std::shared_ptr<const Streams> streams_;
  std::vector<RecordedMemory> memories_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace hemera::runtime::cuda
