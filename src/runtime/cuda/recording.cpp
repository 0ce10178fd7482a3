#include "runtime/cuda/recording.hpp"

#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {

Recording::~Recording() {
  if (graph_ == nullptr) return;
  cudaStreamSynchronize(stream_->get());  // it may be running
  cudaGraphExecDestroy(graph_);
  memory_->dissolve(arena_);
}

void Recording::replay() const {
  stream_->refuse_recording("replaying a graph", "capture the operations themselves");
  const auto entered = stream_->enter();
  const DeviceScope scope(stream_->device());
  check(cudaGraphLaunch(graph_, stream_->get()), "replay a graph");
}

Recorder::Recorder(std::shared_ptr<const Stream> stream, std::shared_ptr<StreamMemory> memory)
    : stream_(std::move(stream)),
      memory_(std::move(memory)),
      arena_(std::make_shared<StreamMemory::Arena>()) {
  stream_->refuse_recording("capturing a graph", "this thread is capturing one already");
  lock_ = std::unique_lock(stream_->mutex_);
  const DeviceScope scope(stream_->device());
  check(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeRelaxed), "capture a graph");
  stream_->recorder_ = std::this_thread::get_id();
  const std::lock_guard lock(memory_->mutex_);
  memory_->recording_ = arena_;
}

void Recorder::leave() {
  {
    const std::lock_guard lock(memory_->mutex_);
    memory_->recording_ = nullptr;
  }
  stream_->recorder_ = std::thread::id{};
  lock_.unlock();
}

Recorder::~Recorder() {
  if (!lock_.owns_lock()) return;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_->get(), &graph) == cudaSuccess && graph != nullptr)
    cudaGraphDestroy(graph);
  cudaGetLastError();
  leave();
  memory_->dissolve(arena_);
}

std::unique_ptr<Recording> Recorder::finish() {
  cudaGraph_t graph = nullptr;
  const cudaError_t captured = cudaStreamEndCapture(stream_->get(), &graph);
  leave();
  std::unique_ptr<Recording> recording(new Recording);
  recording->stream_ = stream_;
  recording->memory_ = memory_;
  recording->arena_ = arena_;
  cudaError_t error = captured;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&recording->graph_, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (error != cudaSuccess) {
    cudaGetLastError();
    recording->graph_ = nullptr;
    memory_->dissolve(arena_);
    check(error, "capture a graph");
  }
  return recording;
}

}  // namespace hemera::runtime::cuda
