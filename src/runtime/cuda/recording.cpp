#include "runtime/cuda/recording.hpp"

#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {
namespace {

void dissolve(const std::vector<RecordedMemory>& memories) noexcept {
  for (const RecordedMemory& each : memories) each.memory->dissolve(each.arena);
}

}  // namespace

Recording::~Recording() {
  if (graph_ == nullptr || !streams_->of_this_process()) return;
  streams_->drain();  // it may be running
  cudaGraphExecDestroy(graph_);
  dissolve(memories_);
}

void Recording::replay() const {
  streams_->require_this_process();
  streams_->refuse_recording("replaying a graph", "capture the operations themselves");
  streams_->begin_replay();
  const DeviceScope scope(streams_->device());
  check(cudaGraphLaunch(graph_, streams_->current().get()), "replay a graph");
}

Recorder::Recorder(std::shared_ptr<const Streams> streams,
                   std::vector<std::shared_ptr<StreamMemory>> memories)
    : streams_(std::move(streams)) {
  for (auto& memory : memories) memories_.push_back({.memory = std::move(memory)});
  streams_->refuse_recording("capturing a graph", "this thread is capturing one already");
  lock_ = std::unique_lock(streams_->recording_mutex_);
  const DeviceScope scope(streams_->device());
  for (const RecordedMemory& each : memories_) {
    // The recording takes none of these blocks, and can not give them back when it finds no room.
    const std::lock_guard lock(each.memory->mutex_);
    each.memory->give_back_kept();
  }
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "capture a graph");
  for (const RecordedMemory& each : memories_) {
    const std::lock_guard lock(each.memory->mutex_);
    each.memory->recording_ = each.arena;
  }
  streams_->recorder_ = std::this_thread::get_id();
}

cudaStream_t Recorder::stream() const { return streams_->at(Streams::recording).get(); }

void Recorder::leave() {
  streams_->recorder_ = std::thread::id{};
  for (const RecordedMemory& each : memories_) {
    const std::lock_guard lock(each.memory->mutex_);
    each.memory->recording_ = nullptr;
  }
  lock_.unlock();
}

Recorder::~Recorder() {
  if (!lock_.owns_lock()) return;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream(), &graph) == cudaSuccess && graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  leave();
  dissolve(memories_);
}

std::unique_ptr<Recording> Recorder::finish() {
  cudaGraph_t graph = nullptr;
  const cudaError_t captured = cudaStreamEndCapture(stream(), &graph);
  leave();
  std::unique_ptr<Recording> recording(new Recording);
  recording->streams_ = streams_;
  recording->memories_ = memories_;
  cudaError_t error = captured;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&recording->graph_, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (error != cudaSuccess) {
    cudaGetLastError();
    recording->graph_ = nullptr;
    dissolve(memories_);
    check(error, "capture a graph");
  }
  return recording;
}

}  // namespace hemera::runtime::cuda
