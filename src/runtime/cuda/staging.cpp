#include "runtime/cuda/staging.hpp"

#include <algorithm>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::runtime::cuda {

Staging::Staging(std::shared_ptr<const Streams> streams, int threads)
    : streams_(std::move(streams)),
      threads_(std::min(most_threads, threads == 0 ? available_processors() : threads)),
      ordinary_memory_(make_host_memory(most_blocks * block_bytes)) {
  free_.reserve(most_blocks);
}

// Whoever copied has waited for it.
Staging::~Staging() {
  if (!streams_->of_this_process()) return;
  for (const Block& block : free_) {
    cudaEventDestroy(block.copied);
    cudaFreeHost(block.data);
  }
}

ThreadPool& Staging::pool() {
  std::call_once(pool_once_, [&] {
    try {
      pool_ = std::make_unique<ThreadPool>(threads_);
    } catch (const DeviceError&) {
      // They can not be started: the caller's does all.
      pool_ = std::make_unique<ThreadPool>(1);
    }
  });
  return *pool_;
}

// --- Blocks ---

Staging::Block Staging::make_block() {
  const DeviceScope scope(streams_->device());
  Block block;
  void* data = nullptr;
  if (cudaHostAlloc(&data, block_bytes, cudaHostAllocPortable) != cudaSuccess) {
    cudaGetLastError();  // it stays otherwise
    return block;
  }
  const cudaError_t made = cudaEventCreateWithFlags(&block.copied, cudaEventDisableTiming);
  if (made != cudaSuccess) cudaFreeHost(data);
  check(made, "make an event");
  block.data = static_cast<std::byte*>(data);
  return block;
}

std::vector<Staging::Block> Staging::take(std::size_t wanted) {
  streams_->require_this_process();
  std::vector<Block> taken;
  taken.reserve(blocks_of_copy);
  const std::lock_guard lock(mutex_);
  while (taken.size() < wanted) {
    if (!free_.empty()) {
      taken.push_back(free_.back());
      free_.pop_back();
    } else if (made_ < most_blocks && !refused_) {
      const Block block = make_block();
      refused_ = block.data == nullptr;
      if (refused_) break;
      ++made_;
      taken.push_back(block);
    } else {
      break;
    }
  }
  return taken;
}

void Staging::give_back(const std::vector<Block>& blocks) noexcept {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), blocks.begin(), blocks.end());  // there is room for all
}

Staging::Lease::Lease(Staging& staging, const Copy& copy)
    : staging_(staging), copy_(copy), blocks_(staging.take(std::min(copy.parts, blocks_of_copy))) {
  if (!blocks_.empty()) return;
  ordinary_ = Buffer(staging_.ordinary_memory_, copy_.part_bytes, copy_.secrecy);
  blocks_.push_back({.data = ordinary_.data()});
}

// Something failed: what was given to the stream still runs.
Staging::Lease::~Lease() {
  if (ended_ < blocks_.size()) {
    cudaStreamSynchronize(copy_.stream);
    for (const Block& block : blocks_) secure_zero(block.data, copy_.part_bytes);
  }
  if (!ordinary_) staging_.give_back(blocks_);
}

void Staging::Lease::end(std::size_t part) {
  ++ended_;
  if (copy_.secrecy == Secrecy::open) return;
  constexpr std::size_t piece = std::size_t{256} << 10;
  const std::size_t pieces = (copy_.part_bytes + piece - 1) / piece;
  staging_.pool().parallel_for(pieces, [&](std::size_t i) {
    const std::size_t begin = i * piece;
    secure_zero(block(part).data + begin, std::min(piece, copy_.part_bytes - begin));
  });
}

void Staging::Lease::on_host(std::size_t part) { copy_.on_host(part, block(part).data); }

void Staging::Lease::on_device(std::size_t part) {
  copy_.on_device(part, block(part).data);
  if (!ordinary_) check(cudaEventRecord(block(part).copied, copy_.stream), "copy from or to the host");
}

void Staging::Lease::wait(std::size_t part) const {
  if (ordinary_) {
    check(cudaStreamSynchronize(copy_.stream), "copy from or to the host");
  } else {
    check(cudaEventSynchronize(block(part).copied), "copy from or to the host");
  }
}

// --- Copies ---

void Staging::upload(const Copy& copy) {
  if (copy.parts == 0) return;
  Lease blocks(*this, copy);
  for (std::size_t part = 0; part < copy.parts; ++part) {
    if (part >= blocks.size()) blocks.wait(part);
    blocks.on_host(part);
    blocks.on_device(part);
  }
  for (std::size_t part = copy.parts - blocks.size(); part < copy.parts; ++part) {
    blocks.wait(part);
    blocks.end(part);
  }
}

void Staging::download(const Copy& copy) {
  if (copy.parts == 0) return;
  Lease blocks(*this, copy);
  const std::size_t ahead = blocks.size();
  for (std::size_t part = 0; part < ahead; ++part) blocks.on_device(part);
  for (std::size_t part = 0; part < copy.parts; ++part) {
    blocks.wait(part);
    blocks.on_host(part);
    if (part + ahead < copy.parts) {
      blocks.on_device(part + ahead);
    } else {
      blocks.end(part);
    }
  }
}

}  // namespace hemera::runtime::cuda
