#include "hemera/runtime/queue.hpp"

#include <algorithm>
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
std::unique_ptr<Queue::Aside> Queue::copying_to(Device /*device*/) const { return nullptr; }

void Workspace::reserve(std::size_t bytes) {
  if (bytes > buffer_.size() && used_ == 0) {
    buffer_ = {};  // goes back first: it may be handed out again
    buffer_ = Buffer(memory_, bytes, secrecy_);
  }
}

std::byte* Workspace::take(std::size_t bytes) {
  const std::size_t needed = aligned(bytes);
  if (measures_) {
    // Any address will do that is aligned and not null.
    auto* const result = reinterpret_cast<std::byte*>(std::size_t{64} + used_);
    used_ += needed;
    peak_ = std::max(peak_, used_);
    return result;
  }
  if (needed > buffer_.size() - used_) {
    throw OutOfMemoryError("workspace of " + std::to_string(buffer_.size()) + " bytes has " +
                           std::to_string(buffer_.size() - used_) + " left, but the operation needs " +
                           std::to_string(needed) +
                           "; measure it with Workspace::measuring() first, or give it one that grows");
  }
  std::byte* result = buffer_.data() + used_;
  used_ += needed;
  peak_ = std::max(peak_, used_);
  return result;
}

}  // namespace hemera::runtime
