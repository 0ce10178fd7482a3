// The pool of a device's memory, or of host memory that it reads, whose blocks are ordered by streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hemera/runtime/memory.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::runtime::cuda {

/// Where blocks are: on the device, or in pinned memory of the host, which its kernels read and write over
/// the bus, by the same addresses.
enum class Place : std::uint8_t { device, pinned_host };

/// Memory of the streams' device. A released block is kept for the stream of the thread that released it,
/// after all its uses, and may be handed out at once: its next user comes later in that stream. It may be
/// half as large again as what was asked for.
///
/// Kept memory goes back to the driver where that has no more memory, for this pool or another one of this
/// process, and where a limit leaves no room beside it.
///
/// Buffers order what different threads do with them: the first read in a stream waits, on the device, for
/// the stream that wrote last, and a write waits for all streams that used the buffer since. Uses by one
/// thread, and repeated reads, wait for nothing.
///
/// While a thread records, its blocks belong to the recording: they are reused within it alone, because a
/// replay uses the same addresses again. Blocks of before that it uses are lent to the recording: when they
/// are released they stay as they are, and count as used, until no recording that uses them is left.
class StreamMemory final : public Memory {
 public:
  /// `limit`: bytes that may be taken in all, blocks kept for reuse included; 0: as many as there are.
  explicit StreamMemory(std::shared_ptr<const Streams> streams, std::size_t limit = 0,
                        Place place = Place::device);
  ~StreamMemory() override;

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, streams_->device()}; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy,
               const BufferUses& uses) noexcept override;
  [[nodiscard]] std::size_t used() const override;
  [[nodiscard]] std::size_t available() const override;
  void before_use(std::byte* pointer, BufferUses& uses, Access access) override;

  struct Arena;
  /// The blocks of an arena become ordinary ones, when nothing runs on them any more.
  void dissolve(const std::shared_ptr<Arena>& arena) noexcept;

 private:
  friend class Neighbours;
  friend class Recorder;
  struct Kept {
    std::map<std::size_t, std::vector<std::byte*>> blocks;  // by bytes

    void put(std::byte* block, std::size_t bytes) { blocks[bytes].push_back(block); }
    /// The smallest block of these sizes; null without one.
    std::byte* take(std::size_t least, std::size_t most);
  };
  struct Released {
    std::byte* pointer;
    std::size_t bytes;
    Secrecy secrecy;
  };
  struct Lent {
    std::size_t arenas = 0;  // that use it
    std::optional<Released> released;
  };

  [[nodiscard]] bool takes_from_the_same(const StreamMemory& other) const;

  // All that follow: under the mutex.
  /// Null where the driver has no more.
  std::byte* try_allocate(std::size_t bytes);
  /// A block that was kept, for the calling thread's stream; null without one.
  std::byte* take_kept(std::size_t least, std::size_t most);
  /// Whether another block of this size would be.
  [[nodiscard]] bool is_above_limit(std::size_t block_bytes) const;
  /// Null where the driver has no more. Throws OutOfMemoryError at the limit.
  std::byte* allocate_block(std::size_t bytes, std::size_t block_bytes);
  /// Asks the driver; null where it has none.
  [[nodiscard]] std::byte* take(std::size_t block_bytes) const;
  void give_back(std::byte* block) noexcept;
  /// Throws DeviceError.
  void keep(const Released& block, std::uint32_t uses);
  /// Where a block that no other recording uses waits for its next user.
  void put_away(const Released& block, std::uint32_t uses) noexcept;
  /// The thread's recording uses the block.
  void lend(std::byte* pointer);
  /// One recording fewer uses the block.
  void take_back(std::byte* pointer) noexcept;
  void give_back_kept() noexcept;
  /// `others`: bytes that other pools of the process have.
  [[noreturn]] void fail(std::size_t bytes, std::size_t others = 0) const;

  const std::shared_ptr<const Streams> streams_;
  const std::size_t limit_;
  const Place place_;
  mutable ForkSafeMutex mutex_;
  std::array<Kept, Streams::most> kept_;  // [stream]
  std::size_t kept_bytes_ = 0;
  std::size_t taken_ = 0;                              // from the driver, kept or not
  std::unordered_map<std::byte*, std::size_t> sizes_;  // of all blocks that are taken
  std::size_t used_ = 0;
  std::shared_ptr<Arena> recording_;  // that of the thread that records
  std::unordered_map<std::byte*, std::shared_ptr<Arena>> owners_;
  std::unordered_map<std::byte*, Lent> lent_;
};

/// The part of a memory that a recording has for itself.
struct StreamMemory::Arena {
  Kept free;
  std::vector<Released> parked;             // not to be reused or zeroed while there are replays
  std::unordered_set<std::byte*> borrowed;  // blocks of before
};

}  // namespace hemera::runtime::cuda
