// The memory pools of a process that take from the same memory, and give back what they keep for each other.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "hemera/runtime/fork.hpp"

namespace hemera::runtime::cuda {

class StreamMemory;

/// A pool and all others of this process that take from the same memory: that of a device, or the host's that
/// is pinned. While this lives, all of them stand still, so that nothing is kept anew before the pool has
/// asked the driver again.
///
/// No deadlock: this alone holds the mutexes of several pools, there is one of it at a time, and a thread
/// makes it while it holds none.
class Neighbours {
 public:
  explicit Neighbours(const StreamMemory& own);
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  /// The bytes that the others keep for reuse and can give back. A pool can not while a recording is made of
  /// it, as that must not wait for the device; for the same reason none can where `own` is recorded.
  [[nodiscard]] std::size_t kept() const;
  /// These go back to the driver.
  void give_back_kept() const noexcept;
  /// The bytes that the others have from the driver, in use or kept.
  [[nodiscard]] std::size_t held() const;

  /// The beginning and the end of a pool's life.
  static void add(StreamMemory& memory);
  static void remove(StreamMemory& memory) noexcept;

 private:
  [[nodiscard]] bool can_give_back(const StreamMemory& other) const;

  std::unique_lock<ForkSafeMutex> only_;
  const StreamMemory& own_;
  std::vector<StreamMemory*> others_;
  std::vector<std::unique_lock<ForkSafeMutex>> still_;
};

}  // namespace hemera::runtime::cuda
