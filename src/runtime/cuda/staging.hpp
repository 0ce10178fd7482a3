// Pinned host memory, by way of which copies between the host and a device go.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::runtime::cuda {

/// A few blocks of pinned memory, made when they are first needed and kept. A copy goes through them part by
/// part: while the device copies one, threads of the host make or take another.
///
/// Where no block can be had, because the system lets no more memory be pinned or too many threads copy at
/// once, an ordinary one takes its place, which CUDA stages itself. Keys and messages pass, so what a copy
/// used is zeroed at its end, unless all of it is open. Thread-safe.
class Staging {
 public:
  static constexpr std::size_t block_bytes = std::size_t{4} << 20;
  /// One that the host works in, one that the device copies, one between them.
  static constexpr std::size_t blocks_of_copy = 3;
  /// One for each thread of a loop whose copies are of a part alone.
  static constexpr std::size_t most_blocks = 16;
  /// One core reads about 10 GB/s that are not in its cache, a bus carries five times that; and digests of
  /// the bytes are made at some 2 GB/s.
  static constexpr int most_threads = 16;

  /// `threads`: of the host, for all copies together; 0: as many as help.
  explicit Staging(std::shared_ptr<const Streams> streams, int threads = 0);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A copy in parts of up to `part_bytes`, at most block_bytes.
  struct Copy {
    cudaStream_t stream;
    std::size_t parts;
    std::size_t part_bytes;
    /// Makes, or takes, a part in a block: on the host, when it returns.
    std::function<void(std::size_t part, std::byte* block)> on_host;
    /// Gives the stream a copy of it from, or into, the block.
    std::function<void(std::size_t part, std::byte* block)> on_device;
    Secrecy secrecy = Secrecy::secret;
  };
  /// The parts in order. When it returns, the device has copied all of them. Throws DeviceError,
  /// OutOfMemoryError, and what the steps throw.
  void upload(const Copy& copy);
  void download(const Copy& copy);

  /// The pool of the steps on the host.
  [[nodiscard]] ThreadPool& pool();

 private:
  struct Block {
    std::byte* data = nullptr;
    cudaEvent_t copied = nullptr;  // of the last copy from it, or into it
  };
  /// The blocks of one copy.
  class Lease {
   public:
    Lease(Staging& staging, const Copy& copy);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    [[nodiscard]] std::size_t size() const { return blocks_.size(); }
    void on_host(std::size_t part);
    void on_device(std::size_t part);
    /// Waits until the device has copied the last part that was given to this part's block.
    void wait(std::size_t part) const;
    /// The host and the device are through with this part's block.
    void end(std::size_t part);

   private:
    [[nodiscard]] const Block& block(std::size_t part) const { return blocks_[part % blocks_.size()]; }

    Staging& staging_;
    const Copy& copy_;
    Buffer ordinary_;            // of the only block, where no pinned one can be had
    std::vector<Block> blocks_;  // at least one, and no more than parts
    std::size_t ended_ = 0;      // of them
  };

  /// Up to `wanted` blocks, maybe none.
  [[nodiscard]] std::vector<Block> take(std::size_t wanted);
  void give_back(const std::vector<Block>& blocks) noexcept;
  /// Without memory: where there is none to be pinned. Throws DeviceError.
  [[nodiscard]] Block make_block();

  const std::shared_ptr<const Streams> streams_;
  const int threads_;
  const std::shared_ptr<Memory> ordinary_memory_;
  std::once_flag pool_once_;
  std::unique_ptr<ThreadPool> pool_;
  mutable ForkSafeMutex mutex_;
  std::vector<Block> free_;
  std::size_t made_ = 0;
  bool refused_ = false;  // no more memory can be pinned
};

}  // namespace hemera::runtime::cuda
