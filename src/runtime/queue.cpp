#include "hemera/runtime/queue.hpp"

#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::runtime {

namespace {

[[noreturn]] void no_streams(const Queue& queue) {
  throw DeviceError("device '" + queue.device().name() + "' has no streams; give it arrays of the host");
}

}  // namespace

std::uintptr_t Queue::stream() const { no_streams(*this); }
void Queue::wait_for_stream(std::uintptr_t /*stream*/) { no_streams(*this); }
void Queue::make_stream_wait(std::uintptr_t /*stream*/) { no_streams(*this); }
void Queue::synchronize_device() { no_streams(*this); }

std::byte* Workspace::take(std::size_t bytes) {
  const std::size_t needed = aligned(bytes);
  if (needed > buffer_.size() - used_) {
    throw OutOfMemoryError("workspace of " + std::to_string(buffer_.size()) + " bytes has " +
                           std::to_string(buffer_.size() - used_) + " left, but the operation needs " +
                           std::to_string(needed) + "; ask the operation for its workspace size first");
  }
  std::byte* result = buffer_.data() + used_;
  used_ += needed;
  return result;
}

}  // namespace hemera::runtime
