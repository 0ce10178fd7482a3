#include "runtime/cuda/stream.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {
namespace {

// Sizes are rounded up to one of eight classes per power of two, so that a block fits the next request of
// about its size and at most an eighth is lost.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t smallest = 4096;
  std::size_t power = smallest;
  while (power * 2 < bytes) power *= 2;
  const std::size_t step = bytes <= smallest ? 256 : power / 8;
  return bytes == 0 ? step : (bytes + step - 1) / step * step;
}

class StreamMemory final : public Memory {
 public:
  StreamMemory(std::shared_ptr<const Stream> stream, std::size_t limit)
      : stream_(std::move(stream)), limit_(limit) {}

  ~StreamMemory() override { give_back_kept(); }

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, stream_->device()}; }

  std::byte* allocate(std::size_t bytes) override {
    if (bytes > SIZE_MAX / 2) fail(bytes);
    const std::size_t block_bytes = size_class(bytes);
    const std::lock_guard lock(mutex_);
    auto found = kept_.find(block_bytes);
    if (found != kept_.end() && !found->second.empty()) {
      std::byte* block = found->second.back();
      found->second.pop_back();
      kept_bytes_ -= block_bytes;
      used_ += block_bytes;
      return block;
    }
    const DeviceScope scope(stream_->device());
    if (limit_ != 0 && used_ + kept_bytes_ + block_bytes > limit_) give_back_kept();
    void* block = nullptr;
    if (limit_ == 0 || used_ + block_bytes <= limit_) {
      cudaError_t error = cudaMalloc(&block, block_bytes);
      if (error == cudaErrorMemoryAllocation && kept_bytes_ != 0) {
        cudaGetLastError();  // it stays otherwise
        give_back_kept();
        error = cudaMalloc(&block, block_bytes);
      }
      if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
      } else {
        check(error, "allocate device memory");
      }
    }
    if (block == nullptr) fail(bytes);
    used_ += block_bytes;
    return static_cast<std::byte*>(block);
  }

  void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy) noexcept override {
    const std::size_t block_bytes = size_class(bytes);
    const std::lock_guard lock(mutex_);
    used_ -= block_bytes;
    if (secrecy == Secrecy::secret) cudaMemsetAsync(pointer, 0, bytes, stream_->get());
    try {
      kept_[block_bytes].push_back(pointer);
      kept_bytes_ += block_bytes;
    } catch (const std::bad_alloc&) {
      cudaFree(pointer);
    }
  }

  [[nodiscard]] std::size_t used() const override {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  // cudaFree waits for the device, so nothing still runs on the blocks.
  void give_back_kept() noexcept {
    for (auto& [bytes, blocks] : kept_) {
      for (std::byte* block : blocks) cudaFree(block);
    }
    kept_.clear();
    kept_bytes_ = 0;
  }

  [[noreturn]] void fail(std::size_t bytes) const {
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    throw OutOfMemoryError(
        "out of memory of device " + device().name() + ": asked for " + std::to_string(bytes) +
        " bytes with " + std::to_string(used_) + " in use and " + std::to_string(free_bytes) + " free" +
        (limit_ == 0 ? "" : ", under a limit of " + std::to_string(limit_)) +
        "; use a smaller batch, fewer keys or a smaller ring" + (limit_ == 0 ? "" : ", or a higher limit"));
  }

  const std::shared_ptr<const Stream> stream_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t used_ = 0;
};

}  // namespace

Stream::Stream(int device) : device_(device) {
  const DeviceScope scope(device);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

void StreamQueue::synchronize() { check(cudaStreamSynchronize(stream_->get()), "synchronize"); }

std::shared_ptr<Memory> make_stream_memory(std::shared_ptr<const Stream> stream, std::size_t limit) {
  return std::make_shared<StreamMemory>(std::move(stream), limit);
}

}  // namespace hemera::runtime::cuda
