#include "runtime/cuda/neighbours.hpp"

#include <algorithm>

#include "runtime/cuda/stream_memory.hpp"

namespace hemera::runtime::cuda {
namespace {

struct Pools {
  ForkSafeMutex mutex;
  std::vector<StreamMemory*> all;

  // Never destroyed: pools may live until the process exits.
  static Pools& instance() {
    static auto* const pools = new Pools;
    return *pools;
  }
};

}  // namespace

void Neighbours::add(StreamMemory& memory) {
  Pools& pools = Pools::instance();
  const std::lock_guard lock(pools.mutex);
  pools.all.push_back(&memory);
}

void Neighbours::remove(StreamMemory& memory) noexcept {
  Pools& pools = Pools::instance();
  const std::lock_guard lock(pools.mutex);
  std::erase(pools.all, &memory);
}

Neighbours::Neighbours(const StreamMemory& own) : only_(Pools::instance().mutex), own_(own) {
  for (StreamMemory* memory : Pools::instance().all) {
    if (!memory->takes_from_the_same(own)) continue;
    still_.emplace_back(memory->mutex_);
    if (memory != &own) others_.push_back(memory);
  }
}

bool Neighbours::can_give_back(const StreamMemory& other) const {
  return own_.recording_ == nullptr && other.recording_ == nullptr;
}

std::size_t Neighbours::kept() const {
  std::size_t bytes = 0;
  for (const StreamMemory* other : others_) {
    if (can_give_back(*other)) bytes += other->kept_bytes_;
  }
  return bytes;
}

void Neighbours::give_back_kept() const noexcept {
  for (StreamMemory* other : others_) {
    if (can_give_back(*other)) other->give_back_kept();
  }
}

std::size_t Neighbours::held() const {
  std::size_t bytes = 0;
  for (const StreamMemory* other : others_) bytes += other->taken_;
  return bytes;
}

}  // namespace hemera::runtime::cuda
