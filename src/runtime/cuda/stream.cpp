#include "runtime/cuda/stream.hpp"

#include <string>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/size_class.hpp"

namespace hemera::runtime::cuda {
namespace {

constexpr std::size_t alignment = 256;

}  // namespace

Stream::Stream(int device) : device_(device) {
  const DeviceScope scope(device);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

std::shared_lock<std::shared_mutex> Stream::enter() const {
  if (records_here()) return {};  // it holds the mutex alone
  return std::shared_lock(mutex_);
}

void Stream::refuse_recording(const char* operation, const char* reason) const {
  if (!records_here()) return;
  throw DeviceError(std::string(operation) + " can not be part of a captured graph: " + reason);
}

void StreamQueue::synchronize() {
  stream_->refuse_recording("waiting for the device", "nothing runs while a graph is captured");
  check(cudaStreamSynchronize(stream_->get()), "synchronize");
}

StreamMemory::~StreamMemory() { give_back_kept(); }

std::byte* StreamMemory::take(Kept& kept, std::size_t block_bytes) {
  const auto found = kept.find(block_bytes);
  if (found == kept.end() || found->second.empty()) return nullptr;
  std::byte* block = found->second.back();
  found->second.pop_back();
  return block;
}

std::byte* StreamMemory::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) fail(bytes);
  const std::size_t block_bytes = size_class(bytes, alignment);
  const std::lock_guard lock(mutex_);
  if (recording_ != nullptr && stream_->records_here()) {
    std::byte* block = take(recording_->free, block_bytes);
    if (block == nullptr) {
      block = allocate_block(bytes, block_bytes);
      owners_[block] = recording_;
    }
    used_ += block_bytes;
    return block;
  }
  std::byte* block = take(kept_, block_bytes);
  if (block != nullptr) {
    kept_bytes_ -= block_bytes;
  } else {
    block = allocate_block(bytes, block_bytes);
  }
  used_ += block_bytes;
  return block;
}

std::byte* StreamMemory::allocate_block(std::size_t bytes, std::size_t block_bytes) {
  const DeviceScope scope(stream_->device());
  const bool records = recording_ != nullptr && stream_->records_here();
  // cudaFree would wait for the device, which a capture forbids.
  if (limit_ != 0 && used_ + kept_bytes_ + block_bytes > limit_ && !records) give_back_kept();
  if (limit_ != 0 && used_ + kept_bytes_ + block_bytes > limit_) fail(bytes);
  void* block = nullptr;
  cudaError_t error = cudaMalloc(&block, block_bytes);
  if (error == cudaErrorMemoryAllocation && kept_bytes_ != 0 && !records) {
    cudaGetLastError();  // it stays otherwise
    give_back_kept();
    error = cudaMalloc(&block, block_bytes);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(bytes);
  }
  check(error, "allocate device memory");
  return static_cast<std::byte*>(block);
}

void StreamMemory::release(std::byte* pointer, std::size_t bytes, Secrecy secrecy) noexcept {
  const std::size_t block_bytes = size_class(bytes, alignment);
  const auto entered = stream_->enter();
  const std::lock_guard lock(mutex_);
  used_ -= block_bytes;
  if (secrecy == Secrecy::secret) cudaMemsetAsync(pointer, 0, bytes, stream_->get());
  try {
    if (const auto owner = owners_.find(pointer); owner != owners_.end()) {
      owner->second->free[block_bytes].push_back(pointer);
    } else if (recording_ != nullptr && stream_->records_here()) {
      // It was filled before the recording, whose replays read it again.
      owners_[pointer] = recording_;
      recording_->parked.emplace_back(pointer, block_bytes);
    } else {
      kept_[block_bytes].push_back(pointer);
      kept_bytes_ += block_bytes;
    }
  } catch (const std::bad_alloc&) {
    cudaFree(pointer);
  }
}

std::size_t StreamMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void StreamMemory::dissolve(const std::shared_ptr<Arena>& arena) noexcept {
  const std::lock_guard lock(mutex_);
  // Blocks that are still in use become ordinary ones, and are kept when they are released.
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == arena; });
  for (const auto& [pointer, bytes] : arena->parked) arena->free[bytes].push_back(pointer);
  for (auto& [bytes, blocks] : arena->free) {
    kept_bytes_ += bytes * blocks.size();
    auto& kept = kept_[bytes];
    kept.insert(kept.end(), blocks.begin(), blocks.end());
  }
  arena->free.clear();
  arena->parked.clear();
}

// cudaFree waits for the device, so nothing still runs on the blocks.
void StreamMemory::give_back_kept() noexcept {
  for (auto& [bytes, blocks] : kept_) {
    for (std::byte* block : blocks) cudaFree(block);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

void StreamMemory::fail(std::size_t bytes) const {
  std::size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  throw OutOfMemoryError(
      "out of memory of device " + device().name() + ": asked for " + std::to_string(bytes) + " bytes with " +
      std::to_string(used_) + " in use and " + std::to_string(free_bytes) + " free" +
      (limit_ == 0 ? "" : ", under a limit of " + std::to_string(limit_)) +
      "; use a smaller batch, fewer keys or a smaller ring" + (limit_ == 0 ? "" : ", or a higher limit"));
}

}  // namespace hemera::runtime::cuda
