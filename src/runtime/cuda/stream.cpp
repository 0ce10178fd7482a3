#include "runtime/cuda/stream.hpp"

#include <string>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {
namespace {

// Threads are numbered in the order in which they first use a GPU, so that few share a stream.
unsigned thread_number() {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next++;
  return number;
}

}  // namespace

Stream::Stream(int device, std::optional<cudaStream_t> existing)
    : device_(device), owned_(!existing.has_value()), stream_(existing.value_or(nullptr)) {
  const DeviceScope scope(device);
  if (owned_) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  const cudaError_t made = cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming);
  if (made != cudaSuccess && owned_) cudaStreamDestroy(stream_);
  check(made, "make an event");
}

Stream::~Stream() {
  cudaEventDestroy(reached_);
  if (owned_) cudaStreamDestroy(stream_);
}

void Stream::wait_for(const Stream& other) const {
  const std::lock_guard lock(other.reaching_);
  {
    const DeviceScope scope(other.device());
    check(cudaEventRecord(other.reached_, other.get()), "order streams");
  }
  const DeviceScope scope(device_);
  check(cudaStreamWaitEvent(stream_, other.reached_, 0), "order streams");
}

void Stream::synchronize() const { check(cudaStreamSynchronize(stream_), "synchronize"); }

unsigned Streams::index() const {
  if (records_here()) return recording;
  return only_ ? 0 : thread_number() % most;
}

const Stream& Streams::at(unsigned index) const {
  if (const Stream* stream = streams_[index].load()) return *stream;
  const std::lock_guard lock(making_);
  if (const Stream* stream = streams_[index].load()) return *stream;
  made_.push_back(std::make_unique<const Stream>(device_, index == recording ? std::nullopt : only_));
  streams_[index] = made_.back().get();
  return *made_.back();
}

void Streams::refuse_recording(const char* operation, const char* reason) const {
  if (!records_here()) return;
  throw DeviceError(std::string(operation) + " can not be part of a captured graph: " + reason);
}

void Streams::drain() const noexcept {
  for (unsigned index = 0; index < most; ++index) {
    if (const Stream* stream = streams_[index].load()) cudaStreamSynchronize(stream->get());
  }
}

void StreamQueue::synchronize() {
  streams_->refuse_recording("waiting for the device", "nothing runs while a graph is captured");
  streams_->current().synchronize();
}

std::uintptr_t StreamQueue::stream() const {
  return reinterpret_cast<std::uintptr_t>(streams_->current().get());
}

namespace {

// Somebody else's.
Stream foreign(int device, std::uintptr_t stream) {
  return Stream(device, reinterpret_cast<cudaStream_t>(stream));
}

constexpr const char* no_foreign = "a graph does not wait for others; do it before or after";

}  // namespace

void StreamQueue::wait_for_stream(std::uintptr_t stream) {
  streams_->refuse_recording("waiting for a stream", no_foreign);
  streams_->current().wait_for(foreign(streams_->device(), stream));
}

void StreamQueue::make_stream_wait(std::uintptr_t stream) {
  streams_->refuse_recording("making a stream wait", no_foreign);
  foreign(streams_->device(), stream).wait_for(streams_->current());
}

void StreamQueue::synchronize_device() {
  streams_->refuse_recording("waiting for the device", "nothing runs while a graph is captured");
  const DeviceScope scope(streams_->device());
  check(cudaDeviceSynchronize(), "synchronize");
}

}  // namespace hemera::runtime::cuda
