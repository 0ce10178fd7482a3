#include "runtime/cuda/stream_memory.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/neighbours.hpp"
#include "runtime/size_class.hpp"

namespace hemera::runtime::cuda {
namespace {

constexpr std::size_t alignment = 256;
/// A kept block is half as large again as what was asked for, at most. Encrypted integers, whose values have
/// all levels, then take 1.5 times of their peak, in place of twice as much; without a bound, small values in
/// large blocks make it more than without reuse.
constexpr std::size_t most_unused = 2;  // as a part of the request

std::uint32_t bit(unsigned index) { return std::uint32_t{1} << index; }

template <typename Body>
void for_each_stream(std::uint32_t streams, const Body& body) {
  for (; streams != 0; streams &= streams - 1) body(static_cast<unsigned>(std::countr_zero(streams)));
}

}  // namespace

StreamMemory::StreamMemory(std::shared_ptr<const Streams> streams, std::size_t limit, Place place)
    : Memory(true), streams_(std::move(streams)), limit_(limit), place_(place) {
  Neighbours::add(*this);
}

StreamMemory::~StreamMemory() {
  Neighbours::remove(*this);
  if (streams_->of_this_process()) give_back_kept();
}

// --- Order of uses ---

void StreamMemory::before_use(std::byte* pointer, BufferUses& uses, Access access) {
  streams_->require_this_process();
  const unsigned own = streams_->index();
  if (own == Streams::recording) lend(pointer);
  std::uint32_t others = 0;
  if (access == Access::read) {
    const std::uint32_t seen = uses.streams.load();
    if (seen != 0 && (seen & bit(own)) == 0) others = bit(uses.writer.load());
  } else {
    others = uses.streams.load() & ~bit(own);
  }
  for_each_stream(streams_->waits(own, others), [&](unsigned other) {
    if (own == Streams::recording) {
      // A graph can not wait for what is not in it.
      streams_->at(other).synchronize();
    } else {
      streams_->at(own).wait_for(streams_->at(other));
    }
  });
  if (access == Access::read) {
    if ((uses.streams.load() & bit(own)) == 0 && uses.streams.fetch_or(bit(own)) == 0) uses.writer = own;
  } else if (uses.streams.load() != bit(own)) {
    uses.streams = bit(own);
    uses.writer = own;
  }
}

// --- Blocks of before a recording ---

void StreamMemory::lend(std::byte* pointer) {
  const std::lock_guard lock(mutex_);
  const auto owner = owners_.find(pointer);
  if (owner != owners_.end() && owner->second == recording_) return;
  if (recording_->borrowed.insert(pointer).second) ++lent_[pointer].arenas;
}

void StreamMemory::take_back(std::byte* pointer) noexcept {
  const auto found = lent_.find(pointer);
  if (--found->second.arenas != 0) return;
  const std::optional<Released> released = found->second.released;
  lent_.erase(found);
  if (!released) return;
  used_ -= size_class(released->bytes, alignment);
  put_away(*released, 0);
}

// --- Blocks ---

std::byte* StreamMemory::Kept::take(std::size_t least, std::size_t most) {
  for (auto found = blocks.lower_bound(least); found != blocks.end() && found->first <= most; ++found) {
    if (found->second.empty()) continue;
    std::byte* block = found->second.back();
    found->second.pop_back();
    return block;
  }
  return nullptr;
}

std::byte* StreamMemory::take_kept(std::size_t least, std::size_t most) {
  const unsigned own = streams_->index();
  if (std::byte* block = kept_[own].take(least, most)) return block;
  for (unsigned other = 0; other < Streams::most; ++other) {
    if (other == own) continue;
    if (std::byte* block = kept_[other].take(least, most)) {
      streams_->at(own).wait_for(streams_->at(other));
      return block;
    }
  }
  return nullptr;
}

bool StreamMemory::takes_from_the_same(const StreamMemory& other) const {
  return streams_->of_this_process() && place_ == other.place_ &&
         (place_ == Place::pinned_host || streams_->device() == other.streams_->device());
}

std::byte* StreamMemory::allocate(std::size_t bytes) {
  streams_->require_this_process();
  if (bytes > SIZE_MAX / 2) fail(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (std::byte* block = try_allocate(bytes)) return block;
  }
  const Neighbours neighbours(*this);
  neighbours.give_back_kept();
  if (std::byte* block = try_allocate(bytes)) return block;
  fail(bytes, neighbours.held());
}

std::byte* StreamMemory::try_allocate(std::size_t bytes) {
  const std::size_t block_bytes = size_class(bytes, alignment);
  const std::size_t most = block_bytes + block_bytes / most_unused;
  std::byte* block = nullptr;
  if (streams_->records_here()) {
    block = recording_->free.take(block_bytes, most);
    if (block == nullptr && !is_above_limit(block_bytes)) {
      block = allocate_block(bytes, block_bytes);
      if (block != nullptr) owners_[block] = recording_;
    }
    // Where there is no more, a block that is much too large does as well.
    if (block == nullptr) block = recording_->free.take(block_bytes, SIZE_MAX);
    if (block == nullptr && is_above_limit(block_bytes)) fail(bytes);
    if (block == nullptr) return nullptr;
  } else {
    block = take_kept(block_bytes, block_bytes);
    if (block == nullptr) block = take_kept(block_bytes, most);
    if (block != nullptr) {
      kept_bytes_ -= sizes_.at(block);
    } else {
      block = allocate_block(bytes, block_bytes);
      if (block == nullptr) return nullptr;
    }
  }
  used_ += block_bytes;
  raise_peak(used_);
  return block;
}

bool StreamMemory::is_above_limit(std::size_t block_bytes) const {
  return limit_ != 0 && taken_ + block_bytes > limit_;
}

std::byte* StreamMemory::allocate_block(std::size_t bytes, std::size_t block_bytes) {
  const DeviceScope scope(streams_->device());
  // cudaFree would wait for the device, which a capture forbids.
  const bool may_free = recording_ == nullptr;
  if (is_above_limit(block_bytes) && may_free) give_back_kept();
  if (is_above_limit(block_bytes)) fail(bytes);
  std::byte* block = take(block_bytes);
  if (block == nullptr && kept_bytes_ != 0 && may_free) {
    give_back_kept();
    block = take(block_bytes);
  }
  if (block == nullptr) return nullptr;
  sizes_[block] = block_bytes;
  taken_ += block_bytes;
  return block;
}

std::byte* StreamMemory::take(std::size_t block_bytes) const {
  void* block = nullptr;
  const cudaError_t error = place_ == Place::device
                                ? cudaMalloc(&block, block_bytes)
                                : cudaHostAlloc(&block, block_bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it stays otherwise
    return nullptr;
  }
  check(error, place_ == Place::device ? "allocate device memory" : "allocate pinned memory of the host");
  return static_cast<std::byte*>(block);
}

void StreamMemory::give_back(std::byte* block) noexcept {
  const auto size = sizes_.find(block);
  taken_ -= size->second;
  sizes_.erase(size);
  if (place_ == Place::device) {
    cudaFree(block);
  } else {
    cudaFreeHost(block);
  }
}

void StreamMemory::keep(const Released& block, std::uint32_t uses) {
  const unsigned own = streams_->index();
  const Stream& stream = streams_->at(own);
  for_each_stream(streams_->waits(own, streams_->with_followers(uses)),
                  [&](unsigned other) { stream.wait_for(streams_->at(other)); });
  if (block.secrecy == Secrecy::secret) {
    check(cudaMemsetAsync(block.pointer, 0, block.bytes, stream.get()), "zero a secret");
  }
  const std::size_t block_bytes = sizes_.at(block.pointer);
  kept_[own].put(block.pointer, block_bytes);
  kept_bytes_ += block_bytes;
}

void StreamMemory::put_away(const Released& block, std::uint32_t uses) noexcept {
  const bool records = streams_->records_here();
  try {
    const auto owner = owners_.find(block.pointer);
    if (owner == owners_.end() && !records) {
      keep(block, uses);
    } else if (owner == owners_.end()) {
      // The work that it waits for is not in the recording.
      recording_->parked.push_back(block);
    } else if (records && owner->second == recording_) {
      if (block.secrecy == Secrecy::secret) {
        cudaMemsetAsync(block.pointer, 0, block.bytes, streams_->current().get());
      }
      recording_->free.put(block.pointer, sizes_.at(block.pointer));
    } else {
      owner->second->parked.push_back(block);
    }
  } catch (const std::exception&) {
    // No room to remember the block, or the device has failed.
    give_back(block.pointer);
  }
}

void StreamMemory::release(std::byte* pointer, std::size_t bytes, Secrecy secrecy,
                           const BufferUses& uses) noexcept {
  if (!streams_->of_this_process()) return;
  const std::size_t block_bytes = size_class(bytes, alignment);
  const std::lock_guard lock(mutex_);
  const Released block{pointer, bytes, secrecy};
  const auto lent = lent_.find(pointer);
  if (lent != lent_.end()) {
    lent->second.released = block;
    return;
  }
  used_ -= block_bytes;
  put_away(block, uses.streams.load());
}

std::size_t StreamMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t StreamMemory::available() const {
  if (place_ == Place::pinned_host) return SIZE_MAX;
  const DeviceScope scope(streams_->device());
  const Neighbours neighbours(*this);
  std::size_t free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "ask for the device's free memory");
  const std::size_t room = free_bytes + kept_bytes_ + neighbours.kept();
  return limit_ == 0 ? room : std::min(room, limit_ - std::min(limit_, used_));
}

// cudaFree and cudaFreeHost wait for the device, so nothing still runs on the blocks.
void StreamMemory::give_back_kept() noexcept {
  for (Kept& kept : kept_) {
    for (auto& [bytes, blocks] : kept.blocks) {
      for (std::byte* block : blocks) give_back(block);
    }
    kept.blocks.clear();
  }
  kept_bytes_ = 0;
}

void StreamMemory::fail(std::size_t bytes, std::size_t others) const {
  if (place_ == Place::pinned_host) {
    throw OutOfMemoryError("out of pinned memory of the host for keys of device " + device().name() +
                           ": asked for " + std::to_string(bytes) + " bytes with " + std::to_string(used_) +
                           " in use; use fewer keys, keep them on the device, or raise the limit of locked "
                           "memory");
  }
  std::size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  throw OutOfMemoryError(
      "out of memory of device " + device().name() + ": asked for " + std::to_string(bytes) + " bytes with " +
      std::to_string(used_) + " in use" +
      (others == 0 ? "" : ", " + std::to_string(others) + " held by other contexts of this process") +
      " and " + std::to_string(free_bytes) + " free" +
      (limit_ == 0 ? "" : ", under a limit of " + std::to_string(limit_)) +
      "; use a smaller batch, fewer keys or a smaller ring" + (limit_ == 0 ? "" : ", or a higher limit"));
}

void StreamMemory::dissolve(const std::shared_ptr<Arena>& arena) noexcept {
  if (!streams_->of_this_process()) return;
  streams_->drain();
  const std::lock_guard lock(mutex_);
  // Blocks that are still in use become ordinary ones, and are kept when they are released.
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == arena; });
  for (const auto& [bytes, blocks] : arena->free.blocks) {
    for (std::byte* block : blocks) put_away({block, bytes, Secrecy::open}, 0);
  }
  for (const Released& block : arena->parked) put_away(block, 0);
  for (std::byte* block : arena->borrowed) take_back(block);
  *arena = {};
}

}  // namespace hemera::runtime::cuda
